"""A local market whose workers a recruiting service sends and pays: one more market behind the same interface.

Work is done and kept on the local market; a person's whole work on a batch is one *submission* of the service. So a
decision goes to both: each assignment is approved or rejected on the local market, and once all assignments of a
person are decided the submission follows. The service pays whole submissions only: a person of whom any work was
approved is paid, and one of whom all was rejected is rejected, or asked to return the place unpaid.

Workers who did not come through the service (invited by link) are those of the local market alone.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property

from hits.market.client import Market, MarketError, Participant, whole_cents
from hits.market.prolific import REASON_LENGTH, REJECTIONS, Prolific, Submission
from hits.market.recruit import RecruitingLog, pay_bonus, recruiting_logs

UNFINISHED = ("RESERVED", "ACTIVE", "PROCESSING")
REVIEWED = ("APPROVED", "REJECTED", "PARTIALLY APPROVED", "SCREENED OUT")
RETURN = "RETURN"  # begins a reason to ask for a return instead of rejecting
DECISION = re.compile(rf"\s*({'|'.join((RETURN, *REJECTIONS))})\s*:\s*(.*)", re.DOTALL)
REVIEWABLE = "AWAITING REVIEW"


@dataclass(slots=True)
class KnownWork:
    """An assignment of a batch that has a study: whose it is, and its status on the local market."""

    batch: str
    worker: str
    status: str


def read_reason(text: str) -> tuple[str, str]:
    """The category at the beginning of a reason, and the reason that the participant reads.

    >>> read_reason("RETURN: the page did not load"), read_reason("LOW_EFFORT: x"), read_reason("too fast")
    (('RETURN', 'the page did not load'), ('LOW_EFFORT', 'x'), ('OTHER', 'too fast'))
    """
    match = DECISION.fullmatch(text)
    return (match[1], match[2].strip()) if match else ("OTHER", text.strip())


def _by_participant(submissions: Iterable[Submission]) -> dict[str, Submission]:
    """The submission of each participant; of several (one was returned, say) the one that can be reviewed or was."""
    order = {REVIEWABLE: 2} | dict.fromkeys(REVIEWED, 1)
    chosen: dict[str, Submission] = {}
    for each in submissions:
        known = chosen.get(each.participant)
        if known is None or order.get(each.status, 0) >= order.get(known.status, 0):
            chosen[each.participant] = each
    return chosen


class RecruitedMarket(Market):
    """A local market and the service that recruits for it; ``names`` are the workers' names, the service's ids."""

    def __init__(self, market: Market, service: Prolific, names: Callable[[], Mapping[str, str]]) -> None:
        super().__init__(market.client, market.name, market.key, market.folder)
        self._service, self._names = service, names
        self._looked_at: dict[str, bool] = {}  # submission → whether its return was asked for
        self._decided: list[str] = []  # assignments that were decided through this client

    def participants(self, batch: str) -> list[Participant]:
        """The submissions of a batch's study, each with the worker on the local market and that worker's work."""
        workers = {name: worker for worker, name in self._workers.items()}
        rows = []
        for submission in self._submissions.get(batch, {}).values():
            worker = workers.get(submission.participant, "")
            statuses = self._statuses_of(batch, worker)
            rows.append(
                Participant(
                    submission.id,
                    submission.participant,
                    worker,
                    "RETURN REQUESTED" if self._is_returning(submission, statuses) else submission.status,
                    submission.code,
                    len(statuses),
                    statuses.count("Approved"),
                    statuses.count("Rejected"),
                )
            )
        return rows

    def _is_returning(self, submission: Submission, statuses: Sequence[str]) -> bool:
        """Whether a submission that is still to be reviewed is asked back; only where all work was rejected here."""
        if submission.asked_to_return or submission.status != REVIEWABLE or set(statuses) != {"Rejected"}:
            return submission.asked_to_return
        return self._is_asked_to_return(submission)

    def unsettled(self) -> list[str]:
        """The people whose work was approved through this client and who are not paid by that, with the reason."""
        lines = {}
        for assignment in self._decided:
            submission, work = self._submission(assignment), self._work.get(assignment)
            if submission is None or work is None or submission.status in (REVIEWABLE, *REVIEWED):
                continue
            if "Approved" in self._statuses_of(work.batch, work.worker):
                advice = (
                    "review again once the participant has sent the code"
                    if submission.status in UNFINISHED
                    else "it cannot be approved there any more; a bonus pays for the work"
                )
                lines[submission.id] = (
                    f"{submission.participant}: {submission.status} on Prolific, not paid: {advice}"
                )
        return list(lines.values())

    def status(self, assignment: str) -> str:
        """The local status; Submitted also where the local market knows of a decision that the service does not."""
        status = super().status(assignment)
        self._note(assignment, status)
        return status if self._is_settled(assignment) else "Submitted"

    def approve(self, assignment: str, feedback: str = "", *, overturn: bool = False) -> None:
        """Approve here, and the submission once all of the person's work is decided."""
        submission = self._submission(assignment)
        if submission is not None and submission.status == "REJECTED":
            message = f"submission {submission.id} was rejected on Prolific; write to Prolific's support to undo that"
            raise MarketError(message, "")
        status = super().status(assignment)
        if status != "Approved":
            super().approve(assignment, feedback, overturn=overturn or status == "Rejected")
        self._note(assignment, "Approved")
        self._decided.append(assignment)
        self._settle(assignment, "")

    def reject(self, assignment: str, feedback: str) -> None:
        """Reject here, and the submission once all of the person's work is rejected; the reason must do for both."""
        category, reason = read_reason(feedback)
        if self._submission(assignment) is not None and category != RETURN and len(reason) < REASON_LENGTH:
            message = (
                f"assignment {assignment}: Prolific wants a reason of at least {REASON_LENGTH} characters, got "
                f"{len(reason)}; a reason that begins with 'RETURN:' asks the participant to return the place instead"
            )
            raise MarketError(message, "")
        status = super().status(assignment)
        if status == "Approved":
            raise MarketError(f"assignment {assignment} was approved and cannot be rejected any more", "")
        if status != "Rejected":
            super().reject(assignment, reason)
        self._note(assignment, "Rejected")
        self._settle(assignment, feedback)

    def bonus(self, worker: str, assignment: str, amount: Decimal, reason: str) -> bool:
        """Pay on the service, at most once for an assignment and a reason, then write it down on the local market."""
        amount = whole_cents(amount)
        submission = self._submission(assignment)
        if submission is None:
            return super().bonus(worker, assignment, amount, reason)
        log = self._logs[self._work[assignment].batch]
        paid = pay_bonus(log, self._service, submission.id, amount, reason, assignment=assignment)
        super().bonus(worker, assignment, amount, reason)
        return paid

    @cached_property
    def _logs(self) -> dict[str, RecruitingLog]:
        return {} if self.folder is None else recruiting_logs(self.folder)

    @cached_property
    def _workers(self) -> Mapping[str, str]:
        return self._names()

    @cached_property
    def _submissions(self) -> dict[str, dict[str, Submission]]:
        """Batch → participant → submission, of all studies of this market."""
        return {
            batch: _by_participant(self._service.submissions(study))
            for batch, log in self._logs.items()
            if (study := log.study()) is not None
        }

    @cached_property
    def _work(self) -> dict[str, KnownWork]:
        """All work on batches that have a study, by assignment."""
        return {
            work.id: KnownWork(batch, work.worker, work.status)
            for batch in self._submissions
            for hit in self.hits(batch).values()
            for work in self.work(hit["HITId"])
        }

    def _statuses_of(self, batch: str, worker: str) -> list[str]:
        return [work.status for work in self._work.values() if (work.batch, work.worker) == (batch, worker)]

    def _note(self, assignment: str, status: str) -> None:
        if assignment in self._work:
            self._work[assignment].status = status

    def _submission(self, assignment: str) -> Submission | None:
        """The submission to which an assignment belongs; None where the service did not send the worker."""
        work = self._work.get(assignment)
        participant = None if work is None else self._workers.get(work.worker)
        return None if work is None or participant is None else self._submissions[work.batch].get(participant)

    def _is_settled(self, assignment: str) -> bool:
        """Whether the service knows what the local market decided on the person's work, as far as it can know it."""
        submission = self._submission(assignment)
        if submission is None or submission.status != REVIEWABLE:
            return True
        statuses = self._statuses_of(self._work[assignment].batch, self._work[assignment].worker)
        return "Submitted" in statuses or (
            "Approved" not in statuses and self._is_asked_to_return(submission)
        )

    def _is_asked_to_return(self, submission: Submission) -> bool:
        """Whether the participant was asked to return a submission; a list of submissions need not say so."""
        if not submission.asked_to_return and submission.id not in self._looked_at:
            self._looked_at[submission.id] = self._service.submission(submission.id).asked_to_return
        return submission.asked_to_return or self._looked_at[submission.id]

    def _settle(self, assignment: str, feedback: str) -> None:
        """Tell the service, once all of a person's work is decided; a submission that is decided stays as it is."""
        submission = self._submission(assignment)
        if submission is None or self._is_settled(assignment):
            return
        work = self._work[assignment]
        category, reason = read_reason(feedback)
        if "Approved" in self._statuses_of(work.batch, work.worker):
            self._service.approve(submission.id)
            changed = replace(submission, status="APPROVED")
        elif category == RETURN:
            if not self._is_asked_to_return(submission):
                self._service.ask_to_return(submission.id, reason)
            changed = replace(submission, asked_to_return=True)
        else:
            self._service.reject(submission.id, reason, category)
            changed = replace(submission, status="REJECTED")
        self._submissions[work.batch][submission.participant] = changed
