"""``rypt export`` and ``rypt check``: the judgment database of a campaign."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rypt.console import JSON, talk
from rypt.text import InputError, RyptError, open_output, plural

if TYPE_CHECKING:
    from rypt.campaign.folder import Campaign
    from rypt.database.judgments import JudgmentDatabase

DATABASE = click.argument(
    "database", type=click.Path(path_type=Path), default=".", metavar="[CAMPAIGN|FILE.db]"
)
RESULTS = (
    "Write the results of hits instead: a CSV in the format of the requester web site, or everything "
    "about assignments as JSONL."
)


def campaign_of(path: Path) -> "Campaign | None":
    from rypt.campaign.folder import Campaign

    return Campaign.open(path) if path.is_dir() else None


def database_file(path: Path) -> Path:
    """The database of a campaign's folder, or a database file itself."""
    campaign = campaign_of(path)
    return campaign.path(campaign.files.database) if campaign else path


def open_database(path: Path, *, readonly: bool = False, case: str | None = None) -> "JudgmentDatabase":
    """Open the database of a campaign's folder, or a database file, which must exist."""
    from rypt.database.judgments import JudgmentDatabase

    file = database_file(path)
    if not file.exists():
        raise InputError(file, None, "No such file or directory")
    return JudgmentDatabase(file, readonly=readonly, case=case)


@click.command()
@DATABASE
@click.option("-o", "--output", type=click.Path(), default="-", help="Write to this file instead of stdout.")
@click.option("--format", "form", type=click.Choice(["jsonl", "csv"]), help="Format [by the file's ending].")
@click.option("--segments", is_flag=True, help="For CSV: write the segments instead of the judgments.")
@click.option("--results", is_flag=True, help=RESULTS)
@click.option("--batch", type=click.Path(file_okay=False), help="With --results: export only this batch.")
def export(
    database: Path, output: str, form: str | None, segments: bool, results: bool, batch: str | None
) -> None:
    """Write segments, judgments and excluded workers as JSONL, or the judgments as CSV.

    `rypt import` reads the files, and database files, too. The database is an ordinary SQLite file:
    `sqlite-utils query FILE.db "select * from judgments"` reads it, and so does Datasette.
    """
    from rypt.database.exchange import export_file, refuse_itself

    ending = Path(output.removesuffix(".gz")).suffix
    if form is None and ending not in (".jsonl", ".csv", ""):
        raise click.UsageError(f"expected a .jsonl or .csv file, found {output} (or give --format)")
    form = form or ending.removeprefix(".") or ("csv" if results else "jsonl")
    if batch and not results:
        raise click.UsageError("--batch needs --results")
    if segments and (form == "jsonl" or results):
        raise click.UsageError("--segments is for the CSV of a database; JSONL holds segments and judgments")
    with open_database(database, readonly=True) as opened:
        if results:
            from hits.batch.folder import read_batch
            from hits.results.answers import Results
            from hits.results.csv_file import export_results
            from hits.results.jsonl_file import export_answers

            refuse_itself(opened, output)
            only = read_batch(batch).settings.id if batch else None
            write = export_results if form == "csv" else export_answers
            with open_output(output) as stream:
                count = write(Results(opened), stream, batch=only)
        else:
            count = export_file(opened, output, form=form, segments=segments)
    talk(f"{plural(count, 'record')} written", quiet=output == "-")


@click.command()
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
        listed = [problem._asdict() for problem in problems]
        click.echo(json.dumps({**numbers, "problems": listed}, ensure_ascii=False))
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
