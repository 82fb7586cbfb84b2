from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from hits.operations import OPERATIONS
from hits.question_xml import read_answers
from hits.store_hits import NewHit
from hits.store_records import HitProperties
from hits.store_requirements import LOCALE, NUMBER_APPROVED, PERCENT_APPROVED
from hits.wire import Protocol

if TYPE_CHECKING:
    from conftest import LocalMarket
else:
    LocalMarket = Any

DAY = 86400
FORM = (
    "<QuestionForm><Question><QuestionIdentifier>q</QuestionIdentifier><QuestionContent><Text>?</Text></QuestionContent>"
    "<AnswerSpecification><FreeTextAnswer/></AnswerSpecification></Question></QuestionForm>"
)
EXTERNAL = "<ExternalQuestion><ExternalURL>https://example.org/x</ExternalURL><FrameHeight>400</FrameHeight></ExternalQuestion>"
KEY = (
    "<AnswerKey><Question><QuestionIdentifier>q</QuestionIdentifier><AnswerOption>"
    "<SelectionIdentifier>right</SelectionIdentifier><AnswerScore>5</AnswerScore></AnswerOption></Question></AnswerKey>"
)


@pytest.fixture
def client(market: LocalMarket) -> Any:
    return market.client()


def create(client: Any, market: LocalMarket, **changes: Any) -> str:
    return str(client.create_hit(**market.request(**changes))["HIT"]["HITId"])


def status(client: Any, hit: str) -> str:
    return str(client.get_hit(HITId=hit)["HIT"]["HITStatus"])


def refused(call: Any, **request: Any) -> tuple[str, str]:
    with pytest.raises(ClientError) as error:
        call(**request)
    response = error.value.response
    assert response["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert response["Error"]["Code"] == "RequestError"
    return response["TurkErrorCode"].removeprefix("AWS.MechanicalTurk."), response["Error"]["Message"]


def test_every_operation_of_the_service_has_its_function() -> None:
    assert set(OPERATIONS) == Protocol().operations


def test_a_hit_as_it_comes_back(client: Any, market: LocalMarket) -> None:
    made = client.create_hit(**market.request(RequesterAnnotation="rypt:b:1", Reward="1"))["HIT"]
    hit = client.get_hit(HITId=made["HITId"])["HIT"]
    assert made == hit
    assert hit["Reward"] == "1.00"
    assert hit["RequesterAnnotation"] == "rypt:b:1"
    assert hit["CreationTime"].timestamp() == market.now
    assert hit["Expiration"].timestamp() == market.now + DAY
    assert hit["Question"] == market.request()["Question"]
    assert (hit["HITStatus"], hit["MaxAssignments"], hit["HITReviewStatus"]) == ("Assignable", 2, "NotReviewed")
    counts = [hit[f"NumberOfAssignments{what}"] for what in ("Pending", "Available", "Completed")]
    assert counts == [0, 2, 0]
    assert client.list_hits()["HITs"] == [hit]


def test_the_life_of_a_hit(client: Any, market: LocalMarket) -> None:
    hit, ada, bob = create(client, market), market.worker(), market.worker("Bob")
    held = market.store.accept(ada, hit, market.now)
    assert status(client, hit) == "Assignable"
    other = market.submit(bob, hit, "NO")
    assert status(client, hit) == "Unassignable"
    assert refused(client.get_assignment, AssignmentId=held.id)[0] == "InvalidAssignmentState"
    assert [one["AssignmentId"] for one in client.list_assignments_for_hit(HITId=hit)["Assignments"]] == [other]
    market.store.submit(held.id, ada, {"label_1": "YES", "comment": "<b> & ü\r\n"}, market.now + 60)
    market.now += 100
    assert status(client, hit) == "Reviewable"
    assert [one["HITId"] for one in client.list_reviewable_hits()["HITs"]] == [hit]
    found = client.get_assignment(AssignmentId=held.id)
    assert read_answers(found["Assignment"]["Answer"]) == {"label_1": "YES", "comment": "<b> & ü\r\n"}
    assert found["HIT"]["HITId"] == hit
    times = [found["Assignment"][f"{what}Time"].timestamp() - market.now + 100 for what in ("Accept", "Submit")]
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
    assert refused(client.approve_assignment, AssignmentId=other, OverrideRejection=True)[0] == "InvalidHITState"


def test_a_hit_expires(client: Any, market: LocalMarket) -> None:
    hit, worker = create(client, market, LifetimeInSeconds=300), market.worker()
    held = market.store.accept(worker, hit, market.now)
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
    assert refused(client.update_expiration_for_hit, HITId=hit, ExpireAt=market.now + 366 * DAY)[0].endswith("Failed")


def test_request_tokens_last_a_day(client: Any, market: LocalMarket) -> None:
    hit = create(client, market, UniqueRequestToken="once")
    for _ in range(2):
        code, message = refused(client.create_hit, **market.request(UniqueRequestToken="once"))
        assert code == "HitAlreadyExists"
        assert hit in message
    kind = client.get_hit(HITId=hit)["HIT"]["HITTypeId"]
    with_type = {
        "HITTypeId": kind, "LifetimeInSeconds": 60, "Question": FORM, "UniqueRequestToken": "once",
    }  # fmt: skip
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
        {"Question": '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><QuestionForm>&x;</QuestionForm>'},
        {"Question": FORM + " " * 65_536},
        {"Question": EXTERNAL.replace("https://example.org/x", "javascript:alert(1)")},
        {"HITLayoutId": "3ABC"},
        {"HITReviewPolicy": {"PolicyName": "SimplePlurality/2011-09-01"}},
        {"QualificationRequirements": [{"QualificationTypeId": LOCALE, "Comparator": "Exists"}] * 11},
        {"QualificationRequirements": [{"QualificationTypeId": "3NONE", "Comparator": "Exists"}]},
        {"QualificationRequirements": [{"QualificationTypeId": LOCALE, "Comparator": "EqualTo", "IntegerValues": [1]}]},
        {"QualificationRequirements": [{"QualificationTypeId": LOCALE, "Comparator": "LessThan",
                                        "LocaleValues": [{"Country": "DE"}]}]},
        {"QualificationRequirements": [{"QualificationTypeId": NUMBER_APPROVED, "Comparator": "EqualTo"}]},
        {"QualificationRequirements": [{"QualificationTypeId": NUMBER_APPROVED, "Comparator": "Exists",
                                        "IntegerValues": [1]}]},
        {"QualificationRequirements": [{"QualificationTypeId": NUMBER_APPROVED, "Comparator": "In",
                                        "IntegerValues": list(range(16))}]},
    ],
)  # fmt: skip
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
    assert refused(client.create_additional_assignments_for_hit, **more | {"NumberOfAdditionalAssignments": 1})[0] == (
        "InvalidMaximumAssignmentsIncrease"
    )
    assert client.get_hit(HITId=hit)["HIT"]["MaxAssignments"] == 9
    large = create(client, market, MaxAssignments=10)
    extend = {"HITId": large, "NumberOfAdditionalAssignments": 1, "UniqueRequestToken": "large"}
    first = client.create_additional_assignments_for_hit(**extend)["ResponseMetadata"]["RequestId"]
    code, message = refused(client.create_additional_assignments_for_hit, **extend)
    assert code == "DuplicateRequest"
    assert first in message
    assert client.get_hit(HITId=large)["HIT"]["MaxAssignments"] == 11
    assert refused(client.create_additional_assignments_for_hit, HITId=large, NumberOfAdditionalAssignments=0)


def test_approving_and_rejecting(client: Any, market: LocalMarket) -> None:
    hit = create(client, market, MaxAssignments=3)
    first, second, third = (market.submit(market.worker(name), hit) for name in "abc")
    client.approve_assignment(AssignmentId=first)
    assert refused(client.approve_assignment, AssignmentId=first)[0] == "InvalidAssignmentState"
    assert refused(client.reject_assignment, AssignmentId=first, RequesterFeedback="x")[0] == "InvalidAssignmentState"
    client.reject_assignment(AssignmentId=second, RequesterFeedback="too fast")
    assert refused(client.approve_assignment, AssignmentId=second)[0] == "InvalidAssignmentState"
    market.now += 10
    client.approve_assignment(AssignmentId=second, OverrideRejection=True)
    found = client.get_assignment(AssignmentId=second)["Assignment"]
    assert (found["AssignmentStatus"], found["RequesterFeedback"]) == ("Approved", "too fast")
    assert found["ApprovalTime"].timestamp() == found["RejectionTime"].timestamp() + 10
    client.reject_assignment(AssignmentId=third, RequesterFeedback="no")
    market.now += 30 * DAY
    assert refused(client.approve_assignment, AssignmentId=third, OverrideRejection=True)[0] == "InvalidAssignmentState"
    assert refused(client.approve_assignment, AssignmentId="3NONE")[0] == "AssignmentDoesNotExist"
    assert refused(client.reject_assignment, AssignmentId="3NONE", RequesterFeedback="x")[0] == "AssignmentDoesNotExist"
    statuses = {
        wanted: client.list_assignments_for_hit(HITId=hit, AssignmentStatuses=[wanted])["NumResults"]
        for wanted in ("Submitted", "Approved", "Rejected")
    }
    assert statuses == {"Submitted": 0, "Approved": 2, "Rejected": 1}
    both = client.list_assignments_for_hit(HITId=hit, AssignmentStatuses=["Approved", "Rejected"])
    assert both["NumResults"] == 3


def test_automatic_approval(client: Any, market: LocalMarket) -> None:
    hit = create(client, market, AutoApprovalDelayInSeconds=0)
    market.submit(market.worker(), hit)
    assert client.list_assignments_for_hit(HITId=hit)["Assignments"][0]["AssignmentStatus"] == "Approved"
    hit = create(client, market)
    market.submit(market.worker(), hit)
    market.now += 7 * DAY - 1
    assert client.list_assignments_for_hit(HITId=hit)["Assignments"][0]["AssignmentStatus"] == "Submitted"
    market.now += 1
    assert client.list_assignments_for_hit(HITId=hit)["Assignments"][0]["AssignmentStatus"] == "Approved"


def test_bonuses(client: Any, market: LocalMarket) -> None:
    hit, worker = create(client, market), market.worker()
    done = market.submit(worker, hit)
    bonus = {"WorkerId": worker, "AssignmentId": done, "BonusAmount": "1.5", "Reason": "well done"}
    first = client.send_bonus(**bonus, UniqueRequestToken="b")["ResponseMetadata"]["RequestId"]
    code, message = refused(client.send_bonus, **bonus, UniqueRequestToken="b")
    assert code == "DuplicateRequest"
    assert first in message
    client.send_bonus(**bonus)
    for wanted in ({"HITId": hit}, {"AssignmentId": done}):
        paid = client.list_bonus_payments(**wanted)["BonusPayments"]
        assert [(one["BonusAmount"], one["Reason"], one["WorkerId"]) for one in paid] == [
            ("1.50", "well done", worker)
        ] * 2
    assert market.store.earnings(worker, market.now).bonuses == Decimal("3.00")
    assert market.store.messages(worker)[0].text == "well done"
    other = market.worker("Bob")
    for changes in (
        {"WorkerId": other},
        {"BonusAmount": "0"},
        {"BonusAmount": "0.00"},
        {"AssignmentId": "3NONE"},
        {"Reason": ""},
    ):
        refused(client.send_bonus, **bonus | changes)
    held = market.store.accept(other, hit, market.now)
    assert (
        refused(client.send_bonus, **bonus | {"WorkerId": other, "AssignmentId": held.id})[0]
        == "InvalidAssignmentState"
    )
    refused(client.list_bonus_payments)
    assert refused(client.list_bonus_payments, HITId="3NONE")[0] == "HITDoesNotExist"
    assert refused(client.list_bonus_payments, AssignmentId="3NONE")[0] == "AssignmentDoesNotExist"


def test_blocks(client: Any, market: LocalMarket) -> None:
    create(client, market)
    worker = market.worker()
    client.create_worker_block(WorkerId=worker, Reason="random")
    client.create_worker_block(WorkerId=worker, Reason="random answers")
    assert client.list_worker_blocks()["WorkerBlocks"] == [{"WorkerId": worker, "Reason": "random answers"}]
    assert market.store.available_hits(worker, market.now) == []
    client.delete_worker_block(WorkerId=worker)
    client.delete_worker_block(WorkerId=worker, Reason="was not blocked")
    assert client.list_worker_blocks()["NumResults"] == 0
    assert len(market.store.available_hits(worker, market.now)) == 1
    assert "invalid" in refused(client.create_worker_block, WorkerId="A0", Reason="x")[1]
    assert "invalid" in refused(client.delete_worker_block, WorkerId="A0")[1]


def test_messages(client: Any, market: LocalMarket) -> None:
    hit, ada, bob = create(client, market), market.worker(), market.worker("Bob")
    client.approve_assignment(AssignmentId=market.submit(ada, hit))
    market.submit(bob, hit)
    message = {"Subject": "More work", "MessageText": "There is more.\nCome back!"}
    failed = client.notify_workers(**message, WorkerIds=[ada, bob, "A0"])["NotifyWorkersFailureStatuses"]
    assert [(one["WorkerId"], one["NotifyWorkersFailureCode"]) for one in failed] == [
        (bob, "HardFailure"),
        ("A0", "HardFailure"),
    ]
    (found,) = market.store.messages(ada, unseen=True)
    assert (found.subject, found.text) == ("More work", "There is more.\nCome back!")
    market.store.mark_seen(ada, market.now)
    assert market.store.messages(ada, unseen=True) == []
    for changes in (
        {"Subject": "x" * 201},
        {"MessageText": "x" * 4097},
        {"WorkerIds": ["A1"] * 101},
        {"WorkerIds": []},
    ):
        refused(client.notify_workers, **message | {"WorkerIds": [ada]} | changes)


def test_qualification_types(client: Any, market: LocalMarket) -> None:
    new = {"Name": "German", "Description": "reads German", "Keywords": "de", "QualificationTypeStatus": "Active"}
    kind = client.create_qualification_type(**new)["QualificationType"]
    assert kind["IsRequestable"] is True
    assert client.get_qualification_type(QualificationTypeId=kind["QualificationTypeId"])["QualificationType"] == kind
    code, message = refused(client.create_qualification_type, **new)
    assert code == "QualificationTypeAlreadyExists"
    assert kind["QualificationTypeId"] in message
    tested = client.create_qualification_type(
        **new | {"Name": "Tested"}, Test=FORM, AnswerKey=KEY, TestDurationInSeconds=60, RetryDelayInSeconds=5
    )["QualificationType"]
    assert (tested["Test"], tested["AnswerKey"], tested["TestDurationInSeconds"]) == (FORM, KEY, 60)

    def names(**request: Any) -> list[str]:
        return [one["Name"] for one in client.list_qualification_types(MaxResults=100, **request)["QualificationTypes"]]

    assert names(MustBeRequestable=True) == ["German", "Tested"]
    assert names(MustBeRequestable=False, MustBeOwnedByCaller=True, Query="GERMAN") == ["German", "Tested"]
    assert names(MustBeRequestable=True, Query="teste") == ["Tested"]
    assert len(names(MustBeRequestable=False)) == 6
    assert names(MustBeRequestable=False, Query="locale") == ["Worker_Locale"]

    update = {"QualificationTypeId": kind["QualificationTypeId"]}
    changed = client.update_qualification_type(
        **update, Description="d", QualificationTypeStatus="Inactive", AutoGranted=True
    )
    wanted = {"Description": "d", "QualificationTypeStatus": "Inactive", "AutoGranted": True, "AutoGrantedValue": 1}
    assert changed["QualificationType"].items() >= wanted.items()
    rule = [{"QualificationTypeId": kind["QualificationTypeId"], "Comparator": "Exists"}]
    inactive = refused(client.create_hit, **market.request(QualificationRequirements=rule))
    assert inactive[0] == "InvalidQualificationTypeState"
    renewed = client.update_qualification_type(**update, Test=FORM, TestDurationInSeconds=9)["QualificationType"]
    assert (renewed["AutoGranted"], renewed["TestDurationInSeconds"], "AnswerKey" in renewed) == (False, 9, False)
    refused(client.update_qualification_type, **update, AutoGranted=True)
    assert client.update_qualification_type(**update)["QualificationType"] == renewed
    for request in (
        {"QualificationTypeId": "3NONE"},
        {"QualificationTypeId": LOCALE, "Description": "d"},
        {**update, "Test": FORM},
        {**update, "AnswerKey": KEY},
        {**update, "Test": EXTERNAL, "TestDurationInSeconds": 5},
        {**update, "Test": FORM, "AnswerKey": "<AnswerKey/>", "TestDurationInSeconds": 5},
    ):
        refused(client.update_qualification_type, **request)
    for more in (
        {"Test": FORM},
        {"AnswerKey": KEY},
        {"Test": FORM, "TestDurationInSeconds": 5, "AutoGranted": True},
        {"AutoGrantedValue": 5},
        {"TestDurationInSeconds": 5},
    ):
        refused(client.create_qualification_type, **new | {"Name": "Other"} | more)


def test_deleting_a_qualification_type(client: Any, market: LocalMarket) -> None:
    new = {"Name": "German", "Description": "reads German", "QualificationTypeStatus": "Active"}
    kind = client.create_qualification_type(**new)["QualificationType"]["QualificationTypeId"]
    rule = [{"QualificationTypeId": kind, "Comparator": "Exists"}]
    ada, bob = market.worker(), market.worker("Bob")
    hit = client.create_hit(**market.request(QualificationRequirements=rule))["HIT"]
    client.associate_qualification_with_worker(QualificationTypeId=kind, WorkerId=ada)
    market.store.request_qualification(bob, kind, market.now)
    client.delete_qualification_type(QualificationTypeId=kind)
    assert refused(client.get_qualification_type, QualificationTypeId=kind)[0] == "QualificationTypeDoesNotExist"
    again = {"HITTypeId": hit["HITTypeId"], "LifetimeInSeconds": 60, "Question": FORM}
    assert refused(client.create_hit_with_hit_type, **again)[0] == "HITTypeDoesNotExist"
    assert client.list_qualification_requests()["NumResults"] == 0
    assert [found.id for found in market.store.available_hits(ada, market.now)] == [hit["HITId"]]
    assert client.create_qualification_type(**new)["QualificationType"]["QualificationTypeId"] != kind


def test_workers_qualifications(client: Any, market: LocalMarket) -> None:
    kind = client.create_qualification_type(Name="n", Description="d", QualificationTypeStatus="Active")[
        "QualificationType"
    ]["QualificationTypeId"]
    worker = market.worker()
    both = {"QualificationTypeId": kind, "WorkerId": worker}
    assert refused(client.get_qualification_score, **both)[0] == "QualificationDoesNotExist"
    client.associate_qualification_with_worker(**both, IntegerValue=70)
    assert len(market.store.messages(worker)) == 1
    client.associate_qualification_with_worker(**both, IntegerValue=90, SendNotification=False)
    assert len(market.store.messages(worker)) == 1
    found = client.get_qualification_score(**both)["Qualification"]
    assert (found["IntegerValue"], found["Status"], found["WorkerId"]) == (90, "Granted", worker)
    assert client.list_workers_with_qualification_type(QualificationTypeId=kind)["NumResults"] == 1
    client.disassociate_qualification_from_worker(**both, Reason="expired")
    assert client.get_qualification_score(**both)["Qualification"]["Status"] == "Revoked"
    assert client.list_workers_with_qualification_type(QualificationTypeId=kind)["NumResults"] == 0
    revoked = client.list_workers_with_qualification_type(QualificationTypeId=kind, Status="Revoked")
    assert revoked["Qualifications"][0]["WorkerId"] == worker
    assert refused(client.disassociate_qualification_from_worker, **both)[0] == "QualificationDoesNotExist"
    assert refused(client.associate_qualification_with_worker, **both | {"QualificationTypeId": LOCALE})[0] == (
        "PermissionDeniedException"
    )
    rate = client.get_qualification_score(QualificationTypeId=PERCENT_APPROVED, WorkerId=worker)["Qualification"]
    assert rate["IntegerValue"] == 100
    assert refused(client.get_qualification_score, QualificationTypeId=LOCALE, WorkerId=worker)[0] == (
        "QualificationDoesNotExist"
    )


def test_qualification_requests(client: Any, market: LocalMarket) -> None:
    kind = client.create_qualification_type(
        Name="n", Description="d", QualificationTypeStatus="Active", Test=FORM, TestDurationInSeconds=600
    )["QualificationType"]["QualificationTypeId"]
    ada, bob = market.worker(), market.worker("Bob")
    for worker in (ada, bob):
        request = market.store.request_qualification(worker, kind, market.now)
        market.store.submit_test(request.id, worker, {"q": "right"}, market.now)
    waiting = client.list_qualification_requests(QualificationTypeId=kind)["QualificationRequests"]
    assert [one["WorkerId"] for one in waiting] == [ada, bob]
    assert read_answers(waiting[0]["Answer"]) == {"q": "right"}
    assert waiting[0]["Test"] == FORM
    ids = [one["QualificationRequestId"] for one in waiting]
    client.accept_qualification_request(QualificationRequestId=ids[0], IntegerValue=88)
    client.reject_qualification_request(QualificationRequestId=ids[1], Reason="wrong")
    score = client.get_qualification_score(QualificationTypeId=kind, WorkerId=ada)["Qualification"]
    assert score["IntegerValue"] == 88
    assert market.store.messages(bob)[0].text == "wrong"
    assert client.list_qualification_requests()["NumResults"] == 0
    assert refused(client.accept_qualification_request, QualificationRequestId=ids[0])[0] == (
        "InvalidQualificationRequestState"
    )
    assert refused(client.reject_qualification_request, QualificationRequestId="3NONE")[0] == (
        "QualificationRequestDoesNotExist"
    )
    assert (
        refused(client.list_qualification_requests, QualificationTypeId="3NONE")[0] == "QualificationTypeDoesNotExist"
    )


def test_hits_for_a_qualification(client: Any, market: LocalMarket) -> None:
    rule = [{"QualificationTypeId": NUMBER_APPROVED, "Comparator": "GreaterThan", "IntegerValues": [5]}]
    create(client, market)
    hit = create(client, market, QualificationRequirements=rule)
    found = client.list_hits_for_qualification_type(QualificationTypeId=NUMBER_APPROVED)["HITs"]
    assert [one["HITId"] for one in found] == [hit]
    asked = found[0]["QualificationRequirements"][0]
    assert (asked["IntegerValues"], asked["ActionsGuarded"], asked["RequiredToPreview"]) == ([5], "Accept", False)
    assert client.list_hits_for_qualification_type(QualificationTypeId=LOCALE)["HITs"] == []
    assert refused(client.list_hits_for_qualification_type, QualificationTypeId="3NONE")


def test_what_the_local_market_does_not_do(client: Any, market: LocalMarket) -> None:
    hit = create(client, market)
    kind = client.get_hit(HITId=hit)["HIT"]["HITTypeId"]
    done = market.submit(market.worker(), hit)
    to = {"Destination": "a@b.c", "Transport": "Email", "Version": "2006-05-05", "EventTypes": ["HITReviewable"]}
    for call, request in (
        (client.get_file_upload_url, {"AssignmentId": done, "QuestionIdentifier": "q"}),
        (client.send_test_event_notification, {"Notification": to, "TestEventType": "Ping"}),
        (client.update_notification_settings, {"HITTypeId": kind, "Notification": to, "Active": True}),
    ):
        code, message = refused(call, **request)
        assert code.endswith("NotSupported")
        assert message.startswith("The local market")
    refused(client.update_notification_settings, HITTypeId=kind)
    client.update_notification_settings(HITTypeId=kind, Active=False)
    assert client.list_review_policy_results_for_hit(HITId=hit)["HITId"] == hit
    assert client.get_account_balance()["AvailableBalance"] == "10000.00"


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


def test_more_than_a_hundred_hits(client: Any, market: LocalMarket) -> None:
    properties = HitProperties("t", "d", Decimal("0.01"), 60)
    made = [
        market.store.create_hit(properties, NewHit(FORM, 600, annotation=f"a:{n}"), market.now).id for n in range(230)
    ]
    assert client.list_hits()["NumResults"] == 10
    for size in (100, 7):
        pages = list(client.get_paginator("list_hits").paginate(PaginationConfig={"PageSize": size}))
        assert [hit["HITId"] for page in pages for hit in page["HITs"]] == made
        assert all(page["NumResults"] == len(page["HITs"]) <= size for page in pages)
        assert len(pages) == -(-230 // size)
    market.now += 600
    pages = list(client.get_paginator("list_reviewable_hits").paginate(PaginationConfig={"PageSize": 100}))
    assert [len(page["HITs"]) for page in pages] == [100, 100, 30]


def test_more_than_a_hundred_assignments_of_one_hit(client: Any, market: LocalMarket) -> None:
    hit = create(client, market, MaxAssignments=120)
    made = [market.submit(market.worker(f"w{n}"), hit, f"{n}") for n in range(120)]
    assert client.list_assignments_for_hit(HITId=hit)["NumResults"] == 10
    paginator = client.get_paginator("list_assignments_for_hit")
    pages = list(paginator.paginate(HITId=hit, PaginationConfig={"PageSize": 100}))
    assert [len(page["Assignments"]) for page in pages] == [100, 20]
    assert [one["AssignmentId"] for page in pages for one in page["Assignments"]] == made
    first = client.list_assignments_for_hit(HITId=hit, MaxResults=60)
    for assignment in made[:60]:
        client.approve_assignment(AssignmentId=assignment)
    rest = client.list_assignments_for_hit(HITId=hit, MaxResults=100, NextToken=first["NextToken"])
    assert [one["AssignmentId"] for one in rest["Assignments"]] == made[60:]
    assert "NextToken" not in rest


def test_all_paginators(client: Any, market: LocalMarket) -> None:
    """Every list that has a paginator gives all its records through pages of two."""
    kinds = [
        client.create_qualification_type(Name=f"n{n}", Description="d", QualificationTypeStatus="Active")[
            "QualificationType"
        ]["QualificationTypeId"]
        for n in range(5)
    ]
    rule = [{"QualificationTypeId": kinds[0], "Comparator": "Exists"}]
    hits = [create(client, market, MaxAssignments=5, QualificationRequirements=rule) for _ in range(5)]
    for number in range(5):
        worker = market.worker(f"w{number}")
        client.associate_qualification_with_worker(QualificationTypeId=kinds[0], WorkerId=worker)
        market.store.request_qualification(worker, kinds[1], market.now)
        done = market.submit(worker, hits[0])
        client.send_bonus(WorkerId=worker, AssignmentId=done, BonusAmount="1", Reason="r")
        client.create_worker_block(WorkerId=worker, Reason="r")
    cases = {
        "list_assignments_for_hit": ({"HITId": hits[0]}, "Assignments"),
        "list_bonus_payments": ({"HITId": hits[0]}, "BonusPayments"),
        "list_hits": ({}, "HITs"),
        "list_hits_for_qualification_type": ({"QualificationTypeId": kinds[0]}, "HITs"),
        "list_qualification_requests": ({}, "QualificationRequests"),
        "list_qualification_types": ({"MustBeRequestable": True}, "QualificationTypes"),
        "list_worker_blocks": ({}, "WorkerBlocks"),
        "list_workers_with_qualification_type": ({"QualificationTypeId": kinds[0]}, "Qualifications"),
    }
    for operation, (request, member) in cases.items():
        pages = list(client.get_paginator(operation).paginate(**request, PaginationConfig={"PageSize": 2}))
        assert [len(page[member]) for page in pages] == [2, 2, 1], operation
        records = [str(record) for page in pages for record in page[member]]
        assert len(set(records)) == 5, operation


@pytest.mark.parametrize("token", ["x", "====", "TGlzdEhJVHM6LTE=", "ü", "QWxs", "TGlzdEhJVHM6" + "OTk5" * 20])
def test_foreign_page_tokens(client: Any, token: str) -> None:
    refused(client.list_hits, NextToken=token)


def test_a_token_belongs_to_its_list(client: Any, market: LocalMarket) -> None:
    create(client, market)
    create(client, market)
    token = client.list_hits(MaxResults=1)["NextToken"]
    refused(client.list_worker_blocks, NextToken=token)
