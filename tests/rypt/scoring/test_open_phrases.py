"""Distinct phrases by compiled code, beside the direct way: one phrase of one candidate at a time."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rypt.database.judgments import JudgmentDatabase
from rypt.records import Candidate, Judgment, Label, Query, Segment, Span
from rypt.scoring import open_phrases
from rypt.scoring.frontier import frontier
from rypt.scoring.queries import QueryLimits, candidate_links, queries
from rypt.text import tokenize
from rypt.texts.phrases import normalize, phrase_key, phrase_of
from rypt.texts.trees import SourceTree

TREES: Mapping[str, SourceTree | None] = {
    "b": SourceTree.from_brackets(
        "(S (NP (ART der) (NN patient)) (VAFIN wurde) (VP (ADV sofort) (VVPP isoliert)))"
    ),
    "none": None,
    "a": SourceTree.from_brackets("(S (X eins) (X zwei))"),
}
SIZES = {"b": 5, "none": 0, "a": 2}
WORDS = st.sampled_from(["the", "The", "[GAP]", "[gap]", "[Skip]", "é", "e\u0301", "Σ", "a"])


def directly(
    trees: Mapping[str, SourceTree | None],
    candidates: Sequence[Candidate],
    judged: set[tuple[str, Span, str]],
    select: str,
    max_len: int,
    limits: QueryLimits,
    case: str,
    gap: str,
) -> list[Query]:
    served: Counter[tuple[str, Span, str]] = Counter()
    examples: dict[tuple[str, Span, str], tuple[str, tuple[int, ...]]] = {}
    for candidate in candidates:
        tree = trees[candidate.segment]
        if tree is None:
            continue
        chosen = frontier(tree, max_len) if select == "frontier" else range(len(tree.constituents))
        spans = [tree.constituents[i].span for i in chosen if len(tree.constituents[i].span) <= max_len]
        tokens, linked = tokenize(normalize(candidate.text, case)), candidate_links(candidate, tree)
        for span in spans:
            phrase = phrase_of(span, linked, tokens, gap=gap)
            if phrase is None or not limits.allow(span, phrase):
                continue
            key = (candidate.segment, span, phrase.text)
            if (key if gap == "mark" else (*key[:2], phrase_key(phrase.text, case))) in judged:
                continue
            served[key] += 1
            examples.setdefault(key, (candidate.text, phrase.positions))
    order = list(trees)
    result = []
    for key in sorted(served, key=lambda key: (order.index(key[0]), key[1], key[2])):
        tree = trees[key[0]]
        assert tree is not None
        source = (" ".join(tree.tokens), " ".join(tree.tokens[slice(*key[1])]))
        result.append(Query(*key, *source, served[key], *examples[key]))
    return result


@st.composite
def lists_of_candidates(draw: st.DrawFn) -> list[Candidate]:
    candidates = []
    for _ in range(draw(st.integers(0, 12))):
        segment = draw(st.sampled_from(list(TREES)))
        words = draw(st.lists(WORDS, min_size=1, max_size=9))
        words += ["w"] * draw(st.sampled_from([0, 0, 0, 60, 130]))
        links = []
        if SIZES[segment]:
            pairs = st.tuples(st.integers(0, SIZES[segment] - 1), st.integers(0, len(words) - 1))
            links = [f"{source}-{target}" for source, target in draw(st.lists(pairs, max_size=10))]
        candidates.append(Candidate(segment, " ".join(words), " ".join(links)))
    return candidates


@given(
    lists_of_candidates(),
    st.sampled_from(["frontier", "all"]),
    st.integers(1, 6),
    st.sampled_from(["lower", "keep"]),
    st.sampled_from(["mark", "words"]),
    st.sampled_from([QueryLimits(), QueryLimits(3, 9, 200, 9, 200)]),
    st.data(),
)
def test_queries_are_those_of_the_direct_way(
    candidates: list[Candidate],
    select: str,
    max_len: int,
    case: str,
    gap: str,
    limits: QueryLimits,
    data: st.DataObject,
) -> None:
    every = directly(TREES, candidates, set(), select, max_len, limits, case, gap)
    keys = [(query.segment, query.span, phrase_key(query.phrase, case)) for query in every]
    judged = set(data.draw(st.lists(st.sampled_from(keys)))) if keys else set()
    expected = directly(TREES, candidates, judged, select, max_len, limits, case, gap)
    options = {"select": select, "max_len": max_len, "limits": limits, "case": case, "gap": gap}
    assert queries(TREES, candidates, judged=judged, **options) == expected  # type: ignore[arg-type]


def test_thousands_of_phrases_in_several_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    candidates = [
        Candidate(segment, f"w{i % 1500} the v{i % 7} u{i % 3000}", "0-0 1-1 1-3")
        for i in range(4000)
        for segment in ("b", "a")
    ]
    limits = QueryLimits()
    expected = directly(TREES, candidates, set(), "frontier", 4, limits, "lower", "mark")
    assert len(expected) > 4000  # tables and rows grow
    for portion in (1, 3000, 20_000):
        monkeypatch.setattr(open_phrases, "CANDIDATES", portion)
        assert queries(TREES, candidates) == expected


@given(lists_of_candidates(), st.sampled_from(["mark", "words"]), st.data())
def test_judged_phrases_as_columns_are_left_out_like_keys(
    candidates: list[Candidate], gap: str, data: st.DataObject
) -> None:
    candidates = [
        replace(c, text=c.text.replace("[Skip]", "x")) for c in candidates
    ]  # which is a gap in a key
    asked = queries(TREES, candidates, select="all", max_len=5, gap=gap)
    keys = {(q.segment, q.span, phrase_key(q.phrase)) for q in asked if data.draw(st.booleans())}
    with JudgmentDatabase(":memory:") as db:
        db.add_segments(Segment(name, " ".join(tree.tokens)) for name, tree in TREES.items() if tree)
        db.add(Judgment(segment, span, phrase, Label.NO, "w") for segment, span, phrase in keys)
        columns = db.vote_columns()
    left = queries(TREES, candidates, judged=keys, select="all", max_len=5, gap=gap)
    assert queries(TREES, candidates, judged=columns, select="all", max_len=5, gap=gap) == left
    assert len(left) == sum((q.segment, q.span, phrase_key(q.phrase)) not in keys for q in asked)
