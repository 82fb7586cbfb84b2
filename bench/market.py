"""How fast the local market takes answers: durable submissions a second beside the same server's static page.

    python bench/market.py [--workers 8] [--hits 150]
    python bench/market.py --growth

One server on loopback, one run. A submission is the whole request of a worker: cookie and form checked, the page's
answers checked, one commit with the answer forced to disk, the next hit accepted in a second commit, then the
redirect to it. The goal is a ratio of at least 1:5. ``--growth`` publishes and collects 500 and 5,000 hits with three
assignments each, through the client, and prints how time and memory grow.
"""

import argparse
import http.client
import json
import re
import resource
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter, time
from urllib.parse import urlencode, urlsplit

from hits.batch.folder import new_settings, read_batch, write_batch
from hits.batch.page import question_xml
from hits.batch.systems import make_comparison_batch
from hits.market.client import connect
from hits.market.collect import collect_into
from hits.market.publish import publish
from hits.records import Kind
from hits.results.answers import Results
from hits.server.store import Store
from rypt.database.judgments import JudgmentDatabase
from rypt.records import Segment

RADIO = '<fieldset><p>{text}</p><label><input type="radio" name="label_{n}" value="YES" required>YES</label></fieldset>'
SERVE = """
import json, sys
from dataclasses import asdict
from hits.server.app import serve
serve(sys.argv[1], "127.0.0.1", 0, lambda info: print(json.dumps(asdict(info)), flush=True))
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


def growth(sizes: tuple[int, ...] = (500, 5000), assignments: int = 3) -> None:
    """Publish and collect batches of comparisons through boto3; the workers' part is done in the store."""
    first = None
    for size in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            segments = [Segment(str(i), f"Satz {i}") for i in range(size)]
            outputs = {
                system: {s.id: f"sentence {s.id} by {system}" for s in segments} for system in ("x", "y")
            }
            settings = new_settings(Kind.COMPARISON, seed=1, now=datetime.now(UTC), assignments=assignments)
            write_batch(folder / "batch", make_comparison_batch(segments, outputs, settings, control_share=0))
            batch = read_batch(folder / "batch")
            with subprocess.Popen(
                [sys.executable, "-c", SERVE, name], stdout=subprocess.PIPE, text=True
            ) as process:
                assert process.stdout is not None
                info = json.loads(process.stdout.readline())
                market = connect(info["endpoint_url"], info["access_key"], info["secret_key"], "local")
                start = perf_counter()
                publish(batch, market)
                published = perf_counter() - start
                answer_all(folder, assignments)
                start = perf_counter()
                with JudgmentDatabase(folder / "judgments.db") as db:
                    added = collect_into(Results(db), batch, folder / "batch", market)
                collected = perf_counter() - start
                process.terminate()
        assert added.comparisons == size * assignments
        client, server = (
            resource.getrusage(who).ru_maxrss / 1024
            for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        )
        first = first or (published / size, collected / size)
        print(
            f"{size} hits × {assignments}: publish {published:.1f} s ({1000 * published / size:.1f} ms a hit, "
            f"{published / size / first[0]:.2f} times), collect {collected:.1f} s ({1000 * collected / size:.1f} ms a "
            f"hit, {collected / size / first[1]:.2f} times); at most {client:.0f} MB in the client, {server:.0f} MB in "
            "the server",
            flush=True,
        )


def answer_all(folder: Path, workers: int) -> None:
    now = int(time())
    with Store(folder / "market.db") as store:
        for number in range(workers):
            worker = store.people.invite(f"worker {number}", now).worker.id
            while (assignment := store.open_hits.accept_next(worker, "", now)) is not None:
                store.work.submit(assignment, worker, {"choice": "A"}, now + 9)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--hits", type=int, default=150, help="submissions of each worker")
    parser.add_argument("--growth", action="store_true", help="publish and collect 500 and 5,000 hits")
    options = parser.parse_args()
    if options.growth:
        growth()
        return
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
