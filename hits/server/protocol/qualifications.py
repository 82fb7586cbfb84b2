"""Operations on qualification types, workers' qualifications and requests for them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hits.batch.question_xml import answers_xml
from hits.server.protocol.calls import Call, Operation, paged
from hits.server.protocol.hits import show_locale
from hits.server.protocol.limits import check_test
from hits.server.store.qualifications import NewQualificationType
from hits.server.store.records import Qualification, QualificationRequest, QualificationType, invalid
from hits.server.store.requirements import SYSTEM_TYPES

CHANGES = {
    "Description": "description",
    "RetryDelayInSeconds": "retry_delay",
    "AutoGranted": "auto_granted",
    "AutoGrantedValue": "auto_granted_value",
}


def show_type(kind: QualificationType) -> dict[str, Any]:
    """A qualification type as the protocol writes it."""
    return {
        "QualificationTypeId": kind.id,
        "CreationTime": kind.created,
        "Name": kind.name,
        "Description": kind.description,
        "Keywords": kind.keywords or None,
        "QualificationTypeStatus": "Active" if kind.active else "Inactive",
        "Test": kind.test,
        "TestDurationInSeconds": kind.test_duration,
        "AnswerKey": kind.answer_key,
        "RetryDelayInSeconds": kind.retry_delay,
        "IsRequestable": kind.requestable,
        "AutoGranted": kind.auto_granted,
        "AutoGrantedValue": kind.auto_granted_value if kind.auto_granted else None,
    }


def show_qualification(qualification: Qualification) -> dict[str, Any]:
    """A worker's qualification as the protocol writes it."""
    return {
        "QualificationTypeId": qualification.type,
        "WorkerId": qualification.worker,
        "GrantTime": qualification.granted,
        "IntegerValue": qualification.value,
        "LocaleValue": show_locale(qualification.locale) if qualification.locale else None,
        "Status": qualification.status,
    }


def show_request(request: QualificationRequest) -> dict[str, Any]:
    """A request for a qualification as the protocol writes it."""
    return {
        "QualificationRequestId": request.id,
        "QualificationTypeId": request.type,
        "WorkerId": request.worker,
        "Test": request.test,
        "Answer": answers_xml(request.answers) if request.answers else None,
        "SubmitTime": request.submitted,
    }


def create_qualification_type(call: Call) -> Mapping[str, Any]:
    """A new type, with or without a test."""
    request = call.request
    test, key, duration = request.get("Test"), request.get("AnswerKey"), request.get("TestDurationInSeconds")
    granted = request.get("AutoGranted", False)
    check_test(test, key, duration, granted)
    if "AutoGrantedValue" in request and not granted:
        raise invalid("AutoGrantedValue", "expected AutoGranted beside its value")
    new = NewQualificationType(
        request["Name"],
        request["Description"],
        request.get("Keywords", ""),
        request["QualificationTypeStatus"] == "Active",
        request.get("RetryDelayInSeconds"),
        test,
        key,
        duration,
        granted,
        request.get("AutoGrantedValue", 1),
    )
    return {"QualificationType": show_type(call.store.qualifications.create_type(new, call.now))}


def update_qualification_type(call: Call) -> Mapping[str, Any]:
    """Change a type; a new test replaces test, key and duration together."""
    request = call.request
    test, key, duration = request.get("Test"), request.get("AnswerKey"), request.get("TestDurationInSeconds")
    check_test(test, key, duration, request.get("AutoGranted", False))
    changes: dict[str, str | int | bool | None] = {
        column: request[member] for member, column in CHANGES.items() if member in request
    }
    if "QualificationTypeStatus" in request:
        changes["active"] = request["QualificationTypeStatus"] == "Active"
    if test is not None:
        changes |= {"test": test, "answer_key": key, "test_duration": duration, "auto_granted": False}
    kind = call.store.qualifications.update_type(request["QualificationTypeId"], changes, call.now)
    return {"QualificationType": show_type(kind)}


def delete_qualification_type(call: Call) -> Mapping[str, Any]:
    """Delete a type."""
    call.store.qualifications.delete_type(call.request["QualificationTypeId"], call.now)
    return {}


def get_qualification_type(call: Call) -> Mapping[str, Any]:
    """One type, the system's too."""
    return {
        "QualificationType": show_type(
            call.store.qualifications.find_type(call.request["QualificationTypeId"])
        )
    }


def list_qualification_types(call: Call) -> Mapping[str, Any]:
    """The requester's types and, unless only those or only requestable ones are wanted, the system's behind them."""
    request = call.request
    query = request.get("Query", "")
    kinds = call.store.qualifications.types(query)
    if not request["MustBeRequestable"] and not request.get("MustBeOwnedByCaller", False):
        last = max((kind.number for kind in kinds), default=0)
        system = [
            kind
            for kind in SYSTEM_TYPES.values()
            if query.lower() in f"{kind.name}\n{kind.description}".lower()
        ]
        kinds += [replace(kind, number=last + place) for place, kind in enumerate(system, start=1)]

    def fetch(after: int, limit: int) -> Sequence[QualificationType]:
        return [kind for kind in kinds if kind.number > after][:limit]

    return paged(call, "QualificationTypes", fetch, show_type)


def associate_qualification(call: Call) -> Mapping[str, Any]:
    """Give a worker a qualification, with a message unless told otherwise."""
    call.store.qualifications.grant(
        call.request["QualificationTypeId"],
        call.request["WorkerId"],
        call.request.get("IntegerValue", 1),
        call.now,
        notify=call.request.get("SendNotification", True),
    )
    return {}


def disassociate_qualification(call: Call) -> Mapping[str, Any]:
    """Take a qualification back."""
    request = call.request
    call.store.qualifications.revoke(
        request["QualificationTypeId"], request["WorkerId"], request.get("Reason"), call.now
    )
    return {}


def get_qualification_score(call: Call) -> Mapping[str, Any]:
    """A worker's value of a qualification."""
    qualification = call.store.qualifications.find(
        call.request["QualificationTypeId"], call.request["WorkerId"], call.now
    )
    return {"Qualification": show_qualification(qualification)}


def list_workers_with_qualification(call: Call) -> Mapping[str, Any]:
    """Workers who have, or had, a qualification."""
    kind, status = call.request["QualificationTypeId"], call.request.get("Status", "Granted")
    return paged(
        call,
        "Qualifications",
        lambda after, limit: call.store.qualifications.all(kind, status=status, after=after, limit=limit),
        show_qualification,
    )


def list_qualification_requests(call: Call) -> Mapping[str, Any]:
    """Requests that wait for the requester."""
    kind = call.request.get("QualificationTypeId")
    return paged(
        call,
        "QualificationRequests",
        lambda after, limit: call.store.requests.waiting(kind, after=after, limit=limit),
        show_request,
    )


def accept_qualification_request(call: Call) -> Mapping[str, Any]:
    """Grant a request."""
    value = call.request.get("IntegerValue", 1)
    call.store.requests.decide(call.request["QualificationRequestId"], call.now, grant=True, value=value)
    return {}


def reject_qualification_request(call: Call) -> Mapping[str, Any]:
    """Reject a request."""
    reason = call.request.get("Reason", "")
    call.store.requests.decide(call.request["QualificationRequestId"], call.now, grant=False, reason=reason)
    return {}


QUALIFICATION_OPERATIONS: Mapping[str, Operation] = {
    "AcceptQualificationRequest": accept_qualification_request,
    "AssociateQualificationWithWorker": associate_qualification,
    "CreateQualificationType": create_qualification_type,
    "DeleteQualificationType": delete_qualification_type,
    "DisassociateQualificationFromWorker": disassociate_qualification,
    "GetQualificationScore": get_qualification_score,
    "GetQualificationType": get_qualification_type,
    "ListQualificationRequests": list_qualification_requests,
    "ListQualificationTypes": list_qualification_types,
    "ListWorkersWithQualificationType": list_workers_with_qualification,
    "RejectQualificationRequest": reject_qualification_request,
    "UpdateQualificationType": update_qualification_type,
}
