"""The label batch of an iteration: new and valuable questions within the remaining budget."""

import shutil
from collections.abc import Collection
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from hits.batch.folder import read_batch
from hits.batch.make import make_batch, price
from hits.batch.options import BatchOptions
from hits.market.ledger import ledgers
from rypt.campaign.folder import Campaign
from rypt.campaign.queries import LabelPrice
from rypt.campaign.queries import queries as campaign_queries
from rypt.campaign.settings import LoopSettings
from rypt.scoring.queries import queries
from rypt.text import RyptError
from rypt.texts.phrases import phrase_key

PLENTY = Decimal(1_000_000)
NOTHING = {"hits": 0, "assignments": 0, "answers": 0, "cost": "0", "needs": "0"}


def count_questions(campaign: Campaign, path: Path, select: str) -> dict[str, int]:
    """Count the ``questions`` of a list's frontier, the ``reused`` ones that have a label, and the ``open`` ones.

    Open are those of all lists so far; with ``select`` "value" only those whose answers may change which candidates
    are best.
    """
    with campaign.database() as db:
        judged = {(votes.segment, votes.span, votes.phrase) for votes in db.votes()}
        case = db.case
    candidates = campaign.read_candidates(path)
    asked = queries(campaign.trees, candidates, max_len=campaign.scoring.max_len, case=case)
    reused = sum((query.segment, query.span, phrase_key(query.phrase, case)) in judged for query in asked)
    left = campaign_queries(
        campaign,
        select="value" if select == "value" else "frontier",
        price=LabelPrice(assignments=campaign.settings.market.assignments),
    )
    return {"questions": len(asked), "reused": reused, "open": left.useful}


def affordable_batch(
    campaign: Campaign, loop: LoopSettings, batch: Path, budget: Decimal, seed: int
) -> dict[str, Any]:
    """Make a batch that costs at most ``budget``, or take the existing one if it does; return its numbers.

    Where even one question is too expensive, there are no hits, and ``needs`` is what one costs.
    """
    fees = campaign.settings.market.fees
    if batch.exists():
        if price(batch, market=fees).total <= budget:
            return _numbers(batch, fees)
        _discard(batch)
    try:
        _make(campaign, loop, batch, budget, seed)
    except RyptError:
        least = _price_of_one(campaign, loop, batch, seed)
        if least <= budget:
            raise
        return {**NOTHING, "needs": str(least)}
    return _numbers(batch, fees)


def _numbers(batch: Path, fees: str) -> dict[str, Any]:
    cost = price(batch, market=fees)
    counts = {"hits": cost.hits, "assignments": cost.assignments, "answers": cost.answers}
    return {"batch": read_batch(batch).settings.id, **counts, "cost": str(cost.total), "needs": "0"}


def _make(campaign: Campaign, loop: LoopSettings, batch: Path, budget: Decimal, seed: int) -> None:
    fees = campaign.settings.market.fees
    options = BatchOptions(budget=budget, limit=loop.labels, select=loop.select, market=fees, seed=seed)
    make_batch(campaign.folder, batch, options)


def _price_of_one(campaign: Campaign, loop: LoopSettings, batch: Path, seed: int) -> Decimal:
    """What a batch of one question costs."""
    trial = batch.with_name(f".{batch.name}.trial")
    shutil.rmtree(trial, ignore_errors=True)
    try:
        _make(campaign, replace(loop, labels=1), trial, PLENTY, seed)
        return price(trial, market=campaign.settings.market.fees).total
    finally:
        shutil.rmtree(trial, ignore_errors=True)


def published_by_hand(campaign: Campaign, iterations: Collection[int]) -> list[Path]:
    """The published batches in the campaign's folder that belong to none of these iterations."""
    names = {str(number) for number in iterations}
    batches = sorted(campaign.path("batches").glob("[!.]*"))
    return [batch for batch in batches if batch.name not in names and ledgers(batch)]


def _discard(batch: Path) -> None:
    """Remove a batch that was not published; it disappears at once."""
    if ledgers(batch):
        raise RyptError(f"{batch} is published and costs more than what is left: raise the budget to go on")
    discarded = batch.with_name(f".{batch.name}.discarded")
    shutil.rmtree(discarded, ignore_errors=True)
    batch.rename(discarded)
    shutil.rmtree(discarded, ignore_errors=True)
