"""Recruiting people on Prolific for a batch on a local market: one study, made once, however often it is asked for.

    service, plan = Prolific(token), plan_study(read_batch("batches/1"), hits_each=4)
    recruited = recruit("batches/1", "market", service, plan)
    recruited.study.id, recruited.cost

The study sends its participants to the market's shared link. What was done is kept with the market's copy of the batch,
``batches/ID/recruited.jsonl``: each step is written down, and a step that was done is found there or on the service. A
payment is written down before it is asked for, and never repeated by itself.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hits.batch.folder import BATCH_TOML, read_batch
from hits.batch.question_xml import is_loopback
from hits.market.folder import BATCHES, MarketAccess, SharedTerms, private_folder, read_terms, served_access
from hits.market.prolific import Prolific, ProlificError, Study
from hits.payment import price
from hits.records import CENT, Batch
from rypt.locked_files import AppendOnly
from rypt.strict import parse_json
from rypt.text import InputError, PathLike, RyptError

RECRUITED = "recruited.jsonl"
DONE = {  # in which states there is nothing to do any more
    "PUBLISH": ("PUBLISHING", "SCHEDULED", "ACTIVE", "AWAITING REVIEW", "COMPLETED"),
    "STOP": ("AWAITING REVIEW", "COMPLETED"),
}


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


def study_terms(market: PathLike, plan: StudyPlan) -> SharedTerms:
    """How the study's people come and go; a market that is served in another way is refused."""
    terms = read_terms(market)
    if terms is None:
        raise RyptError(
            f"{market}: this market was never served; start it first with `rypt hits serve {market}`"
        )
    if terms.hits != plan.hits_each:
        served = f"--hits-each {terms.hits}" if terms.hits else "no --hits-each"
        raise RyptError(
            f"{market}: the market is served with {served}, so a participant would not be done after {plan.hits_each} "
            f"hits; say `rypt hits serve --hits-each {plan.hits_each}`, or the same number here"
        )
    return terms


def study_properties(
    batch: Batch, access: MarketAccess, plan: StudyPlan, terms: SharedTerms
) -> dict[str, Any]:
    """A study as the service wants it; its three codes are for work done, checks failed, and nothing left to do."""
    query = f"{terms.parameter}={{{{%PROLIFIC_PID%}}}}&STUDY_ID={{{{%STUDY_ID%}}}}&SESSION_ID={{{{%SESSION_ID%}}}}"
    nothing = [{"action": "REQUEST_RETURN", "return_reason": "There was no work left."}]
    review = [{"action": "MANUALLY_REVIEW"}]
    codes = (("", "COMPLETED", review), ("X", "FAILED_ATTENTION_CHECK", review), ("N", "OTHER", nothing))
    return {
        "name": batch.settings.title,
        "internal_name": study_name(batch),
        "description": batch.settings.description,
        "external_study_url": f"{access.url.rstrip('/')}/join/{access.join_key}?{query}",
        "prolific_id_option": "url_parameters",
        "completion_codes": [
            {"code": f"{terms.completion_code}{end}", "code_type": kind, "actions": actions}
            for end, kind, actions in codes
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
        """The study that was made for the batch."""
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
        message = (
            f"{access.url} is this machine alone: participants cannot reach it (`rypt hits serve --url`)"
        )
        raise RyptError(message)
    if not (folder / BATCH_TOML).is_file():
        raise RyptError(
            f"{batch}: is not published on {market}; `rypt hits publish {batch} --market {market}` does that"
        )
    log = RecruitingLog(folder)
    with log.held():
        cost, known = service.cost(plan.reward, plan.places), log.study()
        if known is not None:
            return Recruited(service.study(known), cost, False)
        terms = study_terms(market, plan)
        begun = any(record["step"] == "making" for record in log.records())
        study = service.find(study_name(opened), wait=begun)  # a run that was killed may have made it
        made = study is None
        if study is None:
            if not confirm(plan, cost):
                raise RyptError(f"{batch}: the study was not confirmed; nothing was made")
            log.add(step="making")
            study = service.create_study(study_properties(opened, access, plan, terms))
        log.add(step="study", study=study.id)
    return Recruited(study, cost, made)


def set_state(batch: PathLike, market: PathLike, service: Prolific, action: str) -> Study:
    """Publish or stop the study of a batch; one that is in that state already stays."""
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

    Where no answer came, nobody but the service knows whether it was paid: the requester looks there and writes it down.
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
            line = {**mine[0], "step": "paid"}
            raise RyptError(
                f"no answer came to the payment {mine[0]['payment']}: look on Prolific whether {submission} got it, and "
                f'add a line to {log.path}: {json.dumps(line)}, or {{"step": "refused", "payment": "{mine[0]["payment"]}"}}'
                " if it was surely not made"
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
