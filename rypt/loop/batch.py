"""The label batch of an iteration: new and valuable questions within the remaining budget."""

import shutil
import tempfile
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
    if batch.exists() and price(batch, market=fees).total > budget:
        if ledgers(batch):
            raise RyptError(f"{batch} is published and costs more than what is left: raise the budget")
        discarded = batch.with_name(f".{batch.name}.discarded")  # so that it disappears at once
        shutil.rmtree(discarded, ignore_errors=True)
        batch.rename(discarded)
        shutil.rmtree(discarded, ignore_errors=True)
    if not batch.exists():
        try:
            _make(campaign, loop, batch, budget, seed)
        except RyptError:
            with tempfile.TemporaryDirectory() as folder:
                trial = Path(folder, "batch")
                _make(campaign, replace(loop, labels=1), trial, PLENTY, seed)
                least = price(trial, market=fees).total
            if least <= budget:
                raise
            return {**NOTHING, "needs": str(least)}
    cost = price(batch, market=fees)
    counts = {"hits": cost.hits, "assignments": cost.assignments, "answers": cost.answers}
    return {"batch": read_batch(batch).settings.id, **counts, "cost": str(cost.total), "needs": "0"}


def _make(campaign: Campaign, loop: LoopSettings, batch: Path, budget: Decimal, seed: int) -> None:
    fees = campaign.settings.market.fees
    options = BatchOptions(budget=budget, limit=loop.labels, select=loop.select, market=fees, seed=seed)
    make_batch(campaign.folder, batch, options)
