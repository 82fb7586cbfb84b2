"""``rypt db``: the judgment database on the command line; the same verbs as in the library."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rypt.console import JSON, Group, talk
from rypt.text import InputError, RyptError, plural

if TYPE_CHECKING:
    from rypt.campaign.folder import Campaign
    from rypt.database.judgments import JudgmentDatabase

DATABASE = click.argument("database", type=click.Path(path_type=Path))


@click.group(cls=Group)
def db() -> None:
    """Export, merge and check judgments.

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


def others_added(result: Mapping[str, Any]) -> str:
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

    Assignments of hits are merged by `rypt hits export -C OTHER -o answers.jsonl` and `rypt import results answers.jsonl`.
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
                click.echo(
                    f"{other}: {plural(merged.added, 'judgment')} added, {counts}; {others_added(result)}"
                )
                for conflict in merged.conflicts[:20]:
                    talk(f"  conflict: {conflict}")
    if as_json:
        click.echo(json.dumps(results, ensure_ascii=False))


@db.command()
@DATABASE
@click.option("--source", type=click.Path(), help="Source text to compare with what workers saw.")
@JSON
def check(database: Path, source: str | None, as_json: bool) -> None:
    """Show what the database holds, and look for damage, changed texts and spans that are not constituents.

    The exit code is 1 if a problem is found.
    """
    from rypt.campaign.folder import read_source
    from rypt.database.check import check as find_problems
    from rypt.database.check import summary

    campaign = campaign_of(database)
    sources = read_source(source) if source else campaign.segments if campaign else None
    with open_database(database, readonly=True) as opened:
        numbers, problems = summary(opened), list(find_problems(opened, sources))
    if as_json:
        found = [asdict(problem) for problem in problems]
        click.echo(json.dumps({**numbers, "problems": found}, ensure_ascii=False))
    else:
        for name, value in numbers.items():
            if isinstance(value, dict):
                value = ", ".join(f"{key} {count}" for key, count in value.items())
            click.echo(f"{name.replace('_', ' '):28}{value}")
        for problem in problems:
            click.echo(str(problem))
        click.echo("" if problems else "no problems found")
    if problems:
        raise RyptError(f"{database}: {plural(len(problems), 'problem')} found")
