"""``rypt analyze``: redundancy, percolation and agreement of a campaign."""

import json

import click

from rypt.console import CAMPAIGN, JSON, QUIET, talk, watcher
from rypt.options import check_held_out

AT_LEAST_1 = click.IntRange(min=1)
HOLD_OUT = (
    "Hold out the judgments of some workers, or of some systems, where origins are systems with a list each "
    "(SYSTEM.jsonl) [worker]."
)
JUDGED_ONLY = "Leave out the list of this system, such as a human translation; its judgments count."


@click.command()
@CAMPAIGN
@click.option(
    "--longest", type=click.IntRange(1, 30), default=7, help="Check each maxLen from 1 to this number [7]."
)
@click.option("--hold-out", metavar="system|worker", help=HOLD_OUT)
@click.option("--judged-only", multiple=True, metavar="SYSTEM", help=JUDGED_ONLY)
@click.option("--splits", type=AT_LEAST_1, default=10, help="Number of random splits [10].")
@click.option("--seed", type=click.IntRange(min=0), default=1, help="Random seed [1].")
@click.option("--plot", type=click.Path(dir_okay=False), help="Write a plot to this .svg, .png or .pdf file.")
@JSON
@QUIET
def analyze(
    campaign: str,
    longest: int,
    hold_out: str | None,
    judged_only: tuple[str, ...],
    splits: int,
    seed: int,
    plot: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Analyse the labels of a CAMPAIGN: how often each is reused, and how far percolation can be trusted.

    Counts candidates and phrases list by list. For each maxLen, reports the coverage before and after percolation, and
    how often percolated labels and the calibrated table agree with held-out judgments. Also reports how far workers agree.
    """
    from rypt.analysis.campaign import WAYS
    from rypt.analysis.campaign import analyze as analyse
    from rypt.campaign.folder import Campaign
    from rypt.picture import check_picture

    if hold_out is not None:
        check_held_out(hold_out, WAYS)
    if plot:
        check_picture(plot)
    analysis = analyse(
        Campaign.open(campaign, watcher(quiet=quiet)),
        longest=longest,
        hold_out=hold_out,
        judged_only=judged_only,
        splits=splits,
        seed=seed,
        watch=watcher(quiet=quiet),
    )
    if plot:
        analysis.plot(plot)
        talk(f"{plot} written", quiet=quiet)
    click.echo(json.dumps(analysis.as_dict(), ensure_ascii=False) if as_json else analysis.text())
