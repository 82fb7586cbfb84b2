"""How far a batch is on its markets: what was published, from the ledgers; what is done, as the market says."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hits.market.client import HitState
from hits.market.ledger import Ledger

LEDGERS = "published.*.jsonl"


@dataclass(frozen=True, slots=True)
class MarketProgress:
    """Of the hits on a market: how many can still be taken, and of all places which are free, taken, done, reviewed."""

    published: int
    assignable: int
    places: int
    open: int
    pending: int
    submitted: int
    reviewed: int


def market_progress(states: Iterable[HitState]) -> MarketProgress:
    """The sums over hits."""
    found = list(states)
    return MarketProgress(
        published=len(found),
        assignable=sum(state.status == "Assignable" for state in found),
        places=sum(state.places for state in found),
        open=sum(state.open for state in found),
        pending=sum(state.pending for state in found),
        submitted=sum(state.submitted for state in found),
        reviewed=sum(state.reviewed for state in found),
    )


def published_hits(folder: Path) -> dict[str, int]:
    """How many hits of a batch were published where, by the market's key; markets need not be running."""
    return {
        path.name.removeprefix("published.").removesuffix(".jsonl"): len(Ledger(path).read())
        for path in sorted(folder.glob(LEDGERS))
    }
