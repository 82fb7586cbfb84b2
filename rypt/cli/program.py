"""The command ``rypt``: finds its subcommands by entry point and turns errors into one line."""

import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import entry_points, version

import click

from rypt.console import Group
from rypt.text import OptionError, RyptError, shown_message

GROUP = "rypt.commands"
SECTIONS = {
    "Begin": ("demo", "init", "import", "status"),
    "Ask and score": ("queries", "score", "explain", "analyze", "export", "check"),
    "Tune": ("tune", "loop", "moses-tools"),
    "Compare and rank": ("compare", "rank"),
    "People": ("hits", "simulate"),
}
RARELY = (1_000_000, 100, 100)  # thresholds of the garbage collector


class CommandGroup(Group):
    """Subcommands from the entry-point group ``rypt.commands``; one that cannot be loaded does not break the others."""

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted(entry.name for entry in entry_points(group=GROUP))

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        entry = next((entry for entry in entry_points(group=GROUP) if entry.name == name), None)
        if entry is None:
            return None
        try:
            command: click.Command = entry.load()
        except Exception as error:
            message = f"the command {entry.name} ({entry.value}) cannot be loaded: {error}"

            def complain() -> None:
                raise RyptError(message)

            return click.Command(name, callback=complain, short_help=f"(cannot be loaded: {error})")
        return command


@click.command(
    cls=CommandGroup,
    sections=SECTIONS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(version("rypt"), prog_name="rypt")
def rypt() -> None:
    """Tune machine translation against human judgments.

    Start with `rypt demo`, then `rypt init` for your own texts.
    """


def main(arguments: list[str] | None = None) -> None:
    """Run ``rypt``: exit 0 when it worked, 1 with one line on stderr when it failed, 2 for wrong usage."""
    try:
        with _process_settings(ends=arguments is None):
            rypt.main(arguments, prog_name="rypt", standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("rypt: stopped", err=True)
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        message = _message(error)
        if message is None:
            raise
        click.echo(f"rypt: {shown_message(message)}", err=True)
        sys.exit(2 if isinstance(error, OptionError) else 1)


def _message(error: Exception) -> str | None:
    """What a user can do about an error, None where it is a mistake of the program."""
    sqlite3 = sys.modules.get("sqlite3")  # few commands load it
    if sqlite3 is not None and isinstance(error, sqlite3.DatabaseError):
        return f"a database file is damaged: {error}; put a backup in its place"
    match error:
        case RyptError():
            return str(error)
        case UnicodeEncodeError():
            character = ascii(error.object[error.start])
            return f"this output cannot show {character} in {error.encoding}; set PYTHONIOENCODING=utf-8"
        case RecursionError():
            return "the input is too deeply nested"
        case OSError():
            return f"{error.filename}: {error.strerror}" if error.filename else str(error)
    return None


@contextmanager
def _process_settings(*, ends: bool) -> Iterator[None]:
    """Settings of the whole process while a command runs.

    SIGTERM ends the program like Ctrl-C, so that child processes end, too. A user's own modules (decoders, metrics) are
    found in the current folder, after installed ones. The garbage collector runs rarely, because commands hold millions
    of small objects; the threshold stays where the process ``ends`` with the command, whose last collection would take
    seconds.
    """
    main_thread = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, _terminated) if main_thread else None
    path, thresholds = list(sys.path), gc.get_threshold()
    gc.set_threshold(*RARELY)
    with suppress(OSError):  # a current folder that was removed
        sys.path.append(os.getcwd())
    try:
        yield
    finally:
        sys.path[:] = path
        if not ends:
            gc.set_threshold(*thresholds)
        if before is not None:
            signal.signal(signal.SIGTERM, before)


def _terminated(number: int, frame: object) -> None:
    raise KeyboardInterrupt
