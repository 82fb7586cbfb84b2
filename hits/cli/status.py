"""``rypt hits status``: how far a collection is, and the numbers the paper reports."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hits.cli.shared import CAMPAIGN, FOLDER, market_options, open_market, open_results, plain
from rypt.console import JSON, QUIET, talk

if TYPE_CHECKING:
    from hits.records import Batch

Facts = Mapping[str, Any]


@click.command()
@CAMPAIGN
@click.option("--batch", type=FOLDER, help="Only this batch; its market is asked, too, where it answers.")
@market_options
@JSON
@QUIET
def status(
    campaign: str, batch: str | None, market: str, at: str, endpoint: str | None, production: bool, as_json: bool,
    quiet: bool,
) -> None:  # fmt: skip
    """Say how far the collection is: hits, labels an hour, cost, shares of labels, agreement.

    Numbers are of what `rypt hits collect` and `import` brought into the campaign. With --batch the market of --at (or
    --endpoint) also says what is published, free, in work and submitted at this moment.
    """
    from hits.batches.folder import read_batch
    from hits.results.numbers import campaign_numbers, comparison_agreement, label_agreement

    read = read_batch(batch) if batch else None
    name = read.settings.id if read else None
    with open_results(campaign) as results:
        facts = _facts(campaign_numbers(results, batch=name))
        facts["agreement"] = _facts(label_agreement(results, name))
        facts["comparison_agreement"] = _facts(comparison_agreement(results, name))
    if read and batch:
        facts["of"] = {"hits": len(read.items), "assignments": len(read.items) * read.settings.assignments}
        facts |= _market_facts(read, Path(batch), market, at, endpoint, production, quiet)
    if as_json:
        click.echo(json.dumps(facts))
        return
    for line in screen(facts):
        click.echo(line)


def _facts(record: Any) -> dict[str, Any]:
    facts = {name: plain(value) for name, value in asdict(record).items()}
    return {
        name: {key: plain(each) for key, each in value.items()} if isinstance(value, dict) else value
        for name, value in facts.items()
    }


def _market_facts(
    batch: "Batch", folder: Path, market: str, at: str, endpoint: str | None, production: bool, quiet: bool
) -> dict[str, Any]:
    """What was published where, and how far the market is; that is null, with a note, where it cannot be asked."""
    from hits.market.client import MarketError
    from hits.market.progress import market_progress, published_hits
    from hits.server.settings import SETTINGS_NAME

    published = published_hits(folder)
    facts: dict[str, Any] = {"published": published, "market": None}
    if not published or (market == "local" and not (Path(at) / SETTINGS_NAME).exists()):
        if published:
            talk(f"note: no market in {at}; say --at FOLDER to ask the one it is published on", quiet=quiet)
        return facts
    client = open_market(market, at, endpoint, production, quiet=quiet)
    if client.key not in published:
        talk(f"note: the batch is not published on this market but on {', '.join(published)}", quiet=quiet)
        return facts
    try:
        facts["market"] = _facts(market_progress(client.states(batch.settings.id)))
    except MarketError as error:
        talk(f"note: {error}", quiet=quiet)
    return facts


def screen(facts: Facts) -> Iterator[str]:
    """The numbers as a person reads them; what there is nothing of is left out."""
    for title, lines in (
        ("market", _market_lines(facts)),
        ("collected", _work_lines(facts)),
        ("labels", _label_lines(facts) if facts["labels"] or facts["agreement"]["answers"] else []),
        ("comparisons", _comparison_lines(facts) if facts["comparisons"] or facts["identical"] else []),
        ("money", _money_lines(facts)),
    ):
        for i, line in enumerate(lines):
            yield f"{title if i == 0 else '':13}{line}"


def _market_lines(facts: Facts) -> Iterator[str]:
    for key, count in facts.get("published", {}).items():
        yield f"{count} of {facts['of']['hits']} hits published on {key}"
    if "published" in facts and not facts["published"]:
        yield f"none of {facts['of']['hits']} hits is published"
    if state := facts.get("market"):
        yield f"{state['assignable']} hits can be taken now"
        yield (f"{state['places']} assignments: {state['open']} free, {state['pending']} in work, "
               f"{state['submitted']} submitted, {state['reviewed']} of them reviewed")  # fmt: skip


def _work_lines(facts: Facts) -> Iterator[str]:
    of = facts.get("of")
    expected = f" of {of['assignments']}" if of else ""
    yield (f"{facts['assignments']}{expected} assignments of {facts['hits']} hits: {facts['approved']} approved, "
           f"{facts['waiting']} waiting for review; rejected besides: {facts['rejected']}")  # fmt: skip
    yield (f"workers: {facts['workers']}, {facts['excluded_workers']} of them excluded; "
           f"{facts['hours']:.1f} hours of work")  # fmt: skip


def _label_lines(facts: Facts) -> Iterator[str]:
    if facts["labels"] or facts["unanswered"]:
        yield f"{facts['labels']} labels, {_number(facts['alternatives_per_hit'], '.2f')} alternatives a hit"
        blank = f" (with {facts['unanswered']} left blank)" if facts["unanswered"] else ""
        yield f"YES {facts['yes']:.1%}, NO {facts['no']:.1%}, NOT SURE {facts['not_sure']:.1%}{blank}"
        speed = facts["seconds"].get("label")
        yield f"{_number(speed, '.1f')} seconds a label, {_number(facts['labels_per_hour'], '.0f')} an hour"
    yield _agreement_line(facts["agreement"], "phrases")


def _comparison_lines(facts: Facts) -> Iterator[str]:
    yield f"{facts['comparisons']} comparisons; {facts['identical']} pairs tied because their texts are the same"
    yield "preferred: " + (", ".join(f"{name} {count}" for name, count in facts["preferred"].items()) or "-")
    for kind, said in (("comparison", "a comparison"), ("ranking", "a candidate ranked")):
        if kind in facts["seconds"]:
            yield f"{facts['seconds'][kind]:.1f} seconds {said}"
    yield _agreement_line(facts["comparison_agreement"], "pairs of candidates")


def _agreement_line(found: Facts, what: str) -> str:
    same = (
        ""
        if found["same"] is None
        else f", {found['same']:.1%} with at least {found['at_least']} of {found['of']} equal"
    )
    coefficients = f"alpha {_number(found['alpha'], '.3f')}, kappa {_number(found['kappa'], '.3f')}"
    return f"agreement on {found['questions']} {what} ({found['answers']} answers): {coefficients}{same}"


def _money_lines(facts: Facts) -> Iterator[str]:
    yield (f"rewards ${facts['rewards']} + bonuses ${facts['bonuses']} + fees ${facts['fees']} = ${facts['cost']}"
           + (f"; workers earn ${float(facts['wage']):.2f} an hour" if facts["wage"] is not None else ""))  # fmt: skip
    for kind in ("label", "comparison"):
        if (cost := facts[f"cost_per_{kind}"]) is not None:
            yield f"${cost} a {kind}"


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
