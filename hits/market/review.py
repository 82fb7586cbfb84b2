"""Approving and rejecting submitted work, as the columns Approve and Reject of a results CSV say."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from hits.market.client import AnyMarket, open_market
from hits.results.csv_file import Decision, read_decisions
from rypt.text import PathLike


@dataclass(frozen=True, slots=True)
class Reviewed:
    """How many assignments were approved and rejected now, how many were so before, and which cannot be rejected.

    ``unsettled`` says whose work was approved and is not paid by that, where another service pays.
    """

    approved: int
    rejected: int
    already: int
    too_late: tuple[str, ...]
    unsettled: tuple[str, ...] = ()


def review(
    decisions: PathLike,
    market: AnyMarket,
    *,
    watch: Callable[[Iterable[Decision]], Iterable[Decision]] = lambda decisions: decisions,
) -> Reviewed:
    """Carry out the decisions in a results CSV; one that was carried out before changes nothing."""
    rows = read_decisions(decisions)
    market = open_market(market)
    approved = rejected = already = 0
    too_late = []
    for decision in watch(rows):
        status = market.status(decision.assignment)
        if status == ("Approved" if decision.approve else "Rejected"):
            already += 1
        elif decision.approve:
            market.approve(decision.assignment, overturn=status == "Rejected")
            approved += 1
        elif status == "Approved":
            too_late.append(decision.assignment)
        else:
            market.reject(decision.assignment, decision.reason)
            rejected += 1
    return Reviewed(approved, rejected, already, tuple(too_late), tuple(market.unsettled()))
