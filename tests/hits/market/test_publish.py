"""Publishing and collecting through the real client and endpoint: no hit twice, no answer twice, none forgotten."""

import csv
import io
import subprocess
import sys
import time
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from local_market import local_market, work
from store_lives import available

from hits.batch.folder import new_settings, read_batch, write_batch
from hits.batch.question_xml import read_answers
from hits.batch.systems import make_comparison_batch
from hits.market.client import BotoMarket, MarketError, connect
from hits.market.collect import collect_into
from hits.market.ledger import Ledger, ledger_of
from hits.market.publish import publish, published
from hits.records import Kind
from hits.results.answers import Results
from hits.results.csv_file import export_results, parse_time
from hits.results.numbers import campaign_numbers
from hits.results.quality import worker_reports
from rypt.database.judgments import JudgmentDatabase
from rypt.records import Segment
from rypt.text import InputError, RyptError


def made_batch(folder, size=12, assignments=3):
    segments = [Segment(str(i), f"Satz {i}") for i in range(size)]
    outputs = {name: {s.id: f"sentence {s.id} by {name}" for s in segments} for name in ("x", "y")}
    settings = new_settings(
        Kind.COMPARISON, seed=1, now=datetime(2026, 1, 1, tzinfo=UTC), assignments=assignments
    )
    write_batch(folder, make_comparison_batch(segments, outputs, settings, control_share=0.1))
    return read_batch(folder)


@pytest.fixture
def batch(tmp_path):
    return made_batch(tmp_path / "batch")


def counts(done):
    return done.made, done.already


class DiesAfter:
    """A market whose requester dies right after a hit was made, before it can be written down."""

    def __init__(self, market: BotoMarket, hits: int) -> None:
        self.market, self.left, self.name, self.key, self.folder = market, hits, market.name, market.key, None

    def find(self, batch):
        return self.market.find(batch)

    def create(self, batch, item):
        hit = self.market.create(batch, item)
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return hit


def test_publishing_twice_makes_each_hit_once(tmp_path, batch):
    with local_market(tmp_path) as (market, _):
        size = len(batch.items)
        assert counts(publish(batch, market)) == (size, 0)
        assert counts(publish(batch, market)) == (0, size)
        found = market.find(batch.settings.id)
        assert found == ledger_of(tmp_path / "batch", market.key).read()
        assert set(found) == {item.id for item in batch.items}


@pytest.mark.parametrize("after", [1, 5])
def test_a_hit_made_but_not_written_down_is_found_again(tmp_path, batch, after):
    with local_market(tmp_path) as (market, _):
        with pytest.raises(KeyboardInterrupt):
            publish(batch, DiesAfter(market, after))
        assert len(ledger_of(tmp_path / "batch", market.key).read()) == after - 1
        assert counts(publish(batch, market)) == (len(batch.items) - after, after)
        assert len(market.find(batch.settings.id)) == len(batch.items)


def test_a_lost_ledger_is_no_loss(tmp_path, batch):
    with local_market(tmp_path) as (market, _):
        publish(batch, market)
        ledger_of(tmp_path / "batch", market.key).path.unlink()
        assert counts(publish(batch, market)) == (0, len(batch.items))


def test_lines_that_a_power_cut_took_are_found_on_the_market(tmp_path, batch):
    with local_market(tmp_path) as (market, _):
        publish(batch, market)
        path = ledger_of(tmp_path / "batch", market.key).path
        whole = published(batch, tmp_path / "batch", market)
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:4]))
        assert published(batch, tmp_path / "batch", market) == whole
        assert counts(publish(batch, market)) == (0, len(batch.items))


def test_killed_while_publishing(tmp_path):
    """A real process is killed with SIGKILL in the middle; another goes on."""
    batch = made_batch(tmp_path / "batch", size=60)
    with local_market(tmp_path) as (market, _):
        keys = market.client._request_signer._credentials
        code = f"""
import os, signal
from hits.market.client import connect
from hits.market.publish import publish
def watch(items):
    for i, item in enumerate(items):
        if i == 20: os.kill(os.getpid(), signal.SIGKILL)
        yield item
market = connect({market.client.meta.endpoint_url!r}, {keys.access_key!r}, {keys.secret_key!r}, "local")
publish({str(tmp_path / "batch")!r}, market, watch=watch)
"""
        killed = subprocess.run([sys.executable, "-c", code], timeout=180, check=False)
        assert killed.returncode == -9
        assert counts(publish(batch, market)) == (len(batch.items) - 20, 20)
        assert len(market.find(batch.settings.id)) == len(batch.items)


def test_two_processes_do_not_publish_one_batch_at_once(tmp_path):
    path = tmp_path / "published.local.jsonl"
    with (
        Ledger(path).opened(),
        pytest.raises(RyptError, match="another process is publishing"),
        Ledger(path).opened(),
    ):
        pass


def test_a_ledger_whose_last_line_broke_off(tmp_path):
    path = tmp_path / "ledger"
    path.write_text('{"item": "a", "hit": "H1"}\n{"item": "b", "hi')
    assert Ledger(path).read() == {"a": "H1"}
    with Ledger(path).opened() as ledger:
        ledger.add("c", "H3")
    assert path.read_text() == '{"item": "a", "hit": "H1"}\n{"item": "c", "hit": "H3", "digest": ""}\n'
    path.write_text("nonsense\n")
    with pytest.raises(InputError, match="ledger:1: expected"):
        Ledger(path).read()


def answers(hit):
    return {"choice": "A", "comment": "=1+1"}


def test_collecting_twice_adds_each_answer_once(tmp_path, batch):
    with local_market(tmp_path) as (market, store), JudgmentDatabase(tmp_path / "j.db") as db:
        publish(batch, market)
        workers = [work(store, f"worker {i}", answers)[0] for i in range(3)]
        results = Results(db)
        added = collect_into(results, batch, tmp_path / "batch", market)
        assert not added.left_out
        assert added.assignments == 3 * len(batch.items)
        again = collect_into(results, batch, tmp_path / "batch", market)
        assert (again.assignments, again.already) == (0, 3 * len(batch.items))
        comparisons = results.comparisons()
        assert {c.worker for c in comparisons} == set(workers)
        controls = sum(bool(item.columns["control"]) for item in batch.items)
        assert len(comparisons) == 3 * (len(batch.items) - controls)
        assert {c.system_a for c in comparisons} | {c.system_b for c in comparisons} == {"x", "y"}


def test_more_assignments_and_more_hits_than_a_page_holds(tmp_path):
    batch = made_batch(tmp_path / "batch", size=110, assignments=103)
    with local_market(tmp_path) as (market, store), JudgmentDatabase(tmp_path / "j.db") as db:
        publish(batch, market)
        assert len(market.find(batch.settings.id)) == len(batch.items) > 100
        first = ledger_of(tmp_path / "batch", market.key).read()[batch.items[0].id]
        for i in range(103):
            work(store, f"worker {i}", answers, {first})
        added = collect_into(Results(db), batch, tmp_path / "batch", market)
        assert added.assignments == 103


def test_review_bonus_block_and_the_end_of_a_hit(tmp_path, batch):
    with local_market(tmp_path) as (market, store), JudgmentDatabase(tmp_path / "j.db") as db:
        publish(batch, market)
        worker, _ = work(store, "Ada", answers)
        hit = next(iter(market.find(batch.settings.id).values()))
        (done,) = market.work(hit)
        market.reject(done.id, "answered A to everything")
        collect_into(Results(db), batch, tmp_path / "batch", market)
        (done,) = market.work(hit)
        assert (done.status, done.facts["RequesterFeedback"]) == ("Rejected", "answered A to everything")
        market.approve(done.id, overturn=True)
        for _ in range(2):
            market.bonus(worker, done.id, Decimal("0.25"), "thank you")
        assert store.work.earnings(worker, int(time.time())).bonuses == Decimal("0.25")
        market.block(worker, "no more")
        assert not available(store, worker, int(time.time()))
        market.expire(hit)
        market.delete(hit)
        assert hit not in market.find(batch.settings.id).values()


def test_a_market_that_refuses_or_is_not_there(tmp_path):
    with local_market(tmp_path) as (market, _):
        with pytest.raises(MarketError, match="the market local refuses") as caught:
            market.expire("3NOTTHERE")
        assert caught.value.code == "AWS.MechanicalTurk.HITDoesNotExist"
        stranger = connect(market.client.meta.endpoint_url, "AKIAWRONG", "wrong", "local")
        with pytest.raises(MarketError, match="the market local refuses"):
            stranger.balance()
    gone = connect("http://127.0.0.1:1/", "AKIA", "x", "local")
    with pytest.raises(MarketError, match="the market local does not answer"):
        gone.balance()


@pytest.mark.parametrize("text", ["<a", '<!DOCTYPE x [<!ENTITY y "z">]><x>&y;</x>'])
def test_answers_that_are_no_answers(text):
    with pytest.raises(RyptError):
        read_answers(text)


def test_a_batch_that_was_edited_after_publishing_is_refused(tmp_path, batch):
    with local_market(tmp_path) as (market, _), JudgmentDatabase(tmp_path / "j.db") as db:
        publish(batch, market)
        text = (tmp_path / "batch" / "batch.csv").read_text()
        (tmp_path / "batch" / "batch.csv").write_text(
            text.replace("sentence 3 by x", "sentence 3 by somebody")
        )
        edited = read_batch(tmp_path / "batch")
        for act in (
            lambda: publish(edited, market),
            lambda: collect_into(Results(db), edited, tmp_path / "batch", market),
        ):
            with pytest.raises(InputError, match="was changed after it was published"):
                act()


def test_each_market_has_its_own_hits(tmp_path, batch):
    (tmp_path / "other").mkdir()
    with local_market(tmp_path) as (one, _), local_market(tmp_path / "other") as (two, _):
        size = len(batch.items)
        assert counts(publish(batch, one)) == (size, 0)
        assert counts(publish(batch, two)) == (size, 0)


def test_collecting_what_is_not_there(tmp_path, batch):
    with local_market(tmp_path) as (market, _), JudgmentDatabase(tmp_path / "j.db") as db:
        with pytest.raises(RyptError, match="nothing of this batch is published on local"):
            collect_into(Results(db), batch, tmp_path / "batch", market)
        publish(batch, market)
        ledger_of(tmp_path / "batch", market.key).path.unlink()
        assert collect_into(Results(db), batch, tmp_path / "batch", market).assignments == 0


def test_a_hit_published_again_within_a_day_of_its_end(tmp_path, batch):
    with local_market(tmp_path) as (market, _):
        publish(batch, market)
        for hit in market.find(batch.settings.id).values():
            market.expire(hit)
            market.delete(hit)
        ledger_of(tmp_path / "batch", market.key).path.unlink()
        with pytest.raises(MarketError, match="was published and removed within a day"):
            publish(batch, market)


def test_another_bonus_for_the_same_reason_is_told(tmp_path, batch):
    with local_market(tmp_path) as (market, store):
        publish(batch, market)
        worker, _ = work(store, "Ada", answers)
        (done,) = market.work(next(iter(market.find(batch.settings.id).values())))
        market.bonus(worker, done.id, Decimal("0.25"), "thank you")
        with pytest.raises(MarketError, match=r"a bonus of \$0.25 was paid for this reason already"):
            market.bonus(worker, done.id, Decimal("5"), "thank you")
        assert market.paid(worker, done.id) == Decimal("0.25")


def test_what_the_market_knows_comes_along(tmp_path, batch):
    """Times, hit types, the requester's words and bonuses, also those that come after the first collecting."""
    with local_market(tmp_path) as (market, store), JudgmentDatabase(tmp_path / "j.db") as db:
        results = Results(db)
        publish(batch, market)
        work(store, "Ada", answers)
        collect_into(results, batch, tmp_path / "batch", market)
        first, second, *_ = results.assignments()
        assert first.facts["HITTypeId"] == second.facts["HITTypeId"] != ""
        assert parse_time(first.facts["Expiration"]) - parse_time(first.facts["CreationTime"]) == 14 * 86400
        assert parse_time(first.facts["AutoApprovalTime"]) == first.submitted + 7 * 86400
        assert "ApprovalTime" not in first.facts
        market.approve(first.id, "well done")
        market.reject(second.id, "=nothing read")
        market.bonus(first.worker, first.id, Decimal("0.25"), "thank you")
        collect_into(results, batch, tmp_path / "batch", market)
        collect_into(results, batch, tmp_path / "batch", market)
        first, second, *_ = results.assignments()
        assert (first.status, first.facts["RequesterFeedback"], first.market) == (
            "Approved",
            "well done",
            "local",
        )
        assert parse_time(first.facts["ApprovalTime"]) >= first.accepted
        assert (second.status, second.facts["RequesterFeedback"]) == ("Rejected", "=nothing read")
        assert second.facts["RejectionTime"]
        ((assignment, [bonus]),) = results.bonuses().items()
        assert (assignment, bonus.amount, bonus.reason) == (first.id, Decimal("0.25"), "thank you")
        numbers = campaign_numbers(results)
        assert (numbers.bonuses, numbers.fees, numbers.approved) == (Decimal("0.25"), 0, 1)
        stream = io.StringIO()
        export_results(results, stream)
        rows = list(csv.DictReader(io.StringIO(stream.getvalue(), newline="")))
        assert rows[1]["RequesterFeedback"] == "'=nothing read"
        assert rows[0]["HITTypeId"] == first.facts["HITTypeId"]
        for name in ("CreationTime", "Expiration", "ApprovalTime", "AutoApprovalTime"):
            assert rows[0][name] == first.facts[name]


def test_equal_texts_are_no_comparisons(tmp_path):
    segments = [Segment(str(i), f"Satz {i}") for i in range(4)]
    outputs = {
        name: {s.id: f"sentence {s.id} by {name if s.id < '2' else 'all'}" for s in segments} for name in "xy"
    }
    settings = new_settings(Kind.COMPARISON, seed=1, now=datetime(2026, 1, 1, tzinfo=UTC), assignments=2)
    write_batch(tmp_path / "batch", make_comparison_batch(segments, outputs, settings, control_share=0))
    made = read_batch(tmp_path / "batch")
    assert len(made.items) == 2
    with local_market(tmp_path) as (market, store), JudgmentDatabase(tmp_path / "j.db") as db:
        results = Results(db)
        publish(made, market)
        work(store, "Ada", answers)
        for _ in range(2):
            collect_into(results, made, tmp_path / "batch", market)
        assert sorted(c.segment for c in results.comparisons()) == ["0", "1"]
        assert [report.worker for report in worker_reports(results)] == [results.comparisons()[-1].worker]
