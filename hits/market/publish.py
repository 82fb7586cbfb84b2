"""Publishing a batch on a market and expiring it; both can be repeated safely.

    published = publish("batches/1", "market")     →  published.made, published.already, published.cost
    expired = expire("batches/1", "market")        →  expired.hits, expired.failed

What was published is remembered in the batch folder, one ledger for each market (`hits.market.ledger`).
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from hashlib import sha256
from pathlib import Path

from hits.batch.folder import read_batch
from hits.market.client import AnyMarket, Market, MarketError, open_market
from hits.market.folder import keep_batch
from hits.market.ledger import EXPIRED, Ledger, ledger_of
from hits.payment import Price, fees_of, price
from hits.records import Batch, Item
from rypt.text import PathLike, RyptError

AnyBatch = PathLike | Batch


@dataclass(frozen=True, slots=True)
class Published:
    """What publishing did: hits made now, hits that were on the market before, and the price of what was missing."""

    made: int
    already: int
    cost: Decimal

    @property
    def hits(self) -> int:
        return self.made + self.already


@dataclass(frozen=True, slots=True)
class Expired:
    """How many hits nobody can begin any more, and why others could not be expired."""

    hits: int
    failed: tuple[str, ...]


def opened_batch(batch: AnyBatch) -> tuple[Batch, Path]:
    if isinstance(batch, str | Path):
        return read_batch(batch), Path(batch)
    if batch.folder is None:
        raise RyptError(f"batch {batch.settings.id} has no folder: write it to one and read it from there")
    return batch, batch.folder


def digest(item: Item) -> str:
    """A digest of an item's columns, by which an edited item is recognized."""
    return sha256(json.dumps(sorted(item.columns.items())).encode()).hexdigest()[:16]


def check_unchanged(batch: Batch, folder: Path, market: Market) -> Ledger:
    """Refuse a batch of which an item was edited after it was published; its ledger, read."""
    ledger = ledger_of(folder, market.key)
    ledger.read()
    for item in batch.items:
        ledger.check(item.id, digest(item))
    return ledger


def published(batch: Batch, folder: Path, market: Market) -> dict[str, str]:
    """The hits of a batch, item → hit; where the ledger lacks some, as the market finds them again."""
    hits = dict(check_unchanged(batch, folder, market).hits)
    if len(hits) < len(batch.items):
        hits = {item: str(hit["HITId"]) for item, hit in market.hits(batch.settings.id).items()} | hits
    if not hits:
        raise RyptError(f"{folder}: nothing of this batch is published on {market.name}")
    return hits


def publish(
    batch: AnyBatch,
    market: AnyMarket,
    *,
    confirm: Callable[[Price, Market], bool] = lambda price, market: True,
    watch: Callable[[Iterable[Item]], Iterable[Item]] = lambda items: items,
) -> Published:
    """Publish all hits of a batch that are not on the market yet.

    ``confirm`` is called with the price of the missing hits before anything is sent; if it returns False, nothing is
    sent. A local market keeps a copy of the batch, for its dashboard and for pages in other languages.
    """
    batch, folder = opened_batch(batch)
    market = open_market(market)
    known = check_unchanged(batch, folder, market).hits
    missing = replace(batch, items=tuple(item for item in batch.items if item.id not in known))
    cost = price(missing, fees=fees_of(market.name))
    if missing.items and not confirm(cost, market):
        raise RyptError(f"{folder}: publishing was not confirmed; nothing was sent")
    if market.folder is not None:
        keep_batch(market.folder, folder, batch.settings.id)
    made = _publish_missing(batch, folder, market, watch)
    return Published(made, len(batch.items) - made, cost.total)


def _publish_missing(
    batch: Batch, folder: Path, market: Market, watch: Callable[[Iterable[Item]], Iterable[Item]]
) -> int:
    """Make the hits that are missing; return how many.

    Three things keep hits single: the ledger, written after each; the annotations of the hits on the market, for a run
    that was killed between making a hit and writing it down; and a request token, for a request that was repeated.
    """
    with ledger_of(folder, market.key).opened() as ledger:
        missing = []
        for item in batch.items:
            ledger.check(item.id, digest(item))
            if item.id not in ledger.hits:
                missing.append(item)
        existing = market.hits(batch.settings.id) if missing else {}
        for item in missing:
            if item.id in existing:
                ledger.add(item.id, existing[item.id]["HITId"], digest(item))
        missing = [item for item in missing if item.id not in existing]
        for item in watch(missing):
            ledger.add(item.id, market.create(batch, item), digest(item))
        return len(missing)


def expire(
    batch: AnyBatch, market: AnyMarket, *, watch: Callable[[Iterable[str]], Iterable[str]] = lambda hits: hits
) -> Expired:
    """Expire the hits of a batch, so that nobody can begin one.

    A hit that the market refuses to change, because it was removed before, does not stop the rest.
    """
    batch, folder = opened_batch(batch)
    market = open_market(market)
    hits = published(batch, folder, market)
    failed = []
    for hit in watch(list(hits.values())):
        try:
            market.expire(hit)
        except MarketError as error:
            failed.append(str(error))
    (folder / EXPIRED).touch()
    return Expired(len(hits) - len(failed), tuple(failed))
