"""Divisions of systems and rotations of raters; wins and losses with rotated raters by brute force."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rypt.database.vote_table import VoteTable
from rypt.picks.grouped import GroupedVotes
from rypt.picks.heldout import HeldOutPicks
from rypt.picks.metrics import parse_pick_metric
from rypt.picks.outcome import compare_picks
from rypt.picks.splits import mean_scores, rotate_raters, split_systems
from rypt.records import Candidate, Votes
from rypt.scoring.models import Percolation
from rypt.scoring.scorer import Scorer
from rypt.text import RyptError
from rypt.texts.trees import SourceTree

SYSTEMS = [f"sys{i}" for i in range(6)]
NAN = np.nan


def test_systems_judge_or_are_scored_and_never_both():
    quality = np.zeros((6, 4))
    found = list(
        split_systems(SYSTEMS, quality, 30, np.random.default_rng(1), judging=2, judged_only=["sys5"])
    )
    assert len({split.judges for split in found}) > 5
    for split in found:
        scored = {SYSTEMS[i] for i in split.scored}
        assert not scored & split.judges
        assert scored | split.judges == set(SYSTEMS)
        assert "sys5" in split.judges
        assert len(split.judges) == 3


@pytest.mark.parametrize(("count", "judging"), [(3, 1), (4, 2), (5, 3), (6, 3), (13, 7)])
def test_half_of_the_systems_judge_and_two_are_left(count, judging):
    systems = [str(i) for i in range(count)]
    (split,) = split_systems(systems, np.zeros((count, 1)), 1, np.random.default_rng(1))
    assert (len(split.judges), len(split.scored)) == (judging, count - judging)


@pytest.mark.parametrize(
    ("systems", "judging", "message"),
    [
        (2, None, "expected at least 3 systems, .* found 2"),
        (0, None, "expected at least 3 systems, .* found 0"),
        (5, 4, "expected 1 to 3 judging systems"),
        (5, 0, "expected 1 to 3 judging systems"),
    ],
)
def test_too_few_systems(systems, judging, message):
    names = [str(i) for i in range(systems)]
    with pytest.raises(RyptError, match=message):
        list(split_systems(names, np.zeros((systems, 1)), 1, np.random.default_rng(1), judging=judging))


# raters


def rotated(raters, systems=(0, 1), count=200, seed=1, **options):
    return rotate_raters(raters, systems, count, np.random.default_rng(seed), **options)


def test_each_rater_of_a_segment_judges_once_and_the_others_decide():
    """Segment 0 is of a, b and c, segment 1 of b, c and d, segment 2 of a and d: d scored one candidate only there."""
    raters = {
        "a": np.array([[1, NAN, 2], [1, NAN, 3]]),
        "b": np.array([[10, 10, NAN], [10, 11, NAN]]),
        "c": np.array([[100, 100, NAN], [100, NAN, NAN]]),
        "d": np.array([[NAN, 5, 7], [NAN, 5, NAN]]),
    }
    found = rotated(raters)
    assert len(found) == 3
    seen = [[split.judges.names[i] for split in found if not np.isnan(split.quality[0, i])] for i in range(3)]
    assert sorted(map(sorted, seen[0])) == [["a"], ["b"], ["c"]]
    assert sorted(map(sorted, seen[1])) == [
        ["b"],
        ["d"],
    ]  # c scored one candidate there: c decides, and does not judge
    assert seen[2] == []
    for split in found:
        (judge,) = split.judges.names[0]
        others = [name for name in "abc" if name != judge]
        assert split.quality[0, 0] == np.mean([raters[name][0, 0] for name in others])
        assert split.human[0, 0] == raters[judge][0, 0]
        assert split.judges.names[2] == frozenset()
        assert np.isnan(split.quality[:, 2]).all()
        assert split.judges.names[1]  # known in all splits, though it decides in two
    assert found.notes == (
        "2 of 3 segments take part",
        "1 left out: only 1 rater scored two of the candidates to pick from",
    )


def test_who_comes_first_differs_from_segment_to_segment():
    raters = {name: np.zeros((2, 60)) for name in "abc"}
    first = rotated(raters, seed=2).splits[0]
    assert len(set(first.judges.names)) == 3
    assert rotated(raters, seed=2).splits[0].judges == first.judges
    assert rotated(raters, seed=3).splits[0].judges != first.judges


@pytest.mark.parametrize(("raters", "judging", "count"), [(4, 2, 6), (3, 2, 3), (5, 1, 5), (5, 4, 5)])
def test_all_combinations_are_taken(raters, judging, count):
    given = {str(i): np.full((3, 2), float(i)) for i in range(raters)}
    found = rotated(given, judging=judging)
    for segment in range(2):
        combinations_seen = {split.judges.names[segment] for split in found}
        assert len(found) == len(combinations_seen) == count
        assert all(len(names) == judging for names in combinations_seen)


def test_more_combinations_than_splits():
    found = rotated({str(i): np.zeros((2, 1)) for i in range(30)}, count=50, judging=15)
    assert len({split.judges.names[0] for split in found}) == len(found) == 50


def test_who_gave_no_judgments_decides_and_does_not_judge():
    raters = {name: np.full((2, 1), value) for name, value in (("a", 1.0), ("b", 10.0), ("c", 100.0))}
    found = rotated(raters, judges={"a", "c"})
    assert {split.judges.names[0]: split.quality[0, 0] for split in found} == {
        frozenset("a"): 55,
        frozenset("c"): 5.5,
    }
    found = rotated({**raters, "b": np.array([[1.0], [NAN]])}, judges={"a", "c"})
    assert [split.quality[1, 0] for split in found] in ([100, 1], [1, 100])


@pytest.mark.parametrize(
    ("raters", "systems", "options", "message"),
    [
        (
            1,
            2,
            {},
            "this file has one rater a segment, and --hold-out rater needs two, .*: use --hold-out system",
        ),
        (2, 2, {"judging": 2}, "2 judging and 1 deciding raters: 1 segment: only 2 raters scored two"),
        (3, 1, {}, "at least 2 systems to pick from, found 1"),
        (3, 2, {"judging": 0}, "expected at least 1 judging rater, found 0"),
        (3, 2, {"judges": {"0"}, "judging": 2}, "only 1 of the raters gave judgments"),
    ],
)
def test_too_few_raters(raters, systems, options, message):
    given = {str(i): np.zeros((systems, 1)) for i in range(raters)}
    with pytest.raises(RyptError, match=message):
        rotated(given, list(range(systems)), **options)
    with pytest.raises(RyptError, match="no rater scored two"):
        rotated({str(i): np.full((2, 1), NAN) for i in range(3)})


def test_the_mean_is_of_those_who_scored():
    nan = np.nan
    found = mean_scores([np.array([[1, nan, nan]]), np.array([[3, 5, nan]])])
    np.testing.assert_array_equal(found, [[2, 5, nan]])


# brute force

TREE = SourceTree.from_brackets("(S (A a) (B b))")
RATERS = "abc"


def half(votes, candidates):
    """The score of candidates of one segment where these votes are all there is, by the scorer's own path."""
    model = Percolation("half")
    return model.score(model.stats(Scorer({"0": TREE}, votes).observe(candidates)))


def brute(texts, labels, scores, judging):
    """Net of rypt:half and of human against the first system for one segment, its rater combinations spelled out."""
    own = [r for r in RATERS if sum(s is not None for s in scores[r]) >= 2]
    nets = {"rypt:half": [], "human": []}
    for judges in combinations(own, judging) if len(own) > judging else ():
        others = [r for r in RATERS if r not in judges]
        given = [[scores[r][s] for r in others if scores[r][s] is not None] for s in range(len(texts))]
        there = [s for s, values in enumerate(given) if values]
        if len(there) < 2:
            continue
        quality = {s: sum(given[s]) / len(given[s]) for s in there}
        tally = {}
        for r in judges:
            for s, words in enumerate(texts):
                for c, phrase in zip(TREE.constituents, (" ".join(words), *words), strict=True):
                    key = (c.span, phrase)
                    yes, no = tally.get(key, (0, 0))
                    tally[key] = (yes + labels[r, s], no + (not labels[r, s]))
        votes = [Votes("0", span, phrase, yes, no) for (span, phrase), (yes, no) in tally.items()]
        rypt = half(votes, [Candidate("0", " ".join(words), "0-0 1-1") for words in texts])
        said = [[scores[r][s] for r in judges if scores[r][s] is not None] for s in range(len(texts))]
        means = [sum(values) / len(values) if values else None for values in said]
        known = [value for value in means if value is not None]
        human = [min(known) - 1 if value is None else value for value in means]
        for name, metric in (("rypt:half", rypt), ("human", human)):
            top = max(metric[s] for s in there)
            tied = [s for s in there if metric[s] >= top - 1e-9]
            base = [there[0]]
            pairs = list(product(tied, base))
            nets[name].append(sum(np.sign(round(quality[x] - quality[y], 9)) for x, y in pairs) / len(pairs))
    return {name: np.mean(values) for name, values in nets.items() if values}


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_nets_with_rotated_raters_are_those_of_brute_force(data):
    segments, systems, judging = (
        data.draw(st.integers(1, 3)),
        data.draw(st.integers(2, 4)),
        data.draw(st.integers(1, 2)),
    )
    word, score = st.sampled_from("xy"), st.sampled_from([None, -1.0, -1.0, 0.0, -5.0])
    worlds = [
        (
            [(data.draw(word), data.draw(word)) for _ in range(systems)],
            {(r, s): data.draw(st.booleans()) for r in RATERS for s in range(systems)},
            {r: [data.draw(score) for _ in range(systems)] for r in RATERS},
        )
        for _ in range(segments)
    ]
    expected = [found for world in worlds if (found := brute(*world, judging))]
    trees = {str(i): TREE for i in range(segments)}
    votes = [
        (r, Votes(str(i), c.span, phrase, float(labels[r, s]), float(not labels[r, s])))
        for i, (texts, labels, _) in enumerate(worlds)
        for (r, s) in labels
        for c, phrase in zip(TREE.constituents, (" ".join(texts[s]), *texts[s]), strict=True)
    ]
    candidates = [
        Candidate(str(i), " ".join(world[0][s]), "0-0 1-1")
        for s in range(systems)
        for i, world in enumerate(worlds)
    ]
    raters = {
        r: np.array([[world[2][r][s] for world in worlds] for s in range(systems)], float) for r in RATERS
    }
    table = np.arange(systems * segments).reshape(systems, segments)
    first = -np.repeat(np.arange(systems), segments).astype(
        float
    )  # a metric that takes the first system there is
    held_out = HeldOutPicks(
        tuple(SYSTEMS[:systems]),
        table,
        GroupedVotes(trees, VoteTable.from_votes(votes), candidates),
        {"model": first},
    )
    metrics = [parse_pick_metric(name) for name in ("rypt:half", "human", "model")]
    if not expected:
        with pytest.raises(RyptError):
            compare_picks(held_out, metrics, rotated(raters, range(systems), judging=judging))
        return
    found = compare_picks(
        held_out, metrics, rotated(raters, range(systems), judging=judging, seed=data.draw(st.integers(0, 9)))
    )
    for outcome in found.outcomes:
        if outcome.baseline == "model":
            assert outcome.segments == len(expected)
            assert outcome.net == pytest.approx(np.mean([net[outcome.metric] for net in expected]))
