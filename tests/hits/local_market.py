"""A market on loopback for tests: the real store, the real endpoint, the real client."""

import threading
import time
from contextlib import contextmanager
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from hits.market.client import connect
from hits.server.protocol.endpoint import Endpoint, market_keys, wsgi_app
from hits.server.store.store import Store


class _Quiet(WSGIRequestHandler):
    """Closes each connection after one request, so tells of none: every call must have a signature of its own."""

    def log_message(self, *_):
        pass


class _Server(WSGIServer):
    daemon_threads = True


@contextmanager
def local_market(folder):
    """The client of a market whose file is in a folder, and its store."""
    with Store(folder / "market.db") as store:
        keys = market_keys(store)
        app = wsgi_app(Endpoint(store, keys), time.time)
        server = make_server("127.0.0.1", 0, app, server_class=_Server, handler_class=_Quiet)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_port}/"
            yield connect(url, keys.access_key, keys.secret_key, "local"), store
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


def work(store, name, answer, hits=None):
    """A worker does all hits there are, or some; ``answer`` gives the fields for a hit."""
    worker = store.worker_by_token(store.invite(name, int(time.time())).token)
    now = int(time.time())
    done = 0
    for hit in store.available_hits(worker.id, now, limit=10_000):
        if hits is not None and hit.id not in hits:
            continue
        assignment = store.accept(worker.id, hit.id, now)
        store.submit(assignment.id, worker.id, answer(hit), now + 9)
        done += 1
    return worker.id, done
