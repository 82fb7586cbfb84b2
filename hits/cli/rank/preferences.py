"""``rypt rank preferences``: two systems beside each other, judgment by judgment and segment by segment."""

import json
from typing import TYPE_CHECKING

import click

from hits.cli.rank.shared import data_options
from rypt.console import JSON

if TYPE_CHECKING:
    from hits.ranking.rank import ComparisonFiles


@click.command()
@data_options
@click.option("--systems", "pair", required=True, metavar="FIRST,SECOND", help="The two systems.")
@click.option("--latex", is_flag=True, help="Print the tables for LaTeX.")
@JSON
def preferences(data: "ComparisonFiles", pair: str, latex: bool, as_json: bool) -> None:
    """Show which of two systems people preferred: judgments for each, and segments by their difference of votes.

    These are Tables 1 and 2 of the RYPT paper, with sign tests and a bootstrap interval over segments.
    """
    from hits.compare.preferences import preference_line, preference_tables
    from hits.compare.systems import system_preferences

    names = pair.split(",")
    if len(names) != 2 or not all(names):
        raise click.UsageError(f"--systems {pair}: expected two names separated by a comma")
    if latex and as_json:
        raise click.UsageError("--latex or --json, not both")
    preferred = system_preferences(data, names[0], names[1])
    if as_json:
        click.echo(json.dumps(preferred.as_dict(), ensure_ascii=False))
        return
    click.echo(f"{preference_line(preferred, latex=latex)}\n")
    click.echo(preference_tables([preferred], latex=latex, pick=""))
