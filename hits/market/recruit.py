"""Recruiting people on Prolific for a batch on a local market: one study, made once, however often it is asked for.

    service, plan = Prolific(token), plan_study(read_batch("batches/1"), hits_each=4)
    recruited = recruit("batches/1", "market", service, plan)
    recruited.study.id, recruited.cost

The study sends its participants to the market's shared link. What was done is kept with the market's copy of the batch,
``batches/ID/recruited.jsonl``: each step is written down, and a step that was done is found there or on the service. A
payment is written down before it is asked for, and never repeated by itself.

A person's whole work on a batch is one *submission* of the service, so `RecruitedMarket` carries a decision to both:
each assignment is approved or rejected on the local market, and once all assignments of a person are decided the
submission follows. A person of whom any work was approved is paid, and one of whom all was rejected is rejected.
Workers who were invited by link are those of the local market alone.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from decimal import ROUND_UP, Decimal
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hits.batch.folder import BATCH_TOML, read_batch
from hits.batch.question_xml import is_loopback
from hits.market.client import Market, MarketError, Participant, whole_cents
from hits.market.folder import BATCHES, MarketAccess, private_folder, served_access
from hits.market.prolific import REASON_LENGTH, Prolific, ProlificError, Study, Submission
from hits.payment import price
from hits.records import APPROVED, CENT, REJECTED, SUBMITTED, Assignment, Batch
from rypt.locked_files import AppendOnly
from rypt.strict import parse_json
from rypt.text import InputError, PathLike, RyptError

RECRUITED = "recruited.jsonl"
DONE = {  # in which states there is nothing to do any more
    "PUBLISH": ("PUBLISHING", "SCHEDULED", "ACTIVE", "AWAITING REVIEW", "COMPLETED"),
    "STOP": ("AWAITING REVIEW", "COMPLETED"),
}
UNFINISHED = ("RESERVED", "ACTIVE", "PROCESSING")
REVIEWABLE = "AWAITING REVIEW"
REVIEWED = ("APPROVED", "REJECTED", "PARTIALLY APPROVED", "SCREENED OUT")


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """What a study offers: how many people do how many hits each, for how much and how long.

    ``filters`` is Prolific's own JSON for who may take part; ``devices`` what they may use.
    """

    places: int
    hits_each: int
    reward: Decimal
    minutes: int
    filters: Sequence[Mapping[str, Any]] = ()
    devices: Sequence[str] = ("desktop", "tablet", "mobile")


@dataclass(frozen=True, slots=True)
class Recruited:
    """The study of a batch, what it costs with the service's fee, and whether it was made now."""

    study: Study
    cost: Decimal
    made: bool


def plan_study(batch: Batch, hits_each: int, places: int | None = None) -> StudyPlan:
    """A plan from a batch's price: a person earns what the hits pay on average, for the time that they take."""
    if hits_each < 1:
        raise RyptError(f"the number of hits for each person must be at least 1, got {hits_each}")
    cost = price(batch)
    assignments = max(cost.assignments, 1)
    reward = (cost.rewards / assignments * hits_each).quantize(CENT, ROUND_UP)
    minutes = max(1, math.ceil(float(cost.hours) * 60 / assignments * hits_each))
    return StudyPlan(places or math.ceil(cost.assignments / hits_each), hits_each, reward, minutes)


def study_properties(batch: Batch, access: MarketAccess, plan: StudyPlan) -> dict[str, Any]:
    """A study as the service wants it; its three codes are for work done, checks failed, and nothing left to do."""
    query = f"{access.parameter}={{{{%PROLIFIC_PID%}}}}&STUDY_ID={{{{%STUDY_ID%}}}}&SESSION_ID={{{{%SESSION_ID%}}}}"
    nothing = [{"action": "REQUEST_RETURN", "return_reason": "There was no work left."}]
    review = [{"action": "MANUALLY_REVIEW"}]
    codes = (("", "COMPLETED", review), ("X", "FAILED_ATTENTION_CHECK", review), ("N", "OTHER", nothing))
    return {
        "name": batch.settings.title,
        "internal_name": f"rypt:{batch.settings.id}",  # by which the study is found again
        "description": batch.settings.description,
        "external_study_url": f"{access.base}/join/{access.join_key}?{query}",
        "prolific_id_option": "url_parameters",
        "completion_codes": [
            {"code": f"{access.completion_code}{end}", "code_type": kind, "actions": actions}
            for end, kind, actions in codes
        ],
        "total_available_places": plan.places,
        "estimated_completion_time": plan.minutes,
        "reward": int(plan.reward * 100),
        "device_compatibility": list(plan.devices),
        "filters": list(plan.filters),
    }


class RecruitingLog:
    """``recruited.jsonl`` of a batch on a market: what was made and paid, a line each."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / RECRUITED
        self._file = AppendOnly(self.path, busy="another process is recruiting or paying for this batch")
        self._held = False

    def records(self) -> list[dict[str, Any]]:
        records = []
        for number, line in enumerate(self._file.lines(), start=1):
            try:
                record = parse_json(line)
                record["step"]
            except (ValueError, KeyError, TypeError):
                raise InputError(self.path, number, 'expected {"step": …}') from None
            records.append(record)
        return records

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let no other process make a study or pay for this batch meanwhile."""
        private_folder(self.path.parent.parent)
        private_folder(self.path.parent)
        with self._file.opened():
            self._held = True
            try:
                yield
            finally:
                self._held = False

    def add(self, **record: Any) -> None:
        """One more line, on the disk when this returns."""
        with nullcontext() if self._held else self.held():
            self._file.add(record)

    def study(self) -> str | None:
        return next((str(each["study"]) for each in self.records() if each["step"] == "study"), None)


def recruiting_logs(market: PathLike) -> dict[str, RecruitingLog]:
    """The logs of all batches of a market for which people were recruited."""
    paths = sorted((Path(market) / BATCHES).glob(f"*/{RECRUITED}"))
    return {path.parent.name: RecruitingLog(path.parent) for path in paths}


def recruit(
    batch: PathLike,
    market: PathLike,
    service: Prolific,
    plan: StudyPlan,
    *,
    confirm: Callable[[StudyPlan, Decimal], bool] = lambda plan, cost: True,
) -> Recruited:
    """Make the study of a batch as a draft, or find the one that was made; ``confirm`` sees its cost first."""
    opened, access = read_batch(batch), served_access(market)
    folder = Path(market) / BATCHES / opened.settings.id
    here, there = (is_loopback(urlsplit(url).hostname or "") for url in (access.url, service.api))
    if here and not there:
        reason = "is this machine alone: participants cannot reach it (`rypt hits serve --url`)"
        raise RyptError(f"{access.url} {reason}")
    if not (folder / BATCH_TOML).is_file():
        publish = f"`rypt hits publish {batch} --market {market}` does that"
        raise RyptError(f"{batch}: is not published on {market}; {publish}")
    log = RecruitingLog(folder)
    with log.held():
        cost, known = service.cost(plan.reward, plan.places), log.study()
        if known is not None:
            return Recruited(service.study(known), cost, False)
        if access.hits_each != plan.hits_each:
            served = f"--hits-each {access.hits_each}" if access.hits_each else "no --hits-each"
            raise RyptError(
                f"{market}: the market is served with {served}, so a participant would not be done after "
                f"{plan.hits_each} hits; say `rypt hits serve --hits-each {plan.hits_each}`, or the same number here"
            )
        properties = study_properties(opened, access, plan)
        begun = any(record["step"] == "making" for record in log.records())
        study = service.find(properties["internal_name"], wait=begun)  # of a run that was killed
        made = study is None
        if study is None:
            if not confirm(plan, cost):
                raise RyptError(f"{batch}: the study was not confirmed; nothing was made")
            log.add(step="making")
            study = service.create_study(properties)
        log.add(step="study", study=study.id)
    return Recruited(study, cost, made)


def set_state(batch: PathLike, market: PathLike, service: Prolific, action: str) -> Study:
    """Publish or stop the study of a batch; one that is in that state already is left alone."""
    name = RecruitingLog(Path(market) / BATCHES / read_batch(batch).settings.id).study()
    if name is None:
        raise RyptError(f"{batch}: no study was made for this batch; `rypt hits recruit` makes one")
    study = service.study(name)
    if study.status in DONE[action]:
        return study
    service.act(name, action)
    return service.study(name)


def pay_bonus(
    log: RecruitingLog, service: Prolific, submission: str, amount: Decimal, reason: str, assignment: str = ""
) -> bool:
    """Pay a bonus for a submission, at most once for an assignment and a reason; return True if it was paid now.

    Where no answer came, only the service knows whether it was paid: the requester looks there and writes it down.
    """
    with log.held():
        records = log.records()
        refused = {each["payment"] for each in records if each["step"] == "refused"}
        facts = {"submission": submission, "assignment": assignment, "reason": reason}
        mine = [each for each in records if facts.items() <= each.items() and each["payment"] not in refused]
        if mine and Decimal(mine[0]["amount"]) != amount:
            raise RyptError(f"a bonus of {mine[0]['amount']} was asked for this reason already")
        if any(each["step"] == "paid" for each in mine):
            return False
        if mine:
            payment, line = mine[0]["payment"], json.dumps({**mine[0], "step": "paid"})
            raise RyptError(
                f"no answer came to the payment {payment}: look on Prolific whether {submission} got it, and add a "
                f'line to {log.path}: {line}, or {{"step": "refused", "payment": "{payment}"}} if it was surely not made'
            )
        payment = service.prepare_bonus(log.study() or "", submission, amount)
        facts |= {"amount": str(amount), "payment": payment}
        log.add(step="paying", **facts)
        try:
            service.pay_bonus(payment)
        except ProlificError as error:
            if 400 <= error.status < 500 and error.status != 408:  # it was refused, so it was not made
                log.add(step="refused", payment=payment)
            raise
        log.add(step="paid", **facts)
        return True


def read_reason(text: str) -> tuple[str, str]:
    """The service's category at the beginning of a reason, and the reason that the participant reads.

    >>> read_reason("LOW_EFFORT: x"), read_reason("too fast")
    (('LOW_EFFORT', 'x'), ('OTHER', 'too fast'))
    """
    match = re.fullmatch(r"\s*([A-Z_]{4,}):\s*(.*)", text, re.DOTALL)
    return (match[1], match[2].strip()) if match else ("OTHER", text.strip())


class RecruitedMarket(Market):
    """A local market and the service that recruits for it; ``names`` are the workers' names, the service's ids.

    Without a service (nobody gave the token) work can be collected, and nothing can be decided or paid.
    """

    def __init__(
        self, market: Market, service: Prolific | None, names: Callable[[], Mapping[str, str]]
    ) -> None:
        super().__init__(market.client, market.name, market.key, market.folder)
        self._known_service = service
        self._names = names
        self._approved: list[str] = []  # assignments that were approved through this client

    @property
    def _service(self) -> Prolific:
        if self._known_service is None:
            reason = "people from Prolific work on this market, and Prolific must be told what is decided"
            raise RyptError(
                f"{reason}: expected its API token (--token-file, or the variable PROLIFIC_TOKEN)"
            )
        return self._known_service

    @cached_property
    def _logs(self) -> dict[str, RecruitingLog]:
        return {} if self.folder is None else recruiting_logs(self.folder)

    @cached_property
    def _participants(self) -> Mapping[str, str]:
        return self._names()

    @cached_property
    def _submissions(self) -> dict[tuple[str, str], Submission]:
        """Batch and participant → submission; of several (one was returned, say) the one to review, or reviewed."""
        order = {REVIEWABLE: 2} | dict.fromkeys(REVIEWED, 1)
        studies = {batch: log.study() for batch, log in self._logs.items()}
        return {
            (batch, submission.participant): submission
            for batch, study in studies.items()
            if study is not None
            for submission in sorted(
                self._service.submissions(study), key=lambda each: order.get(each.status, 0)
            )
        }

    @cached_property
    def _work(self) -> dict[str, Assignment]:
        """All work on batches that have a study, by assignment."""
        return {
            work.id: replace(work, batch=batch)
            for batch in dict.fromkeys(batch for batch, _ in self._submissions)
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
        if (work := self._work.get(assignment)) is None:
            return None
        return self._submissions.get((work.batch, self._participants.get(work.worker, "")))

    def _to_settle(self, assignment: str) -> Submission | None:
        """The submission, if all of the person's work is decided here, and the submission is not."""
        submission, work = self._submission(assignment), self._work.get(assignment)
        if submission is None or work is None or submission.status != REVIEWABLE:
            return None
        return None if SUBMITTED in self._statuses(work.batch, work.worker) else submission

    def _settle(self, assignment: str, feedback: str) -> None:
        """Tell the service, once all of a person's work is decided; a decided submission is left alone."""
        submission = self._to_settle(assignment)
        if submission is None:
            return
        work = self._work[assignment]
        if APPROVED in self._statuses(work.batch, work.worker):
            self._service.approve(submission.id)
            status = "APPROVED"
        else:
            category, reason = read_reason(feedback)
            self._service.reject(submission.id, reason, category)
            status = "REJECTED"
        self._submissions[work.batch, submission.participant] = replace(submission, status=status)

    def participants(self, batch: str) -> list[Participant]:
        """The submissions of a batch's study, each with the worker on the local market and that worker's work."""
        if self._known_service is None:
            return []
        workers = {name: worker for worker, name in self._participants.items()}
        people = []
        for (study, name), each in self._submissions.items():
            if study == batch:
                statuses = self._statuses(batch, workers.get(name, ""))
                counts = len(statuses), statuses.count(APPROVED), statuses.count(REJECTED)
                people.append(
                    Participant(each.id, name, workers.get(name, ""), each.status, each.code, *counts)
                )
        return sorted(people, key=lambda person: person.submission)

    def unsettled(self) -> list[str]:
        """The people whose work was approved through this client and who are not paid by that, with the reason."""
        lines = {}
        for submission in filter(None, map(self._submission, self._approved)):
            if submission.status in (REVIEWABLE, *REVIEWED):
                continue
            advice = "it cannot be approved there any more; a bonus pays for the work"
            if submission.status in UNFINISHED:
                advice = "review again once the participant has sent the code"
            lines[submission.id] = (
                f"{submission.participant}: {submission.status} on Prolific, not paid: {advice}"
            )
        return list(lines.values())

    def status(self, assignment: str) -> str:
        """The local status; Submitted also where the local market knows of a decision that the service does not."""
        status = super().status(assignment)
        self._note(assignment, status)
        return SUBMITTED if self._to_settle(assignment) else status

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
