"""``rypt hits``: batches of work for people, the market they are on, and what comes back."""

import click

from hits.batch_cli import make, price
from hits.market_cli import block, bonus, collect, expire, invite, publish, review, serve
from hits.results_cli import export, import_, status, workers


@click.group()
def hits() -> None:
    """Ask people: batches of hits, a market of one's own, results, workers.

    make → price → serve → invite → publish → status → collect → workers → review.
    """


for command in (
    block, bonus, collect, expire, export, import_, invite, make, price, publish, review, serve, status, workers
):  # fmt: skip
    hits.add_command(command)
