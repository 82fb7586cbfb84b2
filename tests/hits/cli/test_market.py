"""``rypt hits serve`` and ``invite``, and which market a command means."""

import json
import signal
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

pytestmark = pytest.mark.slow

SERVE = [sys.executable, "-c", "from rypt.cli import main; main()", "hits", "serve", "--port", "0"]


@pytest.fixture
def at(tmp_path):
    """The folder of a market that was served, and is not any more."""
    open_access(tmp_path / "market")
    change_access(tmp_path / "market", url="http://127.0.0.1:1/")
    return tmp_path / "market"


@pytest.fixture
def invite(capsys, at):
    return lambda *arguments: run(capsys, "hits", "invite", *arguments, "--market", at)


def test_invitations_name_the_worker(invite, at, tmp_path):
    (tmp_path / "names.csv").write_text("name,email\nAda,a@example.org\n\nBob,b@example.org\n")
    code, out, err = invite("Cem", "--bulk", tmp_path / "names.csv", "--country", "de")
    assert code == 0
    assert "no work to give now" in err
    assert f"dashboard: {read_access(at).dashboard_url}" in err
    assert f"does not answer; `rypt hits serve {at}` serves it" in err
    rows = [line.split("\t") for line in out.splitlines()]
    assert [row[0] for row in rows] == ["Cem", "Ada", "Bob"]
    with Store(at / "market.db") as store:
        for name, worker, link in rows:
            found = store.people.by_token(link.rpartition("/")[2])
            assert (found.name, found.id, found.country) == (name, worker, "DE")
        make_hit(store, LifetimeInSeconds=10**10)
    _, out, err = invite("Cem", "Cem", "--json")
    assert [(person["name"], person["worker"]) for person in json.loads(out)] == [("Cem", rows[0][1])]
    assert "no work" not in err
    assert invite()[:2] == (0, "")  # the link to the dashboard alone


def test_links_are_taken_back_by_name_or_id(invite, at):
    people = json.loads(invite("Ada", "Bob", "Cem", "--json")[1])
    assert invite("Ada")[0] == 0
    assert invite("--revoke", "Ada", people[1]["worker"])[:2] == (0, "3 links revoked\n")
    assert invite("--revoke", "Ada", "--json")[1] == '{"revoked": 0}\n'
    code, out, err = invite("--revoke", "Zoe", "Cem")
    assert (code, out, "no worker 'Zoe'" in err) == (1, "", True)
    with Store(at / "market.db") as store:
        valid = [store.people.by_token(person["link"].rpartition("/")[2]) is not None for person in people]
    assert valid == [False, False, True]


def test_mistakes_make_nothing(capsys, invite, at, tmp_path):
    for country in ("Germany", "D", "", "4A", "ÄÖ"):
        code, out, err = invite("Ada", "--country", country)
        assert (code, out, "two letters such as DE" in err) == (2, "", True), country
    code, out, err = run(capsys, "hits", "invite", "Ada", "--market", tmp_path / "typo")
    assert (code, out, "there is no market here" in err, err.count("\n")) == (1, "", True, 1)
    assert not (tmp_path / "typo").exists()
    (at / "market.db").write_bytes(b"SQLite format 3\0" + b"\xa5" * 8192)
    code, out, err = invite("Ada")
    assert (code, out, err.startswith(f"rypt: {at}/market.db: "), err.count("\n")) == (1, "", True, 1)


def test_serve_prints_links_and_refuses_a_second_server(capsys, tmp_path):
    command, pipe = [*SERVE, str(tmp_path / "market"), "--id-parameter", "participant"], subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        lines = dict(process.stdout.readline().split() for _ in range(3))
        err = "".join(process.stderr.readline() for _ in range(2))
        second = run(capsys, "hits", "serve", tmp_path / "market", "--port", "0")
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=180) == ("", "")
    assert list(lines) == ["market", "dashboard", "shared"]
    assert lines["shared"].endswith("?participant=PARTICIPANT")
    assert "Ctrl-C stops the market" in err
    assert second[:2] == (1, "")
    assert f"is served already at {lines['market']}" in second[2]


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
