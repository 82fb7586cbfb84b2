"""The numbers of a collection: hits, labels an hour, cost a label, shares, agreement (paper, sections 4.2 and 5).

    campaign_numbers(results)   →   CampaignNumbers(hits=3873, alternatives_per_hit=3.39, labels_per_hour=428.6, …)

Work that was rejected is left out, and so are the answers of excluded workers, though what they were paid is paid.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal
from math import nan
from typing import NamedTuple

from hits.payment import fees_of
from hits.records import APPROVED, CENT, REJECTED, SUBMITTED, Kind
from hits.results.answers import Results, Work
from rypt.analysis.agreement import Agreement, agreement

FEWEST_TIMED = 20  # answers, before their time replaces the first guess


class Cost(NamedTuple):
    """Money spent: rewards, bonuses, and what the market took of both, exactly."""

    rewards: Decimal
    bonuses: Decimal
    fees: Decimal

    @property
    def total(self) -> Decimal:
        return self.rewards + self.bonuses + self.fees


@dataclass(frozen=True, slots=True)
class CampaignNumbers:
    """What the paper reports of its collection, and more; what is not known is NaN or None.

    ``labels`` are those of real questions; ``unanswered`` ones count as NOT SURE in the shares, as in the paper.
    ``seconds`` an answer (and so ``labels_per_hour``) are of all answers of a kind, controls included, for these take
    time, too: of labels, of comparisons, of candidates ranked. ``cost_per_label`` is the cost of label hits a label
    that counts, ``cost_per_comparison`` that of comparison and ranking hits a comparison asked. ``left_out`` counts
    assignments that cannot be read and ``left_out_waiting`` those of them that were neither approved nor rejected.
    """

    hits: int
    assignments: int
    approved: int
    rejected: int
    waiting: int
    workers: int
    excluded_workers: int
    alternatives_per_hit: float
    labels: int
    unanswered: int
    yes: float
    no: float
    not_sure: float
    hours: float
    seconds: dict[str, float]
    labels_per_hour: float
    rewards: Decimal
    fees: Decimal
    bonuses: Decimal
    cost: Decimal
    cost_per_label: Decimal | None
    wage: Decimal | None
    comparisons: int
    cost_per_comparison: Decimal | None
    preferred: dict[str, int]
    left_out: int = 0
    left_out_waiting: int = 0


def campaign_numbers(results: Results, *, batch: str | None = None) -> CampaignNumbers:
    """The numbers of a batch, or of all."""
    every = results.work(batch)
    work = [w for w in every if w.status != REJECTED]
    counted = [w for w in work if w.counts]
    sizes = {w.hit: w.size for w in work if w.kind == Kind.LABEL}
    labels = Counter(results.count_labels(batch))
    asked, unanswered = labels.total(), labels.pop(None, 0)
    seconds = _seconds(counted)
    timed = seconds.get(Kind.LABEL, (0, 0))
    cost, label_cost = spent(work), spent(w for w in work if w.kind == Kind.LABEL)
    comparison_cost = spent(w for w in work if w.kind in (Kind.COMPARISON, Kind.RANKING))
    fees = cost.fees.quantize(CENT, ROUND_UP)
    hours = sum(w.seconds or 0 for w in work) / 3600
    compared = results.comparisons(batch, asked=True)
    left_out = results.left_out(batch)
    return CampaignNumbers(
        hits=len({w.hit for w in work}),
        assignments=len(work),
        approved=sum(w.status == APPROVED for w in work),
        rejected=len(every) - len(work),
        waiting=sum(w.status == SUBMITTED for w in work),
        workers=len({w.worker for w in work}),
        excluded_workers=len({w.worker for w in work if not w.counts}),
        alternatives_per_hit=sum(sizes.values()) / len(sizes) if sizes else nan,
        labels=asked - unanswered,
        unanswered=unanswered,
        yes=labels["YES"] / asked if asked else nan,
        no=labels["NO"] / asked if asked else nan,
        not_sure=(labels["NOT_SURE"] + unanswered) / asked if asked else nan,
        hours=hours,
        seconds={kind: total / count for kind, (total, count) in seconds.items()},
        labels_per_hour=3600 * timed[1] / timed[0] if timed[0] else nan,
        rewards=cost.rewards,
        fees=fees,
        bonuses=cost.bonuses,
        cost=cost.rewards + cost.bonuses + fees,
        cost_per_label=label_cost.total / (asked - unanswered) if asked > unanswered else None,
        wage=(cost.rewards + cost.bonuses) / Decimal(hours) if hours else None,
        comparisons=len(compared),
        cost_per_comparison=comparison_cost.total / len(compared) if compared else None,
        preferred=dict(Counter(c.preferred for c in compared).most_common()),
        left_out=len(left_out),
        left_out_waiting=sum(a.status == SUBMITTED for a in left_out),
    )


def spent(work: Iterable[Work]) -> Cost:
    """What assignments cost, by what the market says of each."""
    rewards, bonuses, fees = Decimal("0.00"), Decimal("0.00"), Decimal(0)
    for w in work:
        charged = fees_of(w.market)
        rewards += w.reward
        bonuses += sum(w.bonuses, Decimal(0))
        fees += charged.fee(w.reward, w.places) if w.reward else 0
        fees += sum(map(charged.bonus_fee, w.bonuses), Decimal(0))
    return Cost(rewards, bonuses, fees)


def seconds_seen(results: Results, kind: Kind) -> Decimal | None:
    """The mean seconds per answer of a kind; None until enough were timed."""
    counted = [w for w in results.work() if w.counts and w.status != REJECTED]
    total, count = _seconds(counted).get(str(kind), (0, 0))
    return round(Decimal(total) / count, 3) if count >= FEWEST_TIMED else None


def _seconds(work: Iterable[Work]) -> dict[str, tuple[int, int]]:
    """For each kind the time that was measured and the answers given in it."""
    timed: dict[str, tuple[int, int]] = {}
    for w in work:
        if w.seconds is not None and w.answers:
            total, count = timed.get(w.kind, (0, 0))
            timed[w.kind] = (total + w.seconds, count + w.answers)
    return timed


def label_agreement(results: Results, batch: str | None = None) -> Agreement:
    """How far people agree on labels that count, of a batch or all in the database, without simulated ones."""
    hits = None if batch is None else {w.hit for w in results.work(batch)}
    return agreement(results.db.counted_answers(simulated=False, hits=hits))


def comparison_agreement(results: Results, batch: str | None = None) -> Agreement:
    """The same of comparisons: the better system, or neither, of two on a segment."""
    compared = results.comparisons(batch, asked=True)
    return agreement(
        ((c.segment, *sorted((c.system_a, c.system_b))), c.worker, c.preferred) for c in compared
    )
