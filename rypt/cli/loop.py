"""``rypt loop``: the complete run, from decoding to new weights, again and again."""

import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rypt.console import AMOUNT, CAMPAIGN, JSON, QUIET, talk
from rypt.picture import check_picture
from rypt.text import RyptError

if TYPE_CHECKING:
    from rypt.loop.runner import Loop


@click.command()
@CAMPAIGN
@AMOUNT
@click.option("--max-iterations", type=click.IntRange(min=1), help="Iterations in all [10].")
@click.option("--poll", type=click.FloatRange(min=1), default=60, show_default=True,
              help="The longest pause, in seconds, between two looks at the market.")  # fmt: skip
@click.option("--go-on", is_flag=True, help="Do not wait for what is missing of the batch on the market: expire its "
              "hits. Later batches are waited for.")  # fmt: skip
@click.option("--serve", is_flag=True, help="Serve the campaign's market, too, for as long as this runs.")
@click.option("--port", type=click.IntRange(0, 65535), help="Of the market served [the one it had, else 8000].")
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True, help="For tuning.")
@click.option("--dry-run", is_flag=True, help="Say what the next step is and what it would cost, and do nothing.")
@click.option("-o", "--output", type=click.Path(), help="Write the result here: the last weights that no others are "
              "clearly better than, by the labels there are at the end.")  # fmt: skip
@click.option("--plot", type=click.Path(), help="Draw scores and spending over the iterations (.svg, .png, .pdf).")
@click.option("--yes", is_flag=True, help="Do not ask before spending.")
@JSON
@QUIET
def loop(
    campaign: str, budget: Decimal | None, max_iterations: int | None, poll: float, go_on: bool, serve: bool,
    port: int | None, threads: int, dry_run: bool, output: str | None, plot: str | None, yes: bool, as_json: bool,
    quiet: bool,
) -> None:  # fmt: skip
    """Tune a campaign's decoder to people's judgments, in a loop.

    Decode with the current weights, ask workers about what is new, wait for their answers, tune to all labels so far,
    and begin again: until the budget is spent, no candidate is new, or nothing is gained any more. Every step is a
    command that is shown and can be run by hand. It may take days; killed anywhere, it goes on when run again.
    """
    from rypt.campaign.folder import Campaign
    from rypt.loop.runner import Loop, Terms, World, known_budget

    if output and output != "-" and not Path(output).resolve().parent.is_dir():
        raise RyptError(f"{output}: there is no folder to write it to")
    if plot:
        check_picture(plot)
    if port is not None and not serve:
        raise click.UsageError("--port goes with --serve")
    if output == "-":
        raise click.UsageError("expected a file for the weights, not standard output")
    opened = Campaign.open(campaign)
    own = opened.settings.loop
    own = replace(own, budget=known_budget(opened) if budget is None else budget)
    own = replace(own, max_iterations=max_iterations or own.max_iterations)
    if serve and opened.settings.market.endpoint is not None:
        raise click.UsageError("--serve is for a local market; this campaign has an endpoint")
    world = World(lambda text: talk(text, quiet=quiet), time.sleep, lambda: int(time.time()))
    found = Loop(campaign, Terms(own, poll, threads, go_on), world)
    if dry_run:
        click.echo(_next_step(found))
        return
    if found.stopped() is None and found.left > 0 and not yes:
        where = opened.settings.market.endpoint or f"the market in {opened.path(opened.settings.market.folder)}"
        click.confirm(f"Spend up to ${found.left:.2f} on {where}?", abort=True, err=True)
    with _served(found, serve=serve, port=port):
        stopped = found.run()
    _tell(found, stopped, output, plot, as_json=as_json)


@contextmanager
def _served(loop: "Loop", *, serve: bool, port: int | None) -> Iterator[None]:
    if not serve or loop.stopped() is not None:
        yield
        return
    from hits.market.served import serving

    campaign = loop.campaign
    with serving(campaign.path(campaign.settings.market.folder), port) as url:
        loop.world.tell(f"market at {url}")
        yield


def _next_step(loop: "Loop") -> str:
    """What the next step is and costs."""
    if (reason := loop.stopped()) is not None:
        return f"nothing: {reason}"
    step, money = loop.pending(), f"${loop.spent:.2f} of ${loop.terms.budget:.2f} are spent"
    if step == "decode":
        return f"decode with the current weights, which costs nothing; {money}, at most ${loop.left:.2f} come after it"
    if step == "make":
        with tempfile.TemporaryDirectory() as folder:
            made = loop.preview(Path(folder))
        what = f"{made['hits']} hits with {made['answers']} answers for ${made['cost']}"
        return f"make and publish a batch of {what}; {money}" if made["hits"] else f"tune; {money}"
    if step in ("publish", "collect"):
        asked = loop.journal.result(loop.iteration, "make") or {}
        done = "publish" if step == "publish" else "wait for the answers to"
        return f"{done} {loop.batch(loop.iteration)}: {asked['hits']} hits for ${asked['cost']}; {money}"
    return f"{step}, which costs nothing; {money}"


def _tell(loop: "Loop", stopped: str, output: str | None, plot: str | None, *, as_json: bool) -> None:
    from rypt.loop.report import rows, signature, simulated_labels, table

    scores = loop.scores()
    found, weights = rows(loop.journal, scores), loop.best_weights(scores)
    simulated = simulated_labels(loop.campaign)
    if output and weights is not None:
        from rypt.text import open_output, read_bytes

        text = read_bytes(weights).decode()
        with open_output(output) as stream:
            stream.write(text)
    if plot:
        from rypt.loop.plot import plot_loop

        plot_loop(plot, found, simulated=simulated > 0)
    if as_json:
        facts = {
            "stopped": stopped, "budget": str(loop.terms.budget), "spent": str(loop.spent),
            "weights": None if weights is None else str(weights), "simulated": simulated,
            "signature": signature(loop.journal), "iterations": [row.as_dict() for row in found],
        }  # fmt: skip
        click.echo(json.dumps(facts))
        return
    click.echo(table(found))
    click.echo(f"stopped: {stopped}; ${loop.spent:.2f} of ${loop.terms.budget:.2f} spent; best weights: {weights}")
    if simulated:
        click.echo(f"SIMULATED: {simulated} of the judgments are of simulated workers; no person gave them")
    click.echo(signature(loop.journal))
