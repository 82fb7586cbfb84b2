"""Lines as columns: whatever stands in a file, the result is that of reading its records one by one."""

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rypt.database import exchange
from rypt.database.exchange import Imported, export_file, import_file
from rypt.database.judgments import JudgmentDatabase
from rypt.database.line_columns import read_judgments
from rypt.records import Segment

SEGMENTS = [Segment("s", "der Patient wurde gestern isoliert"), Segment("t", "ja")]
PLAIN = {"segment": "s", "start": 0, "stop": 2, "phrase": "the patient", "label": "YES", "worker": "w"}


def line(**more: Any) -> bytes:
    return json.dumps({**PLAIN, **more}).encode() + b"\n"


def outcome(
    lines: list[bytes], *, one_by_one: bool, case: str = "lower", **options: Any
) -> tuple[Imported | str, Any]:
    """What an import says, or its error, and what is in the database then."""
    with JudgmentDatabase(":memory:", case=case) as db:
        db.add_segments(SEGMENTS)
        reading = (lambda some, *_, **__: (None, list(range(len(some))))) if one_by_one else read_judgments
        with patch("rypt.database.line_columns.read_judgments", reading):
            try:
                result: Imported | str = import_file(db, "file", blocks=[(1, lines)], **options)
            except exchange.RyptError as error:
                result = str(error)
        return result, list(db.judgments())


VALUES: dict[str, list[Any]] = {
    "segment": ["s", "t", "u", "", None, 7, "s\n", "x" * 1001],
    "start": [0, 1, 3, -1, 0.0, "0", True, None, 10**30],
    "stop": [2, 1, 5, 6, "2", False],
    "phrase": [
        "The Patient",
        "the [Skip] [Skip] man",
        "a  b",
        " a",
        "a\nb",
        "é",
        "ΑΣ",
        "",
        " ",
        None,
        3,
        'say "no"',
        "back\\slash",
        "\ud800",
        "İ",
        "\u200b",
    ],
    "label": ["YES", "no", "not sure", "NO_BADLY", "", " ", None, "maybe", 1, "?"],
    "worker": ["w", "v", " ", None, "x\ty", "a b", 5],
    "origin": ["", "h1", None, "o\u0085", " "],
    "source": ["hit", "import", "simulation", "", None, "rumour"],
    "time": [5, 0, "2026-11-16T09:30:00Z", "17", "", None, -3, 1.5, 10**13, "soon"],
    "weight": [1, 0, 0.5, 1e7, None, "", "0.5", -1, True],
    "severity": [1, 5.0, 0, None, "", "2", 1e7, -1],
    "note": ["more", 3],
}
CHANGES = st.fixed_dictionaries({}, optional={name: st.sampled_from(some) for name, some in VALUES.items()})
OTHER_LINES = [
    b"",
    b"  \n",
    b"{}\n",
    b"[1]\n",
    b"{\n",
    b'{"a": 1, "a": 2}\n',
    b'{"excluded": "w", "reason": "bad"}\n',
    line()[:-2] + b', "label": "NO"}\n',
    line()[:-2] + b', "label" : "NO"}\n',
    line()[:-1] + b" x\n",
    b'{"id": "n", "text": "neu"}\n',
    line(phrase="a")[:-1] + b"\r\n",
]
LINES = st.lists(
    st.one_of(CHANGES.map(lambda change: line(**change)), st.sampled_from(OTHER_LINES)), max_size=8
)


@given(
    LINES,
    st.sampled_from(["lower", "keep"]),
    st.booleans(),
    st.sampled_from([{}, {"worker": "d"}, {"time": "3"}]),
)
def test_columns_and_single_records_give_the_same(
    lines: list[bytes], case: str, skip_refused: bool, defaults: dict[str, str]
) -> None:
    options: dict[str, Any] = {"case": case, "skip_refused": skip_refused, "defaults": defaults}
    assert outcome(lines, one_by_one=False, **options) == outcome(lines, one_by_one=True, **options)


def test_plain_judgments_are_read_as_columns() -> None:
    lines = [
        line(),
        line(phrase='He said "no"', label="NO_BADLY", origin="h", source="hit", time=5, weight=0.5),
    ]
    lines += [
        line(time="2026-11-16T09:30:00Z", severity=2, label="n"),
        line(phrase="food [GAP] for", origin=""),
    ]
    columns, others = read_judgments(lines, 10, case="lower", defaults={"source": "import"})
    assert columns is not None
    assert (len(columns), others, columns.line.tolist()) == (4, [], [10, 11, 12, 13])
    assert columns.phrase.texts == ["the patient", 'he said "no"', "food [GAP] for"]
    assert columns.severity.tolist()[1:3] == [5.0, 2.0]


@pytest.mark.parametrize(
    "other", [*OTHER_LINES, line(note=1), line(phrase='\\"'), line(start=2), line(weight=-1)]
)
def test_everything_else_is_left_to_others(other: bytes) -> None:
    columns, others = read_judgments([line(), other, line()], 1, case="lower", defaults={})
    assert columns is not None
    assert others == ([] if other == OTHER_LINES[-1] else [1])


def test_an_export_is_read_as_columns(tmp_path: Path) -> None:
    with JudgmentDatabase(":memory:") as db:
        db.add_segments(SEGMENTS)
        made = [
            line(worker=f"w{i}", time=i, label="NO", **({"severity": 1} if i % 2 else {})) for i in range(6)
        ]
        import_file(db, "file", blocks=[(1, made)])
        export_file(db, tmp_path / "all.jsonl")
    written = (tmp_path / "all.jsonl").read_bytes().splitlines(keepends=True)
    columns, others = read_judgments(written, 1, case="lower", defaults={"source": "import"})
    assert columns is not None
    assert (len(columns), others) == (6, [0, 1])
