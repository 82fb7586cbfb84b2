"""Commands of rypt that run in child processes and end when this process ends.

A child has one end of a pipe as its standard input and ends when the other end is closed: the system closes it when
the parent is gone, also when that was killed.
"""

import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rypt.text import RyptError

LEASHED = """
import os, signal, threading
def watch():
    try:
        os.read(0, 1)
    except OSError:
        pass
    os.kill(os.getpid(), signal.SIGTERM)
threading.Thread(target=watch, daemon=True).start()
from rypt.cli.program import main
main()
"""
SECONDS = 10.0  # to wait for the end of a process


def command_line(arguments: Sequence[str]) -> str:
    """A command line as a person types it.

    >>> command_line(["decode", "my campaign"])
    "rypt decode 'my campaign'"
    """
    return shlex.join(["rypt", *arguments])


@dataclass(frozen=True, slots=True)
class Child:
    """A running command; its standard error goes to the file ``log``."""

    arguments: tuple[str, ...]
    process: "subprocess.Popen[str]"
    log: Path

    def line(self) -> str:
        """The next line that the command prints; raise an error if it ends without one."""
        line = self.process.stdout.readline() if self.process.stdout else ""
        if not line:
            self.process.wait()
            raise self.failure()
        return line

    def result(self) -> str:
        """All output until the command ends; raise an error if it fails."""
        output = self.process.stdout.read() if self.process.stdout else ""
        if self.process.wait():
            raise self.failure()
        return output

    def check(self) -> None:
        """Raise an error if the command has ended."""
        if self.process.poll() is not None:
            raise self.failure()

    def failure(self) -> RyptError:
        """The error for a command that has ended, with the last line of its log."""
        try:
            lines = self.log.read_text(encoding="utf-8", errors="replace").split("\n")
        except OSError:
            lines = []
        last = next((line for line in reversed(lines) if line.strip()), "its log is empty")
        return RyptError(
            f"{command_line(self.arguments)}: ended with exit code {self.process.returncode}: {last}"
        )


@contextmanager
def child(arguments: Sequence[str], log: Path) -> Iterator[Child]:
    """Run a command in another process until the block ends."""
    command = [sys.executable, "-P", "-c", LEASHED, *arguments]
    with log.open("w", encoding="utf-8") as stream:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stream, text=True, encoding="utf-8"
        )
    try:
        yield Child(tuple(arguments), process, log)
    finally:
        end(process)


def end(process: "subprocess.Popen[str]") -> None:
    """Ask a process to end, and end it if it does not."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()
