"""``rypt compare``: whose picks are better, RYPT's or another metric's?"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from decimal import Decimal
from itertools import combinations
from typing import TYPE_CHECKING

import click

from hits.cli.shared import FOLDER, MONEY, open_campaign, open_results, seconds_seen_in, tell_price
from rypt.console import JSON, QUIET, colours_wanted, progress, talk
from rypt.text import InputError, RyptError, read_lines

if TYPE_CHECKING:
    from hits.compare.picks import Disagreement
    from hits.compare.preferences import Preferences
    from rypt.campaign.folder import Campaign
    from rypt.metric.scorer import Scorer
    from rypt.picks.choose import Chooser, Pick
    from rypt.picks.metrics import PickMetric

FILE = click.Path(dir_okay=False)
OF_SCORES = ("way", "splits", "judging", "max_len", "segments", "better", "with_controls")
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
class _Order:
    """What people are asked, and how: the options of --batch."""

    folder: str
    reference: bool
    assignments: int | None
    controls: float
    limit: int | None
    wage: Decimal | None
    judged_only: tuple[str, ...]


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
@click.option("--page", type=FILE, help="With --show: write a page (.html) with both picks side by side.")
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
@click.option("--judged-only", multiple=True, metavar="SYSTEM", help="Judged, but never picked: a reference's list.")
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
    context: click.Context, campaign: str, metrics: str, show: bool, page: str | None, batch: str | None,
    no_reference: bool, assignments: int | None, share: float, limit: int | None, wage: Decimal | None,
    scores: str | None, way: str, splits: int, judging: int | None, judged_only: tuple[str, ...], max_len: int | None,
    segments: str | None, better: str | None, with_controls: bool, tokenize: str, seed: int, plot: str | None,
    latex: bool, as_json: bool, quiet: bool,
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
        from rypt.picture import check_picture

        check_picture(plot)
    if page:
        from hits.compare.page import check_page

        check_page(page)
    opened = open_campaign(campaign)
    if scores is not None:
        held_out = _HeldOut(scores, way, splits, judging, judged_only, max_len, segments, better, with_controls)
        return _by_scores(opened, chosen, held_out, tokenize, seed, form, quiet)
    chooser, picks = _picks(opened, chosen, tokenize, judged_only)
    if batch:
        order = _Order(batch, not no_reference, assignments, share, limit, wage, judged_only)
        return _make_batch(campaign, opened, picks, order, seed, quiet)
    if show:
        return _show(chooser, chosen[:2], picks, limit, page, quiet)
    return _by_people(campaign, chooser, picks, seed, form)


def _metrics(text: str) -> "list[PickMetric]":
    from rypt.picks.metrics import parse_pick_metrics

    chosen = parse_pick_metrics(text)
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
    idle += [] if show else [("page", "--show")]
    for name, what in idle:
        if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT:
            option = next(parameter.opts[0] for parameter in context.command.params if parameter.name == name)
            raise click.UsageError(f"{option} is for {what}")
    if context.params["latex"] and context.params["as_json"]:
        raise click.UsageError("--latex or --json, not both")


def _picks(
    campaign: "Campaign", metrics: "Sequence[PickMetric]", tokenize: str, judged_only: tuple[str, ...]
) -> "tuple[Chooser, dict[str, dict[str, Pick]]]":
    from rypt.picks.choose import Chooser

    chooser = Chooser(campaign, tokenize=tokenize, judged_only=judged_only)
    return chooser, {metric.name: chooser.picks(metric) for metric in metrics}


def _by_scores(
    campaign: "Campaign", metrics: "Sequence[PickMetric]", held_out: _HeldOut, tokenize: str, seed: int, form: _Form,
    quiet: bool,
) -> None:  # fmt: skip
    from importlib.metadata import version

    import numpy as np

    from hits.compare.plot import plot_outcomes
    from hits.compare.tables import beside, outcome_table
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
    scoring = campaign.scoring
    only = [f"judged_only:{','.join(sorted(h.judged_only))}"] if h.judged_only else []
    signature = "|".join([
        "compare", f"hold-out:{h.way}", f"splits:{compared.splits}", f"judging:{h.judging or 'half'}", *only,
        f"max_len:{h.max_len or 'all'}", f"segments:{compared.outcomes[0].segments}",
        f"rypt:{scoring.unknown if scoring.model == 'percolation' else scoring.model}", f"ties:{campaign.scoring.ties}", f"seed:{seed}", f"v:{version('rypt')}",
    ])  # fmt: skip
    notes = [*evidence.notes, *filter(None, [evidence.simulated])]
    if form.plot:
        plot_outcomes(form.plot, compared, note=evidence.simulated)
    if form.as_json:
        facts = {"signature": signature, "metrics": evidence.signatures, "notes": notes}
        click.echo(json.dumps({**facts, **asdict(compared)}, ensure_ascii=False))
        return
    click.echo(outcome_table(compared, latex=form.latex))
    click.echo("\n" + beside([*notes, signature, *evidence.signatures], latex=form.latex))


def _read_ids(path: str, known: Sequence[str]) -> list[str]:
    there = set(known)
    ids = []
    for number, line in read_lines(path):
        if line.strip() not in there:
            raise InputError(path, number, f"expected the id of a segment of this campaign, found {line!r}")
        ids.append(line.strip())
    return ids


def _make_batch(
    name: str, campaign: "Campaign", picks: "dict[str, dict[str, Pick]]", order: _Order, seed: int, quiet: bool
) -> None:  # fmt: skip
    from hits.batches.folder import new_settings, write_batch
    from hits.batches.price import MIN_WAGE, fair_rule, price
    from hits.compare.picks import comparison_batch
    from hits.records import Kind

    languages = campaign.settings.languages
    seconds = seconds_seen_in(name, Kind.COMPARISON)
    wage = MIN_WAGE if order.wage is None else order.wage
    told: dict[str, object] = {
        "campaign": name, "metrics": list(picks), "reference": order.reference, "controls": order.controls,
        "limit": order.limit, "wage": str(wage), "seconds": None if seconds is None else str(seconds),
        "judged_only": list(order.judged_only) or None,
    }  # fmt: skip
    settings = new_settings(
        Kind.COMPARISON, seed=seed, now=datetime.now(UTC), source_language=languages.source or "",
        target_language=languages.target or "", assignments=order.assignments,
        reward=fair_rule(Kind.COMPARISON, wage, seconds),
        made={key: value for key, value in told.items() if value is not None},
    )  # fmt: skip
    made = comparison_batch(
        campaign, picks, settings, reference=order.reference, control_share=order.controls, limit=order.limit
    )
    write_batch(order.folder, made)
    for note in made.notes:
        talk(f"note: {note}", quiet=quiet)
    talk(f"{len(made.identical)} pairs of picks have the same text and were set aside", quiet=quiet)
    tell_price(made, price(made, seconds=seconds), "local", what=f"{order.folder}: ")
    talk(f"next: rypt hits publish {order.folder}", quiet=quiet)


def _show(
    chooser: "Chooser", metrics: "Sequence[PickMetric]", picks: "dict[str, dict[str, Pick]]", limit: int | None,
    page: str | None, quiet: bool,
) -> None:  # fmt: skip
    from hits.compare.page import PageFacts, write_picks_page
    from hits.compare.picks import disagreements
    from rypt.database.simulation import simulated_note

    campaign = chooser.campaign
    first, second = (metric.name for metric in metrics)
    found = disagreements(campaign, picks[first], picks[second])
    same = len(picks[first].keys() & picks[second].keys()) - len(found)
    with campaign.database() as db:
        simulated = simulated_note(db)
    scorer = chooser.scorer({"unknown": "half"})
    summary = f"{len(found)} segments with different picks, {same} with the same"
    if page:
        languages = campaign.settings.languages
        facts = PageFacts(
            first, second, same, len(found), languages.source or "", languages.target or "",
            [simulated] if simulated else [], list(chooser.signatures.values()),
        )  # fmt: skip
        write_picks_page(page, facts, found[:limit], scorer)
        talk(f"{page} written", quiet=quiet)
    else:
        _print_picks(found[:limit], first, second, scorer)
    click.echo("\n".join([summary, simulated]) if simulated else summary)


def _print_picks(found: "Sequence[Disagreement]", first: str, second: str, scorer: "Scorer") -> None:
    """Each segment with its two picks one below the other, where words can be compared in a terminal."""
    from hits.compare.picks import rejected_words

    wide = max(len(first), len(second), len("reference"))

    def marked(pick: "Pick") -> str:
        wrong = rejected_words(pick.candidate, scorer)
        return " ".join(_painted(word) if i in wrong else word for i, word in enumerate(pick.candidate.tokens))

    for d in found:
        click.echo(f"segment {d.segment}")
        lines = [("source", d.source), ("reference", d.reference), (first, marked(d.first)), (second, marked(d.second))]
        for name, text in lines:
            if text:
                click.echo(f"  {name:<{wide}}  {text}")
        click.echo()


def _painted(word: str) -> str:
    return click.style(word, fg="red", underline=True) if colours_wanted() else f"[{word}]"


def _by_people(
    folder: str, chooser: "Chooser", picks: "dict[str, dict[str, Pick]]", seed: int, form: _Form
) -> None:  # fmt: skip
    from importlib.metadata import version

    from hits.compare.picks import texts_of
    from hits.compare.plot import plot_preferences
    from hits.compare.preferences import read_preferences
    from hits.compare.tables import beside, preference_line, preference_tables
    from rypt.database.simulation import simulated_note

    with open_results(folder) as results:
        texts = {name: texts_of(own) for name, own in picks.items()}
        found = [read_preferences(results, a, b, (texts[a], texts[b])) for a, b in combinations(picks, 2)]
        simulated = simulated_note(results.db)
    answered = [own for pair in found if (own := [preferences for preferences in pair if preferences.segments])]
    if not answered:
        raise RyptError(f"{folder}: {_why_nothing(chooser, picks, found)}")
    together = [preferences for pair in answered for preferences in pair]
    if form.plot:
        plot_preferences(form.plot, together)
    judged = sum(sum(preferences.judgments) for preferences in together)
    signature = f"compare|preferences|metrics:{','.join(picks)}|judgments:{judged}|seed:{seed}|v:{version('rypt')}"
    if form.as_json:
        record = {"signature": signature, "signatures": chooser.signatures, "notes": [*filter(None, [simulated])],
                  "preferences": [preferences.as_dict(seed) for preferences in together]}  # fmt: skip
        click.echo(json.dumps(record, ensure_ascii=False))
        return
    for pair in answered:
        click.echo(preference_tables(pair, latex=form.latex) + "\n")
        for preferences in pair:
            click.echo(preference_line(preferences, seed, latex=form.latex) + "\n")
    labels = [f"the labels behind the picks are {simulated}"] if simulated else []
    click.echo(beside([*labels, signature, *chooser.signatures.values()], latex=form.latex))


def _why_nothing(
    chooser: "Chooser", picks: "dict[str, dict[str, Pick]]", found: "Sequence[Sequence[Preferences]]"
) -> str:  # fmt: skip
    from hits.compare.picks import disagreements

    first, second = list(picks)[:2]
    differ = len(disagreements(chooser.campaign, picks[first], picks[second]))
    earlier = sum(preferences.stale for pair in found for preferences in pair)
    stale = f"; {earlier} judgments are about earlier picks" if earlier else ""
    return (
        f"nobody has compared these picks yet ({first} and {second} differ on {differ} segments{stale}); "
        "--batch FOLDER makes a batch that asks, --scores FILE judges by human scores, --show lists them"
    )
