"""``rypt loop`` as people run it."""

import json
import os
import re
import signal
import subprocess
import sys
from functools import partial
from types import SimpleNamespace

import pytest
from commands import run
from loop_world import StopError, make_campaign, make_loop, served, work, write_truth

from hits.market.served import is_served
from rypt.campaign.folder import Campaign
from rypt.cli import main
from rypt.loop import runner
from rypt.loop.report import best_iteration

pytestmark = pytest.mark.slow

PROGRAM = "from rypt.cli import main; main()"


def started(campaign, *options):
    command = [sys.executable, "-c", PROGRAM, "loop", str(campaign), "--yes", *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def watch(process, campaign, until=None, work=work):
    """Read what a loop says; do the work it waits for; kill it at a line that begins with ``until``."""
    for line in process.stderr:
        if until and line.startswith(until):
            os.kill(process.pid, signal.SIGKILL)
        if "answers so far" in line:
            work(campaign)
    out = process.stdout.read()
    return process.wait(timeout=180), out


def test_it_serves_its_market_and_ends_it(tmp_path):
    """With simulated workers, who come over HTTP as people do; one of four answers YES to all."""
    campaign = make_campaign(tmp_path / "campaign", labels=60, iterations=2)
    truth = write_truth(tmp_path / "truth.jsonl")

    def simulate(campaign):
        crew = ["--workers", "4", "--accuracy", "1", "--spam", "0.25", "--not-sure", "0"]
        main(["simulate", "--market", str(campaign / "market"), "--truth", str(truth), *crew, "-q"])

    with served(campaign / "market"):
        pass  # so that the market has a port of its own
    picture, weights = tmp_path / "loop.svg", tmp_path / "tuned"
    options = ["--serve", "--json", "--plot", picture, "-o", weights]
    with started(campaign, *map(str, options)) as process:
        code, out = watch(process, campaign, work=simulate)
    assert code == 0
    facts = json.loads(out)
    assert facts["stopped"] == "2 iterations are done"
    *done, last = facts["iterations"]
    assert [row["iteration"] for row in (*done, last)] == [1, 2, 3]
    assert all(row["after"] >= row["before"] for row in done)
    best = best_iteration(make_loop(campaign).scores())
    assert (*done, last)[best - 1]["final"] > done[0]["final"]
    assert facts["weights"] == str(campaign / "weights" / f"{best}.weights")
    assert weights.read_text() == (campaign / "weights" / f"{best}.weights").read_text()
    assert "SIMULATED workers" in picture.read_text()
    with Campaign.open(campaign).database() as db:
        assert facts["simulated"] == db.count() > 20
        assert f"SIMULATED: {db.count()} of the judgments" in repr(make_loop(campaign).report())
    assert facts["signature"].endswith("|iterations:2")
    assert not is_served(campaign / "market")


@pytest.fixture
def in_process(monkeypatch):
    """Commands whose loop does its own waiting."""
    world = SimpleNamespace(work=work)
    waiting = partial(runner.Loop, pause=lambda seconds: world.work(world.campaign))
    monkeypatch.setattr(runner, "Loop", waiting)
    return world


def files(campaign):
    """The files of a campaign but those that a reader of the database leaves."""
    return sorted(path for path in campaign.rglob("*") if not path.name.startswith("judgments.db-"))


def test_a_dry_run_says_what_comes_and_does_nothing(capsys, tmp_path, in_process):
    campaign = in_process.campaign = make_campaign(tmp_path / "campaign", iterations=1)
    assert run(capsys, "loop", campaign, "--dry-run")[1] == (
        "decode with the current weights, which costs nothing; $0.00 of $5.00 are spent, at most $5.00 come after it\n"
    )
    with served(campaign / "market"):
        with pytest.raises(StopError):
            make_loop(campaign, stop_at=["make"]).run()
        before = files(campaign)
        said = run(capsys, "loop", campaign, "--dry-run")[1]
        made = re.match(
            r"make and publish a batch of (\d+ hits) with \d+ answers for (.*); \$0.00 of \$5.00", said
        )
        assert files(campaign) == before
        said = run(capsys, "loop", campaign, "--dry-run", "--budget", "0.01")[1]
        assert said == "tune; $0.00 of $0.01 are spent\n"
        with pytest.raises(StopError):
            make_loop(campaign, stop_at=["publish"]).run()
        said = run(capsys, "loop", campaign, "--dry-run")[1]
        hits, cost = made.groups()
        assert said == f"publish {campaign}/batches/1: {hits} for {cost}; $0.00 of $5.00 are spent\n"
        code, out, _ = run(capsys, "loop", campaign, "--yes", "-q")
        last = out.splitlines()
        assert (code, last[0].split()[:3]) == (0, ["iteration", "candidates", "new"])
        assert last[2].split()[:3] == ["1", "30", "30"]
        assert last[3].split()[:4] == ["2", "60", "30", "-"]
        assert re.match(r"stopped: 1 iteration is done; \$1.\d\d of \$5.00 spent; best weights: ", last[4])
        assert "SIMULATED" not in out
        said = run(capsys, "loop", campaign, "--dry-run")[1]
        assert said == "nothing: 1 iteration is done\n"


def test_it_asks_before_it_spends(capsys, tmp_path, monkeypatch):
    campaign = make_campaign(tmp_path / "campaign")
    monkeypatch.setattr("sys.stdin", open("/dev/null"))  # noqa: SIM115
    code, out, err = run(capsys, "loop", campaign)
    assert (code, out) == (130, "")
    assert f"Spend up to $5.00 on the market in {campaign}/market? [y/N]" in err
    assert not (campaign / "lists").exists()
    code, out, err = run(capsys, "loop", campaign, "--budget", "0")
    assert (code, err.count("Spend up to")) == (0, 0)  # there is nothing to spend
    assert "stopped: the budget is spent; $0.00 of $0.00 spent" in out


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--budget", "much"], 2, "expected an amount of money such as 12.00, got 'much'"),
        (["--once", "--serve"], 2, "--once cannot be combined with other options"),
        (["--plot", "x.txt"], 1, "expected a name ending in .svg, .png, .pdf"),
        (["-o", "nowhere/w"], 1, "its folder does not exist"),
        (["-o", "-"], 2, "not standard output"),
    ],
)
def test_mistakes(capsys, tmp_path, monkeypatch, options, code, message):
    monkeypatch.chdir(tmp_path)
    found, out, err = run(capsys, "loop", make_campaign(tmp_path / "campaign"), "--yes", *options)
    assert (found, out) == (code, "")
    assert message in err


def test_a_killed_loop_takes_its_market_with_it(tmp_path):
    campaign = make_campaign(tmp_path / "campaign", labels=30)
    with served(campaign / "market"):
        pass  # so that the market has a port of its own
    with started(campaign, "--serve") as process:
        assert watch(process, campaign, "waiting for workers")[0] == -signal.SIGKILL
    for _ in range(100):
        if not is_served(campaign / "market"):
            return
    raise AssertionError("the market is still served")
