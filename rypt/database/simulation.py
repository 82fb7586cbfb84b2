"""Judgments that no person gave: they are called simulated wherever they show."""

from rypt.database.judgments import JudgmentDatabase


def simulated_note(db: JudgmentDatabase) -> str:
    """How many of the judgments that count are simulated, in a sentence; empty where none is."""
    with db.errors():
        total, simulated = db.db.execute(
            "SELECT count(*), sum(source = 'simulation') FROM counted"
        ).fetchone()
    return f"SIMULATED: {simulated:,} of {total:,} judgments were given by no person" if simulated else ""
