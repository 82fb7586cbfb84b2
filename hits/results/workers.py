"""Actions on workers: excluding them, and paying bonuses.

exclude_workers(db, ["A1"], "YES to everything", now)   # the answers stay, and do not count
bonus_payments(results, reports, Decimal("0.2"), market.paid)   →   [Bonus("3X…", "A2", Decimal("0.40")), …]
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal

from hits.records import CENT, REJECTED, Bonus
from hits.results.answers import Results
from hits.results.verdicts import Verdict, WorkerReport
from rypt.database.judgments import JudgmentDatabase
from rypt.text import RyptError, plural


@dataclass(slots=True)
class Pay:
    """What a worker is owed or got for collected work: the rewards of all that is not rejected, and the bonuses.

    ``rejected`` of ``assignments`` are rejected; ``seconds`` is the time of all whose time is known.
    """

    amount: Decimal = Decimal("0.00")
    assignments: int = 0
    rejected: int = 0
    seconds: int = 0

    @property
    def words(self) -> str:
        """What is rejected, empty if nothing is."""
        rejected = f"{self.rejected} of {plural(self.assignments, 'assignment')} rejected"
        return rejected if self.rejected else ""


def pay_of_workers(results: Results) -> dict[str, Pay]:
    """The pay of each worker; excluded workers are paid like the others."""
    pay: dict[str, Pay] = {}
    for work in results.work():
        owed = pay.setdefault(work.worker, Pay())
        rejected = work.status == REJECTED
        owed.amount += sum(work.bonuses, Decimal(0) if rejected else work.reward)
        owed.assignments += 1
        owed.rejected += rejected
        owed.seconds += work.seconds or 0
    return pay


def exclude_workers(
    db: JudgmentDatabase,
    workers: Iterable[str],
    reason: str,
    now: int | None = None,
    *,
    include: Iterable[str] = (),
) -> None:
    """Exclude the answers of workers, and include those of excluded workers in ``include`` again.

    An unknown worker, or one in ``include`` who is not excluded, is an error, and nothing is changed.
    """
    out, back = list(workers), list(include)
    if unknown := set(out) - Results(db).workers():
        raise RyptError(f"worker {min(unknown)!r} gave no answer in {db.path}")
    if unknown := set(back) - db.excluded().keys():
        raise RyptError(f"worker {min(unknown)!r} is not excluded in {db.path}")
    for worker in out:
        db.exclude(worker, reason, now)
    for worker in back:
        db.include(worker)


def bonus_payments(
    results: Results, reports: Iterable[WorkerReport], share: Decimal, paid: Callable[[str, str], Decimal]
) -> list[Bonus]:
    """One payment for each good worker, with the last assignment: a share of all rewards, less what was paid before.

    ``paid`` says what a worker got as bonuses with an assignment so far. Workers with few answers are not included.
    """
    due: dict[str, Decimal] = {
        r.worker: Decimal(0) for r in reports if r.verdict is Verdict.GOOD and not r.excluded
    }
    last: dict[str, str] = {}
    for work in results.work():
        if work.worker in due and work.status != REJECTED:
            due[work.worker] += work.reward * share - paid(work.worker, work.assignment)
            last[work.worker] = work.assignment
    amounts = {worker: due[worker].quantize(CENT) for worker in last}
    return [Bonus(last[worker], worker, amount) for worker, amount in amounts.items() if amount > 0]
