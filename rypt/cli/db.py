"""``rypt db``: the judgment database on the command line; the same verbs as in the library."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rypt.console import JSON, QUIET, progress, talk
from rypt.options import CASES
from rypt.text import InputError, RyptError, plural, read_lines

if TYPE_CHECKING:
    from rypt.campaign.folder import Campaign
    from rypt.database.judgments import JudgmentDatabase

BY_HAND = 10_000  # judgments: more are not from a sheet that somebody filled in and may have corrected
DATABASE = click.argument("database", type=click.Path(path_type=Path))


@click.group()
def db() -> None:
    """Import, export, merge and check judgments.

    DATABASE is a database file, or the folder of a campaign, which stands for the campaign's database. It is an ordinary
    SQLite file: `sqlite-utils query FILE.db "select * from judgments"` reads it, and so does Datasette.
    """


def campaign_of(path: Path) -> "Campaign | None":
    from rypt.campaign.folder import Campaign

    return Campaign.open(path) if path.is_dir() else None


def database_file(path: Path) -> Path:
    campaign = campaign_of(path)
    return campaign.path(campaign.files.database) if campaign else path


def open_database(
    path: Path, *, readonly: bool = False, case: str | None = None, create: bool = False
) -> "JudgmentDatabase":
    """Open a database file or a campaign's database; create a new one only when asked to."""
    from rypt.database.judgments import JudgmentDatabase

    file = database_file(path)
    if not create and not file.exists():
        raise InputError(file, None, "No such file or directory")
    return JudgmentDatabase(file, readonly=readonly, case=case)


@db.command("import")
@DATABASE
@click.argument("files", nargs=-1, required=True)
@click.option("--rename", multiple=True, metavar="THEIRS=OURS", help="Read column THEIRS as field OURS.")
@click.option(
    "--set", "defaults", multiple=True, metavar="FIELD=VALUE", help="Fill a missing or blank field."
)
@click.option("--skip-refused", is_flag=True, help="Import the valid lines if others are refused.")
@click.option("--replace-trees", is_flag=True, help="Replace the trees of segments by those in the file.")
@click.option("--case", type=click.Choice(CASES), help="Of a new database: lower case or keep [lower].")
@JSON
@QUIET
def import_(
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
    """Import segments and judgments from JSONL, CSV or TSV FILES ("-" is stdin).

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
                    file,
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
            results.append({"file": file, **asdict(imported)})
        by_hand = 0 < sum(result["added"] for result in results) <= BY_HAND
        contradictions = opened.count_contradictions() if by_hand else 0
    for result in results if not as_json else ():
        counts = f"{result['already']} already there, {result['unanswered']} unanswered, {result['refused']} refused"
        click.echo(
            f"{result['file']}: {plural(result['added'], 'judgment')} added, {counts}; {_others(result)}"
        )
    if contradictions:
        both = f"in {plural(contradictions, 'place')} one worker said both YES and NO; both count"
        talk(f"note: {both}, against each other: rypt db check {database} names them", quiet=quiet)
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


def _others(result: Mapping[str, Any]) -> str:
    excluded = f", {plural(result['others'], 'excluded worker')}" if result["others"] else ""
    return f"{plural(result['segments'], 'segment')} added{excluded}"


@db.command()
@DATABASE
@click.argument("file", default="-")
@click.option("--segments", is_flag=True, help="For CSV: write the segments instead of the judgments.")
@click.option("--format", "form", type=click.Choice(["jsonl", "csv"]), help="Format [by the file's ending].")
def export(database: Path, file: str, segments: bool, form: str | None) -> None:
    """Write segments, judgments and excluded workers as JSONL, or the judgments as CSV.

    FILE is stdout by default; .gz is compressed. `rypt hits export` writes the answers to hits.
    """
    from rypt.database.exchange import export_file, refuse_itself

    ending = Path(file.removesuffix(".gz")).suffix
    with open_database(database, readonly=True) as opened:
        refuse_itself(opened, file)
        if form is None and ending not in (".jsonl", ".csv", ""):
            raise click.UsageError(f"expected a .jsonl or .csv file, found {file} (or give --format)")
        as_csv = form == "csv" or (form is None and ending == ".csv")
        if segments and not as_csv:
            raise click.UsageError("--segments is for CSV; JSONL holds both")
        count = export_file(opened, file, form="csv" if as_csv else "jsonl", segments=segments)
    talk(f"{plural(count, 'record')} written", quiet=file == "-")


@db.command()
@DATABASE
@click.argument("others", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--replace-trees", is_flag=True, help="Replace the trees of segments by those of OTHERS.")
@JSON
def merge(database: Path, others: tuple[Path, ...], replace_trees: bool, as_json: bool) -> None:
    """Add the judgments of OTHERS, each once; conflicts are reported, and both sides are kept.

    Assignments of hits are merged by `rypt hits export -C OTHER -o answers.jsonl` and `rypt hits import answers.jsonl`.
    """
    from rypt.database.exchange import merge as merge_into

    results = []
    for other in others:
        open_database(other, readonly=True).close()
    with open_database(database, create=True) as opened:
        for other in others:
            merged = merge_into(opened, database_file(other), replace_trees=replace_trees)
            result = {"file": str(other), **asdict(merged)}
            results.append(result)
            if not as_json:
                counts = f"{merged.already} already there, {plural(len(merged.conflicts), 'conflict')}"
                click.echo(f"{other}: {plural(merged.added, 'judgment')} added, {counts}; {_others(result)}")
                for conflict in merged.conflicts[:20]:
                    talk(f"  conflict: {conflict}")
    if as_json:
        click.echo(json.dumps(results, ensure_ascii=False))


@db.command()
@DATABASE
@JSON
def stats(database: Path, as_json: bool) -> None:
    """Show what the database holds."""
    from rypt.database.check import summary

    with open_database(database, readonly=True) as opened:
        numbers = summary(opened)
    if as_json:
        click.echo(json.dumps(numbers))
        return
    for name, value in numbers.items():
        if isinstance(value, dict):
            value = ", ".join(f"{key} {count}" for key, count in value.items())
        click.echo(f"{name.replace('_', ' '):28}{value}")


@db.command()
@DATABASE
@click.option("--source", type=click.Path(), help="Source text to compare with what workers saw.")
@JSON
def check(database: Path, source: str | None, as_json: bool) -> None:
    """Check for damage, changed texts and spans that are not constituents; exit 1 if any is found."""
    from rypt.campaign.folder import read_source
    from rypt.database.check import check as find_problems

    campaign = campaign_of(database)
    sources = read_source(source) if source else campaign.segments if campaign else None
    with open_database(database, readonly=True) as opened:
        problems = list(find_problems(opened, sources))
    if as_json:
        click.echo(json.dumps([asdict(problem) for problem in problems], ensure_ascii=False))
    else:
        for problem in problems:
            click.echo(str(problem))
        click.echo(plural(len(problems), "problem") if problems else "no problems found")
    if problems:
        raise RyptError(f"{database}: {plural(len(problems), 'problem')} found")
