"""``rypt compare``: whose picks are better, RYPT's or another metric's?"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from decimal import Decimal
from itertools import combinations
from typing import TYPE_CHECKING

import click

from hits.shared_cli import FOLDER, MONEY, open_campaign, open_results
from rypt.cli import JSON, QUIET, colours_wanted, progress, talk
from rypt.text import InputError, RyptError, read_lines

if TYPE_CHECKING:
    from hits.preferences import Preferences
    from rypt.campaign import Campaign
    from rypt.picks.choose import Chooser, Pick
    from rypt.picks.metrics import PickMetric

FILE = click.Path(dir_okay=False)
OF_SCORES = ("way", "splits", "judging", "judged_only", "max_len", "segments", "better", "with_controls")
OF_BATCH = ("no_reference", "assignments", "share", "wage")
OF_TABLES = ("plot", "latex", "as_json")


@dataclass(frozen=True, slots=True)
class _HeldOut:
    """How human scores are used: the options of --scores."""

    scores: str
    way: str
    splits: int
    judging: int | None
    judged_only: tuple[str, ...]
    max_len: int | None
    segments: str | None
    better: str | None
    controls: bool


@dataclass(frozen=True, slots=True)
class _Form:
    """How results are shown."""

    plot: str | None
    latex: bool
    as_json: bool


@click.command()
@click.argument("campaign", type=FOLDER, default=".")
@click.option("--metrics", default="rypt,bleu", show_default=True,
              help="Separated by commas: rypt, bleu, chrf, chrf++, ter, model, or sums such as "
              "rypt:table+0.2*chrf.")  # fmt: skip
@click.option("--show", is_flag=True, help="List where the first two disagree, with rejected words marked.")
@click.option("--batch", type=FOLDER, help="Make a batch of comparisons of the picks in this new folder.")
@click.option("--no-reference", is_flag=True, help="In the batch: hide the reference.")
@click.option("--assignments", type=click.IntRange(1, 1000), help="In the batch: judgments of each pair [3].")
@click.option("--controls", "share", type=click.FloatRange(0, 0.5), default=0.1, show_default=True,
              help="In the batch: share of controls.")  # fmt: skip
@click.option("--limit", type=click.IntRange(min=1), help="At most so many comparisons, or lines to show.")
@click.option("--wage", type=MONEY, help="In the batch: dollars an hour [12.00].")
@click.option("--scores", type=FILE, help="Judge by these human scores (JSONL), held out from the judgments.")
@click.option("--hold-out", "way", default="system", show_default=True, metavar="system|rater",
              help="Whose judgments are kept apart from the scores.")  # fmt: skip
@click.option("--splits", type=click.IntRange(min=1), default=200, show_default=True, help="Random divisions.")
@click.option("--judging", type=click.IntRange(min=1), help="Systems or raters whose judgments are known [half].")
@click.option("--judged-only", multiple=True, metavar="SYSTEM", help="Judged, but never picked: a reference.")
@click.option("--max-len", type=click.IntRange(min=1), help="Take only judgments on this frontier [all].")
@click.option("--segments", type=FILE, help="Count only these segments: ids, one a line.")
@click.option("--better", type=click.Choice(["higher", "lower"]), help="Which scores are better, where the file does "
              "not say.")  # fmt: skip
@click.option("--with-controls", is_flag=True, help="Try the first metric on labels that say nothing, too.")
@click.option("--tokenize", default="13a", show_default=True, help="sacrebleu's tokenizer for BLEU.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True)
@click.option("--plot", type=FILE, help="Draw it (.svg, .png, .pdf).")
@click.option("--latex", is_flag=True, help="Print tables for a paper.")
@JSON
@QUIET
@click.pass_context
def compare(
    context: click.Context, campaign: str, metrics: str, show: bool, batch: str | None, no_reference: bool,
    assignments: int | None, share: float, limit: int | None, wage: Decimal | None, scores: str | None, way: str,
    splits: int, judging: int | None, judged_only: tuple[str, ...], max_len: int | None, segments: str | None,
    better: str | None, with_controls: bool, tokenize: str, seed: int, plot: str | None, latex: bool, as_json: bool,
    quiet: bool,
) -> None:  # fmt: skip
    """Compare the candidates that metrics pick: RYPT's and BLEU's, say.

    Every segment's candidates are ranked by each metric. Ask people which pick they prefer (--batch), and run the
    command again when their answers are collected; or judge by human scores that are there already (--scores), with
    judgments of other systems or raters than the scores.
    """
    _refuse_idle_options(context, show, batch, scores)
    chosen = _metrics(metrics)
    form = _Form(plot, latex, as_json)
    if plot:
        from hits.compare_plot import check_format

        check_format(plot)
    opened = open_campaign(campaign)
    if scores is not None:
        held_out = _HeldOut(scores, way, splits, judging, judged_only, max_len, segments, better, with_controls)
        return _by_scores(opened, chosen, held_out, tokenize, seed, form, quiet)
    chooser, picks = _picks(opened, chosen, tokenize)
    if batch:
        return _make_batch(opened, picks, batch, not no_reference, assignments, share, limit, wage, seed, quiet)
    if show:
        return _show(opened, chooser, chosen[:2], picks, limit)
    return _by_people(campaign, chooser, picks, seed, form)


def _metrics(text: str) -> "list[PickMetric]":
    from rypt.picks.metrics import parse_pick_metric

    chosen = [parse_pick_metric(metric) for metric in text.split(",")]
    if len(chosen) < 2 or len({metric.name for metric in chosen}) < len(chosen):
        raise click.UsageError(f"expected at least two different metrics in --metrics, found {text!r}")
    return chosen


def _refuse_idle_options(context: click.Context, show: bool, batch: str | None, scores: str | None) -> None:
    """Refuse two ways at once, and options that would do nothing."""
    if sum((show, batch is not None, scores is not None)) > 1:
        raise click.UsageError("expected one of --show, --batch and --scores")
    idle = [] if scores is not None else [(name, "--scores") for name in OF_SCORES]
    idle += [] if batch is not None else [(name, "--batch") for name in OF_BATCH]
    idle += [(name, "the tables, not --show or --batch") for name in OF_TABLES] if show or batch is not None else []
    idle += [] if show or batch is not None else [("limit", "--show or --batch")]
    for name, what in idle:
        if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT:
            option = next(parameter.opts[0] for parameter in context.command.params if parameter.name == name)
            raise click.UsageError(f"{option} is for {what}")


def _picks(
    campaign: "Campaign", metrics: "Sequence[PickMetric]", tokenize: str
) -> "tuple[Chooser, dict[str, dict[str, Pick]]]":
    from rypt.picks.choose import Chooser

    chooser = Chooser(campaign, tokenize=tokenize)
    return chooser, {metric.name: chooser.picks(metric) for metric in metrics}


def _by_scores(
    campaign: "Campaign", metrics: "Sequence[PickMetric]", held_out: _HeldOut, tokenize: str, seed: int, form: _Form,
    quiet: bool,
) -> None:  # fmt: skip
    from importlib.metadata import version

    import numpy as np

    from hits.compare_plot import plot_outcomes
    from hits.compare_tables import outcome_table
    from rypt.picks.evidence import read_evidence
    from rypt.picks.outcome import compare_picks

    h = held_out
    evidence = read_evidence(
        campaign, h.scores, metrics, way=h.way, max_len=h.max_len, better=h.better, tokenize=tokenize
    )  # fmt: skip
    mask = None if h.segments is None else np.isin(evidence.segments, _read_ids(h.segments, evidence.segments))
    divided = evidence.splits(h.way, h.splits, seed, judging=h.judging, judged_only=h.judged_only)
    compared = compare_picks(
        evidence.data, metrics, divided, segments=mask, controls=h.controls, seed=seed,
        watch=lambda found: progress(found, "splits", quiet=quiet, total=h.splits),
    )  # fmt: skip
    signature = "|".join([
        "compare", f"hold-out:{h.way}", f"splits:{compared.splits}", f"judging:{h.judging or 'half'}",
        f"max_len:{h.max_len or 'all'}", f"segments:{compared.outcomes[0].segments}",
        f"rypt:{evidence.data.scoring}", f"ties:{campaign.scoring.ties}", f"seed:{seed}", f"v:{version('rypt')}",
    ])  # fmt: skip
    if form.plot:
        plot_outcomes(form.plot, compared)
    if form.as_json:
        click.echo(json.dumps({"signature": signature, "metrics": evidence.signatures, **asdict(compared)}))
        return
    click.echo(outcome_table(compared, latex=form.latex))
    for line in ("", signature, *evidence.signatures):
        click.echo(line)


def _read_ids(path: str, known: Sequence[str]) -> list[str]:
    there = set(known)
    ids = []
    for number, line in read_lines(path):
        if line.strip() not in there:
            raise InputError(path, number, f"expected the id of a segment of this campaign, found {line!r}")
        ids.append(line.strip())
    return ids


def _make_batch(
    campaign: "Campaign", picks: "dict[str, dict[str, Pick]]", folder: str, reference: bool, assignments: int | None,
    share: float, limit: int | None, wage: Decimal | None, seed: int, quiet: bool,
) -> None:  # fmt: skip
    from hits.batch import new_settings, write_batch
    from hits.compare import comparison_batch
    from hits.price import MIN_WAGE, fair_rule, price
    from hits.records import Kind

    languages = campaign.settings.languages
    settings = new_settings(
        Kind.COMPARISON, seed=seed, now=datetime.now(UTC), source_language=languages.source or "",
        target_language=languages.target or "", assignments=assignments,
        reward=fair_rule(Kind.COMPARISON, MIN_WAGE if wage is None else wage),
        made={"campaign": str(campaign.folder), "metrics": list(picks), "reference": reference, "controls": share},
    )  # fmt: skip
    made = comparison_batch(campaign, picks, settings, reference=reference, control_share=share, limit=limit)
    write_batch(folder, made)
    talk(f"{len(made.identical)} pairs of picks have the same text and were set aside", quiet=quiet)
    cost = price(made)
    click.echo(f"{folder}: {cost.hits} hits, {cost.assignments} assignments (rypt hits price {folder})")
    talk(f"next: rypt hits publish {folder}", quiet=quiet)


def _show(
    campaign: "Campaign", chooser: "Chooser", metrics: "Sequence[PickMetric]",
    picks: "dict[str, dict[str, Pick]]", limit: int | None,
) -> None:  # fmt: skip
    from hits.compare import disagreements, marked

    first, second = (metric.name for metric in metrics)
    found = disagreements(campaign, picks[first], picks[second])
    scorer = chooser.scorer("half")
    wide = max(len(first), len(second), len("reference"))

    def paint(word: str) -> str:
        return click.style(word, fg="red", underline=True) if colours_wanted() else f"[{word}]"

    for d in found[:limit]:
        click.echo(f"segment {d.segment}")
        lines = [("source", d.source), ("reference", d.reference), (first, marked(d.first, scorer, paint)),
                 (second, marked(d.second, scorer, paint))]  # fmt: skip
        for name, text in lines:
            if text:
                click.echo(f"  {name:<{wide}}  {text}")
        click.echo()
    same = len(picks[first].keys() & picks[second].keys()) - len(found)
    click.echo(f"{len(found)} segments with different picks, {same} with the same")


def _by_people(
    folder: str, chooser: "Chooser", picks: "dict[str, dict[str, Pick]]", seed: int, form: _Form
) -> None:  # fmt: skip
    from hits.compare import disagreements, texts_of
    from hits.compare_plot import plot_preferences
    from hits.compare_tables import preference_line, preference_tables
    from hits.preferences import read_preferences

    found: list[Preferences] = []
    with open_results(folder) as results:
        for first, second in combinations(picks, 2):
            texts = (texts_of(picks[first]), texts_of(picks[second]))
            if results.there:
                found.append(read_preferences(results, first, second, texts))
    answered = [preferences for preferences in found if preferences.segments]
    if not answered:
        first, second = list(picks)[:2]
        differ = len(disagreements(chooser.campaign, picks[first], picks[second]))
        earlier = sum(preferences.stale for preferences in found)
        stale = f"; {earlier} judgments are about earlier picks" if earlier else ""
        raise RyptError(
            f"{folder}: nobody has compared these picks yet ({first} and {second} differ on {differ} segments{stale}); "
            "--batch FOLDER makes a batch that asks, --scores FILE judges by human scores, --show lists them"
        )
    if form.plot:
        plot_preferences(form.plot, answered)
    if form.as_json:
        record = {"signatures": chooser.signatures, "preferences": [p.as_dict(seed) for p in answered]}
        click.echo(json.dumps(record))
        return
    for preferences in answered:
        click.echo(preference_tables(preferences, latex=form.latex))
        click.echo(f"\n{preference_line(preferences, seed)}\n")
    for signature in chooser.signatures.values():
        click.echo(signature)
