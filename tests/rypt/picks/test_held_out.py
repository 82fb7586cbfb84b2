"""Held-out picks: what is held out stays out, why single candidates may not be held out, and nets by brute force."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from systems_world import make

from rypt.campaign.settings import Scoring
from rypt.database.judgments import JudgmentDatabase
from rypt.database.votes import read_votes
from rypt.picks.evidence import read_evidence
from rypt.picks.held_out import HeldOutPicks, SplitPicks
from rypt.picks.metrics import parse_pick_metric
from rypt.picks.outcome import compare_picks
from rypt.picks.splits import PickSplit, rotate_raters
from rypt.records import Candidate, Judgment, Label, Segment, Votes
from rypt.scoring.forest import Forest
from rypt.scoring.observations import JudgedPhrases
from rypt.scoring.scorer import Scorer
from rypt.text import RyptError
from rypt.texts.trees import SourceTree

RYPT = ("rypt", "rypt:ignore", "rypt:table", "rypt:severity", "rypt:table+0.2*chrf+2*system")


def scores(data, name, split, **options):
    return SplitPicks(data, split).scores(parse_pick_metric(name), **options)


def held_out(trees, judgments, candidates, table, way, fixed=None):
    """Picks from judgments as a database gives them."""
    with JudgmentDatabase(":memory:") as db:
        db.add_segments(Segment(name, " ".join(tree.tokens)) for name, tree in trees.items())
        db.add(judgments)
        votes = read_votes(db)
    places = JudgedPhrases(Forest(trees), votes.keys).look_up(candidates, "lower")
    systems = tuple(f"sys{i}" for i in range(len(table)))
    return HeldOutPicks(systems, table, votes, places, fixed or {}, way)


@pytest.fixture(scope="module")
def evidence(tmp_path_factory):
    campaign = make(tmp_path_factory.mktemp("world") / "campaign", systems=6, segments=20)
    metrics = [parse_pick_metric(name) for name in ("rypt", "chrf")]
    return read_evidence(campaign, campaign.folder / "scores.jsonl", metrics)


@pytest.fixture(scope="module")
def rated(tmp_path_factory):
    """Four raters, three of them in each segment, who do not always agree."""
    folder = tmp_path_factory.mktemp("rated") / "campaign"
    campaign = make(folder, systems=5, segments=16, raters=("a", "b", "c", "d"), share=3)
    metrics = [parse_pick_metric(name) for name in ("rypt", "chrf")]
    return read_evidence(campaign, campaign.folder / "scores.jsonl", metrics, way="rater")


def test_ties_share_the_pick_and_what_nobody_scored_is_not_picked(evidence):
    nan = np.nan
    quality = np.array([[1, nan, 1, nan], [0, 0, 0, 0], [1, 2, 3, nan], [1, 2, 3, nan]])
    table = np.arange(16).reshape(4, 4)
    table[0, 2] = -1
    fixed = {"model": np.array([5, 9, 0, 10, *[0] * 4, 5, 1, 2, 10, 4, 2, 1, 10], np.float64)}
    split = PickSplit(np.zeros((6, 20), np.bool_), (0, 2, 3), quality)
    data = replace(evidence.data, candidates=table, fixed=fixed)
    found = SplitPicks(data, split).chances(parse_pick_metric("model"))
    assert found.tolist() == [[0.5, 0, 0, 0], [0.5, 0, 1, 0], [0, 1, 0, 0]]


def turned(data, theirs):
    """The same picks, with everything turned around that some votes say."""
    votes = data.votes
    label = np.where(theirs & (votes.label > 0), 3 - votes.label, votes.label).astype(np.int8)
    return replace(data, votes=replace(votes, label=label, weight=np.where(theirs, 5.0, votes.weight)))


@pytest.mark.parametrize("name", RYPT)
def test_judgments_of_the_scored_systems_are_never_used(evidence, name):
    """Turn around everything that was said of the candidates that are picked from: no score changes."""
    data = evidence.data
    ((split,), _) = evidence.splits(1, 3)
    theirs = np.isin(data.votes.origin, [data.groups.index(data.systems[i]) for i in split.scored])
    before, after = (scores(each, name, split) for each in (data, turned(data, theirs)))
    assert before.tolist() == after.tolist()
    assert len(set(before.ravel().tolist())) > 2
    others = scores(turned(data, ~theirs), name, split)
    assert before.tolist() != others.tolist()


@pytest.mark.parametrize("judging", [1, 2])
@pytest.mark.parametrize("name", RYPT)
def test_what_the_deciding_raters_said_is_never_used(rated, name, judging):
    """Turn around, segment by segment, everything that the deciding raters said: no score changes."""
    for split in rated.splits(9, 3, judging=judging)[0]:
        theirs = ~rated.data.known_votes(split.judges)
        assert theirs.any()
        before, after = (scores(each, name, split) for each in (rated.data, turned(rated.data, theirs)))
        assert before.tolist() == after.tolist()
        assert len(set(before.ravel().tolist())) > 2


def test_options_of_rypt_are_those_of_tuning(evidence):
    ((split,), _) = evidence.splits(1, 3)
    no = replace(evidence.data, scoring=Scoring(model="table", unknown="no", ties="yes"))
    same = scores(evidence.data, "rypt(unknown=no,ties=yes)", split)
    assert scores(no, "rypt:percolation", split).tolist() == same.tolist()
    with pytest.raises(RyptError, match=r"rypt\(db=x.db\): the judgments are those held out"):
        scores(evidence.data, "rypt(db=x.db)", split)
    with pytest.raises(RyptError, match="it is for --scores with --hold-out rater"):
        scores(evidence.data, "human", split)


# brute force

TREE = SourceTree.from_brackets("(S (A a) (B b))")
RATERS = "abc"


def brute(texts, labels, ratings, judging):
    """Net of rypt:half and of human against the first system for one segment, its rater combinations spelled out."""
    own = [r for r in RATERS if sum(s is not None for s in ratings[r]) >= 2]
    nets = {"rypt:half": [], "human": []}
    for judges in combinations(own, judging) if len(own) > judging else ():
        others = [r for r in RATERS if r not in judges]
        given = [[ratings[r][s] for r in others if ratings[r][s] is not None] for s in range(len(texts))]
        there = [s for s, values in enumerate(given) if values]
        if len(there) < 2:
            continue
        quality = {s: sum(given[s]) / len(given[s]) for s in there}
        tally = {}
        for r in judges:
            for s, words in enumerate(texts):
                for c, phrase in zip(TREE.constituents, (" ".join(words), *words), strict=True):
                    yes, no = tally.get((c.span, phrase), (0, 0))
                    tally[c.span, phrase] = (yes + labels[r, s], no + (not labels[r, s]))
        votes = [Votes("0", span, phrase, yes, no) for (span, phrase), (yes, no) in tally.items()]
        scorer = Scorer({"0": TREE}, votes)
        rypt = scorer.score(scorer.stats([Candidate("0", " ".join(words), "0-0 1-1") for words in texts]))
        said = [[ratings[r][s] for r in judges if ratings[r][s] is not None] for s in range(len(texts))]
        means = [sum(values) / len(values) if values else None for values in said]
        known = [value for value in means if value is not None]
        human = [min(known) - 1 if value is None else value for value in means]
        for name, metric in (("rypt:half", rypt), ("human", human)):
            top = max(metric[s] for s in there)
            tied = [s for s in there if metric[s] >= top - 1e-9]
            nets[name].append(np.mean([np.sign(round(quality[x] - quality[there[0]], 9)) for x in tied]))
    return {name: np.mean(values) for name, values in nets.items() if values}


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_nets_with_rotated_raters_are_those_of_brute_force(data):
    segments, systems = data.draw(st.integers(1, 3)), data.draw(st.integers(2, 4))
    judging = data.draw(st.integers(1, 2))
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
    judgments = [
        Judgment(str(i), c.span, phrase, Label.YES if labels[r, s] else Label.NO, r, f"sys{s}")
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
    first = -np.repeat(np.arange(systems), segments).astype(float)  # takes the first system there is
    trees = {str(i): TREE for i in range(segments)}
    picks = held_out(trees, judgments, candidates, table, "rater", {"model": first})
    metrics = [parse_pick_metric(name) for name in ("rypt:half", "human", "model")]

    def compared():
        rng = np.random.default_rng(data.draw(st.integers(0, 9)))
        splits, _ = rotate_raters(raters, picks.groups, range(systems), 200, rng, judging=judging)
        return compare_picks(picks, metrics, splits)

    if not expected:
        with pytest.raises(RyptError):
            compared()
        return
    for outcome in compared().outcomes:
        if outcome.baseline == "model":
            assert outcome.segments == len(expected)
            assert outcome.net == pytest.approx(np.mean([net[outcome.metric] for net in expected]))
