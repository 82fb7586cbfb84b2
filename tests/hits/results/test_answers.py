"""Answers in the database: what they become, each once, the last of a worker counting, nothing half written."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from answered import COMPARISON_ITEM, LABEL_ITEM, RANKING_ITEM, assignment, database
from hypothesis import given
from hypothesis import strategies as st

from hits.records import APPROVED, REJECTED, Choice
from hits.results.answers import Results
from hits.results.content import read_content
from rypt.database.check import summary
from rypt.database.exchange import merge
from rypt.database.judgments import DatabaseError, JudgmentDatabase
from rypt.records import Judgment, Label, Span, Votes
from rypt.text import FormatError

TABLES = ("hits", "assignments", "label_answers", "comparisons", "controls", "judgments", "excluded_workers")


def votes(phrase: str, *counts: float) -> Votes:
    return Votes("7", Span(0, 2), phrase, *counts)


def contents(db: JudgmentDatabase) -> dict[str, list[tuple[Any, ...]]]:
    return {table: db.rows(f"SELECT * FROM {table}") for table in TABLES}


# What answers become


def test_labels_become_judgments_and_a_control_does_not() -> None:
    db = database()
    added = Results(db).add([assignment()])
    assert (added.assignments, added.judgments, added.controls, added.unanswered) == (1, 2, 1, 0)
    assert list(db.judgments()) == [
        Judgment("7", Span(0, 2), "the patient", Label.YES, "A1", "H1", "hit", 1030),
        Judgment("7", Span(0, 2), "the patients", Label.NO, "A1", "H1", "hit", 1030),
    ]
    assert db.rows("SELECT worker, status, accepted, submitted, seconds FROM assignments") == [
        ("A1", "Submitted", 1000, 1030, 30)
    ]
    assert Results(db).controls() == [("A1", True)]


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
    assert Results(db).controls() == [("A1", True), ("A2", True)]


def test_what_is_left_blank_is_unanswered() -> None:
    db = database()
    blank = assignment(fields={"label_2": " no ", "label_1": "", "comment": "hm"})
    added = Results(db).add([blank])
    assert (added.judgments, added.unanswered) == (1, 2)
    assert [(j.phrase, j.label) for j in db.judgments()] == [("the patients", Label.NO)]
    assert Results(db).controls() == []


def test_a_comparison_and_its_control() -> None:
    results = Results(database())
    added = results.add([assignment(1, {"choice": "B"}, COMPARISON_ITEM)])
    assert (added.comparisons, added.controls) == (1, 0)
    (found,) = results.comparisons()
    assert (found.segment, found.system_a, found.system_b, found.choice) == ("7", "rypt", "bleu", Choice.B)
    assert (found.worker, found.time, found.hit, found.assignment) == ("A1", 1030, "H1", "X1")
    control = {**COMPARISON_ITEM, "control": "A", "control_kind": "damaged", "system_b": ""}
    results.add(
        [assignment(2, {"choice": "B"}, control), assignment(3, {"choice": "A"}, control, worker="A2")]
    )
    assert results.controls() == [("A1", False), ("A2", True)]
    assert len(results.comparisons()) == 1
    assert results.add([assignment(4, {"comment": "?"}, COMPARISON_ITEM)]).unanswered == 1


RANKS = st.dictionaries(st.integers(1, 5), st.integers(1, 5))


@given(RANKS)
def test_a_ranking_is_all_its_pairs_with_the_better_system_named(ranks: dict[int, int]) -> None:
    fields = {f"rank_{slot}": str(rank) for slot, rank in ranks.items()}
    content = read_content(assignment(1, fields, RANKING_ITEM))
    assert (len(content.comparisons), content.unanswered) == (
        len(ranks) * (len(ranks) - 1) / 2,
        5 - len(ranks),
    )
    for c in content.comparisons:
        a, b = (ranks[int(system[1:])] for system in (c.system_a, c.system_b))
        assert c.preferred == ("EQUAL" if a == b else c.system_a if a < b else c.system_b)


def test_slots_without_a_rank_or_a_system_and_a_pair_that_is_a_control_make_no_comparison() -> None:
    results = Results(database())
    made = {**RANKING_ITEM, "system_5": "", "control": '{"better": [1, 5]}', "control_kind": "damaged"}
    known = {**RANKING_ITEM, "control": '{"equal": [2, 3]}', "control_kind": "identical"}
    ranks = {"rank_1": "2", "rank_2": "1", "rank_3": "2", "rank_4": "", "rank_5": "3"}
    added = results.add([assignment(1, ranks, made), assignment(2, ranks, known, worker="A2")])
    assert (added.comparisons, added.controls, added.unanswered) == (3 + 5, 2, 2)
    assert results.controls() == [("A1", True), ("A2", False)]
    pairs = {(c.worker, c.system_a, c.system_b) for c in results.comparisons()}
    assert ("A2", "s2", "s3") not in pairs
    assert ("A1", "s1", "s5") not in pairs


def test_systems_with_the_text_of_a_slot_share_its_rank_and_nobody_was_asked() -> None:
    results = Results(database())
    unused = dict.fromkeys(("system_4", "candidate_4", "system_5", "candidate_5"), "")
    item = RANKING_ITEM | unused | {"same_2": '["t"]'}
    added = results.add([assignment(1, {"rank_1": "1", "rank_2": "2", "rank_3": "2"}, item)])
    assert added.comparisons == 5
    preferred = {f"{c.system_a} {c.system_b}": c.preferred for c in results.comparisons()}
    assert preferred == {"s1 s2": "s1", "s1 t": "s1", "s1 s3": "s1", "s2 s3": "EQUAL", "t s3": "EQUAL"}
    asked = [f"{c.system_a} {c.system_b}" for c in results.comparisons(asked=True)]
    assert asked == ["s1 s2", "s1 s3", "s2 s3"]


@pytest.mark.parametrize(
    ("item", "fields", "message"),
    [
        (LABEL_ITEM, {"label_1": "MAYBE"}, "'MAYBE'"),
        ({**LABEL_ITEM, "segment": "8"}, {"label_1": "YES"}, "segment '8' is not in the database"),
        ({**LABEL_ITEM, "stop": "6"}, {"label_1": "YES"}, "span 0-6 is outside segment 7"),
        ({**LABEL_ITEM, "stop": "0"}, {"label_1": "YES"}, "at least one token"),
        ({**LABEL_ITEM, "start": "-1"}, {"label_1": "YES"}, "'-1'"),
        ({**LABEL_ITEM, "control_1": "PERHAPS"}, {"label_1": "YES"}, "PERHAPS"),
        ({"text": "hello", "phrase_1": ""}, {"label_1": "YES"}, "phrase_1"),
        (COMPARISON_ITEM, {"choice": "C"}, "A, B or EQUAL"),
        (RANKING_ITEM, {"rank_1": "6"}, "from 1 to 5"),
        (RANKING_ITEM, {"rank_1": "１"}, "from 1 to 5"),
        ({**RANKING_ITEM, "control": "[1, 2]"}, {"rank_1": "1"}, "better"),
        (LABEL_ITEM, {"label_1": "YES", "comment": "\0"}, "text"),
        (LABEL_ITEM, {"label_1": "YES", "comment": "\ud800"}, "text"),
    ],
)
def test_what_cannot_be_read_is_refused_and_nothing_is_stored(
    item: Mapping[str, str], fields: Mapping[str, str], message: str
) -> None:
    db = database()
    results = Results(db)
    before = contents(db)
    with pytest.raises(FormatError, match=message):
        results.add([assignment(1), assignment(2, fields, item)])
    assert contents(db) == before


# Each once


def test_the_same_assignment_twice_adds_nothing_and_another_under_its_id_is_refused() -> None:
    db = database()
    results = Results(db)
    results.add([assignment(1), assignment(2, {"choice": "B"}, COMPARISON_ITEM)])
    before = contents(db)
    again = assignment(2, {"choice": "B", "comment": ""}, COMPARISON_ITEM)
    added = results.add([assignment(1), again, assignment(1)])
    assert (added.assignments, added.already, added.judgments, added.comparisons) == (0, 3, 0, 0)
    for other, message in (
        (assignment(1, {"label_1": "NO"}), "X1"),
        (assignment(1, worker="A2"), "X1"),
        (assignment(1, hit="H9"), "X1"),
        (assignment(3, hit="H1"), "A1 did hit H1 before, in assignment X1"),
        (assignment(3, hit="H1", worker="A2", item={**LABEL_ITEM, "phrase_1": "other"}), "another item"),
    ):
        with pytest.raises(FormatError, match=message):
            results.add([other])
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


def test_a_later_comparison_of_the_same_systems_replaces_an_earlier_one_whatever_the_sides() -> None:
    results = Results(database())
    turned = {**COMPARISON_ITEM, "system_a": "bleu", "system_b": "rypt"}
    results.add([assignment(1, {"choice": "A"}, COMPARISON_ITEM), assignment(2, {"choice": "A"}, turned)])
    results.add([assignment(3, {"choice": "EQUAL"}, COMPARISON_ITEM, worker="A2")])
    assert [(c.worker, c.preferred) for c in results.comparisons()] == [("A1", "bleu"), ("A2", "EQUAL")]
    assert results.workers_between("bleu", "rypt") == {"A1", "A2"}


STEPS = st.lists(st.tuples(st.integers(1, 12), st.sampled_from(["YES", "NO", "NOT_SURE"])), max_size=12)


@given(STEPS, st.randoms(use_true_random=False))
def test_the_last_answer_counts_whatever_came_first(steps: list[tuple[int, str]], random: Any) -> None:
    made = {n: assignment(n, {"label_1": label}, worker=f"A{n % 3}") for n, label in steps}
    expected = {made[n].worker: made[n].fields["label_1"] for n in sorted(made)}
    order = [*made.values(), *made.values()]
    random.shuffle(order)
    with database() as db:
        results = Results(db)
        for one in order:
            results.add([one])
        assert {w: str(a) for _, w, a in db.counted_answers()} == expected
        assert db.count() == len(made)  # the history stays


# Rejected work and excluded workers


def test_rejected_work_stays_and_does_not_count_until_it_is_approved() -> None:
    db = database()
    results = Results(db)
    work = [assignment(1), assignment(2, {"choice": "A"}, COMPARISON_ITEM)]
    results.add(work)
    results.add(replace(a, status=REJECTED, facts={"RequesterFeedback": "random answers"}) for a in work)
    assert (db.votes(), results.comparisons(), db.count()) == ([], [], 2)
    results.add(work)  # from before the decision
    assert db.votes() == []
    results.add(replace(a, status=APPROVED) for a in work)
    assert (len(db.votes()), len(results.comparisons())) == (2, 1)
    assert [a.status for a in results.assignments()] == [APPROVED, APPROVED]
    assert [a.facts["RequesterFeedback"] for a in results.assignments()] == ["random answers"] * 2


def test_excluded_workers_do_not_count_and_come_back(tmp_path: Path) -> None:
    db = database(tmp_path / "j.db")
    results = Results(db)
    no = {"label_1": "NO", "label_2": "NO", "label_3": "NO"}
    results.add([assignment(1), assignment(2, no, worker="A2", hit="H1")])
    results.add([assignment(3, {"choice": "A"}, COMPARISON_ITEM)])
    db.exclude("A1", "YES to everything", 5)
    assert db.votes() == [votes("the patient", 0, 1, 0), votes("the patients", 0, 1, 0)]
    assert (results.comparisons(), db.count()) == ([], 4)
    results.add([assignment(4, no | {"label_1": "YES"})])  # what comes later does not count either
    assert db.votes()[0] == votes("the patient", 0, 1, 0)
    facts = summary(db)
    assert (facts["judgments"], facts["of_these_count"], facts["excluded_workers"]) == (6, 2, 1)
    with database(tmp_path / "b.db") as second:
        merge(second, tmp_path / "j.db")
        assert (second.count(), second.excluded()) == (6, {"A1": "YES to everything"})
        assert second.votes() == db.votes()
    db.include("A1")
    assert db.votes()[0] == votes("the patient", 1, 1, 0)
    assert len(results.comparisons()) == 1


# The tables


def test_everything_that_came_is_given_back() -> None:
    facts = {"Title": "t", "Reward": "$0.05", "RequesterFeedback": "thanks", "HITTypeId": ""}
    one = assignment(1, {"label_1": "YES", "comment": "=1+1\r\nja"}, facts=facts)
    results = Results(database())
    results.add([one, assignment(2, worker="A2", batch="b2")])
    found = list(results.assignments("b1"))
    assert found == [replace(one, facts={name: text for name, text in facts.items() if text}, market="local")]
    assert [a.batch for a in results.assignments()] == ["b1", "b2"]


def test_reading_needs_no_tables_and_makes_none(tmp_path: Path) -> None:
    database(tmp_path / "j.db").close()
    with JudgmentDatabase(tmp_path / "j.db", readonly=True) as db:
        results = Results(db)
        assert (list(results.assignments()), results.comparisons(), results.work()) == ([], [], [])
        assert list(results.replies()) == []
    with JudgmentDatabase(tmp_path / "j.db") as db:
        assert not db.rows("SELECT 1 FROM sqlite_master WHERE name = 'hits'")
        Results(db).add([assignment(1)])
    with JudgmentDatabase(tmp_path / "j.db", readonly=True) as db:
        assert len(list(Results(db).assignments())) == 1


def test_two_processes_may_make_the_tables_at_once(tmp_path: Path) -> None:
    with database(tmp_path / "j.db") as first, JudgmentDatabase(tmp_path / "j.db") as second:
        Results(first).add([assignment(1)])
        assert Results(second).add([assignment(1)]).already == 1
