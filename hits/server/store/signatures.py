"""Which signatures of requests were used: a signature that is sent again is a replay."""

from dataclasses import dataclass

from hits.server.store.base import MarketFile

AGAIN = 2  # seconds in which an equal signature may be a client's second call, or its second try


@dataclass(frozen=True, slots=True)
class SignatureUse:
    """One use of a signature: by which connection it came, when, and until when it must be remembered."""

    signature: str
    connection: str
    attempt: str
    now: int
    expires: int


@dataclass(frozen=True, slots=True)
class SignatureStore:
    """Remembers signatures until they would be too old anyway."""

    file: MarketFile

    def note(self, use: SignatureUse) -> int | None:
        """Remember that a signature was used; None, or when it was first used if this is a replay.

        Equal calls of one second come with equal signatures. They are no replays if they come by the connection of the
        first, at once, and under a name of their own.
        """
        with self.file.noting() as db:
            db.execute("DELETE FROM signatures WHERE expires < ?", [use.now])
            row = db.execute(
                "SELECT connection, seen FROM signatures WHERE signature = ? ORDER BY seen LIMIT 1",
                [use.signature],
            ).fetchone()
            if row is not None:
                same = use.connection != "" and use.connection == row["connection"]
                if not (same and row["seen"] <= use.now <= row["seen"] + AGAIN):
                    return int(row["seen"])
            added = db.execute(
                "INSERT OR IGNORE INTO signatures (signature, attempt, seen, expires, connection)"
                " VALUES (?, ?, ?, ?, ?)",
                [use.signature, use.attempt, use.now, use.expires, use.connection],
            )
            return None if added.rowcount else int(row["seen"])
