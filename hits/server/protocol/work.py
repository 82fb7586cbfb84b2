"""Operations on assignments, money and workers: review, bonuses, blocks, messages."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from hits.batch.question_xml import answers_xml
from hits.server.protocol.calls import Call, Operation, paged
from hits.server.protocol.hits import show_hit
from hits.server.store.records import AssignmentRecord, AssignmentStatus, BonusRecord, RefusedError, invalid
from hits.server.store.work import FINISHED

BALANCE = "10000.00"  # what the requester sandbox always said; no money moves here either


@dataclass(frozen=True, slots=True)
class _Block:
    number: int
    worker: str
    reason: str


def show_assignment(assignment: AssignmentRecord) -> dict[str, Any]:
    """A submitted assignment as the protocol writes it."""
    return {
        "AssignmentId": assignment.id,
        "WorkerId": assignment.worker,
        "HITId": assignment.hit,
        "AssignmentStatus": assignment.status.capitalize(),
        "AutoApprovalTime": assignment.auto_approval,
        "AcceptTime": assignment.accepted,
        "SubmitTime": assignment.submitted,
        "ApprovalTime": assignment.approved,
        "RejectionTime": assignment.rejected,
        "Deadline": assignment.deadline,
        "Answer": answers_xml(assignment.answers or {}),
        "RequesterFeedback": assignment.feedback,
    }


def show_bonus(bonus: BonusRecord) -> dict[str, Any]:
    """A bonus as the protocol writes it."""
    return {
        "WorkerId": bonus.worker,
        "BonusAmount": str(bonus.amount),
        "AssignmentId": bonus.assignment,
        "Reason": bonus.reason,
        "GrantTime": bonus.created,
    }


def get_assignment(call: Call) -> Mapping[str, Any]:
    """A submitted assignment with its hit."""
    assignment = call.store.work.find(call.request["AssignmentId"], call.now)
    if assignment.status not in FINISHED:
        message = f"The assignment {assignment.id} has no results: it is {assignment.status.capitalize()}."
        raise RefusedError("InvalidAssignmentState", message)
    assignment = _given_out(call, [assignment])[0]
    return {
        "Assignment": show_assignment(assignment),
        "HIT": show_hit(call.store.hits.find(assignment.hit, call.now)),
    }


def list_assignments(call: Call) -> Mapping[str, Any]:
    """The submitted assignments of a hit, of some statuses or of all."""
    hit = call.store.hits.find(call.request["HITId"], call.now).id
    wanted = [AssignmentStatus(name.lower()) for name in call.request.get("AssignmentStatuses", ())]
    return paged(
        call,
        "Assignments",
        lambda after, limit: _given_out(
            call,
            call.store.work.all(call.now, hit=hit, statuses=wanted or FINISHED, after=after, limit=limit),
        ),
        show_assignment,
    )


def _given_out(call: Call, assignments: list[AssignmentRecord]) -> list[AssignmentRecord]:
    """The assignments as they stay: their workers cannot change them any more."""
    call.store.work.mark_seen([assignment.id for assignment in assignments], call.now)
    return [call.store.work.find(assignment.id, call.now) for assignment in assignments]


def approve_assignment(call: Call) -> Mapping[str, Any]:
    """Approve."""
    call.store.review.approve(
        call.request["AssignmentId"],
        call.request.get("RequesterFeedback"),
        call.now,
        override=call.request.get("OverrideRejection", False),
    )
    return {}


def reject_assignment(call: Call) -> Mapping[str, Any]:
    """Reject."""
    call.store.review.reject(call.request["AssignmentId"], call.request["RequesterFeedback"], call.now)
    return {}


def send_bonus(call: Call) -> Mapping[str, Any]:
    """Pay a bonus."""
    amount = Decimal(call.request["BonusAmount"])
    if amount <= 0:
        raise invalid("BonusAmount", "expected at least one cent")
    call.store.review.pay_bonus(
        call.request["WorkerId"],
        call.request["AssignmentId"],
        amount,
        call.request["Reason"],
        call.now,
        token=call.request.get("UniqueRequestToken"),
        request=call.id,
    )
    return {}


def list_bonus_payments(call: Call) -> Mapping[str, Any]:
    """Bonuses of a hit or of an assignment."""
    hit, assignment = call.request.get("HITId"), call.request.get("AssignmentId")
    if (hit is None) == (assignment is None):
        raise invalid("HITId", "expected either HITId or AssignmentId")
    if hit is not None:
        call.store.hits.find(hit, call.now)
    else:
        call.store.work.find(assignment or "", call.now)
    return paged(
        call,
        "BonusPayments",
        lambda after, limit: call.store.review.bonuses(
            call.now, hit=hit, assignment=assignment, after=after, limit=limit
        ),
        show_bonus,
    )


def get_account_balance(call: Call) -> Mapping[str, Any]:
    """The constant that the requester sandbox answered: whoever runs a local market pays workers elsewhere."""
    return {"AvailableBalance": BALANCE}


def create_worker_block(call: Call) -> Mapping[str, Any]:
    """Block a worker."""
    call.store.people.block(call.request["WorkerId"], call.request["Reason"], call.now)
    return {}


def delete_worker_block(call: Call) -> Mapping[str, Any]:
    """Take a block back."""
    call.store.people.unblock(call.request["WorkerId"], call.now)
    return {}


def list_worker_blocks(call: Call) -> Mapping[str, Any]:
    """All blocks."""
    return paged(
        call,
        "WorkerBlocks",
        lambda after, limit: [_Block(*row) for row in call.store.people.blocks(after=after, limit=limit)],
        lambda block: {"WorkerId": block.worker, "Reason": block.reason},
    )


def notify_workers(call: Call) -> Mapping[str, Any]:
    """Leave a message on workers' pages."""
    request = call.request
    if not request["WorkerIds"]:
        raise invalid("WorkerIds", "expected at least one worker")
    failed = call.store.people.notify(
        request["WorkerIds"], request["Subject"], request["MessageText"], call.now
    )
    return {
        "NotifyWorkersFailureStatuses": [
            {
                "NotifyWorkersFailureCode": "HardFailure",
                "NotifyWorkersFailureMessage": reason,
                "WorkerId": worker,
            }
            for worker, reason in failed
        ]
    }


def update_notification_settings(call: Call) -> Mapping[str, Any]:
    """Switching notifications off is done at once, for none are sent; switching them on is refused."""
    if "Notification" not in call.request and "Active" not in call.request:
        raise invalid("Notification", "expected Notification or Active")
    call.store.hits.find_type(call.request["HITTypeId"], call.now)
    if call.request.get("Active", True):
        raise _no_notifications()
    return {}


def send_test_event_notification(call: Call) -> Mapping[str, Any]:
    """Nothing can be sent."""
    raise _no_notifications()


def _no_notifications() -> RefusedError:
    message = "The local market sends nothing by Email, SQS or SNS; ask with ListReviewableHITs and ListAssignmentsForHIT."
    return RefusedError("NotificationsNotSupported", message)


def get_file_upload_url(call: Call) -> Mapping[str, Any]:
    """Files are not taken, so there is no address to fetch them from."""
    message = "The local market takes no file uploads; FileUploadAnswer was deprecated on 2017-12-12."
    raise RefusedError("FileUploadsNotSupported", message)


WORK_OPERATIONS: Mapping[str, Operation] = {
    "ApproveAssignment": approve_assignment,
    "CreateWorkerBlock": create_worker_block,
    "DeleteWorkerBlock": delete_worker_block,
    "GetAccountBalance": get_account_balance,
    "GetAssignment": get_assignment,
    "GetFileUploadURL": get_file_upload_url,
    "ListAssignmentsForHIT": list_assignments,
    "ListBonusPayments": list_bonus_payments,
    "ListWorkerBlocks": list_worker_blocks,
    "NotifyWorkers": notify_workers,
    "RejectAssignment": reject_assignment,
    "SendBonus": send_bonus,
    "SendTestEventNotification": send_test_event_notification,
    "UpdateNotificationSettings": update_notification_settings,
}
