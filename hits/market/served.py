"""Whether a local market is being served, and serving it in a child process for as long as a loop runs.

The child's standard input is a pipe from this process. The system closes it when this process ends, also when it is
killed, and then the child ends, too.
"""

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, build_opener

from hits.market.folder import MarketAccess, private_folder, read_access
from rypt.text import RyptError

DEFAULT_PORT = 8000
LOG_NAME = "serve.log"  # the server's standard error, in the market's folder
SECONDS = 5.0  # to wait for an answer
SECONDS_TO_END = 10.0  # before a child that was asked to end is killed
RYPT_IN_CHILD = """
import os, signal, threading
def end_with_parent():
    try:
        os.read(0, 1)
    except OSError:
        pass
    os.kill(os.getpid(), signal.SIGTERM)
threading.Thread(target=end_with_parent, daemon=True).start()
from rypt.cli.program import main
main()
"""


def command_line(arguments: Sequence[str]) -> str:
    """A command of rypt as a person types it.

    >>> command_line(["tune", "my campaign"])
    "rypt tune 'my campaign'"
    """
    return shlex.join(["rypt", *arguments])


def market_url(folder: Path) -> str:
    """Where the market of a folder was last served; empty where it never was."""
    return _access(folder).url


def dashboard_url(folder: Path) -> str:
    """The requester's page of a market, with the token that opens it; empty where it was never served."""
    return _access(folder).dashboard_url


def _access(folder: Path) -> MarketAccess:
    try:
        return read_access(folder)
    except RyptError:
        return MarketAccess()


def is_served(folder: Path) -> bool:
    url = market_url(folder)
    try:
        if url:
            build_opener(ProxyHandler({})).open(url, timeout=SECONDS).close()
    except HTTPError:
        return True
    except (URLError, OSError, ValueError):
        return False
    return bool(url)


@dataclass(frozen=True, slots=True)
class Serving:
    """A market that is being served; ``process`` is None where another process serves it.

    The standard error of ``process`` goes to the file ``log``.
    """

    url: str
    arguments: Sequence[str] = ()
    process: "subprocess.Popen[str] | None" = None
    log: Path = Path()

    def check(self) -> None:
        """Raise an error if the process that serves the market has ended."""
        if self.process is not None and self.process.poll() is not None:
            raise _failure(self.arguments, self.process, self.log)


@contextmanager
def serving(folder: Path, port: int | None = None) -> Iterator[Serving]:
    """Serve a market in a child process until the block ends, unless another process serves it.

    The market keeps its last port, because invitation links name it.
    """
    if is_served(folder):
        yield Serving(market_url(folder))
        return
    if port is None:
        port = _last_port(folder) or DEFAULT_PORT
    private_folder(folder)
    arguments, log = ["hits", "serve", str(folder), "--port", str(port), "--json"], folder / LOG_NAME
    with _child(arguments, log) as process:
        line = process.stdout.readline() if process.stdout else ""
        if not line:
            process.wait()
            raise RyptError(f"{_failure(arguments, process, log)} (--port takes another port)")
        yield Serving(str(json.loads(line)["url"]), arguments, process, log)


def _last_port(folder: Path) -> int | None:
    try:
        return urlsplit(market_url(folder)).port
    except ValueError:
        return None


@contextmanager
def _child(arguments: Sequence[str], log: Path) -> "Iterator[subprocess.Popen[str]]":
    """Run a command of rypt in another process until the block ends; end it with this process, however that ends."""
    command = [sys.executable, "-P", "-c", RYPT_IN_CHILD, *arguments]
    pipe = subprocess.PIPE
    with (
        log.open("w", encoding="utf-8") as stream,
        subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=stream, text=True, encoding="utf-8"
        ) as process,
    ):
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(SECONDS_TO_END)
            except subprocess.TimeoutExpired:
                process.kill()


def _failure(arguments: Sequence[str], process: "subprocess.Popen[str]", log: Path) -> RyptError:
    """The error for a command that has ended, with the last line of its log."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    last = next((line for line in reversed(lines) if line.strip()), "its log is empty")
    return RyptError(f"{command_line(arguments)}: ended with exit code {process.returncode}: {last}")
