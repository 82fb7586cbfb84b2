"""Options and functions that the commands of ``rypt hits`` share."""

import functools
import json
import os
import stat
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from rypt.console import talk
from rypt.text import RyptError, plural

if TYPE_CHECKING:
    from hits.batch.make import MadeBatch
    from hits.market.client import Market, MarketAddress, Participant
    from hits.market.collect import Collected
    from hits.market.prolific import Prolific
    from hits.results.answers import Added, Results
    from rypt.campaign.folder import Campaign

F = TypeVar("F", bound=Callable[..., Any])
FOLDER = click.Path(file_okay=False)
CAMPAIGN = click.option(
    "-C", "--campaign", type=FOLDER, default=".", show_default=True, help="The campaign's folder."
)
BATCH = click.argument("batch", type=FOLDER)
YES = click.option("--yes", is_flag=True, help="Do not ask before spending.")
TOKEN = "PROLIFIC_TOKEN"
TOKEN_FILE = click.option(
    "--token-file",
    type=click.Path(dir_okay=False),
    help=f"For Prolific: file with the API token, which only you can read [the variable {TOKEN}].",
)
CLOSED = (
    "Amazon closed Mechanical Turk on 2026-09-30; this talks to an endpoint that speaks its protocol. "
    "`rypt hits serve` runs your own market, which is the default."
)


def confirm(question: str) -> bool:
    """Ask before money is spent; without a terminal nobody can answer, and --yes must be given."""
    if not sys.stdin.isatty():
        raise RyptError(f"{question} There is no terminal to ask on; say --yes if it is meant")
    return click.confirm(question, abort=True, err=True)


MARKET = click.option(
    "--market",
    metavar="PLACE",
    help="The market: its folder or its campaign's, a URL, mturk or mturk-sandbox [the campaign's, else market].",
)


def with_market(command: F) -> F:
    """Give a command the `MarketAddress` that --market names, or the market of the campaign of its other arguments."""

    @functools.wraps(command)
    def with_address(*args: Any, market: str | None, token_file: str | None = None, **others: Any) -> Any:
        places = (others.get(name) for name in ("campaign", "batch", "decisions"))
        address = find_market(market, [place for place in places if place], token_file)
        if address.folder is None:
            talk(CLOSED, quiet=others.get("quiet", False))
        return command(*args, market=address, **others)

    return cast("F", with_address)


def market_options(command: F) -> F:
    """--market and, for people whom Prolific sent, --token-file."""
    return MARKET(TOKEN_FILE(with_market(command)))


def find_market(
    market: str | None, places: Sequence[str] = (), token_file: str | None = None
) -> "MarketAddress":
    """The market that is named, or that of the first campaign in or around these places, or the folder ``market``.

    One with people from Prolific decides on their submissions, too; what needs no token does without.
    """
    from hits.market.client import MarketAddress, campaign_around, market_address
    from hits.market.recruit import recruiting_logs

    campaigns = filter(None, map(campaign_around, (*places, ".")))
    address = market_address(market or next(campaigns, "market"))
    if address.folder is None or not recruiting_logs(address.folder):
        if token_file is not None:
            raise click.UsageError(
                "--token-file is for a market with people recruited by `rypt hits recruit`"
            )
        return address
    return MarketAddress(address.folder, recruited=_recruiting(address.folder, token_file))


def _recruiting(folder: Path, token_file: str | None) -> "Callable[[Market], Market]":
    """What adds Prolific to the local market of a folder."""
    from hits.market.recruit import RecruitedMarket
    from hits.server.invitations import worker_names

    service = open_prolific(token_file) if token_file or os.environ.get(TOKEN) else None
    return lambda market: RecruitedMarket(market, service, lambda: worker_names(folder))


def campaign_folder(campaign: str, batch: str | None) -> str:
    """The campaign that was named, or else the one around the batch."""
    from hits.market.client import campaign_around
    from rypt.campaign.settings import SETTINGS

    if batch is None or (Path(campaign) / SETTINGS).is_file():
        return campaign
    return str(campaign_around(batch) or campaign)


def open_prolific(token_file: str | None) -> "Prolific":
    from hits.market.prolific import API, Prolific

    return Prolific(read_token(token_file), os.environ.get("RYPT_PROLIFIC_API", API))


def read_token(path: str | None) -> str:
    """The API token: from a file that only its owner can read, or from the environment."""
    from rypt.text import InputError

    if path is None:
        if token := os.environ.get(TOKEN, "").strip():
            return token
        raise RyptError(f"expected the API token in the variable {TOKEN}, or --token-file FILE")
    try:
        if sys.platform != "win32" and stat.S_IMODE(os.stat(path).st_mode) & 0o077:
            raise InputError(path, None, "expected a file that only its owner can read (chmod 600)")
        token = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(path, None, f"expected an API token: {error}") from None
    if not token or not token.isprintable():
        raise InputError(path, None, "expected an API token, found nothing")
    return token


def open_campaign(folder: str) -> "Campaign":
    """The campaign in a folder."""
    from rypt.campaign.folder import Campaign

    return Campaign.open(folder)


def open_results(folder: str, *, readonly: bool = True) -> "AbstractContextManager[Results]":
    """The results in a campaign's database."""
    from hits.results import answers

    return answers.open_results(folder, readonly=readonly)


def plain(value: Any) -> Any:
    """A value for JSON: money as text, unknown values as null."""
    if isinstance(value, Decimal):
        return str(value if value == round(value, 2) and value.as_tuple().exponent == -2 else round(value, 4))
    if isinstance(value, float):
        return None if value != value else round(value, 4)
    return value


def tell_price(batch: "MadeBatch", *, as_json: bool, what: str) -> None:
    """Print the price of a new batch, how long it takes, and what workers earn."""
    cost = batch.price
    if as_json:
        facts = {
            "batch": batch.settings.id,
            "kind": str(batch.settings.kind),
            "market": batch.market,
            "hits": cost.hits,
            "assignments": cost.assignments,
            "answers": cost.answers,
            "rewards": str(cost.rewards),
            "fees": str(cost.fees),
            "total": str(cost.total),
            "hours": round(float(cost.hours), 2),
            "wage": None if cost.wage is None else str(round(cost.wage, 2)),
            "warning": cost.warning,
        }
        click.echo(json.dumps(facts))
        return
    hits, answers = plural(cost.hits, "hit"), plural(cost.answers, "answer")
    if pages := sum(bool(item.columns.get("control")) for item in batch.items):
        hits += f" ({cost.hits - pages} + {plural(pages, 'control')})"
    if slots := sum(item.control_slots for item in batch.items):
        answers += f" ({slots * batch.settings.assignments} of them to controls)"
    click.echo(f"{what}{hits}, {plural(cost.assignments, 'assignment')}, {answers}")
    time = f"{cost.hours:.1f} hours" if cost.hours >= 1 else plural(round(cost.hours * 60), "minute")
    fees = "no fees" if batch.market == "local" else f"fees ${cost.fees}"
    wage = "" if cost.wage is None else f", at ${cost.wage:.2f} an hour{_before_rounding(batch)}"
    click.echo(f"rewards ${cost.rewards} + {fees} = ${cost.total}; about {time} of work in all{wage}")
    if cost.warning:
        talk(f"warning: {cost.warning}")


def _before_rounding(batch: "MadeBatch") -> str:
    """Why an hour earns more than the wage that rewards were computed from."""
    from hits.payment import wage_before_rounding

    exact = wage_before_rounding(batch, batch.price)
    return "" if exact is None else f" (${exact:.2f} before rewards are rounded up to whole cents)"


def added_line(added: "Added | Collected") -> str:
    """What `rypt hits collect` and `import` say that they added."""
    counts = {
        "judgment": added.judgments,
        "comparison": added.comparisons,
        "control": added.controls,
        "unanswered question": added.unanswered,
    }
    parts = ", ".join(plural(count, what) for what, count in counts.items() if count)
    line = f"{plural(added.assignments, 'assignment')} added, {added.already} already there"
    return f"{line}: {parts}" if parts else line


def participant_lines(people: "Sequence[Participant]") -> list[str]:
    """The people whom a recruiting service sent, a line each, with their work on our market beside."""
    from tabulate import tabulate

    if not people:
        return []
    head = ("submission", "participant", "worker", "status", "code", "sent", "approved", "rejected")
    rows = [
        (
            p.submission,
            p.participant,
            p.worker or "-",
            p.status,
            p.code or "-",
            p.assignments,
            p.approved,
            p.rejected,
        )
        for p in people
    ]
    return str(tabulate(rows, head, disable_numparse=True)).splitlines()
