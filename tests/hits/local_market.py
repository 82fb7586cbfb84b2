"""A market on loopback for tests: the real store, the real endpoint, the real client."""

import threading
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from http import HTTPStatus
from urllib.parse import quote
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from store_lives import available

from hits.batch.folder import new_settings, read_batch, write_batch
from hits.batch.systems import make_system_batch
from hits.market.client import connect
from hits.market.folder import new_keys
from hits.records import Kind
from hits.server.endpoint import MAX_BODY_BYTES, Endpoint
from hits.server.store import Store
from rypt.records import Segment


class _Quiet(WSGIRequestHandler):
    def log_message(self, *_):
        pass


class _Server(WSGIServer):
    daemon_threads = True


def wsgi_app(endpoint, clock):
    """The endpoint as a web application of its own; a body over the limit is refused without reading it."""

    def app(environ, start_response):
        size = environ.get("CONTENT_LENGTH") or "0"
        if not size.isdigit() or int(size) > MAX_BODY_BYTES:
            response = endpoint.refuse_large()
        else:
            headers = {
                name[5:].replace("_", "-"): text for name, text in environ.items() if name.startswith("HTTP_")
            }
            headers["Content-Type"] = environ.get("CONTENT_TYPE", "")
            path = (
                quote(environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", ""), encoding="latin-1")
                or "/"
            )
            response = endpoint.answer(
                headers,
                environ["wsgi.input"].read(int(size)),
                int(clock()),
                path=path,
                query=environ.get("QUERY_STRING", ""),
            )
        start_response(
            f"{response.status} {HTTPStatus(response.status).phrase}", list(response.headers.items())
        )
        return [response.body]

    return app


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
    with Store(folder / "market.db") as store:
        keys = new_keys()
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
