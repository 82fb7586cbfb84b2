"""``rypt hits publish``, ``collect``, ``review``, ``serve``, ``invite``."""

import json
import logging
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from hits.cli.shared import (
    BATCH,
    CAMPAIGN,
    FOLDER,
    MARKET,
    YES,
    added_line,
    campaign_folder,
    market_options,
    participant_lines,
    with_market,
)
from hits.cli.shared import confirm as ask
from rypt.console import JSON, QUIET, progress, talk
from rypt.text import plural

if TYPE_CHECKING:
    from hits.market.client import Market, MarketAddress
    from hits.market.folder import MarketAccess
    from hits.payment import Price


@click.command()
@BATCH
@MARKET
@click.option("--end", is_flag=True, help="Close the batch instead: nobody can start its hits any more.")
@YES
@JSON
@QUIET
@with_market
def publish(batch: str, market: "MarketAddress", end: bool, yes: bool, as_json: bool, quiet: bool) -> None:
    """Publish a BATCH on the market; running it again adds only what is missing."""
    from hits.market import publish as publishing

    if end:
        ended = publishing.expire(batch, market, watch=lambda hits: progress(hits, "end", quiet=quiet))
        for message in ended.failed:
            talk(message, quiet=quiet)
        if as_json:
            click.echo(json.dumps({"ended": ended.hits, "failed": len(ended.failed)}))
        else:
            rest = f", {len(ended.failed)} not" if ended.failed else ""
            click.echo(f"{plural(ended.hits, 'hit')} ended{rest}")
        return

    def confirm(price: "Price", client: "Market") -> bool:
        return yes or ask(f"Publish {plural(price.hits, 'hit')} for ${price.total} on {client.name}?")

    done = publishing.publish(
        batch, market, confirm=confirm, watch=lambda items: progress(items, "publish", quiet=quiet)
    )
    if as_json:
        click.echo(json.dumps({"published": done.made, "already": done.already, "cost": str(done.cost)}))
    else:
        click.echo(f"{plural(done.made, 'hit')} published, {done.already} already there")


@click.command()
@BATCH
@CAMPAIGN
@market_options
@JSON
@QUIET
def collect(batch: str, campaign: str, market: "MarketAddress", as_json: bool, quiet: bool) -> None:
    """Add the answers to a BATCH to the campaign's database, each once."""
    from hits.market.collect import collect as collect_batch

    done = collect_batch(
        batch,
        market,
        campaign_folder(campaign, batch),
        watch=lambda items: progress(items, "collect", quiet=quiet),
    )
    for message in done.left_out:
        talk(f"left out: {message}")
    if as_json:
        facts = asdict(done) | {"left_out": len(done.left_out)}
        if not done.participants:
            del facts["participants"]
        click.echo(json.dumps(facts))
        return
    for line in [added_line(done), *participant_lines(done.participants)]:
        click.echo(line)


@click.command()
@click.argument("decisions", type=click.Path(dir_okay=False))
@market_options
@QUIET
def review(decisions: str, market: "MarketAddress", quiet: bool) -> None:
    """Approve and reject work by the columns Approve (x) and Reject (a reason) of a results CSV.

    A participant's submission on Prolific is approved or rejected once all of that participant's work is. A reason
    may begin with Prolific's category ("LOW_EFFORT: …").
    """
    from hits.market.collect import review as review_work

    done = review_work(decisions, market, watch=lambda rows: progress(rows, "review", quiet=quiet))
    for assignment in done.too_late:
        talk(f"assignment {assignment} was approved and cannot be rejected any more")
    for line in done.unsettled:
        talk(line)
    click.echo(f"{done.approved} approved, {done.rejected} rejected, {done.already} so already")
    if done.approved or done.rejected:
        talk("`rypt hits collect BATCH -C CAMPAIGN` brings these decisions into the campaign", quiet=quiet)


@click.command()
@click.argument("folder", type=FOLDER)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="Port to listen on; 0 takes a free one.",
)
@click.option("--url", default="", help="Public URL, if the market is behind a reverse proxy.")
@click.option("--proxy", is_flag=True, help="Trust the X-Forwarded headers of one reverse proxy.")
@click.option(
    "--completion-url",
    default="",
    help="URL to which participants of a recruiting service return; {code} stands for the completion code.",
)
@click.option(
    "--hits-each",
    type=click.IntRange(min=0),
    default=0,
    help="Number of hits after which a participant gets the completion code [all].",
)
@click.option(
    "--completion-code", default="", help="Code that participants are shown at the end [a random one]."
)
@click.option(
    "--id-parameter",
    "parameters",
    multiple=True,
    metavar="NAME",
    help="Query parameter of the shared link in which a recruiting service writes the participant's id; may be "
    "repeated [PROLIFIC_PID, participantId, workerId].",
)
@JSON
def serve(
    folder: str,
    host: str,
    port: int,
    url: str,
    proxy: bool,
    completion_url: str,
    hits_each: int,
    completion_code: str,
    parameters: tuple[str, ...],
    as_json: bool,
) -> None:
    """Serve your own market from FOLDER: worker pages, a dashboard, and Mechanical Turk's protocol.

    FOLDER may also be a campaign, whose market is served. The market runs until Ctrl-C or a signal stops it. All
    answers are saved, and the same links work when FOLDER is served again.
    """
    from hits.market.client import campaign_around, market_address
    from hits.market.folder import PARAMETERS
    from hits.server.app import serve as serve_market
    from hits.server.settings import ServeOptions

    # waitress warns of every request that waits for a thread
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    options = ServeOptions(
        url,
        proxy,
        parameters or PARAMETERS,
        hits_each,
        completion_code,
        completion_url,
        campaign=campaign_around(folder),
    )

    def ready(access: "MarketAccess") -> None:
        links = {"market": access.url, "dashboard": access.dashboard_url, "shared": access.shared_url}
        if as_json:
            keys = {"access_key": access.access_key, "secret_key": access.secret_key}
            urls = {"url": access.url, "dashboard_url": access.dashboard_url, "shared_url": access.shared_url}
            click.echo(json.dumps(urls | keys))
            return
        for name, link in links.items():
            click.echo(f"{name:11}{link}")
        talk("shared is the link for a recruiting service, which puts a participant's id into it")
        talk("Ctrl-C stops the market; all answers are on the disk, and serving it again goes on from there")

    market = market_address(folder)
    if market.folder is None:
        raise click.UsageError(
            f"the market of {folder} is at {market.endpoint}: only a local one is served here"
        )
    serve_market(market.folder, host, port, ready, options)


@click.command()
@click.argument("names", nargs=-1)
@MARKET
@click.option(
    "--bulk", type=click.Path(dir_okay=False), help="A file of names, one per line or the first CSV column."
)
@click.option(
    "--country", help="Country of these workers, two letters such as DE, for hits that require one."
)
@click.option(
    "--revoke", is_flag=True, help="Revoke all invitation links of these people instead; their answers stay."
)
@JSON
@with_market
def invite(
    names: tuple[str, ...],
    market: "MarketAddress",
    bulk: str | None,
    country: str | None,
    revoke: bool,
    as_json: bool,
) -> None:
    """Create an invitation link for each of NAMES, and print it with the worker's id.

    Also prints a link to the dashboard that can be used once, on stderr; without NAMES, only this link.
    """
    from hits.market.folder import served_access
    from hits.market.served import is_served
    from hits.server import invitations

    folder = market.folder
    if folder is None:
        raise click.UsageError("people are invited to a local market: expected its folder as --market")
    everybody = [*names, *(_read_names(bulk) if bulk else [])]
    if revoke:
        if country is not None or not everybody:
            raise click.UsageError("--revoke needs names, or --bulk FILE, and no --country")
        count = invitations.revoke(folder, everybody)
        click.echo(json.dumps({"revoked": count}) if as_json else f"{plural(count, 'link')} revoked")
        return
    if country is not None and not (len(country) == 2 and country.isascii() and country.isalpha()):
        raise click.UsageError(f"--country {country}: expected two letters such as DE (ISO 3166)")
    people = [asdict(person) for person in invitations.invite(folder, everybody, country=country)]
    if as_json:
        click.echo(json.dumps(people, ensure_ascii=False))
    else:
        for person in people:
            click.echo("\t".join(person.values()))
    talk(f"dashboard: {served_access(folder).dashboard_url}")
    if not is_served(folder):
        talk(f"note: the market does not answer; `rypt hits serve {folder}` serves it")
    if people and not invitations.open_hits(folder):
        talk(
            "warning: this market has no work to give now; `rypt hits publish` brings some. The links stay valid"
        )


def _read_names(path: str) -> list[str]:
    import csv

    from rypt.text import read_lines

    rows = list(csv.reader(line for _, line in read_lines(path)))
    names = [row[0].strip() for row in rows if row and row[0].strip()]
    return names[1:] if names and names[0].lower() in ("name", "names", "worker", "email") else names
