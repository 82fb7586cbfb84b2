"""Answers of shares put together do not depend on how the segments are divided, to the last digit."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from test_optimize import START, Errors, made_lists
from test_optimize import Share as ShareOfRight

from mert.learned import learned
from mert.lists.arrays import arrange
from mert.optimize import make_problem, optimize, problem_of_shares
from mert.search.lines import Window
from mert.search.share import (
    Memory,
    Position,
    Rate,
    Share,
    column_facts,
    gains_at,
    joined,
    spreads,
    unrated,
    values_after,
)
from mert.search.shares import FarPosition, ShareFolder
from mert.solve import SearchSettings, solve
from rypt.metrics.bleu import Bleu
from rypt.records import Candidate
from rypt.texts.references import References


class Divided:
    """Shares in this process, as many as one likes."""

    whole = None

    def __init__(self, share, bounds):
        self.parts = [cut(share, a, b) for a, b in pairwise(bounds)]
        self.sizes = [np.diff(part.offsets) for part in self.parts]

    def ask(self, question, *arguments, each=None):
        answers = []
        for i, part in enumerate(self.parts):
            asked = (*arguments, *([each[i]] if each is not None else []))
            answers.append(question(part, *pickle.loads(pickle.dumps(asked))))
        return answers

    def position(self, start):
        return FarPosition(self, start)


def cut(share, first, last):
    """The segments from the first up to the last."""
    begin, end = share.offsets[first], share.offsets[last]
    base = None if share.base is None else share.base[begin:end]
    features = np.asfortranarray(share.features[begin:end])
    return Share(
        share.offsets[first : last + 1] - begin, features, base, share.stats[begin:end].copy(), share.rate
    )


def divided(problem, bounds, start=START, **named):
    shares = Divided(problem.whole, bounds)
    facts = [column_facts(part.features, part.offsets) for part in shares.parts]
    return problem_of_shares(problem.names, shares, facts, problem.metric, start, **named)


def same(one, other):
    assert one.weights.tolist() == other.weights.tolist()
    assert (one.score, one.start_score, one.ends, one.searches) == (
        other.score,
        other.start_score,
        other.ends,
        other.searches,
    )
    assert one.gain == other.gain
    assert one.notes == other.notes


DIVISIONS = [[0, 7, 30], [0, 1, 2, 29, 30], list(range(31))]


@pytest.mark.parametrize("bounds", DIVISIONS)
@pytest.mark.parametrize("aim", ["unseen", "list"])
def test_weights_are_the_same_to_the_last_digit(bounds, aim):
    problem = make_problem(made_lists(4, segments=30), ShareOfRight(), START)
    search = SearchSettings(restarts=4, aim=aim)
    same(solve(divided(problem, bounds), START, search), solve(problem, START, search))


@pytest.mark.parametrize("metric", [Errors(), ShareOfRight()])
def test_candidates_that_never_won_are_left_out_in_shares_too(metric, monkeypatch):
    monkeypatch.setattr("mert.optimize.SMALL", 50)
    problem = make_problem(made_lists(4, segments=30), metric, START)
    search = SearchSettings(restarts=9, aim="list", threads=2)
    same(solve(divided(problem, DIVISIONS[1]), START, search), solve(problem, START, search))


def test_windows_and_pro():
    window = Window("average", 2)
    problem = make_problem(made_lists(5, segments=30), ShareOfRight(), START, window=window)
    apart = divided(problem, DIVISIONS[0], window=window)
    search = SearchSettings(restarts=2, aim="list")
    same(solve(apart, START, search), solve(problem, START, search))
    drawn = [learned(each, START, "pro", np.random.default_rng(3), samples=40) for each in (problem, apart)]
    assert drawn[0].tolist() == drawn[1].tolist()


def test_bleu_of_shares_with_one_candidate():
    """One row alone is scored by sacrebleu itself, which rounds otherwise: a share must not do so."""
    rng = np.random.default_rng(5)
    texts = [" ".join(rng.choice(["a", "b", "c"], 40)) for _ in range(40)]
    rows = [Candidate(str(i), text, None, {"f": float(i)}, None) for i, text in enumerate(texts)]
    problem = make_problem(arrange(rows), Bleu(References([texts[::-1]])), np.ones(1))
    total = problem.choice(np.ones(1)).sums[None]
    whole = gains_at(problem.whole, np.ones(1), total, 40)
    parts = Divided(problem.whole, list(range(41))).ask(gains_at, np.ones(1), total, 40)
    assert np.concatenate(parts).tolist() == whole.tolist()


def test_many_intervals_are_scored_in_turn(monkeypatch):
    problem = make_problem(made_lists(7, segments=30), ShareOfRight(), START)
    search = SearchSettings(restarts=2, aim="list")
    here = solve(problem, START, search)
    monkeypatch.setattr("mert.search.lines.TOGETHER", 40)
    same(solve(divided(problem, DIVISIONS[0]), START, search), here)


def test_the_same_from_the_same_starts():
    problem = make_problem(made_lists(7, segments=30), ShareOfRight(), START)
    here = optimize(problem, START, restarts=5, seed=3)
    apart = optimize(divided(problem, DIVISIONS[0]), START, restarts=5, seed=3, threads=3)
    assert [tuned.weights.tolist() for tuned in here] == [tuned.weights.tolist() for tuned in apart]


def test_spreads_do_not_depend_on_the_division():
    rng = np.random.default_rng(2)
    features = np.asfortranarray(rng.normal(size=(90, 4)) * [1, 1e-8, 1e200, 0] + [0, 0.1, 0, 0.1])
    features[:9, 1] = 0.1  # the first share never differs
    offsets = np.arange(0, 91, 3)
    whole = spreads([column_facts(features, offsets)])
    parts = [column_facts(features[a:b], np.arange(0, b - a + 1, 3)) for a, b in ((0, 9), (9, 12), (12, 90))]
    assert spreads(parts).tolist() == whole.tolist()
    by_segment = features.reshape(30, 3, 4)
    expected = np.sqrt(
        ((by_segment - by_segment.mean(axis=1, keepdims=True))[..., [0, 1]] ** 2).mean(axis=(0, 1))
    )
    assert whole[[0, 1]] == pytest.approx(expected)
    assert whole[2] > 1e199
    assert whole[3] == 0


def test_shares_in_files(tmp_path):
    problem = make_problem(made_lists(2, segments=9), ShareOfRight(), START)
    share = problem.whole
    folder = ShareFolder(tmp_path / "made" / "share0")
    folder.write(share)
    folder.write(share)  # whoever comes second leaves it as it is
    assert [path.name for path in (tmp_path / "made").iterdir()] == ["share0"]
    opened = folder.open(Rate(problem.metric))
    for name in ("offsets", "features", "stats"):
        assert (getattr(opened, name) == getattr(share, name)).all()
    assert opened.base is None
    assert opened.features.flags.f_contiguous
    opened.features[0, 0] = 7  # what is written to the arrays stays in this process
    assert folder.open(Rate(problem.metric)).features[0, 0] == share.features[0, 0]
    made = []
    for _ in range(2):
        kept = opened.memo.keep("a name / of any kind", lambda: made.append(1) or np.arange(3.0))
        assert kept.tolist() == [0, 1, 2]
    assert made == [1]


def test_what_is_held_is_in_the_files(tmp_path):
    problem = make_problem(made_lists(2, segments=3), ShareOfRight(), START)
    base = np.arange(float(len(problem.whole.features)))
    folder = ShareFolder(tmp_path / "share")
    folder.write(Share(problem.whole.offsets, problem.whole.features, base, problem.whole.stats))
    assert folder.open(unrated).base.tolist() == base.tolist()


def test_long_ways_are_the_same_however_they_are_found(monkeypatch):
    share = make_problem(made_lists(2, segments=9), ShareOfRight(), START).whole
    rng = np.random.default_rng(1)
    moves = [(float(rng.normal()), rng.normal(size=5)) for _ in range(40)]
    position = Position(share, START)
    for length, direction in moves:
        position.take(length, direction)
    for stride in (1, 7, 39, 40, 100):
        monkeypatch.setattr("mert.search.share.STRIDE", stride)
        share.memo.arrays.clear()
        assert values_after(share, START, moves).tolist() == position.values.tolist()


def test_memory_keeps_what_was_used_last():
    memory, made = Memory(2), []
    for name in ("a", "b", "a", "c", "a", "b"):
        memory.keep(name, lambda name=name: made.append(name) or np.zeros(1))
    assert made == ["a", "b", "c", "b"]
    assert pickle.loads(pickle.dumps(memory)).arrays == {}


def test_parts_are_joined_and_do_not_score():
    share = make_problem(made_lists(2, segments=9), ShareOfRight(), START).whole
    kept = np.random.default_rng(1).random(len(share.features)) < 0.5
    kept[share.offsets[:-1]] = True
    whole = share.part(np.flatnonzero(kept))
    ends = share.offsets[[0, 2, 9]]
    parts = [
        cut(share, a, b).part(np.flatnonzero(kept[ends[i] : ends[i + 1]]))
        for i, (a, b) in enumerate(((0, 2), (2, 9)))
    ]
    for name in ("offsets", "features", "stats"):
        assert (getattr(joined(parts), name) == getattr(whole, name)).all()
    with pytest.raises(ValueError, match="does not score"):
        whole.rate(whole.stats)
