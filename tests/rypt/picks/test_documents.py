"""The documents of segments, and halves of them."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from systems_world import make

from rypt.picks.documents import find_documents, half_of, need_documents, read_documents
from rypt.text import InputError, RyptError


def write(path, *records):
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in records))
    return path


def test_documents_stand_beside_the_source(tmp_path):
    campaign = make(tmp_path / "c", segments=3)
    assert find_documents(campaign) is None
    with pytest.raises(RyptError, match="--half needs to know the documents"):
        need_documents(find_documents(campaign), "--half")
    records = [{"id": str(i), "document": "x" if i else "y"} for i in range(4)]
    write(tmp_path / "c" / "documents.jsonl", *records)
    assert find_documents(campaign) == ["y", "x", "x"]
    other = write(tmp_path / "other", *({**record, "document": 7} for record in records))
    assert find_documents(campaign, other) == ["7", "7", "7"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", ":2: expected an object with id and document"),
        ("[1]", ":2: expected an object with id and document"),
        ({"id": "0"}, ":2: expected an object with id and document"),
        ({"id": "0", "document": "b"}, ":2: segment 0 is in two documents"),
        ({"id": "2", "document": "b"}, ": expected the document of each segment, found none of 1"),
    ],
)
def test_files_that_cannot_be_taken(tmp_path, line, message):
    with pytest.raises(InputError, match=f"d{message}"):
        read_documents(write(tmp_path / "d", {"id": "0", "document": "a"}, line), ["0", "1"])


@given(st.lists(st.sampled_from("abcdefg"), min_size=2).filter(lambda names: len(set(names)) > 1))
def test_halves_are_whole_documents_of_nearly_the_same_size(documents):
    first, second = (half_of(documents, half) for half in ("first", "second"))
    assert [not a for a in first] == second
    assert not {d for d, a in zip(documents, first, strict=True) if a} & {
        d for d, a in zip(documents, second, strict=True) if a
    }
    assert abs(sum(first) - sum(second)) <= max(Counter(documents).values())
    assert half_of(documents, "first") == first


def test_one_document_has_no_halves():
    with pytest.raises(RyptError, match="expected at least two documents"):
        half_of(["a", "a"], "first")
    with pytest.raises(RyptError, match="expected half as one of first, second"):
        half_of(["a", "b"], "third")
