"""Answers to hits as JSONL: nothing that people gave is lost, whichever way campaigns are merged."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from answered import assignment

from hits.records import APPROVED, REJECTED, Assignment, Bonus
from hits.results.answers import Results
from hits.results.jsonl_file import export_answers, import_answers
from rypt.database.exchange import merge
from rypt.database.judgments import JudgmentDatabase
from rypt.records import Label, Segment, Span
from rypt.text import InputError, open_output

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


def answered(number: int, label: str = "YES", status: str = "Submitted", **facts: str) -> Assignment:
    fields = {"label_1": label, "label_2": "YES", "comment": "grüße,\n=1"}
    return assignment(number, fields, ITEM, status=status, facts=facts, market="local")


def filled(path: Path) -> JudgmentDatabase:
    db = database(path)
    results = Results(db)
    results.add(
        [answered(1, Reward="$0.05", HITTypeId="T"), answered(2, "NO", REJECTED, RequesterFeedback="no")]
    )
    results.add([assignment(3, {"rank_1": "1", "rank_2": "2"}, RANKING, worker="A2", batch="b2")])
    results.add_bonuses([Bonus("X1", "A1", Decimal("0.10"), "thanks", 7)])
    db.exclude("A9", "spam")
    return db


def contents(db: JudgmentDatabase) -> dict[str, list[Any]]:
    tables = ("hits", "assignments", "label_answers", "comparisons", "controls", "bonuses", "judgments")
    rows = {
        table: db.db.execute(f"SELECT * FROM {table}").fetchall() for table in (*tables, "excluded_workers")
    }
    for table in ("hits", "assignments"):
        rows[table] = [row[1:] for row in rows[table]]  # without the order of arrival
    return {table: sorted(map(repr, found)) for table, found in rows.items()}


def exported(db: JudgmentDatabase, path: Path) -> Path:
    with open_output(path) as stream:
        export_answers(Results(db), stream)
    return path


def test_jsonl_takes_everything_along(tmp_path: Path) -> None:
    source, target = filled(tmp_path / "a.db"), database(tmp_path / "b.db")
    answers = exported(source, tmp_path / "a.jsonl.gz")
    for expected in (3, 0):
        assert import_answers(Results(target), answers).assignments == expected
        assert merge(target, tmp_path / "a.db").others == (expected > 0)  # the excluded worker
        assert contents(target) == contents(source)
    assert len(Results(target).comparisons()) == 2  # x over y, x over z
    assert (
        exported(target, tmp_path / "b.jsonl").read_bytes()
        == exported(source, tmp_path / "c.jsonl").read_bytes()
    )


def test_merged_judgments_of_rejected_work_do_not_count_before_their_assignments_come(tmp_path: Path) -> None:
    source, target = filled(tmp_path / "a.db"), database(tmp_path / "b.db")
    merge(target, tmp_path / "a.db")
    assert (target.count(), target.count_counted()) == (2, 1)
    import_answers(Results(target), exported(source, tmp_path / "a.jsonl"))
    assert contents(target) == contents(source)
    assert target.label("7", Span(0, 2), "the house") == Label.YES
    Results(target).add([answered(2, "NO", APPROVED)])
    assert target.label("7", Span(0, 2), "the house") == Label.NO  # the later answer of the same worker


@pytest.mark.slow
@pytest.mark.parametrize(
    ("one", "two"), [(APPROVED, REJECTED), ("Submitted", REJECTED), (APPROVED, "Submitted")]
)
def test_the_order_of_merging_does_not_matter(tmp_path: Path, one: str, two: str) -> None:
    """Two databases disagree on an assignment's status, facts and payment, and on a hit of which each has another."""
    for name, status in (("one", one), ("two", two)):
        with database(tmp_path / f"{name}.db") as db:
            shared = {"RequesterFeedback": name, "Expiration": name}
            Results(db).add([answered(1, status=status, **shared)])
            Results(db).add([assignment(7 + (name == "one"), hit="H9", worker=name, item=ITEM, facts=shared)])
            Results(db).add_bonuses([Bonus("X1", "A1", Decimal("0.10"), name)])
            exported(db, tmp_path / f"{name}.jsonl")
    ways = []
    for order in (("one", "two"), ("two", "one")):
        target = database()
        for name in order:
            merge(target, tmp_path / f"{name}.db")
            import_answers(Results(target), tmp_path / f"{name}.jsonl")
        ways.append(contents(target))
        expected = APPROVED if APPROVED in (one, two) else REJECTED
        assert [a.status for a in Results(target).assignments() if a.id == "X1"] == [expected]
        assert target.count_counted() == 2 + (expected == APPROVED)
    assert ways[0] == ways[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fields": {"label_1": "NO"}}, "assignment X1 is there with another hit, worker or answer"),
        ({"status": "Paid"}, "expected a status"),
        ({"fields": ["x"]}, "names and texts in the field fields"),
        ({"accepted": "soon"}, "whole number in the field accepted"),
        ({"worker": ""}, "worker id"),
        ({"bonuses": [{"amount": "much"}]}, "an amount of money"),
        ({"assignment": "X9", "hit": "H9", "columns": {**ITEM, "segment": "99"}}, "segment '99' is not in"),
    ],
)
def test_a_bad_record_stops_an_import(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    lines = exported(filled(tmp_path / "a.db"), tmp_path / "a.jsonl").read_text(encoding="utf-8").splitlines()
    bad = json.dumps({**json.loads(lines[0]), **change})
    (tmp_path / "bad.jsonl").write_text(f"{lines[1]}\n\n{bad}\n", encoding="utf-8")
    target = database(tmp_path / "b.db")
    Results(target).add([answered(1)])
    before = contents(target)
    with pytest.raises(InputError, match=rf"bad\.jsonl:3: .*{message}"):
        import_answers(Results(target), tmp_path / "bad.jsonl")
    assert contents(target) == before
