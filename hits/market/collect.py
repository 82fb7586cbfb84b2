"""Collecting answers from a market into the campaign's database, each once, and reviewing them.

collected = collect("batches/1", "market", "campaign")     →  collected.assignments, collected.judgments, …
reviewed = review("results.csv", "market")                 →  reviewed.approved, reviewed.rejected, …
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hits.market.client import AnyMarket, Market, Participant, Record, open_market
from hits.market.publish import AnyBatch, check_unchanged, opened_batch
from hits.records import APPROVED, REJECTED, SUBMITTED, Assignment, Batch, Item
from hits.results.answers import Added, Results, open_results
from hits.results.csv_file import Decision, batch_facts, format_time, read_decisions
from rypt.campaign.folder import Campaign
from rypt.text import FormatError, PathLike, RyptError, one_line

WatchItems = Callable[[Iterable[Item]], Iterable[Item]]


@dataclass(slots=True)
class Collected(Added):
    """What collecting added, and errors of assignments that were left out because they cannot be read.

    ``already`` counts assignments that were in the database before; ``participants`` are the people whom a recruiting
    service sent.
    """

    left_out: tuple[str, ...] = ()
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

    After a crash, the next run adds what is missing. The market's records of hits and work are kept for the results
    CSV, and bonuses for the cost.
    """
    batch, folder = opened_batch(batch)
    market = open_market(market)
    with open_results(campaign, readonly=False) as results:
        return collect_into(results, batch, folder, market, watch)


def collect_into(
    results: Results, batch: Batch, folder: Path, market: Market, watch: WatchItems = lambda items: items
) -> Collected:
    """Add all submitted work on a batch to an open database; only hits on which something happened are asked about."""
    records = market.hits(batch.settings.id)
    hits = {item: str(record["HITId"]) for item, record in records.items()}
    hits |= check_unchanged(batch, folder, market).hits
    if not hits:
        raise RyptError(f"{folder}: nothing of this batch is published on {market.name}")
    known: dict[str, Counter[str]] = defaultdict(Counter)  # hit → statuses of its collected work
    facts_of: dict[str, Mapping[str, str]] = {}
    for hit, facts, status in results.collected(batch.settings.id):
        known[hit][status] += 1
        facts_of[hit] = facts
    total = Collected()
    for item in watch([item for item in batch.items if item.id in hits]):
        hit, record = hits[item.id], records.get(item.id)
        if record is not None and _is_collected(record, known[hit], facts_of.get(hit, {})):
            total.already += known[hit].total()
            continue
        facts = batch_facts(batch, item) | _hit_facts(record)
        work = [
            replace(
                one,
                batch=batch.settings.id,
                item=item.id,
                columns=item.columns,
                facts={**facts, **one.facts},
                market=market.name,
            )
            for one in market.work(hit)
        ]
        unread = _add(results, work, total)
        total.left_out += tuple(f"item {one.item}: assignment {one.id}: {one.problem}" for one in unread)
        results.add_left_out(unread)
        known[hit].update(one.status for one in work)
    results.add_bonuses(market.bonuses(hit for hit in hits.values() if known[hit]))
    total.participants = tuple(market.participants(batch.settings.id))
    return total


def _is_collected(hit: Record, known: Counter[str], facts: Mapping[str, str]) -> bool:
    """Whether nothing new can be on a hit: as much is submitted and reviewed as was collected, and no rejection.

    A rejection may be overturned, which no count shows.
    """
    submitted = (
        hit["MaxAssignments"] - hit["NumberOfAssignmentsAvailable"] - hit["NumberOfAssignmentsPending"]
    )
    if not submitted:
        return True
    reviewed = known[APPROVED] + known[REJECTED]
    same = (submitted, hit["NumberOfAssignmentsCompleted"]) == (known.total(), reviewed)
    return same and not known[REJECTED] and _hit_facts(hit).items() <= facts.items()


def _add(results: Results, work: Sequence[Assignment], total: Added) -> list[Assignment]:
    """Add the work on one hit in one transaction, or one assignment at a time if some cannot be read: these come back."""
    unread = []
    try:
        total += results.add(work)
    except FormatError:
        for one in work:
            try:
                total += results.add([one])
            except FormatError as error:
                unread.append(replace(one, problem=one_line(str(error))))
    return unread


def _hit_facts(hit: Record | None) -> dict[str, str]:
    """The columns of a results CSV that only the market knows of a hit; none of a hit that it removed."""
    if hit is None:
        return {}
    times = {name: format_time(int(hit[name].timestamp())) for name in ("CreationTime", "Expiration")}
    return {"HITTypeId": hit["HITTypeId"], **times}


@dataclass(frozen=True, slots=True)
class Reviewed:
    """How many assignments were approved and rejected now, how many were so before, and which cannot be rejected.

    ``unsettled`` says whose work was approved and is not paid by that, where another service pays.
    """

    approved: int
    rejected: int
    already: int
    too_late: tuple[str, ...]
    unsettled: tuple[str, ...] = ()


def review(
    decisions: PathLike,
    market: AnyMarket,
    *,
    watch: Callable[[Iterable[Decision]], Iterable[Decision]] = lambda decisions: decisions,
) -> Reviewed:
    """Carry out the columns Approve and Reject of a results CSV; what was carried out before changes nothing."""
    rows = read_decisions(decisions)
    market = open_market(market)
    counts: Counter[str] = Counter()
    too_late = []
    for decision in watch(rows):
        status = market.status(decision.assignment)
        wanted = APPROVED if decision.approve else REJECTED
        if status == wanted:
            counts["already"] += 1
        elif decision.approve:
            market.approve(decision.assignment, overturn=status == REJECTED)
            counts[wanted] += 1
        elif status == SUBMITTED:
            market.reject(decision.assignment, decision.reason)
            counts[wanted] += 1
        else:
            too_late.append(decision.assignment)
    unsettled = tuple(market.unsettled())
    return Reviewed(counts[APPROVED], counts[REJECTED], counts["already"], tuple(too_late), unsettled)
