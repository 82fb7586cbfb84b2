"""``rypt hits make`` and ``price``: batches of work for people, and what they cost."""

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

import click

from hits.cli.shared import BATCH, FOLDER, MONEY, open_campaign, open_results, seconds_seen_in, tell_price
from rypt.console import JSON, QUIET, talk

if TYPE_CHECKING:
    from hits.records import Batch, BatchSettings
    from rypt.campaign.folder import Campaign

MARKET = click.option("--market", type=click.Choice(["local", "mturk"]), default="local", show_default=True,
                      help="Whose fees: the local market takes none.")  # fmt: skip


@click.command()
@click.argument("campaign", type=FOLDER)
@click.option("-o", "--output", "folder", type=FOLDER, required=True, help="The new folder of the batch.")
@click.option("--kind", type=click.Choice(["label", "comparison", "ranking"]), default="label", show_default=True)
@click.option("--output-of", "systems", multiple=True, metavar="SYSTEM=FILE",
              help="A system's output, a line a segment, for comparisons and rankings.")  # fmt: skip
@click.option(
    "--select",
    "selection",
    type=click.Choice(["all", "value", "trueskill"]),
    default="all",
    show_default=True,
    help="All; for labels those that may change which candidates are best, most valuable first; for comparisons those "
    "TrueSkill learns most from, with --limit.",
)
@click.option("--budget", type=MONEY, help="For labels: make the batch so small that it costs no more, fees included.")
@click.option("--labels", type=click.IntRange(min=1), help="For labels: ask at most so many new questions.")
@click.option("--max-len", type=click.IntRange(min=1), help="Of the frontier's nodes [as rypt.toml says: 4].")
@click.option("--alternatives", type=click.IntRange(1, 10), default=10, show_default=True, help="On one page at most.")
@click.option("--no-reference", is_flag=True, help="Hide the reference.")
@click.option("--reference-alignment", type=click.Path(dir_okay=False), help="Links of source and reference, to "
              "highlight its part.")  # fmt: skip
@click.option("--controls", type=click.FloatRange(0, 0.5), default=0.1, show_default=True, help="Share of controls.")
@click.option("--limit", type=click.IntRange(min=1), help="At most so many items that ask something new, those first "
              "that serve most; controls come besides.")  # fmt: skip
@click.option("--no-punctuation", is_flag=True, help="Do not ask about constituents without a letter or digit, which "
              "otherwise come last.")  # fmt: skip
@click.option("--assignments", type=click.IntRange(1, 1000), help="How many workers answer each "
              "[as rypt.toml says: 1; comparison 3].")  # fmt: skip
@click.option(
    "--wage",
    type=MONEY,
    help="Dollars an hour that rewards are made from, by the times seen so far [as rypt.toml says: 12.00].",
)
@MARKET
@click.option("--title", help="What workers see in the list of hits.")
@click.option("--interface", default="en", show_default=True, help="The language of the instructions.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True)
@JSON
@QUIET
def make(
    campaign: str, folder: str, kind: str, systems: tuple[str, ...], selection: str, budget: Decimal | None,
    labels: int | None, max_len: int | None, alternatives: int, no_reference: bool, reference_alignment: str | None,
    controls: float, limit: int | None, no_punctuation: bool, assignments: int | None, wage: Decimal | None,
    market: str, title: str | None, interface: str, seed: int, as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Make a batch from a CAMPAIGN: batch.csv, template.html, batch.toml.

    A label batch asks about the phrases of the frontier that have no label yet. A comparison shows two systems'
    candidates, a ranking five. batch.toml keeps all that was said here.
    """
    from hits.batches.alternatives import read_reference_links
    from hits.batches.folder import new_settings, write_batch
    from hits.batches.labels import LabelOptions, make_label_batch
    from hits.batches.price import MIN_WAGE, fair_rule, fees_of, price
    from hits.records import Kind

    _refuse_options_of_other_kinds(kind, systems, selection, limit)
    if kind != "label" and (budget is not None or labels is not None):
        raise click.UsageError("--budget and --labels are for --kind label; --limit is for all kinds")
    opened = open_campaign(campaign)
    languages, own = opened.settings.languages, opened.settings.market
    wage = own.wage if wage is None else wage
    max_len = max_len or opened.scoring.max_len
    assignments = own.assignments if assignments is None and kind == "label" else assignments
    seconds = seconds_seen_in(campaign, kind)
    made: dict[str, object] = {
        "campaign": campaign, "reference": not no_reference, "controls": controls, "limit": limit,
        "wage": str(MIN_WAGE if wage is None else wage), "seconds": None if seconds is None else str(seconds),
    }  # fmt: skip
    if kind == "label":
        made |= {"max_len": max_len, "alternatives": alternatives, "punctuation": not no_punctuation}
        made |= {"reference_alignment": reference_alignment, "select": selection, "labels": labels}
        made["budget"] = None if budget is None else str(budget)
    else:
        made |= {"systems": list(systems), "select": selection}
    settings = new_settings(
        Kind(kind), seed=seed, now=datetime.now(UTC), source_language=languages.source or "",
        target_language=languages.target or "", interface=interface, title=title, assignments=assignments,
        reward=fair_rule(Kind(kind), wage if wage is not None else MIN_WAGE, seconds),
        made={name: value for name, value in made.items() if value is not None},
    )  # fmt: skip
    if kind == "label":
        options = LabelOptions(
            max_len, alternatives, not no_reference, controls, limit=limit, labels=labels, select=selection,
            punctuation=not no_punctuation,
        )  # fmt: skip
        links = read_reference_links(reference_alignment, opened) if reference_alignment else None
        batch = make_label_batch(
            opened, settings, options, reference_links=links, budget=budget, fees=fees_of(market)
        )  # fmt: skip
    else:
        batch = _systems_batch(opened, settings, systems, selection, not no_reference, controls, limit)
    write_batch(folder, batch)
    for note in batch.notes:
        talk(f"note: {note}", quiet=quiet)
    if batch.identical:
        talk(f"{len(batch.identical)} pairs of the same text need nobody; they will count as ties", quiet=quiet)
    tell_price(batch, price(batch, fees=fees_of(market), seconds=seconds), market, as_json=as_json, what=f"{folder}: ")


def _refuse_options_of_other_kinds(kind: str, systems: Sequence[str], selection: str, limit: int | None) -> None:
    if kind == "label" and systems:
        raise click.UsageError("--output-of is for comparisons and rankings")
    if selection == "value" and kind != "label":
        raise click.UsageError("--select value is for labels; comparisons have --select trueskill")
    if selection == "trueskill" and (kind != "comparison" or limit is None):
        raise click.UsageError("--select trueskill needs --kind comparison and --limit")


def _systems_batch(
    campaign: "Campaign", settings: "BatchSettings", systems: Sequence[str], selection: str, reference: bool,
    controls: float, limit: int | None,
) -> "Batch":  # fmt: skip
    """A batch of comparisons or rankings."""
    from hits.batches.comparisons import make_comparison_batch
    from hits.batches.rankings import make_ranking_batch

    outputs = _read_outputs(systems, campaign)
    references = _first_reference(campaign) if reference and campaign.references else None
    if selection == "trueskill" and limit is not None:
        matches = _select(str(campaign.folder), outputs, limit, settings.seed)
        return make_comparison_batch(
            campaign.segments, outputs, settings, matches=matches, references=references, control_share=controls
        )
    build = make_comparison_batch if settings.kind == "comparison" else make_ranking_batch
    return build(campaign.segments, outputs, settings, references=references, control_share=controls, limit=limit)


def _select(campaign: str, outputs: dict[str, dict[str, str]], count: int, seed: int) -> list[tuple[str, str, str]]:
    """The comparisons that TrueSkill learns most from, given those in the campaign's database."""
    import numpy as np

    from hits.batches.outputs import same_text
    from hits.ranking.data import comparisons_of
    from hits.ranking.select import select_matches

    better = {"A": 1, "EQUAL": 0, "B": -1}
    with open_results(campaign) as results:
        known = [(c.segment, c.system_a, c.system_b, better[c.choice], c.worker) for c in results.comparisons()]
    known = [row for row in known if row[1] in outputs and row[2] in outputs]
    found = select_matches(
        comparisons_of(known) if known else None,
        {system: list(texts) for system, texts in outputs.items()},
        count,
        np.random.default_rng(seed),
        ask=lambda names, segment: not same_text(outputs[names[0]][segment], outputs[names[1]][segment]),
    )
    return [(match.segment, match.systems[0], match.systems[1]) for match in found]


def _first_reference(campaign: "Campaign") -> dict[str, str]:
    names = [segment.id for segment in campaign.segments]
    return dict(zip(names, campaign.references[0], strict=True))


def _read_outputs(systems: Sequence[str], campaign: "Campaign") -> dict[str, dict[str, str]]:
    from hits.batches.outputs import read_output

    outputs: dict[str, dict[str, str]] = {}
    for text in systems:
        name, equals, path = text.partition("=")
        if not equals or not name or not path:
            raise click.UsageError(f"--output-of {text}: expected SYSTEM=FILE")
        if name in outputs:
            raise click.UsageError(f"--output-of {text}: the system {name} is there twice")
        outputs[name] = read_output(path, campaign.segments)
    return outputs


@click.command()
@BATCH
@MARKET
@click.option("--min-wage", type=MONEY, help="Warn below this wage [12.00].")
@click.option("-C", "--campaign", type=FOLDER, help="Take the times seen in this campaign.")
@JSON
def price(batch: str, market: str, min_wage: Decimal | None, campaign: str | None, as_json: bool) -> None:
    """Say what a BATCH costs before anything is sent, how long it takes, and what workers earn.

    Times are those seen in the campaign, or else those of its making, or else 8.4 seconds a label, 30 a comparison, 15
    a candidate ranked.
    """
    from hits.batches.folder import read_batch
    from hits.batches.price import MIN_WAGE, fees_of
    from hits.batches.price import price as priced

    read = read_batch(batch)
    seconds = _seconds_of_making(read) if campaign is None else seconds_seen_in(campaign, str(read.settings.kind))
    cost = priced(
        read, fees=fees_of(market), seconds=seconds, min_wage=MIN_WAGE if min_wage is None else min_wage
    )  # fmt: skip
    tell_price(read, cost, market, as_json=as_json)


def _seconds_of_making(batch: "Batch") -> Decimal | None:
    """The times that were seen when the batch was made."""
    try:
        seconds = Decimal(str(batch.settings.made["seconds"]))
    except (KeyError, InvalidOperation):
        return None
    return seconds if seconds.is_finite() and seconds > 0 else None
