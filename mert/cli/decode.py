"""``rypt decode``: a campaign's decoder, run with its current weights."""

import json
from dataclasses import asdict

import click

from rypt.console import CAMPAIGN, FILE, JSON, QUIET, talk, watcher


@click.command()
@CAMPAIGN
@click.option(
    "--weights",
    type=FILE,
    help="Decode with these weights, which become the current ones [the last of CAMPAIGN/weights, "
    "else the start weights].",
)
@JSON
@QUIET
def decode(campaign: str, weights: str | None, as_json: bool, quiet: bool) -> None:
    """Run a campaign's decoder with its current weights and add the n-best list to the campaign.

    The list is checked (whole, every segment, the features of the weights, alignments) and kept in CAMPAIGN/lists.
    Weights that were used for decoding before are not used again.
    """
    from mert.decode import decode_campaign
    from rypt.campaign.folder import Campaign

    opened = Campaign.open(campaign, watcher(quiet=quiet))
    decoded = decode_campaign(opened, weights)
    if as_json:
        click.echo(json.dumps(asdict(decoded)))
        return
    if decoded.already:
        talk(f"{decoded.weights} was used for decoding before", quiet=quiet)
    click.echo(f"{opened.path(decoded.list)}: {decoded}")
