"""Putting a batch on a market: killed at any moment and run again, no hit is made twice and none is forgotten."""

from collections.abc import Callable, Iterable
from pathlib import Path

from hits.ledger import Ledger
from hits.market import Market
from hits.records import Batch, Item


def ledger_path(folder: Path, market: str) -> Path:
    """Where the hits of a batch on a market are remembered."""
    return folder / f"published.{market}.jsonl"


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
    with Ledger(ledger_path(folder, market.name)).opened() as ledger:
        missing = [item for item in batch.items if item.id not in ledger.hits]
        there = len(batch.items) - len(missing)
        if not missing:
            return 0, there
        known = {item.id for item in batch.items}
        for name, hit in market.find(batch.settings.id).items():
            if name in known and name not in ledger.hits:
                ledger.add(name, hit)
                there += 1
        made = 0
        for item in watch([item for item in missing if item.id not in ledger.hits]):
            ledger.add(item.id, market.create(batch, item))
            made += 1
        return made, there
