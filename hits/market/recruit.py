"""Recruiting people on Prolific for a batch on a local market: one study, made once, however often it is asked for.

    recruited = recruit("batches/1", "market", Prolific(token), places=10, hits_each=4)
    recruited.study.id, recruited.cost

The study sends its participants to the market's shared link. What was done is kept with the market's copy of the batch,
``batches/ID/recruited.jsonl``; each step is written down, and a step that was done is found there or on the service. A
payment is never repeated by itself: it is written down before it is asked for, and where no answer came, it counts as
made once the service lists it.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hits.batch.folder import BATCH_TOML, read_batch
from hits.batch.make import price
from hits.batch.question_xml import is_loopback
from hits.market.folder import BATCHES, MarketAccess, SharedTerms, private_folder, read_terms, served_access
from hits.market.prolific import API, Prolific, ProlificError, Study
from hits.records import CENT, Batch
from rypt.locked_files import AppendOnly
from rypt.strict import parse_json
from rypt.text import InputError, PathLike, RyptError

RECRUITED = "recruited.jsonl"


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
    return StudyPlan(
        people, hits_each, (each * hits_each).quantize(CENT, ROUND_UP), max(1, math.ceil(minutes))
    )


def study_terms(market: PathLike, access: MarketAccess, plan: StudyPlan) -> SharedTerms:
    """How the study's people come and go; a market that is served in another way is refused."""
    terms = read_terms(market)
    if terms is None:  # of an older version, which did not write it down
        return SharedTerms("PROLIFIC_PID", plan.hits_each, access.completion_code)
    if terms.hits != plan.hits_each:
        served = f"--hits-each {terms.hits}" if terms.hits else "no --hits-each"
        raise RyptError(
            f"{market}: the market is served with {served}, so a participant would not be done after {plan.hits_each} "
            f"hits; say `rypt hits serve --hits-each {plan.hits_each}`, or the same number here"
        )
    return terms


def study_codes(code: str) -> dict[str, str]:
    """The completion codes: work done, checks failed (the market blocked the person), nothing left to do."""
    return {"COMPLETED": code, "FAILED_ATTENTION_CHECK": f"{code}X", "OTHER": f"{code}N"}


def study_properties(
    batch: Batch, access: MarketAccess, plan: StudyPlan, terms: SharedTerms
) -> dict[str, Any]:
    """A study as the service wants it."""
    query = f"{terms.parameter}={{{{%PROLIFIC_PID%}}}}&STUDY_ID={{{{%STUDY_ID%}}}}&SESSION_ID={{{{%SESSION_ID%}}}}"
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
            for kind, code in study_codes(terms.completion_code).items()
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
    """``recruited.jsonl`` of a batch on a market: what was made and paid, a line each."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / RECRUITED
        self._file = AppendOnly(self.path, busy="another process is recruiting or paying for this batch")
        self._held = False

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
        """The study that was made for the batch."""
        return next((str(each["study"]) for each in self.records() if each["step"] == "study"), None)


def recruiting_log(market: PathLike, batch: str) -> RecruitingLog:
    """The log of a batch on a market."""
    return RecruitingLog(Path(market) / BATCHES / batch)


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
    api: str = API,
) -> Recruited:
    """Make the study of a batch as a draft, or find the one that was made; ``confirm`` sees its cost first."""
    opened, folder = read_batch(batch), Path(batch)
    access, log = served_access(market), recruiting_log(market, opened.settings.id)
    if is_loopback(urlsplit(access.url).hostname or "") and not is_loopback(urlsplit(api).hostname or ""):
        message = (
            f"{access.url} is this machine alone: participants cannot reach it (`rypt hits serve --url`)"
        )
        raise RyptError(message)
    if not (log.path.parent / BATCH_TOML).is_file():
        raise RyptError(
            f"{folder}: is not published on {market}; `rypt hits publish {folder} --at {market}` does that"
        )
    with log.held():
        cost = service.cost(plan.reward, plan.places)
        known = log.study()
        if known is not None:
            return Recruited(service.study(known), cost, False)
        terms = study_terms(market, access, plan)
        begun = any(record["step"] == "making" for record in log.records())
        earlier = service.find(study_name(opened), wait=begun)  # a run that was killed may have made it
        if earlier is None:
            if not confirm(plan, cost):
                raise RyptError(f"{folder}: the study was not confirmed; nothing was made")
            log.add(step="making")
            study, made = service.create_study(study_properties(opened, access, plan, terms)), True
        else:
            study, made = earlier, False
        log.add(step="study", study=study.id)
    return Recruited(study, cost, made)


DONE = {  # in which states there is nothing to do any more
    "PUBLISH": ("PUBLISHING", "SCHEDULED", "ACTIVE", "AWAITING REVIEW", "COMPLETED"),
    "START": ("PUBLISHING", "ACTIVE"),
    "PAUSE": ("PAUSED",),
    "STOP": ("AWAITING REVIEW", "COMPLETED"),
}


def set_state(batch: PathLike, market: PathLike, service: Prolific, action: str) -> Study:
    """Publish, pause, start or stop the study of a batch; one that is in that state already stays."""
    name = recruiting_log(market, read_batch(batch).settings.id).study()
    if name is None:
        raise RyptError(f"{batch}: no study was made for this batch; `rypt hits recruit` makes one")
    study = service.study(name)
    if action == "PUBLISH" and study.status == "PAUSED":
        raise RyptError(f"{batch}: study {name} is paused; `rypt hits recruit --start` goes on with it")
    if study.status not in DONE[action]:
        service.act(study.id, action)
    return service.study(study.id)


def pay_bonus(
    log: RecruitingLog,
    service: Prolific,
    submission: str,
    amount: Decimal,
    reason: str,
    *,
    assignment: str = "",
) -> bool:
    """Pay a bonus for a submission, at most once for an assignment and a reason; return True if it was paid now.

    A payment that was begun and not finished is not repeated: it counts as made if the service lists it.
    """
    if log.study() is None:
        raise RyptError(f"{log.path}: no study was made for this batch; `rypt hits recruit` makes one")
    with log.held():
        return _pay(log, service, submission, amount, reason, assignment)


def _pay(
    log: RecruitingLog, service: Prolific, submission: str, amount: Decimal, reason: str, assignment: str
) -> bool:
    study, records = log.study() or "", log.records()
    refused = {each["payment"] for each in records if each["step"] == "refused"}
    key = (submission, assignment, reason)
    mine = [
        each
        for each in records
        if (each.get("submission"), each.get("assignment"), each.get("reason")) == key
        and each["payment"] not in refused
    ]
    if mine:
        if Decimal(mine[0]["amount"]) != amount:
            raise RyptError(f"a bonus of {mine[0]['amount']} was asked for this reason already")
        if not any(each["step"] == "paid" for each in mine):
            _look_up(log, service, mine[0])
        return False
    payment, _ = service.prepare_bonuses(study, {submission: amount})
    facts = {
        "submission": submission,
        "assignment": assignment,
        "reason": reason,
        "amount": str(amount),
        "payment": payment,
    }
    log.add(step="paying", **facts)
    try:
        service.pay_bonuses(payment)
    except ProlificError as error:
        if 400 <= error.status < 500 and error.status != 408:  # it was refused, so it was not made
            log.add(step="refused", payment=payment)
        raise
    log.add(step="paid", **facts)
    return True


def _look_up(log: RecruitingLog, service: Prolific, begun: Mapping[str, Any]) -> None:
    """Write down that a payment without an answer was made, if the service lists it; else say what to do."""
    amount = Decimal(begun["amount"])
    written = [
        each for each in log.records() if each["step"] == "paid" and each["submission"] == begun["submission"]
    ]
    known = sum(Decimal(each["amount"]) == amount for each in written)
    if service.submission(begun["submission"]).bonuses.count(amount) > known:
        log.add(**{**begun, "step": "paid"})
        return
    raise RyptError(
        f"the payment {begun['payment']} was begun, and Prolific does not list it: it may take some minutes, so try "
        f'again later; if it was surely not made, add the line {{"step": "refused", "payment": '
        f'"{begun["payment"]}"}} to {log.path} and pay it again'
    )
