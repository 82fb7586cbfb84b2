"""The requester's protocol through boto3, and requests that no boto3 would send."""

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError
from requester import create, refused, status
from store_lives import available

from hits.batch.question_xml import read_answers
from hits.qualifications import LOCALE, PERCENT_APPROVED
from hits.server.endpoint import Response
from hits.server.signature import SERVICE
from hits.server.store.hits import HitStore

if TYPE_CHECKING:
    from conftest import LocalMarket
else:
    LocalMarket = Any

DAY = 86400
PREFIX = "MTurkRequesterServiceV20170117"
FORM = (
    "<QuestionForm><Question><QuestionIdentifier>q</QuestionIdentifier><QuestionContent><Text>?</Text></QuestionContent>"
    "<AnswerSpecification><FreeTextAnswer/></AnswerSpecification></Question></QuestionForm>"
)
KEY = (
    "<AnswerKey><Question><QuestionIdentifier>q</QuestionIdentifier><AnswerOption>"
    "<SelectionIdentifier>right</SelectionIdentifier><AnswerScore>5</AnswerScore></AnswerOption></Question></AnswerKey>"
)
TEST = {"Test": FORM, "AnswerKey": KEY, "TestDurationInSeconds": 60}
GERMAN = {"Name": "German", "Description": "reads German", "QualificationTypeStatus": "Active"}


def requires(kind: str, comparator: str, **values: Any) -> dict[str, Any]:
    return {"QualificationRequirements": [{"QualificationTypeId": kind, "Comparator": comparator, **values}]}


def test_a_whole_session_of_a_requester(client: Any, market: LocalMarket) -> None:
    """Create, list, assign, review, pay, block, notify, extend, expire, delete."""
    made = client.create_hit(**market.request(RequesterAnnotation="mine", MaxAssignments=3))["HIT"]
    hit, hit_type = made["HITId"], made["HITTypeId"]
    assert (made["Title"], made["Reward"], made["HITStatus"]) == ("Judge phrases", "0.05", "Assignable")
    assert made["Expiration"].timestamp() == market.now + DAY
    assert client.get_hit(HITId=hit)["HIT"] == made
    assert client.list_hits()["HITs"] == [made]
    ada, bob, cem = (market.worker(name) for name in ("Ada", "Bob", "Cem"))
    first, second, third = (market.submit(worker, hit, "<YES>") for worker in (ada, bob, cem))
    assert status(client, hit) == "Reviewable"
    assert [one["HITId"] for one in client.list_reviewable_hits(HITTypeId=hit_type)["HITs"]] == [hit]
    listed = client.list_assignments_for_hit(HITId=hit)["Assignments"]
    assert [one["AssignmentId"] for one in listed] == [first, second, third]
    assert read_answers(listed[0]["Answer"]) == {"label_1": "<YES>"}
    assert (listed[0]["WorkerId"], listed[0]["AssignmentStatus"]) == (ada, "Submitted")
    assert listed[0]["AutoApprovalTime"].timestamp() == market.now + 7 * DAY
    market.now += 10
    client.approve_assignment(AssignmentId=first, RequesterFeedback="thanks")
    client.reject_assignment(AssignmentId=second, RequesterFeedback="too fast")
    assert refused(client.approve_assignment, AssignmentId=second)[0] == "InvalidAssignmentState"
    client.approve_assignment(AssignmentId=second, OverrideRejection=True)
    found = client.get_assignment(AssignmentId=second)
    assert found["HIT"]["HITId"] == hit
    found = found["Assignment"]
    assert (found["AssignmentStatus"], found["RequesterFeedback"]) == ("Approved", "too fast")
    assert found["ApprovalTime"] == found["RejectionTime"]
    only = client.list_assignments_for_hit(HITId=hit, AssignmentStatuses=["Submitted"])["Assignments"]
    assert [one["AssignmentId"] for one in only] == [third]
    bonus = {"WorkerId": ada, "AssignmentId": first, "BonusAmount": "1.5", "Reason": "well done"}
    client.send_bonus(**bonus, UniqueRequestToken="b")
    assert refused(client.send_bonus, **bonus, UniqueRequestToken="b")[0] == "DuplicateRequest"
    for wanted in ({"HITId": hit}, {"AssignmentId": first}):
        [paid] = client.list_bonus_payments(**wanted)["BonusPayments"]
        assert (paid["BonusAmount"], paid["Reason"], paid["WorkerId"]) == ("1.50", "well done", ada)
    failed = client.notify_workers(Subject="More", MessageText="work", WorkerIds=[ada, "A0"])
    assert [one["WorkerId"] for one in failed["NotifyWorkersFailureStatuses"]] == ["A0"]
    messages = [(row["Subject"], row["MessageText"]) for row in market.store.people.messages(ada)]
    assert messages == [("More", "work"), ("A bonus of $1.50", "well done")]
    client.create_worker_block(WorkerId=bob, Reason="random")
    client.create_worker_block(WorkerId=bob, Reason="random answers")
    assert client.list_worker_blocks()["WorkerBlocks"] == [{"WorkerId": bob, "Reason": "random answers"}]
    client.delete_worker_block(WorkerId=bob)
    assert client.list_worker_blocks()["NumResults"] == 0
    more = {"HITId": hit, "NumberOfAdditionalAssignments": 8, "UniqueRequestToken": "more"}
    client.create_additional_assignments_for_hit(**more)
    assert refused(client.create_additional_assignments_for_hit, **more)[0] == "DuplicateRequest"
    extended = client.get_hit(HITId=hit)["HIT"]
    assert (extended["MaxAssignments"], extended["NumberOfAssignmentsAvailable"]) == (11, 8)
    client.update_expiration_for_hit(HITId=hit, ExpireAt=0)
    assert "1 submitted" in refused(client.delete_hit, HITId=hit)[1]
    client.approve_assignment(AssignmentId=third)
    client.delete_hit(HITId=hit)
    assert status(client, hit) == "Disposed"
    assert client.list_hits()["HITs"] == []
    assert client.get_account_balance()["AvailableBalance"] == "10000.00"


def test_request_tokens_last_a_day(client: Any, market: LocalMarket) -> None:
    hit = create(client, market, UniqueRequestToken="once")
    code, message = refused(client.create_hit, **market.request(UniqueRequestToken="once"))
    assert code == "HitAlreadyExists"
    assert hit in message
    kind = client.get_hit(HITId=hit)["HIT"]["HITTypeId"]
    with_type = {"HITTypeId": kind, "LifetimeInSeconds": 60, "Question": FORM, "UniqueRequestToken": "once"}
    assert refused(client.create_hit_with_hit_type, **with_type)[0] == "HitAlreadyExists"
    market.now += DAY
    assert client.create_hit_with_hit_type(**with_type)["HIT"]["HITId"] != hit


def test_equal_properties_are_one_hit_type(client: Any, market: LocalMarket) -> None:
    properties = market.request(LifetimeInSeconds=None, MaxAssignments=None, Question=None)
    kind = client.create_hit_type(**properties)["HITTypeId"]
    assert client.create_hit_type(**properties | {"Reward": "0.050"[:4]})["HITTypeId"] == kind
    assert client.create_hit_type(**properties | {"Reward": "0.06"})["HITTypeId"] != kind
    assert client.get_hit(HITId=create(client, market))["HIT"]["HITTypeId"] == kind
    nowhere = {"HITTypeId": "3NONE", "LifetimeInSeconds": 60, "Question": FORM}
    assert refused(client.create_hit_with_hit_type, **nowhere)[0] == "HITTypeDoesNotExist"


@pytest.mark.parametrize(
    "changes",
    [
        {"Title": "x" * 129},
        {"Title": " "},
        {"Description": "x" * 2001},
        {"AutoApprovalDelayInSeconds": -1},
        {"AssignmentDurationInSeconds": 29},
        {"LifetimeInSeconds": 29},
        {"MaxAssignments": 0},
        *({"Reward": reward} for reward in ("0.055", "1000001", "-1", "NaN", "1e3", "abc")),
        {"Question": None},
        {"Question": "<p>hello</p>"},
        requires("3NONE", "Exists"),
        requires(LOCALE, "EqualTo", IntegerValues=[1]),
        requires(LOCALE, "LessThan", LocaleValues=[{"Country": "DE"}]),
        requires(LOCALE, "In", LocaleValues=[{"Country": "US", "Subdivision": "NY"}]),
        requires(PERCENT_APPROVED, "EqualTo"),
        requires(PERCENT_APPROVED, "EqualTo", IntegerValues=[1, 2]),
        requires(PERCENT_APPROVED, "Exists", IntegerValues=[1]),
        requires(PERCENT_APPROVED, "Resembles", IntegerValues=[1]),
    ],
)
def test_hits_that_are_refused(client: Any, market: LocalMarket, changes: dict[str, Any]) -> None:
    refused(client.create_hit, **market.request(**changes))
    assert client.list_hits()["NumResults"] == 0


def test_requirements_come_back_as_they_were_sent(client: Any, market: LocalMarket) -> None:
    rules = [
        {"QualificationTypeId": PERCENT_APPROVED, "Comparator": "GreaterThan", "IntegerValues": [90]},
        {"QualificationTypeId": LOCALE, "Comparator": "In", "LocaleValues": [{"Country": "DE"}]},
    ]
    hit = client.create_hit(**market.request(QualificationRequirements=rules))["HIT"]
    stored = {rule["QualificationTypeId"]: rule for rule in hit["QualificationRequirements"]}
    for sent in rules:
        kept = stored[sent["QualificationTypeId"]]
        assert kept == {**sent, "ActionsGuarded": "Accept", "RequiredToPreview": False}


def test_qualifications(client: Any, market: LocalMarket) -> None:
    kind = client.create_qualification_type(**GERMAN)["QualificationType"]
    name = kind["QualificationTypeId"]
    assert client.get_qualification_type(QualificationTypeId=name)["QualificationType"] == kind
    code, message = refused(client.create_qualification_type, **GERMAN)
    assert (code, name in message) == ("QualificationTypeAlreadyExists", True)
    tested = client.create_qualification_type(**GERMAN | {"Name": "Tested"}, **TEST)["QualificationType"]
    assert tested.items() >= TEST.items()

    def names(**request: Any) -> list[str]:
        listed = client.list_qualification_types(MaxResults=100, **request)["QualificationTypes"]
        return [one["Name"] for one in listed]

    assert names(MustBeRequestable=True) == ["Tested"]
    assert names(MustBeRequestable=False, MustBeOwnedByCaller=True, Query="GERMAN") == ["German", "Tested"]
    assert len(names(MustBeRequestable=False)) == 4
    assert names(MustBeRequestable=False, Query="locale") == ["Worker_Locale"]
    worker = market.worker()
    create(client, market, **requires(name, "EqualTo", IntegerValues=[90]))
    both = {"QualificationTypeId": name, "WorkerId": worker}
    client.associate_qualification_with_worker(**both, IntegerValue=70)
    client.associate_qualification_with_worker(**both, IntegerValue=90, SendNotification=False)
    assert len(market.store.people.messages(worker)) == 1
    assert len(available(market.store, worker, market.now)) == 1
    client.disassociate_qualification_from_worker(**both, Reason="expired")
    assert available(market.store, worker, market.now) == []
    gone = refused(client.disassociate_qualification_from_worker, **both)
    assert gone[0] == "QualificationDoesNotExist"
    ours = both | {"QualificationTypeId": LOCALE}
    assert refused(client.associate_qualification_with_worker, **ours)[0] == "PermissionDeniedException"
    inactive = client.create_qualification_type(
        **GERMAN | {"Name": "old", "QualificationTypeStatus": "Inactive"}
    )
    rule = requires(inactive["QualificationType"]["QualificationTypeId"], "Exists")
    assert refused(client.create_hit, **market.request(**rule))[0] == "InvalidQualificationTypeState"


@pytest.mark.parametrize(
    "changes",
    [
        {"Name": " "},
        {"QualificationTypeStatus": "Perhaps"},
        {"Test": FORM},
        {"AnswerKey": KEY},
        {"TestDurationInSeconds": 5},
        TEST | {"AutoGranted": True},
        TEST | {"AnswerKey": "<AnswerKey/>"},
        TEST | {"Test": "<ExternalQuestion/>"},
    ],
)
def test_qualification_types_that_are_refused(client: Any, changes: dict[str, Any]) -> None:
    refused(client.create_qualification_type, **GERMAN | changes)
    assert (
        client.list_qualification_types(MustBeRequestable=False, MustBeOwnedByCaller=True)["NumResults"] == 0
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"WorkerId": "other"},
        {"BonusAmount": "0"},
        {"BonusAmount": "0.00"},
        {"BonusAmount": "0.001"},
        {"AssignmentId": "3NONE"},
        {"Reason": ""},
    ],
)
def test_bonuses_that_are_refused(client: Any, market: LocalMarket, changes: dict[str, str]) -> None:
    hit, worker, other = create(client, market), market.worker(), market.worker("Bob")
    bonus = {
        "WorkerId": worker,
        "AssignmentId": market.submit(worker, hit),
        "BonusAmount": "1",
        "Reason": "r",
    }
    refused(client.send_bonus, **bonus | changes | ({"WorkerId": other} if "WorkerId" in changes else {}))
    assert market.store.work.bonuses(market.now) == []


@pytest.mark.parametrize(
    ("operation", "members", "code"),
    [
        ("get_hit", {"HITId": "3NONE"}, "HITDoesNotExist"),
        ("delete_hit", {"HITId": "3NONE"}, "HITDoesNotExist"),
        ("list_assignments_for_hit", {"HITId": "3NONE"}, "HITDoesNotExist"),
        ("update_expiration_for_hit", {"HITId": "3NONE", "ExpireAt": 0}, "HITDoesNotExist"),
        (
            "create_additional_assignments_for_hit",
            {"HITId": "3NONE", "NumberOfAdditionalAssignments": 1},
            "HITDoesNotExist",
        ),
        ("get_assignment", {"AssignmentId": "3NONE"}, "AssignmentDoesNotExist"),
        ("approve_assignment", {"AssignmentId": "3NONE"}, "AssignmentDoesNotExist"),
        ("reject_assignment", {"AssignmentId": "3NONE", "RequesterFeedback": "x"}, "AssignmentDoesNotExist"),
        ("list_bonus_payments", {"AssignmentId": "3NONE"}, "AssignmentDoesNotExist"),
        ("create_worker_block", {"WorkerId": "A0", "Reason": "x"}, "WorkerDoesNotExist"),
        ("get_qualification_type", {"QualificationTypeId": "3NONE"}, "QualificationTypeDoesNotExist"),
    ],
)
def test_what_does_not_exist(client: Any, operation: str, members: dict[str, Any], code: str) -> None:
    assert refused(getattr(client, operation), **members)[0] == code


def test_lists_have_pages(client: Any, market: LocalMarket) -> None:
    hits = [create(client, market, MaxAssignments=5) for _ in range(5)]
    for number in range(5):
        worker = market.worker(f"w{number}")
        done = market.submit(worker, hits[0])
        client.send_bonus(WorkerId=worker, AssignmentId=done, BonusAmount="1", Reason="r")
        client.create_worker_block(WorkerId=worker, Reason="r")
        client.create_qualification_type(**GERMAN | {"Name": f"kind {number}"})
    mine = {"MustBeRequestable": False, "MustBeOwnedByCaller": True}
    cases: dict[str, tuple[dict[str, Any], str]] = {
        "list_assignments_for_hit": ({"HITId": hits[0]}, "Assignments"),
        "list_bonus_payments": ({"HITId": hits[0]}, "BonusPayments"),
        "list_hits": ({}, "HITs"),
        "list_qualification_types": (mine, "QualificationTypes"),
        "list_worker_blocks": ({}, "WorkerBlocks"),
    }
    for operation, (request, member) in cases.items():
        pages = list(client.get_paginator(operation).paginate(**request, PaginationConfig={"PageSize": 2}))
        assert [len(page[member]) for page in pages] == [2, 2, 1], operation
        assert len({str(record) for page in pages for record in page[member]}) == 5, operation
    token = client.list_hits(MaxResults=1)["NextToken"]
    assert refused(client.list_worker_blocks, NextToken=token)[1].startswith("NextToken: expected")
    for foreign in ("x", "====", "TGlzdEhJVHM6LTE=", "ü", "QWxs", "TGlzdEhJVHM6" + "OTk5" * 20):
        assert refused(client.list_hits, NextToken=foreign)[1].startswith("NextToken: expected")
    assert refused(client.list_hits, MaxResults=101)


def test_listing_assignments_reads_the_store_once(
    client: Any, market: LocalMarket, monkeypatch: pytest.MonkeyPatch
) -> None:
    hit = create(client, market, MaxAssignments=5)
    for number in range(5):
        market.submit(market.worker(f"w{number}"), hit)
    transactions, reading = [], market.store.file.reading

    def counted(now: int) -> Any:
        transactions.append(now)
        return reading(now)

    monkeypatch.setattr(market.store.file, "reading", counted)
    assert client.list_assignments_for_hit(HITId=hit)["NumResults"] == 5
    assert len(transactions) == 2  # the hit, and all its assignments


def test_operations_that_are_not_known_are_refused_and_named(client: Any) -> None:
    with pytest.raises(ClientError, match="ListReviewPolicyResultsForHIT"):
        client.list_review_policy_results_for_hit(HITId="3ABC")


def signed(market: LocalMarket, body: bytes, operation: str = "ListHITs", **changes: str) -> dict[str, str]:
    headers = {
        "X-Amz-Target": f"{PREFIX}.{operation}",
        "Content-Type": "application/x-amz-json-1.1",
    } | changes
    request = AWSRequest("POST", market.url, headers, body)
    keys = Credentials(market.keys.access_key, market.keys.secret_key)
    SigV4Auth(keys, SERVICE, "us-east-1").add_auth(request)
    return dict(request.headers) | {"Host": market.url.removeprefix("http://")}


def ask(market: LocalMarket, body: bytes, operation: str = "ListHITs", **changes: str) -> Response:
    return market.endpoint.answer(signed(market, body, operation, **changes), body, market.now)


def kind_of(response: Response) -> str:
    answer = json.loads(response.body)
    assert answer.get("Message") or answer.get("message")
    return str(answer["__type"])


def contents(market: LocalMarket) -> str:
    """A digest of all that is stored."""
    with market.store.file.reading(market.now) as db:
        return hashlib.sha256("\n".join(db.iterdump()).encode()).hexdigest()


def test_an_answer(market: LocalMarket) -> None:
    response = ask(market, b"{}")
    assert response.status == 200
    assert json.loads(response.body) == {"NumResults": 0, "HITs": []}
    assert response.headers["x-amzn-RequestId"]
    assert response.headers["Content-Length"] == str(len(response.body))


def hit_with(market: LocalMarket, **changes: Any) -> bytes:
    return json.dumps(market.request(**changes)).encode()


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"{", "SerializationException"),
        (b"\xff\xfe\x00", "SerializationException"),
        (b'{"Title": "\xc3\x28"}', "SerializationException"),
        (b"[" * 1_000_000, "SerializationException"),
        (b'{"a":' * 300_000, "SerializationException"),
        (b"null", "SerializationException"),
        (b'{"Title": NaN}', "RequestError"),
        (b'{"Title": "' + b"x" * 9_000_000 + b'"}', "RequestError"),
        (b'{"__proto__": {}}', "RequestError"),
        (b"{}", "RequestError"),
    ],
)
def test_hostile_bodies(market: LocalMarket, body: bytes, kind: str) -> None:
    before = contents(market)
    response = ask(market, body, "CreateHIT")
    assert (response.status, kind_of(response)) == (400, kind)
    assert contents(market) == before


@pytest.mark.parametrize(
    "changes",
    [
        {"Title": "\ud800"},
        {"RequesterAnnotation": "a\0b"},
        {"MaxAssignments": 2**70},
        {"Title": ["a"]},
        {"Unknown": 1},
        {"QualificationRequirements": [{"QualificationTypeId": "\ud800", "Comparator": "Exists"}]},
        {"QualificationRequirements": [{"Comparator": "Exists"}]},
        {"QualificationRequirements": "x"},
    ],
)
def test_values_that_cannot_be_stored(market: LocalMarket, changes: Mapping[str, Any]) -> None:
    before = contents(market)
    response = ask(market, hit_with(market, **changes), "CreateHIT")
    assert (response.status, kind_of(response)) == (400, "RequestError")
    assert contents(market) == before


@pytest.mark.parametrize("target", ["", "CreateHIT", "Other.ListHITs", f"{PREFIX}.Nonsense", "e" * 500])
def test_unknown_targets(market: LocalMarket, target: str) -> None:
    response = ask(market, b"{}", **{"X-Amz-Target": target})
    assert (response.status, kind_of(response)) == (400, "UnknownOperationException")


@pytest.mark.parametrize("end", ["now", "", "9999-99-99", [1]])
def test_times_that_are_none(client: Any, market: LocalMarket, end: Any) -> None:
    body = json.dumps({"HITId": create(client, market), "ExpireAt": end}).encode()
    assert kind_of(ask(market, body, "UpdateExpirationForHIT")) == "RequestError"


@pytest.mark.parametrize("end", [START := 1_800_000_100, f"{START}", "2027-01-15T08:01:40Z", 1_800_000_100.9])
def test_times_in_the_forms_that_clients_send(client: Any, market: LocalMarket, end: Any) -> None:
    hit = create(client, market)
    body = json.dumps({"HITId": hit, "ExpireAt": end}).encode()
    response = ask(market, body, "UpdateExpirationForHIT")
    if end == f"{START}":
        assert kind_of(response) == "RequestError"
    else:
        assert market.store.hits.find(hit, market.now)["Expiration"] == START


def test_unsigned_and_large_requests_change_nothing(market: LocalMarket) -> None:
    before = contents(market)
    response = market.endpoint.answer({"X-Amz-Target": f"{PREFIX}.CreateHIT"}, hit_with(market), market.now)
    assert (response.status, kind_of(response)) == (403, "MissingAuthenticationTokenException")
    assert market.endpoint.refuse_large().status == 413
    assert contents(market) == before


def test_a_failure_of_ours_tells_nothing(market: LocalMarket, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(HitStore, "all", fail)
    response = ask(market, b"{}")
    assert (response.status, kind_of(response)) == (500, "ServiceFault")
    assert b"secret" not in response.body
