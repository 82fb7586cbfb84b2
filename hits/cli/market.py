"""``rypt hits publish``, ``collect``, ``review``, ``bonus``, ``block``, ``unblock``, ``expire``, ``serve``, …"""

import json
import logging
import time
from dataclasses import asdict, replace
from decimal import Decimal
from pathlib import Path

import click

from hits.cli.shared import BATCH, CAMPAIGN, FOLDER, MONEY, YES, market_options, open_market, open_results
from rypt.console import JSON, QUIET, progress, talk


@click.command()
@BATCH
@market_options
@YES
@JSON
@QUIET
def publish(
    batch: str, market: str, at: str, endpoint: str | None, production: bool, yes: bool, as_json: bool, quiet: bool
) -> None:
    """Put a BATCH on the market; run again, it only adds what is missing."""
    from hits.batches.folder import read_batch
    from hits.batches.price import fees_of
    from hits.batches.price import price as priced
    from hits.market.publish import check_unchanged
    from hits.market.publish import publish as put
    from hits.server.batches import keep_batch

    read = read_batch(batch)
    client = open_market(market, at, endpoint, production, quiet=quiet)
    there_already = check_unchanged(read, Path(batch), client).hits
    left = replace(read, items=tuple(item for item in read.items if item.id not in there_already))
    cost = priced(left, fees=fees_of(market))
    if left.items and not yes:
        click.confirm(f"Publish {cost.hits} hits for ${cost.total} on {client.name}?", abort=True, err=True)
    if market == "local":
        keep_batch(at, batch, read.settings.id)
    made, there = put(read, Path(batch), client, lambda items: progress(items, "publish", quiet=quiet))
    if as_json:
        click.echo(json.dumps({"published": made, "already": there, "cost": str(cost.total)}))
    else:
        click.echo(f"{made} hits published, {there} were there")


@click.command()
@BATCH
@CAMPAIGN
@market_options
@JSON
@QUIET
def collect(
    batch: str, campaign: str, market: str, at: str, endpoint: str | None, production: bool, as_json: bool, quiet: bool
) -> None:
    """Bring the answers to a BATCH into the campaign's database; run again, it adds nothing twice."""
    from hits.batches.folder import read_batch
    from hits.market.collect import collect as bring

    read = read_batch(batch)
    client = open_market(market, at, endpoint, production, quiet=quiet)
    with open_results(campaign, readonly=False) as results:
        added, wrong = bring(read, Path(batch), client, results, lambda items: progress(items, "collect", quiet=quiet))
    for message in wrong:
        talk(f"left out: {message}")
    if as_json:
        click.echo(json.dumps({**asdict(added), "left_out": len(wrong)}))
        return
    click.echo(
        f"{added.assignments} assignments added, {added.already} were there: {added.judgments} judgments, "
        f"{added.comparisons} comparisons, {added.controls} controls, {added.unanswered} unanswered"
    )


@click.command()
@click.argument("decisions", type=click.Path(dir_okay=False))
@market_options
@QUIET
def review(decisions: str, market: str, at: str, endpoint: str | None, production: bool, quiet: bool) -> None:
    """Approve and reject as a results CSV says in its columns Approve (x) and Reject (the reason)."""
    from hits.results.csv_file import read_decisions

    found = read_decisions(decisions)
    client = open_market(market, at, endpoint, production, quiet=quiet)
    done = {"approved": 0, "rejected": 0, "so already": 0}
    for decision in progress(found, "review", quiet=quiet):
        status = client.status(decision.assignment)
        if status == ("Approved" if decision.approve else "Rejected"):
            done["so already"] += 1
        elif decision.approve:
            client.approve(decision.assignment, overturn=status == "Rejected")
            done["approved"] += 1
        elif status == "Approved":
            talk(f"assignment {decision.assignment} was approved and cannot be rejected any more")
        else:
            client.reject(decision.assignment, decision.reason)
            done["rejected"] += 1
    click.echo(", ".join(f"{count} {what}" for what, count in done.items()))


@click.command()
@click.argument("worker")
@click.argument("assignment")
@click.argument("amount", type=MONEY)
@click.option("--reason", required=True, help="What the worker is told.")
@market_options
@YES
def bonus(
    worker: str, assignment: str, amount: Decimal, reason: str, market: str, at: str, endpoint: str | None,
    production: bool, yes: bool,
) -> None:  # fmt: skip
    """Pay a WORKER a bonus of AMOUNT dollars for an ASSIGNMENT; asked twice, it is paid once."""
    from hits.market.client import whole_cents

    amount = whole_cents(amount)
    client = open_market(market, at, endpoint, production)
    if not yes:
        click.confirm(f"Pay {worker} ${amount}?", abort=True, err=True)
    paid = client.bonus(worker, assignment, amount, reason)
    click.echo(f"${amount} {'paid' if paid else 'was paid before'} to {worker} for assignment {assignment}")


@click.command()
@click.argument("worker")
@click.option("--reason", required=True)
@market_options
def block(worker: str, reason: str, market: str, at: str, endpoint: str | None, production: bool) -> None:
    """Keep a WORKER from further hits."""
    open_market(market, at, endpoint, production).block(worker, reason)
    click.echo(f"{worker} is blocked")


@click.command()
@click.argument("worker")
@market_options
def unblock(worker: str, market: str, at: str, endpoint: str | None, production: bool) -> None:
    """Let a blocked WORKER take hits again."""
    open_market(market, at, endpoint, production).unblock(worker)
    click.echo(f"{worker} is not blocked")


@click.command()
@BATCH
@click.option("--delete", is_flag=True, help="Remove the hits, too; all work must have been reviewed.")
@market_options
@QUIET
def expire(batch: str, delete: bool, market: str, at: str, endpoint: str | None, production: bool, quiet: bool) -> None:
    """Let nobody begin a hit of this BATCH any more."""
    from hits.batches.folder import read_batch
    from hits.market.client import MarketError
    from hits.market.ledger import EXPIRED
    from hits.market.publish import published

    client = open_market(market, at, endpoint, production, quiet=quiet)
    there = published(read_batch(batch), Path(batch), client)
    left = 0
    for hit in progress(list(there.values()), "expire", quiet=quiet):
        try:
            client.expire(hit)
            if delete:
                client.delete(hit)
        except MarketError as error:  # removed before, or work that waits for a review: the others go on
            left += 1
            talk(str(error), quiet=quiet)
    if not (Path(batch) / EXPIRED).exists():
        (Path(batch) / EXPIRED).touch()
    click.echo(f"{len(there) - left} hits {'removed' if delete else 'expired'}" + (f", {left} not" if left else ""))


@click.command()
@click.argument("folder", type=FOLDER)
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 takes a free one.")
@click.option("--url", default="", help="How others reach it, behind a reverse proxy.")
@click.option("--proxy", is_flag=True, help="Trust the X-Forwarded headers of one reverse proxy.")
@click.option("--batch", "batches", multiple=True, type=FOLDER, help="Published from elsewhere: its controls.")
@click.option("--completion-url", default="", help="Where a recruiting service wants its people back; {code} in it.")
@click.option("--hits-each", type=click.IntRange(min=0), default=0, help="Hits until the completion code [all].")
@JSON
def serve(
    folder: str, host: str, port: int, url: str, proxy: bool, batches: tuple[str, ...], completion_url: str,
    hits_each: int, as_json: bool,
) -> None:  # fmt: skip
    """Serve a market of your own from FOLDER: worker pages, a dashboard, and Mechanical Turk's protocol."""
    from hits.server.app import Info
    from hits.server.app import serve as run
    from hits.server.settings import Join, Options, join_url, open_settings

    join = Join(hits=hits_each, completion_url=completion_url)
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # it warns of every request that waits for a thread

    def ready(info: Info) -> None:
        if as_json:
            click.echo(json.dumps(asdict(info)))
        else:
            click.echo(f"market     {info.url}\ndashboard  {info.dashboard_url}\nendpoint   {info.endpoint_url}")
            click.echo(f"shared     {join_url(info.url, open_settings(folder), join)}")

    run(folder, host, port, ready, Options(url, proxy, tuple(map(Path, batches)), join))


@click.command()
@click.argument("names", nargs=-1)
@click.option("--at", type=FOLDER, default="market", show_default=True, help="The folder of the market.")
@click.option("--bulk", type=click.Path(dir_okay=False), help="A file of names, one a line or the first CSV column.")
@click.option("--country", help="Where they live, two letters such as DE, for hits that ask for it.")
@JSON
def invite(names: tuple[str, ...], at: str, bulk: str | None, country: str | None, as_json: bool) -> None:
    """Make an invitation link for each of NAMES; their worker ids are told, too."""
    from hits.server.settings import STORE_NAME, invitation_url, served_settings
    from hits.server.store.records import Locale
    from hits.server.store.store import Store

    everybody = [*names, *(_read_names(bulk) if bulk else [])]
    if not everybody:
        raise click.UsageError("expected names, or --bulk FILE")
    if country is not None and not (len(country) == 2 and country.isascii() and country.isalpha()):
        raise click.UsageError(f"--country {country}: expected two letters such as DE (ISO 3166)")
    settings, place = served_settings(at), Locale(country.upper()) if country else None
    with Store(Path(at) / STORE_NAME) as store:
        invited = [store.invite(name, int(time.time()), locale=place) for name in dict.fromkeys(everybody)]
    people = [
        {"name": one.worker.name, "worker": one.worker.id, "link": invitation_url(settings.url, one.token)}
        for one in invited
    ]
    if as_json:
        click.echo(json.dumps(people, ensure_ascii=False))
        return
    for person in people:
        click.echo("\t".join(person.values()))


def _read_names(path: str) -> list[str]:
    import csv

    from rypt.text import read_lines

    rows = list(csv.reader(line for _, line in read_lines(path)))
    names = [row[0].strip() for row in rows if row and row[0].strip()]
    return names[1:] if names and names[0].lower() in ("name", "names", "worker", "email") else names
