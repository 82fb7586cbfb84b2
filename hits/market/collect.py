"""Bringing answers from a market into the campaign's database; run again, it adds nothing twice."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from itertools import groupby
from pathlib import Path

from hits.market.client import HitState, Market, Work
from hits.market.publish import published
from hits.records import Answer, Batch, Item
from hits.results.answers import Added, Bonus, Results
from hits.results.content import Assignment
from hits.results.csv_file import batch_facts, format_time
from rypt.text import FormatError


def collect(
    batch: Batch,
    folder: Path,
    market: Market,
    results: Results,
    watch: Callable[[Iterable[Item]], Iterable[Item]] = lambda items: items,
) -> tuple[Added, list[str]]:
    """Add all submitted work of a batch, one hit at a time; what a crash leaves out is added by the next run.

    What the market says of hits and of work is kept for the results CSV, bonuses for the cost, and the batch's ties
    count from now on. Returns what was added, and what is wrong with assignments that cannot be understood.
    """
    hits = published(batch, folder, market)
    states = {state.hit: state for state in market.states(batch.settings.id)}
    results.add_identical(batch.settings.id, batch.identical, batch.settings.assignments)
    total, wrong = Added(), []
    for item in watch([item for item in batch.items if item.id in hits]):
        hit = hits[item.id]
        facts = batch_facts(batch, item) | hit_facts(states.get(hit))

        def read(work: Work, item: Item = item, facts: dict[str, str] = facts) -> Assignment:
            answer = _answer(batch, item, work)
            return Assignment(answer, item.columns, work.status, facts | work_facts(work), market.name)

        found = list(market.work(hit))
        for added, error in _added(results, found, read):
            if error is not None:
                wrong.append(f"item {item.id}: {error}")
            for field in fields(Added):
                setattr(total, field.name, getattr(total, field.name) + getattr(added, field.name))
        if found:
            results.add_bonuses(_bonuses(market, hit))
    return total, wrong


def _added(
    results: Results, works: Sequence[Work], read: Callable[[Work], Assignment]
) -> Iterator[tuple[Added, str | None]]:
    """Add the work on one hit in one transaction; where some of it cannot be understood, each by itself."""
    try:
        yield results.add([read(work) for work in works]), None
        return
    except FormatError:
        pass
    for work in works:
        try:
            yield results.add([read(work)]), None
        except FormatError as error:
            yield Added(), f"assignment {work.assignment}: {error}"


def hit_facts(state: HitState | None) -> dict[str, str]:
    """The columns of a results CSV that only the market knows of a hit; none of a hit that it removed."""
    if state is None:
        return {}
    return {
        "HITTypeId": state.type,
        "CreationTime": format_time(state.created),
        "Expiration": format_time(state.expires),
    }


def work_facts(work: Work) -> dict[str, str]:
    """The columns that only the market knows of an assignment."""
    return {
        "AutoApprovalTime": format_time(work.auto_approval),
        "ApprovalTime": format_time(work.approved),
        "RejectionTime": format_time(work.rejected),
        "RequesterFeedback": work.feedback,
    }


def _bonuses(market: Market, hit: str) -> Iterator[tuple[str, list[Bonus]]]:
    """The payments for each assignment of a hit."""
    paid = sorted(market.bonuses(hit), key=lambda payment: payment.assignment)
    for assignment, payments in groupby(paid, key=lambda payment: payment.assignment):
        yield assignment, [Bonus(assignment, p.amount, p.reason, p.paid) for p in payments]


def _answer(batch: Batch, item: Item, work: Work) -> Answer:
    return Answer(
        batch.settings.id, item.id, work.hit, work.assignment, work.worker, work.fields, work.accepted, work.submitted
    )
