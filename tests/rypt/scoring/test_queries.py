"""What is asked."""

import json

import pytest
from hypothesis import given, settings
from reference import corpora, reference_phrase

from rypt.database.exchange import import_file
from rypt.database.judgments import JudgmentDatabase
from rypt.records import Candidate, Segment, Span
from rypt.scoring.frontier import frontier
from rypt.scoring.queries import QueryLimits, pilot_line, queries, query_record, write_queries
from rypt.text import FormatError, open_output
from rypt.texts.phrases import Phrase
from rypt.texts.trees import SourceTree

TREES = {
    "1": SourceTree.from_brackets("(S (NP (ART der) (NN patient)) (VAFIN wurde) (VVPP isoliert) ($. .))")
}
CANDIDATES = [
    Candidate("1", "The patient was isolated .", "0-0 1-1 2-2 3-3 4-4"),
    Candidate("1", "the patient isolated .", "0-0 1-1 3-2 4-3"),
    Candidate("1", "the very old patient .", "0-0 1-3 4-4"),
]
NO_LIMITS = QueryLimits(*[10**6] * 5)


def test_frontier_phrases_with_their_counts():
    found = {(str(q.span), q.phrase): q.candidates for q in queries(TREES, CANDIDATES, max_len=2)}
    assert found == {
        ("0-2", "the patient"): 2,
        ("0-2", "the [GAP] patient"): 1,
        ("2-3", "was"): 1,
        ("3-4", "isolated"): 2,
        ("4-5", "."): 3,
    }


def test_judged_keys_are_not_asked_again():
    found = queries(TREES, CANDIDATES, max_len=2, judged={("1", Span(0, 2), "the patient")})
    assert "the patient" not in [q.phrase for q in found]
    found = queries(
        TREES, CANDIDATES, max_len=2, gap="words", judged={("1", Span(0, 2), "the [GAP] patient")}
    )
    assert "the [Skip] [Skip] patient" not in [q.phrase for q in found]
    assert "the patient" in [q.phrase for q in found]


def test_all_constituents():
    assert {str(q.span) for q in queries(TREES, CANDIDATES, select="all", max_len=2)} == {
        "0-2",
        "0-1",
        "1-2",
        "2-3",
        "3-4",
        "4-5",
    }


def test_the_example_shows_where_the_phrase_stands():
    query = next(q for q in queries(TREES, CANDIDATES, max_len=2) if "[GAP]" in q.phrase)
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
    found = queries(TREES, CANDIDATES, max_len=2)
    path = tmp_path / f"queries.{form}"
    with open_output(path) as stream:
        write_queries(found, stream, form)
    if form == "csv":
        assert (
            "The patient,The patient was isolated" in path.read_text()
        )  # as it is written, though the key is not
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
    assert [q.phrase for q in queries(TREES, CANDIDATES, max_len=2, judged=judged)] == ["the [GAP] patient"]


def test_phrases_that_begin_like_a_formula_are_written_as_text(tmp_path):
    db = JudgmentDatabase(":memory:")
    db.add_segments([Segment("1", "der patient wurde isoliert .")])
    asked = queries(TREES, [Candidate("1", "=1+1 was isolated -", "0-0 1-0 2-1 3-2 4-3")], max_len=2)
    with open_output(tmp_path / "q.csv") as stream:
        write_queries(asked, stream, "csv")
    text = (tmp_path / "q.csv").read_text()
    assert ",'=1+1," in text
    assert ",=" not in text
    (tmp_path / "q.csv").write_text(text.replace(",,\n", ",NO,me\n"))
    import_file(db, tmp_path / "q.csv")
    assert {vote.phrase for vote in db.votes()} >= {"=1+1", "-"}


def test_pilot_form():
    query = next(q for q in queries(TREES, CANDIDATES, max_len=2, gap="words") if "Skip" in q.phrase)
    assert pilot_line(query) == "1 0_1 ||| the [Skip] [Skip] patient ||| 1 ||| the very old patient . ||| 0"


@pytest.mark.parametrize(
    ("span", "positions", "allowed"),
    [
        (Span(0, 6), (0,), True),
        (Span(0, 7), (0,), False),
        (Span(0, 1), (0, 2), True),
        (Span(0, 1), (0, 2, 4), False),
        (Span(0, 1), (0, 5), True),
        (Span(0, 1), (0, 6), False),
        (Span(0, 1), tuple(range(8)), True),
        (Span(0, 1), tuple(range(9)), False),
        (Span(0, 1), (*range(4), *range(8, 12)), True),
        (Span(0, 1), (*range(5), *range(9, 13)), False),
    ],
)
def test_limits(span, positions, allowed):
    assert QueryLimits().allow(span, Phrase("", positions)) is allowed


@settings(max_examples=60)
@given(corpora())
def test_frontier_queries_are_the_phrases_of_the_frontier(corpus):
    trees, candidates, _ = corpus
    expected = set()
    for candidate in candidates:
        tree = trees[candidate.segment]
        links = [tuple(map(int, link.split("-"))) for link in candidate.alignment.split()]
        for i in frontier(tree, 3) if tree else ():
            span = tree.constituents[i].span
            phrase = reference_phrase(span, links, candidate.text.split(" "))
            if phrase is not None:
                expected.add((candidate.segment, span, phrase))
    found = queries(trees, candidates, max_len=3, limits=NO_LIMITS)
    assert {(q.segment, q.span, q.phrase) for q in found} == expected


def test_bad_candidates_are_named():
    with pytest.raises(FormatError, match="segment 1: link 0-9 is out of range"):
        queries(TREES, [Candidate("1", "a", "0-9")])
    with pytest.raises(FormatError, match="segment '5'"):
        queries(TREES, [Candidate("5", "a", "")])
