"""The requester's results CSV: as the site wrote it, there and back, and files that want to do harm."""

import csv
import gzip
import io
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from answered import assignment
from hypothesis import given
from hypothesis import strategies as st

from hits.batch.folder import new_settings, read_batch, write_batch
from hits.batch.systems import make_system_batch
from hits.records import Batch, Kind
from hits.results.answers import Results
from hits.results.csv_file import (
    SITE_COLUMNS,
    Decision,
    batch_facts,
    export_results,
    format_time,
    import_results,
    parse_time,
    read_decisions,
    write_results,
)
from rypt.csv_rows import neutralize, restore
from rypt.database.judgments import JudgmentDatabase
from rypt.records import Label, Segment, Span
from rypt.text import InputError, open_output

ITEM = {
    "item": "7-1",
    "segment": "7",
    "start": "0",
    "stop": "2",
    "phrase_1": "the house",
    "phrase_2": "= the house",
}
# as the site wrote it
SITE_ROW = {
    **{"HITId": "2SITE", "HITTypeId": "2TYPE", "Title": "Judge translations", "Description": "d"},
    **{"Keywords": "a, b", "Reward": "$0.02", "CreationTime": "Mon Sep 21 09:00:00 PDT 2009"},
    **{"MaxAssignments": "1", "RequesterAnnotation": "BatchId:117;", "AssignmentDurationInSeconds": "3600"},
    **{"AutoApprovalDelayInSeconds": "604800", "Expiration": "Mon Sep 28 09:00:00 PDT 2009"},
    **{"NumberOfSimilarHITs": "", "LifetimeInSeconds": "", "AssignmentId": "2ASSIGN", "WorkerId": "A2WORKER"},
    **{"AssignmentStatus": "Approved", "AcceptTime": "Mon Sep 21 10:11:12 PDT 2009"},
    **{"SubmitTime": "Mon Sep 21 10:11:42 PDT 2009", "AutoApprovalTime": "Mon Sep 28 10:11:42 PDT 2009"},
    **{"ApprovalTime": "Tue Sep 22 08:00:00 PDT 2009", "RejectionTime": "", "RequesterFeedback": ""},
    **{"WorkTimeInSeconds": "30", "LifetimeApprovalRate": "100% (5/5)"},
    **{"Last30DaysApprovalRate": "100% (5/5)", "Last7DaysApprovalRate": "0% (0/0)"},
    **{f"Input.{name}": text for name, text in ITEM.items()},
    **{"Answer.comment": 'a "quoted" word,\r\nand more', "Answer.label_1": "YES", "Answer.label_2": "NO"},
    **{"Approve": "", "Reject": ""},
}


def results(path: str | Path = ":memory:") -> Results:
    db = JudgmentDatabase(path)
    db.add_segments([Segment("7", "das Haus ist rot")])
    return Results(db)


def text_of(*rows: Mapping[str, str]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(rows[0])
    writer.writerows(row.values() for row in rows)
    return stream.getvalue()


def write(path: Path, *rows: Mapping[str, str]) -> Path:
    path.write_bytes(text_of(*rows).encode())
    return path


def exported(found: Results) -> str:
    stream = io.StringIO()
    export_results(found, stream)
    return stream.getvalue()


# As the site wrote it


def test_a_file_of_the_site_is_read_and_written_byte_for_byte(tmp_path: Path) -> None:
    path = write(tmp_path / "Batch_117_batch_results.csv", SITE_ROW)
    found = results()
    added = import_results(found, path)
    assert (added.assignments, added.judgments) == (1, 2)
    guarded = path.read_bytes().replace(b'"= the house"', b'"\'= the house"')
    assert exported(found).encode() == guarded != path.read_bytes()
    (one,) = found.assignments()
    assert (one.hit, one.id, one.worker, one.status) == ("2SITE", "2ASSIGN", "A2WORKER", "Approved")
    assert (one.accepted, one.submitted, one.seconds) == (1253553072, 1253553102, 30)
    assert one.fields["comment"] == 'a "quoted" word,\r\nand more'
    assert found.db.label("7", Span(0, 2), "the house") == Label.YES
    path.write_bytes(guarded)
    assert import_results(found, path).already == 1  # what we wrote is what we read
    assert exported(found).encode() == guarded


def test_an_export_imported_elsewhere_is_exported_the_same(tmp_path: Path) -> None:
    first, second = results(), results()
    fields = {"label_1": "NO", "comment": "=ß\r\n"}
    first.add([assignment(n, fields, ITEM, facts={"Reward": "$0.05"} if n else {}) for n in range(3)])
    with open_output(tmp_path / "results.csv.gz") as stream:
        assert export_results(first, stream, batch="b1") == 3
        assert export_results(first, io.StringIO(), batch="b2") == 0
    import_results(second, tmp_path / "results.csv.gz")
    assert exported(second) == exported(first)
    assert list(second.db.judgments()) == list(first.db.judgments())
    assert gzip.decompress((tmp_path / "results.csv.gz").read_bytes()).decode() == exported(first)


CELLS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12
) | st.from_regex(r"\A'{0,3}[=+\-@\t\r\n]?.{0,4}", alphabet=st.sampled_from("'=+-@\t\r\n,\"ab"))


@pytest.mark.slow
@given(st.lists(CELLS, min_size=1, max_size=3), CELLS)
def test_any_text_survives_and_no_cell_is_a_formula(comments: list[str], title: str) -> None:
    facts = {"Title": title or "t"}
    given = [
        assignment(i, {"label_1": "YES", "comment": text}, ITEM, facts=facts)
        for i, text in enumerate(comments)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r.csv"
        with open_output(path) as stream:
            write_results(stream, lambda: given)
        found = results()
        import_results(found, path)
        with open(path, encoding="utf-8", newline="") as opened:
            written = list(csv.DictReader(opened))
    assert [a.fields["comment"] for a in found.assignments()] == comments
    assert {a.facts["Title"] for a in found.assignments()} == {facts["Title"]}
    for text in (text for cells in written for text in cells.values()):
        assert not text.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝"))
        assert neutralize(restore(text)) == text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Mon Sep 21 10:11:12 PDT 2009", 1253553072),
        ("Mon Sep 21 17:11:12 UTC 2009", 1253553072),
        ("Fri Jan 02 00:00:00 PST 2015", 1420185600),
        ("2009-09-21T17:11:12Z", 1253553072),
        ("2009-09-21T10:11:12-07:00", 1253553072),
        ("2009-09-21 17:11:12", 1253553072),
        ("1253553072", 1253553072),
        ("  ", None),
    ],
)
def test_times_in_all_their_forms(text: str, seconds: int | None) -> None:
    assert parse_time(text) == seconds
    assert parse_time(format_time(seconds)) == seconds


def test_decisions_of_the_requester(tmp_path: Path) -> None:
    rows = [
        {**SITE_ROW, "AssignmentId": "X1", "Approve": "x"},
        {**SITE_ROW, "AssignmentId": "X2", "Reject": " random answers "},
        {**SITE_ROW, "AssignmentId": "X3"},
    ]
    assert read_decisions(write(tmp_path / "r.csv", *rows)) == [
        Decision("X1", approve=True),
        Decision("X2", approve=False, reason="random answers"),
    ]
    with pytest.raises(InputError, match=r"r\.csv:2: .*assignment X1, found both"):
        read_decisions(write(tmp_path / "r.csv", {**rows[0], "Reject": "no"}))
    with pytest.raises(InputError, match="missing: Approve, Reject"):
        read_decisions(write(tmp_path / "r.csv", {"AssignmentId": "X1"}))


# Hostile files


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"WorkerId": "=HYPERLINK(1)"}, "worker id"),
        ({"AssignmentStatus": "Paid"}, "'Paid'"),
        ({"SubmitTime": "soon"}, "'soon'"),
        ({"Answer.label_1": "<script>"}, "<script>"),
        ({"Input.segment": "99"}, "segment '99' is not in the database"),
    ],
)
def test_one_bad_row_and_nothing_is_stored(tmp_path: Path, change: dict[str, str], message: str) -> None:
    good = {**SITE_ROW, "AssignmentId": "X0", "HITId": "H0", "Answer.comment": ""}
    path = write(tmp_path / "r.csv", good, {**good, "AssignmentId": "X2", "HITId": "H2"} | change)
    found = results()
    with pytest.raises(InputError, match=rf"r\.csv:3: .*{message}"):
        import_results(found, path)
    assert (found.db.count(), list(found.assignments())) == (0, [])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "r.csv:1: .* missing: HITId, .*, Answer"),
        (text_of(SITE_ROW).encode() + b'"1","2"\n', "r.csv:4: expected 38 cells, found 2"),
        (text_of(SITE_ROW).encode() + b'"1', "r.csv:4: expected CSV"),
        (text_of(SITE_ROW).encode() + b"\xff\xfe\n", "r.csv:4: expected UTF-8, found byte 0xff"),
        (text_of(SITE_ROW).encode() + b"a\0b\n", "r.csv:4: expected text, found a NUL"),
        (text_of(SITE_ROW).replace("\n", "\r").encode(), "expected CSV"),
        (text_of({**SITE_ROW, "Title ": "y"}).encode(), "each column once, found more of Title"),
    ],
)
def test_files_that_are_no_results(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "r.csv").write_bytes(data)
    found = results()
    with pytest.raises(InputError, match=message):
        import_results(found, tmp_path / "r.csv")
    assert (found.db.count(), list(found.assignments())) == (0, [])


def test_a_byte_order_mark_windows_line_ends_and_a_cell_of_ten_megabytes(tmp_path: Path) -> None:
    row = {**SITE_ROW, "Answer.comment": "x" * 10_000_000}
    (tmp_path / "r.csv").write_bytes(b"\xef\xbb\xbf" + text_of(row).replace("\n", "\r\n").encode())
    found = results()
    import_results(found, tmp_path / "r.csv")
    assert [len(a.fields["comment"]) for a in found.assignments()] == [10_000_000]


# With the batch at hand, which says what the rows mean


@pytest.fixture
def batch(tmp_path: Path) -> Batch:
    segments = [Segment(str(i), f"Satz {i}") for i in range(3)]
    outputs = {name: {s.id: f"=sentence {s.id} by {name}" for s in segments} for name in "xy"}
    settings = new_settings(
        Kind.COMPARISON, seed=1, now=datetime(2026, 1, 1, tzinfo=UTC), assignments=2, id="b7"
    )
    write_batch(tmp_path / "batch", make_system_batch(segments, outputs, settings, control_share=0))
    return read_batch(tmp_path / "batch")


def row(number: int, item: str, **more: str) -> dict[str, str]:
    return {
        **{"HITId": f"H{number}", "AssignmentId": f"X{number}", "WorkerId": "A1", "Answer.choice": "A"},
        **{"AssignmentStatus": "Approved", "AcceptTime": "10", "SubmitTime": "40", "Input.item": item},
        **{"RequesterAnnotation": "", **more},
    }


def test_a_batch_gives_the_columns_and_what_the_file_says_of_a_hit_stands(
    tmp_path: Path, batch: Batch
) -> None:
    found = results()
    rows = [row(i, item.id, Reward="") for i, item in enumerate(batch.items[:2])]
    rows.append(row(2, "", Reward="$0.99", RequesterAnnotation=batch.annotation(batch.items[2])))
    added = import_results(found, write(tmp_path / "r.csv", *rows), batch=batch, market="mturk")
    assert (added.assignments, added.comparisons) == (3, 3)
    first, _, last = found.assignments("b7")
    assert first.columns == batch.items[0].columns
    facts = batch_facts(batch, batch.items[0])
    assert (first.facts.items() >= facts.items(), first.market) == (True, "mturk")
    assert set(facts) < set(SITE_COLUMNS)
    assert (last.item, last.facts["Reward"]) == (batch.items[2].id, "$0.99")
    assert last.facts["MaxAssignments"] == "2"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"Input.item": "nothing"}, "item 'nothing' is not in the batch"),
        ({"Input.item": ""}, "expected an item, in Input.item or the annotation"),
        ({"RequesterAnnotation": "rypt:other:1-1"}, "expected a hit of the batch b7, found one of other"),
        ({"Input.system_a": "q"}, "expected Input.system_a as in the batch, .*, found 'q'"),
    ],
)
def test_rows_of_another_batch_are_refused(
    tmp_path: Path, batch: Batch, more: dict[str, str], message: str
) -> None:
    good, item = row(1, batch.items[0].id), batch.items[1].id
    path = write(tmp_path / "r.csv", good | dict.fromkeys(more.keys() - good, ""), row(2, item) | more)
    found = results()
    with pytest.raises(InputError, match=rf"r\.csv:3: {message}"):
        import_results(found, path, batch=batch)
    assert list(found.assignments()) == []
