"""Qualification types, values and requests through the client."""

from typing import TYPE_CHECKING, Any

import pytest

from hits.batch.question_xml import read_answers
from hits.server.store.requirements import LOCALE, PERCENT_APPROVED

if TYPE_CHECKING:
    from conftest import LocalMarket
else:
    LocalMarket = Any
from requester import create, refused
from store_lives import available

FORM = (
    "<QuestionForm><Question><QuestionIdentifier>q</QuestionIdentifier><QuestionContent><Text>?</Text></QuestionContent>"
    "<AnswerSpecification><FreeTextAnswer/></AnswerSpecification></Question></QuestionForm>"
)
EXTERNAL = "<ExternalQuestion><ExternalURL>https://example.org/x</ExternalURL><FrameHeight>400</FrameHeight></ExternalQuestion>"
KEY = (
    "<AnswerKey><Question><QuestionIdentifier>q</QuestionIdentifier><AnswerOption>"
    "<SelectionIdentifier>right</SelectionIdentifier><AnswerScore>5</AnswerScore></AnswerOption></Question></AnswerKey>"
)


def test_qualification_types(client: Any, market: LocalMarket) -> None:
    new = {
        "Name": "German",
        "Description": "reads German",
        "Keywords": "de",
        "QualificationTypeStatus": "Active",
    }
    kind = client.create_qualification_type(**new)["QualificationType"]
    assert kind["IsRequestable"] is True
    assert (
        client.get_qualification_type(QualificationTypeId=kind["QualificationTypeId"])["QualificationType"]
        == kind
    )
    code, message = refused(client.create_qualification_type, **new)
    assert code == "QualificationTypeAlreadyExists"
    assert kind["QualificationTypeId"] in message
    tested = client.create_qualification_type(
        **new | {"Name": "Tested"}, Test=FORM, AnswerKey=KEY, TestDurationInSeconds=60, RetryDelayInSeconds=5
    )["QualificationType"]
    assert (tested["Test"], tested["AnswerKey"], tested["TestDurationInSeconds"]) == (FORM, KEY, 60)

    def names(**request: Any) -> list[str]:
        return [
            one["Name"]
            for one in client.list_qualification_types(MaxResults=100, **request)["QualificationTypes"]
        ]

    assert names(MustBeRequestable=True) == ["German", "Tested"]
    assert names(MustBeRequestable=False, MustBeOwnedByCaller=True, Query="GERMAN") == ["German", "Tested"]
    assert names(MustBeRequestable=True, Query="teste") == ["Tested"]
    assert len(names(MustBeRequestable=False)) == 8
    assert names(MustBeRequestable=False, Query="locale") == ["Worker_Locale"]

    update = {"QualificationTypeId": kind["QualificationTypeId"]}
    changed = client.update_qualification_type(
        **update, Description="d", QualificationTypeStatus="Inactive", AutoGranted=True
    )
    wanted = {
        "Description": "d",
        "QualificationTypeStatus": "Inactive",
        "AutoGranted": True,
        "AutoGrantedValue": 1,
    }
    assert changed["QualificationType"].items() >= wanted.items()
    rule = [{"QualificationTypeId": kind["QualificationTypeId"], "Comparator": "Exists"}]
    inactive = refused(client.create_hit, **market.request(QualificationRequirements=rule))
    assert inactive[0] == "InvalidQualificationTypeState"
    renewed = client.update_qualification_type(**update, Test=FORM, TestDurationInSeconds=9)[
        "QualificationType"
    ]
    assert (renewed["AutoGranted"], renewed["TestDurationInSeconds"], "AnswerKey" in renewed) == (
        False,
        9,
        False,
    )
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
    market.store.requests.ask(bob, kind, market.now)
    client.delete_qualification_type(QualificationTypeId=kind)
    assert (
        refused(client.get_qualification_type, QualificationTypeId=kind)[0] == "QualificationTypeDoesNotExist"
    )
    again = {"HITTypeId": hit["HITTypeId"], "LifetimeInSeconds": 60, "Question": FORM}
    assert refused(client.create_hit_with_hit_type, **again)[0] == "HITTypeDoesNotExist"
    assert client.list_qualification_requests()["NumResults"] == 0
    assert [found.id for found in available(market.store, ada, market.now)] == [hit["HITId"]]
    assert client.create_qualification_type(**new)["QualificationType"]["QualificationTypeId"] != kind


def test_workers_qualifications(client: Any, market: LocalMarket) -> None:
    kind = client.create_qualification_type(Name="n", Description="d", QualificationTypeStatus="Active")[
        "QualificationType"
    ]["QualificationTypeId"]
    worker = market.worker()
    both = {"QualificationTypeId": kind, "WorkerId": worker}
    assert refused(client.get_qualification_score, **both)[0] == "QualificationDoesNotExist"
    client.associate_qualification_with_worker(**both, IntegerValue=70)
    assert len(market.store.people.messages(worker)) == 1
    client.associate_qualification_with_worker(**both, IntegerValue=90, SendNotification=False)
    assert len(market.store.people.messages(worker)) == 1
    found = client.get_qualification_score(**both)["Qualification"]
    assert (found["IntegerValue"], found["Status"], found["WorkerId"]) == (90, "Granted", worker)
    assert client.list_workers_with_qualification_type(QualificationTypeId=kind)["NumResults"] == 1
    client.disassociate_qualification_from_worker(**both, Reason="expired")
    assert client.get_qualification_score(**both)["Qualification"]["Status"] == "Revoked"
    assert client.list_workers_with_qualification_type(QualificationTypeId=kind)["NumResults"] == 0
    revoked = client.list_workers_with_qualification_type(QualificationTypeId=kind, Status="Revoked")
    assert revoked["Qualifications"][0]["WorkerId"] == worker
    assert refused(client.disassociate_qualification_from_worker, **both)[0] == "QualificationDoesNotExist"
    assert refused(client.associate_qualification_with_worker, **both | {"QualificationTypeId": LOCALE})[
        0
    ] == ("PermissionDeniedException")
    rate = client.get_qualification_score(QualificationTypeId=PERCENT_APPROVED, WorkerId=worker)[
        "Qualification"
    ]
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
        request = market.store.requests.ask(worker, kind, market.now)
        market.store.requests.submit_test(request.id, worker, {"q": "right"}, market.now)
    waiting = client.list_qualification_requests(QualificationTypeId=kind)["QualificationRequests"]
    assert [one["WorkerId"] for one in waiting] == [ada, bob]
    assert read_answers(waiting[0]["Answer"]) == {"q": "right"}
    assert waiting[0]["Test"] == FORM
    ids = [one["QualificationRequestId"] for one in waiting]
    client.accept_qualification_request(QualificationRequestId=ids[0], IntegerValue=88)
    client.reject_qualification_request(QualificationRequestId=ids[1], Reason="wrong")
    score = client.get_qualification_score(QualificationTypeId=kind, WorkerId=ada)["Qualification"]
    assert score["IntegerValue"] == 88
    assert market.store.people.messages(bob)[0].text == "wrong"
    assert client.list_qualification_requests()["NumResults"] == 0
    assert refused(client.accept_qualification_request, QualificationRequestId=ids[0])[0] == (
        "InvalidQualificationRequestState"
    )
    assert refused(client.reject_qualification_request, QualificationRequestId="3NONE")[0] == (
        "QualificationRequestDoesNotExist"
    )
    assert (
        refused(client.list_qualification_requests, QualificationTypeId="3NONE")[0]
        == "QualificationTypeDoesNotExist"
    )


@pytest.mark.parametrize("masters", ["2F1QJWKUDD8XADTFD2Q0G6UTO95ALH", "2ARFPLSP75KLA8M8DH1HTEQVJT3SY6"])
def test_a_hit_for_masters_is_known_and_open_to_nobody(
    client: Any, market: LocalMarket, masters: str
) -> None:
    rule = {"QualificationTypeId": masters, "Comparator": "Exists"}
    create(client, market, QualificationRequirements=[rule])
    assert market.store.open_hits.groups(market.worker(), market.now) == []
    assert (
        client.get_qualification_type(QualificationTypeId=masters)["QualificationType"]["Name"] == "Masters"
    )
