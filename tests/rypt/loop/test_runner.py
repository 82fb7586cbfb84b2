"""The loop: what it does, when it stops, and that it may be killed anywhere."""

import json
import os
import shutil
import signal
import time
from collections import Counter
from contextlib import ExitStack
from decimal import Decimal

import loop_decoder
import pytest
from loop_world import StopError, items, make_campaign, make_loop, served, work

import rypt.loop
from hits.market.client import Market
from hits.market.ledger import EXPIRED, Ledger
from hits.market.publish import expire
from hits.results.answers import Results
from hits.server.store import Store
from mert.campaign import decode_campaign
from rypt.campaign.folder import Campaign
from rypt.cli import main
from rypt.loop import runner
from rypt.loop.report import Journal, best_iteration, iterations
from rypt.loop.runner import STEPS, Loop
from rypt.text import RyptError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run that nothing disturbed."""
    campaign = make_campaign(tmp_path_factory.mktemp("finished") / "campaign", labels=25)
    told = []
    with served(campaign / "market"):
        loop = make_loop(campaign, tell=told.append)
        reason = loop.run()
    return campaign, loop, reason, told


def questions(campaign):
    """How often each phrase was asked about in the hits that are on the market, controls left out."""
    known = items(campaign)
    asked = Counter()
    for hit in hits(campaign):
        columns = known[tuple(hit["RequesterAnnotation"].split(":", 2)[1:])]
        for slot in range(1, int(columns["size"]) + 1):
            if not columns[f"control_{slot}"]:
                asked[columns["segment"], columns["start"], columns[f"phrase_{slot}"]] += 1
    return asked


def hits(campaign):
    with Store(campaign / "market" / "market.db") as store:
        return store.hits.all(0, limit=100_000)


def cost(campaign):
    """What the hits that are on the market cost, in dollars."""
    return sum((Decimal(hit["Reward"]) * hit["MaxAssignments"] for hit in hits(campaign)), Decimal(0))


def best_weights(campaign):
    path = make_loop(campaign).report().weights
    return path.name, path.read_bytes()


def test_it_finds_what_people_accept(finished):
    campaign, loop, reason, told = finished
    found = iterations(loop.journal)
    assert reason in ("no candidate is new", "no significant gain in 2 iterations")
    scores = [row.before for row in found if row.before is not None]
    assert scores[-1] > scores[0] + 0.2
    assert all(row.after >= row.before for row in found if row.after is not None)
    best = loop_decoder.read_weights(loop.report().weights)

    def acceptable(weights):
        top = [
            max(loop_decoder.pool(s), key=lambda row: row[1] @ weights)[0]
            for s in range(loop_decoder.SEGMENTS)
        ]
        pairs = [" ".join(text.split()[i : i + 2]) for text in top for i in (0, 2, 4)]
        return sum(map(loop_decoder.is_acceptable, pairs))

    assert acceptable(best) > acceptable(loop_decoder.read_weights(campaign / "start.weights"))
    assert [line for line in told if line.startswith("$ rypt tune ")]


def test_nothing_is_asked_twice_and_the_books_balance(finished):
    campaign, loop, _, _ = finished
    asked = questions(campaign)
    assert set(asked.values()) == {1}
    assert cost(campaign) == loop.spent == sum((row.cost for row in iterations(loop.journal)), Decimal(0))
    with Campaign.open(campaign).database() as db:
        judged = {(v.segment, str(v.span.start), v.phrase) for v in db.votes()}
    assert judged == set(asked)
    for row in iterations(loop.journal):
        assert row.labels is None or row.labels <= 25
    assert Campaign.open(campaign).files.nbest == [
        f"lists/{row.iteration}.nbest.gz" for row in iterations(loop.journal)
    ]


@pytest.mark.parametrize(
    ("p", "reason"),
    [
        ((0.01, 0.051, 0.051), "no significant gain in 2 iterations"),
        ((0.01, 0.051, 0.049), None),
        ((0.01, 0.049, 0.051), None),
        ((0.01, 0.05, 0.05), None),
        ((0.9, 0.9), None),  # as many as it is patient: it goes on
    ],
)
def test_a_gain_is_significant_up_to_five_per_cent(tmp_path, p, reason):
    campaign = make_campaign(tmp_path / "campaign")
    entries = [(n, "decode", {"iteration": n, "new": 1}) for n in range(1, len(p) + 2)]
    entries += [(n, "tune", {"p": value}) for n, value in enumerate(p, start=1)]
    lines = [
        json.dumps({"iteration": n, "step": step, "time": 1, "result": result}) for n, step, result in entries
    ]
    (campaign / "loop.jsonl").write_text("".join(f"{line}\n" for line in lines))
    assert make_loop(campaign, loop_changes={"patience": 2, "max_iterations": 9}).stopped() == reason


def test_a_finished_run_is_told_again_and_not_done_again(finished):
    campaign, _, reason, _ = finished
    before = (campaign / "loop.jsonl").read_bytes()
    assert make_loop(campaign, stop_at=STEPS).run() == reason
    assert (campaign / "loop.jsonl").read_bytes() == before


# Everything that leaves a trace outside the process: files that appear, lines that are written, calls to the market.
EFFECTS = [
    (os, "replace"),
    (os, "rename"),
    (os, "mkdir"),
    (os, "fsync"),
    (os, "link"),
    (os, "unlink"),
    (shutil, "move"),
    (shutil, "rmtree"),
    (Ledger, "add"),
    (Market, "create"),
    (Market, "hits"),
    (Results, "add"),
    (Journal, "add"),
]


class Deaths:
    """Kills the process once before and once after each effect of each step: its first, and one of those that follow.

    What was killed at is kept in a file, for a process that is killed remembers nothing.
    """

    def __init__(self, path):
        self.path = path
        self.done = set(path.read_text().splitlines()) if path.exists() else set()
        self.seen = Counter()

    def arm(self, monkeypatch, stage):
        self.stage = stage
        for place, name in EFFECTS:
            monkeypatch.setattr(place, name, self._deadly(getattr(place, name), f"{place.__name__}.{name}"))

    def _deadly(self, function, name):
        def call(*arguments, **options):
            step = self.stage()
            which = "first" if self.seen[step, name] == 0 else "later"
            self.seen[step, name] += 1
            self._die(f"{step}: before the {which} {name}")
            result = function(*arguments, **options)
            self._die(f"{step}: after the {which} {name}")
            return result

        return call

    def _die(self, label):
        if label not in self.done:
            with open(self.path, "a") as stream:
                stream.write(label + "\n")
            os.kill(os.getpid(), signal.SIGKILL)


def run_in_child(campaign, monkeypatch, path):
    """Run the loop in a process of its own, which is killed where none was before; whether it came to its end."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            loop = make_loop(campaign)
            Deaths(path).arm(monkeypatch, loop.pending)
            loop.run()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return False
    assert os.waitstatus_to_exitcode(status) == 0
    return True


def test_killed_at_every_step_it_comes_to_the_same_end(finished, tmp_path, monkeypatch):
    undisturbed, loop, reason, _ = finished
    campaign = make_campaign(tmp_path / "campaign", labels=25)
    kills = tmp_path / "kills"
    with served(campaign / "market"):
        while not run_in_child(campaign, monkeypatch, kills):
            assert len(kills.read_text().splitlines()) < 500
    labels = kills.read_text().splitlines()
    assert {label.partition(":")[0] for label in labels} == set(STEPS)
    assert {
        "decode: before the first os.replace",
        "make: after the first os.rename",
        "publish: after the first Market.create",
        "publish: before the later Ledger.add",
        "collect: after the first Results.add",
        "tune: before the first Journal.add",
    } <= set(labels)
    assert best_weights(campaign) == best_weights(undisturbed)
    assert set(questions(campaign).values()) == {1}
    assert questions(campaign) == questions(undisturbed)
    assert cost(campaign) == cost(undisturbed) == make_loop(campaign).spent
    assert iterations(make_loop(campaign).journal) == iterations(loop.journal)
    assert make_loop(campaign).stopped() == reason


def test_a_careless_worker_is_excluded_once(tmp_path):
    campaign = make_campaign(tmp_path / "campaign", labels=60)
    told = []

    def pause(seconds):
        work(campaign, "Eve", answer=lambda columns, slot: "YES", seconds=0)

    with served(campaign / "market"):
        changes = {"max_iterations": 1, "block_bad": True}
        loop = make_loop(campaign, pause=pause, tell=told.append, loop_changes=changes)
        assert loop.run() == "1 iteration is done"
        with Campaign.open(campaign).database() as db:
            ((worker, reason),) = db.excluded().items()
        assert reason.startswith("rypt loop, iteration 1: 0.0 seconds an answer")
        assert iterations(loop.journal)[0].excluded == (worker,)
        assert any(f"worker {worker} is excluded: 0.0 seconds an answer" in line for line in told)
        with Store(campaign / "market" / "market.db") as store:
            (eve,) = store.people.all()
            assert (eve.id, eve.blocked is None) == (worker, False)
            store.people.unblock(worker, 0)
        with Campaign.open(campaign).database(readonly=False) as db:
            db.include(worker)
        again = make_loop(campaign, pause=pause, loop_changes={"max_iterations": 2})
        again.run()
        assert iterations(again.journal)[1].excluded == ()  # a person let the worker count again
        with Campaign.open(campaign).database() as db:
            assert db.excluded() == {}


def test_no_cent_over_the_budget(tmp_path):
    campaign = make_campaign(tmp_path / "campaign", budget="0.50", labels=1000, select="all")
    with served(campaign / "market"):
        loop = make_loop(campaign)
        assert loop.run() == "the budget is spent"
        found = iterations(loop.journal)
        assert Decimal("0.30") < cost(campaign) == loop.spent <= Decimal("0.50")
        assert found[-2].after is not None  # what was bought is used
        assert (found[-1].asked, found[-1].new > 0) == (None, True)  # and what came of it is decoded
        more = make_loop(campaign, loop_changes={"budget": Decimal("0.90")})
        assert more.stopped() is None
        more.run()
        assert loop.spent < cost(campaign) == more.spent <= Decimal("0.90")
        assert set(questions(campaign).values()) == {1}


def test_two_loops_at_once_are_refused(finished):
    campaign, _, _, _ = finished
    first = make_loop(campaign)
    with first.journal.opened(), pytest.raises(RyptError, match=r"loop.jsonl: another loop is at work"):
        make_loop(campaign).run()


def test_missing_answers_are_not_waited_for_for_ever(tmp_path):
    campaign = make_campaign(tmp_path / "campaign", labels=30)
    began, late = int(time.time()), 0

    def pause(seconds):
        nonlocal late
        work(campaign, most=3)
        late = 15 * 24 * 3600

    with served(campaign / "market"):
        loop = make_loop(campaign, pause=pause, now=lambda: began + late, loop_changes={"max_iterations": 1})
        loop.run()
        check_unanswered(campaign, loop)


def check_unanswered(campaign, loop):
    collected = loop.journal.results("collect")[1]
    assert collected["missing"] > 0
    assert collected["assignments"] >= 3
    assert work(campaign) == 0  # nobody can begin a hit any more
    assert loop.spent == cost(campaign)


def test_hits_that_somebody_expired_are_not_waited_for(tmp_path):
    campaign = make_campaign(tmp_path / "campaign", labels=30)
    paused = []

    def pause(seconds):
        paused.append(seconds)
        assert len(paused) < 5
        if len(paused) == 1:
            work(campaign, most=3)
        if len(paused) == 2:
            expire(campaign / "batches" / "1", campaign / "market")

    with served(campaign / "market"):
        loop = make_loop(campaign, pause=pause, loop_changes={"max_iterations": 1})
        loop.run()
        check_unanswered(campaign, loop)
    assert (campaign / "batches" / "1" / EXPIRED).exists()  # so that `rypt status` knows it


def test_where_nobody_came_it_asks_again(tmp_path):
    """No label, so no new weights and no new candidate: but that is no reason to stop."""
    campaign = make_campaign(tmp_path / "campaign", labels=30)
    with served(campaign / "market"):
        with pytest.raises(StopError):  # when its first batch is on the market
            make_loop(campaign, stop_at=["collect"]).run()
        expire(campaign / "batches" / "1", campaign / "market")
        loop = make_loop(campaign, loop_changes={"max_iterations": 2})
        assert loop.run() == "2 iterations are done"
    first, second, last = iterations(loop.journal)
    assert (first.labels, second.new, second.labels > 10, last.asked) == (0, 0, True, None)


def test_the_best_weights_are_those_whose_list_is_best_in_the_end(finished):
    campaign, loop, _, _ = finished
    scores = loop.scores()
    assert list(scores) == [row.iteration for row in iterations(loop.journal)]
    assert not loop.weights(max(scores) + 1).exists()  # all weights were decoded with
    for number, score in scores.items():
        decoded = campaign / f"lists/{number}.nbest.gz"
        assert rypt.score(rypt.Campaign.open(campaign), candidates=decoded).score == score.score
    assert best_weights(campaign)[0] == f"{best_iteration(scores)}.weights"


def test_what_was_published_by_hand_counts(tmp_path):
    campaign = make_campaign(tmp_path / "campaign", labels=30)
    market = ["--market", str(campaign)]
    with served(campaign / "market"):
        decode_campaign(campaign)
        for batch in ("7", "1"):
            folder = str(campaign / "batches" / batch)
            main(["hits", "make", str(campaign), "-o", folder, "--limit", "6", "-q"])
            main(["hits", "publish", folder, *market, "--yes", "-q"])
        paid = cost(campaign)
        assert make_loop(campaign).left == Decimal("5.00") - paid
        loop = make_loop(campaign, loop_changes={"budget": paid})
        assert loop.run() == "the budget is spent"
        assert loop.spent == paid == cost(campaign)


def test_a_batch_published_in_part_is_not_published_to_its_end_over_the_budget(tmp_path, monkeypatch):
    campaign = make_campaign(tmp_path / "campaign", labels=30)
    add = Ledger.add

    def fails(self, *arguments):
        add(self, *arguments)
        raise StopError

    with served(campaign / "market"):
        with monkeypatch.context() as patch:
            patch.setattr(Ledger, "add", fails)
            with pytest.raises(StopError):
                make_loop(campaign).run()
        with pytest.raises(RyptError, match=r"\$0.10 of the budget are left: 1 of \d+ hits were published"):
            make_loop(campaign, loop_changes={"budget": Decimal("0.10")}).run()
        assert len(hits(campaign)) == 1
        make_loop(campaign, loop_changes={"max_iterations": 1}).run()
    assert set(questions(campaign).values()) == {1}


def test_a_market_that_goes_away_between_two_commands_is_waited_for(tmp_path, monkeypatch):
    campaign = make_campaign(tmp_path / "campaign", labels=30)
    told, failed = [], []

    def fails(campaign):
        if not failed:
            failed.append(True)
            away.close()
            raise RyptError("the market does not answer")
        return reports(campaign)

    reports = runner.worker_reports
    monkeypatch.setattr(runner, "worker_reports", fails)
    with ExitStack() as away, ExitStack() as back:
        away.enter_context(served(campaign / "market"))

        def pause(seconds):
            if failed:
                back.enter_context(served(campaign / "market"))  # on another port
            else:
                work(campaign)

        make_loop(campaign, pause=pause, tell=told.append, loop_changes={"max_iterations": 1}).run()
    assert sum("is not served" in line for line in told) == 1


def test_a_budget_said_once_is_known_ever_after(tmp_path):
    campaign = make_campaign(tmp_path / "campaign", labels=30)
    text = (campaign / "rypt.toml").read_text()
    (campaign / "rypt.toml").write_text(text.replace('budget = "5.00"\n', ""))
    assert Loop(campaign).settings.budget is None
    with served(campaign / "market"):
        for budget in ("0.40", "0.50", "0.50"):
            make_loop(campaign, loop_changes={"budget": Decimal(budget)}).run()
            assert Loop(campaign).budget == Decimal(budget)
    said = [entry.result for entry in make_loop(campaign).journal.entries if entry.step == "budget"]
    assert said == [{"budget": "0.40"}, {"budget": "0.50"}]
    (campaign / "rypt.toml").write_text(text)
    assert Loop(campaign).budget == Decimal("5.00")


def test_a_decoder_that_fails_is_told_and_can_be_mended(tmp_path):
    campaign = make_campaign(tmp_path / "campaign", command="false {weights} {nbest}")
    with pytest.raises(RyptError, match="the decoder failed with exit code 1 in iteration 1"):
        make_loop(campaign).run()
    assert make_loop(campaign).journal.entries == []
    settings = (campaign / "rypt.toml").read_text().replace("false {weights} {nbest}", "loop_decoder:decode")
    (campaign / "rypt.toml").write_text(settings)
    with served(campaign / "market"):
        make_loop(campaign, loop_changes={"max_iterations": 1}).run()
    assert Campaign.open(campaign).files.nbest == ["lists/1.nbest.gz", "lists/2.nbest.gz"]


def test_the_loop_from_python(tmp_path):
    campaign = make_campaign(tmp_path / "campaign")
    loop = rypt.loop.Loop(campaign, budget="0.01")
    loop.run()
    report = loop.report()
    assert (report.stopped, report.spent, report.budget) == ("the budget is spent", 0, Decimal("0.01"))
    assert [row.iteration for row in report.iterations] == [1, 2]
    assert report.weights == campaign / "weights" / "2.weights"
    report.write(tmp_path / "best")
    assert (tmp_path / "best").read_bytes() == report.weights.read_bytes()
    with pytest.raises(RyptError, match=r"expected a budget such as 25.00, got 'much'"):
        Loop(campaign, budget="much")
    settings = (campaign / "rypt.toml").read_text()
    far = settings.replace("[market]\n", '[market]\nendpoint = "https://market.example/"\n')
    (campaign / "rypt.toml").write_text(far)
    with pytest.raises(RyptError, match="only a local market can be served"):
        Loop(campaign).run(serve=True)
