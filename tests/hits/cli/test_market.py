"""``rypt hits`` beside the batch: who is invited, paid, blocked, and which endpoints spend money."""

import json
import signal
import sqlite3
import subprocess
import sys

import pytest
from commands import run
from store_lives import accept, make_hit

from hits.market.client import SANDBOX, spends_money
from hits.market.folder import open_access, read_access, remember_url
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


def done_assignment(at):
    with Store(at / "market.db") as store:
        hit = make_hit(store)
        worker = store.people.invite("Ada", 0).worker.id
        assignment = accept(store, worker, hit)
        store.work.submit(assignment, worker, {"label_1": "YES"}, 9)
    return worker, assignment


def test_invitations_name_the_worker(capsys, at, tmp_path):
    (tmp_path / "names.csv").write_text("name,email\nAda,a@example.org\n\nBob,b@example.org\n")
    code, out, err = run(
        capsys, "hits", "invite", "Cem", "--bulk", tmp_path / "names.csv", "--market", at, "--country", "de"
    )
    assert code == 0
    assert f"no work to give now; `rypt hits publish BATCH --market {at}` brings some" in err
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
    assert run(capsys, "hits", "invite", "Ada", "--market", at)[2] == ""


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


def test_a_link_to_the_dashboard(capsys, at, tmp_path):
    code, out, err = run(capsys, "hits", "dashboard", "--market", at)
    assert (code, out.strip()) == (0, read_access(at).dashboard_url)
    assert err == ""
    stopped = tmp_path / "stopped"
    remember_url(stopped, open_access(stopped), "http://127.0.0.1:1/")
    code, out, err = run(capsys, "hits", "dashboard", "--market", stopped)
    assert (code, out.strip()) == (0, read_access(stopped).dashboard_url)
    assert err == f"note: the market does not answer; `rypt hits serve {stopped}` serves it\n"
    assert run(capsys, "hits", "dashboard", "--market", tmp_path / "typo")[0] == 1


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


def test_a_bonus_is_whole_cents(capsys, at):
    worker, assignment = done_assignment(at)
    for amount in ("0.001", "0", "0.015", "-1", "NaN", "1e-3"):
        code, out, err = run(
            capsys,
            "hits",
            "bonus",
            "--market",
            at,
            "--yes",
            "--reason",
            "x",
            "--",
            worker,
            assignment,
            amount,
        )
        assert code in (1, 2), amount
        assert out == ""
        assert "amount" in err
    with Store(at / "market.db") as store:
        assert store.work.bonuses(10) == []


def test_bonus_block_and_unblock_say_what_was_done(capsys, at):
    worker, assignment = done_assignment(at)
    pay = ["hits", "bonus", worker, assignment, "1.5", "--market", at, "--yes", "--reason", "good work"]
    assert run(capsys, *pay)[:2] == (0, f"$1.50 paid to {worker} for assignment {assignment}\n")
    assert run(capsys, *pay)[:2] == (0, f"$1.50 was paid before to {worker} for assignment {assignment}\n")
    assert run(capsys, "hits", "block", worker, "--market", at, "--reason", "x")[:2] == (
        0,
        f"{worker} is blocked\n",
    )
    with Store(at / "market.db") as store:
        assert [bonus["BonusAmount"] for bonus in store.work.bonuses(10)] == ["1.50"]
        assert store.people.find(worker).blocked == "x"
    assert run(capsys, "hits", "unblock", worker, "--market", at)[:2] == (0, f"{worker} is not blocked\n")
    with Store(at / "market.db") as store:
        assert store.people.find(worker).blocked is None
    code, out, err = run(capsys, "hits", "unblock", "A0", "--market", at)
    assert (code, out) == (1, "")
    assert "there is no worker A0" in err


def test_a_second_server_of_a_folder_is_refused(capsys, at):
    url = json.loads((at / "market.json").read_text())["url"]
    code, out, err = run(capsys, "hits", "serve", at, "--port", "0")
    assert (code, out, err) == (1, "", f"rypt: {at}: this market is served already at {url}\n")


@pytest.mark.parametrize(
    ("endpoint", "spends"),
    [
        ("http://localhost:8000/", False),
        ("http://127.0.0.1:8000", False),
        ("http://127.8.9.1/", False),
        ("http://[::1]:8000/", False),
        (f"https://{SANDBOX}", False),
        (f"https://{SANDBOX.upper()}/", False),
        ("https://mturk-requester.us-east-1.amazonaws.com", True),
        ("https://evil-sandbox.example", True),
        (f"https://{SANDBOX}.example.org", True),
        (f"https://{SANDBOX}@example.org", True),
        ("https://example.org/sandbox", True),
        ("https://localhost.example.org", True),
        ("https://127.0.0.1.example.org", True),
        ("https://example.org/?localhost", True),
        ("http://[::1", True),
        ("localhost", True),
        ("", True),
    ],
)
def test_only_this_machine_and_the_sandbox_are_free(endpoint, spends):
    assert spends_money(endpoint) is spends


def test_a_damaged_market_is_named(capsys, at):
    done_assignment(at)
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
