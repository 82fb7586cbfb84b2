"""Putting a batch on a market: killed at any moment and run again, no hit is made twice and none is forgotten."""

import json
from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path

from hits.market.client import Market
from hits.market.ledger import Ledger
from hits.records import Batch, Item
from rypt.text import RyptError


def ledger_of(folder: Path, market: Market) -> Ledger:
    """Where the hits of a batch on a market are remembered; each market has its own."""
    return Ledger(folder / f"published.{market.key}.jsonl")


def digest(item: Item) -> str:
    """What tells an item from what it was before somebody edited it."""
    return sha256(json.dumps(sorted(item.columns.items())).encode()).hexdigest()[:16]


def check_unchanged(batch: Batch, folder: Path, market: Market) -> Ledger:
    """Refuse a batch of which an item was edited after it was published; its ledger, read."""
    ledger = ledger_of(folder, market)
    ledger.read()
    for item in batch.items:
        ledger.check(item.id, digest(item))
    return ledger


def published(batch: Batch, folder: Path, market: Market) -> dict[str, str]:
    """The hits of a batch, item → hit; where the ledger lacks some, as the market finds them again."""
    hits = dict(check_unchanged(batch, folder, market).hits)
    if len(hits) < len(batch.items):
        hits = market.find(batch.settings.id) | hits
    if not hits:
        raise RyptError(f"{folder}: nothing of this batch is published on {market.name}")
    return hits


def publish(
    batch: Batch,
    folder: Path,
    market: Market,
    watch: Callable[[Iterable[Item]], Iterable[Item]] = lambda items: items,
) -> tuple[int, int]:
    """Publish what is not there yet; returns how many hits are new and how many were there.

    Three things keep hits single: the ledger, written after each; the annotations of the hits on the market, for a run
    that was killed between making a hit and writing it down; and a request token, for a request that was repeated.
    """
    with ledger_of(folder, market).opened() as ledger:
        for item in batch.items:
            ledger.check(item.id, digest(item))
        missing = [item for item in batch.items if item.id not in ledger.hits]
        there = len(batch.items) - len(missing)
        if not missing:
            return 0, there
        known = {item.id: item for item in batch.items}
        for name, hit in market.find(batch.settings.id).items():
            if name in known and name not in ledger.hits:
                ledger.add(name, hit, digest(known[name]))
                there += 1
        made = 0
        for item in watch([item for item in missing if item.id not in ledger.hits]):
            ledger.add(item.id, market.create(batch, item), digest(item))
            made += 1
        return made, there
