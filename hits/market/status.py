"""The progress of a collection: numbers of collected answers, and the current state of a batch's market.

status = collection_status("campaign", batch="batches/1", market="market")
status.numbers.labels, status.label_agreement.alpha, status.batch.market.submitted
"""

from dataclasses import dataclass, replace
from pathlib import Path

from hits.market.client import AnyMarket, Participant, open_market
from hits.market.ledger import published_hits
from hits.market.publish import AnyBatch, opened_batch
from hits.records import Batch, Progress
from hits.results.answers import open_results
from hits.results.numbers import CampaignNumbers, campaign_numbers, comparison_agreement, label_agreement
from rypt.analysis.agreement import Agreement
from rypt.campaign.folder import Campaign
from rypt.text import PathLike, RyptError


@dataclass(frozen=True, slots=True)
class BatchStatus:
    """One batch: its size, how many of its hits are published where (by the market's key), how far the market is.

    ``market`` is None where the market cannot be asked, and ``note`` says why. ``participants`` are the people whom
    a recruiting service sent.
    """

    hits: int
    assignments: int
    published: dict[str, int]
    market: Progress | None = None
    note: str = ""
    participants: tuple[Participant, ...] = ()


@dataclass(frozen=True, slots=True)
class CollectionStatus:
    """The numbers of all that was collected, or of one batch, and how far that batch is."""

    numbers: CampaignNumbers
    label_agreement: Agreement
    comparison_agreement: Agreement
    batch: BatchStatus | None


def collection_status(
    campaign: Campaign | PathLike, batch: AnyBatch | None = None, market: AnyMarket | None = None
) -> CollectionStatus:
    """The status of a campaign's collection; with a batch only of it, and its market is asked, too, if it is given."""
    opened = None if batch is None else opened_batch(batch)
    name = opened[0].settings.id if opened else None
    with open_results(campaign) as results:
        numbers = campaign_numbers(results, batch=name)
        labels, comparisons = label_agreement(results, name), comparison_agreement(results, name)
    return CollectionStatus(numbers, labels, comparisons, batch_status(*opened, market) if opened else None)


def batch_status(batch: Batch, folder: Path, market: AnyMarket | None) -> BatchStatus:
    """What was published where, by the ledgers, and the progress on the market, or a note why it cannot be asked."""
    counts = published_hits(folder)
    status = BatchStatus(len(batch.items), len(batch.items) * batch.settings.assignments, counts)
    if not counts or market is None:
        return status
    progress = Progress()
    try:
        client = open_market(market)
        if client.key not in counts:
            note = f"the batch is not published on this market but on {', '.join(counts)}"
            return replace(status, note=note)
        for hit in client.hits(batch.settings.id).values():
            progress.add(hit)
        people = tuple(client.participants(batch.settings.id))
    except RyptError as error:
        return replace(status, note=str(error))
    return replace(status, market=progress, participants=people)
