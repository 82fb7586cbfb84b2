"""A market on loopback for tests: the real application and the real client."""

import threading
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from store_lives import available

from hits.batch.folder import new_settings, read_batch, write_batch
from hits.batch.systems import make_system_batch
from hits.market.client import connect
from hits.records import Kind
from hits.server.app import make_app
from rypt.records import Segment


class _Quiet(WSGIRequestHandler):
    def log_message(self, *_):
        pass


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    request_queue_size = 128


@contextmanager
def served_app(app):
    """The URL of an application on a loopback port."""
    server = make_server("127.0.0.1", 0, app, server_class=_Server, handler_class=_Quiet)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def made_batch(folder, size=12, assignments=3):
    """A batch of comparisons, written to a folder."""
    segments = [Segment(str(i), f"Satz {i}") for i in range(size)]
    outputs = {name: {s.id: f"sentence {s.id} by {name}" for s in segments} for name in ("x", "y")}
    settings = new_settings(
        Kind.COMPARISON, seed=1, now=datetime(2026, 1, 1, tzinfo=UTC), assignments=assignments
    )
    write_batch(folder, make_system_batch(segments, outputs, settings, control_share=0.1))
    return read_batch(folder)


@contextmanager
def local_market(folder):
    """The client of a market whose file is in a folder, and its store."""
    app = make_app(folder)
    market = app.extensions["market"]
    with market.store, served_app(app) as url:
        access = market.access
        yield connect(url, access.access_key, access.secret_key, "local"), market.store


def work(store, name, answer, hits=None):
    """A worker does all hits there are, or some; ``answer`` gives the fields for a hit."""
    worker = store.people.by_token(store.people.invite(name, int(time.time())).token)
    now = int(time.time())
    done = 0
    for hit in available(store, worker.id, now):
        if hits is not None and hit["HITId"] not in hits:
            continue
        assignment = store.work.accept(worker.id, hit["HITId"], now)
        store.work.submit(assignment["AssignmentId"], worker.id, answer(hit), now + 9)
        done += 1
    return worker.id, done
