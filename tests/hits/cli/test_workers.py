"""``rypt hits workers``: who can be excluded, and taken back."""

import json
import shutil

import pytest
from answered import assignment
from commands import run
from local_market import work
from loop_world import served

from hits.market.folder import change_access, open_access
from hits.results.answers import Results
from hits.server.store import Store
from rypt.campaign.folder import Campaign


@pytest.fixture
def campaign(demo_campaign, tmp_path):
    shutil.copytree(demo_campaign, tmp_path / "campaign")
    add(tmp_path / "campaign", 1, "A1", hit="H1")
    return tmp_path / "campaign"


def add(campaign, number, worker, **more):
    """A label YES by a worker in the campaign's database."""
    item = {"segment": "0", "start": "0", "stop": "1", "phrase_1": "a"}
    answer = assignment(number, {"label_1": "YES"}, item, worker=worker, **more)
    with Campaign.open(campaign).database(readonly=False) as db:
        Results(db).add([answer])


def test_excluded_and_taken_back(capsys, campaign):
    for option in ("--exclude", "--block", "--include"):
        code, out, err = run(capsys, "hits", "workers", "-C", campaign, "--exclude", "A1", option, "NOSUCH")
        assert (code, out, err.count("\n")) == (1, "", 1)
        assert "worker 'NOSUCH'" in err
    (report,) = json.loads(run(capsys, "hits", "workers", "-C", campaign, "--json")[1])
    assert (report["worker"], report["excluded"]) == ("A1", False)  # nothing was done
    for option, excluded in (("--exclude", True), ("--exclude", True), ("--include", False)):
        code, out, err = run(capsys, "hits", "workers", "-C", campaign, option, "A1", "--json")
        assert code == 0, err
        assert [report["excluded"] for report in json.loads(out)] == [excluded]
    assert run(capsys, "hits", "workers", "-C", campaign, "--include", "A1")[0] == 1


def test_workers_are_named_as_the_table_names_them(capsys, campaign, tmp_path):
    market = tmp_path / "market"
    open_access(market)
    change_access(market, url="http://127.0.0.1:1/")
    with Store(market / "market.db") as store:
        worker = store.people.invite("Ada Lovelace", 0).worker.id
        store.people.enrol("twin", 0)
        store.people.invite("twin", 0)
    add(campaign, 2, worker, hit="H1")
    shown = run(capsys, "hits", "workers", "-C", campaign, "--market", market)[1]
    assert f"{worker} Ada Lovelace" in shown
    options = ["-C", campaign, "--market", market, "--json"]
    code, out, err = run(capsys, "hits", "workers", "--exclude", "Ada Lovelace", *options)
    assert code == 0, err
    assert {report["worker"]: report["excluded"] for report in json.loads(out)} == {"A1": False, worker: True}
    code, _, err = run(capsys, "hits", "workers", "--exclude", "twin", *options)
    assert (code, "2 workers are called twin" in err) == (2, True)


def test_pay_and_rejected_work(capsys, campaign):
    for number, worker, status in (
        (11, "Eli", "Rejected"),
        (12, "Eli", "Rejected"),
        (13, "Ada", "Approved"),
        (14, "Ada", "Submitted"),
        (15, "Ada", "Rejected"),
    ):
        add(campaign, number, worker, status=status, facts={"Reward": "$0.12"})
    code, out, _ = run(
        capsys, "hits", "workers", "-C", campaign, "--exclude", "Eli", "--exclude", "Ada", "--json"
    )
    assert code == 0
    rows = {row["worker"]: (row["pay"], row["rejected"], row["excluded"]) for row in json.loads(out)}
    assert rows == {"Ada": ("0.24", 1, True), "Eli": ("0.00", 2, True), "A1": ("0.00", 0, False)}
    code, out, err = run(capsys, "hits", "workers", "-C", campaign, "--include", "Eli", "--include", "Ada")
    assert code == 0
    assert "note: Eli is not excluded any more, but 2 of 2 assignments rejected" in err
    lines = {line.split()[0]: line for line in out.splitlines()}
    assert "  rejected  " in lines["Eli"]
    assert "  too few  " in lines["Ada"]
    assert "1 of 3 assignments rejected" in lines["Ada"]
    add(campaign, 16, "Eli", status="Approved")
    assert "  rejected  " not in run(capsys, "hits", "workers", "-C", campaign)[1]


@pytest.mark.slow
def test_blocked_paid_and_on_the_payment_sheet(capsys, campaign, tmp_path):
    """On a market: a block and its end, a bonus that is paid once, and the sheet of what is owed."""
    with served(tmp_path / "market"), Store(tmp_path / "market" / "market.db") as store:
        batch = tmp_path / "batch"
        at = ["--market", tmp_path / "market"]
        run(capsys, "hits", "make", campaign, "-o", batch, "--limit", 3, "-q")
        run(capsys, "hits", "publish", batch, *at, "--yes", "-q")
        worker, done = work(store, "Ada", lambda hit: {"label_1": "YES"})
        command = ["hits", "workers", "-C", campaign, *at, "-q"]
        run(capsys, "hits", "collect", batch, "-C", campaign, *at, "-q")
        sheet = run(capsys, *command, "--csv", "-")[1].splitlines()
        assert sheet[0] == "name,pages,hours,pay"
        assert f"Ada,{done},{9 * done / 3600:.2f}," in [line[: len(f"Ada,{done},0.00,")] for line in sheet]
        for _ in range(2):
            code, _, err = run(capsys, *command, "--bonus", "Ada=0.50", "--reason", "thanks", "--yes")
            assert code == 0, err
        run(capsys, "hits", "collect", batch, "-C", campaign, *at, "-q")
        rows = json.loads(run(capsys, *command, "--json")[1])
        before = float(next(line for line in sheet if line.startswith("Ada")).split(",")[3])
        assert [float(row["pay"]) for row in rows if row["name"] == "Ada"] == [pytest.approx(before + 0.5)]
        for option, blocked in (("--block", True), ("--unblock", False)):
            assert run(capsys, *command, option, "Ada")[0] == 0
            assert (worker in {block["WorkerId"] for block in store.people.blocks()}) == blocked
        for bonus, message in (
            ("Ada=much", "an amount of dollars"),
            ("Bob=1", "collected work"),
            ("x", "such as 20%"),
        ):
            code, _, err = run(capsys, *command, "--bonus", bonus, "--yes")
            assert (code, message in err) == (2, True)
