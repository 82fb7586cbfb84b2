"""``rypt hits``: the whole way from a campaign to judgments, on a market that is really served."""

import csv
import json
import shutil
import signal
import subprocess
import sys

import pytest
from commands import run
from local_market import work

from hits.server.store import Store


@pytest.fixture
def campaign(demo_campaign, tmp_path):
    shutil.copytree(demo_campaign, tmp_path / "campaign")
    return tmp_path / "campaign"


@pytest.fixture
def market(tmp_path):
    """A served market; its one line of JSON, and how it ends."""
    code = "from rypt.cli import main; main()"
    command = [sys.executable, "-c", code, "hits", "serve", str(tmp_path / "market"), "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=180) == 0


@pytest.mark.slow
def test_from_a_campaign_to_judgments(capsys, campaign, market, tmp_path):
    batch, at = tmp_path / "batch", ["--market", tmp_path / "market"]
    assert set(market) == {"url", "access_key", "secret_key", "dashboard_url", "shared_url"}
    made = json.loads(
        run(
            capsys,
            "hits",
            "make",
            campaign,
            "-o",
            batch,
            "--limit",
            12,
            "--json",
            "--reference-alignment",
            campaign / "reference.align",
        )[1]
    )
    size = made["hits"]
    assert made["answers"] >= 12  # and controls
    published = json.loads(run(capsys, "hits", "publish", batch, *at, "--yes", "--json")[1])
    assert (published["published"], published["already"]) == (size, 0)
    links = json.loads(run(capsys, "hits", "invite", "Ada", "Bob", *at, "--json")[1])
    assert [person["name"] for person in links] == ["Ada", "Bob"]
    assert all(person["link"].startswith(market["url"] + "w/") for person in links)

    with Store(tmp_path / "market" / "market.db") as store:
        worker, done = work(store, "Ada", lambda hit: {f"label_{i}": "NO" for i in range(1, 11)})
    assert done == size
    told = json.loads(run(capsys, "hits", "status", "-C", campaign, "--batch", batch, *at, "--json")[1])
    assert (told["hits"], told["of"]["hits"], list(told["published"].values())) == (0, size, [size])
    assert told["market"] == {
        "published": size,
        "assignable": 0,
        "places": size,
        "open": 0,
        "pending": 0,
        "submitted": size,
        "reviewed": 0,
    }
    before = json.loads(run(capsys, "check", campaign, "--json")[1])
    code, out, err = run(capsys, "hits", "collect", batch, "-C", campaign, *at, "--json")
    assert code == 0, err
    added = json.loads(out)
    assert (added["assignments"], added["left_out"]) == (size, 0)
    assert added["judgments"] > 0
    after = json.loads(run(capsys, "check", campaign, "--json")[1])
    assert after["judgments"] == before["judgments"] + added["judgments"]
    assert (
        json.loads(run(capsys, "hits", "collect", batch, "-C", campaign, *at, "--json")[1])["assignments"]
        == 0
    )

    status = json.loads(run(capsys, "hits", "status", "-C", campaign, "--json")[1])
    assert (status["hits"], status["workers"], status["no"]) == (size, 1, 1.0)
    assert status["labels"] == added["judgments"]
    (report,) = json.loads(run(capsys, "hits", "workers", "-C", campaign, *at, "--json")[1])
    assert (report["worker"], report["name"], report["shares"]["NO"]) == (worker, "Ada", 1.0)
    assert f"{worker} Ada" in run(capsys, "hits", "workers", "-C", campaign, *at)[1]
    again = run(capsys, "hits", "publish", batch, *at)  # nothing is left, so nothing is asked
    assert again == (0, f"0 hits published, {size} already there\n", "")

    assert (
        run(capsys, "hits", "workers", "-C", campaign, "--exclude", worker, "--reason", "NO to all")[0] == 0
    )
    assert json.loads(run(capsys, "hits", "workers", "-C", campaign, "--json")[1])[0]["excluded"]

    assert run(capsys, "export", campaign, "--results", "-o", tmp_path / "results.csv")[0] == 0
    with open(tmp_path / "results.csv", newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    rows[0]["Approve"], rows[1]["Reject"] = "x", "NO to all"
    with open(tmp_path / "reviewed.csv", "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    code, out, err = run(capsys, "hits", "review", tmp_path / "reviewed.csv", *at)
    assert (code, out) == (0, "1 approved, 1 rejected, 0 so already\n")
    assert "`rypt hits collect BATCH -C CAMPAIGN` brings these decisions into the campaign" in err
    assert run(capsys, "hits", "review", tmp_path / "reviewed.csv", *at) == (
        0,
        "0 approved, 0 rejected, 2 so already\n",
        "",
    )
    behind = "note: on the market, 2 assignments came or changed since the last `rypt hits collect`"
    assert behind in run(capsys, "hits", "workers", "-C", campaign, *at)[2]
    assert (
        run(capsys, "hits", "collect", batch, "-C", campaign, *at)[1]
        == f"0 assignments added, {size} already there\n"
    )
    assert run(capsys, "hits", "workers", "-C", campaign, *at)[2] == ""
    assert run(capsys, "hits", "workers", "-C", campaign, "--bonus", "20%", *at, "--yes", "--json")[0] == 0
    assert run(capsys, "hits", "publish", batch, "--end", *at)[1] == f"{size} hits ended\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["publish", "BATCH", "--market", "nowhere", "--yes"], 1, "nowhere: there is no market here"),
        (["collect", "BATCH", "-C", "CAMPAIGN", "--token-file", "x"], 2, "rypt hits recruit"),
        (["invite", "Ada", "--market", "mturk"], 2, "expected its folder"),
        (["make", "CAMPAIGN", "-o", "BATCH"], 1, "expected a new or empty folder"),
        (
            ["make", "CAMPAIGN", "-o", "new", "--kind", "comparison"],
            1,
            "expected the outputs of at least 2 systems",
        ),
        (
            ["make", "CAMPAIGN", "-o", "new", "--kind", "ranking", "--output-of", "x"],
            2,
            "expected SYSTEM=FILE",
        ),
        (["workers", "-C", "CAMPAIGN", "--bonus", "many"], 2, "expected a share such as 20%"),
        (["invite", "--revoke"], 2, "needs names"),
    ],
)
def test_mistakes(capsys, campaign, tmp_path, monkeypatch, arguments, code, message):
    monkeypatch.chdir(tmp_path)
    run(capsys, "hits", "make", campaign, "-o", tmp_path / "BATCH", "--limit", 2, "-q")
    found, out, err = run(capsys, "hits", *[str(campaign) if a == "CAMPAIGN" else a for a in arguments])
    assert (found, out) == (code, "")
    assert message in err
    assert not (tmp_path / "new").exists()


@pytest.mark.slow
def test_spending_asks_first(capsys, campaign, market, tmp_path, monkeypatch):
    run(capsys, "hits", "make", campaign, "-o", tmp_path / "batch", "--limit", 2, "-q")
    monkeypatch.setattr("sys.stdin", open("/dev/null"))  # noqa: SIM115
    code, out, err = run(capsys, "hits", "publish", tmp_path / "batch", "--market", tmp_path / "market")
    assert (code, out) == (1, "")
    assert err == (
        "rypt: Publish 2 hits for $0.09 on local? There is no terminal to ask on; say --yes if it is meant\n"
    )


def test_trueskill_chooses_what_to_compare(capsys, campaign, tmp_path):
    lines = (campaign / "reference.en").read_text().splitlines()
    options = []
    for i, name in enumerate("xyz"):
        (tmp_path / name).write_text("".join(f"{line}{' indeed' * i}\n" for line in lines))
        options += ["--output-of", f"{name}={tmp_path / name}"]
    chosen = ["--kind", "comparison", "--select", "trueskill", "--controls", 0]
    made = run(
        capsys, "hits", "make", campaign, "-o", tmp_path / "batch", *chosen, "--limit", 9, *options, "--json"
    )
    assert made[0] == 0, made[2]
    assert json.loads(made[1])["hits"] == 9
    with open(tmp_path / "batch" / "batch.csv", newline="", encoding="utf-8") as stream:
        systems = [{row["system_a"], row["system_b"]} for row in csv.DictReader(stream)]
    assert set().union(*systems) == {"x", "y", "z"}
    code, _, err = run(capsys, "hits", "make", campaign, "-o", tmp_path / "other", *chosen, *options)
    assert code == 2
    assert "expected a limit" in err
