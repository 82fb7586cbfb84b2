"""Collecting from a market that says what it likes: work that cannot be understood does not stop the rest."""

from datetime import UTC, datetime

import pytest

from hits.batch.folder import new_settings, read_batch, write_batch
from hits.batch.question_xml import answers_xml
from hits.batch.systems import make_comparison_batch
from hits.market.client import read_assignment
from hits.market.collect import collect_into
from hits.records import Kind
from hits.results.answers import Results
from hits.results.numbers import campaign_numbers
from hits.results.quality import worker_reports
from rypt.database.judgments import JudgmentDatabase
from rypt.records import Segment


def answer(choice: str) -> str:
    return answers_xml({"choice": choice})


class Told:
    """A market that has this work on its only hit."""

    name, key, folder = "local", "told", None

    def __init__(self, item: str, works: list) -> None:
        self.item, self.works = item, works

    def find(self, batch):
        return {self.item: "H1"}

    def states(self, batch):
        return []

    def work(self, hit):
        return iter(self.works)

    def bonuses(self, hit):
        return iter(())

    def participants(self, batch):
        return []


@pytest.fixture
def batch(tmp_path):
    outputs = {"x": {"1": "one"}, "y": {"1": "two"}}
    settings = new_settings(Kind.COMPARISON, seed=1, now=datetime(2026, 1, 1, tzinfo=UTC), assignments=3)
    write_batch(
        tmp_path / "b", make_comparison_batch([Segment("1", "eins")], outputs, settings, control_share=0)
    )
    return read_batch(tmp_path / "b")


def works(*answers):
    accepted, submitted = (datetime.fromtimestamp(seconds, UTC) for seconds in (100, 110))
    return [
        read_assignment(
            {
                "AssignmentId": f"A{n}",
                "HITId": "H1",
                "WorkerId": f"W{n}",
                "AssignmentStatus": "Submitted",
                "Answer": text,
                "AcceptTime": accepted,
                "SubmitTime": submitted,
            }
        )
        for n, text in enumerate(answers)
    ]


def test_what_cannot_be_understood_is_told_and_the_rest_is_added(tmp_path, batch):
    db = JudgmentDatabase(":memory:")
    db.add_segments([Segment("1", "eins")])
    results = Results(db)
    market = Told(batch.items[0].id, works(answer("A"), "<broken", answer("B")))
    added = collect_into(results, batch, tmp_path / "b", market)
    assert (added.assignments, added.comparisons, len(added.left_out)) == (2, 2, 1)
    assert "assignment A1" in added.left_out[0]
    assert {each.id for each in results.assignments()} == {"A0", "A2"}
    added = collect_into(results, batch, tmp_path / "b", market)
    assert (added.assignments, added.already, len(added.left_out)) == (0, 2, 1)


def test_what_was_left_out_stays_visible_until_it_can_be_read(tmp_path, batch):
    db = JudgmentDatabase(":memory:")
    db.add_segments([Segment("1", "eins")])
    results = Results(db)
    collect_into(results, batch, tmp_path / "b", Told(batch.items[0].id, works(answer("A"), answer("A|B"))))
    numbers = campaign_numbers(results)
    assert (numbers.assignments, numbers.left_out, numbers.left_out_waiting) == (1, 1, 1)
    assert campaign_numbers(results, batch="another").left_out == 0
    (report,) = [report for report in worker_reports(results) if report.worker == "W1"]
    assert (report.verdict, report.unread) == ("look", 1)
    assert "1 unreadable assignment left out" in report.reasons[0]
    collect_into(results, batch, tmp_path / "b", Told(batch.items[0].id, works(answer("A"), answer("B"))))
    assert campaign_numbers(results).left_out == 0


def test_all_work_on_a_hit_is_one_transaction(tmp_path, batch, monkeypatch):
    db = JudgmentDatabase(":memory:")
    db.add_segments([Segment("1", "eins")])
    results = Results(db)
    sizes = []
    add = results.add
    monkeypatch.setattr(results, "add", lambda given: sizes.append(len(given)) or add(given))
    market = Told(batch.items[0].id, works(answer("A"), answer("B"), answer("A")))
    collect_into(results, batch, tmp_path / "b", market)
    assert sizes == [3]
