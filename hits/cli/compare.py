"""``rypt compare``: whose picks are better, RYPT's or another metric's? Or: which of several systems is better?"""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hits.cli.shared import FOLDER
from rypt.console import FILE, JSON, QUIET, Group, colours_wanted, progress, talk
from rypt.text import RyptError

if TYPE_CHECKING:
    from hits.compare.preferences import PreferenceReport
    from hits.compare.scores import OutcomeReport

F = TypeVar("F", bound=Callable[..., Any])
BY_RATERS = (
    "rypt:severity+0.2*chrf,rypt:severity,rypt:half,bleu,chrf"  # the recommended, then the paper's own
)
BY_OTHER_SYSTEMS = f"rypt:severity+0.2*chrf+2*system,{BY_RATERS},bleu+2*system,chrf+2*system"
CAMPAIGN = click.argument("campaign", type=FOLDER, default=".")
SEED = click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Random seed.")
LIMIT = click.option("--limit", type=click.IntRange(min=1), help="Maximum number of segments.")
PAGE = click.option("--page", type=FILE, help="Write a page (.html) with both sides of each segment.")
METRICS = click.option(
    "--metrics",
    help="Metrics separated by commas, each as in rypt tune --metric: rypt, bleu, chrf, chrf++, ter, model, a metric "
    "of your own, or a sum such as rypt:table+0.2*chrf [rypt,bleu; in compare scores also severity and chrf].",
)


def tables(command: F) -> F:
    """The options of every command that prints tables."""
    plot = click.option("--plot", type=FILE, help="Draw the result (.svg, .png, .pdf).")
    latex = click.option("--latex", is_flag=True, help="Print tables for a paper.")
    return plot(latex(JSON(QUIET(command))))


@click.group(cls=Group)
def compare() -> None:
    """Compare metrics' picks, by people's preferences or by human scores, or systems' outputs."""


@compare.command()
@CAMPAIGN
@METRICS
@PAGE
@LIMIT
@QUIET
def picks(campaign: str, metrics: str | None, page: str | None, limit: int | None, quiet: bool) -> None:
    """Show where the first two metrics pick different candidates, with rejected words marked."""
    from hits.compare.picks import DEFAULT_METRICS, check_page, compare_metrics

    if page:
        check_page(page)
    compared = compare_metrics(campaign, metrics or DEFAULT_METRICS)
    different = compared.disagreements()
    if page:
        different.write(page, limit)
        talk(f"{page} written", quiet=quiet)
        click.echo(different.about())
    else:
        click.echo(different.text(limit, _painted))


def _painted(word: str) -> str:
    return click.style(word, fg="red", underline=True) if colours_wanted() else f"[{word}]"


@compare.command()
@CAMPAIGN
@METRICS
@SEED
@tables
def preferences(
    campaign: str, metrics: str | None, seed: int, plot: str | None, latex: bool, as_json: bool, quiet: bool
) -> None:
    """Show which metric's picks people preferred, by the collected answers to a batch of picks."""
    from hits.compare.picks import DEFAULT_METRICS, compare_metrics

    _check_tables(plot, latex=latex, as_json=as_json)
    compared = compare_metrics(campaign, metrics or DEFAULT_METRICS)
    report = compared.preferences(seed=seed)
    _print_report(report, lambda: report.text(latex=latex), plot, as_json=as_json, quiet=quiet)


@compare.command()
@CAMPAIGN
@METRICS
@click.option(
    "--judged-only",
    multiple=True,
    metavar="SYSTEM",
    help="A list whose candidates are judged but never picked, such as a reference.",
)
@click.option("--scores", type=FILE, help="The human scores (JSONL) [CAMPAIGN/scores.jsonl].")
@click.option(
    "--better",
    type=click.Choice(["higher", "lower"]),
    help="Whether higher or lower scores are better, if the file does not say.",
)
@click.option(
    "--hold-out",
    "way",
    default="system",
    show_default=True,
    metavar="system|rater",
    help="Whether judgments and scores come from different systems or different raters.",
)
@click.option(
    "--splits",
    type=click.IntRange(min=1),
    default=200,
    show_default=True,
    help="Number of random divisions of systems; maximum of rotations of raters.",
)
@click.option(
    "--judging",
    type=click.IntRange(min=1),
    help="Number of systems whose labels are used [half of them], or of raters per segment [1].",
)
@click.option(
    "--max-len",
    type=click.IntRange(min=1),
    help="Use only judgments of the frontier with this maximum length [all].",
)
@click.option("--segments", type=FILE, help="Use only these segments: a file of ids, one per line.")
@click.option("--half", type=click.Choice(["first", "second"]), help="Use only this half of the documents.")
@click.option(
    "--documents", type=FILE, help="The document of each segment (JSONL) [documents.jsonl beside the source]."
)
@click.option(
    "--unit",
    type=click.Choice(["segment", "document"]),
    default="segment",
    show_default=True,
    help="What is resampled for intervals and tests.",
)
@click.option(
    "--with-controls",
    "controls",
    is_flag=True,
    help="Also evaluate the first metric with permuted labels and with coverage alone.",
)
@click.option(
    "--all", "every", is_flag=True, help="Print the table of all pairs, not only of those with BLEU."
)
@SEED
@tables
def scores(
    campaign: str,
    metrics: str | None,
    judged_only: tuple[str, ...],
    scores: str | None,
    seed: int,
    plot: str | None,
    latex: bool,
    every: bool,
    as_json: bool,
    quiet: bool,
    **held_out: Any,
) -> None:
    """Judge metrics' picks by human scores of systems or raters whose judgments are held out.

    A CAMPAIGN has its systems' outputs as lists, and judgments of some of them. `rypt import` makes one of a
    public file of ratings, whose human translations are never picked.
    """
    from hits.compare.scores import HeldOutScores, compare_by_scores
    from rypt.ratings.rated_campaign import never_picked

    _check_tables(plot, latex=latex, as_json=as_json)
    judged_only = tuple(dict.fromkeys((*never_picked(campaign), *judged_only)))
    report = compare_by_scores(
        campaign,
        HeldOutScores(scores or f"{campaign}/scores.jsonl", judged_only=judged_only, **held_out),
        metrics or (BY_OTHER_SYSTEMS if held_out["way"] == "system" else BY_RATERS),
        seed=seed,
        watch=lambda every: progress(every, "splits", quiet=quiet, total=len(every)),
    )
    _print_report(report, lambda: report.text(latex=latex, every=every), plot, as_json=as_json, quiet=quiet)


@compare.command()
@click.argument("lists", nargs=-1, required=True, type=click.Path())
@click.option("--references", multiple=True, type=FILE, help="A file with a reference, one line per segment.")
@click.option("--source", type=FILE, help="The source segments, in the order of the references.")
@click.option("--metrics", help="Metrics separated by commas [bleu,chrf,ter, if there are references].")
@PAGE
@LIMIT
@JSON
@QUIET
def systems(
    lists: tuple[str, ...],
    references: tuple[str, ...],
    source: str | None,
    metrics: str | None,
    page: str | None,
    limit: int | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Score systems' outputs, and test the others against the first (sacrebleu's paired bootstrap).

    LISTS are files of candidates in any format; the first candidate of each segment counts. A page shows the
    segments in which the first two differ.
    """
    from hits.compare.lists import compare_systems
    from hits.compare.picks import check_page

    if page:
        check_page(page)
    if metrics is None and not references and not page:
        raise RyptError(f"{lists[0]}: expected --references FILE, with a line per segment, to score a list")
    compared = compare_systems(lists, source=source, references=references, metrics=metrics)
    if page:
        compared.write(page, limit)
        talk(f"{page} written", quiet=quiet)
    click.echo(json.dumps(compared.as_dict(), ensure_ascii=False) if as_json else compared.text())


def _check_tables(plot: str | None, *, latex: bool, as_json: bool) -> None:
    """Refuse what cannot be printed or written, before anything is computed."""
    if latex and as_json:
        raise click.UsageError("--latex or --json, not both")
    if plot:
        from rypt.picture import check_picture

        check_picture(plot)


def _print_report(
    report: "OutcomeReport | PreferenceReport",
    text: Callable[[], str],
    plot: str | None,
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    if plot:
        report.plot(plot)
        talk(f"{plot} written", quiet=quiet)
    click.echo(json.dumps(report.as_dict(), ensure_ascii=False) if as_json else text())
