"""The local market as a web server: the requester's endpoint, the workers' pages and the dashboard in one application.

    serve(folder, "127.0.0.1", 0, ready)      serve until told to stop; `ready` gets its `MarketAccess`
    make_app(folder)                          the WSGI application alone, for another server

Everything is in the folder: ``market.db`` (see `hits.server.store`), ``market.json`` (see `hits.market.folder`), and
``market.lock``, which the serving process holds.
"""

import errno
import logging
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes, urlsplit

from flask import Flask, Response, abort, render_template, request
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge
from werkzeug.middleware.proxy_fix import ProxyFix

from hits.market.folder import (
    STORE_NAME,
    MarketAccess,
    change_access,
    open_access,
    private_folder,
    read_access,
)
from hits.server.endpoint import CONTENT_TYPE, SignedRequest, answer
from hits.server.pages.dashboard import dashboard_routes
from hits.server.pages.texts import PageError
from hits.server.pages.training import quiz_routes, training_routes
from hits.server.pages.visit import page_texts
from hits.server.pages.worker import worker_routes
from hits.server.security import HEADERS, MAX_BODY, MAX_FORM, Seals
from hits.server.settings import ServedMarket, ServeOptions
from hits.server.store import Store
from hits.server.store.records import RefusedError
from rypt.locked_files import lock
from rypt.text import PathLike, RyptError

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

log = logging.getLogger(__name__)
THREADS = 4  # more wait for each other: Python runs one at a time, and so does the file
CONNECTIONS = 500
STATIC_LIFE = 3600
LOCK_NAME = "market.lock"
HOST = re.compile(
    r"(?=.{1,260}$)(?:[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63})*\.?|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?"
)
BROKEN_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")


def make_app(
    folder: PathLike, now: Callable[[], int] | None = None, options: ServeOptions | None = None
) -> Flask:
    """The application of a folder, which is made if it does not exist; ``now`` gives the time in whole seconds."""
    access = open_access(folder)
    path, options = Path(folder), options or ServeOptions()
    clock = now or (lambda: int(time.time()))
    market = ServedMarket(path, Store(path / STORE_NAME), access, options, Seals(access.session_key), clock)
    app = Flask("hits.server.pages")
    app.config.update(MAX_CONTENT_LENGTH=MAX_BODY, MAX_FORM_MEMORY_SIZE=MAX_FORM, MAX_FORM_PARTS=2000)
    app.config["PROVIDE_AUTOMATIC_OPTIONS"] = False
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.extensions["market"] = market
    for routes in (worker_routes, training_routes, quiz_routes, dashboard_routes):
        app.register_blueprint(routes(market))
    _add_endpoint(app, market)
    _add_errors(app)
    app.before_request(_refuse_broken_form)
    app.after_request(_protect)
    app.wsgi_app = _PublicPlace(app.wsgi_app, options)  # type: ignore[method-assign]
    if options.proxy:
        app.wsgi_app = ProxyFix(app.wsgi_app)  # type: ignore[method-assign]
    return app


def _add_endpoint(app: Flask, market: ServedMarket) -> None:
    styles = (files("hits.batch") / "templates" / "hit.css").read_bytes()

    @app.get("/")
    def landing() -> str:
        return render_template("landing.html", t=page_texts())

    @app.post("/")
    def requester() -> Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        path, query = f"{request.script_root}/", request.query_string.decode("latin-1")
        try:
            signed = SignedRequest(headers, request.get_data(), path, query)
        except RequestEntityTooLarge:
            fault = b'{"__type": "RequestEntityTooLargeException", "message": "expected a smaller request"}'
            return Response(fault, 413, content_type=CONTENT_TYPE)
        status, body, request_id = answer(market.store, market.access, signed, market.now())
        return Response(body, status, {"x-amzn-RequestId": request_id}, content_type=CONTENT_TYPE)

    @app.get("/hit.css")
    def hit_css() -> Response:
        return Response(styles, mimetype="text/css")


def _add_errors(app: Flask) -> None:
    """Every error is a page in the reader's language, without internal details."""

    def page(status: int, heading: str, text: str) -> tuple[str, int]:
        return render_template("error.html", t=page_texts(), heading=heading, text=text), status

    def page_error(error: PageError) -> tuple[str, int]:
        texts = page_texts()
        if f"{error.name}_text" in texts.texts:
            return page(error.status, texts[error.name], texts[f"{error.name}_text"])
        return page(error.status, texts["error_heading"], texts[error.name])

    def refused(error: RefusedError) -> tuple[str, int]:
        texts, missing = page_texts(), error.code.endswith("DoesNotExist")
        return page(404 if missing else 409, texts["error_heading"], texts.refusal(error.code))

    def failed(error: Exception) -> tuple[str, int] | HTTPException:
        texts, status = page_texts(), 500
        if isinstance(error, HTTPException):
            status = error.code or 500
            if status < 400:
                return error
        else:
            log.error("%s %s failed", request.method, request.path, exc_info=error)
        text = texts.texts.get(f"error_{status}") or texts["refused"]
        return page(status, texts["error_heading"], text)

    app.register_error_handler(PageError, page_error)
    app.register_error_handler(RefusedError, refused)
    app.register_error_handler(Exception, failed)


def _refuse_broken_form() -> None:
    """Refuse a form that is too large or not UTF-8, before it is taken apart: no browser sends one from our pages."""
    if request.path != "/" and (request.content_length or 0) > MAX_FORM:
        abort(413)
    try:
        if request.mimetype == "application/x-www-form-urlencoded" and request.path != "/":
            if BROKEN_ESCAPE.search(request.get_data()):
                raise PageError(400, "error_form")
            unquote_to_bytes(request.get_data()).decode("utf-8")
        elif request.mimetype == "multipart/form-data":
            request.get_data().decode("utf-8")
    except UnicodeDecodeError:
        raise PageError(400, "error_form") from None


def _protect(response: Response) -> Response:
    """Security headers on everything; browsers may cache only what everybody may see."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    if request.endpoint in ("static", "hit_css") and response.status_code in (200, 304):
        response.headers["Cache-Control"] = f"public, max-age={STATIC_LIFE}"
    else:
        response.headers["Cache-Control"] = "no-store"
    return response


class _PublicPlace:
    """Serves under the public URL's scheme and path, whether the proxy in front takes the path off or leaves it on.

    A header Host that is no host name is refused before anything makes links of it.
    """

    def __init__(self, app: "WSGIApplication", options: ServeOptions) -> None:
        self.app = app
        self.scheme = urlsplit(options.public_url).scheme
        self.prefix = options.prefix

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Any:
        if not HOST.fullmatch(environ.get("HTTP_HOST", "localhost")):
            headers = [*HEADERS.items(), ("Content-Type", "text/plain; charset=utf-8")]
            start_response("400 Bad Request", headers)
            return [b"expected a host name in the header Host\n"]
        if self.scheme:
            environ["wsgi.url_scheme"] = self.scheme
        if self.prefix:
            path = environ.get("PATH_INFO", "")
            if path == self.prefix or path.startswith(f"{self.prefix}/"):
                environ["PATH_INFO"] = path[len(self.prefix) :] or "/"
            environ["SCRIPT_NAME"] = self.prefix
        return self.app(environ, start_response)


def serve(
    folder: PathLike,
    host: str,
    port: int,
    ready: Callable[[MarketAccess], None],
    options: ServeOptions | None = None,
) -> None:
    """Serve a folder until SIGTERM or SIGINT; port 0 takes a free one. ``ready`` is called once it listens."""
    options = options or ServeOptions()
    with only_server(folder):
        app = make_app(folder, options=options)
        market: ServedMarket = app.extensions["market"]
        try:
            market.store.file.check()
            with _signals_as_interrupts(), closing(_listen(app, host, port, options)) as server:
                url = options.public_url or f"http://{_url_host(host)}:{_port(server)}"
                served = {
                    "url": f"{url.rstrip('/')}/",
                    "parameter": options.parameters[0],
                    "hits_each": options.hits_each,
                    "completion_code": market.completion_code,
                }
                ready(change_access(folder, **served))  # also for other processes
                server.run()
        except KeyboardInterrupt:
            log.info("stopped before the first request")
        finally:
            market.store.close()


def _listen(app: Flask, host: str, port: int, options: ServeOptions) -> Any:
    from waitress import create_server

    try:
        return create_server(
            app,
            host=host,
            port=port,
            threads=THREADS,
            connection_limit=CONNECTIONS,
            channel_timeout=60,
            max_request_body_size=MAX_BODY,
            clear_untrusted_proxy_headers=not options.proxy,
            ident="rypt",
        )
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        advice = "; --port 0 takes a free port, or name another" if taken else ""
        raise RyptError(f"cannot serve at {host}:{port}: {error.strerror or error}{advice}") from None


@contextmanager
def only_server(folder: PathLike) -> Iterator[None]:
    """Hold a folder's lock, or raise `RyptError` with the URL of the server that does."""
    path = Path(folder) / LOCK_NAME
    try:
        private_folder(path.parent)
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise RyptError(f"{path}: {error.strerror or error}") from None
    try:
        if not lock(file):
            url = read_access(folder).url
            raise RyptError(f"{folder}: this market is served already{f' at {url}' if url else ''}")
        yield
    finally:
        os.close(file)


def _url_host(host: str) -> str:
    """A host as it is written in a URL; "any address" is reached at this machine's own."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)
    return f"[{host}]" if ":" in host else host


def _port(server: Any) -> int:
    """The port it listens on; a name with several addresses has several sockets."""
    listening = getattr(server, "effective_listen", None)
    return int(listening[0][1] if listening else server.effective_port)


@contextmanager
def _signals_as_interrupts() -> Iterator[None]:
    """SIGTERM and SIGINT end the server as the keyboard does; signals reach the main thread only."""

    def stop(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
