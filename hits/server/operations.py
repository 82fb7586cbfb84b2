"""The operations of the requester's protocol that this market knows: those of rypt's client and of requesters' scripts.

An operation takes the checked members of a request and returns those of the answer; the endpoint leaves out what the
protocol has no member for. Members are checked here where a wrong one would harm the market.
"""

import base64
import binascii
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from hits.batch.question_xml import XmlError, answers_xml
from hits.qualifications import LOCALE
from hits.server.question import check_question
from hits.server.store import Store
from hits.server.store.qualifications import COMPARATORS, SYSTEM_TYPES, score_test
from hits.server.store.records import DAY, Record, RefusedError, Request, invalid
from hits.server.store.work import FINISHED

YEAR = 365 * DAY
PAGE_SIZE = 10  # results when a request does not say how many
LARGEST_PAGE = 100
AMOUNT = re.compile(r"[0-9]{1,6}(\.[0-9]{0,2})?")
SIZES = {  # characters of texts that are shown to workers or kept for each hit
    "Title": 128,
    "Description": 2000,
    "Keywords": 1000,
    "Name": 200,
    "Subject": 200,
    "MessageText": 4096,
    "RequesterFeedback": 1024,
    "Reason": 2048,
    "RequesterAnnotation": 4096,
}
RANGES = {
    "AutoApprovalDelayInSeconds": (0, YEAR),
    "AssignmentDurationInSeconds": (30, YEAR),
    "LifetimeInSeconds": (30, YEAR),
    "MaxAssignments": (1, 10**9),
    "NumberOfAdditionalAssignments": (1, 10**9),
    "RetryDelayInSeconds": (0, YEAR),
    "TestDurationInSeconds": (1, YEAR),
    "MaxResults": (1, LARGEST_PAGE),
}


@dataclass(frozen=True, slots=True)
class Call:
    """What an operation is given."""

    store: Store
    operation: str
    request: Request
    now: int

    def __getitem__(self, name: str) -> Any:
        return self.request[name]

    def get(self, name: str, default: Any = None) -> Any:
        return self.request.get(name, default)


Operation = Callable[[Call], Mapping[str, Any] | None]


def check(request: Request) -> None:
    """Refuse texts that are empty or too long, numbers out of range and amounts that are no money."""
    for name, value in request.items():
        if (
            name in SIZES
            and not (value.strip() and len(value) <= SIZES[name])
            and (value or name != "Keywords")
        ):
            raise invalid(name, f"expected 1 to {SIZES[name]:,} characters, got {len(value):,}")
        if name in RANGES and not RANGES[name][0] <= value <= RANGES[name][1]:
            low, high = RANGES[name]
            raise invalid(name, f"expected a number from {low:,} to {high:,}, got {value:,}")
        if name in ("Reward", "BonusAmount") and not AMOUNT.fullmatch(value):
            raise invalid(name, f"expected dollars such as 0.05, got {value[:100]!r}")


def page(call: Call, member: str, fetch: Callable[..., Sequence[Record]]) -> dict[str, Any]:
    """One page of a list: ``fetch(after=, limit=)`` finds records beyond a number, the token says where to go on.

    The token holds a number, not a count of records, so nothing is missed or seen twice when records come or go
    while a requester turns the pages.
    """
    size = call.get("MaxResults", PAGE_SIZE)
    records = fetch(after=_read_token(call), limit=size + 1)
    answer: dict[str, Any] = {"NumResults": min(size, len(records)), member: records[:size]}
    if len(records) > size:
        token = f"{call.operation}:{records[size - 1]['number']}"
        answer["NextToken"] = base64.urlsafe_b64encode(token.encode()).decode()
    return answer


def _read_token(call: Call) -> int:
    token = call.get("NextToken")
    if token is None:
        return 0
    try:
        text = base64.b64decode(token.encode("ascii"), b"-_", validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        text = ""
    operation, _, number = text.partition(":")
    if operation != call.operation or not number.isdigit() or len(number) > 18:
        raise invalid("NextToken", "expected a token from an earlier page of the same list")
    return int(number)


def hit_type(call: Call) -> Request:
    """A request with checked QualificationRequirements."""
    rules = [_requirement(call, rule) for rule in call.get("QualificationRequirements", ())]
    return {**call.request, "QualificationRequirements": rules}


def _requirement(call: Call, rule: Record) -> Record:
    """A requirement whose values fit its comparator and its type."""
    where, kind, comparator = "QualificationRequirements", rule["QualificationTypeId"], rule["Comparator"]
    if call.store.qualifications.find_type(kind)["QualificationTypeStatus"] != "Active":
        raise RefusedError("InvalidQualificationTypeState", f"The QualificationType {kind} is Inactive.")
    valueless, sets = comparator in ("Exists", "DoesNotExist"), comparator in ("In", "NotIn")
    if not (valueless or sets or comparator in COMPARATORS):
        raise invalid(where, f"unknown Comparator {comparator[:100]!r}")
    wanted, other = ("LocaleValues", "IntegerValues") if kind == LOCALE else ("IntegerValues", "LocaleValues")
    values = rule.get(wanted, ())
    if rule.get(other):
        raise invalid(where, f"expected {wanted} for the qualification {kind}")
    if kind == LOCALE and comparator.startswith(("Less", "Greater")):
        raise invalid(where, f"countries cannot be compared by {comparator}")
    if kind == LOCALE and any("Subdivision" in place for place in values):
        raise invalid(where, "this market knows the countries of workers, and no Subdivision of them")
    if valueless if values else not valueless:
        raise invalid(where, f"expected {'no ' if valueless else ''}{wanted} for {comparator}")
    if len(values) > 1 and not sets:
        raise invalid(where, f"expected one value for {comparator}, got {len(values)}")
    return {"ActionsGuarded": "Accept", "RequiredToPreview": False} | rule


def question(call: Call) -> Request:
    """A request for a hit, with a question that can be shown."""
    if "Question" not in call.request:
        raise invalid("Question", "expected a question; layouts of the requester web site do not exist here")
    try:
        check_question(call["Question"])
    except XmlError as error:
        raise RefusedError("XMLParseError", f"There was an error parsing the Question: {error}") from None
    return call.request


def update_expiration(call: Call) -> None:
    end = call["ExpireAt"]
    try:
        if isinstance(end, str):
            moment = datetime.fromisoformat(end)
            end = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        seconds = int(end)
    except (ValueError, OverflowError):
        raise invalid("ExpireAt", f"expected a time, got {end!r:.100}") from None
    if seconds > call.now + YEAR:
        raise invalid("ExpireAt", "expected a time within a year from now")
    call.store.hits.set_expiration(call["HITId"], max(seconds, 0), call.now)


def _answered(assignment: Record) -> Record:
    return assignment | {"Answer": answers_xml(assignment["fields"])}


def get_assignment(call: Call) -> Mapping[str, Any]:
    assignment, hit = call.store.work.find(call["AssignmentId"], call.now)
    if assignment["AssignmentStatus"] not in FINISHED:
        message = (
            f"The assignment {assignment['AssignmentId']} is {assignment['AssignmentStatus']}: no results."
        )
        raise RefusedError("InvalidAssignmentState", message)
    return {"Assignment": _answered(assignment), "HIT": hit}


def list_assignments(call: Call) -> Mapping[str, Any]:
    hit = call.store.hits.find(call["HITId"], call.now)["HITId"]
    statuses = set(call.get("AssignmentStatuses") or FINISHED) & set(FINISHED)

    answer = page(call, "Assignments", partial(call.store.work.all, call.now, hit=hit, statuses=statuses))
    return answer | {"Assignments": [_answered(assignment) for assignment in answer["Assignments"]]}


def send_bonus(call: Call) -> None:
    if float(call["BonusAmount"]) == 0:
        raise invalid("BonusAmount", "expected at least one cent")
    call.store.work.pay_bonus(call.request, call.now)


def list_bonus_payments(call: Call) -> Mapping[str, Any]:
    hit, assignment = call.get("HITId"), call.get("AssignmentId")
    if hit is not None and assignment is not None:
        raise invalid("HITId", "expected either HITId or AssignmentId")
    if hit is not None:
        call.store.hits.find(hit, call.now)
    elif assignment is not None:
        call.store.work.find(assignment, call.now)
    fetch = partial(call.store.work.bonuses, call.now, hit=hit, assignment=assignment)
    return page(call, "BonusPayments", fetch)


def create_qualification_type(call: Call) -> Mapping[str, Any]:
    """A new type; a test needs an answer key, because it is scored at once."""
    test = [call.get(name) for name in ("Test", "AnswerKey", "TestDurationInSeconds")]
    if any(part is None for part in test) and any(part is not None for part in test):
        raise invalid("Test", "expected Test, AnswerKey and TestDurationInSeconds together")
    if call["QualificationTypeStatus"] not in ("Active", "Inactive"):
        raise invalid("QualificationTypeStatus", "expected Active or Inactive")
    if call.get("Test"):
        if call.get("AutoGranted"):
            raise invalid("AutoGranted", "a qualification with a Test cannot be granted without it")
        try:
            check_question(call["Test"], form=True)
            score_test(call["AnswerKey"], {})
        except XmlError as error:
            message = f"There was an error parsing the Test or its AnswerKey: {error}"
            raise RefusedError("XMLParseError", message) from None
    return {"QualificationType": call.store.qualifications.create_type(call.request, call.now)}


def list_qualification_types(call: Call) -> Mapping[str, Any]:
    """The requester's types and, unless only those or only requestable ones are wanted, the market's behind them."""
    query = call.get("Query", "")
    kinds = call.store.qualifications.types(query)
    if call["MustBeRequestable"]:
        kinds = [kind for kind in kinds if kind["IsRequestable"]]
    elif not call.get("MustBeOwnedByCaller", False):
        last = max((kind["number"] for kind in kinds), default=0)
        ours = [kind for kind in SYSTEM_TYPES.values() if query.lower() in kind["Name"].lower()]
        kinds += [kind | {"number": last + place} for place, kind in enumerate(ours, start=1)]

    def fetch(after: int, limit: int) -> list[Record]:
        return [kind for kind in kinds if kind["number"] > after][:limit]

    return page(call, "QualificationTypes", fetch)


OPERATIONS: Mapping[str, Operation] = {
    "ApproveAssignment": lambda c: c.store.work.approve(
        c["AssignmentId"], c.get("RequesterFeedback"), c.now, override=c.get("OverrideRejection", False)
    ),
    "AssociateQualificationWithWorker": lambda c: c.store.qualifications.give(
        c["QualificationTypeId"],
        c["WorkerId"],
        c.get("IntegerValue", 1),
        c.now,
        notify=c.get("SendNotification", True),
    ),
    "CreateAdditionalAssignmentsForHIT": lambda c: c.store.hits.add_assignments(c.request, c.now),
    "CreateHIT": lambda c: {"HIT": c.store.hits.create({**question(c), **hit_type(c)}, c.now)},
    "CreateHITType": lambda c: {"HITTypeId": c.store.hits.create_type(hit_type(c), c.now)},
    "CreateHITWithHITType": lambda c: {"HIT": c.store.hits.create(question(c), c.now)},
    "CreateQualificationType": create_qualification_type,
    "CreateWorkerBlock": lambda c: c.store.people.block(c["WorkerId"], c["Reason"], c.now),
    "DeleteHIT": lambda c: c.store.hits.delete(c["HITId"], c.now),
    "DeleteWorkerBlock": lambda c: c.store.people.unblock(c["WorkerId"], c.now),
    "DisassociateQualificationFromWorker": lambda c: c.store.qualifications.take_back(
        c["QualificationTypeId"], c["WorkerId"], c.get("Reason"), c.now
    ),
    "GetAccountBalance": lambda c: {"AvailableBalance": "10000.00"},  # as in the sandbox: no money moves here
    "GetAssignment": get_assignment,
    "GetHIT": lambda c: {"HIT": c.store.hits.find(c["HITId"], c.now)},
    "GetQualificationType": lambda c: {
        "QualificationType": c.store.qualifications.find_type(c["QualificationTypeId"])
    },
    "ListAssignmentsForHIT": list_assignments,
    "ListBonusPayments": list_bonus_payments,
    "ListHITs": lambda c: page(c, "HITs", partial(c.store.hits.all, c.now)),
    "ListQualificationTypes": list_qualification_types,
    "ListReviewableHITs": lambda c: page(
        c,
        "HITs",
        partial(c.store.hits.all, c.now, status=c.get("Status", "Reviewable"), hit_type=c.get("HITTypeId")),
    ),
    "ListWorkerBlocks": lambda c: page(c, "WorkerBlocks", c.store.people.blocks),
    "NotifyWorkers": lambda c: {
        "NotifyWorkersFailureStatuses": c.store.people.notify(
            c["WorkerIds"], c["Subject"], c["MessageText"], c.now
        )
    },
    "RejectAssignment": lambda c: c.store.work.reject(c["AssignmentId"], c["RequesterFeedback"], c.now),
    "SendBonus": send_bonus,
    "UpdateExpirationForHIT": update_expiration,
}


def perform(call: Call) -> Mapping[str, Any]:
    """Check the members of a request, then do what its operation does."""
    check(call.request)
    return OPERATIONS[call.operation](call) or {}
