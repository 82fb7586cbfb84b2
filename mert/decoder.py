"""Decoders: a shell command, a replay of lists that exist, or a Python function.

A decoder is called with the iteration (from 1), a file of weights to read and a file for the n-best list to write.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Protocol, runtime_checkable

from rypt.campaign.settings import FUNCTION
from rypt.text import InputError, PathLike, RyptError, read_bytes

LAST_LINES = 5
DecoderFunction = Callable[[int, Path, Path], object]


@runtime_checkable
class Decoder(Protocol):
    """Writes the n-best list that the weights in a file lead to."""

    @property
    def identity(self) -> str:
        """An identifier of the decoder: a run is not resumed with another one."""

    def __call__(self, iteration: int, weights: Path, nbest: Path) -> None:
        """Decode; ``nbest`` must hold the whole list when this returns."""


class NoMoreListsError(Exception):
    """All lists of a replay were used."""


class CommandDecoder:
    """Runs a shell command in which ``{weights}`` (or ``{config}``), ``{nbest}``, ``{iteration}``, ``{folder}`` stand
    for paths and numbers; what it prints goes to a log beside the weights. It runs in ``folder``, or else in the
    current one.
    """

    def __init__(self, template: str, timeout: float | None = None, folder: PathLike | None = None) -> None:
        if "{nbest}" not in template:
            raise RyptError("--decoder: expected {nbest} in the command, the file it writes its list to")
        if "{weights}" not in template and "{config}" not in template:
            message = (
                "--decoder: expected {weights} or {config} in the command, the file it reads weights from"
            )
            raise RyptError(message)
        self.identity, self.timeout, self.folder = template, timeout, folder

    def command(self, iteration: int, weights: Path, nbest: Path) -> str:
        """The command with its paths.

        >>> CommandDecoder("moses -f {config} -n-best-list {nbest} 100").command(2, Path("w"), Path("a b"))
        "moses -f w -n-best-list 'a b' 100"
        """
        values = {"weights": weights, "config": weights, "nbest": nbest, "iteration": iteration}
        words = {
            name: shlex.quote(str(value)) for name, value in (values | {"folder": weights.parent}).items()
        }
        return re.sub(r"(?<!\$)\{(\w+)\}", lambda field: words.get(field[1], field[0]), self.identity)

    def __call__(self, iteration: int, weights: Path, nbest: Path) -> None:
        """Run the command."""
        command = self.command(iteration, weights, nbest)
        run_command(command, iteration, weights.with_suffix(".log"), self.timeout, self.folder)


def run_command(
    command: str, iteration: int, log: Path, timeout: float | None, folder: PathLike | None = None
) -> None:
    """Run a shell command, and end all that it started; an error quotes the last lines it printed."""
    with open(log, "wb") as output:
        none = subprocess.DEVNULL
        process = subprocess.Popen(
            command, shell=True, stdin=none, stdout=output, stderr=output, start_new_session=True, cwd=folder
        )
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            message = f"the decoder did not finish in {timeout:g} seconds in iteration {iteration}"
            raise RyptError(f"{message}{last_words(log)}") from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    if code != 0:
        how = f"was killed by signal {-code}" if code < 0 else f"failed with exit code {code}"
        raise RyptError(f"the decoder {how} in iteration {iteration}{last_words(log)}")


def last_words(log: Path) -> str:
    """The last lines that a decoder printed, to be added to an error."""
    if not log.exists():
        return ""
    with open(log, encoding="utf-8", errors="replace") as lines:
        last = deque((line.strip() for line in lines if line.strip()), maxlen=LAST_LINES)
    return f"; it said: {' | '.join(last)} (all of it in {log})" if last else f"; it said nothing (see {log})"


class ReplayDecoder:
    """Returns the lists of an earlier run, one in each iteration."""

    def __init__(self, lists: Sequence[PathLike]) -> None:
        for path in lists:
            if not Path(path).is_file():
                raise InputError(path, None, "No such file")
        self.lists = lists
        digests = (sha256(Path(path).read_bytes()).hexdigest()[:16] for path in lists)
        self.identity = f"replay {' '.join(digests)}"

    def __call__(self, iteration: int, weights: Path, nbest: Path) -> None:
        """Copy the list of this iteration."""
        if iteration > len(self.lists):
            raise NoMoreListsError
        data = read_bytes(self.lists[iteration - 1])
        nbest.write_bytes(data if data.endswith(b"\n") else data + b"\n")


class FunctionDecoder:
    """Calls a Python function with the iteration and the two paths; its module may import from ``folder``."""

    def __init__(
        self, function: DecoderFunction, folder: PathLike | None = None, identity: str | None = None
    ) -> None:
        self.function = function
        self.folder = folder
        self.identity = identity or f"{function.__module__}:{function.__qualname__}"

    def __call__(self, iteration: int, weights: Path, nbest: Path) -> None:
        """Call the function."""
        try:
            with _importable(self.folder):
                self.function(iteration, weights, nbest)
        except RyptError:
            raise
        except Exception as error:
            raise RyptError(
                f"the decoder failed in iteration {iteration}: {type(error).__name__}: {error}"
            ) from error


def read_decoder(text: str, timeout: float | None = None, folder: PathLike | None = None) -> Decoder:
    """A command that runs in ``folder``, or ``package.module:function``, which may lie there.

    Without a ``folder`` the current one is meant.
    """
    if not FUNCTION.fullmatch(text.strip()):
        return CommandDecoder(text, timeout, folder)
    module, _, name = text.strip().partition(":")
    try:
        with _importable(folder):
            function = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise RyptError(f"--decoder {text}: {error}") from None
    return FunctionDecoder(function, folder, text)


@contextmanager
def _importable(folder: PathLike | None) -> Iterator[None]:
    """Let a user's module and what it imports be found in a folder, after installed ones, while the block runs."""
    entry = str(Path(folder or ".").resolve())
    if entry in sys.path:
        yield
        return
    sys.path.append(entry)
    try:
        yield
    finally:
        sys.path.remove(entry)
