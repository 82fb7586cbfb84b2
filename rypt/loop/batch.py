"""The label batch of an iteration: what is new and matters, no dearer than what is left."""

import shutil
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from rypt.campaign.asking import campaign_values
from rypt.campaign.folder import Campaign
from rypt.campaign.settings import LoopSettings, MarketSettings
from rypt.children import command_line
from rypt.metric.queries import queries
from rypt.metric.value import WORTHLESS
from rypt.text import RyptError
from rypt.texts.phrases import phrase_key

Run = Callable[[Sequence[str]], Any]  # runs a command with --json and returns what it says
PLENTY = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class Reuse:
    """Questions of a list's frontier: all, those that have a label already; and those in all lists so far to ask.

    With ``select`` "value" these are the open ones whose answers may change which candidates are best.
    """

    questions: int
    reused: int
    open: int


def reuse(folder: str, name: str, select: str) -> Reuse:
    """How many of the questions that a list raises were answered before it came."""
    campaign = Campaign.open(folder)
    max_len = campaign.scoring.max_len
    with campaign.database() as db:
        judged = {(votes.segment, votes.span, votes.phrase) for votes in db.votes()}
        case = db.case
    own = queries(campaign.trees, campaign.read_candidates(campaign.path(name)), max_len=max_len, case=case)
    known = sum((query.segment, query.span, phrase_key(query.phrase, case)) in judged for query in own)
    left = queries(campaign.trees, campaign.candidates, judged=judged, max_len=max_len, case=case)
    if select == "value":
        values = campaign_values(campaign, left, votes=campaign.settings.market.assignments)
        return Reuse(len(own), known, int((values > WORTHLESS).sum()))
    return Reuse(len(own), known, len(left))


def market_arguments(campaign: Campaign) -> list[str]:
    """The options that say which market."""
    market = campaign.settings.market
    if market.endpoint is None:
        return ["--at", str(campaign.path(market.folder))]
    return ["--market", "mturk", "--endpoint", market.endpoint, *(["--production"] if market.production else [])]


def make_arguments(campaign: Campaign, batch: Path, money: Decimal, loop: LoopSettings, seed: int) -> list[str]:
    """The command that makes a batch; all its options are chosen here."""
    market = campaign.settings.market
    arguments = ["hits", "make", str(campaign.folder), "-o", str(batch), "--select", loop.select]
    arguments += ["--budget", str(money), "--labels", str(loop.labels), "--max-len", str(campaign.scoring.max_len)]
    arguments += ["--assignments", str(market.assignments), "--market", _market_name(market), "--seed", str(seed)]
    if market.wage is not None:
        arguments += ["--wage", str(market.wage)]
    return [*arguments, "--json", "-q"]


def _market_name(market: MarketSettings) -> str:
    return "local" if market.endpoint is None else "mturk"


def price_arguments(market: MarketSettings, batch: Path) -> list[str]:
    """The command that says what a batch costs."""
    return ["hits", "price", str(batch), "--market", _market_name(market), "--json"]


def affordable_batch(
    campaign: Campaign, batch: Path, money: Decimal, loop: LoopSettings, seed: int, run: Run,
    tell: Callable[[str], None],
) -> dict[str, Any]:  # fmt: skip
    """Make a batch for no more than this money, or take the one that is there if it costs no more.

    Returns its price; ``hits`` is 0 where even a batch of one question is too dear, and ``needs`` is what that costs.
    """
    if batch.exists():
        price = run(price_arguments(campaign.settings.market, batch))
        if Decimal(price["total"]) <= money:
            return _made(price)
        discard(batch)
    arguments = make_arguments(campaign, batch, money, loop, seed)
    tell(f"$ {command_line(arguments)}")
    try:
        run(arguments)
    except RyptError:
        least = _least(campaign, batch, loop, seed, run)
        if least <= money:
            raise
        return {"hits": 0, "assignments": 0, "answers": 0, "cost": "0", "needs": str(least)}
    return _made(run(price_arguments(campaign.settings.market, batch)))


def _least(campaign: Campaign, batch: Path, loop: LoopSettings, seed: int, run: Run) -> Decimal:
    """What a batch of one question costs."""
    trial = batch.with_name(f".{batch.name}.trial")
    shutil.rmtree(trial, ignore_errors=True)
    try:
        run(make_arguments(campaign, trial, PLENTY, replace(loop, labels=1), seed))
        return Decimal(run(price_arguments(campaign.settings.market, trial))["total"])
    finally:
        shutil.rmtree(trial, ignore_errors=True)


def _made(price: Mapping[str, Any]) -> dict[str, Any]:
    facts = {name: price[name] for name in ("batch", "hits", "assignments", "answers")}
    return {**facts, "cost": price["total"], "needs": "0"}


def is_published(batch: Path) -> bool:
    """Whether publishing has begun somewhere: then the batch must stay as it is."""
    return any(batch.glob("published*.jsonl"))


def published_hits(batch: Path) -> int:
    """How many of its hits are on a market: lines of its ledger, which has one for each."""
    return max((ledger.read_bytes().count(b"\n") for ledger in batch.glob("published*.jsonl")), default=0)


def by_hand(campaign: Campaign, known: Collection[int]) -> list[Path]:
    """The published batches in the campaign's folder that are of none of these iterations."""
    names = {str(number) for number in known}
    found = [batch for batch in sorted(campaign.path("batches").glob("*")) if batch.name not in names]
    return [batch for batch in found if not batch.name.startswith(".") and is_published(batch)]


def discard(batch: Path) -> None:
    """Remove a batch that nobody has seen; it disappears at once."""
    if is_published(batch):
        raise RyptError(f"{batch} is published and costs more than what is left: raise the budget to go on")
    rubbish = batch.with_name(f".{batch.name}.discarded")
    shutil.rmtree(rubbish, ignore_errors=True)
    batch.rename(rubbish)
    shutil.rmtree(rubbish, ignore_errors=True)


def lifetime(batch: Path) -> int:
    """Seconds after which no answer to a batch can come any more: nobody may begin a hit, and time is up for all."""
    try:
        settings: Mapping[str, Any] = tomllib.loads((batch / "batch.toml").read_text(encoding="utf-8"))
        return int(settings["lifetime"]) + int(settings["duration"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RyptError(f"{batch / 'batch.toml'}: expected the settings of a batch: {error}") from None
