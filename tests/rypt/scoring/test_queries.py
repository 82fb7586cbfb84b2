"""What is asked."""

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rypt.database.exchange import import_file
from rypt.database.judgments import JudgmentDatabase
from rypt.records import Candidate, Query, Segment, Span
from rypt.scoring.frontier import frontier
from rypt.scoring.phrase_keys import candidate_links
from rypt.scoring.queries import QueryLimits, queries, query_record, write_queries
from rypt.text import FormatError, open_output, tokenize
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
        shown = [(text, phrase.positions) for text, phrase in asked[key] if limits.allow(phrase)]
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


def test_frontier_phrases_with_their_counts():
    found = {(str(q.span), q.phrase): q.candidates for q in queries(PATIENT, CANDIDATES, max_len=2)}
    assert found == {
        ("0-2", "the patient"): 2,
        ("0-2", "the [GAP] patient"): 1,
        ("2-3", "was"): 1,
        ("3-4", "isolated"): 2,
        ("4-5", "."): 3,
    }


def test_the_example_shows_where_the_phrase_stands():
    query = next(q for q in queries(PATIENT, CANDIDATES, max_len=2) if "[GAP]" in q.phrase)
    assert query_record(query) == {
        "segment": "1",
        "start": 0,
        "stop": 2,
        "source_text": "der patient wurde isoliert .",
        "source_phrase": "der patient",
        "phrase": "the [GAP] patient",
        "candidates": 1,
        "example": "the very old patient .",
        "positions": [0, 3],
    }


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


def test_phrases_that_begin_like_a_formula_are_written_as_text(tmp_path):
    db = JudgmentDatabase(":memory:")
    db.add_segments([Segment("1", "der patient wurde isoliert .")])
    asked = queries(PATIENT, [Candidate("1", "=1+1 was isolated -", "0-0 1-0 2-1 3-2 4-3")], max_len=2)
    with open_output(tmp_path / "q.csv") as stream:
        write_queries(asked, stream, "csv")
    text = (tmp_path / "q.csv").read_text()
    assert ",'=1+1," in text
    (tmp_path / "q.csv").write_text(text.replace(",,\n", ",NO,me\n"))
    import_file(db, tmp_path / "q.csv")
    assert {vote.phrase for vote in db.votes()} >= {"=1+1", "-"}


@pytest.mark.parametrize(
    ("positions", "allowed"),
    [
        ((0, 2), True),
        ((0, 2, 4), False),
        ((0, 5), True),
        ((0, 6), False),
        (tuple(range(8)), True),
        (tuple(range(9)), False),
        ((*range(4), *range(8, 12)), True),
        ((*range(5), *range(9, 13)), False),
    ],
)
def test_limits(positions, allowed):
    assert QueryLimits().allow(Phrase("", positions)) is allowed


def test_bad_candidates_are_named():
    with pytest.raises(FormatError, match="segment 1: link 0-9 is out of range"):
        queries(PATIENT, [Candidate("1", "a", "0-9")])
    with pytest.raises(FormatError, match="segment '5'"):
        queries(PATIENT, [Candidate("5", "a", "")])
