"""Divisions of systems and rotations of raters."""

import numpy as np
import pytest

from rypt.picks.splits import rotate_raters, split_systems

SYSTEMS = [f"sys{i}" for i in range(6)]
NAN = np.nan


def divided(systems, count=1, **options):
    quality = np.zeros((len(systems), 4))
    return split_systems(systems, systems, quality, count, np.random.default_rng(1), **options)


def test_systems_judge_or_are_scored_and_never_both():
    found = divided(SYSTEMS, 30, judging=2, judged_only=["sys5"])
    assert len({split.scored for split in found}) > 5
    for split in found:
        assert split.judges.shape == (6, 4)
        judges = split.judges[:, 0]
        assert (split.judges == judges[:, None]).all()
        assert judges[5]
        assert judges.sum() == 3
        assert set(np.flatnonzero(~judges).tolist()) == set(split.scored)


def rotated(raters, systems=(0, 1), count=200, seed=1, workers=None, **options):
    workers = sorted(raters) if workers is None else workers
    return rotate_raters(raters, workers, systems, count, np.random.default_rng(seed), **options)


def judges_of(split, segment, workers="abcd"):
    return "".join(workers[i] for i in np.flatnonzero(split.judges[:, segment]))


def test_each_rater_of_a_segment_judges_once_and_the_others_decide():
    """Segment 0 is of a, b and c, segment 1 of b, c and d, segment 2 of a and d: d scored one candidate only there."""
    raters = {
        "a": np.array([[1, NAN, 2], [1, NAN, 3]]),
        "b": np.array([[10, 10, NAN], [10, 11, NAN]]),
        "c": np.array([[100, 100, NAN], [100, NAN, NAN]]),
        "d": np.array([[NAN, 5, 7], [NAN, 5, NAN]]),
    }
    found, notes = rotated(raters)
    assert len(found) == 3
    seen = [[judges_of(split, i) for split in found if not np.isnan(split.quality[0, i])] for i in range(3)]
    assert sorted(seen[0]) == ["a", "b", "c"]
    assert sorted(seen[1]) == ["b", "d"]  # c scored one candidate there: c decides, and does not judge
    assert seen[2] == []
    for split in found:
        judge = judges_of(split, 0)
        others = [name for name in "abc" if name != judge]
        assert split.quality[0, 0] == np.mean([raters[name][0, 0] for name in others])
        assert split.human[0, 0] == raters[judge][0, 0]
        assert not judges_of(split, 2)
        assert np.isnan(split.quality[:, 2]).all()
        assert judges_of(split, 1)  # known in all splits, though it decides in two
    assert notes == [
        "2 of 3 segments take part",
        "1 left out: only 1 rater scored two of the candidates to pick from",
    ]


@pytest.mark.parametrize(
    ("raters", "judging", "most", "count"), [(4, 2, 200, 6), (5, 1, 200, 5), (5, 4, 200, 5), (30, 15, 50, 50)]
)
def test_all_combinations_are_taken_or_different_random_ones(raters, judging, most, count):
    scores = {f"{i:02}": np.full((3, 2), float(i)) for i in range(raters)}
    found, _ = rotated(scores, judging=judging, count=most)
    for segment in range(2):
        combinations = {tuple(split.judges[:, segment].tolist()) for split in found}
        assert len(found) == len(combinations) == count
        assert all(sum(names) == judging for names in combinations)
