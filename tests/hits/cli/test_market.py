"""``rypt hits serve`` and ``invite``, and which market a command means."""

import json
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from commands import run
from store_lives import make_hit

from hits.cli.shared import find_market
from hits.market.client import MarketAddress, market_address
from hits.market.folder import change_access, open_access, read_access
from hits.server.store import Store

START = "from rypt.cli import main; main()"


@pytest.fixture
def at(tmp_path):
    """The folder of a market that is served."""
    command = [
        sys.executable,
        "-c",
        START,
        "hits",
        "serve",
        str(tmp_path / "market"),
        "--port",
        "0",
        "--json",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            process.stdout.readline()
            yield tmp_path / "market"
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=180) == 0


def test_invitations_name_the_worker(capsys, at, tmp_path):
    (tmp_path / "names.csv").write_text("name,email\nAda,a@example.org\n\nBob,b@example.org\n")
    code, out, err = run(
        capsys, "hits", "invite", "Cem", "--bulk", tmp_path / "names.csv", "--market", at, "--country", "de"
    )
    assert code == 0
    assert "no work to give now; `rypt hits publish` brings some" in err
    rows = [line.split("\t") for line in out.splitlines()]
    assert [row[0] for row in rows] == ["Cem", "Ada", "Bob"]
    with Store(at / "market.db") as store:
        for name, worker, link in rows:
            found = store.people.by_token(link.rpartition("/")[2])
            assert (found.name, found.id, found.country) == (name, worker, "DE")
    again = json.loads(run(capsys, "hits", "invite", "Cem", "Cem", "--market", at, "--json")[1])
    assert [(person["name"], person["worker"]) for person in again] == [("Cem", rows[0][1])]


def test_nothing_is_said_where_there_is_work(capsys, at):
    with Store(at / "market.db") as store:
        make_hit(store, LifetimeInSeconds=10**10)
    assert "no work" not in run(capsys, "hits", "invite", "Ada", "--market", at)[2]


@pytest.mark.parametrize(("options", "shared"), [([], False), (["--id-parameter", "participant"], True)])
def test_serve_says_how_to_stop_it_and_whom_the_shared_link_is_for(tmp_path, options, shared):
    command = [
        sys.executable,
        "-c",
        START,
        "hits",
        "serve",
        str(tmp_path / "market"),
        "--port",
        "0",
        *options,
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        lines = [process.stdout.readline().split()[0] for _ in range(4 if shared else 3)]
        err = "".join(process.stderr.readline() for _ in range(2 if shared else 1))
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=180) == ("", "")
    assert lines == ["market", "dashboard", "endpoint", *(["shared"] if shared else [])]
    assert ("the link to give to the recruiting service" in err) == shared
    assert "Ctrl-C stops the market" in err


def test_links_are_taken_back_by_name_or_id(capsys, at):
    made = json.loads(run(capsys, "hits", "invite", "Ada", "Bob", "Cem", "--market", at, "--json")[1])
    assert run(capsys, "hits", "invite", "Ada", "--market", at)[0] == 0
    assert run(capsys, "hits", "invite", "--revoke", "Ada", made[1]["worker"], "--market", at)[:2] == (
        0,
        "3 links revoked\n",
    )
    assert run(capsys, "hits", "invite", "--revoke", "Ada", "--market", at, "--json")[1] == '{"revoked": 0}\n'
    code, out, err = run(capsys, "hits", "invite", "--revoke", "Zoe", "Cem", "--market", at)
    assert (code, out) == (1, "")
    assert "no worker 'Zoe'" in err
    with Store(at / "market.db") as store:
        valid = [store.people.by_token(person["link"].rpartition("/")[2]) is not None for person in made]
    assert valid == [False, False, True]


def test_the_link_to_the_dashboard_is_printed_and_a_stopped_market_named(capsys, at, tmp_path):
    code, out, err = run(capsys, "hits", "invite", "--market", at)
    assert (code, out, err) == (0, "", f"dashboard: {read_access(at).dashboard_url}\n")
    stopped = tmp_path / "stopped"
    open_access(stopped)
    change_access(stopped, url="http://127.0.0.1:1/")
    code, out, err = run(capsys, "hits", "invite", "--market", stopped)
    assert f"dashboard: {read_access(stopped).dashboard_url}" in err
    assert f"does not answer; `rypt hits serve {stopped}` serves it" in err


def test_a_country_has_two_letters(capsys, at):
    for country in ("Germany", "D", "", "4A", "ÄÖ", "D E"):
        code, out, err = run(capsys, "hits", "invite", "Ada", "--market", at, "--country", country)
        assert (code, out) == (2, ""), country
        assert "two letters such as DE" in err
    with Store(at / "market.db") as store:
        assert store.people.all() == []


def test_a_folder_without_a_market_is_not_made_one(capsys, tmp_path):
    code, out, err = run(capsys, "hits", "invite", "Ada", "--market", tmp_path / "typo")
    assert (code, out) == (1, "")
    assert err == (
        f"rypt: {tmp_path}/typo: there is no market here; start it first with `rypt hits serve {tmp_path}/typo`, "
        "and wait until it prints its address\n"
    )
    assert not (tmp_path / "typo").exists()


def test_a_second_server_of_a_folder_is_refused(capsys, at):
    url = json.loads((at / "market.json").read_text())["url"]
    code, out, err = run(capsys, "hits", "serve", at, "--port", "0")
    assert (code, out, err) == (1, "", f"rypt: {at}: this market is served already at {url}\n")


def test_a_campaign_knows_its_market(capsys, at, tmp_path, monkeypatch):
    """Named by its folder, around a batch, or around the current folder; else the market is the folder ``market``."""
    campaign, batch = tmp_path / "c", tmp_path / "c" / "batches" / "1"
    batch.mkdir(parents=True)
    (campaign / "rypt.toml").write_text('[files]\nsource = "s"\n[market]\nfolder = "../market"\n')
    ours = MarketAddress(folder=at)
    assert market_address(campaign) == market_address(at) == ours
    assert find_market(None, [str(batch)]) == find_market(str(campaign)) == ours
    assert find_market(None).folder == Path("market")
    monkeypatch.chdir(batch)
    assert find_market(None) == ours
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "hits", "invite", "Ada", "--market", "c")[0] == 0
    (campaign / "rypt.toml").write_text('[files]\nsource = "s"\n[market]\nendpoint = "http://127.0.0.1:1/"\n')
    assert market_address(campaign) == MarketAddress(endpoint="http://127.0.0.1:1/")
    for command in (["invite", "Ada", "--market", "c"], ["serve", "c"]):
        assert run(capsys, "hits", *command)[:2] == (2, ""), command


@pytest.mark.parametrize(
    ("place", "endpoint"),
    [
        ("mturk", "https://mturk-requester.us-east-1.amazonaws.com"),
        ("mturk-sandbox", "https://mturk-requester-sandbox.us-east-1.amazonaws.com"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000/"),
    ],
)
def test_other_markets_have_a_name_or_a_link(place, endpoint):
    assert market_address(place) == MarketAddress(endpoint=endpoint)


def test_a_damaged_market_is_named(capsys, at):
    run(capsys, "hits", "invite", *(f"worker {n}" for n in range(100)), "--market", at)
    with sqlite3.connect(at / "market.db") as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    data = (at / "market.db").read_bytes()
    for suffix in ("-wal", "-shm"):
        (at / f"market.db{suffix}").unlink(missing_ok=True)
    (at / "market.db").write_bytes(data[:4096] + b"\xa5" * (len(data) - 4096))
    code, out, err = run(capsys, "hits", "invite", "Ada", "--market", at)
    assert (code, out) == (1, "")
    assert err.startswith(f"rypt: {at}/market.db: ")
    assert err.count("\n") == 1
