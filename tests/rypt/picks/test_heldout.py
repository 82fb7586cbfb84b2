"""Held-out picks: what is held out stays out, and why single candidates may not be held out."""

from dataclasses import replace

import numpy as np
import pytest
from systems_world import make

from rypt.campaign.settings import Scoring
from rypt.metric.model import Percolation
from rypt.picks.evidence import read_evidence
from rypt.picks.grouped import GroupedVotes
from rypt.picks.heldout import HeldOutPicks, PickSplit, chances, mean_scores, split_raters, split_systems
from rypt.picks.metrics import parse_pick_metric
from rypt.records import Candidate, Votes
from rypt.text import RyptError
from rypt.texts.trees import SourceTree

SYSTEMS = [f"sys{i}" for i in range(6)]
RYPT = (
    "rypt",
    "rypt:half",
    "rypt:ignore",
    "rypt:prior",
    "rypt:smoothed",
    "rypt:percolation",
    "rypt:table",
    "rypt:tree",
)


# splits


def test_systems_judge_or_are_scored_and_never_both():
    quality = np.zeros((6, 4))
    found = list(split_systems(SYSTEMS, quality, 30, np.random.default_rng(1), judging=2, judged_only=["sys5"]))
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


def test_raters_who_judge_give_no_scores():
    raters = {name: np.full((2, 3), value) for name, value in (("a", 1.0), ("b", 10.0), ("c", 100.0))}
    raters["c"][0, 0] = np.nan
    for split in split_raters(raters, [0, 1], 20, np.random.default_rng(1), judging=2):
        (scorer,) = set(raters) - split.judges
        assert split.scored == (0, 1)
        np.testing.assert_array_equal(split.quality, raters[scorer])


@pytest.mark.parametrize(
    ("raters", "systems", "judging", "message"),
    [
        (1, 2, None, "at least 2 raters, .* found 1"),
        (3, 1, None, "at least 2 systems to pick from, found 1"),
        (3, 2, 3, "expected 1 to 2 judging raters, so that one is left, found 3"),
    ],
)
def test_too_few_raters(raters, systems, judging, message):
    given = {str(i): np.zeros((systems, 1)) for i in range(raters)}
    with pytest.raises(RyptError, match=message):
        list(split_raters(given, list(range(systems)), 1, np.random.default_rng(1), judging))


def test_the_mean_is_of_those_who_scored():
    nan = np.nan
    found = mean_scores([np.array([[1, nan, nan]]), np.array([[3, 5, nan]])])
    np.testing.assert_array_equal(found, [[2, 5, nan]])


# picks


def test_ties_share_the_pick_and_what_nobody_scored_is_not_picked():
    nan, inf = np.nan, np.inf
    split = PickSplit(
        frozenset(), (0, 2, 3), np.array([[1, nan, 1, nan], [0, 0, 0, 0], [1, 2, 3, nan], [1, 2, 3, nan]])
    )
    scores = np.array([[0.5, 0.9, -inf, 1], [0.5, 0.1, 0.2, 1], [0.4, 0.2, 0.1, 1]])
    assert chances(scores, split).tolist() == [[0.5, 0, 0, 0], [0.5, 0, 1, 0], [0, 1, 0, 0]]


@pytest.fixture(scope="module")
def evidence(tmp_path_factory):
    campaign = make(tmp_path_factory.mktemp("world") / "campaign", systems=6, segments=20)
    metrics = [parse_pick_metric(name) for name in ("rypt", "chrf")]
    return read_evidence(campaign, campaign.folder / "scores.jsonl", metrics)


@pytest.mark.parametrize("name", [*RYPT, "rypt:tree+0.2*chrf+2*system"])
def test_judgments_of_the_scored_systems_are_never_used(evidence, name):
    """Turn around everything that was said of the candidates that are picked from: no score changes."""
    split = next(evidence.splits("system", 1, 3))
    votes = evidence.data.votes
    scored = [votes.groups.index(evidence.data.systems[i]) for i in split.scored]
    turned = object.__new__(GroupedVotes)
    turned.__dict__ = dict(votes.__dict__)
    turned._counts = votes._counts.copy()
    theirs = np.isin(votes._group, scored)
    assert theirs.any()
    turned._counts[theirs] = votes._counts[theirs][:, [1, 0, 2]] * 5
    other = replace(evidence.data, votes=turned, _models={})
    metric = parse_pick_metric(name)
    before, after = (data.scores(metric, split) for data in (evidence.data, other))
    assert before.tolist() == after.tolist()
    assert len(set(before.ravel().tolist())) > 2


def test_judgments_of_the_judging_systems_are_used(evidence):
    metric = parse_pick_metric("rypt")
    one, two = list(evidence.splits("system", 2, 3))
    same = PickSplit(two.judges, one.scored, one.quality)
    assert evidence.data.scores(metric, one).tolist() != evidence.data.scores(metric, same).tolist()


def test_percolation_is_the_campaigns_own_kind(evidence):
    split = next(evidence.splits("system", 1, 3))
    plain, half, no = (parse_pick_metric(name) for name in ("rypt:percolation", "rypt:half", "rypt:no"))
    for scoring, expected in (
        (Scoring(unknown="no"), no),
        (Scoring(), half),
        (Scoring(model="table"), half),
        (Scoring(model="table", unknown="no"), no),
    ):
        data = replace(evidence.data, scoring=scoring, _models={})
        assert data.scores(plain, split).tolist() == data.scores(expected, split).tolist()


def test_options_of_rypt_are_those_of_tuning(evidence):
    split = next(evidence.splits("system", 1, 3))
    short, long, ties = (
        evidence.data.scores(parse_pick_metric(name), split).tolist()
        for name in ("rypt:ignore", "rypt(unknown=ignore)", "rypt(unknown=ignore,ties=yes)")
    )
    assert short == long
    other = replace(evidence.data, scoring=Scoring(ties="yes"), _models={})
    assert ties == other.scores(parse_pick_metric("rypt:ignore"), split).tolist()
    with pytest.raises(RyptError, match=r"rypt\(db=x.db\): the judgments are those held out"):
        evidence.data.scores(parse_pick_metric("rypt(db=x.db)"), split)


def test_a_candidate_that_is_not_there_is_not_picked(evidence):
    split = next(evidence.splits("system", 1, 3))
    table = evidence.data.candidates.copy()
    table[split.scored[0], 4] = -1
    table[list(split.scored), 5] = -1
    data = replace(evidence.data, candidates=table)
    picks = data.picks(parse_pick_metric("rypt+system"), split)
    assert picks[0, 4] == 0
    assert picks[:, 4].sum() == pytest.approx(1)
    assert picks[:, 5].sum() == 0


def test_raters_named_like_systems_teach_from_all_candidates(evidence):
    """With raters held out, every rater judges every candidate, whatever their names are."""
    data = replace(evidence.data, way="rater")
    assert len(data._candidates_of({"sys1"})) == 6 * 20
    assert len(evidence.data._candidates_of({"sys1"})) == 20
    assert len(evidence.data._candidates_of({"a reference without a list"})) == 0


# the bias


def uninformative(segments, systems, seed):
    """Candidates of a few phrases and verdicts that are pure chance; the human score counts a candidate's own NOs."""
    rng = np.random.default_rng(seed)
    trees = {str(i): SourceTree.from_brackets("(S (A a) (B b) (C c))") for i in range(segments)}
    words = rng.integers(0, 2, (systems, segments, 3))
    wrong = rng.random(words.shape) < 0.3
    candidates, votes = [], []
    for s in range(systems):
        for i in range(segments):
            text = [f"w{word}" for word in words[s, i]]
            candidates.append(Candidate(str(i), " ".join(text), "0-0 1-1 2-2"))
            votes += [
                (
                    f"sys{s}",
                    Votes(str(i), c.span, text[j - 1], float(not wrong[s, i, j - 1]), float(wrong[s, i, j - 1])),
                )
                for j, c in enumerate(trees[str(i)].constituents)
                if j
            ]
    quality = -wrong.sum(axis=2).astype(float)
    return trees, votes, candidates, quality


def picked_quality(scores, quality):
    best = scores >= scores.max(axis=0) - 1e-9
    return (best / best.sum(axis=0) * quality).sum(axis=0)


def test_disjoint_systems_are_unbiased_and_leaving_out_one_candidate_is_not():
    """Labels that carry no information must not pick better or worse than chance; that is why one way is refused."""
    systems, segments = 6, 1500
    trees, votes, candidates, quality = uninformative(segments, systems, 5)
    grouped = GroupedVotes(trees, votes, candidates)
    table = np.arange(systems * segments).reshape(systems, segments)
    names = tuple(SYSTEMS)
    data = HeldOutPicks(names, table, grouped, {})
    metric = parse_pick_metric("rypt")

    gains = []
    for split in split_systems(names, quality, 10, np.random.default_rng(1), judging=3):
        own = quality[list(split.scored)]
        gains.append(picked_quality(data.scores(metric, split), own) - own.mean(axis=0))
    gain = np.mean(gains, axis=0)
    assert abs(gain.mean()) < 3 * gain.std() / np.sqrt(segments)

    model = Percolation()
    scores = np.stack([
        model.score(model.stats(grouped.observe(grouped.counts(set(names) - {name}), table[s])))
        for s, name in enumerate(names)
    ])  # fmt: skip
    bias = picked_quality(scores, quality) - quality.mean(axis=0)
    assert bias.mean() < -10 * bias.std() / np.sqrt(segments)
