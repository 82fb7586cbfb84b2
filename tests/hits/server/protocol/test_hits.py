"""Hits through the client: their life, types, tokens, limits."""

from typing import TYPE_CHECKING, Any

import pytest

from hits.batch.question_xml import read_answers
from hits.server.store.requirements import LOCALE, NUMBER_APPROVED

if TYPE_CHECKING:
    from conftest import LocalMarket
else:
    LocalMarket = Any
from requester import create, refused, status

DAY = 86400
FORM = (
    "<QuestionForm><Question><QuestionIdentifier>q</QuestionIdentifier><QuestionContent><Text>?</Text></QuestionContent>"
    "<AnswerSpecification><FreeTextAnswer/></AnswerSpecification></Question></QuestionForm>"
)
EXTERNAL = "<ExternalQuestion><ExternalURL>https://example.org/x</ExternalURL><FrameHeight>400</FrameHeight></ExternalQuestion>"


def test_a_hit_as_it_comes_back(client: Any, market: LocalMarket) -> None:
    made = client.create_hit(**market.request(RequesterAnnotation="rypt:b:1", Reward="1"))["HIT"]
    hit = client.get_hit(HITId=made["HITId"])["HIT"]
    assert made == hit
    assert hit["Reward"] == "1.00"
    assert hit["RequesterAnnotation"] == "rypt:b:1"
    assert hit["CreationTime"].timestamp() == market.now
    assert hit["Expiration"].timestamp() == market.now + DAY
    assert hit["Question"] == market.request()["Question"]
    assert (hit["HITStatus"], hit["MaxAssignments"], hit["HITReviewStatus"]) == (
        "Assignable",
        2,
        "NotReviewed",
    )
    counts = [hit[f"NumberOfAssignments{what}"] for what in ("Pending", "Available", "Completed")]
    assert counts == [0, 2, 0]
    assert client.list_hits()["HITs"] == [hit]


def test_the_life_of_a_hit(client: Any, market: LocalMarket) -> None:
    hit, ada, bob = create(client, market), market.worker(), market.worker("Bob")
    held = market.store.work.accept(ada, hit, market.now)
    assert status(client, hit) == "Assignable"
    other = market.submit(bob, hit, "NO")
    assert status(client, hit) == "Unassignable"
    assert refused(client.get_assignment, AssignmentId=held.id)[0] == "InvalidAssignmentState"
    assert [one["AssignmentId"] for one in client.list_assignments_for_hit(HITId=hit)["Assignments"]] == [
        other
    ]
    market.store.work.submit(held.id, ada, {"label_1": "YES", "comment": "<b> & ü\r\n"}, market.now + 60)
    market.now += 100
    assert status(client, hit) == "Reviewable"
    assert [one["HITId"] for one in client.list_reviewable_hits()["HITs"]] == [hit]
    found = client.get_assignment(AssignmentId=held.id)
    assert read_answers(found["Assignment"]["Answer"]) == {"label_1": "YES", "comment": "<b> & ü\r\n"}
    assert found["HIT"]["HITId"] == hit
    times = [
        found["Assignment"][f"{what}Time"].timestamp() - market.now + 100 for what in ("Accept", "Submit")
    ]
    assert times == [0, 60]
    assert found["Assignment"]["AutoApprovalTime"].timestamp() == market.now - 40 + 7 * DAY
    assert "ApprovalTime" not in found["Assignment"]

    client.update_hit_review_status(HITId=hit)
    assert status(client, hit) == "Reviewing"
    assert client.list_reviewable_hits()["NumResults"] == 0
    assert client.list_reviewable_hits(Status="Reviewing")["NumResults"] == 1
    assert refused(client.update_hit_review_status, HITId=hit)[0] == "InvalidHITState"
    assert refused(client.delete_hit, HITId=hit)[0] == "InvalidHITState"
    client.update_hit_review_status(HITId=hit, Revert=True)
    assert refused(client.delete_hit, HITId=hit)[0] == "InvalidHITState"
    client.approve_assignment(AssignmentId=held.id, RequesterFeedback="thanks")
    client.reject_assignment(AssignmentId=other, RequesterFeedback="all NO")
    assert client.get_hit(HITId=hit)["HIT"]["NumberOfAssignmentsCompleted"] == 2
    client.delete_hit(HITId=hit)
    assert status(client, hit) == "Disposed"
    assert client.list_hits()["HITs"] == []
    assert refused(client.delete_hit, HITId=hit)[0] == "InvalidHITState"
    assert (
        refused(client.approve_assignment, AssignmentId=other, OverrideRejection=True)[0] == "InvalidHITState"
    )


def test_a_hit_expires(client: Any, market: LocalMarket) -> None:
    hit, worker = create(client, market, LifetimeInSeconds=300), market.worker()
    held = market.store.work.accept(worker, hit, market.now)
    market.now += 300
    assert status(client, hit) == "Unassignable"
    assert refused(client.delete_hit, HITId=hit)[0] == "InvalidHITState"
    market.now += 301
    assert status(client, hit) == "Reviewable"
    assert refused(client.get_assignment, AssignmentId=held.id)[0] == "InvalidAssignmentState"
    client.update_expiration_for_hit(HITId=hit, ExpireAt=market.now + 60)
    assert status(client, hit) == "Assignable"
    client.update_expiration_for_hit(HITId=hit, ExpireAt=0)
    client.delete_hit(HITId=hit)
    assert refused(client.update_expiration_for_hit, HITId=hit, ExpireAt=market.now)[0] == "InvalidHITState"
    hit = create(client, market)
    assert refused(client.update_expiration_for_hit, HITId=hit, ExpireAt=market.now + 366 * DAY)[0].endswith(
        "Failed"
    )


def test_request_tokens_last_a_day(client: Any, market: LocalMarket) -> None:
    hit = create(client, market, UniqueRequestToken="once")
    for _ in range(2):
        code, message = refused(client.create_hit, **market.request(UniqueRequestToken="once"))
        assert code == "HitAlreadyExists"
        assert hit in message
    kind = client.get_hit(HITId=hit)["HIT"]["HITTypeId"]
    with_type = {"HITTypeId": kind, "LifetimeInSeconds": 60, "Question": FORM, "UniqueRequestToken": "once"}
    assert refused(client.create_hit_with_hit_type, **with_type)[0] == "HitAlreadyExists"
    assert client.list_hits()["NumResults"] == 1
    market.now += DAY
    assert client.create_hit_with_hit_type(**with_type)["HIT"]["HITId"] != hit


def test_hit_types(client: Any, market: LocalMarket) -> None:
    properties = market.request(LifetimeInSeconds=None, MaxAssignments=None, Question=None)
    kind = client.create_hit_type(**properties)["HITTypeId"]
    assert client.create_hit_type(**properties)["HITTypeId"] == kind
    assert client.create_hit_type(**properties | {"Reward": "0.050"[:4]})["HITTypeId"] == kind
    other = client.create_hit_type(**properties | {"Reward": "0.06"})["HITTypeId"]
    assert other != kind
    assert client.get_hit(HITId=create(client, market))["HIT"]["HITTypeId"] == kind
    hit = client.create_hit_with_hit_type(HITTypeId=kind, LifetimeInSeconds=60, Question=EXTERNAL)["HIT"]
    assert (hit["Title"], hit["MaxAssignments"]) == ("Judge phrases", 1)
    client.update_hit_type_of_hit(HITId=hit["HITId"], HITTypeId=other)
    assert client.get_hit(HITId=hit["HITId"])["HIT"]["Reward"] == "0.06"
    assert client.list_reviewable_hits(HITTypeId=other)["NumResults"] == 0
    market.now += 60
    assert client.list_reviewable_hits(HITTypeId=other)["NumResults"] == 1
    assert client.list_reviewable_hits(HITTypeId=kind)["NumResults"] == 0
    for call, request in (
        (client.create_hit_with_hit_type, {"HITTypeId": "3NONE", "LifetimeInSeconds": 60, "Question": FORM}),
        (client.update_hit_type_of_hit, {"HITId": hit["HITId"], "HITTypeId": "3NONE"}),
    ):
        assert refused(call, **request)[0] == "HITTypeDoesNotExist"


@pytest.mark.parametrize(
    "changes",
    [
        {"Title": "x" * 129},
        {"Title": " "},
        {"Description": "x" * 2001},
        {"Keywords": "x" * 1001},
        {"AutoApprovalDelayInSeconds": 30 * DAY + 1},
        {"AutoApprovalDelayInSeconds": -1},
        {"AssignmentDurationInSeconds": 29},
        {"AssignmentDurationInSeconds": 365 * DAY + 1},
        {"LifetimeInSeconds": 29},
        {"MaxAssignments": 0},
        {"Reward": "0.055"},
        {"Reward": "1000001"},
        {"Question": None},
        {"Question": "<HTMLQuestion/>"},
        {"Question": "<p>hello</p>"},
        {"Question": "not XML"},
        {
            "Question": '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><QuestionForm>&x;</QuestionForm>'
        },
        {"Question": FORM + " " * 65_536},
        {"Question": EXTERNAL.replace("https://example.org/x", "javascript:alert(1)")},
        {"HITLayoutId": "3ABC"},
        {"HITReviewPolicy": {"PolicyName": "SimplePlurality/2011-09-01"}},
        {"QualificationRequirements": [{"QualificationTypeId": LOCALE, "Comparator": "Exists"}] * 11},
        {"QualificationRequirements": [{"QualificationTypeId": "3NONE", "Comparator": "Exists"}]},
        {
            "QualificationRequirements": [
                {"QualificationTypeId": LOCALE, "Comparator": "EqualTo", "IntegerValues": [1]}
            ]
        },
        {
            "QualificationRequirements": [
                {"QualificationTypeId": LOCALE, "Comparator": "LessThan", "LocaleValues": [{"Country": "DE"}]}
            ]
        },
        {"QualificationRequirements": [{"QualificationTypeId": NUMBER_APPROVED, "Comparator": "EqualTo"}]},
        {
            "QualificationRequirements": [
                {"QualificationTypeId": NUMBER_APPROVED, "Comparator": "Exists", "IntegerValues": [1]}
            ]
        },
        {
            "QualificationRequirements": [
                {"QualificationTypeId": NUMBER_APPROVED, "Comparator": "In", "IntegerValues": list(range(16))}
            ]
        },
    ],
)
def test_hits_that_are_refused(client: Any, market: LocalMarket, changes: dict[str, Any]) -> None:
    refused(client.create_hit, **market.request(**changes))
    assert client.list_hits()["NumResults"] == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"Title": "ü" * 128, "Description": "x" * 2000, "Keywords": "x" * 1000},
        {"AutoApprovalDelayInSeconds": 0, "AssignmentDurationInSeconds": 30, "LifetimeInSeconds": 365 * DAY},
        {"Reward": "0", "MaxAssignments": 1_000_000_000},
        {"Question": FORM + " " * (65_535 - len(FORM))},
        {
            "QualificationRequirements": [
                {
                    "QualificationTypeId": LOCALE,
                    "Comparator": "In",
                    "LocaleValues": [{"Country": "US", "Subdivision": "NY"}] * 30,
                    "ActionsGuarded": "DiscoverPreviewAndAccept",
                }
            ]
            * 10
        },
    ],
)
def test_hits_at_the_limits(client: Any, market: LocalMarket, changes: dict[str, Any]) -> None:
    hit = client.create_hit(**market.request(**changes))["HIT"]
    hit["LifetimeInSeconds"] = (hit["Expiration"] - hit["CreationTime"]).total_seconds()
    for rule in hit["QualificationRequirements"]:
        assert rule.pop("RequiredToPreview") is True
    for name, value in changes.items():
        assert hit[name] == ("0.00" if name == "Reward" else value)


def test_more_assignments(client: Any, market: LocalMarket) -> None:
    hit, worker = create(client, market, MaxAssignments=1), market.worker()
    market.submit(worker, hit)
    assert status(client, hit) == "Reviewable"
    more = {"HITId": hit, "NumberOfAdditionalAssignments": 8, "UniqueRequestToken": "more"}
    client.create_additional_assignments_for_hit(**more)
    assert status(client, hit) == "Assignable"
    assert refused(
        client.create_additional_assignments_for_hit, **more | {"NumberOfAdditionalAssignments": 1}
    )[0] == ("InvalidMaximumAssignmentsIncrease")
    assert client.get_hit(HITId=hit)["HIT"]["MaxAssignments"] == 9
    large = create(client, market, MaxAssignments=10)
    extend = {"HITId": large, "NumberOfAdditionalAssignments": 1, "UniqueRequestToken": "large"}
    first = client.create_additional_assignments_for_hit(**extend)["ResponseMetadata"]["RequestId"]
    code, message = refused(client.create_additional_assignments_for_hit, **extend)
    assert code == "DuplicateRequest"
    assert first in message
    assert client.get_hit(HITId=large)["HIT"]["MaxAssignments"] == 11
    assert refused(client.create_additional_assignments_for_hit, HITId=large, NumberOfAdditionalAssignments=0)


def test_hits_for_a_qualification(client: Any, market: LocalMarket) -> None:
    rule = [{"QualificationTypeId": NUMBER_APPROVED, "Comparator": "GreaterThan", "IntegerValues": [5]}]
    create(client, market)
    hit = create(client, market, QualificationRequirements=rule)
    found = client.list_hits_for_qualification_type(QualificationTypeId=NUMBER_APPROVED)["HITs"]
    assert [one["HITId"] for one in found] == [hit]
    asked = found[0]["QualificationRequirements"][0]
    assert (asked["IntegerValues"], asked["ActionsGuarded"], asked["RequiredToPreview"]) == (
        [5],
        "Accept",
        False,
    )
    assert client.list_hits_for_qualification_type(QualificationTypeId=LOCALE)["HITs"] == []
    assert refused(client.list_hits_for_qualification_type, QualificationTypeId="3NONE")


@pytest.mark.parametrize(
    ("operation", "request_"),
    [
        ("get_hit", {}),
        ("delete_hit", {}),
        ("list_assignments_for_hit", {}),
        ("update_expiration_for_hit", {"ExpireAt": 0}),
        ("update_hit_review_status", {}),
        ("create_additional_assignments_for_hit", {"NumberOfAdditionalAssignments": 1}),
        ("list_review_policy_results_for_hit", {}),
    ],
)
def test_hits_that_are_not_there(client: Any, operation: str, request_: dict[str, Any]) -> None:
    assert refused(getattr(client, operation), HITId="3NONE", **request_)[0] == "HITDoesNotExist"
