"""What other packages keep in a judgment database, so that merging, exporting and importing lose none of it.

A package names an `Extension` in the entry-point group ``rypt.extensions``. Its records stand beside segments and
judgments in a JSONL file, each known by one of the extension's ``fields``.
"""

from collections.abc import Iterator
from importlib.metadata import entry_points
from typing import Protocol

from rypt.database.judgments import JudgmentDatabase
from rypt.records import Record
from rypt.text import FormatError

GROUP = "rypt.extensions"


class Extension(Protocol):
    """Tables of another package as records."""

    fields: tuple[str, ...]

    def prepare(self, db: JudgmentDatabase) -> None:
        """Make the tables where they are missing, in a transaction of its own."""

    def records(self, db: JudgmentDatabase) -> Iterator[Record]:
        """All that there is, none where the tables are missing."""

    def put(self, db: JudgmentDatabase, record: Record) -> bool:
        """Inside a transaction: add a record; False when it was there. What cannot be taken is a `FormatError`."""

    def settle(self, db: JudgmentDatabase) -> None:
        """Inside the same transaction, after records and judgments: bring these in line."""


class Exclusions:
    """Workers whose judgments do not count: the database's own table, and the simplest extension."""

    fields = ("excluded",)

    def prepare(self, db: JudgmentDatabase) -> None:
        """The table is always there."""

    def records(self, db: JudgmentDatabase) -> Iterator[Record]:
        """One a worker."""
        for worker, reason in db.excluded().items():
            yield {"excluded": worker, "reason": reason}

    def put(self, db: JudgmentDatabase, record: Record) -> bool:
        """Exclude a worker; one that is excluded keeps the reason it has."""
        worker, reason = record["excluded"], record.get("reason", "")
        if not isinstance(worker, str) or not worker.strip() or not isinstance(reason, str):
            raise FormatError(f"expected a worker in the field excluded, found {worker!r}")
        values = [worker, reason, None]
        return db.db.conn.execute("INSERT OR IGNORE INTO excluded_workers VALUES (?, ?, ?)", values).rowcount == 1

    def settle(self, db: JudgmentDatabase) -> None:
        """Views do the rest."""


def extensions() -> list[Extension]:
    """The database's own, and those of installed packages."""
    return [Exclusions(), *(entry.load() for entry in entry_points(group=GROUP))]
