"""Held-out picks: what is held out stays out, and why single candidates may not be held out."""

from dataclasses import replace

import numpy as np
import pytest
from systems_world import make

from rypt.campaign.settings import Scoring
from rypt.database.vote_table import VoteTable
from rypt.picks.evidence import read_evidence
from rypt.picks.grouped import GroupedVotes, SegmentJudges
from rypt.picks.heldout import HeldOutPicks, PickSplit, chances
from rypt.picks.metrics import parse_pick_metric
from rypt.picks.splits import split_systems
from rypt.records import Candidate, Votes
from rypt.scoring.models import Percolation
from rypt.text import RyptError
from rypt.texts.trees import SourceTree

SYSTEMS = [f"sys{i}" for i in range(6)]
RYPT = ("rypt", "rypt:half", "rypt:ignore", "rypt:percolation", "rypt:table", "rypt:severity")


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


@pytest.mark.parametrize("name", [*RYPT, "rypt:severity+0.2*chrf+2*system"])
def test_judgments_of_the_scored_systems_are_never_used(evidence, name):
    """Turn around everything that was said of the candidates that are picked from: no score changes."""
    split = evidence.splits("system", 1, 3).splits[0]
    votes = evidence.data.votes
    scored = [votes.groups.index(evidence.data.systems[i]) for i in split.scored]
    turned = object.__new__(GroupedVotes)
    turned.__dict__ = dict(votes.__dict__)
    theirs = np.isin(votes._group, scored)
    assert theirs.any()
    turned._label = np.where(theirs, 1 - votes._label, votes._label)
    turned._weight = np.where(theirs, 5 * votes._weight, votes._weight)
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
    split = evidence.splits("system", 1, 3).splits[0]
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
    split = evidence.splits("system", 1, 3).splits[0]
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
    split = evidence.splits("system", 1, 3).splits[0]
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
    judges = SegmentJudges((frozenset({"sys1"}),) * 20)
    assert len(evidence.data._candidates_of(judges)) == 6 * 20
    assert len(evidence.data._candidates_of({"sys1"})) == 20
    assert len(evidence.data._candidates_of({"a reference without a list"})) == 0


# raters


@pytest.fixture(scope="module")
def rated(tmp_path_factory):
    """Four raters, three of them in each segment, who do not always agree."""
    campaign = make(
        tmp_path_factory.mktemp("rated") / "campaign",
        systems=5,
        segments=16,
        raters=("a", "b", "c", "d"),
        share=3,
    )
    metrics = [parse_pick_metric(name) for name in ("rypt", "chrf")]
    return read_evidence(campaign, campaign.folder / "scores.jsonl", metrics, way="rater")


@pytest.mark.parametrize("judging", [1, 2])
@pytest.mark.parametrize("name", [*RYPT, "rypt:severity+0.2*chrf+2*system"])
def test_what_the_deciding_raters_said_is_never_used(rated, name, judging):
    """Turn around, segment by segment, everything that the deciding raters said: no score changes."""
    votes = rated.data.votes
    for split in rated.splits("rater", 9, 3, judging=judging):
        theirs = ~votes._given_by(split.judges)
        assert theirs.any()
        turned = object.__new__(GroupedVotes)
        turned.__dict__ = dict(votes.__dict__)
        turned._label = np.where(theirs, 1 - votes._label, votes._label)
        turned._weight = np.where(theirs, 5 * votes._weight, votes._weight)
        other = replace(rated.data, votes=turned, _models={})
        before, after = (data.scores(parse_pick_metric(name), split) for data in (rated.data, other))
        assert before.tolist() == after.tolist()
        assert len(set(before.ravel().tolist())) > 2


def test_what_is_held_out_for_a_model_is_not_what_it_is_shown(rated):
    """Of one rater in each segment the parts are origins, of several they are raters: each vote is held out once."""
    votes = rated.data.votes
    for judging in (1, 2):
        (split, *_) = rated.splits("rater", 9, 1, judging=judging)
        folds = list(rated.data._folds(split.judges))
        held = [votes.counts(fold.out, fold.out_origins) for fold in folds]
        shown = [votes.counts(fold.judges, fold.origins) for fold in folds]
        every = votes.counts(split.judges)
        assert len(folds) == (5 if judging == 1 else 2)
        np.testing.assert_allclose(sum(held), every)
        for known, out in zip(shown, held, strict=True):
            np.testing.assert_allclose(known + out, every)
            assert known.any()
            assert out.any()


def test_the_judging_raters_own_scores(rated):
    split = rated.splits("rater", 9, 1).splits[0]
    (judge,) = split.judges.names[4]
    scores = rated.data.scores(parse_pick_metric("human"), split)
    np.testing.assert_array_equal(scores[:, 4], rated.scores.raters[judge][:, 4])
    chrf = rated.data.fixed["chrf"][rated.data.candidates]
    mixed = rated.data.scores(parse_pick_metric("human+0.5*chrf"), split)
    np.testing.assert_allclose(mixed, scores + 0.5 * chrf)


def test_a_candidate_that_the_judging_raters_did_not_score_is_below_the_others(rated):
    split = rated.splits("rater", 9, 1).splits[0]
    human = split.human.copy()
    human[2, 0] = np.nan
    human[:, 1] = np.nan
    scores = rated.data.scores(parse_pick_metric("human"), replace(split, human=human))
    assert scores[2, 0] == split.human[[0, 1, 3, 4], 0].min() - 1
    assert scores[:, 1].tolist() == [0] * 5


def test_human_scores_need_raters(evidence):
    split = evidence.splits("system", 1, 3).splits[0]
    with pytest.raises(RyptError, match="it is for --scores with --hold-out rater"):
        evidence.data.scores(parse_pick_metric("human"), split)


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
                    Votes(
                        str(i), c.span, text[j - 1], float(not wrong[s, i, j - 1]), float(wrong[s, i, j - 1])
                    ),
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
    grouped = GroupedVotes(trees, VoteTable.from_votes(votes), candidates)
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
    scores = np.stack(
        [
            model.score(model.stats(grouped.observe(grouped.counts(set(names) - {name}), table[s])))
            for s, name in enumerate(names)
        ]
    )
    bias = picked_quality(scores, quality) - quality.mean(axis=0)
    assert bias.mean() < -10 * bias.std() / np.sqrt(segments)
