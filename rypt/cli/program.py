"""The command ``rypt``: finds its subcommands by entry point and turns errors into one line."""

import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import EntryPoint, entry_points, version
from typing import Any

import click

from rypt.lazy import as_program
from rypt.text import OptionError, RyptError, shown_message

GROUP = "rypt.commands"
SHELLS = ("bash", "zsh", "fish")
RARELY = (1_000_000, 100, 100)  # thresholds of the garbage collector


class CommandGroup(click.Group):
    """Subcommands from the entry-point group ``rypt.commands``; one that cannot be loaded does not break the others."""

    def _entry_points(self) -> dict[str, EntryPoint]:
        return {entry.name: entry for entry in entry_points(group=GROUP)}

    def list_commands(self, context: click.Context) -> list[str]:
        """All names, sorted."""
        return sorted(self._entry_points())

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Load one subcommand."""
        entry = self._entry_points().get(name)
        if entry is None:
            return None
        try:
            command = entry.load()
        except Exception as error:
            return click.Command(
                name, callback=_broken(entry, error), short_help=f"(cannot be loaded: {error})"
            )
        return command if isinstance(command, click.Command) else None


def _broken(entry: EntryPoint, error: Exception) -> Any:
    def complain() -> None:
        raise RyptError(f"the command {entry.name} ({entry.value}) cannot be loaded: {error}")

    return complain


@click.command(
    cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(version("rypt"), prog_name="rypt")
def rypt() -> None:
    """Tune machine translation against human judgments.

    Start with `rypt demo`, then `rypt init` for your own texts.
    """


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the completion script of a shell: eval "$(rypt completion bash)"."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    if kind is None:
        raise RyptError(f"no completion for {shell}")
    click.echo(kind(rypt, {}, "rypt", "_RYPT_COMPLETE").source())


def main(arguments: list[str] | None = None) -> None:
    """Run ``rypt``: exit 0 when it worked, 1 with one line on stderr when it failed, 2 for wrong usage."""
    try:
        with _as_a_program(ends=arguments is None), as_program():
            rypt.main(arguments, prog_name="rypt", standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("rypt: stopped", err=True)
        sys.exit(130)
    except OptionError as error:
        _fail(str(error), code=2)
    except RyptError as error:
        _fail(str(error))
    except UnicodeEncodeError as error:
        _fail(
            f"this output cannot show {error.object[error.start]!a} in {error.encoding}; set PYTHONIOENCODING=utf-8"
        )
    except RecursionError:
        _fail("the input is too deeply nested")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except Exception as error:
        if not _is_of_database(error):
            raise
        _fail(f"a database file is damaged: {error}; put a backup in its place")


def _is_of_database(error: Exception) -> bool:
    """Whether SQLite, which few commands load, cannot read a file."""
    sqlite3 = sys.modules.get("sqlite3")
    return sqlite3 is not None and isinstance(error, sqlite3.DatabaseError)


@contextmanager
def _as_a_program(*, ends: bool) -> Iterator[None]:
    """Process-wide settings of the command line program, in force while a command runs.

    SIGTERM ends the program like Ctrl-C, so that child processes end, too. A user's own modules (decoders, metrics) are
    found in the current folder, after installed ones. Garbage is collected rarely: commands hold millions of small
    objects, which the collector would go through again and again; also once more where the process ends, unless that is
    left as it is (``ends``).
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


def _fail(message: str, code: int = 1) -> None:
    click.echo(f"rypt: {shown_message(message)}", err=True)
    sys.exit(code)
