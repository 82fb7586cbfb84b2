"""The steps of a loop, as calls of the same functions that the commands call."""

import time
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from hits.asking.make import make_batch, price
from hits.asking.questions import BatchOptions, LabelQuestions
from hits.batches.reader import read_batch
from hits.market.client import MarketAddress
from hits.market.collect import collect
from hits.market.publish import expire, opened_batch, publish
from hits.market.status import batch_status, collection_status
from hits.results.quality import worker_reports
from hits.results.verdicts import WorkerReport
from hits.results.workers import exclude_workers
from mert.decode import Decoded, decode_campaign
from mert.solve import SearchSettings
from mert.tuning import TuningResult, tune
from rypt.campaign.folder import Campaign
from rypt.campaign.scoring import score
from rypt.campaign.settings import LoopSettings, MarketSettings
from rypt.scoring.report import ScoreReport
from rypt.text import RyptError


@dataclass(frozen=True, slots=True)
class BatchPrice:
    """A batch and what it costs."""

    batch: str
    hits: int
    assignments: int
    answers: int
    total: Decimal


class Steps:
    """The steps on one campaign and its market; each reads the campaign as it is at that moment."""

    def __init__(self, folder: str, market: MarketSettings | None = None) -> None:
        self.folder = folder
        self._market = market

    @property
    def campaign(self) -> Campaign:
        """The campaign as it is now: it grows."""
        return Campaign.open(self.folder)

    @property
    def market(self) -> MarketSettings:
        """Where workers are."""
        return self._market or self.campaign.settings.market

    @property
    def address(self) -> MarketAddress:
        """Where the market is reached."""
        market = self.market
        if market.endpoint is not None:
            return MarketAddress(endpoint=market.endpoint, production=market.production)
        return MarketAddress(folder=self.campaign.path(market.folder))

    @property
    def _fees(self) -> str:
        return "local" if self.market.endpoint is None else "mturk"

    def decode(self) -> Decoded:
        """Decode with the current weights."""
        return decode_campaign(self.campaign)

    def make(self, batch: Path, money: Decimal, loop: LoopSettings, seed: int) -> None:
        """Make a batch of labels that costs at most this much; raise an error if it buys no question."""
        campaign, market = self.campaign, self.market
        questions = LabelQuestions(
            budget=money,
            labels=loop.labels,
            select=loop.select,
            max_len=campaign.scoring.max_len,
            severity=market.severity,
        )
        options = BatchOptions(assignments=market.assignments, wage=market.wage, market=self._fees, seed=seed)
        make_batch(self.folder, batch, questions, options=options)

    def price(self, batch: Path) -> BatchPrice:
        """What a batch costs."""
        cost = price(batch, market=self._fees)
        return BatchPrice(
            read_batch(batch).settings.id, cost.hits, cost.assignments, cost.answers, cost.total
        )

    def publish(self, batch: Path) -> int:
        """Publish a batch; return how many of its hits are on the market now."""
        return publish(batch, self.address).hits

    def collect(self, batch: Path) -> int:
        """Collect the answers to a batch; return how many assignments of it there are now."""
        return collect(batch, self.address, self.campaign).submitted

    def expire(self, batch: Path) -> None:
        """Expire the hits of a batch."""
        expire(batch, self.address)

    def is_open(self, batch: Path) -> bool:
        """Whether the market still has hits of a batch that somebody can begin, or has begun."""
        status = batch_status(*opened_batch(batch), self.address)
        if status.market is None:
            raise RyptError(status.note or f"{batch} is on no market")
        return bool(status.market.assignable or status.market.pending)

    def left_out(self, batch: Path) -> int:
        """How many assignments of a batch cannot be read: they were done and wait for a review."""
        return collection_status(self.campaign, batch).numbers.left_out_waiting

    def labels(self, batch: Path) -> int:
        """How many labels of a batch count."""
        return collection_status(self.campaign, batch).numbers.labels

    def workers(self) -> list[WorkerReport]:
        """How each worker does."""
        return worker_reports(self.campaign)

    def exclude(self, worker: str, reason: str, *, block: bool) -> None:
        """Exclude a worker's judgments; ``block`` also gives the worker no more hits."""
        with self.campaign.database(readonly=False) as db:
            exclude_workers(db, [worker], reason, int(time.time()))
        if block:
            self.address.open().block(worker, reason)

    def score(self, candidates: Path) -> ScoreReport:
        """RYPT of the first candidates of a list, by the current labels."""
        return score(self.campaign, candidates=candidates)

    def tune(self, weights: Path, output: Path | None, *, seed: int, threads: int) -> TuningResult:
        """New weights from all lists so far, written to ``output``."""
        search = SearchSettings(seed=seed, threads=threads)
        tuned = tune(campaign=self.campaign, metric="rypt", weights=weights, search=search)
        if output is not None:
            tuned.write(output)
        return tuned
