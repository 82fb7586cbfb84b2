"""Options that the commands of ``rypt rank`` share: which files, and which of their comparisons."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import click

from hits.ranking.names import FORMATS, NOT_JUDGED
from rypt.console import progress

PLOT = click.option("--plot", type=click.Path(dir_okay=False), help="Write a plot to this file (.svg, .png, .pdf).")
LEVEL = click.option("--level", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.05,
                     show_default=True, help="Significance level of the two-sided sign tests.")  # fmt: skip
THREADS = click.option("--threads", type=click.IntRange(1, 1024), default=1, show_default=True,
                       help="Number of threads; the result does not depend on it.")  # fmt: skip
SEED = click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Random seed.")


def data_options(command: Callable[..., None]) -> Callable[..., None]:
    """Which files, and which of their comparisons: the command gets them as one value, ``data``."""

    @wraps(command)
    def packed(
        files: tuple[str, ...], format: str | None, languages: str | None, judges: str | None,
        excluded: tuple[str, ...], sample: int | None, not_judged: str, seed: int, **others: Any,
    ) -> None:  # fmt: skip
        from hits.ranking.rank import ComparisonFiles
        from hits.ranking.readers.files import Filters

        filters = Filters(languages, judges, excluded, sample, not_judged)
        command(data=ComparisonFiles(files, format, filters, seed), **others)

    for option in reversed(
        [
            click.argument("files", nargs=-1, required=True, type=click.Path()),
            click.option(
                "--format", type=click.Choice(FORMATS), help="Format of the files [detected from their content]."
            ),
            click.option(
                "--languages", metavar="SOURCE-TARGET", help="Use only this language pair, spelled as in the file."
            ),
            click.option(
                "--judges", metavar="PATTERN", help="Use only judges whose names match, such as 'researcher_*'."
            ),
            click.option(
                "--exclude-system",
                "excluded",
                multiple=True,
                metavar="NAME",
                help="Leave out this system (the reference is _ref in WMT10). Repeatable.",
            ),
            click.option("--sample", type=click.IntRange(min=1), help="Number of comparisons to draw at random [all]."),
            click.option(
                "--not-judged",
                type=click.Choice(NOT_JUDGED),
                default="item",
                show_default=True,
                help="What to leave out where a rank is -1, not judged: the candidate, or the whole ranking.",
            ),
            SEED,
        ]
    ):
        packed = option(packed)
    return packed


def read_options(options: Sequence[str]) -> dict[str, str]:
    """What ``-O NAME=VALUE`` says."""
    values = {}
    for text in options:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise click.UsageError(f"-O {text}: expected NAME=VALUE")
        values[name] = value
    return values


def counter(what: str, *, quiet: bool, total: int | None = None) -> Callable[[], None]:
    """A progress callback for any thread; a bar shows it."""
    from itertools import repeat
    from threading import Lock

    bar, alone = progress(repeat(None) if total is None else range(total), what, quiet=quiet, total=total), Lock()

    def seen() -> None:
        with alone:
            next(bar, None)

    return seen
