"""Whether a local market is being served, and serving it in a child process for as long as a loop runs."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, build_opener

from hits.market.folder import private_folder, read_access
from rypt.children import Child, child
from rypt.text import RyptError

DEFAULT_PORT = 8000
LOG_NAME = "serve.log"  # the server's standard error, in the market's folder
SECONDS = 5.0  # to wait for an answer


def market_url(folder: Path) -> str:
    """Where the market of a folder was last served; empty where it never was."""
    try:
        return read_access(folder).url
    except RyptError:
        return ""


def dashboard_url(folder: Path) -> str:
    """The requester's page of a market, with the token that opens it; empty where it was never served."""
    try:
        return read_access(folder).dashboard_url
    except RyptError:
        return ""


def is_served(folder: Path) -> bool:
    """Whether a server answers at the market's last URL."""
    url = market_url(folder)
    if not url:
        return False
    try:
        with build_opener(ProxyHandler({})).open(url, timeout=SECONDS):
            return True
    except HTTPError:
        return True
    except (URLError, OSError, ValueError):
        return False


@dataclass(frozen=True, slots=True)
class Serving:
    """A market that is being served; ``process`` is None where another process had begun before."""

    url: str
    process: Child | None = None

    def check(self) -> None:
        """Raise an error if the process that serves it has ended."""
        if self.process is not None:
            self.process.check()


@contextmanager
def serving(folder: Path, port: int | None = None) -> Iterator[Serving]:
    """Serve a market in a child process until the block ends; one that is served already is left alone.

    The child ends with this process, however that ends. The port stays the one it had, for invitation links name it.
    """
    if is_served(folder):
        yield Serving(market_url(folder))
        return
    if port is None:
        try:
            port = urlsplit(market_url(folder)).port
        except ValueError:
            port = None
    private_folder(folder)
    arguments = [
        "hits",
        "serve",
        str(folder),
        "--port",
        str(DEFAULT_PORT if port is None else port),
        "--json",
    ]
    with child(arguments, folder / LOG_NAME) as server:
        try:
            url = str(json.loads(server.line())["url"])
        except RyptError as error:
            raise RyptError(f"{error} (--port takes another port)") from None
        yield Serving(url, server)
