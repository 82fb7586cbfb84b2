"""Options that the commands of ``rypt rank`` share: which files, and which of their comparisons."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import click

from hits.ranking.names import FORMATS, NOT_JUDGED, WITHIN
from rypt.console import progress

PLOT = click.option(
    "--plot", type=click.Path(dir_okay=False), help="Write a plot to this file (.svg, .png, .pdf)."
)
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


def data_options(command: Callable[..., None]) -> Callable[..., None]:
    """Which files, and which of their comparisons: the command gets them as one value, ``data``."""

    @wraps(command)
    def packed(
        files: tuple[str, ...],
        format: str | None,
        columns: str | None,
        merge: bool,
        languages: str | None,
        judges: str | None,
        excluded: tuple[str, ...],
        sample: int | None,
        not_judged: str,
        standardize: bool,
        better: str | None,
        tie: float,
        within: str,
        seed: int,
        **others: Any,
    ) -> None:
        from hits.ranking.rank import ComparisonFiles, ScoreUse
        from hits.ranking.readers.columns import read_columns
        from hits.ranking.readers.files import Filters

        filters = Filters(languages, judges, excluded, sample, not_judged)
        use = ScoreUse(standardize, better, tie, within)
        roles = read_columns(columns) if columns else {}
        command(data=ComparisonFiles(files, format, filters, seed, roles, merge, use), **others)

    for option in reversed(
        [
            click.argument("files", nargs=-1, required=True, type=click.Path()),
            click.option(
                "--format",
                type=click.Choice(FORMATS),
                help="Format of the files [detected from their content].",
            ),
            click.option(
                "--columns",
                metavar="ROLE=COLUMN,…",
                help="Which columns of a table are which: a, b, winner of comparisons; system, score, segment, "
                "document, rater of scores [guessed from their names].",
            ),
            click.option("--merge", is_flag=True, help="Rank files of different language pairs together."),
            click.option(
                "--languages",
                metavar="SOURCE-TARGET",
                help="Use only this language pair: cs-en or Czech-English.",
            ),
            click.option(
                "--judges",
                metavar="PATTERN",
                help="Use only judges whose names match, such as 'researcher_*'.",
            ),
            click.option(
                "--exclude-system",
                "excluded",
                multiple=True,
                metavar="NAME",
                help="Leave out this system (the reference is _ref in WMT10). Repeatable.",
            ),
            click.option(
                "--sample", type=click.IntRange(min=1), help="Number of comparisons to draw at random [all]."
            ),
            click.option(
                "--not-judged",
                type=click.Choice(NOT_JUDGED),
                default="item",
                show_default=True,
                help="What to leave out where a rank is -1, not judged: the candidate, or the whole ranking.",
            ),
            click.option(
                "--standardize", "-z", is_flag=True, help="Standardise segment scores by rater (z)."
            ),
            click.option(
                "--better",
                type=click.Choice(("higher", "lower")),
                help="Which segment scores are better [as the file says, else higher].",
            ),
            click.option(
                "--tie",
                type=click.FloatRange(min=0),
                default=0.0,
                show_default=True,
                help="Where scores become comparisons: a difference of at most this is a tie.",
            ),
            click.option(
                "--within",
                type=click.Choice(WITHIN),
                default="segment",
                show_default=True,
                help="Where scores become comparisons: compare all scores of a segment, or those of a rater.",
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

    bar, alone = (
        progress(repeat(None) if total is None else range(total), what, quiet=quiet, total=total),
        Lock(),
    )

    def seen() -> None:
        with alone:
            next(bar, None)

    return seen
