"""What the server reads of batches: its copies of the published ones, and those that wait beside the market.

``rypt hits publish`` copies batches into the market's folder (`hits.market.folder`), so the batch folder itself may be
moved or removed.
"""

from functools import lru_cache
from pathlib import Path

from hits.batch.folder import BATCH_CSV, BATCH_TOML, TEMPLATE, TRAINING_CSV, read_batch
from hits.market.folder import BATCHES, kept_batches
from hits.payment import Price, price
from hits.records import Batch
from rypt.text import RyptError


@lru_cache(maxsize=32)
def _read(folder: Path, changed: tuple[int, ...]) -> Batch:
    return read_batch(folder)


def read_copy(folder: Path) -> Batch:
    """The batch in a folder; read again only when a file of it has changed."""
    files = [folder / name for name in (TEMPLATE, BATCH_CSV, BATCH_TOML, TRAINING_CSV)]
    return _read(folder, tuple(file.stat().st_mtime_ns if file.exists() else 0 for file in files))


def published_batch(market: Path, batch: str) -> Batch | None:
    """The market's copy of a batch; None where it has none that can be read."""
    try:
        return read_copy(market / BATCHES / batch) if batch.isascii() and batch.isalnum() else None
    except (RyptError, OSError):
        return None


def market_language(market: Path) -> str:
    """The language of the instructions of the batch published last; empty without one."""
    try:
        latest = max(kept_batches(market), key=lambda folder: (folder / BATCH_TOML).stat().st_mtime_ns)
        return read_copy(latest).settings.interface.lower().replace("_", "-").split("-")[0]
    except (ValueError, OSError, RyptError):
        return ""


def waiting_batches(market: Path, published: dict[str, int]) -> list[tuple[Path, str, Price]]:
    """The batches beside the market's folder, or in a folder ``batches`` beside it, that are not published as a whole.

    ``published`` counts the published items of each batch.
    """
    place = market.resolve().parent
    waiting = []
    for path in sorted({*place.glob(f"*/{BATCH_TOML}"), *place.glob(f"batches/*/{BATCH_TOML}")}):
        try:
            batch = read_copy(path.parent)
        except (RyptError, OSError):
            continue
        if published.get(batch.settings.id, 0) < len(batch.items):
            waiting.append((path.parent, batch.settings.title, price(batch)))
    return waiting
