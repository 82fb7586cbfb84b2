"""Collecting answers from a market into the campaign's database, each once.

collected = collect("batches/1", "market", "campaign")     →  collected.assignments, collected.judgments, …
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import groupby
from pathlib import Path

from hits.market.client import AnyMarket, HitState, Market, Participant, SubmittedAssignment, open_market
from hits.market.publish import AnyBatch, opened_batch, published
from hits.records import Answer, Batch, Item
from hits.results.answers import Added, Bonus, LeftOut, Results
from hits.results.content import Assignment
from hits.results.csv_file import batch_facts, format_time
from hits.results.opening import open_results
from rypt.campaign.folder import Campaign
from rypt.text import FormatError, PathLike, one_line

WatchItems = Callable[[Iterable[Item]], Iterable[Item]]


@dataclass(frozen=True, slots=True)
class Collected:
    """What collecting added, and errors of assignments that were left out because they cannot be read.

    ``already`` counts assignments that were in the database before; ``participants`` are the people whom a recruiting
    service sent.
    """

    assignments: int
    already: int
    judgments: int
    comparisons: int
    controls: int
    unanswered: int
    left_out: tuple[str, ...]
    participants: tuple[Participant, ...] = ()

    @property
    def submitted(self) -> int:
        """All assignments of the batch that workers have submitted so far."""
        return self.assignments + self.already + len(self.left_out)


def collect(
    batch: AnyBatch,
    market: AnyMarket,
    campaign: Campaign | PathLike,
    *,
    watch: WatchItems = lambda items: items,
) -> Collected:
    """Add all submitted work on a batch to a campaign's database, one hit at a time.

    What a crash leaves out is added by the next run. What the market says of hits and of work is kept for the results
    CSV, bonuses for the cost, and pairs with the same text for the status.
    """
    batch, folder = opened_batch(batch)
    market = open_market(market)
    with open_results(campaign, readonly=False) as results:
        return collect_into(results, batch, folder, market, watch)


def collect_into(
    results: Results, batch: Batch, folder: Path, market: Market, watch: WatchItems = lambda items: items
) -> Collected:
    """Add all submitted work on a batch to an open database."""
    hits = published(batch, folder, market)
    states = {state.hit: state for state in market.states(batch.settings.id)}
    total, wrong = Added(), []
    for item in watch([item for item in batch.items if item.id in hits]):
        hit = hits[item.id]
        facts = batch_facts(batch, item) | hit_facts(states.get(hit))

        def read(work: SubmittedAssignment, item: Item = item, facts: dict[str, str] = facts) -> Assignment:
            answer = _answer(batch, item, work)
            return Assignment(answer, item.columns, work.status, facts | work_facts(work), market.name)

        works = list(market.work(hit))
        unread = []
        for added, work, error in _added(results, works, read):
            if work is not None:
                wrong.append(f"item {item.id}: assignment {work.assignment}: {error}")
                unread.append(
                    LeftOut(
                        work.assignment, hit, batch.settings.id, work.worker, work.status, one_line(error)
                    )
                )
            for field in fields(Added):
                setattr(total, field.name, getattr(total, field.name) + getattr(added, field.name))
        results.add_left_out(unread)
        if works:
            results.add_bonuses(_bonuses(market, hit))
    return Collected(
        total.assignments,
        total.already,
        total.judgments,
        total.comparisons,
        total.controls,
        total.unanswered,
        tuple(wrong),
        tuple(market.participants(batch.settings.id)),
    )


def _added(
    results: Results, works: Sequence[SubmittedAssignment], read: Callable[[SubmittedAssignment], Assignment]
) -> Iterator[tuple[Added, SubmittedAssignment | None, str]]:
    """Add the work on one hit in one transaction, or one assignment at a time if some cannot be read.

    Each comes with the work that cannot be read, if any, and the reason.
    """
    try:
        yield results.add([read(work) for work in works]), None, ""
        return
    except FormatError:
        pass
    for work in works:
        try:
            yield results.add([read(work)]), None, ""
        except FormatError as error:
            yield Added(), work, str(error)


def hit_facts(state: HitState | None) -> dict[str, str]:
    """The columns of a results CSV that only the market knows of a hit; none of a hit that it removed."""
    if state is None:
        return {}
    return {
        "HITTypeId": state.type,
        "CreationTime": format_time(state.created),
        "Expiration": format_time(state.expires),
    }


def work_facts(work: SubmittedAssignment) -> dict[str, str]:
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


def _answer(batch: Batch, item: Item, work: SubmittedAssignment) -> Answer:
    return Answer(
        batch.settings.id,
        item.id,
        work.hit,
        work.assignment,
        work.worker,
        work.fields,
        work.accepted,
        work.submitted,
    )
