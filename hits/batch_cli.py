"""``rypt hits make`` and ``price``: batches of work for people, and what they cost."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

import click

from hits.shared_cli import BATCH, FOLDER, MONEY, open_campaign, open_results
from rypt.cli import JSON, QUIET, talk

if TYPE_CHECKING:
    from hits.price import Price
    from hits.records import Batch
    from rypt.campaign import Campaign


@click.command()
@click.argument("campaign", type=FOLDER)
@click.option("-o", "--output", "folder", type=FOLDER, required=True, help="The new folder of the batch.")
@click.option("--kind", type=click.Choice(["label", "comparison", "ranking"]), default="label", show_default=True)
@click.option("--output-of", "systems", multiple=True, metavar="SYSTEM=FILE",
              help="A system's output, a line a segment, for comparisons and rankings.")  # fmt: skip
@click.option(
    "--select",
    "selection",
    type=click.Choice(["all", "trueskill"]),
    default="all",
    show_default=True,
    help="For comparisons: all pairs, or those TrueSkill learns most from, after what is known; with --limit.",
)
@click.option("--max-len", type=click.IntRange(min=1), default=4, show_default=True, help="Of the frontier's nodes.")
@click.option("--alternatives", type=click.IntRange(1, 10), default=10, show_default=True, help="On one page at most.")
@click.option("--no-reference", is_flag=True, help="Hide the reference.")
@click.option("--reference-alignment", type=click.Path(dir_okay=False), help="Links of source and reference, to "
              "highlight its part.")  # fmt: skip
@click.option("--controls", type=click.FloatRange(0, 0.5), default=0.1, show_default=True, help="Share of controls.")
@click.option("--limit", type=click.IntRange(min=1), help="At most so many items.")
@click.option("--assignments", type=click.IntRange(1, 1000), help="How many workers answer each [1; comparison 3].")
@click.option("--wage", type=MONEY, help="Dollars an hour that rewards are made from [12.00].")
@click.option("--title", help="What workers see in the list of hits.")
@click.option("--interface", default="en", show_default=True, help="The language of the instructions.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True)
@JSON
@QUIET
def make(
    campaign: str, folder: str, kind: str, systems: tuple[str, ...], selection: str, max_len: int, alternatives: int,
    no_reference: bool, reference_alignment: str | None, controls: float, limit: int | None, assignments: int | None,
    wage: Decimal | None, title: str | None, interface: str, seed: int, as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Make a batch from a CAMPAIGN: batch.csv, template.html, batch.toml.

    A label batch asks about the phrases of the frontier that have no label yet. A comparison shows two systems'
    candidates, a ranking five.
    """
    from hits.alternatives import read_reference_links
    from hits.batch import new_settings, write_batch
    from hits.comparisons import make_comparison_batch
    from hits.labels import LabelOptions, make_label_batch
    from hits.price import MIN_WAGE, fair_rule, price
    from hits.rankings import make_ranking_batch
    from hits.records import Kind

    opened = open_campaign(campaign)
    languages = opened.settings.languages
    settings = new_settings(
        Kind(kind), seed=seed, now=datetime.now(UTC), source_language=languages.source or "",
        target_language=languages.target or "", interface=interface, title=title, assignments=assignments,
        reward=fair_rule(Kind(kind), wage if wage is not None else MIN_WAGE),
    )  # fmt: skip
    if kind == "label":
        if systems:
            raise click.UsageError("--output-of is for comparisons and rankings")
        options = LabelOptions(max_len, alternatives, not no_reference, controls, limit=limit)
        links = read_reference_links(reference_alignment, opened) if reference_alignment else None
        batch = make_label_batch(opened, settings, options, reference_links=links)
    else:
        outputs = _read_outputs(systems, opened)
        references = None if no_reference or not opened.references else _first_reference(opened)
        if selection == "trueskill":
            if kind != "comparison" or limit is None:
                raise click.UsageError("--select trueskill needs --kind comparison and --limit")
            matches = _select(campaign, outputs, limit, seed)
            batch = make_comparison_batch(
                opened.segments, outputs, settings, matches=matches, references=references, control_share=controls
            )
        else:
            build = make_comparison_batch if kind == "comparison" else make_ranking_batch
            batch = build(
                opened.segments, outputs, settings, references=references, control_share=controls, limit=limit
            )
    write_batch(folder, batch)
    for note in batch.notes:
        talk(f"note: {note}", quiet=quiet)
    if batch.identical:
        talk(f"{len(batch.identical)} pairs with the same text were set aside", quiet=quiet)
    _tell_price(batch, price(batch), as_json=as_json, what=f"{folder}: ")


def _select(campaign: str, outputs: dict[str, dict[str, str]], count: int, seed: int) -> list[tuple[str, str, str]]:
    """The comparisons that TrueSkill learns most from, given those in the campaign's database."""
    import numpy as np

    from hits.outputs import same_text
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
    from hits.outputs import read_output

    outputs: dict[str, dict[str, str]] = {}
    for text in systems:
        name, equals, path = text.partition("=")
        if not equals or not name or not path:
            raise click.UsageError(f"--output-of {text}: expected SYSTEM=FILE")
        if name in outputs:
            raise click.UsageError(f"--output-of {text}: the system {name} is there twice")
        outputs[name] = read_output(path, campaign.segments)
    return outputs


def _tell_price(batch: "Batch", cost: "Price", *, as_json: bool, what: str = "") -> None:
    if as_json:
        wage = None if cost.wage is None else str(round(cost.wage, 2))
        facts = {
            "batch": batch.settings.id, "kind": str(batch.settings.kind), "hits": cost.hits,
            "assignments": cost.assignments, "answers": cost.answers, "rewards": str(cost.rewards),
            "fees": str(cost.fees), "total": str(cost.total), "hours": round(float(cost.hours), 2), "wage": wage,
            "warning": cost.warning,
        }  # fmt: skip
        click.echo(json.dumps(facts))
        return
    hits_said = f"{cost.hits} hits, {cost.assignments} assignments, {cost.answers} answers"
    click.echo(f"{what}{hits_said}")
    click.echo(f"rewards ${cost.rewards:.2f} + fees ${cost.fees:.2f} = ${cost.total:.2f}; about {cost.hours:.1f} hours"
               + (f" at ${cost.wage:.2f} an hour" if cost.wage is not None else ""))  # fmt: skip
    if cost.warning:
        talk(f"warning: {cost.warning}")


@click.command()
@BATCH
@click.option("--market", type=click.Choice(["local", "mturk"]), default="mturk", show_default=True,
              help="Whose fees: the local market takes none.")  # fmt: skip
@click.option("--min-wage", type=MONEY, help="Warn below this wage [12.00].")
@click.option("-C", "--campaign", type=FOLDER, help="Take the times seen in this campaign.")
@JSON
def price(batch: str, market: str, min_wage: Decimal | None, campaign: str | None, as_json: bool) -> None:
    """Say what a BATCH costs before anything is sent, how long it takes, and what workers earn."""
    from hits.batch import read_batch
    from hits.price import MIN_WAGE, MTURK_FEES, NO_FEES
    from hits.price import price as priced

    read = read_batch(batch)
    seconds = None if campaign is None else _seconds_seen(campaign)
    cost = priced(
        read, fees=MTURK_FEES if market == "mturk" else NO_FEES, seconds=seconds,
        min_wage=MIN_WAGE if min_wage is None else min_wage,
    )  # fmt: skip
    _tell_price(read, cost, as_json=as_json)


def _seconds_seen(folder: str) -> Decimal | None:
    """The seconds a label took so far, None where none was timed."""
    from hits.quality import campaign_numbers

    with open_results(folder) as results:
        seen = campaign_numbers(results).seconds_per_label
    return None if seen != seen else Decimal(str(round(seen, 3)))
