"""Collecting answers from a market into the campaign's database, each once.

collected = collect("batches/1", "market", "campaign")     →  collected.assignments, collected.judgments, …
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from hits.market.client import AnyMarket, HitState, Market, Participant, open_market
from hits.market.publish import AnyBatch, opened_batch, published
from hits.records import Assignment, Batch, Item
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
        added, unread = _add(results, work)
        wrong += [f"item {one.item}: assignment {one.id}: {one.problem}" for one in unread]
        results.add_left_out(unread)
        total += added
        if work:
            results.add_bonuses(hit, market.bonuses(hit))
    people = tuple(market.participants(batch.settings.id))
    return Collected(**asdict(total), left_out=tuple(wrong), participants=people)


def _add(results: Results, work: Sequence[Assignment]) -> tuple[Added, list[Assignment]]:
    """Add the work on one hit in one transaction, or one assignment at a time if some cannot be read: these come back."""
    try:
        return results.add(work), []
    except FormatError:
        pass
    total, unread = Added(), []
    for one in work:
        try:
            total += results.add([one])
        except FormatError as error:
            unread.append(replace(one, problem=one_line(str(error))))
    return total, unread


def hit_facts(state: HitState | None) -> dict[str, str]:
    """The columns of a results CSV that only the market knows of a hit; none of a hit that it removed."""
    if state is None:
        return {}
    return {
        "HITTypeId": state.type,
        "CreationTime": format_time(state.created),
        "Expiration": format_time(state.expires),
    }
