"""Truth for simulated workers: patterns against an enumeration of their own, files, and what is wrong with them."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hits.simulate.truth import Known, Truth, expand, occurs, read_truth
from rypt.database.judgments import JudgmentDatabase
from rypt.records import Judgment, Label, Segment, Span
from rypt.text import InputError

WORD = st.sampled_from(["a", "b", "c", "[GAP]"])
ITEM = st.tuples(st.sampled_from(["must", "may", "one"]), st.lists(WORD, min_size=1, max_size=2))


@given(st.lists(ITEM, min_size=1, max_size=5))
def test_patterns_against_enumeration(items):
    forms = {"must": "{}", "may": "({})", "one": "{{{}}}"}
    pattern = " ".join(
        forms[kind].format(("|" if kind == "one" else " ").join(words)) for kind, words in items
    )
    options = [
        {"must": [words], "may": [words, ["[GAP]"]], "one": [[word] for word in words]}[kind]
        for kind, words in items
    ]
    expected = set()
    for chosen in itertools.product(*options):
        flat = list(itertools.chain.from_iterable(chosen))
        merged = []
        for word in flat:
            if word != "[GAP]" or (merged and merged[-1] != "[GAP]"):
                merged.append(word)
        if merged and merged[-1] == "[GAP]":
            merged.pop()
        if merged:
            expected.add(" ".join(merged))
    assert expand(pattern) == expected


@given(
    st.lists(st.sampled_from("abc"), max_size=7),
    st.lists(st.sampled_from("abc"), min_size=1, max_size=2),
    st.lists(st.sampled_from("abc"), min_size=1, max_size=2),
)
def test_a_phrase_with_a_gap_against_all_places(text, first, second):
    found = any(
        text[i : i + len(first)] == first and text[j : j + len(second)] == second
        for i in range(len(text))
        for j in range(i + len(first) + 1, len(text))
    )
    assert occurs(f"{' '.join(first)} [GAP] {' '.join(second)}", " ".join(text)) is found


def write(tmp_path, *records):
    path = tmp_path / "truth.jsonl"
    path.write_text(
        "".join(f"{r if isinstance(r, str) else json.dumps(r)}\n" for r in records), encoding="utf-8"
    )
    return path


SOURCE = {"segment": "1", "source": "der alte  mann ging"}


def test_labels_and_scores(tmp_path):
    truth = read_truth(
        write(
            tmp_path,
            SOURCE,
            {"segment": "1", "start": 0, "stop": 3, "patterns": ["(the) {old|aged} man"]},
            {"segment": "1", "start": 3, "stop": 4, "phrases": ["went", "has  [Skip] [Skip] Gone"]},
            {"segment": "1", "candidates": {"whatever  it is": 7}},
        )
    )
    assert truth.segment(["der", "alte", "mann", "ging"]) == "1"
    assert truth.segment(["der", "mann"]) is None
    for phrase, label in (
        ("The aged man", "YES"),
        ("old man", "YES"),
        ("the man", "NO"),
        ("the [GAP] old man", "NO"),
    ):
        assert truth.label("1", Span(0, 3), phrase) is Label(label)
    assert truth.label("1", Span(3, 4), "has [GAP] gone") is Label.YES
    assert truth.label("1", Span(0, 4), "x") is truth.label(None, Span(0, 3), "old man") is Label.NOT_SURE
    scores = {
        "the old man went": 1.0,
        "The old man goes": 0.5,
        "he goes": 0.0,
        "whatever it is": 7.0,
        "": 0.0,
    }
    assert {text: truth.score("1", text) for text in scores} == scores
    assert truth.score("2", "the old man went") is None


def test_how_bad_a_wrong_phrase_is(tmp_path):
    truth = Truth()
    truth.constituents["7"] = {Span(0, 3): Known({"the old man", "old [GAP] man"})}
    slight = {"The old mans": True, "old man": True, "an aged person": False}
    assert {phrase: truth.is_slight("7", Span(0, 3), phrase) for phrase in slight} == slight
    assert not truth.is_slight("7", Span(1, 3), "the old man")
    with JudgmentDatabase(tmp_path / "truth.db") as db:
        db.add_segments([Segment("7", "der alte mann ging")])
        db.add([Judgment("7", Span(0, 3), "the old man", Label.YES, "a")])
        graded = [("the old mans", "a", 5), ("old men", "a", 1), ("old men", "b", 5), ("a person", "a", 1)]
        db.add(Judgment("7", Span(0, 3), phrase, Label.NO, w, severity=n) for phrase, w, n in graded)
    truth = read_truth(tmp_path / "truth.db")
    slight = {
        "the old mans": False,
        "old men": False,
        "a person": True,
    }  # old men: as near to one as to the other
    assert {phrase: truth.is_slight("7", Span(0, 3), phrase) for phrase in slight} == slight


def test_of_equal_sources_the_one_that_is_known():
    truth = Truth()
    truth.add_source("1", "ja")
    truth.add_source("2", "ja")
    assert truth.segment(["ja"]) == "1"
    truth.candidates["2"] = {"yes": 1.0}
    assert truth.segment(["ja"]) == "2"


def test_a_star_has_the_number_of_all_other_candidates(tmp_path) -> None:
    numbers = {"the old man": 0.4, "an old man": 0.6}
    phrases = {"segment": "1", "start": 0, "stop": 1, "phrases": ["the man"]}
    without = read_truth(write(tmp_path, SOURCE, phrases, {"segment": "1", "candidates": numbers}))
    assert (without.score("1", "man the old"), without.score("1", "the man")) == (0, 1)
    truth = read_truth(
        write(tmp_path, SOURCE, phrases, {"segment": "1", "candidates": {**numbers, "*": 0.1}})
    )
    assert [truth.score("1", text) for text in ("the old man", "the man old", "the man")] == [0.4, 0.1, 0.1]
    assert truth.score("2", "the man old") is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("record", "message"),
    [
        ("{", "line of truth"),
        ("[]", "segment"),
        ({"segment": 1, "source": "x"}, "segment"),
        ({"segment": "1", "source": " "}, "expected a text"),
        ({"segment": "1", "start": 2, "stop": 2, "phrases": []}, "start and stop"),
        ({"segment": "1", "start": 0, "stop": 1, "phrases": "x"}, "a list"),
        ({"segment": "1", "start": 0, "stop": 1, "patterns": ["(x"]}, "closing bracket"),
        ({"segment": "1", "start": 0, "stop": 1, "patterns": ["x) y"]}, "a pattern"),
        ({"segment": "1", "start": 0, "stop": 1, "patterns": ["(a) (b)" * 20]}, "at most"),
        ({"segment": "1", "candidates": {"x": "good"}}, "a number"),
        ('{"segment": "1", "candidates": {"x": NaN}}', "a number"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, record, message):
    with pytest.raises(InputError, match=message) as caught:
        read_truth(write(tmp_path, SOURCE, record))
    assert "truth.jsonl:2:" in str(caught.value)


def test_sources_must_come_from_somewhere(tmp_path):
    path = write(tmp_path, {"segment": "1", "start": 0, "stop": 1, "phrases": ["yes"]})
    with pytest.raises(InputError, match="source"):
        read_truth(path)
    assert read_truth(path, {"1": "ja"}).segment(["ja"]) == "1"
    with pytest.raises(InputError, match="none"):
        read_truth(tmp_path / "nothing")
