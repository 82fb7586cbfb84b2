"""What is asked, and what a label is worth: by definition."""

import json
from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from systems_world import make

from rypt.campaign.queries import worthwhile
from rypt.database.exchange import import_file
from rypt.database.judgments import JudgmentDatabase
from rypt.records import Candidate, Query, Segment, Span, Votes
from rypt.scoring.frontier import frontier
from rypt.scoring.models import SeverityModel
from rypt.scoring.phrase_keys import candidate_links
from rypt.scoring.queries import QueryLimits, queries, write_queries
from rypt.scoring.scorer import Scorer
from rypt.scoring.value import SHARPNESS, WORTHLESS, query_rows, query_values
from rypt.text import FormatError, RyptError, open_output, tokenize
from rypt.texts.phrases import Phrase, normalize, phrase_of
from rypt.texts.trees import SourceTree

PATIENT = {
    "1": SourceTree.from_brackets("(S (NP (ART der) (NN patient)) (VAFIN wurde) (VVPP isoliert) ($. .))")
}
CANDIDATES = [
    Candidate("1", "The patient was isolated .", "0-0 1-1 2-2 3-3 4-4"),
    Candidate("1", "the patient isolated .", "0-0 1-1 3-2 4-3"),
    Candidate("1", "the very old patient .", "0-0 1-3 4-4"),
]
TREES: Mapping[str, SourceTree | None] = {
    "b": SourceTree.from_brackets(
        "(S (NP (ART der) (NN patient)) (VAFIN wurde) (VP (ADV sofort) (VVPP isoliert)))"
    ),
    "none": None,
    "a": SourceTree.from_brackets("(S (X eins) (X zwei))"),
}
WORDS = st.sampled_from(["the", "The", "[GAP]", "[gap]", "[Skip]", "é", "e\u0301", "Σ", "a"])


def allows(limits: QueryLimits, positions: tuple[int, ...]) -> bool:
    gaps = sum(b - a > 1 for a, b in pairwise(positions))
    return bool(limits.allow(len(positions), positions[-1] - positions[0] + 1, gaps))


def by_definition(trees, candidates, judged, select, max_len, limits, case):
    """One phrase of one candidate at a time."""
    asked: dict[tuple[str, Span, str], list[tuple[str, Phrase]]] = {}
    for candidate in candidates:
        tree = trees[candidate.segment]
        if tree is None:
            continue
        chosen = frontier(tree, max_len) if select == "frontier" else range(len(tree.constituents))
        spans = [tree.constituents[i].span for i in chosen]
        tokens, linked = tokenize(normalize(candidate.text, case)), candidate_links(candidate, tree)
        for span in spans:
            phrase = phrase_of(span, linked, tokens)
            if phrase and len(span) <= min(max_len, limits.max_source_words):
                key = (candidate.segment, span, phrase.text)
                asked.setdefault(key, []).append((candidate.text, phrase))
    order = list(trees)
    result = []
    for key in sorted(asked.keys() - judged, key=lambda key: (order.index(key[0]), key[1], key[2])):
        tokens = trees[key[0]].tokens
        source = (" ".join(tokens), " ".join(tokens[slice(*key[1])]))
        shown = [(text, phrase.positions) for text, phrase in asked[key] if allows(limits, phrase.positions)]
        if shown:
            result.append(Query(*key, *source, len(asked[key]), *shown[0]))
    return result


@st.composite
def lists_of_candidates(draw: st.DrawFn) -> list[Candidate]:
    candidates = []
    for _ in range(draw(st.integers(0, 12))):
        segment = draw(st.sampled_from(list(TREES)))
        words = draw(st.lists(WORDS, min_size=1, max_size=9))
        words += ["w"] * draw(st.sampled_from([0, 0, 0, 60, 130]))
        links = []
        if tree := TREES[segment]:
            pairs = st.tuples(st.integers(0, len(tree.tokens) - 1), st.integers(0, len(words) - 1))
            links = [f"{source}-{target}" for source, target in draw(st.lists(pairs, max_size=10))]
        candidates.append(Candidate(segment, " ".join(words), " ".join(links)))
    return candidates


@given(
    lists_of_candidates(),
    st.sampled_from(["frontier", "all"]),
    st.integers(1, 6),
    st.sampled_from(["lower", "keep"]),
    st.sampled_from([QueryLimits(), QueryLimits(3, 9, 200, 9, 200)]),
    st.data(),
)
def test_queries_are_those_of_the_definition(candidates, select, max_len, case, limits, data):
    options = {"select": select, "max_len": max_len, "limits": limits, "case": case}
    every = by_definition(TREES, candidates, set(), **options)
    assert queries(TREES, candidates, **options) == every
    keys = [(query.segment, query.span, query.phrase) for query in every]
    judged = set(data.draw(st.lists(st.sampled_from(keys)))) if keys else set()
    assert queries(TREES, candidates, judged=judged, **options) == [
        query for query, key in zip(every, keys, strict=True) if key not in judged
    ]


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_answered_queries_import_as_judgments(form, tmp_path):
    """The list goes out, labels are written into it, it comes back; what is left blank is asked again."""
    db = JudgmentDatabase(":memory:")
    db.add_segments([Segment("1", "der patient wurde isoliert .")])
    found = queries(PATIENT, CANDIDATES, max_len=2)
    path = tmp_path / f"queries.{form}"
    with open_output(path) as stream:
        write_queries(found, stream, form)
    if form == "csv":
        assert "The patient,The patient was isolated" in path.read_text()  # as it is written; the key is not
        text = path.read_text().replace("was isolated .,,\n", "was isolated .,NO,me\n")
    else:
        records = [json.loads(line) for line in path.read_text().splitlines()]
        answers = ["NO" if "was isolated" in record["example"] else "" for record in records]
        lines = [json.dumps({**r, "label": a, "worker": "me"}) for r, a in zip(records, answers, strict=True)]
        text = "".join(line + "\n" for line in lines)
    path.write_text(text)
    result = import_file(db, path)
    assert (result.added, result.unanswered) == (4, 1)
    judged = {(v.segment, v.span, v.phrase) for v in db.votes()}
    left = queries(PATIENT, CANDIDATES, max_len=2, judged=judged)
    assert [q.phrase for q in left] == ["the [GAP] patient"]


@pytest.mark.parametrize(
    ("positions", "allowed"),
    [((0, 2, 4), False), ((0, 6), False), (tuple(range(9)), False), ((*range(5), *range(9, 13)), False)],
)
def test_limits(positions, allowed):
    assert allows(QueryLimits(), positions) == allowed


def test_bad_candidates_are_named():
    with pytest.raises(FormatError, match="segment 1: link 0-9 is out of range"):
        queries(PATIENT, [Candidate("1", "a", "0-9")])
    with pytest.raises(FormatError, match="segment '5'"):
        queries(PATIENT, [Candidate("5", "a", "")])


TREE = SourceTree.from_brackets("(S (NP (A a) (B b)) (VP (C c) (D d)))")
LINKS = "0-0 1-1 2-2 3-3"
NO_LIMITS = QueryLimits(*[10**6] * 5)
MODEL = SeverityModel(unseen=0.1, no_penalty=1.5)
TEXTS = st.lists(
    st.lists(st.sampled_from("xyz"), min_size=4, max_size=4).map(" ".join), min_size=1, max_size=5
)


def world(texts, votes=()):
    """The scorer, candidates of one segment, and what is still to ask anywhere in its tree."""
    scorer = Scorer({"1": TREE}, votes)
    candidates = [Candidate("1", text, LINKS) for text in texts]
    judged = {(v.segment, v.span, v.phrase) for v in votes}
    found = queries({"1": TREE}, candidates, select="all", max_len=4, judged=judged, limits=NO_LIMITS)
    return scorer, candidates, found


def values_of(scorer, candidates, found, votes=1):
    observations = scorer.observe(candidates)
    return query_values(MODEL, observations, query_rows(found, observations), len(found), votes=votes)


def soft_top(scores):
    return SHARPNESS * np.log(np.mean(np.exp(np.asarray(scores) / SHARPNESS)))


def scores_with(candidates, votes):
    """The expected scores of candidates, given these votes."""
    scorer = Scorer({"1": TREE}, votes)
    return 1 - MODEL.penalties(scorer.observe(candidates))[2] / len(TREE.tokens)


@pytest.mark.slow
@settings(max_examples=40)
@given(TEXTS, st.sampled_from([1, 3]), st.data())
def test_the_value_is_that_of_its_definition(texts, votes, data):
    """The candidates are scored again with each answer among the votes."""
    choices = [[], [Votes("1", Span(0, 2), "x y", 1, 0)], [Votes("1", Span(2, 3), "z", 0, 2, 0, 8, 2)]]
    known = data.draw(st.sampled_from(choices))
    scorer, candidates, found = world(texts, known)
    values = values_of(scorer, candidates, found, votes)
    now = scores_with(candidates, known)
    for query, value in zip(found, values.tolist(), strict=True):
        key = (query.segment, query.span, query.phrase)
        yes = scores_with(candidates, [*known, Votes(*key, votes, 0)])
        no = scores_with(candidates, [*known, Votes(*key, 0, votes)])
        p = min(1, max(0, (now - no).sum() / (yes - no).sum()))
        expected = p * soft_top(yes) + (1 - p) * soft_top(no) - soft_top(now)
        assert value == pytest.approx(max(0.0, expected), abs=1e-9)


@given(st.lists(st.sampled_from("xyz"), min_size=4, max_size=4).map(" ".join), st.integers(1, 4))
def test_what_does_the_same_to_all_candidates_is_worth_nothing(text, copies):
    assert (values_of(*world([text] * copies)) <= WORTHLESS).all()


def asked_of(span, phrase, segment="1"):
    return Query(segment, span, phrase, "", "", 1, "", ())


def test_phrases_that_no_candidate_has_are_worth_nothing():
    scorer, candidates, _ = world(["x x y y", "x z y y"])
    found = [asked_of(Span(1, 2), "q"), asked_of(Span(1, 2), "z"), asked_of(Span(2, 3), "q")]
    values = values_of(scorer, candidates, found)
    assert values[1] > 0
    assert values[[0, 2]].tolist() == [0, 0]
    assert values_of(scorer, [], []).tolist() == []
    with pytest.raises(RyptError, match="1-3 is no constituent of segment 1"):
        values_of(scorer, candidates, [asked_of(Span(1, 3), "x")])


def test_queries_of_several_segments_in_any_order_are_worth_what_each_is_alone(monkeypatch):
    rng = np.random.default_rng(1)
    scorer = Scorer({"1": TREE, "2": TREE}, [])
    texts = [" ".join(rng.choice(list("xyz"), 4)) for _ in range(30)]
    candidates = [Candidate(str(1 + i % 2), text, LINKS) for i, text in enumerate(texts)]
    found = queries({"1": TREE, "2": TREE}, candidates, select="all", limits=NO_LIMITS)
    found = [found[i] for i in rng.permutation(len(found))]
    monkeypatch.setattr("rypt.scoring.value.ROOM", 40)
    together = values_of(scorer, candidates, found)
    assert together.tolist() == pytest.approx(
        [values_of(scorer, candidates, [one])[0] for one in found], abs=1e-15
    )


# campaigns


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    return make(tmp_path_factory.mktemp("world") / "campaign", judged=False)


def open_queries(campaign):
    with campaign.database() as db:
        judged = {(v.segment, v.span, v.phrase) for v in db.votes()}
    return queries(campaign.trees, campaign.candidates, judged=judged, max_len=1)


def test_a_campaign_without_judgments_has_values(campaign):
    found = open_queries(campaign)
    ranked = worthwhile(campaign, found)
    values = [query.value for query in ranked]
    assert values == sorted(values, reverse=True)
    assert values[-1] > WORTHLESS
    assert 0 < len(ranked) < len(found)
    alone = {
        (q.segment, q.span): sum(o.segment == q.segment and o.span == q.span for o in found) for q in found
    }
    assert all(
        alone[q.segment, q.span] > 1 for q in ranked
    )  # where all have one phrase, nothing can be learnt
    assert worthwhile(campaign, []) == []
