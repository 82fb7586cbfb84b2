"""The requester's results CSV: as the site wrote it, there and back, and files that want to do harm."""

import csv
import gzip
import io
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hits.records import Assignment, Batch, BatchSettings, Item, Kind, RewardRule
from hits.results.answers import Results
from hits.results.csv_file import (
    SITE_COLUMNS,
    Decision,
    batch_facts,
    export_results,
    format_time,
    parse_time,
    read_assignments,
    read_decisions,
    read_rows,
    results_row,
    write_rows,
)
from hits.results.importing import import_results
from rypt.csv_rows import neutralize, restore
from rypt.database.judgments import JudgmentDatabase
from rypt.records import Label, Segment, Span
from rypt.text import FormatError, InputError, open_output

ITEM = {
    "item": "7-1",
    "segment": "7",
    "start": "0",
    "stop": "2",
    "phrase_1": "the house",
    "phrase_2": "= the house",
}
SITE_ROW = {
    "HITId": "2SITE",
    "HITTypeId": "2TYPE",
    "Title": "Judge translations",
    "Description": "d",
    "Keywords": "a, b",
    "Reward": "$0.02",
    "CreationTime": "Mon Sep 21 09:00:00 PDT 2009",
    "MaxAssignments": "1",
    "RequesterAnnotation": "BatchId:117;",
    "AssignmentDurationInSeconds": "3600",
    "AutoApprovalDelayInSeconds": "604800",
    "Expiration": "Mon Sep 28 09:00:00 PDT 2009",
    "NumberOfSimilarHITs": "",
    "LifetimeInSeconds": "",
    "AssignmentId": "2ASSIGN",
    "WorkerId": "A2WORKER",
    "AssignmentStatus": "Approved",
    "AcceptTime": "Mon Sep 21 10:11:12 PDT 2009",
    "SubmitTime": "Mon Sep 21 10:11:42 PDT 2009",
    "AutoApprovalTime": "Mon Sep 28 10:11:42 PDT 2009",
    "ApprovalTime": "Tue Sep 22 08:00:00 PDT 2009",
    "RejectionTime": "",
    "RequesterFeedback": "",
    "WorkTimeInSeconds": "30",
    "LifetimeApprovalRate": "100% (5/5)",
    "Last30DaysApprovalRate": "100% (5/5)",
    "Last7DaysApprovalRate": "0% (0/0)",
    **{f"Input.{name}": text for name, text in ITEM.items()},
    "Answer.comment": 'a "quoted" word,\r\nand more',
    "Answer.label_1": "YES",
    "Answer.label_2": "NO",
    "Approve": "",
    "Reject": "",
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


def test_the_columns_and_their_order_are_the_sites() -> None:
    header = [
        "HITId",
        "HITTypeId",
        "Title",
        "Description",
        "Keywords",
        "Reward",
        "CreationTime",
        "MaxAssignments",
        "RequesterAnnotation",
        "AssignmentDurationInSeconds",
        "AutoApprovalDelayInSeconds",
        "Expiration",
        "NumberOfSimilarHITs",
        "LifetimeInSeconds",
        "AssignmentId",
        "WorkerId",
        "AssignmentStatus",
        "AcceptTime",
        "SubmitTime",
        "AutoApprovalTime",
        "ApprovalTime",
        "RejectionTime",
        "RequesterFeedback",
        "WorkTimeInSeconds",
        "LifetimeApprovalRate",
        "Last30DaysApprovalRate",
        "Last7DaysApprovalRate",
        "Input.item",
        "Answer.label_1",
        "Approve",
        "Reject",
    ]
    stream = io.StringIO()
    assert write_rows(stream, ["item"], ["label_1"], []) == 0
    assert stream.getvalue() == ",".join(f'"{name}"' for name in header) + "\n"
    assert tuple(header[:27]) == SITE_COLUMNS


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
    assert import_results(found, path).already == 1
    assert exported(found).encode() == guarded
    path.write_bytes(guarded)
    assert import_results(found, path).already == 1  # what we wrote is what we read
    assert exported(found).encode() == guarded


@pytest.mark.parametrize("name", ["results.csv", "results.csv.gz"])
def test_an_export_imported_elsewhere_is_exported_the_same(tmp_path: Path, name: str) -> None:
    first = results()
    for number in range(3):
        answer = Assignment(
            batch="b1",
            item="7-1",
            hit=f"H{number}",
            id=f"X{number}",
            worker="A1",
            fields={"label_1": "NO", "comment": "=ß\r\n"},
            accepted=10,
            submitted=70,
        )
        first.add([replace(answer, columns=ITEM, facts={"Reward": "$0.05"} if number else {})])
    with open_output(tmp_path / name) as stream:
        assert export_results(first, stream, batch="b1") == 3
    second = results()
    import_results(second, tmp_path / name)
    assert exported(second) == exported(first)
    assert list(second.assignments())[1].fields == list(first.assignments())[1].fields
    assert list(second.db.judgments()) == list(first.db.judgments())
    data = (tmp_path / name).read_bytes()
    assert (gzip.decompress(data) if name.endswith("gz") else data).decode() == exported(first)


def test_nothing_of_another_batch_is_exported() -> None:
    found = results()
    found.add(
        [
            Assignment(
                batch="b1", item="7-1", hit="H1", id="X1", worker="A1", fields={"label_1": "NO"}, columns=ITEM
            )
        ]
    )
    stream = io.StringIO()
    assert export_results(found, stream, batch="b2") == 0


CELLS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12
) | st.from_regex(r"\A'{0,3}[=+\-@\t\r\n]?.{0,4}", alphabet=st.sampled_from("'=+-@\t\r\n,\"ab"))


@given(st.dictionaries(st.sampled_from(["comment", "why", "label_3"]), CELLS), CELLS)
def test_any_text_survives_and_no_cell_is_a_formula(fields: dict[str, str], title: str) -> None:
    answer = Assignment(
        batch="b1", item="7-1", hit="H1", id="X1", worker="A1", fields={"label_1": "NO", **fields}
    )
    item = {**ITEM, "phrase_3": title}
    row = results_row(replace(answer, columns=item, facts={"Title": title}))
    stream = io.StringIO(newline="")
    write_rows(stream, list(item), list(answer.fields), [row])
    written = list(csv.reader(io.StringIO(stream.getvalue(), newline="")))
    cells = dict(zip(*written, strict=True))
    assert cells["Input.phrase_2"] == "'= the house"
    for name, text in cells.items():
        assert not text.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝"))
        assert restore(text) == row.get(name, "")


@given(CELLS)
def test_neutral_text_is_restored(text: str) -> None:
    assert restore(neutralize(text)) == text
    assert neutralize(restore(neutralize(text))) == neutralize(text)


@given(st.lists(CELLS, min_size=1, max_size=3))
def test_any_file_of_ours_is_read_back(comments: list[str]) -> None:
    given_rows = [
        results_row(
            Assignment(
                batch="b",
                item="7-1",
                hit=f"H{i}",
                id=f"X{i}",
                worker="A1",
                fields={"comment": text},
                accepted=10,
                submitted=20,
                columns=ITEM,
            )
        )
        for i, text in enumerate(comments)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r.csv"
        with open_output(path) as stream:
            write_rows(stream, list(ITEM), ["comment"], given_rows)
        assert [a.fields["comment"] for _, a in read_assignments(path)] == comments


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Mon Sep 21 10:11:12 PDT 2009", 1253553072),
        ("Mon Sep 21 17:11:12 UTC 2009", 1253553072),
        ("Mon Sep 21 17:11:12 GMT 2009", 1253553072),
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


@pytest.mark.parametrize(
    "text",
    [
        "yesterday",
        "Mon Sep 31 10:11:12 PDT 2009",
        "Mon Sep 21 10:11:12 XYZ 2009",
        "21.9.2009",
        "9" * 12,
        "-1",
    ],
)
def test_what_is_no_time_is_said(text: str) -> None:
    with pytest.raises(FormatError, match="expected a time like Mon Sep 21"):
        parse_time(text)


# Review


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
    with pytest.raises(
        InputError, match=r"r\.csv:2: expected Approve or Reject for assignment X1, found both"
    ):
        read_decisions(write(tmp_path / "r.csv", {**rows[0], "Reject": "no"}))
    few = {"AssignmentId": "X1", "Approve": "", "Reject": "no"}
    assert read_decisions(write(tmp_path / "r.csv", few)) == [Decision("X1", approve=False, reason="no")]
    with pytest.raises(InputError, match="missing: Approve, Reject"):
        read_decisions(write(tmp_path / "r.csv", {"AssignmentId": "X1"}))


# Other people's batches


def test_columns_of_other_batches_are_renamed(tmp_path: Path) -> None:
    row = {name: text for name, text in SITE_ROW.items() if not name.startswith(("Input.", "Answer."))}
    row |= {
        "Input.sent": "7",
        "Input.j": "0",
        "Input.k": "1",
        "Input.cand1": "the house",
        "Answer.q1": "notsure",
    }
    rename = {
        "Input.sent": "Input.segment",
        "Input.j": "Input.first",
        "Input.k": "Input.last",
        "Input.cand1": "Input.phrase_1",
        "Answer.q1": "Answer.label_1",
    }
    found = results()
    assert import_results(found, write(tmp_path / "r.csv", row), rename=rename).judgments == 1
    assert found.db.label("7", Span(0, 2), "the house") == Label.NOT_SURE
    assert [a.market for a in found.assignments()] == ["mturk"]
    with pytest.raises(InputError, match=r"r\.csv:1: expected the columns to rename, Input\.nothing"):
        import_results(found, tmp_path / "r.csv", rename={"Input.nothing": "Input.segment"})


def test_columns_that_may_be_missing_and_columns_nobody_knows(tmp_path: Path) -> None:
    row = {
        name: text
        for name, text in SITE_ROW.items()
        if name not in ("Title", "Last7DaysApprovalRate", "Reject")
    }
    (found,) = read_assignments(write(tmp_path / "r.csv", {**row, "Unknown": "x"}))
    assert (found[0], found[1].facts["Reward"]) == (2, "$0.02")
    assert "Unknown" not in found[1].facts


# Hostile files


def test_missing_columns_are_all_named(tmp_path: Path) -> None:
    row = {name: text for name, text in SITE_ROW.items() if name not in ("WorkerId", "SubmitTime")}
    row = {name: text for name, text in row.items() if not name.startswith("Answer.")}
    with pytest.raises(InputError, match=r"r\.csv:1: .* missing: WorkerId, SubmitTime, Answer\.\*"):
        list(read_rows(write(tmp_path / "r.csv", row)))


@pytest.mark.parametrize("change", [{}, {"Answer.label_1": "NO"}, {"WorkerId": "A3"}])
def test_a_row_that_repeats_an_assignment_is_refused(tmp_path: Path, change: dict[str, str]) -> None:
    found = results()
    path = write(tmp_path / "r.csv", SITE_ROW, {**SITE_ROW, **change})
    with pytest.raises(InputError, match=r"r\.csv:4: assignment 2ASSIGN is there already, in line 2"):
        import_results(found, path)
    assert (found.db.count(), list(found.assignments())) == (0, [])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"WorkerId": "=HYPERLINK(1)"}, "worker id"),
        ({"WorkerId": ""}, "worker id"),
        ({"AssignmentId": "../../x"}, "assignment id"),
        ({"AssignmentStatus": "Paid"}, "'Paid'"),
        ({"SubmitTime": "soon"}, "'soon'"),
        ({"Answer.label_1": "<script>"}, "<script>"),
        ({"Input.segment": "99"}, "segment '99' is not in the database"),
        ({"Input.stop": "99"}, "span 0-99 is outside segment 7"),
        ({"Input.phrase_1": ""}, "phrase_1"),
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
        (b"", "r.csv:1: .* missing: HITId"),
        (b"\n\n", "r.csv:1: .* missing"),
        (b'"HITId","HITId"\n', "missing"),
        (text_of(SITE_ROW).encode() + b'"1","2"\n', "r.csv:4: expected 38 cells, found 2"),
        (text_of(SITE_ROW).encode() + b'"1', "r.csv:4: expected CSV"),
        (text_of(SITE_ROW).encode() + b'"1"x,\n', "r.csv:4: expected CSV"),
        (text_of(SITE_ROW).encode() + b"\xff\xfe\n", "r.csv:4: expected UTF-8, found byte 0xff"),
        (text_of(SITE_ROW).encode() + b"a\0b\n", "r.csv:4: expected text, found a NUL"),
        (text_of(SITE_ROW).replace("\n", "\r").encode(), "expected CSV"),
        (
            text_of({**SITE_ROW, "input.item": "x", "Title ": "y"}).encode(),
            "each column once, found more of Title",
        ),
        (b"PK\x03\x04\xff", "expected UTF-8"),
    ],
)
def test_files_that_are_no_results(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "r.csv").write_bytes(data)
    found = results()
    with pytest.raises(InputError, match=message):
        import_results(found, tmp_path / "r.csv")
    assert (found.db.count(), list(found.assignments())) == (0, [])


def test_broken_gzip_and_no_file(tmp_path: Path) -> None:
    (tmp_path / "r.csv.gz").write_bytes(gzip.compress(text_of(SITE_ROW).encode())[:-9])
    with pytest.raises(InputError, match="expected a whole gzip file"):
        import_results(results(), tmp_path / "r.csv.gz")
    with pytest.raises(InputError, match="No such file"):
        import_results(results(), tmp_path / "none.csv")


def test_a_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    row = {**SITE_ROW, "Answer.comment": "x"}
    (tmp_path / "r.csv").write_bytes(b"\xef\xbb\xbf" + text_of(row).replace("\n", "\r\n").encode())
    (found,) = read_assignments(tmp_path / "r.csv")
    assert found[1].fields["comment"] == "x"


def test_a_cell_of_ten_megabytes(tmp_path: Path) -> None:
    row = {**SITE_ROW, "Answer.comment": "x" * 10_000_000}
    (found,) = read_assignments(write(tmp_path / "r.csv", row))
    assert len(found[1].fields["comment"]) == 10_000_000


def test_what_a_batch_says_of_a_hit() -> None:
    rule = RewardRule(each=Decimal("0.01"))
    settings = BatchSettings("b1", Kind.LABEL, "Title", "Description", "a, b", rule, assignments=3)
    item = Item("7-1", {**ITEM, "size": "2"})
    facts = batch_facts(Batch(settings, (item,), "<form></form>"), item)
    assert set(facts) < set(SITE_COLUMNS)
    assert (facts["Reward"], facts["MaxAssignments"], facts["RequesterAnnotation"]) == (
        "$0.02",
        "3",
        "rypt:b1:7-1",
    )
    answer = Assignment(
        batch="b1", item="7-1", hit="H1", id="X1", worker="A1", fields={}, accepted=10, submitted=70
    )
    row = results_row(replace(answer, columns=ITEM, facts=facts))
    assert (row["SubmitTime"], row["WorkTimeInSeconds"]) == ("Thu Jan 01 00:01:10 UTC 1970", "60")
    assert results_row(replace(replace(answer, batch=""), columns=ITEM))["RequesterAnnotation"] == ""
