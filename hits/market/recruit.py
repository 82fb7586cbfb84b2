"""Recruiting people on Prolific for a batch on a local market: one study, made once, however often it is asked for.

    recruited = recruit("batches/1", "market", Prolific(token), places=10, hits_each=4)
    recruited.study.id, recruited.cost

The study sends its participants to the market's shared link. What was done is kept in the batch folder,
``recruited.jsonl``; each step is written down, and a step that was done is found there or on the service. Only a
payment can be neither repeated nor looked up: it is written down before it is asked for, so it is made at most once.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hits.asking.make import price
from hits.batches.question_xml import is_loopback
from hits.batches.reader import read_batch
from hits.market.folder import MarketAccess, served_access
from hits.market.prolific import API, REASON_LENGTH, REJECTIONS, Prolific, ProlificError, Study, Submission
from hits.records import CENT, Batch
from rypt.append_only import AppendOnly
from rypt.strict import parse_json
from rypt.text import InputError, PathLike, RyptError

RECRUITED = "recruited.jsonl"
APPROVED, REJECTED, RETURN = "APPROVED", "REJECTED", "RETURNED"


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
    each = cost.rewards / max(cost.assignments, 1)
    minutes = float(cost.hours) * 60 / max(cost.assignments, 1) * hits_each
    people = places or math.ceil(cost.assignments / hits_each)
    return StudyPlan(people, hits_each, (each * hits_each).quantize(CENT, ROUND_UP), max(1, math.ceil(minutes)))


def study_codes(access: MarketAccess) -> dict[str, str]:
    """The completion codes: work done, checks failed (the market blocked the person), nothing left to do."""
    code = access.completion_code
    return {"COMPLETED": code, "FAILED_ATTENTION_CHECK": f"{code}X", "OTHER": f"{code}N"}


def study_properties(batch: Batch, access: MarketAccess, plan: StudyPlan) -> dict[str, Any]:
    """A study as the service wants it."""
    codes = study_codes(access)
    names = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
    query = "&".join(f"{name}={{{{%{name}%}}}}" for name in names)
    nothing = [{"action": "REQUEST_RETURN", "return_reason": "There was no work left."}]
    review = [{"action": "MANUALLY_REVIEW"}]
    return {
        "name": batch.settings.title,
        "internal_name": study_name(batch),
        "description": batch.settings.description,
        "external_study_url": f"{access.url.rstrip('/')}/join/{access.join_key}?{query}",
        "prolific_id_option": "url_parameters",
        "completion_codes": [
            {"code": code, "code_type": kind, "actions": nothing if kind == "OTHER" else review}
            for kind, code in codes.items()
        ],
        "total_available_places": plan.places,
        "estimated_completion_time": plan.minutes,
        "reward": int(plan.reward * 100),
        "device_compatibility": list(plan.devices),
        "filters": list(plan.filters),
    }


def study_name(batch: Batch) -> str:
    """Our name of a batch's study, by which it is found again."""
    return f"rypt:{batch.settings.id}"


class RecruitingLog:
    """``recruited.jsonl`` of a batch folder: what was made and paid, a line each."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / RECRUITED
        self._file = AppendOnly(self.path, busy="another process is recruiting for this batch")

    def records(self) -> list[dict[str, Any]]:
        """All lines."""
        return self._parsed(self._file.lines())

    def _parsed(self, lines: Sequence[bytes]) -> list[dict[str, Any]]:
        records = []
        for number, line in enumerate(lines, start=1):
            try:
                record = parse_json(line)
                record["step"]
            except (ValueError, KeyError, TypeError):
                raise InputError(self.path, number, 'expected {"step": …}') from None
            records.append(record)
        return records

    def add(self, **record: Any) -> None:
        """One more line, on the disk when this returns."""
        with self._file.opened():
            self._file.add(record)

    def study(self) -> str | None:
        """The study that was made for the batch."""
        return next((str(each["study"]) for each in self.records() if each["step"] == "study"), None)


def recruit(
    batch: PathLike,
    market: PathLike,
    service: Prolific,
    plan: StudyPlan,
    *,
    confirm: Callable[[StudyPlan, Decimal], bool] = lambda plan, cost: True,
    api: str = API,
) -> Recruited:
    """Make the study of a batch as a draft, or find the one that was made; ``confirm`` sees its cost first."""
    opened, folder = read_batch(batch), Path(batch)
    access, log = served_access(market), RecruitingLog(folder)
    if is_loopback(urlsplit(access.url).hostname or "") and not is_loopback(urlsplit(api).hostname or ""):
        message = f"{access.url} is this machine alone: participants cannot reach it (`rypt hits serve --url`)"
        raise RyptError(message)
    cost = service.cost(plan.reward, plan.places)
    known = log.study()
    if known is not None:
        return Recruited(service.study(known), cost, False)
    earlier = service.find(study_name(opened))  # a run that was killed may have made it
    if earlier is None:
        if not confirm(plan, cost):
            raise RyptError(f"{folder}: the study was not confirmed; nothing was made")
        study, made = service.create_study(study_properties(opened, access, plan)), True
    else:
        study, made = earlier, False
    log.add(step="study", study=study.id)
    return Recruited(study, cost, made)


def batch_study(batch: PathLike) -> str:
    """The study of a batch that was recruited for."""
    study = RecruitingLog(Path(batch)).study()
    if study is None:
        raise RyptError(f"{batch}: no study was made for this batch; `rypt hits recruit` makes one")
    return study


def set_state(batch: PathLike, service: Prolific, action: str) -> Study:
    """Publish, pause, start or stop the study of a batch; one that is in that state already stays."""
    study = service.study(batch_study(batch))
    done = {
        "PUBLISH": ("ACTIVE",),
        "START": ("ACTIVE",),
        "PAUSE": ("PAUSED",),
        "STOP": ("AWAITING REVIEW", "COMPLETED"),
    }
    if study.status not in done[action]:
        service.act(study.id, action)
    return service.study(study.id)


def decide(
    service: Prolific, submission: str, decision: str, reason: str = "", category: str = "OTHER"
) -> bool:  # fmt: skip
    """Approve, reject or ask to return a submission, once; return True if it was done now."""
    if decision == REJECTED and (len(reason) < REASON_LENGTH or category not in REJECTIONS):
        raise RyptError(f"expected a reason of at least {REASON_LENGTH} characters and one of {', '.join(REJECTIONS)}")
    if decision == RETURN and not reason:
        raise RyptError("expected a reason why the submission should be returned")
    status = service.submission(submission)
    if status in (decision, f"{decision}_REQUESTED"):
        return False
    if decision == APPROVED:
        service.approve(submission)
    elif decision == REJECTED:
        service.reject(submission, reason, category)
    else:
        service.ask_to_return(submission, reason)
    return True


def pay_bonus(
    batch: PathLike, service: Prolific, submission: str, amount: Decimal, reason: str,
    *, confirm: Callable[[Decimal], bool] = lambda cost: True,
) -> bool:  # fmt: skip
    """Pay a bonus for a submission, at most once for a reason; return True if it was paid now.

    A payment that was begun and not finished is not repeated: nobody can ask the service whether it was made.
    """
    study, log = batch_study(batch), RecruitingLog(Path(batch))
    records = log.records()
    refused = {each["payment"] for each in records if each["step"] == "refused"}
    mine = [
        each
        for each in records
        if (each.get("submission"), each.get("reason")) == (submission, reason) and each["payment"] not in refused
    ]
    if mine:
        if Decimal(mine[0]["amount"]) != amount:
            raise RyptError(f"a bonus of {mine[0]['amount']} was asked for this reason already")
        if not any(each["step"] == "paid" for each in mine):
            message = (
                f"the payment {mine[0]['payment']} was begun and may have been made; look at it on Prolific, then add "
                f'the line {{"step": "paid", …}} to {log.path}, or remove the line of this payment to pay it again'
            )
            raise RyptError(message)
        return False
    payment, cost = service.prepare_bonuses(study, {submission: amount})
    if not confirm(cost):
        raise RyptError("the bonus was not confirmed; nothing was paid")
    facts = {"submission": submission, "reason": reason, "amount": str(amount), "payment": payment}
    log.add(step="paying", **facts)
    try:
        service.pay_bonuses(payment)
    except ProlificError as error:
        if 400 <= error.status < 500:  # it was refused, so it was not made
            log.add(step="refused", payment=payment)
        raise
    log.add(step="paid", **facts)
    return True


def recruited_people(batch: PathLike, service: Prolific) -> list[Submission]:
    """All submissions of a batch's study."""
    return service.submissions(batch_study(batch))
