"""Hits survive merging and JSONL: nothing that people gave is lost, whichever way databases are merged."""

import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from hits.records import Answer, IdenticalPair
from hits.results.answers import Bonus, Results
from hits.results.content import Assignment, understand_rows
from rypt.database.answer_rows import APPROVED, REJECTED
from rypt.database.exchange import export_jsonl, import_file, merge
from rypt.database.judgments import JudgmentDatabase
from rypt.records import Label, Segment, Span
from rypt.text import FormatError, InputError

ITEM = {
    "item": "7-1",
    "segment": "7",
    "start": "0",
    "stop": "2",
    "phrase_1": "the house",
    "phrase_2": "a house",
    "control_2": "YES",
    "control_kind_2": "repeat",
}
RANKING = {"item": "r", "segment": "7", "system_1": "x", "system_2": "y", "same_2": '["z"]'}


def database(path: Path | str = ":memory:") -> JudgmentDatabase:
    db = JudgmentDatabase(path)
    db.add_segments([Segment("7", "das Haus ist rot")])
    return db


def assignment(number: int, label: str = "YES", status: str = "Submitted", **facts: str) -> Assignment:
    fields = {"label_1": label, "label_2": "YES", "comment": "grüße,\n=1"}
    answer = Answer("b1", "7-1", f"H{number}", f"X{number}", "A1", fields, 100 * number, 100 * number + 9)
    return Assignment(answer, ITEM, status, facts, "local")


def filled(path: Path) -> JudgmentDatabase:
    db = database(path)
    results = Results(db)
    results.add(
        [assignment(1, Reward="$0.05", HITTypeId="T"), assignment(2, "NO", REJECTED, RequesterFeedback="no")]
    )
    ranked = Answer("b2", "r", "H3", "X3", "A2", {"rank_1": "1", "rank_2": "2"}, 5, 9)
    results.add([Assignment(ranked, RANKING)])
    results.add_identical("b2", [IdenticalPair("7", "y", "z")])
    results.add_bonuses([("X1", [Bonus("X1", Decimal("0.10"), "thanks", 7)])])
    db.exclude("A9", "spam")
    return db


def contents(db: JudgmentDatabase) -> dict[str, list[Any]]:
    tables = (
        "hits",
        "assignments",
        "label_answers",
        "comparisons",
        "controls",
        "bonuses",
        "identical",
        "judgments",
    )
    rows = {
        table: db.db.execute(f"SELECT * FROM {table}").fetchall() for table in (*tables, "excluded_workers")
    }
    for table in ("hits", "assignments"):
        rows[table] = [row[1:] for row in rows[table]]  # without the order of arrival
    return {table: sorted(map(repr, found)) for table, found in rows.items()}


def exported(db: JudgmentDatabase) -> list[dict[str, Any]]:
    stream = io.StringIO()
    export_jsonl(db, stream)
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_merge_takes_everything_along(tmp_path: Path) -> None:
    filled(tmp_path / "a.db").close()
    target = database(tmp_path / "b.db")
    found = merge(target, tmp_path / "a.db")
    assert (found.added, found.others) == (
        2,
        5,
    )  # three assignments, a pair with the same text, an excluded worker
    with JudgmentDatabase(tmp_path / "a.db") as source:
        assert contents(target) == contents(source)
    before = contents(target)
    assert merge(target, tmp_path / "a.db").others == 0
    assert contents(target) == before
    assert len(Results(target).comparisons()) == 2  # x over y, x over z


def test_jsonl_takes_everything_along(tmp_path: Path) -> None:
    source = filled(tmp_path / "a.db")
    with open(tmp_path / "all.jsonl", "w", encoding="utf-8") as stream:
        export_jsonl(source, stream)
    target = JudgmentDatabase(tmp_path / "b.db")
    for expected in (5, 0):
        assert import_file(target, tmp_path / "all.jsonl", understand=understand_rows).others == expected
        assert contents(target) == contents(source)
    again = io.StringIO()
    export_jsonl(target, again)
    assert again.getvalue() == (tmp_path / "all.jsonl").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("one", "two"), [(APPROVED, REJECTED), ("Submitted", REJECTED), (APPROVED, "Submitted")]
)
def test_the_order_of_merging_does_not_matter(tmp_path: Path, one: str, two: str) -> None:
    for name, status, feedback in (("one", one, "good"), ("two", two, "bad")):
        with database(tmp_path / f"{name}.db") as db:
            Results(db).add([assignment(1, status=status, RequesterFeedback=feedback)])
            Results(db).add_bonuses([("X1", [Bonus("X1", Decimal("0.10"), name)] if name == "one" else [])])
    ways = []
    for order in (("one", "two"), ("two", "one")):
        target = JudgmentDatabase(":memory:")
        for name in order:
            merge(target, tmp_path / f"{name}.db")
        ways.append(contents(target))
        expected = APPROVED if APPROVED in (one, two) else REJECTED
        assert [a.status for a in Results(target).assignments()] == [expected]
        label = target.label("7", Span(0, 2), "the house")
        assert label == (Label.YES if expected == APPROVED else None)
    assert ways[0] == ways[1]


def test_what_contradicts_stops_a_merge(tmp_path: Path) -> None:
    filled(tmp_path / "a.db").close()
    target = database(tmp_path / "b.db")
    Results(target).add([assignment(1, "NO")])
    before = contents(target)
    with pytest.raises(FormatError, match="assignment X1 is there with another hit, worker or answer"):
        merge(target, tmp_path / "a.db")
    assert contents(target) == before


def test_an_assignment_needs_somebody_who_can_read_it(tmp_path: Path) -> None:
    with open(tmp_path / "all.jsonl", "w", encoding="utf-8") as stream:
        export_jsonl(filled(tmp_path / "a.db"), stream)
    target = database(tmp_path / "b.db")
    with pytest.raises(
        InputError, match=r"all\.jsonl:5: expected judgments and segments, found an assignment"
    ):
        import_file(target, tmp_path / "all.jsonl")
    assert (target.count(), target.excluded()) == (0, {})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"status": "Paid"}, "expected a status"),
        ({"fields": ["x"]}, "names and texts in the field fields"),
        ({"accepted": "soon"}, "whole number in the field accepted"),
        ({"worker": ""}, "worker id"),
        ({"bonuses": [{"amount": "much"}]}, "an amount of money"),
        ({"columns": {**ITEM, "segment": "99"}}, "segment '99' is not in the database"),
    ],
)
def test_a_bad_record_stops_an_import(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    source = filled(tmp_path / "a.db")
    first = next(record for record in exported(source) if "assignment" in record)
    (tmp_path / "bad.jsonl").write_text(json.dumps({**first, **change}) + "\n", encoding="utf-8")
    target = database(tmp_path / "b.db")
    with pytest.raises(InputError, match=rf"bad\.jsonl:1: .*{message}"):
        import_file(target, tmp_path / "bad.jsonl", understand=understand_rows)
    assert (target.count(), list(Results(target).assignments())) == (0, [])
