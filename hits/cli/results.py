"""``rypt hits aggregate``: one label for each phrase, in a file."""

import click

from hits.cli.shared import FOLDER
from rypt.console import talk
from rypt.text import plural


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
    from hits.results.aggregate import aggregate as aggregate_labels
    from hits.results.aggregate import file_form

    form = form or file_form(output)
    if form == "db" and output == "-":
        raise click.UsageError("--format db needs --output FILE.db")
    labels = aggregate_labels(campaign, method)
    labels.write(output, form)
    talk(f"{plural(len(labels), 'label')} by {method}", quiet=output == "-")
