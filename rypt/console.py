"""What all commands share: their common options, and what they say to the person at the terminal."""

import os
import sys
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import TypeVar

import click

from rypt.options import money
from rypt.text import Watch

T = TypeVar("T")
JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
QUIET = click.option("-q", "--quiet", is_flag=True, help="No progress and no talk on stderr.")
FILE = click.Path(dir_okay=False)
CAMPAIGN = click.argument("campaign", type=click.Path(file_okay=False), default=".")
AMOUNT = click.option("--budget", callback=lambda context, option, value: read_amount(value), metavar="DOLLARS",
                      help="All the money the loop may spend: 25.00.")  # fmt: skip


def read_amount(value: str | None) -> Decimal | None:
    """An amount of money from the command line."""
    amount = None if value is None else money(value)
    if value is not None and amount is None:
        raise click.BadParameter(f"{value!r} is no amount of money")
    return amount


def progress(items: Iterable[T], what: str, *, quiet: bool, total: int | None = None) -> Iterator[T]:
    """Show a bar on stderr while items pass, unless quiet or stderr is not a terminal."""
    from tqdm import tqdm

    yield from tqdm(items, desc=what, total=total, disable=True if quiet else None, file=sys.stderr, leave=False)


def watcher(*, quiet: bool) -> Watch:
    """What a library function takes to show its progress."""
    return lambda lines, what: progress(lines, what, quiet=quiet)


def talk(message: str, *, quiet: bool = False) -> None:
    """Say something to the person at the terminal, on stderr."""
    if not quiet:
        click.echo(message, err=True)


def colours_wanted() -> bool:
    """Whether output goes to a terminal whose user did not turn colours off."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")
