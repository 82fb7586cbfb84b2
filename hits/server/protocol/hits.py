"""Operations on hits and hit types."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from hits.server.protocol.calls import Call, Operation, paged
from hits.server.protocol.limits import check_question, read_requirement
from hits.server.store.hits import NewHit
from hits.server.store.policies import (
    ASSIGNMENT,
    HIT,
    KNOWN,
    PLURALITY,
    PolicyAction,
    PolicyResult,
    read_policy,
)
from hits.server.store.records import (
    Hit,
    HitProperties,
    HitStatus,
    Locale,
    RefusedError,
    Requirement,
    invalid,
)

YEAR = 365 * 86400
POLICIES = {"AssignmentReviewPolicy": (ASSIGNMENT, KNOWN), "HITReviewPolicy": (HIT, PLURALITY)}


def show_requirement(rule: Requirement) -> dict[str, Any]:
    """A requirement as the protocol writes it."""
    return {
        "QualificationTypeId": rule.qualification,
        "Comparator": rule.comparator,
        "IntegerValues": list(rule.integers) or None,
        "LocaleValues": [show_locale(place) for place in rule.locales] or None,
        "RequiredToPreview": rule.guarded != "Accept",
        "ActionsGuarded": rule.guarded,
    }


def show_locale(place: Locale) -> dict[str, Any]:
    """A locale as the protocol writes it."""
    return {"Country": place.country, "Subdivision": place.subdivision}


def show_hit(hit: Hit) -> dict[str, Any]:
    """A hit as the protocol writes it."""
    properties = hit.type.properties
    return {
        "HITId": hit.id,
        "HITTypeId": hit.type.id,
        "HITGroupId": hit.type.id,
        "CreationTime": hit.created,
        "Title": properties.title,
        "Description": properties.description,
        "Question": hit.question,
        "Keywords": properties.keywords,
        "HITStatus": hit.status,
        "MaxAssignments": hit.max_assignments,
        "Reward": str(properties.reward),
        "AutoApprovalDelayInSeconds": properties.auto_approval,
        "Expiration": hit.expiration,
        "AssignmentDurationInSeconds": properties.duration,
        "RequesterAnnotation": hit.annotation,
        "QualificationRequirements": [show_requirement(rule) for rule in properties.requirements],
        "HITReviewStatus": "NotReviewed",
        "NumberOfAssignmentsPending": hit.pending,
        "NumberOfAssignmentsAvailable": hit.available,
        "NumberOfAssignmentsCompleted": hit.completed,
    }


def read_properties(call: Call) -> HitProperties:
    """The properties of a hit type in a request; its qualifications must be there and active."""
    request = call.request
    rules = tuple(
        read_requirement(rule, f"QualificationRequirements[{number}]")
        for number, rule in enumerate(request.get("QualificationRequirements", ()))
    )
    for rule in rules:
        kind = call.store.qualifications.find_type(rule.qualification)
        if not kind.active:
            raise RefusedError(
                "InvalidQualificationTypeState", f"The QualificationType {kind.id} is Inactive."
            )
    return HitProperties(
        request["Title"],
        request["Description"],
        Decimal(request["Reward"]),
        request["AssignmentDurationInSeconds"],
        request.get("Keywords", ""),
        request.get("AutoApprovalDelayInSeconds", 30 * 86400),
        rules,
    )


def read_new_hit(request: Mapping[str, Any]) -> NewHit:
    """What a request says of one hit."""
    if "HITLayoutId" in request or "HITLayoutParameters" in request:
        raise invalid(
            "HITLayoutId", "there is no requester web site here that keeps layouts; send the Question itself"
        )
    policies = {
        level: read_policy(request[member], name)
        for member, (level, name) in POLICIES.items()
        if member in request
    }
    if "Question" not in request:
        raise invalid("Question", "expected a question, found nothing")
    check_question(request["Question"])
    return NewHit(
        request["Question"],
        request["LifetimeInSeconds"],
        request.get("MaxAssignments", 1),
        request.get("RequesterAnnotation"),
        request.get("UniqueRequestToken"),
        policies,
    )


def create_hit(call: Call) -> Mapping[str, Any]:
    """A hit with its own properties; equal properties share a hit type."""
    new = read_new_hit(call.request)
    return {"HIT": show_hit(call.store.hits.create(read_properties(call), new, call.now))}


def create_hit_with_hit_type(call: Call) -> Mapping[str, Any]:
    """A hit of a type that is there."""
    new = read_new_hit(call.request)
    return {"HIT": show_hit(call.store.hits.create(call.request["HITTypeId"], new, call.now))}


def create_hit_type(call: Call) -> Mapping[str, Any]:
    """A hit type; equal properties give the same one."""
    return {"HITTypeId": call.store.hits.create_type(read_properties(call), call.now).id}


def get_hit(call: Call) -> Mapping[str, Any]:
    """One hit, deleted or not."""
    return {"HIT": show_hit(call.store.hits.find(call.request["HITId"], call.now))}


def list_hits(call: Call) -> Mapping[str, Any]:
    """All hits that are not deleted."""
    return paged(
        call, "HITs", lambda after, limit: call.store.hits.all(call.now, after=after, limit=limit), show_hit
    )


def list_reviewable_hits(call: Call) -> Mapping[str, Any]:
    """Hits to review, of one type or of all."""
    status = HitStatus(call.request.get("Status", "Reviewable"))
    kind = call.request.get("HITTypeId")
    return paged(
        call,
        "HITs",
        lambda after, limit: call.store.hits.all(
            call.now, status=status, hit_type=kind, after=after, limit=limit
        ),
        show_hit,
    )


def list_hits_for_qualification_type(call: Call) -> Mapping[str, Any]:
    """Hits that ask for a qualification."""
    kind = call.store.qualifications.find_type(call.request["QualificationTypeId"]).id
    return paged(
        call,
        "HITs",
        lambda after, limit: call.store.hits.all(call.now, qualification=kind, after=after, limit=limit),
        show_hit,
    )


def create_additional_assignments(call: Call) -> Mapping[str, Any]:
    """More workers for a hit."""
    call.store.hits.add_assignments(
        call.request["HITId"],
        call.request["NumberOfAdditionalAssignments"],
        call.now,
        token=call.request.get("UniqueRequestToken"),
        request=call.id,
    )
    return {}


def update_expiration(call: Call) -> Mapping[str, Any]:
    """A new end of a hit's life."""
    if call.request["ExpireAt"] > call.now + YEAR:
        raise invalid("ExpireAt", "expected a time within a year from now")
    call.store.hits.set_expiration(call.request["HITId"], call.request["ExpireAt"], call.now)
    return {}


def update_review_status(call: Call) -> Mapping[str, Any]:
    """Reviewable → Reviewing, or back."""
    call.store.hits.set_reviewing(call.request["HITId"], not call.request.get("Revert", False), call.now)
    return {}


def update_hit_type(call: Call) -> Mapping[str, Any]:
    """Another type for a hit."""
    call.store.hits.set_type(call.request["HITId"], call.request["HITTypeId"], call.now)
    return {}


def delete_hit(call: Call) -> Mapping[str, Any]:
    """Dispose of a hit."""
    call.store.hits.delete(call.request["HITId"], call.now)
    return {}


def list_review_policy_results(call: Call) -> Mapping[str, Any]:
    """The policies of a hit, and what they found and did."""
    hit = call.store.hits.find(call.request["HITId"], call.now).id
    policies = call.store.policies.of_hit(hit, call.now)
    results, done = call.store.policies.results(hit, call.now)
    wanted = call.request.get("PolicyLevels") or [ASSIGNMENT, HIT]
    answer: dict[str, Any] = {"HITId": hit}
    for level, policy in policies.items():
        if level not in wanted:
            continue
        answer[f"{level}ReviewPolicy"] = policy.request
        report: dict[str, Any] = {}
        if call.request.get("RetrieveResults", True):
            report["ReviewResults"] = [show_result(result) for result in results if result.level == level]
        if call.request.get("RetrieveActions", True):
            report["ReviewActions"] = [show_action(action) for action in done if action.level == level]
        answer[f"{level}ReviewReport"] = report
    return answer


def show_result(result: PolicyResult) -> dict[str, Any]:
    """A finding of a policy as the protocol writes it."""
    return {
        "SubjectId": result.subject,
        "SubjectType": result.subject_type,
        "QuestionId": result.question,
        "Key": result.key,
        "Value": result.value,
    }


def show_action(action: PolicyAction) -> dict[str, Any]:
    """What a policy did as the protocol writes it."""
    return {
        "ActionName": action.name,
        "TargetId": action.target,
        "TargetType": action.target_type,
        "Status": action.status,
        "CompleteTime": action.completed,
        "Result": action.result,
    }


HIT_OPERATIONS: Mapping[str, Operation] = {
    "CreateHIT": create_hit,
    "CreateHITType": create_hit_type,
    "CreateHITWithHITType": create_hit_with_hit_type,
    "CreateAdditionalAssignmentsForHIT": create_additional_assignments,
    "DeleteHIT": delete_hit,
    "GetHIT": get_hit,
    "ListHITs": list_hits,
    "ListHITsForQualificationType": list_hits_for_qualification_type,
    "ListReviewableHITs": list_reviewable_hits,
    "ListReviewPolicyResultsForHIT": list_review_policy_results,
    "UpdateExpirationForHIT": update_expiration,
    "UpdateHITReviewStatus": update_review_status,
    "UpdateHITTypeOfHIT": update_hit_type,
}
