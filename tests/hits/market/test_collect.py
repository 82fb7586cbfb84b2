"""Collecting and reviewing through the real client: each answer once, whatever the market says of it later."""

import shutil
import time
from collections import Counter
from decimal import Decimal

import pytest
from commands import run
from local_market import local_market, made_batch, work
from loop_world import served

from hits.batch.folder import read_batch
from hits.batch.question_xml import XmlError, read_answers
from hits.market.client import Market, MarketAddress, MarketError, open_market
from hits.market.collect import collect, collect_into, review
from hits.market.folder import kept_batches
from hits.market.ledger import ledger_of
from hits.market.publish import expire, publish
from hits.market.status import collection_status
from hits.results.answers import Results
from hits.results.csv_file import parse_time
from hits.results.numbers import campaign_numbers
from hits.results.quality import worker_reports
from hits.server.store import Store
from rypt.campaign.folder import Campaign
from rypt.database.judgments import JudgmentDatabase
from rypt.records import Segment
from rypt.text import RyptError


@pytest.fixture
def batch(tmp_path):
    return made_batch(tmp_path / "batch")


@pytest.fixture
def results():
    db = JudgmentDatabase(":memory:")
    db.add_segments([Segment(str(n), f"Satz {n}") for n in range(12)])
    return Results(db)


@pytest.fixture
def calls(monkeypatch):
    """How often the client calls each operation."""
    counted = Counter()
    guarded = Market._list
    monkeypatch.setattr(
        Market,
        "_list",
        lambda market, name, *rest, **more: counted.update([name]) or guarded(market, name, *rest, **more),
    )
    return counted


def answers(hit):
    return {"choice": "A", "comment": "=1+1"}


def test_only_what_is_new_is_asked_for(tmp_path, batch, results, calls):
    size = len(batch.items)

    def collected():
        calls.clear()
        done = collect_into(results, batch, tmp_path / "batch", market)
        return done.assignments, done.already, calls["list_assignments_for_hit"]

    with local_market(tmp_path) as (market, store):
        with pytest.raises(RyptError, match="nothing of this batch is published on local"):
            collected()
        publish(batch, market)
        hits = market.hits(batch.settings.id)
        first = hits[batch.items[0].id]["HITId"]
        assert collected() == (0, 0, 0)  # nothing is submitted
        ada, _ = work(store, "Ada", answers, {first})
        assert collected() == (1, 0, 1)
        assert collected() == (0, 1, 0)
        workers = [ada, *(work(store, name, answers)[0] for name in ("Bob", "Eve"))]
        assert collected() == (2 * size, 1, size)
        (done, *_) = market.work(first)
        market.reject(done.id, "answered A to everything")
        assert collected() == (0, 2 * size + 1, 1)
        market.approve(done.id, overturn=True)  # no count of the hit shows it
        assert collected() == (0, 2 * size + 1, 1)
        assert {a.status for a in results.assignments() if a.id == done.id} == {"Approved"}
        assert collected()[2] == 0
        ledger_of(tmp_path / "batch", market.key).path.unlink()
        assert collected() == (0, 2 * size + 1, 0)
        assert calls["list_bonus_payments"] == 1
    assert {c.worker for c in results.comparisons()} == set(workers)
    controls = sum(bool(item.columns["control"]) for item in batch.items)
    assert len(results.comparisons()) == 2 * (size - controls) + 1


@pytest.mark.slow
def test_more_assignments_and_more_hits_than_a_page_holds(tmp_path):
    batch = made_batch(tmp_path / "batch", size=110, assignments=103)
    with local_market(tmp_path) as (market, store), JudgmentDatabase(tmp_path / "j.db") as db:
        publish(batch, market)
        assert len(market.hits(batch.settings.id)) == len(batch.items) > 100
        first = ledger_of(tmp_path / "batch", market.key).read()[batch.items[0].id]
        for i in range(103):
            work(store, f"worker {i}", answers, {first})
        assert collect_into(Results(db), batch, tmp_path / "batch", market).assignments == 103


def test_what_cannot_be_read_is_left_out_and_stays_visible(tmp_path, batch, results):
    choices = {"Ada": "A", "Bob": "A|B", "Eve": "B"}
    with local_market(tmp_path) as (market, store):
        publish(batch, market)
        item = next(item for item in batch.items if not item.columns["control"])
        hit = market.hits(batch.settings.id)[item.id]["HITId"]
        ids = {
            name: work(store, name, lambda _, choice=choice: {"choice": choice}, {hit})[0]
            for name, choice in choices.items()
        }
        for expected in ((2, 0), (0, 2)):
            done = collect_into(results, batch, tmp_path / "batch", market)
            assert (done.assignments, done.already, len(done.left_out)) == (*expected, 1)
            assert done.left_out[0].startswith(f"item {item.id}: assignment ")
    numbers = campaign_numbers(results)
    assert (numbers.assignments, numbers.left_out, numbers.left_out_waiting) == (2, 1, 1)
    (report,) = [report for report in worker_reports(results) if report.worker == ids["Bob"]]
    assert (report.verdict, report.unread) == ("look", 1)


@pytest.mark.parametrize("text", ["<a", '<!DOCTYPE x [<!ENTITY y "z">]><x>&y;</x>'])
def test_answers_that_are_no_xml_are_a_problem_of_their_assignment(
    tmp_path, batch, results, monkeypatch, text
):
    with pytest.raises(XmlError):
        read_answers(text)
    monkeypatch.setattr("hits.server.operations.answers_xml", lambda fields: text)
    with local_market(tmp_path) as (market, store):
        publish(batch, market)
        work(store, "Ada", answers)
        done = collect_into(results, batch, tmp_path / "batch", market)
    assert (done.assignments, len(done.left_out)) == (0, len(batch.items))


@pytest.mark.slow
def test_what_the_market_knows_comes_along(tmp_path, batch, results):
    """Times, hit types, the requester's words and bonuses, also those that come after the first collecting."""
    with local_market(tmp_path) as (market, store):
        publish(batch, market)
        worker, _ = work(store, "Ada", answers)
        collect_into(results, batch, tmp_path / "batch", market)
        first, second, *_ = results.assignments()
        assert first.facts["HITTypeId"] == second.facts["HITTypeId"] != ""
        assert parse_time(first.facts["Expiration"]) - parse_time(first.facts["CreationTime"]) == 14 * 86400
        assert parse_time(first.facts["AutoApprovalTime"]) == first.submitted + 7 * 86400
        assert "ApprovalTime" not in first.facts
        market.approve(first.id, "well done")
        market.reject(second.id, "=nothing read")
        for _ in range(2):
            market.bonus(worker, first.id, Decimal("0.25"), "thank you")
        with pytest.raises(MarketError, match=r"a bonus of \$0.25 was paid for this reason already"):
            market.bonus(worker, first.id, Decimal("5"), "thank you")
        assert market.paid(worker, first.id) == store.work.earnings(worker, int(time.time())).bonuses
        market.expire(first.hit)
        collect_into(results, batch, tmp_path / "batch", market)
        collect_into(results, batch, tmp_path / "batch", market)
    first, second, *_ = results.assignments()
    assert (first.status, first.facts["RequesterFeedback"]) == ("Approved", "well done")
    assert parse_time(first.facts["ApprovalTime"]) >= first.accepted
    assert parse_time(first.facts["Expiration"]) == 0
    assert (second.status, second.facts["RequesterFeedback"]) == ("Rejected", "=nothing read")
    ((assignment, [bonus]),) = results.bonuses().items()
    assert (assignment, bonus.worker, bonus.amount) == (first.id, worker, Decimal("0.25"))
    numbers = campaign_numbers(results)
    assert (numbers.bonuses, numbers.fees, numbers.approved) == (Decimal("0.25"), 0, 1)


@pytest.mark.slow
def test_from_a_batch_to_judgments(tmp_path, demo_campaign, capsys):
    """From Python: a folder is enough, and values come back."""
    campaign, batch, market = tmp_path / "campaign", tmp_path / "batch", tmp_path / "market"
    shutil.copytree(demo_campaign, campaign)
    assert run(capsys, "hits", "make", campaign, "-o", batch, "--limit", 2, "--json", "-q")[0] == 0
    size, name = len(read_batch(batch).items), read_batch(batch).settings.id
    with pytest.raises(RyptError, match="there is no market here; start it first"):
        publish(batch, market)
    with served(market):
        with pytest.raises(RyptError, match="not confirmed; nothing was sent"):
            publish(batch, market, confirm=lambda price, client: False)
        assert collection_status(campaign, batch, market).batch.published == {}
        done = publish(batch, str(market))
        assert (done.made, done.already, done.hits, done.cost > 0) == (size, 0, size, True)
        again = publish(read_batch(batch), MarketAddress(folder=market), confirm=lambda price, client: False)
        assert (again.made, again.already, again.cost) == (0, size, Decimal("0.00"))
        assert [path.name for path in kept_batches(market)] == [name]
        with Store(market / "market.db") as store:
            work(store, "Ada", lambda hit: {"label_1": "NO"})
        state = collection_status(campaign, batch, market)
        assert (state.batch.market.submitted, state.numbers.assignments, state.batch.hits) == (size, 0, size)
        collected = collect(batch, open_market(market), Campaign.open(campaign))
        assert (collected.assignments, collected.left_out, collected.submitted) == (size, (), size)
        assert collection_status(campaign, batch).numbers.assignments == size

        client = open_market(market)
        ids = [done.id for hit in client.hits(name).values() for done in client.work(hit["HITId"])]
        decisions = tmp_path / "results.csv"
        decisions.write_text(f"AssignmentId,Approve,Reject\n{ids[0]},x,\n{ids[1]},,careless\n")
        for expected in ((1, 1, 0), (0, 0, 2)):
            reviewed = review(decisions, market)
            assert (reviewed.approved, reviewed.rejected, reviewed.already) == expected
        decisions.write_text(f"AssignmentId,Approve,Reject\n{ids[0]},,too late\n{ids[1]},x,\n")
        reviewed = review(decisions, market)
        assert (reviewed.too_late, reviewed.approved) == ((ids[0],), 1)
        assert expire(batch, market).hits == size
    note = collection_status(campaign, batch, market).batch.note
    assert f"in {market} (served by `rypt hits serve {market}`) does not answer" in note
