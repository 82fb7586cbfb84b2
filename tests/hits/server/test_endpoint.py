"""The requester's protocol through boto3, requests that no boto3 would send, and signatures that do not fit."""

import hashlib
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import botocore.auth
import pytest
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from conftest import HIT
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from requester import create, refused, status
from store_lives import available

from hits.batch.question_xml import read_answers
from hits.market.folder import MarketAccess
from hits.qualifications import LOCALE, PERCENT_APPROVED
from hits.server.endpoint import MAX_SECONDS, SIGNING_NAME, SignedRequest, WireError, answer, verify
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
    wrong: dict[str, str]
    for wrong in ({"WorkerId": bob}, {"BonusAmount": "0.00"}, {"BonusAmount": "0.001"}, {"Reason": ""}):
        refused(client.send_bonus, **bonus | wrong)
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
    assert client.get_hit(HITId=create(client, market))["HIT"]["HITTypeId"] == hit_type
    assert client.get_hit(HITId=create(client, market, Reward="0.06"))["HIT"]["HITTypeId"] != hit_type
    for operation, member in (
        (client.get_hit, "HITId"),
        (client.list_assignments_for_hit, "HITId"),
        (client.approve_assignment, "AssignmentId"),
        (client.list_bonus_payments, "AssignmentId"),
        (client.get_qualification_type, "QualificationTypeId"),
    ):
        assert refused(operation, **{member: "3NONE"})[0].endswith("DoesNotExist")
    client.update_expiration_for_hit(HITId=hit, ExpireAt=0)
    assert "1 submitted" in refused(client.delete_hit, HITId=hit)[1]
    client.approve_assignment(AssignmentId=third)
    client.delete_hit(HITId=hit)
    assert status(client, hit) == "Disposed"
    assert client.list_hits()["NumResults"] == 2
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


@pytest.mark.slow
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
    for wrong in (
        {"Name": " "},
        {"QualificationTypeStatus": "Perhaps"},
        {"AnswerKey": KEY},
        TEST | {"AutoGranted": True},
        TEST | {"AnswerKey": "<AnswerKey/>"},
        TEST | {"Test": "<ExternalQuestion/>"},
    ):
        refused(client.create_qualification_type, **GERMAN | {"Name": "new"} | wrong)
    inactive = client.create_qualification_type(
        **GERMAN | {"Name": "old", "QualificationTypeStatus": "Inactive"}
    )
    rule = requires(inactive["QualificationType"]["QualificationTypeId"], "Exists")
    assert refused(client.create_hit, **market.request(**rule))[0] == "InvalidQualificationTypeState"


@pytest.mark.slow
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
    for foreign in ("x", "ListHITs:-1", "ListHITs:", "ü", "ListHITs:" + "9" * 19):
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


def contents(market: LocalMarket) -> str:
    """A digest of all that is stored."""
    with market.store.file.reading(market.now) as db:
        return hashlib.sha256("\n".join(db.iterdump()).encode()).hexdigest()


def sign(
    body: bytes = b"{}",
    access: MarketAccess | None = None,
    *,
    service: str = SIGNING_NAME,
    url: str = "http://127.0.0.1:8000/",
    operation: str = "GetHIT",
    headers: dict[str, str] | None = None,
) -> SignedRequest:
    """A request signed by botocore's own signer."""
    access = access or ACCESS
    base = {"X-Amz-Target": f"{PREFIX}.{operation}", "Content-Type": "application/x-amz-json-1.1"}
    request = AWSRequest("POST", url, base | (headers or {}), body)
    credentials = Credentials(access.access_key, access.secret_key)
    botocore.auth.SigV4Auth(credentials, service, "us-east-1").add_auth(request)
    host, _, rest = url.removeprefix("http://").partition("/")
    path, _, query = rest.partition("?")
    lower = {name.lower(): value for name, value in request.headers.items()} | {"host": host}
    return SignedRequest(lower, body, f"/{path}", query)


def ask(market: LocalMarket, body: bytes, operation: str = "ListHITs", **headers: str) -> tuple[int, str]:
    """The status of the answer to a signed request, and the type of its error."""
    request = sign(body, market.access, operation=operation, headers=headers)
    code, text, _ = answer(market.store, market.access, request, market.now)
    fault = json.loads(text)
    assert code == 200 or fault.get("Message") or fault.get("message")
    return code, fault.get("__type", "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"{", "SerializationException"),
        (b"\xff\xfe\x00", "SerializationException"),
        (b"[" * 1_000_000, "SerializationException"),
        (b"null", "SerializationException"),
        (b'{"Title": NaN}', "RequestError"),
        (b'{"Title": "' + b"x" * 9_000_000 + b'"}', "RequestError"),
        (b'{"__proto__": {}}', "RequestError"),
        *(
            (json.dumps(HIT | changes).encode(), "RequestError")
            for changes in (
                {"Title": "\ud800"},
                {"RequesterAnnotation": "a\0b"},
                {"MaxAssignments": 2**70},
                {"Title": ["a"]},
                {"QualificationRequirements": [{"QualificationTypeId": "\ud800", "Comparator": "Exists"}]},
            )
        ),
    ],
)
def test_hostile_bodies(market: LocalMarket, body: bytes, kind: str) -> None:
    before = contents(market)
    assert ask(market, body, "CreateHIT") == (400, kind)
    assert contents(market) == before


@pytest.mark.parametrize(
    "target", ["", "ListHITs", "Other.ListHITs", f"{PREFIX}.ListReviewPolicyResultsForHIT", "e" * 500]
)
def test_unknown_operations(market: LocalMarket, target: str) -> None:
    assert ask(market, b"{}", **{"X-Amz-Target": target}) == (400, "UnknownOperationException")


@pytest.mark.parametrize(
    ("end", "taken"),
    [
        ("now", False),
        ("9999-99-99", False),
        ([1], False),
        ("2027-01-15T08:01:40Z", False),
        (1_900_000_000, False),
        (1_800_000_100.9, True),
    ],
)
def test_times_in_the_forms_that_clients_send(
    client: Any, market: LocalMarket, end: Any, taken: bool
) -> None:
    hit = create(client, market)
    body = json.dumps({"HITId": hit, "ExpireAt": end}).encode()
    assert (ask(market, body, "UpdateExpirationForHIT")[0] == 200) == taken
    assert (market.store.hits.find(hit, market.now)["Expiration"] == 1_800_000_100) == taken


def test_a_failure_of_ours_reveals_nothing(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(HitStore, "all", fail)
    with pytest.raises(client.exceptions.ServiceFault) as error:
        client.list_hits()
    assert "secret" not in str(error.value.response)


NOW = 1_800_000_000
ACCESS = MarketAccess(access_key="AKIAEXAMPLE", secret_key="the/secret+key")
WRONG = "InvalidSignatureException"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The time at which requests are signed."""
    times = [NOW]
    monkeypatch.setattr(
        botocore.auth,
        "get_current_datetime",
        lambda: datetime.fromtimestamp(times[0], UTC).replace(tzinfo=None),
    )
    return times


def rejected(request: SignedRequest, access: MarketAccess = ACCESS) -> str:
    with pytest.raises(WireError) as error:
        verify(request, access, NOW)
    assert error.value.status in (400, 403)
    return error.value.kind


@pytest.mark.usefixtures("clock")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(
    st.binary(max_size=300),
    st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=60),
)
def test_any_body_and_any_secret(body: bytes, secret: str) -> None:
    access = MarketAccess(access_key="AKIA1", secret_key=secret)
    request = sign(body, access, url="http://localhost:81/requester/x?b=2&a=%20x&a=1&c")
    verify(request, access, NOW)
    assert rejected(request._replace(body=body + b" "), access) == WRONG
    assert rejected(request, MarketAccess(access_key="AKIA1", secret_key=secret + "x")) == WRONG


@pytest.mark.usefixtures("clock")
def test_a_signature_covers_headers_path_and_query() -> None:
    request = sign(url="http://h/p?q=1")
    for name in ("host", "x-amz-target", "content-type", "x-amz-date"):
        other = "20270115T080001Z" if name == "x-amz-date" else request.headers[name] + "x"
        assert rejected(request._replace(headers={**request.headers, name: other})) == WRONG
        gone = {key: value for key, value in request.headers.items() if key != name}
        assert rejected(request._replace(headers=gone)) == WRONG
    for path in ("/q", "/p?a=1", "/p#a", "/\ud800", "//evil/"):
        assert rejected(request._replace(path=path)) == WRONG
    for query in ("q=2", "#a", "\ud800"):
        assert rejected(request._replace(query=query)) == WRONG
    for date in ("", "now", "20271350T250000Z", "20270115T080000Z\n"):
        assert rejected(request._replace(headers={**request.headers, "x-amz-date": date})) == WRONG
    for authorization in (
        "Basic YTpi",
        "AWS4-HMAC-SHA256 " + "a" * 100_000,
        "AWS4 \ud800",
        "",
        request.headers["authorization"].replace("/20270115/", "/20270114/"),
    ):
        rejected(request._replace(headers={**request.headers, "authorization": authorization}))
    assert rejected(sign(access=MarketAccess(access_key="AKIAEXAMPLE", secret_key="another"))) == WRONG
    assert rejected(sign(access=MarketAccess(access_key="AKIAOTHER"))) == "UnrecognizedClientException"
    assert rejected(sign(service="s3")) == WRONG


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("name", ["x-amz-target", "host"])
def test_a_header_that_is_not_signed(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A valid signature that leaves out the target would let anybody who holds it choose the operation."""
    original = botocore.auth.SigV4Auth.headers_to_sign

    def fewer(signer: botocore.auth.SigV4Auth, request: AWSRequest) -> Any:
        headers = original(signer, request)
        del headers[name]
        return headers

    monkeypatch.setattr(botocore.auth.SigV4Auth, "headers_to_sign", fewer)
    with pytest.raises(WireError, match=f"signed: {name}"):
        verify(sign(), ACCESS, NOW)


@pytest.mark.usefixtures("clock")
def test_the_digest_in_a_header_is_that_of_the_body() -> None:
    """botocore signs what the header says; whoever changes the body must not get away by leaving the header."""
    digest = hashlib.sha256(b"{}").hexdigest()
    request = sign(headers={"X-Amz-Content-SHA256": digest})
    verify(request, ACCESS, NOW)
    assert rejected(request._replace(body=b'{"HITId": "3A"}')) == WRONG
    assert rejected(sign(headers={"X-Amz-Content-SHA256": "UNSIGNED-PAYLOAD"})) == WRONG


def test_a_clock_may_be_a_little_off(clock: list[int]) -> None:
    for shift in (-MAX_SECONDS, MAX_SECONDS):
        clock[0] = NOW + shift
        verify(sign(), ACCESS, NOW)
    for shift in (-MAX_SECONDS - 1, MAX_SECONDS + 1, 86400):
        clock[0] = NOW + shift
        assert rejected(sign()) == WRONG
