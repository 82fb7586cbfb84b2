"""A local market whose workers a recruiting service sends and pays: the same client, with decisions for both.

Work is done and kept on the local market; a person's whole work on a batch is one *submission* of the service. So a
decision goes to both: each assignment is approved or rejected on the local market, and once all assignments of a
person are decided the submission follows. The service pays whole submissions only: a person of whom any work was
approved is paid, and one of whom all was rejected is rejected.

Workers who did not come through the service (invited by link) are those of the local market alone.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from functools import cached_property

from hits.market.client import Market, MarketError, Participant, whole_cents
from hits.market.prolific import REASON_LENGTH, Prolific, Submission
from hits.market.recruit import RecruitingLog, pay_bonus, recruiting_logs
from hits.records import APPROVED, REJECTED, SUBMITTED, Assignment
from rypt.text import RyptError

UNFINISHED = ("RESERVED", "ACTIVE", "PROCESSING")
REVIEWABLE = "AWAITING REVIEW"
REVIEWED = ("APPROVED", "REJECTED", "PARTIALLY APPROVED", "SCREENED OUT")


def read_reason(text: str) -> tuple[str, str]:
    """The service's category at the beginning of a reason, and the reason that the participant reads.

    >>> read_reason("LOW_EFFORT: x"), read_reason("too fast")
    (('LOW_EFFORT', 'x'), ('OTHER', 'too fast'))
    """
    match = re.fullmatch(r"\s*([A-Z_]{4,}):\s*(.*)", text, re.DOTALL)
    return (match[1], match[2].strip()) if match else ("OTHER", text.strip())


def _by_participant(submissions: Iterable[Submission]) -> dict[str, Submission]:
    """The submission of each participant; of several (one was returned, say) the one that can be reviewed or was."""
    order = {REVIEWABLE: 2} | dict.fromkeys(REVIEWED, 1)
    ranked = sorted(submissions, key=lambda each: order.get(each.status, 0))
    return {each.participant: each for each in ranked}


class RecruitedMarket(Market):
    """A local market and the service that recruits for it; ``names`` are the workers' names, the service's ids.

    Without a service (nobody gave the token) work can be collected, and nothing can be decided or paid.
    """

    def __init__(
        self, market: Market, service: Prolific | None, names: Callable[[], Mapping[str, str]]
    ) -> None:
        super().__init__(market.client, market.name, market.key, market.folder)
        self._known_service, self._names = service, names
        self._approved: list[str] = []  # assignments that were approved through this client

    @property
    def _service(self) -> Prolific:
        if self._known_service is None:
            reason = "people from Prolific work on this market, and Prolific must be told what is decided"
            raise RyptError(
                f"{reason}: expected its API token (--token-file, or the variable PROLIFIC_TOKEN)"
            )
        return self._known_service

    def participants(self, batch: str) -> list[Participant]:
        """The submissions of a batch's study, each with the worker on the local market and that worker's work."""
        if self._known_service is None:
            return []
        workers = {name: worker for worker, name in self._workers.items()}
        people = []
        for each in self._submissions.get(batch, {}).values():
            worker = workers.get(each.participant, "")
            statuses = self._statuses(batch, worker)
            counts = len(statuses), statuses.count(APPROVED), statuses.count(REJECTED)
            people.append(Participant(each.id, each.participant, worker, each.status, each.code, *counts))
        return sorted(people, key=lambda person: person.submission)

    def unsettled(self) -> list[str]:
        """The people whose work was approved through this client and who are not paid by that, with the reason."""
        lines = {}
        for assignment in self._approved:
            submission = self._submission(assignment)
            if submission is None or submission.status in (REVIEWABLE, *REVIEWED):
                continue
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
        return SUBMITTED if self._is_to_settle(assignment) else status

    def approve(self, assignment: str, feedback: str = "", *, overturn: bool = False) -> None:
        """Approve here, and the submission once all of the person's work is decided."""
        submission = self._submission(assignment)
        if submission is not None and submission.status == "REJECTED":
            message = f"submission {submission.id} was rejected on Prolific; write to Prolific's support to undo that"
            raise MarketError(message, "")
        status = super().status(assignment)
        if status != APPROVED:
            super().approve(assignment, feedback, overturn=overturn or status == REJECTED)
        self._note(assignment, APPROVED)
        self._approved.append(assignment)
        self._settle(assignment, "")

    def reject(self, assignment: str, feedback: str) -> None:
        """Reject here, and the submission once all of the person's work is rejected; the reason must do for both."""
        _, reason = read_reason(feedback)
        if self._submission(assignment) is not None and len(reason) < REASON_LENGTH:
            message = f"Prolific wants a reason of at least {REASON_LENGTH} characters, got {len(reason)}"
            raise MarketError(f"assignment {assignment}: {message}", "")
        status = super().status(assignment)
        if status == APPROVED:
            raise MarketError(f"assignment {assignment} was approved and cannot be rejected any more", "")
        if status != REJECTED:
            super().reject(assignment, reason)
        self._note(assignment, REJECTED)
        self._settle(assignment, feedback)

    def bonus(self, worker: str, assignment: str, amount: Decimal, reason: str) -> bool:
        """Pay on the service, at most once for an assignment and a reason, then write it down on the local market."""
        amount, submission = whole_cents(amount), self._submission(assignment)
        if submission is None:
            return super().bonus(worker, assignment, amount, reason)
        log = self._logs[self._work[assignment].batch]
        paid = pay_bonus(log, self._service, submission.id, amount, reason, assignment)
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
        studies = {batch: log.study() for batch, log in self._logs.items()}
        return {
            batch: _by_participant(self._service.submissions(study))
            for batch, study in studies.items()
            if study is not None
        }

    @cached_property
    def _work(self) -> dict[str, Assignment]:
        """All work on batches that have a study, by assignment."""
        return {
            work.id: replace(work, batch=batch)
            for batch in self._submissions
            for hit in self.hits(batch).values()
            for work in self.work(hit["HITId"])
        }

    def _statuses(self, batch: str, worker: str) -> list[str]:
        return [work.status for work in self._work.values() if (work.batch, work.worker) == (batch, worker)]

    def _note(self, assignment: str, status: str) -> None:
        if assignment in self._work:
            self._work[assignment] = replace(self._work[assignment], status=status)

    def _submission(self, assignment: str) -> Submission | None:
        """The submission to which an assignment belongs; None where the service did not send the worker."""
        work = self._work.get(assignment)
        participant = None if work is None else self._workers.get(work.worker)
        return None if work is None or participant is None else self._submissions[work.batch].get(participant)

    def _is_to_settle(self, assignment: str) -> bool:
        """Whether all of a person's work is decided here, and the submission is not."""
        submission, work = self._submission(assignment), self._work.get(assignment)
        if submission is None or work is None or submission.status != REVIEWABLE:
            return False
        return SUBMITTED not in self._statuses(work.batch, work.worker)

    def _settle(self, assignment: str, feedback: str) -> None:
        """Tell the service, once all of a person's work is decided; a submission that is decided stays as it is."""
        submission = self._submission(assignment)
        if submission is None or not self._is_to_settle(assignment):
            return
        work = self._work[assignment]
        if APPROVED in self._statuses(work.batch, work.worker):
            self._service.approve(submission.id)
            status = "APPROVED"
        else:
            category, reason = read_reason(feedback)
            self._service.reject(submission.id, reason, category)
            status = "REJECTED"
        self._submissions[work.batch][submission.participant] = replace(submission, status=status)
