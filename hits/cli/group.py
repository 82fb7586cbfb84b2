"""``rypt hits``: batches of work for people, the market they are on, and what comes back."""

import click

from hits.cli.batches import controls, make, price
from hits.cli.market import block, bonus, collect, dashboard, expire, invite, publish, review, serve, unblock
from hits.cli.recruit import recruit
from hits.cli.results import aggregate
from hits.cli.status import status
from hits.cli.workers import workers
from rypt.console import Group

SECTIONS = {
    "Make": ("make", "controls", "price"),
    "Publish": ("serve", "publish", "invite", "recruit", "expire"),
    "Collect": ("status", "dashboard", "collect", "aggregate"),
    "Settle": ("workers", "review", "bonus", "block", "unblock"),
}


@click.group(cls=Group, sections=SECTIONS)
def hits() -> None:
    """Collect judgments from people: batches of hits, your own market, results, workers.

    make → price → serve → publish → invite → status → collect → workers → review → aggregate.
    """


for command in (
    aggregate,
    block,
    bonus,
    collect,
    controls,
    dashboard,
    expire,
    invite,
    make,
    price,
    publish,
    recruit,
    review,
    serve,
    status,
    unblock,
    workers,
):
    hits.add_command(command)
