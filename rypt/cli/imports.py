"""``rypt import``: judgments, ratings of evaluation campaigns, and results of hits."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import click

from rypt.cli.database import database_file, open_database
from rypt.console import FILE, JSON, QUIET, Group, progress, talk, watcher
from rypt.options import CASES
from rypt.ratings.rating import LEVELS
from rypt.text import RyptError, plural, read_lines

F = TypeVar("F", bound=Callable[..., Any])
BY_HAND = 10_000  # judgments: more are not from a sheet that somebody filled in and may have corrected
DATABASE = click.option(
    "-C",
    "--campaign",
    "database",
    type=click.Path(path_type=Path),
    default=".",
    help="Its folder, or a database file, which is made if it does not exist [.].",
)
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


class ImportGroup(Group):
    """The kinds of files; results of hits are read by `hits`."""

    def list_commands(self, context: click.Context) -> list[str]:
        return [*super().list_commands(context), "results"]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name != "results":
            return super().get_command(context, name)
        from hits.cli.results import import_results

        return import_results


@click.group("import", cls=ImportGroup)
def import_() -> None:
    """Import judgments, error spans of an evaluation campaign, or results of hits."""


@import_.command()
@click.argument("files", nargs=-1, required=True)
@DATABASE
@click.option("--rename", multiple=True, metavar="THEIRS=OURS", help="Read column THEIRS as field OURS.")
@click.option(
    "--set", "defaults", multiple=True, metavar="FIELD=VALUE", help="Fill a missing or blank field."
)
@click.option("--skip-refused", is_flag=True, help="Import the valid lines if others are refused.")
@click.option("--replace-trees", is_flag=True, help="Replace the trees of segments by those in the file.")
@click.option("--case", type=click.Choice(CASES), help="Of a new database: lower case or keep [lower].")
@JSON
@QUIET
def judgments(
    database: Path,
    files: tuple[str, ...],
    rename: tuple[str, ...],
    defaults: tuple[str, ...],
    skip_refused: bool,
    replace_trees: bool,
    case: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Import segments and judgments from JSONL, CSV or TSV FILES ("-" is stdin), or from other databases or campaigns.

    Each file is one transaction, and importing it again adds nothing. Judgments have the fields segment, start and
    stop (or first and last, included), phrase, label and worker, and optionally origin, source, time, weight and
    severity (of a NO). A blank label means that the question was not answered: it is counted and not imported.
    """
    from rypt.database.exchange import JUDGMENT_FIELDS, import_file, new_database

    known = {*JUDGMENT_FIELDS, "first", "last"}
    for name in _pairs(defaults):
        if name not in known:
            raise click.UsageError(f"--set {name}: expected one of {', '.join(sorted(known))}")
    results: list[dict[str, Any]] = []
    failure: RyptError | None = None
    with open_database(database, case=case) if database.exists() else new_database(database, case) as opened:
        for file in files:
            try:
                imported = import_file(
                    opened,
                    database_file(Path(file)) if Path(file).is_dir() else file,
                    lines=progress(read_lines(file), f"import {file}", quiet=quiet or as_json),
                    rename=_pairs(rename),
                    defaults=_pairs(defaults),
                    skip_refused=skip_refused,
                    replace_trees=replace_trees,
                )
            except RyptError as error:  # the files before it stay
                if not results:
                    raise
                failure = error
                break
            for number, message in imported.refusals:
                talk(f"{file}:{number}: refused: {message}", quiet=quiet or as_json)
            for conflict in imported.conflicts[:20]:
                talk(f"{file}: conflict: {conflict}", quiet=quiet or as_json)
            results.append({"file": file, **asdict(imported)})
        by_hand = 0 < sum(result["added"] for result in results) <= BY_HAND
        contradictions = opened.count_contradictions() if by_hand else 0
    for result in results if not as_json else ():
        counts = f"{result['already']} already there, {result['unanswered']} unanswered, {result['refused']} refused"
        excluded = f", {plural(result['others'], 'excluded worker')}" if result["others"] else ""
        others = f"{plural(result['segments'], 'segment')} added{excluded}"
        click.echo(f"{result['file']}: {plural(result['added'], 'judgment')} added, {counts}; {others}")
    if contradictions:
        both = f"in {plural(contradictions, 'place')} one worker said both YES and NO; both count"
        talk(f"note: {both}, against each other: rypt check {database} names them", quiet=quiet)
    if failure:
        raise failure
    if as_json:
        click.echo(json.dumps(results, ensure_ascii=False))
    elif database.is_dir():
        talk(f"next: rypt status {database}", quiet=quiet)


def _pairs(items: tuple[str, ...]) -> dict[str, str]:
    pairs = dict(item.partition("=")[::2] for item in items)
    for name, value in pairs.items():
        if not name or not value:
            raise click.UsageError(f"expected NAME=VALUE, found {name}={value}")
    return pairs


@import_.command()
@importing
def mqm(**options: Any) -> None:
    """Import MQM ratings: a TSV FILE with a line for each error, as google/wmt-mqm-human-evaluation has them.

    An error that a rater marked in a candidate makes the constituents it is aligned with unacceptable (NO), the others
    are acceptable (YES). Each rater is a worker, each system an origin. Where the folder has no campaign, one is made
    of the file's texts. Ratings find their segments and candidates by their texts. Mistakes in the file are mended and
    counted; what has no place is left out and counted, too.

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
    """Import ESA ratings: a FILE of Appraise's CSV (with --batches), or of WMT's JSONL, as `rypt import mqm` does.

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
