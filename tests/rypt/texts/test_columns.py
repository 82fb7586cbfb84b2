"""Candidates as columns: the same as the objects of a reader of single lines."""

import gzip
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rypt.compiled import compile_always
from rypt.records import Candidate, Segment
from rypt.text import InputError
from rypt.texts import columns, nbest
from rypt.texts.columns import (
    CandidateColumns,
    candidate_lines,
    distinct,
    of_segments,
    segment_numbers,
    take,
    text_marks,
    texts_of,
)
from rypt.texts.nbest import read_candidates

SEGMENTS = {name: Segment(name, "das alte Haus") for name in ("0", "1", "a b")}


def read(folder: Path, text: str, *, large: bool, links: str | None = None, only: set[str] | None = None):
    """The candidates of a list, read as columns or line by line."""
    (folder / "list").write_text(text, encoding="utf-8")
    if links is not None:
        (folder / "links").write_text(links, encoding="utf-8")
    limits = {"LARGE": 0, "LARGE_COLD": 0, "MANY": 0} if large else {"LARGE": 1 << 30}
    with patch.multiple(nbest, **limits):
        return read_candidates(
            folder / "list",
            SEGMENTS,
            lazy_features=True,
            only=only,
            alignments=None if links is None else folder / "links",
        )


def outcome(folder: Path, text: str, **options) -> list[tuple[Candidate, object]] | str:
    """All candidates with their features, or what is wrong."""
    try:
        return [(c, dict(c.features)) for c in read(folder, text, **options)]
    except InputError as error:
        return str(error).replace(str(folder), "")


FIELDS = st.sampled_from(
    [
        "0",
        "1",
        " 1\t",
        "7",
        "a b",
        "the old house",
        " a  b ",
        "",
        "(S{0-3} the house)",
        "a |0-0| b",
        "LM0= -1 TM0= 2 3",
        "lm=1",
        "LM0= x",
        "WordScores= 1",
        "0-0 1-1",
        "0-0",
        "0-0\t1-1",
        "9-9",
        "0=0 1-2=1",
        "0-1=0",
        "1-=2",
        "-4.5",
        "nan",
        "1_0",
        "5 6",
        "x|y",
        "\u3000(S{0-3} the house)",
        "\u00a0 x",
        "\u201cx",
        "ﻼ y",
        "一 二",
        "1e999",
        "-1e5",
        "-12.345678901234567890",
        "H-0",
        "{",
        "é= 1",
        "x\ry",
    ]
)
PLAIN = st.tuples(
    st.sampled_from(["0", "1", " 1\t", "a b"]),
    st.sampled_from(["the old house", "a  b", "一 二", "\u201cx y", "Σας"]),
    st.sampled_from(["LM0= -1 TM0= 2 3", "lm=1", "a: 1", "z= |"]),
    st.sampled_from(["-4.5", "", "1e5", "12"]),
    st.sampled_from(["0-0 1-1", "0-0", "2-1", "0-0 ||| 0-0", "0=0 ||| 0-0"]),
)
LINES = st.one_of(PLAIN, st.lists(FIELDS, min_size=1, max_size=7)).map(" ||| ".join)


@settings(deadline=None)
@given(
    st.lists(LINES, min_size=1, max_size=4),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([None, "0-0", "1 ||| 0-0"]),
    st.sampled_from([None, {"0"}, {"1", "a b"}]),
)
@example(
    ["0 ||| x ||| a=1 ||| 1 ||| 0-0", json.dumps({"id": 0, "candidate": "x y", "alignment": "0-1"})],
    "\n",
    None,
    None,
)
@example(["0 ||| ||| a=1 ||| 1 ||| 0-0", "0 ||| x"], "\n", None, None)
@example(["1 ||| x ||| a=1 ||| 1 ||| 0-0", "7 ||| x ||| a=1 ||| 1 ||| 0-0"], "\n", None, {"1"})
def test_columns_are_what_single_lines_are(lines, end, links, only):
    text = end.join(["0 ||| x ||| a=1 ||| 1 ||| 0-0", *lines])
    pairs = None if links is None else f"{links}\n" * (1 + len(lines))
    with TemporaryDirectory() as folder:
        options = {"links": pairs, "only": only}
        assert outcome(Path(folder), text, large=True, **options) == outcome(
            Path(folder), text, large=False, **options
        )


GOOD = """\
0 ||| the house ||| LM0= -1 ||| -4.5 ||| 0-0 2-1
1 ||| ja ||| LM0= 2 ||| 1 ||| 0-0
0 ||| the Haus ||| LM0= x ||| 1 ||| 0-0
"""


def test_candidates_are_made_when_they_are_asked_for(tmp_path):
    candidates = read(tmp_path, GOOD, large=True)
    assert isinstance(candidates, CandidateColumns)
    assert repr(candidates) == "CandidateColumns(3 candidates of 3 segments)"
    assert (candidates[-1].text, candidates[1].score, [c.segment for c in candidates[:2]]) == (
        "the Haus",
        1.0,
        ["0", "1"],
    )
    with pytest.raises(IndexError):
        candidates[3]
    with pytest.raises(InputError, match="list:3: expected a finite number, found 'x'"):
        len(candidates[2].features)
    assert next(iter(candidates)) is next(iter(candidates)) is candidates[0]


def test_small_lists_other_dialects_and_wanted_features_are_read_line_by_line(tmp_path):
    assert isinstance(read(tmp_path, GOOD, large=False), list)
    record = json.dumps({"id": 0, "candidate": "x", "alignment": "0-0"})
    assert isinstance(read(tmp_path, record, large=True), list)
    (tmp_path / "list").write_text(GOOD)
    with (
        patch.multiple(nbest, LARGE=0, LARGE_COLD=0),
        pytest.raises(InputError, match="list:3: expected a finite number"),
    ):
        read_candidates(tmp_path / "list", SEGMENTS)


def test_what_is_compiled_everywhere_is_compiled_here(tmp_path):
    with gzip.open(tmp_path / "list.gz", "wt") as file:
        file.write(GOOD)
    with compile_always():
        candidates = read_candidates(tmp_path / "list.gz", SEGMENTS, lazy_features=True)
    assert isinstance(candidates, CandidateColumns)
    assert [c.text for c in candidates] == ["the house", "ja", "the Haus"]


def test_progress_counts_lines(tmp_path):
    (tmp_path / "list").write_text(GOOD)
    seen = []

    def watch(items, what, total=None):
        for item in items:
            seen.append((item, Path(what).name, total))
            yield item

    with patch.multiple(nbest, LARGE=0, LARGE_COLD=0), patch.object(columns, "STEP", 2):
        read_candidates(tmp_path / "list", SEGMENTS, lazy_features=True, watch=watch)
    assert seen == [(0, "list", 3), (1, "list", 3), (2, "list", 3)]


CANDIDATES = st.lists(
    st.builds(
        Candidate,
        st.sampled_from(["0", "1", "2"]),
        st.sampled_from(["x y", "X Y", "é", "é", ""]),
        st.sampled_from(["0-0", "0-0 1-1", ""]),
    ),
    max_size=8,
)


@given(st.lists(CANDIDATES, max_size=3), st.data())
def test_functions_of_columns_are_those_of_lists(lists, data):
    as_columns = [CandidateColumns.of(candidates) for candidates in lists]
    merged, merged_columns = distinct(lists), distinct(as_columns)
    assert list(merged_columns) == list(merged)
    if lists:
        mixed = distinct([as_columns[0], *lists[1:]])
        assert list(mixed) == list(merged)
    both = (merged, merged_columns)
    assert text_marks(merged) == text_marks(merged_columns)
    wanted = data.draw(st.sets(st.sampled_from(["0", "1", "2"])))
    assert [list(of_segments(each, wanted)) for each in both] == [
        [c for c in merged if c.segment in wanted]
    ] * 2
    chosen = np.array(
        data.draw(st.lists(st.integers(0, len(merged) - 1), max_size=5) if merged else st.just([])), np.int64
    )
    assert list(take(merged, chosen)) == list(take(merged_columns, chosen)) == [merged[i] for i in chosen]
    assert texts_of(merged, chosen) == texts_of(merged_columns, chosen)
    numbers = {"0": 5, "1": 3, "2": 4}
    assert segment_numbers(merged, numbers).tolist() == segment_numbers(merged_columns, numbers).tolist()
    for case in ("lower", "keep"):
        one, other = (candidate_lines(each, case) for each in both)
        assert [part.tolist() for part in one] == [part.tolist() for part in other]


def test_a_segment_without_a_number_is_an_error():
    candidates = CandidateColumns.of([Candidate("7", "x", "0-0")])
    with pytest.raises(KeyError, match="7"):
        segment_numbers(candidates, {"0": 1})


def test_marks_change_with_texts_links_and_their_order():
    one, other = Candidate("0", "x", "0-0"), Candidate("0", "x", "")
    marks = [text_marks(some)["0"] for some in ([one], [other], [one, other], [other, one])]
    assert len(set(marks)) == 4


def test_what_would_have_to_be_compiled_first_is_read_line_by_line_unless_it_is_much(tmp_path, monkeypatch):
    (tmp_path / "list").write_text(GOOD)
    monkeypatch.setattr(nbest, "LARGE", 0)
    for compiled, limit, kind in [
        (False, 1000, list),
        (True, 1000, CandidateColumns),
        (False, 100, CandidateColumns),
    ]:
        monkeypatch.setattr(nbest, "is_on_disk", lambda _, compiled=compiled: compiled)
        monkeypatch.setattr(nbest, "LARGE_COLD", limit)
        assert isinstance(read_candidates(tmp_path / "list", SEGMENTS, lazy_features=True), kind)
