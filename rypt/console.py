"""What all commands share: common options, progress, messages and colours."""

import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeVar

import click

from rypt.options import money
from rypt.text import Watch

T = TypeVar("T")
COLOURS = (None, "green", "red", "bright_green", "bright_red")  # by the states of `rypt.scoring.percolation`
JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
QUIET = click.option(
    "-q",
    "--quiet",
    is_flag=True,
    help="No progress and no messages on stderr.",
    callback=lambda context, option, value: set_quiet(value),
)
FILE = click.Path(dir_okay=False)
CAMPAIGN = click.argument("campaign", type=click.Path(file_okay=False), default=".")


class Money(click.ParamType[Decimal]):
    """An amount of dollars."""

    name = "dollars"

    def convert(self, value: Any, param: Any, context: Any) -> Decimal:
        amount = money(str(value))
        if amount is None:
            self.fail(f"expected an amount of money such as 12.00, got {value!r}", param, context)
        return amount


MONEY = Money()
AMOUNT = click.option(
    "--budget", type=MONEY, help="Maximum amount that the loop may spend, in dollars, such as 25.00."
)


class Group(click.Group):
    """A group whose help describes each command in full, by what it is for; ``sections`` are names by title."""

    def __init__(
        self, *args: Any, sections: Mapping[str, Sequence[str]] | None = None, **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self.sections = sections or {}

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        names = self.list_commands(context)
        others = set(names).difference(*self.sections.values())
        for title, listed in {
            **self.sections,
            "Other" if self.sections else "Commands": sorted(others),
        }.items():
            commands = [(name, self.get_command(context, name)) for name in listed if name in names]
            if rows := [(name, command.get_short_help_str(500)) for name, command in commands if command]:
                with formatter.section(title):
                    formatter.write_dl(rows)


def set_quiet(quiet: bool) -> bool:
    """Hide that something is being compiled, if so wanted."""
    logging.getLogger("rypt.compiled").setLevel(logging.ERROR if quiet else logging.NOTSET)
    return quiet


def progress(items: Iterable[T], what: str, *, quiet: bool, total: int | None = None) -> Iterator[T]:
    """Show a progress bar on stderr, unless quiet or stderr is not a terminal."""
    from tqdm import tqdm

    hidden = True if quiet else None
    yield from tqdm(items, desc=what, total=total, disable=hidden, file=sys.stderr, leave=False)


def watcher(*, quiet: bool) -> Watch:
    """The progress callback that library functions accept."""

    def watch(items: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
        return progress(items, what, quiet=quiet, total=total)

    return watch


def talk(message: str, *, quiet: bool = False) -> None:
    if not quiet:
        click.echo(message, err=True)


def colours_wanted() -> bool:
    """Whether stdout is a terminal and colours are not turned off."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def painter() -> Callable[[str, int], str]:
    """A function that colours text by the state of its label, if colours are on."""
    if not colours_wanted():
        return lambda text, state: text
    return lambda text, state: click.style(text, fg=COLOURS[state])
