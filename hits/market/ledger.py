"""The record of published hits: one line each, appended at once, so that a killed process loses none.

The lines are forced to disk a few times a second: forcing each would take as long as publishing it. What a power cut
takes with it is found again on the market, where each hit carries its item's name (`hits.market.publish`).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hits.batch.folder import PUBLISHED
from rypt.locked_files import AppendOnly
from rypt.strict import parse_json
from rypt.text import InputError

FORCE_SECONDS = 0.25
EXPIRED = "expired"  # a file of the batch folder: since when nobody may begin its hits any more


class Ledger:
    """The hits of one batch on one market: item → hit, in a file of the batch folder.

    While one process publishes a batch, no other can publish the same one.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.hits: dict[str, str] = {}
        self.digests: dict[str, str] = {}
        self._file = AppendOnly(
            path, busy="another process is publishing this batch", force_seconds=FORCE_SECONDS
        )

    @contextmanager
    def opened(self) -> Iterator["Ledger"]:
        """Open for publishing; a second process is refused."""
        with self._file.opened() as lines:
            self._parse(lines)
            yield self

    def read(self) -> dict[str, str]:
        """The hits known so far, without opening for publishing."""
        self._parse(self._file.lines())
        return self.hits

    def add(self, item: str, hit: str, digest: str = "") -> None:
        """Remember a hit and what was shown in it; it outlives this process when this returns."""
        self._file.add({"item": item, "hit": hit, "digest": digest})
        self.hits[item], self.digests[item] = hit, digest

    def check(self, item: str, digest: str) -> None:
        """Refuse an item that is another than the one published: answers to one would go to the other."""
        if self.digests.get(item) not in (None, "", digest):
            raise InputError(self.path, None, f"item {item} of the batch was changed after it was published")

    def _parse(self, lines: Sequence[bytes]) -> None:
        for number, line in enumerate(lines, start=1):
            try:
                record = parse_json(line)
                self.hits[record["item"]] = record["hit"]
                self.digests[record["item"]] = record.get("digest", "")
            except (ValueError, KeyError, TypeError):
                raise InputError(self.path, number, 'expected {"item": …, "hit": …}') from None


def ledger_of(batch: Path, market: str) -> Ledger:
    """The ledger of a batch folder for the market with this key."""
    return Ledger(batch / f"published.{market}.jsonl")


def ledgers(batch: Path) -> list[Ledger]:
    return [Ledger(path) for path in sorted(batch.glob(PUBLISHED))]


def published_hits(batch: Path) -> dict[str, int]:
    """How many hits of a batch were published where, by the market's key; markets need not be running."""
    counts = {ledger.path.name: len(ledger.read()) for ledger in ledgers(batch)}
    return {name.removeprefix("published.").removesuffix(".jsonl"): count for name, count in counts.items()}
