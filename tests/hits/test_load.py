"""Fifty workers at once, a server killed in the middle: every acknowledged answer is there once, and none too many."""

import http.client
import json
import re
import signal
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, time
from urllib.parse import urlencode, urlsplit

import pytest

from hits.batch.page import question_xml
from hits.server.store import Store

WORKERS, HITS_EACH, PLACES = 50, 20, 2
PAGE = '<form><input type="radio" name="label_1" value="YES" required><input name="comment"><button>Send</button></form>'
SERVE = """
import json, sys
from dataclasses import asdict
from hits.server.app import serve
serve(sys.argv[1], "127.0.0.1", int(sys.argv[2]), lambda access: print(json.dumps(asdict(access)), flush=True))
"""


def start(folder: Path, port: int = 0) -> tuple[subprocess.Popen[str], int]:
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE, str(folder), str(port)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, urlsplit(json.loads(process.stdout.readline())["url"]).port or 0


@dataclass
class Crowd:
    """What all workers share, and what the server has acknowledged to them: assignment → answer."""

    port: int
    deadline: float
    acknowledged: dict[str, str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    half: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)


class Person:
    """One worker with a connection of their own, who tries again for as long as the server is away."""

    def __init__(self, crowd: Crowd, token: str, number: int) -> None:
        self.crowd = crowd
        self.cookie = f"rypt_worker=i:{token}"
        self.number = number
        self.done = 0
        self.connection: http.client.HTTPConnection | None = None

    def ask(self, method: str, path: str, fields: dict[str, str] | None = None) -> tuple[int, str, str]:
        """Status, location and body; a request that got no answer is sent again."""
        body = urlencode(fields) if fields else None
        headers = {"Cookie": self.cookie, "Content-Type": "application/x-www-form-urlencoded"}
        while monotonic() < self.crowd.deadline:
            try:
                if self.connection is None:
                    self.connection = http.client.HTTPConnection("127.0.0.1", self.crowd.port, timeout=180)
                self.connection.request(method, path, body, headers)
                response = self.connection.getresponse()
                return response.status, response.headers.get("Location", ""), response.read().decode()
            except (OSError, http.client.HTTPException):
                if self.connection is not None:
                    self.connection.close()
                self.connection = None
                threading.Event().wait(0.05)  # the server is away
        raise TimeoutError(f"worker {self.number} had {self.done} answers when the time was over")

    def work(self) -> None:
        try:
            home = self.ask("GET", "/work")[2]
            csrf = re.findall(r'name="csrf" value="([\w-]+)"', home)[0]
            _, place, _ = self.ask("POST", "/work/next", {"csrf": csrf})
            while self.done < HITS_EACH and (found := re.search(r"/work/a/([A-Z0-9]+)", place)):
                assignment, text = found[1], f"{self.number}-{self.done}"
                fields = {"csrf": csrf, "assignmentId": assignment, "label_1": "YES", "comment": text}
                status, place, body = self.ask("POST", f"/work/a/{assignment}", fields)
                assert status == 303, (status, body[-500:])
                self.done += 1
                with self.crowd.lock:
                    assert assignment not in self.crowd.acknowledged
                    self.crowd.acknowledged[assignment] = text
                    if len(self.crowd.acknowledged) * 2 > WORKERS * HITS_EACH:
                        self.crowd.half.set()
        except Exception as error:
            self.crowd.failures.append(f"worker {self.number}: {error!r}")
            self.crowd.half.set()


def prepare(folder: Path) -> list[str]:
    """Hits with two places each, fewer than the workers would take, and the workers' tokens."""
    now = int(time())
    folder.mkdir()
    with Store(folder / "market.db") as store:
        hit = {
            "Title": "Judge",
            "Description": "Judge",
            "Reward": "0.05",
            "AssignmentDurationInSeconds": 3600,
            "LifetimeInSeconds": 86400,
            "MaxAssignments": PLACES,
            "Question": question_xml(PAGE),
        }
        for _ in range(WORKERS * HITS_EACH // PLACES):
            store.hits.create(hit, now)
        tokens = []
        for number in range(WORKERS):
            invitation = store.people.invite(f"worker {number}", now)
            store.people.consent(invitation.worker.id, now)
            tokens.append(invitation.token)
    return tokens


@pytest.mark.slow
def test_fifty_workers_and_a_killed_server(tmp_path: Path) -> None:
    folder = tmp_path / "market"
    tokens = prepare(folder)
    process, port = start(folder)
    crowd = Crowd(port, monotonic() + 180)
    people = [Person(crowd, token, number) for number, token in enumerate(tokens)]
    threads = [threading.Thread(target=person.work) for person in people]
    try:
        for thread in threads:
            thread.start()
        assert crowd.half.wait(180)
        process.send_signal(signal.SIGKILL)
        process.wait(180)
        before = len(crowd.acknowledged)
        process, _ = start(folder, port)
        for thread in threads:
            thread.join(180)
    finally:
        process.terminate()
        assert process.wait(180) == 0
    assert crowd.failures == []
    assert WORKERS * HITS_EACH // 2 < before < WORKERS * HITS_EACH  # it was killed in the middle
    assert len(crowd.acknowledged) == sum(person.done for person in people)
    check(folder / "market.db", crowd.acknowledged)


def check(path: Path, acknowledged: dict[str, str]) -> None:
    """Read the file with nothing of ours in between."""
    with sqlite3.connect(path) as db:
        stored = {
            assignment: json.loads(fields)["comment"]
            for assignment, fields in db.execute("SELECT * FROM answers")
        }
        rows = db.execute(
            "SELECT AssignmentId, HITId, WorkerId, AssignmentStatus FROM assignments"
        ).fetchall()
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert stored == acknowledged
    live = [row for row in rows if row[3] in ("Accepted", "Submitted")]
    assert {row[0] for row in live if row[3] == "Submitted"} == acknowledged.keys()
    assert max(Counter(row[1] for row in live).values()) <= PLACES
    assert max(Counter((row[1], row[2]) for row in live).values()) == 1
    assert (
        len(acknowledged) >= WORKERS * HITS_EACH - WORKERS
    )  # near the end a worker may have done all that is left
