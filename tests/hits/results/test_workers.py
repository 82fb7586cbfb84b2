"""Acting on workers: who counts, and who gets what as a bonus."""

from dataclasses import replace
from decimal import Decimal

import pytest
from answered import assignment, database

from hits.records import REJECTED, Bonus
from hits.results.answers import Results
from hits.results.quality import worker_reports
from hits.results.verdicts import Verdict
from hits.results.workers import bonus_payments, exclude_workers
from rypt.text import RyptError


def test_workers_are_excluded_and_included_together_or_not_at_all() -> None:
    db = database()
    Results(db).add([assignment(1), assignment(2, worker="A2")])
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
    results = Results(database())
    facts = {"Reward": "$0.50"}
    results.add(
        [assignment(1, facts=facts), assignment(2, facts=facts), assignment(3, facts=facts, worker="A2")]
    )
    results.add([assignment(4, facts=facts, status=REJECTED)])
    few = worker_reports(results)
    assert (
        bonus_payments(results, few, Decimal("0.2"), lambda worker, work: Decimal(0)) == []
    )  # too few answers to say
    reports = [replace(report, verdict=Verdict.GOOD) for report in few]
    paid = {("A1", "X1"): Decimal("0.05")}
    payments = bonus_payments(results, reports, Decimal("0.2"), lambda *work: paid.get(work, Decimal(0)))
    assert payments == [Bonus("X2", "A1", Decimal("0.15")), Bonus("X3", "A2", Decimal("0.10"))]
    out = [replace(report, excluded=True) for report in reports]
    assert bonus_payments(results, out, Decimal("0.2"), lambda worker, work: Decimal(0)) == []
