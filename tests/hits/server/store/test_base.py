"""The market's file: private, durable, ours alone; what the database itself refuses."""

import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from store_lives import YES, make_hit, make_worker

from hits.server.store.base import MarketFileError
from hits.server.store.mark import Mark
from hits.server.store.store import Store


def test_the_file_is_private_and_survives_reopening(tmp_path: Path) -> None:
    path = tmp_path / "market.db"
    with Store(path) as store:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        worker = make_worker(store)
    with Store(path) as store:
        assert store.people.find(worker).name == "Ada"


def test_foreign_files_are_left_alone(tmp_path: Path) -> None:
    text, other = tmp_path / "text.db", tmp_path / "other.db"
    text.write_text("not a database, but long enough to look at")
    sqlite3.connect(other).executescript("CREATE TABLE t (x); INSERT INTO t VALUES (1)")
    for path in (text, other, tmp_path / "missing" / "market.db"):
        with pytest.raises(MarketFileError):
            Store(path)
    assert text.read_text().startswith("not a database")


def test_a_newer_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "market.db"
    Store(path).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(MarketFileError, match="another version of rypt"):
        Store(path)


def test_the_database_itself_refuses_what_must_not_happen(store: Store) -> None:
    hit, ada, bob = make_hit(store), make_worker(store), make_worker(store, "Bob")
    assignment = store.work.accept(ada, hit.id, 1)
    insert = "INSERT INTO assignments (id, hit, worker, reward, accepted, deadline) VALUES (?, ?, ?, 5, 1, 9)"

    def attempt(sql: str, *values: str) -> None:
        with pytest.raises(sqlite3.IntegrityError), store.file.writing(2) as db:
            db.execute(sql, values)

    attempt(insert, "3X", hit.id, bob)  # over the maximum
    roomy = make_hit(store, places=2)
    store.work.accept(ada, roomy.id, 1)
    attempt(insert, "3X", roomy.id, ada)  # the same worker again
    attempt("UPDATE assignments SET status = 'approved', approved = 1 WHERE id = ?", assignment.id)
    attempt(
        "UPDATE assignments SET status = 'submitted', submitted = 1, auto_approval = 1 WHERE id = ?",
        assignment.id,
    )
    store.work.submit(assignment.id, ada, YES, 3)
    attempt("INSERT INTO answers VALUES (?, '{}')", assignment.id)
    attempt("UPDATE answers SET fields = '{}' WHERE assignment = ?", assignment.id)
    attempt("DELETE FROM answers WHERE assignment = ?", assignment.id)
    attempt(
        "UPDATE assignments SET status = 'accepted', submitted = NULL, auto_approval = NULL WHERE id = ?",
        assignment.id,
    )
    attempt("UPDATE hits SET max_assignments = 0 WHERE id = ?", hit.id)
    assert store.work.find(assignment.id, 4).answers == YES


CHILD = """
import sys, threading
from decimal import Decimal
from hits.server.store.store import Store
from hits.server.store.hits import NewHit
from hits.server.store.records import HitProperties, RefusedError

store = Store(sys.argv[1])
kind = HitProperties("t", "d", Decimal("0.05"), 600)
hits = [store.hits.create(kind, NewHit("<q/>", 3600, 3), 0).id for _ in range(400)]

def work(number):
    worker = store.people.invite(f"w{number}", 0).worker.id
    for hit in hits:
        try:
            assignment = store.work.accept(worker, hit, 1)
        except RefusedError:
            continue
        store.work.submit(assignment.id, worker, {"who": worker, "hit": hit}, 2)
        sys.stdout.write(f"{assignment.id} {worker} {hit}\\n")
        sys.stdout.flush()

for number in range(6):
    threading.Thread(target=work, args=[number]).start()
"""


def test_what_was_acknowledged_survives_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "market.db"
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    watchdog = threading.Timer(60, child.kill)
    watchdog.start()
    try:
        lines = [child.stdout.readline() for _ in range(40)]
        os.kill(child.pid, signal.SIGKILL)
        lines += child.stdout.readlines()
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
        watchdog.cancel()
    acknowledged = [line.split() for line in lines if line.endswith("\n")]
    assert 40 <= len(acknowledged) < 1200, "the child was to be killed in the middle"
    with Store(path) as store:
        stored = {found.id: found for found in store.work.all(3)}
        for assignment, worker, hit in acknowledged:
            assert stored[assignment].answers == {"who": worker, "hit": hit}
            assert store.work.submit(assignment, worker, {"who": worker, "hit": hit}, 4) == stored[assignment]
        assert (
            len(stored) - len(acknowledged) <= 6
        )  # one a thread may have been stored and not yet acknowledged
        with store.file.reading(3) as db:
            assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
            assert db.execute("SELECT count(*) FROM answers").fetchone()[0] == len(stored)
        for hit in store.hits.all(3):
            found = [one for one in stored.values() if one.hit == hit.id]
            assert hit.submitted == len(found) <= 3


def filled(path: Path) -> None:
    with Store(path) as store:
        hit, worker = make_hit(store), make_worker(store)
        store.work.submit(store.work.accept(worker, hit.id, 1).id, worker, YES, 2)


def test_an_emptied_file_is_not_served_as_an_empty_market(tmp_path: Path) -> None:
    path = tmp_path / "market.db"
    filled(path)
    whole = path.read_bytes()
    path.write_bytes(b"")
    with pytest.raises(MarketFileError, match=r"holds 0 of 4 changes.*market\.db\.mark"):
        Store(path)
    path.unlink()
    with pytest.raises(MarketFileError, match="holds 0 of 4 changes"):
        Store(path)
    assert not path.exists()
    path.write_bytes(whole)
    with Store(path) as store:
        assert len(store.work.all(3)) == 1
    path.unlink()
    (tmp_path / "market.db.mark").unlink()
    with Store(path) as store:
        assert store.hits.all(3) == []


def test_a_file_without_its_log_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "market.db"
    child = "import sys, os; from pathlib import Path; from test_base import filled, Store; "
    child += "store = Store(sys.argv[1]); filled(Path(sys.argv[1])); os._exit(9)"  # the log is not folded in
    here = str(Path(__file__).parent)
    subprocess.run(
        [sys.executable, "-c", child, str(path)],
        check=False,
        timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([here, *sys.path])},
    )
    log = tmp_path / "market.db-wal"
    assert log.stat().st_size > 0
    kept = log.read_bytes()
    log.unlink()
    with pytest.raises(MarketFileError, match="of 4 changes"):
        Store(path)
    assert kept


def test_an_older_backup_is_refused_until_the_mark_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "market.db"
    Store(path).close()
    backup = path.read_bytes()
    filled(path)
    path.write_bytes(backup)
    with pytest.raises(MarketFileError, match="holds 0 of 4 changes"):
        Store(path)
    (tmp_path / "market.db.mark").write_text("damaged")  # says nothing
    Store(path).close()


def test_a_change_made_while_the_file_is_opened_is_no_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "market.db"
    read = Mark.read
    with Store(path) as store:
        make_worker(store)

        def read_after_a_change(mark: Mark) -> int:
            make_worker(store, "Bob")
            return read(mark)

        monkeypatch.setattr(Mark, "read", read_after_a_change)
        with Store(path) as other:
            assert len(list(other.people.all())) == 2
