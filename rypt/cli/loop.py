"""``rypt loop``: the complete run, from decoding to new weights, again and again."""

import json
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path

import click

from rypt.console import AMOUNT, CAMPAIGN, JSON, QUIET, talk, watcher
from rypt.picture import check_picture
from rypt.text import RyptError

ONCE = "Only decode with the current weights and add the list to the campaign; ask nobody, tune nothing."

WEIGHTS = (
    "With --once: decode with these weights, which become the current ones [the last of CAMPAIGN/weights]."
)


@click.command()
@CAMPAIGN
@AMOUNT
@click.option("--serve", is_flag=True, help="Also serve the campaign's market while the loop runs.")
@click.option("--once", is_flag=True, help=ONCE)
@click.option("--weights", type=click.Path(dir_okay=False), help=WEIGHTS)
@click.option("--dry-run", is_flag=True, help="Only print the next step and its cost.")
@click.option("-o", "--output", type=click.Path(), help="Write the best weights by all labels to this file.")
@click.option("--plot", type=click.Path(), help="Plot scores and spending to this file (.svg, .png, .pdf).")
@click.option("--yes", is_flag=True, help="Do not ask before spending.")
@JSON
@QUIET
def loop(
    campaign: str,
    budget: Decimal | None,
    serve: bool,
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

    Decode with the current weights, ask workers about new phrases, wait for their answers, tune to all labels so
    far, and repeat until the budget is spent, no candidate is new, there is no significant gain, or a limit in
    rypt.toml is reached. Each step is printed as a command that can also be run by hand. The loop may take days; if
    it is killed, run it again to resume it. To continue without the missing answers, close the batch: `rypt hits
    publish --end`.
    """
    if once:
        if budget is not None or serve or dry_run or output or plot:
            raise click.UsageError("--once cannot be combined with other options than --weights")
        _decode(campaign, weights, as_json=as_json, quiet=quiet)
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
    opened = Loop(campaign, budget=budget, tell=lambda text: talk(text, quiet=quiet))
    if dry_run:
        click.echo(opened.forecast())
        return
    if opened.stopped() is None and opened.left > 0 and not yes:
        where = opened.market.endpoint or f"the market in {opened.market_folder}"
        click.confirm(f"Spend up to ${opened.left:.2f} on {where}?", abort=True, err=True)
    opened.run(serve=serve)
    report = opened.report()
    if output:
        report.write(output)
    if plot:
        report.plot(plot)
    click.echo(json.dumps(report.as_dict()) if as_json else repr(report))


def _decode(campaign: str, weights: str | None, *, as_json: bool, quiet: bool) -> None:
    """Decode; weights that were decoded with before are not used again."""
    from mert.campaign import decode_campaign
    from rypt.campaign.folder import Campaign

    opened = Campaign.open(campaign, watcher(quiet=quiet))
    decoded = decode_campaign(opened, weights)
    if decoded.already:
        talk(f"{decoded.weights} was used for decoding before", quiet=quiet)
    click.echo(json.dumps(asdict(decoded)) if as_json else f"{opened.path(decoded.list)}: {decoded}")
