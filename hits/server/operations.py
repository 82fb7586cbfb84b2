"""The operations of the requester's protocol that this market knows: those of rypt's client and of requesters' scripts.

An operation takes the checked members of a request and returns those of the answer; the endpoint leaves out what the
protocol has no member for. Members are checked here where a wrong one would harm the market.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

from hits.batch.question_xml import XmlError, answers_xml
from hits.qualifications import LOCALE
from hits.server.question import check_question
from hits.server.store import Store
from hits.server.store.qualifications import COMPARATORS, score_test
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


class Call(NamedTuple):
    store: Store
    operation: str
    request: Request
    now: int

    def get(self, name: str, default: Any = None) -> Any:
        return self.request.get(name, default)


Operation = Callable[[Call], Mapping[str, Any] | None]


def check(request: Request) -> None:
    """Refuse texts that are empty or too long, numbers out of range and amounts that are no money."""
    for name, value in request.items():
        if name in SIZES and not (value.strip() or name == "Keywords"):
            raise invalid(name, "expected a text")
        if name in SIZES and len(value) > SIZES[name]:
            raise invalid(name, f"expected at most {SIZES[name]:,} characters, got {len(value):,}")
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
    size, after = call.get("MaxResults", PAGE_SIZE), 0
    if (token := call.get("NextToken")) is not None:
        match = re.fullmatch(rf"{call.operation}:([0-9]{{1,18}})", token)
        if match is None:
            raise invalid("NextToken", "expected a token from an earlier page of the same list")
        after = int(match[1])
    records = fetch(after=after, limit=size + 1)
    answer: dict[str, Any] = {"NumResults": min(size, len(records)), member: records[:size]}
    if len(records) > size:
        answer["NextToken"] = f"{call.operation}:{records[size - 1]['number']}"
    return answer


def hit_type(call: Call) -> Request:
    rules = [_requirement(call, rule) for rule in call.get("QualificationRequirements", ())]
    return {**call.request, "QualificationRequirements": rules}


def _requirement(call: Call, rule: Record) -> Record:
    where, kind, comparator = "QualificationRequirements", rule["QualificationTypeId"], rule["Comparator"]
    if call.store.qualifications.find_type(kind)["QualificationTypeStatus"] != "Active":
        raise RefusedError("InvalidQualificationTypeState", f"The QualificationType {kind} is Inactive.")
    wanted, other = ("LocaleValues", "IntegerValues") if kind == LOCALE else ("IntegerValues", "LocaleValues")
    values = rule.get(wanted, ())
    if kind == LOCALE and any("Subdivision" in place for place in values):
        raise invalid(where, "this market knows the countries of workers, and no Subdivision of them")
    if comparator in ("Exists", "DoesNotExist"):
        fits = not values
    elif comparator in ("In", "NotIn"):
        fits = len(values) > 0
    else:
        compares = kind != LOCALE or comparator in ("EqualTo", "NotEqualTo")
        fits = comparator in COMPARATORS and compares and len(values) == 1
    if not fits or rule.get(other):
        message = f"unknown, or not with these values for {kind}, which has {wanted}"
        raise invalid(where, f"Comparator {comparator[:100]!r}: {message}")
    return {"ActionsGuarded": "Accept", "RequiredToPreview": False} | rule


def question(call: Call) -> Request:
    if "Question" not in call.request:
        raise invalid("Question", "expected a question; layouts of the requester web site do not exist here")
    with _xml_errors("Question"):
        check_question(call.request["Question"])
    return call.request


@contextmanager
def _xml_errors(what: str) -> Iterator[None]:
    try:
        yield
    except XmlError as error:
        raise RefusedError("XMLParseError", f"There was an error parsing the {what}: {error}") from None


def update_expiration(call: Call) -> None:
    end = call.request["ExpireAt"]
    if not isinstance(end, int | float) or not end <= call.now + YEAR:
        message = f"expected seconds since 1970, at most a year from now, got {end!r:.100}"
        raise invalid("ExpireAt", message)
    call.store.hits.set_expiration(call.request["HITId"], max(int(end), 0), call.now)


def _answered(assignment: Record) -> Record:
    return assignment | {"Answer": answers_xml(assignment["fields"])}


def get_assignment(call: Call) -> Mapping[str, Any]:
    assignment, hit = call.store.work.find(call.request["AssignmentId"], call.now)
    if assignment["AssignmentStatus"] not in FINISHED:
        message = (
            f"The assignment {assignment['AssignmentId']} is {assignment['AssignmentStatus']}: no results."
        )
        raise RefusedError("InvalidAssignmentState", message)
    return {"Assignment": _answered(assignment), "HIT": hit}


def list_assignments(call: Call) -> Mapping[str, Any]:
    hit = call.store.hits.find(call.request["HITId"], call.now)["HITId"]
    statuses = set(call.get("AssignmentStatuses") or FINISHED) & set(FINISHED)

    answer = page(call, "Assignments", partial(call.store.work.all, call.now, hit=hit, statuses=statuses))
    return answer | {"Assignments": [_answered(assignment) for assignment in answer["Assignments"]]}


def send_bonus(call: Call) -> None:
    if float(call.request["BonusAmount"]) == 0:
        raise invalid("BonusAmount", "expected at least one cent")
    call.store.work.pay_bonus(call.request, call.now)


def list_bonus_payments(call: Call) -> Mapping[str, Any]:
    hit, assignment = call.get("HITId"), call.get("AssignmentId")
    if hit is not None:
        call.store.hits.find(hit, call.now)
    if assignment is not None:
        call.store.work.find(assignment, call.now)
    fetch = partial(call.store.work.bonuses, call.now, hit=hit, assignment=assignment)
    return page(call, "BonusPayments", fetch)


def create_qualification_type(call: Call) -> Mapping[str, Any]:
    """A new type; a test needs an answer key, because it is scored at once."""
    test = [call.get(name) for name in ("Test", "AnswerKey", "TestDurationInSeconds")]
    if any(part is None for part in test) and any(part is not None for part in test):
        raise invalid("Test", "expected Test, AnswerKey and TestDurationInSeconds together")
    if call.request["QualificationTypeStatus"] not in ("Active", "Inactive"):
        raise invalid("QualificationTypeStatus", "expected Active or Inactive")
    if call.get("Test"):
        if call.get("AutoGranted"):
            raise invalid("AutoGranted", "a qualification with a Test cannot be granted without it")
        with _xml_errors("Test or its AnswerKey"):
            check_question(call.request["Test"], form=True)
            score_test(call.request["AnswerKey"], {})
    return {"QualificationType": call.store.qualifications.create_type(call.request, call.now)}


def list_qualification_types(call: Call) -> Mapping[str, Any]:
    """The requester's own types, or the requestable ones of these."""
    fetch = partial(
        call.store.qualifications.types, call.get("Query", ""), requestable=call.request["MustBeRequestable"]
    )
    return page(call, "QualificationTypes", fetch)


OPERATIONS: Mapping[str, Operation] = {
    "ApproveAssignment": lambda c: c.store.work.approve(
        c.request["AssignmentId"],
        c.get("RequesterFeedback"),
        c.now,
        override=c.get("OverrideRejection", False),
    ),
    "AssociateQualificationWithWorker": lambda c: c.store.qualifications.give(
        c.request["QualificationTypeId"],
        c.request["WorkerId"],
        c.get("IntegerValue", 1),
        c.now,
        notify=c.get("SendNotification", True),
    ),
    "CreateAdditionalAssignmentsForHIT": lambda c: c.store.hits.add_assignments(c.request, c.now),
    "CreateHIT": lambda c: {"HIT": c.store.hits.create({**question(c), **hit_type(c)}, c.now)},
    "CreateHITType": lambda c: {"HITTypeId": c.store.hits.create_type(hit_type(c), c.now)},
    "CreateHITWithHITType": lambda c: {"HIT": c.store.hits.create(question(c), c.now)},
    "CreateQualificationType": create_qualification_type,
    "CreateWorkerBlock": lambda c: c.store.people.block(c.request["WorkerId"], c.request["Reason"], c.now),
    "DeleteHIT": lambda c: c.store.hits.delete(c.request["HITId"], c.now),
    "DeleteWorkerBlock": lambda c: c.store.people.unblock(c.request["WorkerId"], c.now),
    "DisassociateQualificationFromWorker": lambda c: c.store.qualifications.take_back(
        c.request["QualificationTypeId"], c.request["WorkerId"], c.get("Reason"), c.now
    ),
    "GetAccountBalance": lambda c: {"AvailableBalance": "10000.00"},  # as in the sandbox: no money moves here
    "GetAssignment": get_assignment,
    "GetHIT": lambda c: {"HIT": c.store.hits.find(c.request["HITId"], c.now)},
    "GetQualificationType": lambda c: {
        "QualificationType": c.store.qualifications.find_type(c.request["QualificationTypeId"])
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
            c.request["WorkerIds"], c.request["Subject"], c.request["MessageText"], c.now
        )
    },
    "RejectAssignment": lambda c: c.store.work.reject(
        c.request["AssignmentId"], c.request["RequesterFeedback"], c.now
    ),
    "SendBonus": send_bonus,
    "UpdateExpirationForHIT": update_expiration,
}
