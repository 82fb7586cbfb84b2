"""``rypt loop``: the complete run, from decoding to new weights, again and again."""

import json
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path

import click

from rypt.console import AMOUNT, CAMPAIGN, FILE, JSON, QUIET, talk, watcher
from rypt.picture import check_picture
from rypt.text import RyptError

AT_LEAST_1, PORT = click.IntRange(min=1), click.IntRange(0, 65535)

POLL = "Maximum time between two checks of the market, in seconds [60]."
GO_ON = (
    "Do not wait for missing answers to the batch that is on the market now: expire its hits. Later batches are waited "
    "for."
)


@click.command()
@CAMPAIGN
@AMOUNT
@click.option("--max-iterations", type=AT_LEAST_1, help="Maximum number of iterations [10].")
@click.option("--poll", type=click.FloatRange(min=1), default=60, help=POLL)
@click.option("--go-on", is_flag=True, help=GO_ON)
@click.option("--serve", is_flag=True, help="Also serve the campaign's market while the loop runs.")
@click.option("--port", type=PORT, help="With --serve: port of the market [the last one used, else 8000].")
@click.option("--threads", type=AT_LEAST_1, default=1, help="Number of threads for tuning [1].")
@click.option(
    "--once", is_flag=True, help="Only decode: add the n-best list of the current weights to CAMPAIGN."
)
@click.option(
    "--weights",
    type=FILE,
    help="With --once: decode with these weights, which become the current ones [the last of CAMPAIGN/weights, else "
    "the start weights].",
)
@click.option("--dry-run", is_flag=True, help="Print the next step and its cost, and do nothing.")
@click.option("-o", "--output", type=click.Path(), help="Write the best weights by all labels to this file.")
@click.option("--plot", type=click.Path(), help="Plot scores and spending to this file (.svg, .png, .pdf).")
@click.option("--yes", is_flag=True, help="Do not ask before spending.")
@JSON
@QUIET
def loop(
    campaign: str,
    budget: Decimal | None,
    max_iterations: int | None,
    poll: float,
    go_on: bool,
    serve: bool,
    port: int | None,
    threads: int,
    once: bool,
    weights: str | None,
    dry_run: bool,
    output: str | None,
    plot: str | None,
    yes: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Tune a campaign's decoder to people's judgments, in a loop.

    Decode with the current weights, ask workers about new phrases, wait for their answers, tune to all labels so far,
    and repeat until the budget is spent, no candidate is new, or there is no significant gain. Each step is printed as
    a command that can also be run by hand. The loop may take days; if it is killed, run it again to resume it.
    """
    if once:
        _decode_once(campaign, weights, as_json=as_json, quiet=quiet)
        return
    if weights is not None:
        raise click.UsageError("--weights needs --once")
    from rypt.loop.runner import Loop

    if output == "-":
        raise click.UsageError("expected a file for the weights, not standard output")
    if output and not Path(output).resolve().parent.is_dir():
        raise RyptError(f"{output}: its folder does not exist")
    if plot:
        check_picture(plot)
    if port is not None and not serve:
        raise click.UsageError("--port needs --serve")
    opened = Loop(
        campaign,
        budget=budget,
        max_iterations=max_iterations,
        poll=poll,
        go_on=go_on,
        threads=threads,
        tell=lambda text: talk(text, quiet=quiet),
    )
    if dry_run:
        click.echo(opened.forecast())
        return
    if opened.stopped() is None and opened.left > 0 and not yes:
        where = opened.market.endpoint or f"the market in {opened.market_folder}"
        click.confirm(f"Spend up to ${opened.left:.2f} on {where}?", abort=True, err=True)
    opened.run(serve=serve, port=port)
    report = opened.report()
    if output:
        report.write(output)
    if plot:
        report.plot(plot)
    click.echo(json.dumps(report.as_dict()) if as_json else repr(report))


def _decode_once(campaign: str, weights: str | None, *, as_json: bool, quiet: bool) -> None:
    """Decode with the current weights; the list is checked and kept in CAMPAIGN/lists."""
    from mert.campaign import decode_campaign
    from rypt.campaign.folder import Campaign

    opened = Campaign.open(campaign, watcher(quiet=quiet))
    decoded = decode_campaign(opened, weights)
    if as_json:
        click.echo(json.dumps(asdict(decoded)))
        return
    if decoded.already:
        talk(f"{decoded.weights} was used for decoding before", quiet=quiet)
    click.echo(f"{opened.path(decoded.list)}: {decoded}")
