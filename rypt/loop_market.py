"""Whether a market of one's own is being served, and serving it for as long as a loop runs."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, build_opener

from rypt.text import RyptError

SETTINGS_NAME = "market.json"
DEFAULT_PORT = 8000
PROGRAM = "from rypt.cli import main; main()"
SECONDS = 5.0  # to wait for an answer, and for the end of a process


def market_url(folder: Path) -> str:
    """Where the market of a folder was last served; empty where it never was."""
    try:
        settings = json.loads((folder / SETTINGS_NAME).read_text(encoding="utf-8"))
        return str(settings["url"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def is_served(folder: Path) -> bool:
    """Whether something answers where the market was last served."""
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


@contextmanager
def serving(folder: Path, port: int | None = None) -> Iterator[str]:
    """Serve a market in a process of its own until the block ends; one that is served already is left alone.

    The port stays the one it had, for invitation links name it. Gives the market's address.
    """
    if is_served(folder):
        yield market_url(folder)
        return
    if port is None:
        try:
            port = urlsplit(market_url(folder)).port
        except ValueError:
            port = None
    arguments = ["hits", "serve", str(folder), "--port", str(DEFAULT_PORT if port is None else port), "--json"]
    command = [sys.executable, "-P", "-c", PROGRAM, *arguments]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline() if process.stdout else ""
            if not line:
                raise RyptError(f"the market in {folder} could not be served (see above; --port takes another port)")
            yield str(json.loads(line)["url"])
        finally:
            _end(process)


def _end(process: "subprocess.Popen[str]") -> None:
    process.terminate()
    try:
        process.wait(SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
