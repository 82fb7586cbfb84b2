"""What the commands of ``rypt rank`` share: which files, and which of their comparisons."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hits.ranking.names import FORMATS, NOT_JUDGED
from rypt.console import progress

if TYPE_CHECKING:
    from hits.ranking.data import Comparisons

F = TypeVar("F", bound=Callable[..., Any])
PLOT = click.option("--plot", type=click.Path(dir_okay=False), help="Draw it: a file .svg, .png or .pdf.")
LEVEL = click.option("--level", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.05,
                     show_default=True, help="Of the two-sided sign tests.")  # fmt: skip
THREADS = click.option("--threads", type=click.IntRange(1, 1024), default=1, show_default=True,
                       help="The result does not depend on it.")  # fmt: skip
SEED = click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True)


def data_options(command: F) -> F:
    """Which files, and which of their comparisons."""
    for option in reversed(
        [
            click.argument("files", nargs=-1, required=True, type=click.Path()),
            click.option("--format", type=click.Choice(FORMATS), help="What the files are [seen from their content]."),
            click.option("--languages", metavar="SOURCE-TARGET", help="Only this pair, as the file spells it."),
            click.option("--judges", metavar="PATTERN", help="Only judges with such names: 'researcher_*'."),
            click.option(
                "--exclude-system",
                "excluded",
                multiple=True,
                metavar="NAME",
                help="Without this system; WMT10 calls the reference _ref. Repeatable.",
            ),
            click.option("--sample", type=click.IntRange(min=1), help="So many comparisons, drawn at random."),
            click.option(
                "--not-judged",
                type=click.Choice(NOT_JUDGED),
                default="item",
                show_default=True,
                help="What a rank of -1 takes away: its candidate, or the whole ranking.",
            ),
            SEED,
        ]
    ):
        command = option(command)
    return command


def read_data(
    files: Sequence[str], format: str | None, languages: str | None, judges: str | None, excluded: tuple[str, ...],
    sample: int | None, not_judged: str, seed: int,
) -> "Comparisons":  # fmt: skip
    """The comparisons that the options choose."""
    import numpy as np

    from hits.ranking.readers.files import Filters, read_comparisons

    filters = Filters(languages, judges, excluded, sample, not_judged)
    return read_comparisons(files, format=format, filters=filters, rng=np.random.default_rng([seed, 0]))


def read_options(options: Sequence[str]) -> dict[str, str]:
    """What ``-O NAME=VALUE`` says."""
    found = {}
    for text in options:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise click.UsageError(f"-O {text}: expected NAME=VALUE")
        found[name] = value
    return found


def counter(what: str, *, quiet: bool, total: int | None = None) -> Callable[[], None]:
    """What to call, from any thread, each time that something is done; a bar shows it."""
    from itertools import repeat
    from threading import Lock

    bar, alone = progress(repeat(None) if total is None else range(total), what, quiet=quiet, total=total), Lock()

    def seen() -> None:
        with alone:
            next(bar, None)

    return seen
