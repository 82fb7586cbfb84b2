"""Options that the commands of ``rypt rank`` share: which files, and what of them to take."""

from collections.abc import Callable
from functools import wraps
from itertools import repeat
from threading import Lock
from typing import Any

import click

from rypt.console import progress

LEVEL = click.option(
    "--level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="Significance level of the two-sided tests.",
)
THREADS = click.option(
    "--threads",
    type=click.IntRange(1, 1024),
    default=1,
    show_default=True,
    help="Number of threads; the result does not depend on it.",
)
SEED = click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Random seed.")
READING = (
    click.argument("paths", metavar="FILES", nargs=-1, required=True, type=click.Path()),
    click.option(
        "--columns",
        default="",
        metavar="ROLE=COLUMN,…",
        help=(
            "Columns of a table by role: a, b, winner for comparisons; system, score, segment, document, rater "
            "for scores [guessed from their names]."
        ),
    ),
    click.option(
        "--languages",
        metavar="SOURCE-TARGET",
        help="Use only this language pair: cs-en or Czech-English; all joins all pairs [each pair by itself].",
    ),
    click.option(
        "--judges", metavar="PATTERN", help="Use only judges whose names match, such as 'researcher_*'."
    ),
    click.option(
        "--exclude-system",
        "exclude",
        multiple=True,
        metavar="NAME",
        help="Leave out this system (the reference is _ref in WMT10). Repeatable.",
    ),
    click.option(
        "--better",
        type=click.Choice(("higher", "lower")),
        help="Whether higher or lower segment scores are better [as the file says, else higher].",
    ),
    click.option("--standardize", "-z", is_flag=True, help="Standardise segment scores by rater (z)."),
    click.option(
        "--tie",
        type=click.FloatRange(min=0),
        default=0.0,
        show_default=True,
        help="Largest difference of scores that is a tie, where scores become comparisons.",
    ),
    SEED,
)


def reading_options(command: Callable[..., None]) -> Callable[..., None]:
    """The files, and what of them to take: the command gets them as one value, ``data``."""

    @wraps(command)
    def packed(columns: str, **options: Any) -> None:
        from hits.ranking.readers.files import ComparisonFiles
        from hits.ranking.readers.text_file import read_columns

        names = ComparisonFiles.__dataclass_fields__.keys() - {"columns"}
        chosen = {name: options.pop(name) for name in names}
        command(data=ComparisonFiles(columns=read_columns(columns), **chosen), **options)

    for option in reversed(READING):
        packed = option(packed)
    return packed


def counter(what: str, *, quiet: bool, total: int | None = None) -> Callable[[], None]:
    """A progress callback for any thread; a bar shows it."""
    items = repeat(None) if total is None else range(total)
    bar, lock = progress(items, what, quiet=quiet, total=total), Lock()

    def advance() -> None:
        with lock:
            next(bar, None)

    return advance
