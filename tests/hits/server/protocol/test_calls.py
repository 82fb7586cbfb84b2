"""Lists in pages, through the client and its paginators."""

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from hits.server.store.hits import NewHit
from hits.server.store.records import HitProperties

if TYPE_CHECKING:
    from conftest import LocalMarket
else:
    LocalMarket = Any
from requester import create, refused

FORM = (
    "<QuestionForm><Question><QuestionIdentifier>q</QuestionIdentifier><QuestionContent><Text>?</Text></QuestionContent>"
    "<AnswerSpecification><FreeTextAnswer/></AnswerSpecification></Question></QuestionForm>"
)


def test_more_than_a_hundred_hits(client: Any, market: LocalMarket) -> None:
    properties = HitProperties("t", "d", Decimal("0.01"), 60)
    made = [
        market.store.hits.create(properties, NewHit(FORM, 600, annotation=f"a:{n}"), market.now).id
        for n in range(230)
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
        market.store.requests.ask(worker, kinds[1], market.now)
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


@pytest.mark.parametrize(
    "token", ["x", "====", "TGlzdEhJVHM6LTE=", "ü", "QWxs", "TGlzdEhJVHM6" + "OTk5" * 20]
)
def test_foreign_page_tokens(client: Any, token: str) -> None:
    assert refused(client.list_hits, NextToken=token)[1].startswith("NextToken: expected")


def test_a_token_belongs_to_its_list(client: Any, market: LocalMarket) -> None:
    create(client, market)
    create(client, market)
    token = client.list_hits(MaxResults=1)["NextToken"]
    code, message = refused(client.list_worker_blocks, NextToken=token)
    assert (code, message) == (
        "AWS.ParameterValidationFailed",
        "NextToken: expected a token from an earlier page of the same list",
    )
    assert client.list_hits(MaxResults=1, NextToken=token)["NumResults"] == 1
