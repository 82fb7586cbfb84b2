"""How fast the local market takes answers: durable submissions a second beside the same server's static page.

    python bench/market.py [--workers 8] [--hits 150]

One server on loopback, one run. A submission is the whole request of a worker: cookie and form checked, the page's
answers checked, one commit with the answer forced to disk, the next hit accepted in a second commit, then the
redirect to it. The goal is a ratio of at least 1:5.
"""

import argparse
import http.client
import json
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, time
from urllib.parse import urlencode, urlsplit

from hits.batch.page import question_xml
from hits.server.store import Store

RADIO = '<fieldset><p>{text}</p><label><input type="radio" name="label_{n}" value="YES" required>YES</label></fieldset>'
SERVE = """
import json, sys
from dataclasses import asdict
from hits.server.app import serve
serve(sys.argv[1], "127.0.0.1", 0, lambda access: print(json.dumps(asdict(access)), flush=True))
"""


def label_page() -> str:
    """A page of ten alternatives, about as long as those of a label batch."""
    parts = "".join(RADIO.format(n=n, text="the old man sat by the window " * 8) for n in range(1, 11))
    return f"<html lang=en><body><main><form>{parts}<button>Send</button></form></main></body></html>"


def fill_market(folder: Path, workers: int, hits: int) -> list[str]:
    now = int(time())
    with Store(folder / "market.db") as store:
        hit = {
            "Title": "Judge",
            "Description": "Judge",
            "Reward": "0.05",
            "AssignmentDurationInSeconds": 86400,
            "LifetimeInSeconds": 86400,
            "Question": question_xml(label_page()),
        }
        for _ in range(workers * hits + workers):
            store.hits.create(hit, now)
        tokens = []
        for number in range(workers):
            invitation = store.people.invite(f"worker {number}", now)
            store.people.consent(invitation.worker.id, now)
            tokens.append(invitation.token)
    return tokens


class Client:
    """One connection that is kept open."""

    def __init__(self, port: int, token: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.headers = {
            "Cookie": f"rypt_worker=i:{token}",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        self.csrf = ""
        self.place = ""

    def ask(self, method: str, path: str, fields: dict[str, str] | None = None) -> tuple[str, str]:
        self.connection.request(method, path, urlencode(fields) if fields else None, self.headers)
        response = self.connection.getresponse()
        body = response.read().decode()
        if response.status not in (200, 303):
            raise RuntimeError(f"{method} {path}: {response.status}")
        return response.headers.get("Location", ""), body

    def begin(self) -> None:
        self.csrf = re.findall(r'name="csrf" value="([\w-]+)"', self.ask("GET", "/work")[1])[0]
        self.place, _ = self.ask("POST", "/work/next", {"csrf": self.csrf})

    def submit(self) -> None:
        path = self.place.partition("?")[0]
        fields = {"csrf": self.csrf, "assignmentId": path.rpartition("/")[2]}
        self.place, _ = self.ask("POST", path, fields | {f"label_{n}": "YES" for n in range(1, 11)})

    def load_static(self) -> None:
        self.ask("GET", "/static/site.css")

    def load_hit(self) -> None:
        self.ask("GET", self.place)


def rate(clients: list[Client], action: Callable[[Client], None], count: int) -> float:
    """Actions a second, all clients at once, so many each."""

    def loop(client: Client) -> None:
        for _ in range(count):
            action(client)

    threads = [threading.Thread(target=loop, args=[client]) for client in clients]
    start = perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(clients) * count / (perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--hits", type=int, default=150, help="submissions of each worker")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tokens = fill_market(folder, options.workers, options.hits)
        with subprocess.Popen(
            [sys.executable, "-c", SERVE, name], stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            port = urlsplit(json.loads(process.stdout.readline())["url"]).port or 0
            clients = [Client(port, token) for token in tokens]
            for client in clients:
                client.begin()
                client.load_static()
            static = rate(clients, Client.load_static, options.hits)
            pages = rate(clients, Client.load_hit, options.hits)
            submissions = rate(clients, Client.submit, options.hits)
            process.terminate()
        with sqlite3.connect(folder / "market.db") as db:
            stored = db.execute("SELECT count(*) FROM answers").fetchone()[0]
    assert stored == options.workers * options.hits, stored
    print(f"static page   {static:8.0f} a second")
    print(f"hit page      {pages:8.0f} a second")
    print(f"submissions   {submissions:8.0f} a second, {stored} of them on the disk")
    print(f"ratio         1:{static / submissions:.1f} (goal: at least 1:5)")


if __name__ == "__main__":
    main()
