"""``rypt import results`` and ``rypt hits aggregate``: what came back, in files."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from hits.cli.shared import CAMPAIGN, FOLDER, added_line, open_results
from rypt.console import JSON, talk
from rypt.text import plural


@click.command("results")
@click.argument("results_file", type=click.Path(), metavar="RESULTS.csv")
@CAMPAIGN
@click.option(
    "--rename",
    multiple=True,
    metavar="THEIRS=OURS",
    help="Read the column THEIRS of the file as OURS, such as Input.sentence=Input.segment.",
)
@click.option("--batch", type=FOLDER, help="Folder of the published batch, which says what the rows mean.")
@click.option(
    "--market",
    type=click.Choice(["local", "mturk"]),
    help="Market on which the work was done, for its fees [local for hits made by rypt, else mturk].",
)
@JSON
def import_results(
    results_file: str,
    campaign: str,
    rename: tuple[str, ...],
    batch: str | None,
    market: str | None,
    as_json: bool,
) -> None:
    """Import a results CSV of the requester web site into a campaign, all of it or nothing.

    A file that ends in .jsonl is one of `rypt export --results`, and is joined with what the campaign knows of its assignments.
    In a CSV a label row needs Input.segment, Input.start and Input.stop (or first and last, included), Input.phrase_1 … and
    Answer.label_1 …; a comparison Input.system_a, Input.system_b and Answer.choice; a ranking Input.system_1 … and
    Answer.rank_1 …. With --batch only Input.item is needed of the Input columns.
    """
    from hits.batch.folder import read_batch
    from hits.results import csv_file
    from hits.results.jsonl_file import import_answers

    names = dict(_renamed(text) for text in rename)
    read = read_batch(batch) if batch else None
    if is_jsonl(results_file) and (rename or batch or market):
        raise click.UsageError("--rename, --batch and --market are for a results CSV")
    with open_results(campaign, readonly=False) as results:
        if is_jsonl(results_file):
            added = import_answers(results, results_file)
        else:
            added = csv_file.import_results(
                results, results_file, rename=names, batch=read, market=market or ""
            )
    if as_json:
        click.echo(json.dumps(asdict(added)))
    else:
        click.echo(added_line(added))


def is_jsonl(path: str) -> bool:
    """Whether a file is JSONL, by its ending."""
    return path.removesuffix(".gz").endswith(".jsonl")


def _renamed(text: str) -> tuple[str, str]:
    theirs, equals, ours = text.partition("=")
    if not theirs or not equals or not ours:
        raise click.UsageError(f"--rename {text}: expected THEIRS=OURS")
    return theirs, ours


@click.command()
@click.argument("campaign", type=FOLDER)
@click.option(
    "--method",
    type=click.Choice(["majority", "dawid-skene"]),
    default="majority",
    show_default=True,
    help="Count every vote the same (majority), or weigh workers by their errors (dawid-skene).",
)
@click.option(
    "--format", "form", type=click.Choice(["jsonl", "csv", "db"]), help="Format of the file [by its ending]."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False),
    default="-",
    show_default=True,
    help="Write a .jsonl or .csv file, or a new .db file to score and tune with.",
)
def aggregate(campaign: str, method: str, form: str | None, output: str) -> None:
    """Combine the judgments of each phrase into one label, with the probability of each label.

    A tie is NOT_SURE. Excluded workers and rejected work do not count. `rypt score CAMPAIGN --database FILE.db` and
    `rypt tune --metric "rypt(db=FILE.db)"` use the labels of a database written here instead of the single judgments.
    """
    from hits.results.aggregate import FORMS, file_form
    from hits.results.aggregate import aggregate as aggregate_labels

    ending = Path(output.removesuffix(".gz")).suffix.removeprefix(".")
    if form is None and output != "-" and ending not in ("", *FORMS):
        raise click.UsageError(f"expected a .jsonl, .csv or .db file, found {output} (or give --format)")
    form = form or file_form(output)
    if form == "db" and output == "-":
        raise click.UsageError("--format db needs --output FILE.db")
    labels = aggregate_labels(campaign, method)
    labels.write(output, form)
    talk(f"{plural(len(labels), 'label')} by {method}", quiet=output == "-")
