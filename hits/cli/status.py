"""``rypt hits status``: the progress of a collection, and the numbers that the paper reports."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from hits.cli.shared import CAMPAIGN, FOLDER, campaign_folder, market_options, participant_lines, plain
from rypt.console import JSON, QUIET, talk
from rypt.text import plural

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from hits.market.client import MarketAddress
    from hits.market.status import CollectionStatus

Facts = Mapping[str, Any]


@click.command()
@CAMPAIGN
@click.option("--batch", type=FOLDER, help="Only this batch; its market is asked, too, if it is running.")
@market_options
@JSON
@QUIET
def status(campaign: str, batch: str | None, market: "MarketAddress", as_json: bool, quiet: bool) -> None:
    """Show the progress of a collection: hits, labels an hour, cost, shares of labels, agreement.

    Counts the answers that `rypt hits collect` and `import` added to the campaign. With --batch, also asks the
    market how many hits are published, free, in work and submitted now.
    """
    from hits.market.status import collection_status

    state = collection_status(campaign_folder(campaign, batch), batch, market)
    if state.batch is not None and state.batch.note:
        talk(f"note: {state.batch.note}", quiet=quiet)
    facts = _facts(state)
    if as_json:
        click.echo(json.dumps(facts))
        return
    for line in [*screen(facts), *participant_lines(() if state.batch is None else state.batch.participants)]:
        click.echo(line)


def _facts(state: "CollectionStatus") -> dict[str, Any]:
    facts = _record(state.numbers)
    if not facts["left_out"]:
        del facts["left_out"], facts["left_out_waiting"]
    facts["agreement"] = _record(state.label_agreement)
    facts["comparison_agreement"] = _record(state.comparison_agreement)
    if state.batch is not None:
        facts["of"] = {"hits": state.batch.hits, "assignments": state.batch.assignments}
        facts["published"] = state.batch.published
        facts["market"] = None if state.batch.market is None else _record(state.batch.market)
        if state.batch.participants:
            facts["participants"] = [asdict(person) for person in state.batch.participants]
    return facts


def _record(record: "DataclassInstance") -> dict[str, Any]:
    facts = {name: plain(value) for name, value in asdict(record).items()}
    return {
        name: {key: plain(each) for key, each in value.items()} if isinstance(value, dict) else value
        for name, value in facts.items()
    }


def screen(facts: Facts) -> Iterator[str]:
    for title, lines in (
        ("market", _market_lines(facts)),
        ("collected", _work_lines(facts)),
        ("labels", _label_lines(facts) if facts["labels"] or facts["agreement"]["answers"] else []),
        ("comparisons", _comparison_lines(facts) if facts["comparisons"] else []),
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
        yield f"{plural(state['assignable'], 'hit')} can be taken now"
        yield (
            f"{plural(state['places'], 'assignment')}: {state['open']} free, {state['pending']} in work, "
            f"{state['submitted']} submitted, {state['reviewed']} of them reviewed"
        )


def _work_lines(facts: Facts) -> Iterator[str]:
    of = facts.get("of")
    done = facts["assignments"]
    work = f"{done} of {plural(of['assignments'], 'assignment')}" if of else plural(done, "assignment")
    yield (
        f"{work} of {plural(facts['hits'], 'hit')}: {facts['approved']} approved, "
        f"{facts['waiting']} waiting for review; rejected besides: {facts['rejected']}"
    )
    if facts.get("left_out"):
        yield (
            f"{plural(facts['left_out'], 'unreadable assignment')} left out of the results, "
            f"{facts['left_out_waiting']} unpaid and to be reviewed (`rypt hits collect` names them)"
        )
    yield (
        f"workers: {facts['workers']}, {facts['excluded_workers']} of them excluded; "
        f"{facts['hours']:.1f} hours of work"
    )


def _label_lines(facts: Facts) -> Iterator[str]:
    if facts["labels"] or facts["unanswered"]:
        yield f"{plural(facts['labels'], 'label')}, {_number(facts['alternatives_per_hit'], '.2f')} alternatives a hit"
        blank = f" (with {facts['unanswered']} left blank)" if facts["unanswered"] else ""
        yield f"YES {facts['yes']:.1%}, NO {facts['no']:.1%}, NOT SURE {facts['not_sure']:.1%}{blank}"
        speed = facts["seconds"].get("label")
        yield f"{_number(speed, '.1f')} seconds per label, {_number(facts['labels_per_hour'], '.0f')} an hour"
    yield _agreement_line(facts["agreement"], "phrase", "phrases")


def _comparison_lines(facts: Facts) -> Iterator[str]:
    from hits.kinds import KINDS
    from hits.records import Kind

    yield plural(facts["comparisons"], "comparison")
    preferred = {"neither" if name == "EQUAL" else name: count for name, count in facts["preferred"].items()}
    yield "preferred: " + (", ".join(f"{name} {count}" for name, count in preferred.items()) or "-")
    for kind, rules in KINDS.items():
        if kind in facts["seconds"] and kind is not Kind.LABEL:
            yield f"{facts['seconds'][kind]:.1f} seconds per {rules.unit}"
    yield _agreement_line(facts["comparison_agreement"], "pair of candidates", "pairs of candidates")


def _agreement_line(agreement: Facts, what: str, many: str) -> str:
    same = ""
    if agreement["same"] is not None:
        same = f", {agreement['same']:.1%} with at least {agreement['at_least']} of {agreement['of']} equal"
    coefficients = f"alpha {_number(agreement['alpha'], '.3f')}, kappa {_number(agreement['kappa'], '.3f')}"
    asked, answers = plural(agreement["questions"], what, many), plural(agreement["answers"], "answer")
    return f"agreement on {asked} ({answers}): {coefficients}{same}"


def _money_lines(facts: Facts) -> Iterator[str]:
    yield (
        f"rewards ${facts['rewards']} + bonuses ${facts['bonuses']} + fees ${facts['fees']} = ${facts['cost']}"
        + (f"; workers earn ${float(facts['wage']):.2f} an hour" if facts["wage"] is not None else "")
    )
    for kind in ("label", "comparison"):
        if (cost := facts[f"cost_per_{kind}"]) is not None:
            yield f"${cost} a {kind}"


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
