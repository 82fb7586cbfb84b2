"""Judgments and segments in and out of the database: files that come back as they went, bad lines, merges."""

import csv
import gzip
import io
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rypt.csv_rows import restore
from rypt.database import exchange
from rypt.database.exchange import Imported, export_file, import_file, merge, new_database
from rypt.database.judgments import DatabaseError, JudgmentDatabase
from rypt.records import SOURCES, Judgment, Label, Segment, Span
from rypt.text import InputError

Record = dict[str, Any]
TREE = "(S (NP (A der) (N Patient)) (V wurde) (VP isoliert) (. .))"
SEGMENTS = [Segment("s", "der Patient wurde isoliert .", TREE)]
HEADER = "segment,start,stop,phrase,label,worker\n"
GOOD = "s,0,2,the patient,YES,w\n"
RECORD: Record = {
    "segment": "s",
    "start": 0,
    "stop": 2,
    "phrase": "the patient",
    "label": "YES",
    "worker": "w",
}


def record(**more: Any) -> Record:
    return {**RECORD, **more}


def database(path: str | Path = ":memory:", records: Sequence[Record] = ()) -> JudgmentDatabase:
    db = JudgmentDatabase(path)
    db.add_segments(SEGMENTS)
    take(db, "".join(json.dumps(one) + "\n" for one in records))
    return db


def take(db: JudgmentDatabase, text: str, **options: Any) -> Imported:
    """Import text as if it were a file."""
    lines = enumerate((line.rstrip("\r\n") for line in io.StringIO(text, newline="\n")), start=1)
    return import_file(db, "file", lines=lines, **options)


def exported(db: JudgmentDatabase, **options: Any) -> str:
    with tempfile.TemporaryDirectory() as folder:
        export_file(db, Path(folder, "file"), **options)
        return Path(folder, "file").read_bytes().decode()


def as_csv(db: JudgmentDatabase) -> list[str]:
    """The segments and the judgments, each a CSV file."""
    return [exported(db, form="csv", segments=segments) for segments in (True, False)]


def as_tsv(db: JudgmentDatabase) -> list[str]:
    """The same with tabs, every value as it is."""
    tables = [list(csv.reader(io.StringIO(part, newline=""))) for part in as_csv(db)]
    return ["".join("\t".join(map(restore, row)) + "\n" for row in table) for table in tables]


# Files that come back as they went


def texts(without: str = "") -> st.SearchStrategy[str]:
    characters = st.characters(exclude_categories=["Cs"], exclude_characters=f"{without}\0")
    return st.text(characters, max_size=8)


def records(without: str = "") -> st.SearchStrategy[list[Record]]:
    """Lists of judgments in which some stand twice; ``without`` are characters a format cannot hold."""
    named = texts(without).filter(lambda text: text.strip())
    name = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters=without), max_size=8)
    one = st.fixed_dictionaries(
        {
            "segment": st.just("s"),
            "start": st.integers(0, 2),
            "stop": st.integers(3, 5),
            "phrase": named,
            "label": st.sampled_from([str(label) for label in Label]),
            "worker": name.filter(lambda text: text.strip()),
            "origin": name,
            "source": st.sampled_from(SOURCES),
            "time": st.none() | st.integers(0, 253402300799),
            "weight": st.floats(0, 1e6),
            "severity": st.none() | st.floats(0, 1e6),
        }
    ).map(severity_of_no_only)
    return st.lists(one, max_size=4).map(
        lambda some: some + [{**again, "time": 7, "weight": 0.5} for again in some[:2]]
    )


def severity_of_no_only(one: Record) -> Record:
    return one if one["label"] == "NO" else {**one, "severity": None}


def assert_comes_back(given_records: list[Record], written: Callable[[JudgmentDatabase], list[str]]) -> None:
    with database(records=given_records) as db, JudgmentDatabase(":memory:") as copy:
        parts = written(db)
        assert sum(take(copy, part).added for part in parts) == len(given_records)
        assert exported(copy) == exported(db)
        assert [take(copy, part).already for part in parts][-1] == len(given_records)
        assert exported(copy) == exported(db)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("without", "written"),
    [("", lambda db: [exported(db)]), ("\r", as_csv), ("\t\r\n", as_tsv)],
    ids=["jsonl", "csv", "tsv"],
)
@settings(deadline=None, max_examples=20)
@given(data=st.data())
def test_files_come_back(without, written, data):
    assert_comes_back(data.draw(records(without)), written)


def test_cells_that_begin_like_a_formula_are_written_as_text_and_come_back() -> None:
    text = "=1+1"
    given = [record(phrase=text, worker=text)]
    cells = next(csv.reader(io.StringIO(as_csv(database(records=given))[1].splitlines()[1])))
    assert f"'{text}" in cells
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "＝"))]
    assert_comes_back(given, as_csv)


# Good lines


def test_a_label_may_say_how_bad_a_no_is() -> None:
    rows = ["a,NO_BADLY,", 'b,"no, slightly",', "c,No badly,2.5", "d,no,", "e,yes,"]
    lines = ["segment,start,stop,phrase,worker,label,severity", *(f"s,0,2,x,{row}" for row in rows)]
    db = database()
    take(db, "\n".join(lines))
    graded = [(j.worker, str(j.label), j.severity) for j in db.judgments()]
    assert graded == [("a", "NO", 5), ("b", "NO", 1), ("c", "NO", 2.5), ("d", "NO", None), ("e", "YES", None)]


def test_columns_are_renamed_and_filled_and_spans_may_include_their_last_token() -> None:
    db = database()
    text = "seg\tfirst\tlast\ttranslation\tlabel\n\n"
    text += 's\t0\t1\tThe  [Skip] [Skip] "patient\tnot sure\r\ns\t2\t2\twas\tBLANK\ns\t3\t3\tx\t\n'
    names = {"seg": "segment", "translation": "phrase"}
    result = take(db, text, rename=names, defaults={"worker": "v", "source": "hit"})
    assert result == Imported(added=2, unanswered=1)
    assert list(db.judgments()) == [
        Judgment("s", Span(0, 2), 'the [GAP] "patient', Label.NOT_SURE, "v", source="hit"),
        Judgment("s", Span(2, 3), "was", Label.NOT_SURE, "v", source="hit"),
    ]


def test_excluded_workers_come_back() -> None:
    db = database(records=[record()])
    db.exclude("w", "spam")
    copy = JudgmentDatabase(":memory:")
    assert take(copy, exported(db)).others == 1
    assert copy.excluded() == {"w": "spam"}


def test_repeats_are_counted_once_each_whatever_comes_again() -> None:
    db = database(records=[record(), record(), record(label="NO")])
    assert db.count() == 3
    assert take(db, HEADER + GOOD * 3) == Imported(added=1, already=2)
    assert take(db, HEADER + GOOD) == Imported(already=1)
    assert db.votes()[0].yes == 3


# Bad lines

BAD_LINES = [
    ({"worker": "\x1b[31mred"}, "worker without control characters"),
    ({"worker": "x" * 1_000_000}, "at most 1,000 characters in the field worker"),
    ({"worker": "\ud800"}, "expected Unicode text in the field worker"),
    ({"worker": " "}, "expected a worker"),
    ({"phrase": ["the"]}, "expected text in the field phrase"),
    ({"phrase": "\0"}, "found a NUL character"),
    ({"stop": "two"}, "expected a whole number in the field stop"),
    ('{"excluded": 7}', "expected a worker in the field excluded"),
    ('{"assignment": "a"}', "found an answer to a hit"),
    ("[]", "expected a JSON object"),
    ({"label": "maybe"}, "expected a label YES, NO or NOT_SURE"),
    ({"segment": "t"}, "segment 't' is not in the database"),
    ({"time": "yesterday"}, "expected a time"),
    ({"weight": -0.5}, "expected a weight"),
    ({"severity": 5}, "expected a severity with the label NO only"),
    ({"source": "rumour"}, "expected a source"),
    (json.dumps(RECORD).replace('"label"', '"label": "NO", "label"'), "'label' stands twice"),
    ('{"id": "s", "text": "die Patientin"}', "another text"),
    (json.dumps({"id": "s", "text": SEGMENTS[0].text, "tree": "(FLAT x)"}), "in the tree"),
    (json.dumps({"id": "s", "text": SEGMENTS[0].text, "tree": f"(X {SEGMENTS[0].text})"}), "another tree"),
]


@pytest.mark.parametrize(("change", "message"), BAD_LINES)
def test_a_bad_line_is_refused_with_its_number_and_nothing_is_changed(change, message: str) -> None:
    db = database(records=[RECORD])
    bad = change if isinstance(change, str) else json.dumps(record(**change))
    text = "\n".join([json.dumps(record(worker="v1")), "", bad, json.dumps(record(worker="v2"))])
    before = exported(db)
    with pytest.raises(InputError, match=f"^file:3: .*{message}"):
        take(db, text)
    assert exported(db) == before
    result = take(db, text, skip_refused=True)
    assert (result.added, result.refused, [line for line, _ in result.refusals]) == (2, 1, [3])
    assert db.segments() == SEGMENTS


def test_lines_are_counted_over_quoted_line_breaks_and_the_first_bad_one_is_named() -> None:
    text = HEADER + 's,0,2,"the\npatient",YES,w\n' + "s,0,9,x,YES,w\n\n" + GOOD + "s,0,2,x,maybe,w\ns,0\n"
    db = database()
    with pytest.raises(InputError, match=r"^file:4: span 0-9 is outside .* \(2 more lines refused\)$"):
        take(db, text)
    assert db.count() == 0
    result = take(db, text, skip_refused=True)
    assert (result.added, result.already, result.refused) == (2, 0, 3)
    assert sorted(line for line, _ in result.refusals) == [4, 7, 8]
    assert dict(result.refusals)[8] == "expected 6 fields, found 2"


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("f.csv", b"\nsegment,start\ns,0\n", ":2: expected a column label"),
        (
            "f.jsonl.gz",
            gzip.compress(json.dumps(RECORD).encode() * 9, mtime=0)[:-12],
            "expected a whole gzip file",
        ),
        ("f.jsonl", json.dumps(RECORD).encode() + b"\n\xe9\n", ":2: expected UTF-8, found byte 0xe9"),
        ("f.jsonl", None, "No such file"),
    ],
)
def test_a_file_that_cannot_be_read_changes_nothing_even_when_lines_are_skipped(
    tmp_path, name, data, message
):
    db = database()
    if data:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=message):
        import_file(db, tmp_path / name, skip_refused=True)
    assert (db.count(), db.segments()) == (0, SEGMENTS)


# Merges


def few(**values: Sequence[Any]) -> st.SearchStrategy[list[Record]]:
    fixed = st.fixed_dictionaries({name: st.sampled_from(choices) for name, choices in values.items()})
    return st.lists(fixed.map(lambda change: severity_of_no_only(record(**change))), max_size=6)


OVERLAPPING = few(
    stop=[1, 2],
    label=["YES", "NO"],
    worker=["v", "w"],
    origin=["", "h"],
    time=[None, 1, 2],
    weight=[0, 0.5],
    source=SOURCES,
    severity=[None, 0, 1, 5],
)


@pytest.mark.slow
@settings(deadline=None, max_examples=20)
@given(OVERLAPPING, OVERLAPPING)
def test_a_merge_keeps_each_judgment_once_whichever_way_it_goes(left, right):
    def identities(some: list[Record]) -> Counter[tuple[Any, ...]]:
        return Counter((one["stop"], one["label"], one["worker"], one["origin"]) for one in some)

    with tempfile.TemporaryDirectory() as name:
        a, b, copy = (Path(name) / file for file in ("a.db", "b.db", "copy.db"))
        database(a, left).close()
        database(b, right).close()
        shutil.copy(a, copy)
        with JudgmentDatabase(a) as ab, JudgmentDatabase(b) as ba:
            result = import_file(ab, b)
            merge(ba, copy)
            assert sorted(exported(ab).splitlines()) == sorted(exported(ba).splitlines())
            union = identities(left) | identities(right)
            assert Counter((j.span.stop, str(j.label), j.worker, j.origin) for j in ab.judgments()) == union
            assert (result.added, result.already) == (ab.count() - len(left), len(right) - result.added)
            before = exported(ab)
            for again in (b, copy, a):
                assert merge(ab, again).added == 0
            assert exported(ab) == before


def test_an_export_is_of_one_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A segment and its judgment, added while an export goes on, are both in it or both not."""
    with JudgmentDatabase(tmp_path / "j.db") as db, JudgmentDatabase(tmp_path / "j.db") as other:
        db.add_segments([Segment("s", "ja")])
        as_record = exchange.segment_record

        def interrupted(segment: Segment) -> Record:
            if other.count() == 0:
                other.add_segments([Segment("t", "nein")])
                other.add([Judgment("t", Span(0, 1), "no", Label.YES, "v")])
            return as_record(segment)

        monkeypatch.setattr(exchange, "segment_record", interrupted)
        assert export_file(db, tmp_path / "first") == 1
        assert export_file(db, tmp_path / "second") == 3


def test_a_new_database_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    with suppress(KeyError), new_database(path) as db:
        db.add_segments([Segment("s", "ja")])
        assert not path.exists()
        raise KeyError
    with (
        pytest.raises(DatabaseError, match=r"j\.db: segment s is there with another text"),
        new_database(path) as db,
    ):
        db.add_segments([Segment("s", "ja"), Segment("s", "nein")])
    assert list(tmp_path.iterdir()) == []
    with new_database(path, "keep") as db:
        db.add_segments([Segment("s", "ja")])
    assert [file.name for file in tmp_path.iterdir()] == ["j.db"]
    with JudgmentDatabase(path, readonly=True) as db:
        assert (db.case, len(db.segments())) == ("keep", 1)


def test_a_database_made_meanwhile_is_kept_and_takes_over_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    with new_database(path) as db:
        db.add_segments([Segment("s", "ja")])
        db.add([Judgment("s", Span(0, 1), "yes", Label.YES, "ours")])
        with JudgmentDatabase(path) as other:
            other.add_segments([Segment("s", "ja")])
            other.add([Judgment("s", Span(0, 1), "yes", Label.NO, "theirs")])
    with JudgmentDatabase(path, readonly=True) as db:
        assert {j.worker for j in db.judgments()} == {"ours", "theirs"}
    with pytest.raises(DatabaseError, match="another text"), new_database(path) as db:
        db.add_segments([Segment("s", "nein")])
    with JudgmentDatabase(path, readonly=True) as db:
        assert db.count() == 2
