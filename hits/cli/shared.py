"""Options and functions that the commands of ``rypt hits`` share."""

import functools
import json
import os
import stat
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from rypt.console import talk
from rypt.text import RyptError, plural

if TYPE_CHECKING:
    from hits.market.client import Market, MarketAddress, Participant
    from hits.market.collect import Collected
    from hits.market.prolific import Prolific
    from hits.payment import Price
    from hits.records import Batch
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
API = "RYPT_PROLIFIC_API"  # the variable with another address of Prolific's API, for tests
MTURK = {
    "mturk": "https://mturk-requester.us-east-1.amazonaws.com",
    "mturk-sandbox": "https://mturk-requester-sandbox.us-east-1.amazonaws.com",
}
OWN_MARKET = click.option(
    "--market", type=FOLDER, default="market", show_default=True, help="Folder of your own market."
)


def confirm(question: str) -> bool:
    """Ask before money is spent; without a terminal nobody can answer, and --yes must be given."""
    if not sys.stdin.isatty():
        raise RyptError(f"{question} There is no terminal to ask on; say --yes if it is meant")
    return click.confirm(question, abort=True, err=True)


class Money(click.ParamType[Decimal]):
    """An amount of dollars."""

    name = "dollars"

    def convert(self, value: Any, param: Any, context: Any) -> Decimal:
        """Read a decimal number from 0 up."""
        try:
            amount = Decimal(str(value))
        except InvalidOperation:
            self.fail(f"expected an amount of money such as 12.00, got {value!r}", param, context)
        if not amount.is_finite() or amount < 0:
            self.fail(f"expected an amount of money such as 12.00, got {value!r}", param, context)
        return amount


MONEY = Money()


def market_options(command: F) -> F:
    """Which market, and how to reach it: two options that the command gets as one `MarketAddress`, ``market``."""

    @functools.wraps(command)
    def with_address(*args: Any, market: str, token_file: str | None, **others: Any) -> Any:
        return command(*args, market=read_market(market, token_file), **others)

    option = click.option(
        "--market",
        default="market",
        show_default=True,
        help="Folder of your own market, URL of a requester endpoint, mturk, or mturk-sandbox.",
    )
    return cast("F", option(TOKEN_FILE(with_address)))


def read_market(text: str, token_file: str | None = None) -> "MarketAddress":
    """The market that ``--market`` names; one that people were recruited for on Prolific is reached with its token."""
    from hits.market.client import MarketAddress

    if text in MTURK or "://" in text:
        if token_file is not None:
            raise click.UsageError("--token-file is for your own market, with people from Prolific")
        return MarketAddress(endpoint=MTURK.get(text, text), production=True)
    folder = Path(text)

    def with_prolific(market: "Market") -> "Market":
        from hits.market.recruit import recruiting_logs

        if not recruiting_logs(folder):
            return market
        from hits.market.recruited import RecruitedMarket
        from hits.server.invitations import worker_names

        return RecruitedMarket(market, open_prolific(token_file), lambda: worker_names(folder))

    return MarketAddress(folder=folder, recruited=with_prolific)


def open_prolific(token_file: str | None) -> "Prolific":
    """Prolific's API, with the token of a file or of the environment."""
    from hits.market import prolific

    return prolific.Prolific(read_token(token_file), os.environ.get(API) or prolific.API)


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


def tell_price(batch: "Batch", cost: "Price", market: str, *, as_json: bool = False, what: str = "") -> None:
    """Print what a batch costs, how long it takes, and what workers earn."""
    if as_json:
        wage = None if cost.wage is None else str(round(cost.wage, 2))
        facts = {
            "batch": batch.settings.id,
            "kind": str(batch.settings.kind),
            "market": market,
            "hits": cost.hits,
            "assignments": cost.assignments,
            "answers": cost.answers,
            "rewards": str(cost.rewards),
            "fees": str(cost.fees),
            "total": str(cost.total),
            "hours": round(float(cost.hours), 2),
            "wage": wage,
            "warning": cost.warning,
        }
        click.echo(json.dumps(facts))
        return
    click.echo(f"{what}{_size(batch, cost)}")
    time = f"{cost.hours:.1f} hours" if cost.hours >= 1 else plural(round(cost.hours * 60), "minute")
    fees = "no fees" if market == "local" else f"fees ${cost.fees}"
    click.echo(
        f"{market} market: rewards ${cost.rewards} + {fees} = ${cost.total}; about {time} of work, all people "
        f"together{_wage(batch, cost)}"
    )
    if cost.warning:
        talk(f"warning: {cost.warning}")


def _wage(batch: "Batch", cost: "Price") -> str:
    """What an hour earns, and why it is more than the wage that rewards were computed from."""
    from hits.payment import wage_before_rounding

    if cost.wage is None:
        return ""
    exact = wage_before_rounding(batch, cost)
    why = "" if exact is None else f" (${exact:.2f} before rewards are rounded up to whole cents)"
    return f", at ${cost.wage:.2f} an hour{why}"


def _size(batch: "Batch", cost: "Price") -> str:
    """How many hits, assignments and answers a batch has, and how many of them are controls."""
    hits, answers = plural(cost.hits, "hit"), plural(cost.answers, "answer")
    if pages := sum(bool(item.columns.get("control")) for item in batch.items):
        hits += f" ({cost.hits - pages} + {plural(pages, 'control')})"
    if slots := sum(item.control_slots for item in batch.items):
        answers += f" ({slots * batch.settings.assignments} of them to controls)"
    return f"{hits}, {plural(cost.assignments, 'assignment')}, {answers}"


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
