from datetime import UTC, datetime

import pytest

from hits.batch.folder import new_settings
from hits.batch.make import verdict_notes
from hits.batch.systems import make_comparison_batch, make_ranking_batch
from hits.records import Kind
from rypt.records import Segment

SEGMENTS = [Segment(f"s{n}", f"Quelle {n}") for n in range(40)]
OUTPUTS = {
    system: {s.id: f"{system} says garden{n} is bright today ." for n, s in enumerate(SEGMENTS)}
    for system in "xyz"
}
XY = {system: OUTPUTS[system] for system in "xy"}
NOW = datetime(2026, 11, 20, tzinfo=UTC)
TOO_FEW = "{} too few for a full verdict on workers; 20 are needed, without controls"
FEW = "{} cannot tell careless workers from unlucky ones: 5 are the least that can; {}"


@pytest.mark.parametrize(
    ("limit", "share", "notes"),
    [
        (20, 0.2, []),
        (40, 0, []),  # who wants no controls needs no advice
        (20, 0.1, [FEW.format("2 controls", "--controls 0.2 makes 5")]),
        (
            15,
            0.2,
            [
                FEW.format("4 controls", "--controls 0.25 makes 5"),
                TOO_FEW.format("15 comparisons a person are"),
            ],
        ),
        (
            1,
            0.1,
            [
                FEW.format("1 control", "a larger --limit makes more"),
                TOO_FEW.format("1 comparison a person is"),
            ],
        ),
    ],
)
def test_what_a_batch_of_comparisons_will_not_tell(limit: int, share: float, notes: list[str]) -> None:
    settings = new_settings(Kind.COMPARISON, seed=1, now=NOW)
    batch = make_comparison_batch(SEGMENTS, XY, settings, control_share=share, limit=limit)
    assert verdict_notes(batch) == notes


def test_a_ranking_counts_as_its_comparisons() -> None:
    settings = new_settings(Kind.RANKING, seed=1, now=NOW)
    assert not verdict_notes(make_ranking_batch(SEGMENTS, OUTPUTS, settings, control_share=0, limit=7))
    (note,) = verdict_notes(make_ranking_batch(SEGMENTS, OUTPUTS, settings, control_share=0, limit=6))
    assert note.startswith("18 comparisons a person")
