"""Collecting answers from a market into the campaign's database, each once.

collected = collect("batches/1", "market", "campaign")     →  collected.assignments, collected.judgments, …
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hits.market.client import AnyMarket, HitState, Market, Participant, SubmittedAssignment, open_market
from hits.market.publish import AnyBatch, opened_batch, published
from hits.records import Assignment, Batch, Bonus, Item
from hits.results.answers import Added, Results, open_results
from hits.results.csv_file import batch_facts, format_time
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
        known = {"batch": batch.settings.id, "item": item.id, "columns": item.columns, "market": market.name}
        works = [_assignment(work, facts, known) for work in market.work(hit)]
        for assignment, reason in _add(results, works, total):
            wrong.append(f"item {item.id}: assignment {assignment.id}: {reason}")
            results.leave_out(assignment, one_line(reason))
        if works:
            results.add_bonuses(
                hit, (Bonus(b.assignment, b.amount, b.reason, b.paid) for b in market.bonuses(hit))
            )
    return Collected(
        **asdict(total), left_out=tuple(wrong), participants=tuple(market.participants(batch.settings.id))
    )


def _add(results: Results, works: Sequence[Assignment], total: Added) -> Iterator[tuple[Assignment, str]]:
    """Add the work on one hit in one transaction, or one assignment at a time if some cannot be read.

    Those that cannot are returned, with the reason.
    """
    try:
        total += results.add(works)
        return
    except FormatError:
        pass
    for work in works:
        try:
            total += results.add([work])
        except FormatError as error:
            yield work, str(error)


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


def _assignment(work: SubmittedAssignment, facts: dict[str, str], known: dict[str, Any]) -> Assignment:
    """What the market shows of an assignment, with what is known of its hit."""
    try:
        fields, problem = work.fields, ""
    except FormatError as error:
        fields, problem = {}, str(error)
    return Assignment(
        id=work.assignment,
        hit=work.hit,
        worker=work.worker,
        fields=fields,
        accepted=work.accepted,
        submitted=work.submitted,
        status=work.status,
        facts=facts | work_facts(work),
        problem=problem,
        **known,
    )
