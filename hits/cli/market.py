"""``rypt hits publish``, ``collect``, ``review``, ``bonus``, ``block``, ``unblock``, ``expire``, ``serve``, …"""

import json
import logging
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hits.cli.shared import (
    BATCH,
    CAMPAIGN,
    FOLDER,
    MONEY,
    OWN_MARKET,
    YES,
    added_line,
    market_options,
    open_campaign,
    participant_lines,
)
from hits.cli.shared import confirm as ask
from rypt.console import JSON, QUIET, progress, talk
from rypt.text import plural

if TYPE_CHECKING:
    from hits.market.client import Market, MarketAddress
    from hits.payment import Price
    from hits.server.app import MarketLinks


@click.command()
@BATCH
@market_options
@YES
@JSON
@QUIET
def publish(batch: str, market: "MarketAddress", yes: bool, as_json: bool, quiet: bool) -> None:
    """Publish a BATCH on the market; running it again adds only what is missing."""
    from hits.market.publish import publish as publish_batch

    def confirm(price: "Price", client: "Market") -> bool:
        question = f"Publish {plural(price.hits, 'hit')} for ${price.total} on {client.name}?"
        return yes or ask(question)

    done = publish_batch(
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

    done = collect_batch(batch, market, campaign, watch=lambda items: progress(items, "collect", quiet=quiet))
    for message in done.left_out:
        talk(f"left out: {message}")
    if as_json:
        facts = asdict(done)
        people = facts.pop("participants")
        click.echo(
            json.dumps(
                facts | {"left_out": len(done.left_out)} | ({"participants": people} if people else {})
            )
        )
        return
    click.echo(added_line(done))
    for line in participant_lines(done.participants):
        click.echo(line)


@click.command()
@click.argument("decisions", type=click.Path(dir_okay=False))
@market_options
@QUIET
def review(decisions: str, market: "MarketAddress", quiet: bool) -> None:
    """Approve and reject work as the columns Approve (x) and Reject (the reason) of a results CSV say.

    A Prolific participant's submission follows once all of that participant's work is decided. A reason
    may begin with Prolific's category ("LOW_EFFORT: …"), or with "RETURN:" to ask for a return instead of rejecting.
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
@click.argument("worker")
@click.argument("assignment")
@click.argument("amount", type=MONEY)
@click.option("--reason", required=True, help="Reason shown to the worker.")
@market_options
@YES
def bonus(
    worker: str, assignment: str, amount: Decimal, reason: str, market: "MarketAddress", yes: bool
) -> None:
    """Pay WORKER a bonus of AMOUNT dollars for ASSIGNMENT; repeating the command does not pay twice."""
    from hits.market.client import whole_cents

    amount, client = whole_cents(amount), market.open()
    if not yes:
        ask(f"Pay {worker} ${amount}?")
    paid = client.bonus(worker, assignment, amount, reason)
    click.echo(f"${amount} {'paid' if paid else 'was paid before'} to {worker} for assignment {assignment}")


@click.command()
@click.argument("worker")
@click.option("--reason", required=True)
@market_options
def block(worker: str, reason: str, market: "MarketAddress") -> None:
    """Block a WORKER: the market gives no more hits to this worker."""
    market.open().block(worker, reason)
    click.echo(f"{worker} is blocked")


@click.command()
@click.argument("worker")
@market_options
def unblock(worker: str, market: "MarketAddress") -> None:
    """Unblock a WORKER."""
    market.open().unblock(worker)
    click.echo(f"{worker} is not blocked")


@click.command()
@BATCH
@click.option("--delete", is_flag=True, help="Also delete the hits; all work must have been reviewed.")
@market_options
@QUIET
def expire(batch: str, delete: bool, market: "MarketAddress", quiet: bool) -> None:
    """Expire the hits of a BATCH, so that nobody can begin one."""
    from hits.market.publish import expire as expire_batch

    done = expire_batch(
        batch, market, delete=delete, watch=lambda hits: progress(hits, "expire", quiet=quiet)
    )
    for message in done.failed:
        talk(message, quiet=quiet)
    rest = f", {len(done.failed)} not" if done.failed else ""
    click.echo(f"{plural(done.hits, 'hit')} {'removed' if delete else 'expired'}{rest}")


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
    "--batch",
    "batches",
    multiple=True,
    type=FOLDER,
    help="Folder of a batch that was published from elsewhere, so that the dashboard knows its "
    "controls; may be repeated.",
)
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
@click.option("-C", "--campaign", type=FOLDER, help="Campaign in which the dashboard can exclude workers.")
@click.option("--simulated-link", is_flag=True, help="Let `rypt simulate` come in through the shared link.")
@JSON
def serve(
    folder: str,
    host: str,
    port: int,
    url: str,
    proxy: bool,
    batches: tuple[str, ...],
    completion_url: str,
    hits_each: int,
    completion_code: str,
    parameters: tuple[str, ...],
    campaign: str | None,
    simulated_link: bool,
    as_json: bool,
) -> None:
    """Serve your own market from FOLDER: worker pages, a dashboard, and Mechanical Turk's protocol.

    It runs until Ctrl-C or a signal stops it. What people sent is on the disk then, and serving FOLDER again goes on
    with the same links.
    """
    from hits.server.app import serve as serve_market
    from hits.server.settings import PARAMETERS, ServeOptions, SharedLink

    logging.getLogger("waitress.queue").setLevel(
        logging.ERROR
    )  # it warns of every request that waits for a thread
    shared = SharedLink(parameters or PARAMETERS, hits_each, completion_code, completion_url, simulated_link)

    def ready(links: "MarketLinks") -> None:
        if as_json:
            values = asdict(links)
            del values["shared_url"]
            click.echo(json.dumps(values))
        else:
            click.echo(
                f"market     {links.url}\ndashboard  {links.dashboard_url}\nendpoint   {links.endpoint_url}"
            )
            if shared != SharedLink():
                click.echo(f"shared     {links.shared_url}")
                talk(
                    "shared is the link to give to the recruiting service, which puts a participant's id into it"
                )
            talk(
                "Ctrl-C stops the market; what people sent is on the disk, and serving it again goes on from there"
            )

    options = ServeOptions(
        url, proxy, tuple(map(Path, batches)), shared, Path(campaign) if campaign else None
    )
    if campaign is not None:
        open_campaign(campaign)  # one that cannot be read is refused now
    serve_market(folder, host, port, ready, options)


@click.command()
@OWN_MARKET
def dashboard(market: str) -> None:
    """Print a link to the requester's page of a market; it opens the page once, in one browser."""
    from hits.market.folder import served_access
    from hits.market.served import is_served

    click.echo(served_access(market).dashboard_url)
    if not is_served(Path(market)):
        talk(f"note: the market does not answer; `rypt hits serve {market}` serves it")


@click.command()
@click.argument("names", nargs=-1)
@OWN_MARKET
@click.option(
    "--bulk", type=click.Path(dir_okay=False), help="A file of names, one per line or the first CSV column."
)
@click.option(
    "--country", help="Country of these workers, two letters such as DE, for hits that require one."
)
@click.option(
    "--revoke",
    is_flag=True,
    help="Take back all invitation links of these people instead; what they sent stays.",
)
@JSON
def invite(
    names: tuple[str, ...], market: str, bulk: str | None, country: str | None, revoke: bool, as_json: bool
) -> None:
    """Create an invitation link for each of NAMES, and print it with the worker's id."""
    from hits.server.invitations import invite as invite_people
    from hits.server.invitations import open_hits
    from hits.server.invitations import revoke as revoke_links

    everybody = [*names, *(_read_names(bulk) if bulk else [])]
    if not everybody:
        raise click.UsageError("expected names, or --bulk FILE")
    if revoke:
        if country is not None:
            raise click.UsageError("--country is for invitations, not for --revoke")
        count = revoke_links(market, everybody)
        click.echo(json.dumps({"revoked": count}) if as_json else f"{plural(count, 'link')} revoked")
        return
    if country is not None and not (len(country) == 2 and country.isascii() and country.isalpha()):
        raise click.UsageError(f"--country {country}: expected two letters such as DE (ISO 3166)")
    people = [asdict(person) for person in invite_people(market, everybody, country=country)]
    if as_json:
        click.echo(json.dumps(people, ensure_ascii=False))
        return
    for person in people:
        click.echo("\t".join(person.values()))
    if not open_hits(market):
        talk(
            f"warning: this market has no work to give now; `rypt hits publish BATCH --market {market}` brings some. "
            "The links stay valid"
        )


def _read_names(path: str) -> list[str]:
    import csv

    from rypt.text import read_lines

    rows = list(csv.reader(line for _, line in read_lines(path)))
    names = [row[0].strip() for row in rows if row and row[0].strip()]
    return names[1:] if names and names[0].lower() in ("name", "names", "worker", "email") else names
