"""The numbers of a collection: what the paper reports, by kind, without those who do not count; and who gets what."""

from dataclasses import replace
from decimal import Decimal
from math import isnan
from typing import Any

import pytest
from answered import assignment

from hits.records import REJECTED, Bonus, Kind
from hits.results.answers import Results
from hits.results.numbers import campaign_numbers, label_agreement, seconds_seen, spent
from hits.results.quality import worker_reports
from hits.results.verdicts import Verdict
from hits.results.workers import bonus_payments, exclude_workers
from rypt.database.judgments import JudgmentDatabase
from rypt.records import Judgment, Label, Segment, Span
from rypt.text import RyptError

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


def database() -> Results:
    db = JudgmentDatabase(":memory:")
    db.add_segments([Segment("7", "ja")])
    return Results(db)


def filled(*rows: tuple[str, str, str, int], market: str = "mturk", reward: str = "$0.04") -> Results:
    """A database with assignments: hit, worker, four labels (Y, N, ?, and . for none), seconds."""
    results = database()
    names = {"Y": "YES", "N": "NO", "?": "NOT_SURE", ".": ""}
    for number, (hit, worker, labels, seconds) in enumerate(rows):
        fields = {f"label_{i}": names[label] for i, label in enumerate(labels, start=1)}
        item = {**ITEM, "item": hit, "phrase_1": f"a{hit}", "phrase_2": f"b{hit}", "phrase_3": f"c{hit}"}
        facts = {"Reward": reward, "MaxAssignments": "2"}
        one = assignment(number, fields, item, hit=hit, worker=worker, facts=facts, market=market)
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
    counts = (numbers.hits, numbers.assignments, numbers.workers, numbers.alternatives_per_hit)
    assert counts == (2, 3, 2, 4.0)
    assert (numbers.labels, numbers.unanswered) == (7, 2)
    assert (numbers.yes, numbers.no, numbers.not_sure) == (3 / 9, 3 / 9, 3 / 9)
    assert (numbers.hours, numbers.seconds, numbers.labels_per_hour) == (72 / 3600, {"label": 7.2}, 500.0)
    assert list(map(str, (numbers.rewards, numbers.fees, numbers.bonuses))) == ["0.12", "0.05", "0.10"]
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
    assert (numbers.assignments, numbers.rejected, numbers.labels, numbers.workers) == (1, 1, 3, 1)
    assert numbers.rewards == Decimal("0.04")


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
    assert repr(label_agreement(results, "b1")) == repr(found)  # NaN makes records unequal
    assert label_agreement(results, "b2").answers == 0
    results.db.exclude("A2", "-")
    assert label_agreement(results, "b1").answers == 3


# Acting on workers


def test_workers_are_excluded_and_included_together_or_not_at_all() -> None:
    db = filled(("H1", "A1", "YN?N", 36), ("H2", "A2", "YN?N", 36)).db
    exclude_workers(db, ["A1"], "YES to everything", 9)
    assert db.excluded() == {"A1": "YES to everything"}
    for workers, include, message in (
        (["A2"], ["A3"], "worker 'A3' is not excluded in"),
        (["NOSUCH"], ["A1"], "worker 'NOSUCH' gave no answer in"),
    ):
        with pytest.raises(RyptError, match=message):
            exclude_workers(db, workers, "x", include=include)
        assert set(db.excluded()) == {"A1"}
    exclude_workers(db, ["A2"], "slow", include=["A1"])
    assert db.excluded() == {"A2": "slow"}


def test_a_bonus_is_a_share_of_all_rewards_less_what_was_paid() -> None:
    rows = [("H1", "A1", "YN?N", 9), ("H2", "A1", "YN?N", 9), ("H3", "A2", "YN?N", 9)]
    results = filled(*rows, reward="$0.50")
    rejected = assignment(9, {"label_1": "YES"}, ITEM, hit="H9", status=REJECTED, facts={"Reward": "$9"})
    results.add([rejected])

    def paid(worker: str, assignment: str) -> Decimal:
        return Decimal("0.05") if (worker, assignment) == ("A1", "X0") else Decimal(0)

    few = worker_reports(results)
    assert bonus_payments(results, few, Decimal("0.2"), paid) == []  # too few answers to say
    reports = [replace(report, verdict=Verdict.GOOD) for report in few]
    payments = bonus_payments(results, reports, Decimal("0.2"), paid)
    assert payments == [Bonus("X1", "A1", Decimal("0.15")), Bonus("X2", "A2", Decimal("0.10"))]
    out = [replace(report, excluded=True) for report in reports]
    assert bonus_payments(results, out, Decimal("0.2"), paid) == []
