"""The journal of a loop, and which iteration is best."""

import pytest

from rypt.loop.report import Entry, Journal, best_iteration
from rypt.scoring.report import ScoreReport, SegmentScore
from rypt.scoring.scorer import Coverage
from rypt.text import InputError

FIRST, SECOND = Entry(1, "decode", 10, {"new": 3}), Entry(1, "make", 11, {"cost": "0.50"})


@pytest.mark.parametrize("size", [1, -1])
def test_what_a_crash_left_of_a_line_is_cut_off(tmp_path, size):
    path = tmp_path / "loop.jsonl"
    journal = Journal(path)
    with journal.opened():
        journal.add(FIRST)
        whole = path.read_bytes()
        journal.add(SECOND)
    path.write_bytes(whole + path.read_bytes()[len(whole) :][:size])
    again = Journal(path)
    assert again.entries == [FIRST]
    with again.opened():
        assert again.entries == [FIRST]
        again.add(SECOND)
    assert Journal(path).entries == [FIRST, SECOND]
    assert Journal(path).results("make") == {1: {"cost": "0.50"}}


@pytest.mark.parametrize("line", ["{", "[]", '{"iteration": "1", "step": "make", "time": 1, "result": {}}'])
def test_what_is_no_step_is_refused(tmp_path, line):
    (tmp_path / "loop.jsonl").write_text(f"{line}\n")
    with pytest.raises(InputError, match=r"loop\.jsonl:1: expected a step"):
        Journal(tmp_path / "loop.jsonl")


def report(*scores: float) -> ScoreReport:
    segments = [SegmentScore(str(i), score, 0, 0, "x") for i, score in enumerate(scores)]
    mean = sum(scores) / len(scores)
    return ScoreReport(mean, "first", len(scores), segments, 0, 0, Coverage(*[0] * 8), mean, mean, 0, 0, "")


LOW, HIGH = report(0.2, 0.3, 0.2, 0.3), report(0.8, 0.7, 0.8, 0.7)
NOISY = report(0.9, 0.5, 0.95, 0.6)  # 0.0125 below HIGH on average, up to 0.2 above and below on segments


@pytest.mark.parametrize(
    ("scores", "best"),
    [
        ({1: LOW, 2: HIGH, 3: LOW}, 2),  # the last is clearly worse
        ({1: HIGH, 2: LOW, 3: NOISY}, 3),  # no list is clearly better than the last
        ({1: NOISY, 2: HIGH, 3: LOW}, 2),
        ({1: report(0.5), 2: report(0.4)}, 1),  # one segment gives no standard error
    ],
)
def test_the_last_that_no_other_is_clearly_better_than(scores, best):
    assert best_iteration(scores) == best


@pytest.mark.parametrize(("errors", "best"), [(0.99, 2), (1.01, 1)])
def test_one_standard_error_of_the_difference_decides(errors, best):
    """Differences of ±0.1 around a mean over four segments: the standard error of that mean is 0.1 / √3."""
    mean = errors * 0.1 / 3**0.5
    later = report(*(0.5 - mean + noise for noise in (0.1, -0.1, 0.1, -0.1)))
    assert best_iteration({1: report(0.5, 0.5, 0.5, 0.5), 2: later}) == best
