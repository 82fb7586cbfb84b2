"""Judgments that no person gave are called simulated."""

from rypt.database.judgments import JudgmentDatabase
from rypt.database.simulation import simulated_note
from rypt.records import Judgment, Label, Segment, Span


def test_simulated_judgments_are_counted(tmp_path):
    with JudgmentDatabase(tmp_path / "j.db") as db:
        db.add_segments([Segment("1", "a b")])
        assert simulated_note(db) == ""
        db.add([Judgment("1", Span(0, 1), "x", Label.YES, "ada")])
        assert simulated_note(db) == ""
        db.add(Judgment("1", Span(0, 1), "x", Label.NO, f"s{n}", "hit", "simulation") for n in range(2))
        assert simulated_note(db) == "SIMULATED: 2 of 3 judgments were given by no person"
        db.exclude("s1", "a machine")
        assert simulated_note(db) == "SIMULATED: 1 of 2 judgments were given by no person"
