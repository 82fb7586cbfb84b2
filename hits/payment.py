"""The price of a batch before it is published, the working time, and what workers earn an hour.

Money is `Decimal` throughout. The paper paid $53.47 of wages for 3873 hits of 3.39 alternatives on average, 1.38 cents
a hit, which came to $1.95 an hour (section 4.2); its exact rule is not published. `PAPER_RULE`, one cent for every
three alternatives begun, comes close to those means. `fair_rule` starts from an hourly wage instead.
"""

from dataclasses import dataclass
from decimal import ROUND_UP, Decimal

from hits.kinds import KINDS
from hits.records import CENT, Batch, Kind, RewardRule

HOUR = Decimal(3600)
MIN_WAGE = Decimal("12.00")
PAPER_RULE = RewardRule(each=Decimal("0.0033"))


@dataclass(frozen=True, slots=True)
class Fees:
    """The fees of a market for each assignment.

    >>> MTURK_FEES.fee(Decimal("0.05"), 9), MTURK_FEES.fee(Decimal("0.05"), 10), MTURK_FEES.fee(Decimal("0.02"), 3)
    (Decimal('0.0100'), Decimal('0.0200'), Decimal('0.01'))
    """

    share: Decimal
    many_share: Decimal
    many: int
    minimum: Decimal

    def fee(self, reward: Decimal, assignments: int) -> Decimal:
        """The fee of one assignment of a hit with so many of them; nothing is rounded."""
        share = self.share + (self.many_share if assignments >= self.many else 0)
        return max(reward * share, self.minimum)

    def bonus_fee(self, bonus: Decimal) -> Decimal:
        """The fee of one bonus payment."""
        return max(bonus * self.share, self.minimum)


MTURK_FEES = Fees(share=Decimal("0.20"), many_share=Decimal("0.20"), many=10, minimum=CENT)
NO_FEES = Fees(share=Decimal(0), many_share=Decimal(0), many=10, minimum=Decimal(0))


def fees_of(market: str) -> Fees:
    """The fees of a market by its name: none for ``local``, else those of Mechanical Turk."""
    return NO_FEES if market == "local" else MTURK_FEES


@dataclass(frozen=True, slots=True)
class Price:
    """What a batch costs in dollars and takes in hours of work, all assignments together.

    ``rewards`` and ``fees`` are whole cents, so that they add up to the total as it is shown; what the fees of all
    assignments have below a cent is rounded up once, at the end.
    """

    hits: int
    assignments: int
    answers: int
    rewards: Decimal
    fees: Decimal
    hours: Decimal
    min_wage: Decimal

    @property
    def total(self) -> Decimal:
        """Rewards and fees, in whole cents, rounded up."""
        return (self.rewards + self.fees).quantize(CENT, ROUND_UP)

    @property
    def wage(self) -> Decimal | None:
        """What an hour of work earns, None when there is no work."""
        return self.rewards / self.hours if self.hours else None

    @property
    def warning(self) -> str | None:
        """A warning if the wage is too low."""
        if self.wage is None or self.wage >= self.min_wage:
            return None
        needed = self.min_wage * self.hours
        return (
            f"workers would earn ${self.wage:.2f} an hour, less than ${self.min_wage:.2f}; "
            f"rewards of ${needed:.2f} instead of ${self.rewards:.2f} would do"
        )


def price(
    batch: Batch,
    *,
    fees: Fees = NO_FEES,
    assignments: int | None = None,
    seconds: Decimal | None = None,
    min_wage: Decimal = MIN_WAGE,
) -> Price:
    """The price of a batch; ``seconds`` is the time one answer takes, measured, or else the kind's first guess.

    The local market, which takes no fees, is the default.
    """
    each = assignments or batch.settings.assignments
    pace = seconds if seconds is not None else KINDS[batch.settings.kind].seconds
    rewards, charged = Decimal("0.00"), Decimal(0)
    answers = 0
    for item in batch.items:
        reward = batch.reward(item)
        rewards += reward * each
        charged += fees.fee(reward, each) * each
        answers += item.size * each
    hits = len(batch.items)
    charged = charged.quantize(CENT, ROUND_UP)
    return Price(hits, hits * each, answers, rewards, charged, answers * pace / HOUR, min_wage)


def wage_before_rounding(batch: Batch, cost: Price) -> Decimal | None:
    """What an hour would earn if rewards were not rounded up to whole cents; None if that makes less than a percent."""
    if not cost.hours or cost.wage is None:
        return None
    rule, each = batch.settings.reward, cost.assignments // max(1, cost.hits)
    exact = sum((rule.base + rule.each * item.size for item in batch.items), Decimal(0)) * each / cost.hours
    return exact if cost.wage > exact * Decimal("1.01") else None


def fair_rule(kind: Kind, wage: Decimal = MIN_WAGE, seconds: Decimal | None = None) -> RewardRule:
    """The rule that pays at least this wage for answers that take so many seconds.

    >>> fair_rule(Kind.LABEL)
    RewardRule(base=Decimal('0'), each=Decimal('0.028'))
    """
    pace = seconds if seconds is not None else KINDS[kind].seconds
    return RewardRule(each=(wage * pace / HOUR).quantize(Decimal("0.0001"), ROUND_UP).normalize())
