"""``rypt import``: human annotation that exists already becomes judgments."""

import json
from collections.abc import Callable
from typing import Any, TypeVar

import click

from rypt.console import FILE, JSON, QUIET, talk, watcher
from rypt.ratings.rating import LEVELS
from rypt.text import plural

F = TypeVar("F", bound=Callable[..., Any])
SEVERITY = "The minimum severity of an error that makes a phrase unacceptable."
OMISSIONS = "Count what is missing: marks in the source, and errors without a position [they count]."
REFERENCES = (
    "For a new campaign: a file with a reference, one line per segment, or TSV or JSONL of ids and texts."
)


def importing(command: F) -> F:
    """The options of every import of ratings."""
    options = (
        click.argument("file", type=click.Path()),
        click.option(
            "-C",
            "--campaign",
            "folder",
            type=click.Path(file_okay=False),
            default=".",
            help="Its folder [.].",
        ),
        click.option(
            "--reference",
            "references",
            multiple=True,
            metavar="SYSTEM",
            help="For a new campaign: the human translation among the systems that is the reference.",
        ),
        click.option("--references", "reference_files", multiple=True, type=FILE, help=REFERENCES),
        click.option(
            "--language", help="For a new campaign: the language of the source, such as de, for pages."
        ),
        click.option(
            "--severity", type=click.Choice(LEVELS), default="minor", show_default=True, help=SEVERITY
        ),
        click.option("--omissions/--no-omissions", default=True, help=OMISSIONS),
        click.option(
            "--rater", "only_raters", multiple=True, help="Take only this rater's ratings; may be repeated."
        ),
        click.option(
            "--exclude-rater", "excluded_raters", multiple=True, help="Leave a rater out; may be repeated."
        ),
        click.option(
            "--scores", type=FILE, help="Where to write the raters' scores [CAMPAIGN/scores.jsonl]."
        ),
        click.option(
            "--strict", is_flag=True, help="Refuse the file at its first mistake, instead of mending it."
        ),
        click.option(
            "--repairs", "repairs_file", type=FILE, help="List what was mended or left out as JSONL."
        ),
        JSON,
        QUIET,
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.group("import")
def import_() -> None:
    """Turn the error spans of an existing evaluation campaign into judgments.

    An error that a rater marked in a candidate makes the constituents it is aligned with unacceptable (NO), the others
    are acceptable (YES). Each rater is a worker, each system an origin. Where the folder has no campaign, one is made
    of the file's texts. Ratings find their segments and candidates by their texts. Mistakes in the file are mended and
    counted; what has no place is left out and counted, too.
    """


@import_.command()
@importing
def mqm(**options: Any) -> None:
    """Import MQM ratings: a TSV FILE with a line for each error, as google/wmt-mqm-human-evaluation has them.

    Scores are weighted sums of errors, 0 is best: Major 5, Minor 1, Minor Fluency/Punctuation 0.1, Non-translation 25,
    Critical 10.
    """
    _import("mqm", **options)


@import_.command()
@importing
@click.option("--batches", type=FILE, help="The JSON of the batches, for Appraise's CSV.")
@click.option(
    "--languages", "pair", metavar="SRC-TGT", help="Take only this language pair, as the file names it."
)
def esa(**options: Any) -> None:
    """Import ESA ratings: a FILE of Appraise's CSV (with --batches), or of WMT's JSONL.

    Scores run from 0 to 100, the best.
    """
    _import("esa", **options)


def _import(
    form: str,
    *,
    file: str,
    folder: str,
    references: tuple[str, ...],
    reference_files: tuple[str, ...],
    language: str | None,
    severity: str,
    omissions: bool,
    strict: bool,
    as_json: bool,
    quiet: bool,
    batches: str | None = None,
    pair: str | None = None,
    **options: Any,
) -> None:
    from rypt.ratings.rated_campaign import RatingsFile, import_ratings_file
    from rypt.ratings.rating import Policy

    quiet = quiet or as_json
    result = import_ratings_file(
        RatingsFile(file, form, references, reference_files, language, batches, pair),
        folder,
        Policy(severity, omissions),
        strict=strict,
        watch=watcher(quiet=quiet),
        tell=lambda text: talk(text, quiet=quiet),
        **options,
    )
    click.echo(
        json.dumps(result.as_dict(), ensure_ascii=False) if as_json else result,
        err="-" in (options["scores"], options["repairs_file"]),
    )
    written = options["scores"] or f"{folder}/scores.jsonl"
    talk(
        f"{plural(result.scores or 0, 'score')} written to {written}\nnext: rypt status {folder}", quiet=quiet
    )
