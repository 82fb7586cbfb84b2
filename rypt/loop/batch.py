"""The label batch of an iteration: new and valuable questions within the remaining budget."""

import shutil
from collections.abc import Collection
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from hits.batches.reader import read_batch
from hits.market.ledger import ledgers
from rypt.campaign.folder import Campaign
from rypt.campaign.queries import worthwhile
from rypt.campaign.settings import LoopSettings
from rypt.loop.steps import BatchPrice, Steps
from rypt.scoring.queries import queries
from rypt.text import RyptError
from rypt.texts.phrases import phrase_key

PLENTY = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class Reuse:
    """Questions of a list's frontier: all, those that have a label already; and those in all lists so far to ask.

    With ``select`` "value" these are the open ones whose answers may change which candidates are best.
    """

    questions: int
    reused: int
    open: int


def reuse(campaign: Campaign, name: str, select: str) -> Reuse:
    """How many of a list's questions had been answered before."""
    max_len = campaign.scoring.max_len
    with campaign.database() as db:
        judged = {(votes.segment, votes.span, votes.phrase) for votes in db.votes()}
        case = db.case
    raised = queries(
        campaign.trees, campaign.read_candidates(campaign.path(name)), max_len=max_len, case=case
    )
    known = sum((query.segment, query.span, phrase_key(query.phrase, case)) in judged for query in raised)
    left = queries(campaign.trees, campaign.candidates, judged=judged, max_len=max_len, case=case)
    if select == "value":
        left = worthwhile(campaign, left, votes=campaign.settings.market.assignments)
    return Reuse(len(raised), known, len(left))


@dataclass(frozen=True, slots=True)
class Bought:
    """The batch of an iteration; ``hits`` is 0 if even one question is too expensive, ``needs`` is its cost."""

    hits: int
    assignments: int
    answers: int
    cost: Decimal
    needs: Decimal = Decimal(0)
    batch: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """For the journal; money as text."""
        facts = {} if self.batch is None else {"batch": self.batch}
        counts = {"hits": self.hits, "assignments": self.assignments, "answers": self.answers}
        return {**facts, **counts, "cost": str(self.cost), "needs": str(self.needs)}


NOTHING = Bought(0, 0, 0, Decimal(0))


def affordable_batch(steps: Steps, batch: Path, money: Decimal, loop: LoopSettings, seed: int) -> Bought:
    """Make a batch that costs at most this much, or take the existing one if it does."""
    if batch.exists():
        price = steps.price(batch)
        if price.total <= money:
            return _bought(price)
        discard(batch)
    try:
        steps.make(batch, money, loop, seed)
    except RyptError:
        least = _least(steps, batch, loop, seed)
        if least <= money:
            raise
        return replace(NOTHING, needs=least)
    return _bought(steps.price(batch))


def _least(steps: Steps, batch: Path, loop: LoopSettings, seed: int) -> Decimal:
    """What a batch of one question costs."""
    trial = batch.with_name(f".{batch.name}.trial")
    shutil.rmtree(trial, ignore_errors=True)
    try:
        steps.make(trial, PLENTY, replace(loop, labels=1), seed)
        return steps.price(trial).total
    finally:
        shutil.rmtree(trial, ignore_errors=True)


def _bought(price: BatchPrice) -> Bought:
    return Bought(price.hits, price.assignments, price.answers, price.total, batch=price.batch)


def published_by_hand(campaign: Campaign, known: Collection[int]) -> list[Path]:
    """The published batches in the campaign's folder that belong to none of these iterations."""
    names = {str(number) for number in known}
    others = [batch for batch in sorted(campaign.path("batches").glob("*")) if batch.name not in names]
    return [batch for batch in others if not batch.name.startswith(".") and ledgers(batch)]


def discard(batch: Path) -> None:
    """Remove a batch that was not published; it disappears at once."""
    if ledgers(batch):
        raise RyptError(f"{batch} is published and costs more than what is left: raise the budget to go on")
    rubbish = batch.with_name(f".{batch.name}.discarded")
    shutil.rmtree(rubbish, ignore_errors=True)
    batch.rename(rubbish)
    shutil.rmtree(rubbish, ignore_errors=True)


def lifetime(batch: Path) -> int:
    """Seconds after which a batch can get no more answers: hits have expired, and so has the time to finish one."""
    settings = read_batch(batch).settings
    return settings.lifetime + settings.duration
