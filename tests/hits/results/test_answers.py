"""Answers in the database: what they become, each once, the last of a worker counting, nothing half written."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from answered import COMPARISON_ITEM, LABEL_ITEM, RANKING_ITEM, assignment, database
from hypothesis import given
from hypothesis import strategies as st

from hits.kinds import kind_of
from hits.records import APPROVED, REJECTED, Choice, Kind
from hits.results.answers import Results
from hits.results.content import understand
from rypt.database.check import summary
from rypt.database.exchange import merge
from rypt.database.judgments import DatabaseError, JudgmentDatabase
from rypt.records import Judgment, Label, Span, Votes
from rypt.text import FormatError


def votes(phrase: str, *counts: float) -> Votes:
    return Votes("7", Span(0, 2), phrase, *counts)


def contents(db: JudgmentDatabase) -> dict[str, list[tuple[Any, ...]]]:
    tables = (
        "hits",
        "assignments",
        "label_answers",
        "comparisons",
        "controls",
        "judgments",
        "excluded_workers",
    )
    return {table: db.db.execute(f"SELECT * FROM {table}").fetchall() for table in tables}


# What answers become


def test_labels_become_judgments_and_a_control_does_not() -> None:
    db = database()
    added = Results(db).add([assignment()])
    assert (added.assignments, added.judgments, added.controls, added.unanswered) == (1, 2, 1, 0)
    assert list(db.judgments()) == [
        Judgment("7", Span(0, 2), "the patient", Label.YES, "A1", "H1", "hit", 1030),
        Judgment("7", Span(0, 2), "the patients", Label.NO, "A1", "H1", "hit", 1030),
    ]
    assert db.db.execute(
        "SELECT worker, status, accepted, submitted, seconds FROM assignments"
    ).fetchall() == [("A1", "Submitted", 1000, 1030, 30)]
    (control,) = Results(db).controls()
    assert (control.worker, control.kind, control.expected, control.answer, control.passed) == (
        "A1",
        "damaged",
        "NO",
        "NO",
        True,
    )


def test_a_graded_no_is_a_no_with_a_severity_and_passes_a_control_that_expects_no() -> None:
    db = database()
    graded = {"label_1": "NO_BADLY", "label_2": "NO_SLIGHTLY", "label_3": "NO_SLIGHTLY"}
    Results(db).add([assignment(1, graded), assignment(2, worker="A2")])
    assert [(j.phrase, j.worker, j.label, j.severity) for j in db.judgments()] == [
        ("the patient", "A1", Label.NO, 5.0),
        ("the patient", "A2", Label.YES, None),
        ("the patients", "A1", Label.NO, 1.0),
        ("the patients", "A2", Label.NO, None),
    ]
    rows = db.db.execute(
        "SELECT slot, label, control, severity FROM label_answers WHERE assignment = 'X1'"
    ).fetchall()
    assert rows == [(1, "NO", 0, 5.0), (2, "NO", 0, 1.0), (3, "NO", 1, 1.0)]
    assert [(c.worker, c.answer, c.passed) for c in Results(db).controls()] == [
        ("A1", "NO", True),
        ("A2", "NO", True),
    ]
    with pytest.raises(
        FormatError, match=r"expected a label YES, NO or NOT_SURE \(or y, n, \?\), found 'NO_VERY_BADLY'"
    ):
        understand(assignment(3, {"label_1": "NO_VERY_BADLY"}))


def test_what_is_left_blank_is_unanswered() -> None:
    db = database()
    added = Results(db).add([assignment(fields={"label_2": " no ", "label_1": "", "comment": "hm"})])
    assert (added.judgments, added.unanswered) == (1, 2)
    assert [(j.phrase, j.label) for j in db.judgments()] == [("the patients", Label.NO)]
    (control,) = Results(db).controls()
    assert (control.answer, control.passed) == ("", False)


def test_a_comparison_and_its_control() -> None:
    db = database()
    results = Results(db)
    added = results.add([assignment(1, {"choice": "B"}, COMPARISON_ITEM)])
    assert (added.comparisons, added.controls) == (1, 0)
    (found,) = results.comparisons()
    assert (found.segment, found.system_a, found.system_b, found.choice) == ("7", "rypt", "bleu", Choice.B)
    assert (found.worker, found.time, found.hit, found.assignment) == ("A1", 1030, "H1", "X1")
    control = {**COMPARISON_ITEM, "control": "A", "control_kind": "damaged", "system_b": ""}
    results.add(
        [assignment(2, {"choice": "B"}, control), assignment(3, {"choice": "A"}, control, worker="A2")]
    )
    assert [(c.worker, c.passed) for c in results.controls()] == [("A1", False), ("A2", True)]
    assert len(results.comparisons()) == 1
    assert results.add([assignment(4, {"comment": "?"}, COMPARISON_ITEM)]).unanswered == 1


def test_a_ranking_is_ten_comparisons_with_ties() -> None:
    db = database()
    results = Results(db)
    ranks = {"rank_1": "2", "rank_2": "1", "rank_3": "2", "rank_4": "5", "rank_5": "5"}
    assert results.add([assignment(1, ranks, RANKING_ITEM)]).comparisons == 10
    found = {(c.system_a, c.system_b): str(c.choice) for c in results.comparisons()}
    assert found == {
        ("s1", "s2"): "B",
        ("s1", "s3"): "EQUAL",
        ("s1", "s4"): "A",
        ("s1", "s5"): "A",
        ("s2", "s3"): "A",
        ("s2", "s4"): "A",
        ("s2", "s5"): "A",
        ("s3", "s4"): "A",
        ("s3", "s5"): "A",
        ("s4", "s5"): "EQUAL",
    }


def test_slots_without_a_rank_or_a_system_and_a_pair_that_is_a_control_make_no_comparison() -> None:
    results = Results(database())
    made = {**RANKING_ITEM, "system_5": "", "control": '{"better": [1, 5]}', "control_kind": "damaged"}
    known = {**RANKING_ITEM, "control": '{"equal": [2, 3]}', "control_kind": "identical"}
    ranks = {"rank_1": "2", "rank_2": "1", "rank_3": "2", "rank_4": "", "rank_5": "3"}
    added = results.add([assignment(1, ranks, made), assignment(2, ranks, known, worker="A2")])
    assert (added.comparisons, added.controls, added.unanswered) == (3 + 5, 2, 2)
    assert [(c.answer, c.passed) for c in results.controls()] == [("2 3", True), ("1 2", False)]
    pairs = {(c.worker, c.system_a, c.system_b) for c in results.comparisons()}
    assert ("A2", "s2", "s3") not in pairs
    assert ("A1", "s1", "s5") not in pairs


def test_the_kind_of_an_item_is_seen_by_its_columns() -> None:
    assert [kind_of(item) for item in (LABEL_ITEM, COMPARISON_ITEM, RANKING_ITEM)] == list(Kind)
    with pytest.raises(FormatError, match="phrase_1"):
        kind_of({"text": "hello", "phrase_1": ""})


def test_of_two_labels_on_one_key_in_a_page_the_last_counts() -> None:
    item = {**LABEL_ITEM, "phrase_2": "THE patient"}
    db = database()
    assert Results(db).add([assignment(item=item)]).judgments == 1
    assert db.votes() == [votes("the patient", 0, 1, 0)]


def test_first_and_last_as_other_batches_have_them() -> None:
    item = {name: text for name, text in LABEL_ITEM.items() if name not in ("start", "stop")}
    db = database()
    Results(db).add([assignment(item={**item, "first": "0", "last": "1"})])
    assert db.label("7", Span(0, 2), "the patient") == Label.YES


@pytest.mark.parametrize(
    ("item", "fields", "message"),
    [
        (LABEL_ITEM, {"label_1": "MAYBE"}, "'MAYBE'"),
        ({**LABEL_ITEM, "segment": "8"}, {"label_1": "YES"}, "segment '8' is not in the database"),
        ({**LABEL_ITEM, "segment": ""}, {"label_1": "YES"}, "segment"),
        (
            {**LABEL_ITEM, "stop": "6"},
            {"label_1": "YES"},
            "span 0-6 is outside segment 7, which has 5 tokens",
        ),
        ({**LABEL_ITEM, "stop": "0"}, {"label_1": "YES"}, "at least one token"),
        ({**LABEL_ITEM, "start": "-1"}, {"label_1": "YES"}, "column start, found '-1'"),
        ({**LABEL_ITEM, "start": ""}, {"label_1": "YES"}, "column start, found ''"),
        ({**LABEL_ITEM, "control_1": "PERHAPS"}, {"label_1": "YES"}, "PERHAPS"),
        (COMPARISON_ITEM, {"choice": "C"}, "A, B or EQUAL"),
        (RANKING_ITEM, {"rank_1": "6"}, "from 1 to 5"),
        (RANKING_ITEM, {"rank_1": "１"}, "from 1 to 5"),
        ({**RANKING_ITEM, "control": "[1, 2]"}, {"rank_1": "1"}, "better"),
        (LABEL_ITEM, {"label_1": "YES", "comment": "\0"}, "text"),
        (LABEL_ITEM, {"label_1": "YES", "comment": "\ud800"}, "text"),
    ],
)
def test_what_cannot_be_read_is_said_and_nothing_is_stored(
    item: Mapping[str, str], fields: Mapping[str, str], message: str
) -> None:
    db = database()
    results = Results(db)
    before = contents(db)
    with pytest.raises(FormatError, match=message):
        results.add([assignment(1), assignment(2, fields, item)])
    assert contents(db) == before


@pytest.mark.parametrize("name", ["hit", "id", "worker"])
@pytest.mark.parametrize("text", ["", "=cmd", "a b", "x\n", "../x", "A" * 129])
def test_ids_are_plain(name: str, text: str) -> None:
    with pytest.raises(FormatError, match="id of letters"):
        understand(replace(assignment(), **{name: text}))


# Each once


def test_the_same_assignment_twice_adds_nothing() -> None:
    db = database()
    results = Results(db)
    results.add([assignment(1), assignment(2, {"choice": "B"}, COMPARISON_ITEM)])
    before = contents(db)
    added = results.add(
        [assignment(1), assignment(2, {"choice": "B", "comment": ""}, COMPARISON_ITEM), assignment(1)]
    )
    assert (added.assignments, added.already, added.judgments, added.comparisons) == (0, 3, 0, 0)
    assert contents(db) == before


def test_another_answer_under_the_same_assignment_is_refused() -> None:
    db = database()
    results = Results(db)
    results.add([assignment(1)])
    before = contents(db)
    for other in (assignment(1, {"label_1": "NO"}), assignment(1, worker="A2"), assignment(1, hit="H9")):
        with pytest.raises(FormatError, match="X1 is there with another hit, worker or answer"):
            results.add([other])
    with pytest.raises(FormatError, match="A1 did hit H1 before, in assignment X1"):
        results.add([assignment(2, hit="H1")])
    with pytest.raises(FormatError, match="H1 is there with another item"):
        results.add([assignment(2, hit="H1", worker="A2", item={**LABEL_ITEM, "phrase_1": "other"})])
    assert contents(db) == before


def test_a_failure_in_the_middle_leaves_nothing(tmp_path: Path) -> None:
    with database(tmp_path / "j.db") as db:
        results = Results(db)
        db.db.execute(
            "CREATE TRIGGER full BEFORE INSERT ON controls BEGIN SELECT raise(ABORT, 'disk full'); END"
        )
        before = contents(db)
        with pytest.raises(DatabaseError, match="disk full"):
            results.add([assignment()])
        assert contents(db) == before
        db.db.execute("DROP TRIGGER full")
        assert results.add([assignment()]).judgments == 2


# The last answer of a worker counts


def test_a_later_answer_replaces_an_earlier_one_and_the_history_stays() -> None:
    db = database()
    results = Results(db)
    other = {"label_1": "NO", "label_2": "NO", "label_3": "NO"}
    results.add([assignment(2, other), assignment(1), assignment(3, other, worker="A2", hit="H1")])
    assert db.votes() == [votes("the patient", 0, 2, 0), votes("the patients", 0, 2, 0)]
    assert db.label("7", Span(0, 2), "the patient") == Label.NO
    assert db.count() == 6
    labels = [row.label for row in results.given_labels() if row.phrase == "the patient"]
    assert labels == ["YES", "NO", "NO"]
    key = ("7", Span(0, 2), "the patient")
    assert [(w, a) for k, w, a in db.counted_answers() if k == key] == [("A1", Label.NO), ("A2", Label.NO)]


def test_imported_judgments_replace_nothing() -> None:
    db = database()
    key = ("7", Span(0, 2), "the patient")
    db.add([Judgment(*key, Label.YES, "A1", "system1"), Judgment(*key, Label.YES, "A1", "system2", time=9)])
    assert db.votes() == [votes("the patient", 2, 0, 0)]


def test_a_later_comparison_of_the_same_systems_replaces_an_earlier_one_whatever_the_sides() -> None:
    results = Results(database())
    turned = {**COMPARISON_ITEM, "system_a": "bleu", "system_b": "rypt"}
    results.add(
        [
            assignment(1, {"choice": "A"}, COMPARISON_ITEM),
            assignment(2, {"choice": "A"}, turned),
            assignment(3, {"choice": "EQUAL"}, COMPARISON_ITEM, worker="A2"),
        ]
    )
    assert [(c.worker, c.system_a, c.choice) for c in results.comparisons()] == [
        ("A1", "bleu", Choice.A),
        ("A2", "rypt", Choice.EQUAL),
    ]
    assert len(results.given_comparisons()) == 3


STEPS = st.lists(st.tuples(st.integers(1, 12), st.sampled_from(["YES", "NO", "NOT_SURE"])), max_size=12)


@given(STEPS, st.randoms(use_true_random=False))
def test_the_order_of_arrival_does_not_matter(steps: list[tuple[int, str]], random: Any) -> None:
    made = {n: assignment(n, {"label_1": label}, worker=f"A{n % 3}") for n, label in steps}
    expected: dict[str, str] = {}
    for n in sorted(made):
        expected[made[n].worker] = made[n].fields["label_1"]
    order = [*made.values(), *made.values()]
    random.shuffle(order)
    with database() as db:
        results = Results(db)
        for one in order:
            results.add([one])
        assert {w: str(a) for _, w, a in db.counted_answers()} == expected
        assert db.count() == len(made)


# Rejected work and excluded workers


def test_rejected_work_stays_and_does_not_count_until_it_is_approved() -> None:
    db = database()
    results = Results(db)
    results.add([assignment(1), assignment(2, {"choice": "A"}, COMPARISON_ITEM)])
    for one in ("X1", "X2"):
        results.set_status(one, REJECTED, {"RequesterFeedback": "random answers"})
    assert (db.votes(), results.comparisons(), db.count()) == ([], [], 2)
    results.add([assignment(1)])  # from before the decision
    assert db.votes() == []
    for one in ("X1", "X2"):
        results.set_status(one, APPROVED)
    assert (len(db.votes()), len(results.comparisons())) == (2, 1)
    assert [a.status for a in results.assignments()] == [APPROVED, APPROVED]
    assert [a.facts["RequesterFeedback"] for a in results.assignments()] == ["random answers"] * 2
    with pytest.raises(FormatError, match="X9 is not in"):
        results.set_status("X9", APPROVED)
    with pytest.raises(FormatError, match="status"):
        results.set_status("X1", "Fine")


def test_work_that_arrives_rejected_does_not_count_and_does_not_replace() -> None:
    db = database()
    results = Results(db)
    other = {"label_1": "NO", "label_2": "YES", "label_3": "NO"}
    results.add([assignment(1), assignment(2, other, status=REJECTED)])
    assert db.votes() == [votes("the patient", 1, 0, 0), votes("the patients", 0, 1, 0)]
    results.add([assignment(2, other, status=APPROVED)])
    assert db.votes() == [votes("the patient", 0, 1, 0), votes("the patients", 1, 0, 0)]


def test_excluded_workers_do_not_count_and_come_back(tmp_path: Path) -> None:
    db = database(tmp_path / "j.db")
    results = Results(db)
    no = {"label_1": "NO", "label_2": "NO", "label_3": "NO"}
    results.add([assignment(1), assignment(2, no, worker="A2", hit="H1")])
    results.add([assignment(3, {"choice": "A"}, COMPARISON_ITEM)])
    assert db.exclude("A1", "YES to everything", 5)
    assert not db.exclude("A1", "again")
    assert db.excluded() == {"A1": "YES to everything"}
    assert db.votes() == [votes("the patient", 0, 1, 0), votes("the patients", 0, 1, 0)]
    assert (db.label("7", Span(0, 2), "the patient"), results.comparisons(), db.count()) == (Label.NO, [], 4)
    results.add([assignment(4, no | {"label_1": "YES"})])  # what comes later does not count either
    assert db.votes()[0] == votes("the patient", 0, 1, 0)
    facts = summary(db)
    assert (facts["judgments"], facts["of_these_count"], facts["excluded_workers"]) == (6, 2, 1)
    assert db.include("A1")
    assert not db.include("A1")
    assert db.votes()[0] == votes("the patient", 1, 1, 0)
    assert len(results.comparisons()) == 1


def test_a_merge_takes_exclusions_along(tmp_path: Path) -> None:
    with database(tmp_path / "a.db") as first:
        Results(first).add([assignment(1)])
        first.exclude("A1", "spam")
    with database(tmp_path / "b.db") as second:
        merge(second, tmp_path / "a.db")
        assert (second.count(), second.votes(), second.excluded()) == (2, [], {"A1": "spam"})


# The tables


def test_everything_that_came_is_given_back() -> None:
    facts = {"Title": "t", "Reward": "$0.05", "RequesterFeedback": "thanks", "HITTypeId": ""}
    one = assignment(1, {"label_1": "YES", "comment": "=1+1\r\nja"}, facts=facts)
    results = Results(database())
    results.add([one, replace(assignment(2, worker="A2"), batch="b2")])
    found = list(results.assignments("b1"))
    assert found == [replace(one, facts={name: text for name, text in facts.items() if text}, market="local")]
    assert [a.batch for a in results.assignments()] == ["b1", "b2"]


def test_a_database_without_hits_can_be_read(tmp_path: Path) -> None:
    database(tmp_path / "j.db").close()
    with JudgmentDatabase(tmp_path / "j.db", readonly=True) as db:
        results = Results(db)
        assert (list(results.assignments()), results.comparisons(), results.controls()) == ([], [], [])
    with JudgmentDatabase(tmp_path / "j.db") as db:
        Results(db).add([assignment(1)])
    with JudgmentDatabase(tmp_path / "j.db", readonly=True) as db:
        assert len(list(Results(db).assignments())) == 1


def test_two_processes_may_make_the_tables_at_once(tmp_path: Path) -> None:
    with database(tmp_path / "j.db") as first, JudgmentDatabase(tmp_path / "j.db") as second:
        Results(first).add([assignment(1)])
        assert Results(second).add([assignment(1)]).already == 1


def test_an_answer_is_understood_without_a_database() -> None:
    content = understand(assignment(), "keep")
    assert [j.phrase for j in content.judgments()] == ["the patient", "The Patients"]
    assert (content.kind, content.size) == (Kind.LABEL, 3)


def test_time_comes_from_the_market_where_accepting_is_not_known() -> None:
    one = assignment(facts={"WorkTimeInSeconds": "17"})
    assert one.seconds == 30
    assert replace(one, accepted=None).seconds == 17
    assert replace(one, accepted=10**9, facts={}).seconds is None
    with pytest.raises(FormatError, match="status"):
        replace(one, status="Lost")


def test_the_history_cannot_lose_its_assignment(tmp_path: Path) -> None:
    db = database(tmp_path / "j.db")
    Results(db).add([assignment(1)])
    with pytest.raises(sqlite3.IntegrityError):
        db.db.execute("DELETE FROM assignments")
    assert json.loads(db.db.execute("SELECT fields FROM assignments").fetchone()[0])["label_1"] == "YES"
