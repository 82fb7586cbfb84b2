"""Campaigns, databases, batches, markets and tuning runs of version 0.1.0 open, and work goes on where it stopped."""

import json
import re
import sqlite3
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest
from commands import run
from loop_world import make_loop, served, work
from store_lives import available

from hits.server.store.store import Store

HERE = Path(__file__).resolve().parent
WRITTEN = range(1_790_000_000, 1_800_000_000)  # seconds since 1970: when the folders were made


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    """All folders, as if they had been made just now: hits of those days would be expired."""
    with tarfile.open(HERE / "folders.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    entries = (tmp_path / "looped/loop.jsonl").read_text().splitlines()
    later = int(time.time()) - max(json.loads(entry)["time"] for entry in entries)
    for database in tmp_path.rglob("*.db"):
        shift_times(database, later)
    for path in tmp_path.rglob("*.jsonl"):
        shifted = re.sub(
            r"\b179\d{7}\b", lambda found: str(int(found[0]) + later), path.read_text(encoding="utf-8")
        )
        path.write_text(shifted, encoding="utf-8")
    return tmp_path


def shift_times(database: Path, later: int) -> None:
    """Add seconds to every number that is a time."""
    with sqlite3.connect(database) as connection:
        tables = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE %'"
        )
        for (table,) in tables.fetchall():
            for column in [row[1] for row in connection.execute(f"PRAGMA table_info([{table}])")]:
                connection.execute(
                    f"UPDATE [{table}] SET [{column}] = [{column}] + ? WHERE typeof([{column}]) = 'integer'"
                    f" AND [{column}] BETWEEN ? AND ?",
                    (later, WRITTEN.start, WRITTEN.stop),
                )
    connection.close()


@pytest.fixture
def expected(folders: Path) -> dict[str, Any]:
    return json.loads((folders / "expected.json").read_text(encoding="utf-8"))


def test_a_campaign_has_the_status_it_had(folders, expected, capsys, monkeypatch):
    monkeypatch.chdir(folders)
    code, out, err = run(capsys, "status", "asked", "--json")
    assert (code, err) == (0, "")
    status = json.loads(out)
    assert status.pop("waiting") > 0  # which 0.1.0 did not count
    status["next"]["command"] = status["next"]["command"].removesuffix(" -C asked")  # for the dashboard
    assert status == expected["status"]


def test_answers_are_collected_once_and_count(folders, expected, capsys, monkeypatch):
    monkeypatch.chdir(folders)
    with served(folders / "asked/market"):
        for kind in ("labels", "pairs", "fives"):
            collect = ["hits", "collect", f"asked/batches/{kind}", "-C", "asked", "--at", "asked/market"]
            code, out, err = run(capsys, *collect, "--json", "-q")
            assert (code, json.loads(out)) == (0, expected[kind]), err
        code, out, err = run(
            capsys, "hits", "publish", "asked/batches/pairs", "--at", "asked/market", "--yes", "--json"
        )
        assert (json.loads(out)["published"], json.loads(out)["already"]) == (0, 5), err
    ranked = json.loads(run(capsys, "rank", "systems", "asked", "-m", "expected-wins", "--json", "-q")[1])
    assert [row["system"] for row in ranked["systems"]] == [
        row["system"] for row in expected["ranking"]["systems"]
    ]
    assert json.loads(run(capsys, "score", "asked", "--json")[1])["score"] == pytest.approx(expected["score"])
    assert run(capsys, "db", "export", "asked/judgments.db")[1].count('"label"') == expected["judgments"]
    assert run(capsys, "db", "check", "asked/judgments.db")[0] == 0


def test_a_market_knows_its_people_and_their_work(folders):
    now = int(time.time())
    with Store(folders / "asked/market/market.db") as store:
        workers = {worker.name: worker.id for worker in store.people.all()}
        assert set(workers) == {"Ada", "Bob", "Cleo", "Dora"}
        statuses = sorted(assignment.status for assignment in store.work.all(now))
        assert [statuses.count(status) for status in ("approved", "rejected")] == [1, 1]
        assert len(store.hits.all(0, limit=100)) == 17
        assert work_of(store, workers["Dora"], now) > 0
        assert available(store, workers["Cleo"], now) == []  # she is blocked


def work_of(store: Store, worker: str, now: int) -> int:
    """A worker of 0.1.0 goes on: takes what there is, and sends it."""
    store.people.consent(worker, now)
    hits = available(store, worker, now)
    for hit in hits:
        held = store.work.accept(worker, hit.id, now)
        store.work.submit(held.id, worker, {"choice": "A"}, now + 60)
    return len(hits)


def test_a_loop_goes_on_to_the_same_end(folders, monkeypatch):
    """The journal of the whole run, begun by version 0.1.0, is that of `resumed.json`."""
    campaign = folders / "looped"
    monkeypatch.delitem(sys.modules, "loop_decoder")
    with served(campaign / "market"):
        loop = make_loop(campaign, pause=lambda seconds: work(campaign))
        reason = loop.run()
    whole = json.loads((HERE / "resumed.json").read_text(encoding="utf-8"))
    assert reason == whole["stopped"]
    assert [[entry.iteration, entry.step] for entry in loop.journal.entries] == [
        e[:2] for e in whole["journal"]
    ]
    for entry, (_, _, before) in zip(loop.journal.entries, whole["journal"], strict=True):
        for name in ("questions", "open", "hits", "assignments", "missing", "cost", "labels"):
            assert entry.result.get(name) == before.get(name), entry
        for name in ("weights", "decoded", "before", "after", "p"):
            assert entry.result.get(name) == pytest.approx(before.get(name)), entry
    assert loop.best_weights(loop.scores()).name == whole["best"]


def test_a_tuning_run_goes_on_to_the_same_weights(folders, expected, capsys, monkeypatch):
    monkeypatch.chdir(folders / "run")
    first = (folders / "run/work/run1.json").read_bytes()
    code, out, err = run(capsys, *expected["tune"]["arguments"], "--max-iterations", 3)
    assert code == 0, err
    assert json.loads(out)["score"] == pytest.approx(expected["tune"]["score"])
    assert json.loads(out)["weights"] == pytest.approx(expected["tune"]["weights"])
    assert (folders / "run/work/run1.json").read_bytes() == first
