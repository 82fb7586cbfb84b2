"""``rypt compare``: whose picks are better, RYPT's or another metric's? Or: where do two lists differ?"""

import json
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hits.cli.batches import tell_notes
from hits.cli.shared import FOLDER, MONEY, tell_price
from rypt.console import JSON, QUIET, colours_wanted, progress, talk, watcher

if TYPE_CHECKING:
    from hits.batch.make import MadeBatch
    from hits.compare.metrics import Disagreements, PreferenceReport
    from hits.compare.pool import PoolReport
    from hits.compare.scores import OutcomeReport
    from rypt.campaign.folder import Campaign
    from rypt.picks.metrics import PickMetric
    from rypt.ratings.rated_campaign import RatedCampaign, RatingsFile
    from rypt.scoring.scorer import Pick

FILE = click.Path(dir_okay=False)
OF_SCORES = (
    "way",
    "splits",
    "judging",
    "max_len",
    "segments",
    "better",
    "with_controls",
    "ceiling",
    "documents",
    "half",
    "output",
)
BY_PEOPLE = "rypt,bleu"
BY_SCORES = (
    "rypt:severity+0.2*chrf,rypt:severity,rypt:half,bleu,chrf"  # what generalises first, then the paper's own
)
BY_OTHER_SYSTEMS = (
    f"rypt:severity+0.2*chrf+2*system,{BY_SCORES},bleu+2*system,chrf+2*system"  # labels of other systems
)
OF_BATCH = ("no_reference", "assignments", "share", "wage")
OF_TABLES = ("plot", "latex", "as_json")
OF_REFERENCES = "--from, or for lists of candidates (rypt compare LIST --references FILE), not for a campaign"
OF_FILE = ("references", "folder", "language", "batches", "pair")
OF_LISTS = (
    "paths",
    "metrics",
    "page",
    "limit",
    "source",
    "reference_files",
    "tokenize",
    "seed",
    "as_json",
    "quiet",
)
OF_POOL = ("paths", "pool", "unit", "seed", "quiet", *OF_TABLES)


@click.command()
@click.argument("paths", nargs=-1, metavar="[CAMPAIGN | LIST [LIST]]", type=click.Path())
@click.option(
    "--metrics",
    help="Metrics separated by commas, each as in rypt tune --metric: rypt, bleu, chrf, chrf++, "
    "ter, model, a metric of your own, or a sum such as rypt:table+0.2*chrf [rypt,bleu; with --scores and "
    "--from also severity and chrf].",
)
@click.option("--show", is_flag=True, help="List where the first two disagree, with rejected words marked.")
@click.option("--page", type=FILE, help="With --show, or of two lists: write a page (.html) with both sides.")
@click.option("--batch", type=FOLDER, help="Make a batch of comparisons of the picks in this new folder.")
@click.option("--no-reference", is_flag=True, help="In the batch: hide the reference.")
@click.option(
    "--assignments", type=click.IntRange(1, 1000), help="In the batch: number of judgments per pair [3]."
)
@click.option(
    "--controls",
    "share",
    type=click.FloatRange(0, 0.5),
    default=0.1,
    show_default=True,
    help="In the batch: share of controls.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    help="Maximum number of comparisons in the batch, or of segments shown.",
)
@click.option("--wage", type=MONEY, help="In the batch: dollars an hour [12.00].")
@click.option("--scores", type=FILE, help="Judge by these human scores (JSONL), held out from the judgments.")
@click.option(
    "--from",
    "form",
    type=click.Choice(["mqm", "esa"]),
    help="CAMPAIGN is a file of ratings: make a "
    "campaign of it, or go on with one that was begun, and judge by its scores.",
)
@click.option(
    "--reference",
    "references",
    multiple=True,
    metavar="SYSTEM",
    help="With --from: the reference, a human translation among the systems.",
)
@click.option(
    "--references",
    "reference_files",
    multiple=True,
    type=FILE,
    help="With --from, or of lists: a file "
    "with the reference, one line per segment; with --from also TSV or JSONL of ids and texts.",
)
@click.option(
    "--source", type=FILE, help="Of lists: the source segments, for the page and metrics that need them."
)
@click.option("--folder", type=FOLDER, help="With --from: the campaign's folder [named after the file].")
@click.option("--language", help="With --from: the language of the source, such as de, for pages.")
@click.option("--batches", type=FILE, help="With --from esa: the JSON of the batches, for Appraise's CSV.")
@click.option("--languages", "pair", metavar="SRC-TGT", help="With --from esa: take this language pair only.")
@click.option(
    "--pool", is_flag=True, help="Pool the results of several sets, files that -o wrote, in one line."
)
@click.option(
    "--hold-out",
    "way",
    default="system",
    show_default=True,
    metavar="system|rater",
    help="Whose judgments are kept apart from the scores.",
)
@click.option(
    "--splits",
    type=click.IntRange(min=1),
    default=200,
    show_default=True,
    help="Number of random divisions of systems; the most rotations of raters.",
)
@click.option(
    "--judging",
    type=click.IntRange(min=1),
    help="Number of judging systems [half of them], or, with "
    "--hold-out rater, of judging raters per segment [1].",
)
@click.option(
    "--judged-only",
    multiple=True,
    metavar="SYSTEM",
    help="A list whose candidates are judged but never picked, such as a reference.",
)
@click.option("--max-len", type=click.IntRange(min=1), help="Take only judgments on this frontier [all].")
@click.option("--segments", type=FILE, help="Count only these segments: a file of ids, one per line.")
@click.option("--half", type=click.Choice(["first", "second"]), help="Count only this half of the documents.")
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
    "--better",
    type=click.Choice(["higher", "lower"]),
    help="Whether higher or lower scores are better, if the file does not say.",
)
@click.option(
    "--with-controls",
    is_flag=True,
    help="Also evaluate the first metric with permuted labels and with coverage alone.",
)
@click.option(
    "--ceiling/--no-ceiling",
    default=None,
    help="Also pick by the judging raters' own scores [with --hold-out rater].",
)
@click.option(
    "--tokenize",
    default="13a",
    show_default=True,
    help="sacrebleu's tokenizer for BLEU, where a metric names none.",
)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Random seed.")
@click.option("--plot", type=FILE, help="Draw the result (.svg, .png, .pdf).")
@click.option("-o", "--output", type=FILE, help="Write the result as JSON, with every segment, for --pool.")
@click.option("--latex", is_flag=True, help="Print tables for a paper.")
@JSON
@QUIET
@click.pass_context
def compare(
    context: click.Context,
    paths: tuple[str, ...],
    metrics: str | None,
    show: bool,
    page: str | None,
    batch: str | None,
    no_reference: bool,
    assignments: int | None,
    share: float,
    limit: int | None,
    wage: Decimal | None,
    scores: str | None,
    form: str | None,
    references: tuple[str, ...],
    reference_files: tuple[str, ...],
    folder: str | None,
    language: str | None,
    batches: str | None,
    pair: str | None,
    pool: bool,
    way: str,
    splits: int,
    judging: int | None,
    judged_only: tuple[str, ...],
    max_len: int | None,
    source: str | None,
    segments: str | None,
    half: str | None,
    documents: str | None,
    unit: str,
    better: str | None,
    with_controls: bool,
    ceiling: bool | None,
    tokenize: str,
    seed: int,
    plot: str | None,
    output: str | None,
    latex: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Compare the candidates that metrics pick: RYPT's and BLEU's, say.

    Every segment's candidates are ranked by each metric. Ask people which pick they prefer (--batch), and run the
    command again when their answers are collected; or judge by human scores that are there already (--scores), with
    judgments of other systems or raters than the scores. A public file of ratings is enough (--from); several results
    make one line (--pool).

    Two lists of candidates (rypt compare systemA.txt systemB.jsonl --references dev.en --page compare.html) are
    compared with each other: their scores by each metric, and the segments in which they differ. One list alone
    (rypt compare systemA.txt --references dev.en) gets its scores: BLEU, chrF and TER of the first candidates.
    """
    if _are_lists(paths, reference_files) and not pool and form is None:
        if len(paths) == 1:
            return _score_list(context, paths[0])
        return _compare_lists(context, paths, page, limit, quiet=quiet)
    _refuse_idle_options(context, show, batch, scores)
    _check_paths(paths, form, pool)
    _check_files(page, plot)
    if pool:
        from hits.compare.pool import pool_outcomes

        return _print_report(
            pool_outcomes(paths, unit=unit, seed=seed), plot, latex=latex, as_json=as_json, quiet=quiet
        )
    by_scores = BY_OTHER_SYSTEMS if way == "system" else BY_SCORES
    chosen = _metrics(metrics or (BY_PEOPLE if scores is None and form is None else by_scores))
    campaign: str | Campaign = paths[0] if paths else "."
    if form is not None:
        ratings = _ratings_file(paths[0], form, references, reference_files, language, batches, pair)
        made = _rated_campaign(ratings, folder, quiet=quiet)
        campaign, scores = made.campaign, str(made.scores)
        judged_only = tuple(dict.fromkeys((*made.judged_only, *judged_only)))
    from hits.batch.options import BatchOptions
    from hits.compare.metrics import compare_metrics
    from hits.compare.scores import HeldOutScores, compare_by_scores

    if scores is not None:
        held_out = HeldOutScores(
            scores,
            way=way,
            splits=splits,
            judging=judging,
            judged_only=judged_only,
            max_len=max_len,
            segments=segments,
            better=better,
            controls=with_controls,
            ceiling=ceiling,
            documents=documents,
            half=half,
            unit=unit,
        )
        outcomes = compare_by_scores(
            campaign,
            held_out,
            chosen,
            tokenize=tokenize,
            seed=seed,
            watch=lambda every: progress(every, "splits", quiet=quiet, total=len(every)),
        )
        if output is not None:
            outcomes.write(output)
            talk(f"{output} written", quiet=quiet)
        return _print_report(outcomes, plot, latex=latex, as_json=as_json, quiet=quiet)
    compared = compare_metrics(campaign, chosen, tokenize=tokenize, judged_only=judged_only)
    if batch:
        options = BatchOptions(
            reference=not no_reference,
            controls=share,
            limit=limit,
            assignments=assignments,
            wage=wage,
            seed=seed,
        )
        return _print_batch(batch, compared.ask(batch, options=options), quiet=quiet)
    if show:
        return _print_disagreements(compared.disagreements(), page, limit, quiet=quiet)
    return _print_report(compared.preferences(seed=seed), plot, latex=latex, as_json=as_json, quiet=quiet)


def _are_lists(paths: tuple[str, ...], references: tuple[str, ...]) -> bool:
    """Whether one or two lists are named, not a campaign: files, or what has references and is no folder."""
    if len(paths) not in (1, 2) or any(Path(path).is_dir() for path in paths):
        return False
    return len(paths) == 2 or Path(paths[0]).is_file() or bool(references)


def _score_list(context: click.Context, path: str) -> None:
    """Print the scores of one list."""
    from hits.compare.lists import score_list

    given = context.params
    _refuse(context, [(name, "two lists") for name in ("page", "limit")])
    _refuse(context, [(name, "a campaign, not a list") for name in given if name not in OF_LISTS])
    scores = score_list(
        path,
        source=given["source"],
        references=given["reference_files"],
        metrics=given["metrics"],
        tokenize=given["tokenize"],
        seed=given["seed"],
    )
    click.echo(json.dumps(scores.as_dict(), ensure_ascii=False) if given["as_json"] else scores.text())


def _compare_lists(
    context: click.Context, paths: tuple[str, ...], page: str | None, limit: int | None, *, quiet: bool
) -> None:
    """Print the comparison of two lists, and write it as a page."""
    from hits.compare.lists import compare_lists

    given = context.params
    _refuse(context, [(name, "a campaign, not two lists") for name in given if name not in OF_LISTS])
    if limit is not None and page is None:
        raise click.UsageError("--limit is for --page")
    _check_files(page, None)
    compared = compare_lists(
        *paths,
        source=given["source"],
        references=given["reference_files"],
        metrics=given["metrics"],
        tokenize=given["tokenize"],
        seed=given["seed"],
    )
    if page is not None:
        compared.write(page, limit)
        talk(f"{page} written", quiet=quiet)
    click.echo(json.dumps(compared.as_dict(), ensure_ascii=False) if given["as_json"] else compared.text())


def _check_paths(paths: tuple[str, ...], form: str | None, pool: bool) -> None:
    if form is not None and len(paths) != 1:
        raise click.UsageError(f"expected one file of ratings with --from, found {len(paths)}")
    if pool and not paths:
        raise click.UsageError("expected files of results with --pool, found none")
    if not pool and len(paths) > 1:
        raise click.UsageError(
            f"expected one campaign or two lists, found {len(paths)} (--pool takes several results)"
        )


def _ratings_file(
    path: str,
    form: str,
    references: tuple[str, ...],
    reference_files: tuple[str, ...],
    language: str | None,
    batches: str | None,
    pair: str | None,
) -> "RatingsFile":
    from rypt.ratings.rated_campaign import RatingsFile

    if form != "esa" and (batches or pair):
        raise click.UsageError(f"{'--batches' if batches else '--languages'} is for --from esa")
    return RatingsFile(path, form, references, reference_files, language, batches, pair)


def _rated_campaign(ratings: "RatingsFile", folder: str | None, *, quiet: bool) -> "RatedCampaign":
    """The campaign of a file of ratings, by default in a folder called like the file."""
    from rypt.ratings.rated_campaign import folder_of, make_rated_campaign

    target = folder_of(ratings.path) if folder is None else folder
    made = make_rated_campaign(
        ratings, target, watch=watcher(quiet=quiet), tell=lambda message: talk(message, quiet=quiet)
    )
    talk(f"the campaign is in {target}; never picked: {', '.join(made.judged_only)}", quiet=quiet)
    return made


def _metrics(text: str) -> "list[PickMetric]":
    from rypt.picks.metrics import parse_pick_metrics

    chosen = parse_pick_metrics(text)
    if len({metric.name for metric in chosen}) < max(2, len(chosen)):
        raise click.UsageError(f"expected at least two different metrics in --metrics, found {text!r}")
    return chosen


def _check_files(page: str | None, plot: str | None) -> None:
    """Refuse files that cannot be written to, before anything is computed."""
    if plot:
        from rypt.picture import check_picture

        check_picture(plot)
    if page:
        from hits.compare.page import check_page

        check_page(page)


def _refuse_idle_options(context: click.Context, show: bool, batch: str | None, scores: str | None) -> None:
    """Refuse two ways at once, and options that would do nothing."""
    pool, form = context.params["pool"], context.params["form"]
    if sum((show, batch is not None, scores is not None, form is not None, pool)) > 1:
        raise click.UsageError("expected one of --show, --batch, --scores, --from and --pool")
    by_scores = scores is not None or form is not None
    idle = [] if by_scores else [(name, "--scores or --from") for name in OF_SCORES]
    idle += [] if by_scores or pool else [("unit", "--scores, --from or --pool")]
    idle += [] if form is not None else [(name, "--from") for name in OF_FILE]
    idle += [] if form is not None else [("reference_files", OF_REFERENCES)]
    idle += [("source", "lists of candidates, not a campaign")]
    idle += [] if batch is not None else [(name, "--batch") for name in OF_BATCH]
    idle += (
        [(name, "the tables, not --show or --batch") for name in OF_TABLES]
        if show or batch is not None
        else []
    )
    idle += [] if show or batch is not None else [("limit", "--show or --batch")]
    idle += [] if show else [("page", "--show")]
    if pool:
        idle += [(name, "a campaign, not --pool") for name in context.params if name not in OF_POOL]
    _refuse(context, idle)
    if context.params["latex"] and context.params["as_json"]:
        raise click.UsageError("--latex or --json, not both")


def _refuse(context: click.Context, idle: list[tuple[str, str]]) -> None:
    """Refuse options that were given and would do nothing; each with what it is for."""
    for name, what in idle:
        if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT:
            option = next(parameter.opts[0] for parameter in context.command.params if parameter.name == name)
            raise click.UsageError(f"{option} is for {what}")


def _print_report(
    report: "OutcomeReport | PreferenceReport | PoolReport",
    plot: str | None,
    *,
    latex: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    if plot:
        report.plot(plot)
        talk(f"{plot} written", quiet=quiet)
    click.echo(json.dumps(report.as_dict(), ensure_ascii=False) if as_json else report.text(latex=latex))


def _print_batch(folder: str, batch: "MadeBatch", *, quiet: bool) -> None:
    tell_notes(batch, quiet=quiet)
    tell_price(batch, batch.price, batch.market, what=f"{folder}: ")
    talk(f"next: rypt hits publish {folder}", quiet=quiet)


def _print_disagreements(
    different: "Disagreements", page: str | None, limit: int | None, *, quiet: bool
) -> None:
    from hits.compare.words import spec_legend

    if page:
        different.write(page, limit)
        talk(f"{page} written", quiet=quiet)
    else:
        _print_picks(different, limit)
    names = spec_legend([different.facts.first, different.facts.second], different.scoring)
    click.echo("\n".join(filter(None, [different.summary, *names, different.simulated])))


def _print_picks(different: "Disagreements", limit: int | None) -> None:
    """Each segment with its two picks one below the other, where words can be compared in a terminal."""
    from hits.compare.picks import rejected_words

    first, second = different.facts.first, different.facts.second
    wide = max(len(first), len(second), len("reference"))

    def marked(pick: "Pick") -> str:
        wrong = rejected_words(pick.candidate, different.scorer)
        return " ".join(
            _painted(word) if i in wrong else word for i, word in enumerate(pick.candidate.tokens)
        )

    for d in different.segments[:limit]:
        click.echo(f"segment {d.segment}")
        lines = [
            ("source", d.source),
            ("reference", d.reference),
            (first, marked(d.first)),
            (second, marked(d.second)),
        ]
        for name, text in lines:
            if text:
                click.echo(f"  {name:<{wide}}  {text}")
        click.echo()


def _painted(word: str) -> str:
    return click.style(word, fg="red", underline=True) if colours_wanted() else f"[{word}]"
