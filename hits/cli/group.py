"""``rypt hits``: batches of work for people, the market they are on, and what comes back."""

import click

from hits.cli.batches import controls, make
from hits.cli.market import collect, invite, publish, review, serve
from hits.cli.recruit import recruit
from hits.cli.results import aggregate
from hits.cli.status import status
from hits.cli.workers import workers
from rypt.console import Group

SECTIONS = {
    "Make": ("make", "controls"),
    "Publish": ("serve", "publish", "invite", "recruit"),
    "Collect": ("status", "collect", "aggregate"),
    "Settle": ("workers", "review"),
}


@click.group(cls=Group, sections=SECTIONS)
def hits() -> None:
    """Collect judgments from people: batches of hits, your own market, results, workers.

    Typical order: make → serve → publish → invite → status → collect → workers → review → aggregate.
    """


for command in (aggregate, collect, controls, invite, make, publish, recruit, review, serve, status, workers):
    hits.add_command(command)
