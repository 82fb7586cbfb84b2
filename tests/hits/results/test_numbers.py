"""The numbers of a collection: what the paper reports, by kind, by market, without those who do not count."""

from dataclasses import replace
from decimal import Decimal
from math import isnan
from typing import Any

import pytest
from answered import assignment

from hits.records import REJECTED, Bonus, Kind
from hits.results.answers import Results
from hits.results.numbers import campaign_numbers, label_agreement, seconds_seen, spent
from rypt.database.judgments import JudgmentDatabase
from rypt.records import Judgment, Label, Segment, Span

ITEM = {
    "segment": "7",
    "start": "0",
    "stop": "1",
    "phrase_1": "a",
    "phrase_2": "b",
    "phrase_3": "c",
    "phrase_4": "d",
    "control_4": "NO",
    "control_kind_4": "damaged",
}
COMPARISON = {"segment": "7", "system_a": "x", "system_b": "y"}
RANKING = {"segment": "7", "size": "3", **{f"system_{i}": name for i, name in enumerate("xyz", start=1)}}
REWARD = {"Reward": "$0.04", "MaxAssignments": "2"}


def database() -> Results:
    db = JudgmentDatabase(":memory:")
    db.add_segments([Segment("7", "ja")])
    return Results(db)


def filled(*rows: tuple[str, str, str, int], market: str = "mturk") -> Results:
    """A database with assignments: hit, worker, four labels (Y, N, ?, and . for none), seconds."""
    results = database()
    names = {"Y": "YES", "N": "NO", "?": "NOT_SURE", ".": ""}
    for number, (hit, worker, labels, seconds) in enumerate(rows):
        fields = {f"label_{i}": names[label] for i, label in enumerate(labels, start=1)}
        item = {**ITEM, "item": hit, "phrase_1": f"a{hit}", "phrase_2": f"b{hit}", "phrase_3": f"c{hit}"}
        one = assignment(number, fields, item, hit=hit, worker=worker, facts=REWARD, market=market)
        results.add([replace(one, accepted=0, submitted=seconds)])
    return results


def compare(results: Results, number: int, worker: str, fields: dict[str, str], columns: Any) -> None:
    facts = {"Reward": "$0.10", "MaxAssignments": "1"}
    made = assignment(100 + number, fields, columns, worker=worker, batch="c1", facts=facts, market="local")
    results.add([replace(made, accepted=0, submitted=60)])


def test_the_numbers_of_the_paper() -> None:
    results = filled(("H1", "A1", "YN?N", 36), ("H1", "A2", "YNNY", 24), ("H2", "A1", "Y..N", 12))
    results.add_bonuses([Bonus("X0", "A1", Decimal("0.10"), "thanks", 5)])
    numbers = campaign_numbers(results)
    assert (numbers.hits, numbers.assignments, numbers.workers, numbers.alternatives_per_hit) == (
        2,
        3,
        2,
        4.0,
    )
    assert (numbers.labels, numbers.unanswered) == (7, 2)
    assert (numbers.yes, numbers.no, numbers.not_sure) == (3 / 9, 3 / 9, 3 / 9)
    assert (numbers.hours, numbers.seconds, numbers.labels_per_hour) == (72 / 3600, {"label": 7.2}, 500.0)
    assert (numbers.rewards, numbers.fees, numbers.bonuses) == (
        Decimal("0.12"),
        Decimal("0.05"),
        Decimal("0.10"),
    )
    assert numbers.cost == Decimal("0.27")
    assert numbers.cost_per_label == Decimal("0.27") / 7
    assert float(numbers.wage or 0) == pytest.approx(11.0)
    assert (numbers.waiting, numbers.approved, numbers.rejected) == (3, 0, 0)


def test_labels_do_not_pay_for_comparisons_and_times_are_of_each_kind() -> None:
    results = filled(("H1", "A1", "YN?N", 36), market="local")
    compare(results, 1, "A1", {"choice": "A"}, COMPARISON)
    compare(results, 2, "A2", {"rank_1": "1", "rank_2": "2", "rank_3": "2"}, RANKING)
    numbers = campaign_numbers(results)
    assert numbers.cost == Decimal("0.24")
    assert numbers.cost_per_label == Decimal("0.04") / 3
    assert (numbers.comparisons, numbers.cost_per_comparison) == (4, Decimal("0.20") / 4)
    assert numbers.seconds == {"label": 9.0, "comparison": 60.0, "ranking": 20.0}
    assert numbers.preferred == {"x": 3, "EQUAL": 1}
    assert campaign_numbers(results, batch="c1").cost_per_label is None


def test_times_count_when_enough_answers_were_timed() -> None:
    results = filled(*((f"H{i}", "A1", "YN?N", 36) for i in range(5)))
    compare(results, 1, "A1", {"choice": "A"}, COMPARISON)
    assert seconds_seen(results, Kind.LABEL) == 9
    assert seconds_seen(results, Kind.COMPARISON) is None
    results.db.exclude("A1", "hasty")
    assert seconds_seen(results, Kind.LABEL) is None


def test_excluded_workers_were_paid_and_do_not_count() -> None:
    results = filled(("H1", "A1", "YYYN", 36), ("H1", "A2", "NNNN", 4), market="local")
    results.db.exclude("A2", "NO to everything")
    numbers = campaign_numbers(results)
    assert (numbers.labels, numbers.yes, numbers.no, numbers.seconds) == (3, 1.0, 0.0, {"label": 9.0})
    assert (numbers.workers, numbers.excluded_workers, numbers.cost) == (2, 1, Decimal("0.08"))
    assert numbers.cost_per_label == Decimal("0.08") / 3


def test_rejected_work_is_not_paid_and_not_counted() -> None:
    results = filled(("H1", "A1", "YN?N", 36), ("H1", "A2", "YNNY", 24))
    results.add(replace(a, status=REJECTED) for a in list(results.assignments()) if a.id == "X1")
    numbers = campaign_numbers(results)
    assert (numbers.assignments, numbers.labels, numbers.rewards, numbers.workers) == (
        1,
        3,
        Decimal("0.04"),
        1,
    )
    assert numbers.rejected == 1


def test_numbers_of_one_batch_and_of_nothing() -> None:
    results = filled(("H1", "A1", "YN?N", 36))
    assert campaign_numbers(results, batch="b1") == campaign_numbers(results)
    empty = campaign_numbers(results, batch="b2")
    assert (empty.hits, empty.labels, empty.cost, empty.cost_per_label, empty.wage) == (0, 0, 0, None, None)
    assert isnan(empty.labels_per_hour)
    assert isnan(empty.yes)
    assert spent([]).total == 0


def test_agreement_is_of_people_and_of_the_batch() -> None:
    results = filled(("H1", "A1", "YNYN", 36), ("H1", "A2", "YNYN", 24))
    simulated = [
        Judgment("7", Span(0, 1), phrase, label, f"S{i}", "demo", "simulation")
        for phrase in ("ah1", "bh1", "ch1")
        for i, label in enumerate((Label.YES, Label.NO))
    ]
    results.db.add(simulated)
    found = label_agreement(results)
    assert (found.questions, found.answers, found.alpha) == (3, 6, 1.0)
    results.db.add([Judgment("7", Span(0, 1), "ah1", Label.NO, "F1", "file")])
    assert label_agreement(results).answers == 7
    assert repr(label_agreement(results, "b1")) == repr(
        found
    )  # by repr: from Python 3.13 on NaN makes records unequal
    assert label_agreement(results, "b2").answers == 0
    results.db.exclude("A2", "-")
    assert label_agreement(results, "b1").answers == 3
