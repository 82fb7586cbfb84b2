"""Assignments, bonuses, blocks and messages through the client."""

from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conftest import LocalMarket
else:
    LocalMarket = Any
from requester import create, refused
from store_lives import available

DAY = 86400


def test_approving_and_rejecting(client: Any, market: LocalMarket) -> None:
    hit = create(client, market, MaxAssignments=3)
    first, second, third = (market.submit(market.worker(name), hit) for name in "abc")
    client.approve_assignment(AssignmentId=first)
    assert refused(client.approve_assignment, AssignmentId=first)[0] == "InvalidAssignmentState"
    assert (
        refused(client.reject_assignment, AssignmentId=first, RequesterFeedback="x")[0]
        == "InvalidAssignmentState"
    )
    client.reject_assignment(AssignmentId=second, RequesterFeedback="too fast")
    assert refused(client.approve_assignment, AssignmentId=second)[0] == "InvalidAssignmentState"
    market.now += 10
    client.approve_assignment(AssignmentId=second, OverrideRejection=True)
    found = client.get_assignment(AssignmentId=second)["Assignment"]
    assert (found["AssignmentStatus"], found["RequesterFeedback"]) == ("Approved", "too fast")
    assert found["ApprovalTime"].timestamp() == found["RejectionTime"].timestamp() + 10
    client.reject_assignment(AssignmentId=third, RequesterFeedback="no")
    market.now += 30 * DAY
    assert (
        refused(client.approve_assignment, AssignmentId=third, OverrideRejection=True)[0]
        == "InvalidAssignmentState"
    )
    assert refused(client.approve_assignment, AssignmentId="3NONE")[0] == "AssignmentDoesNotExist"
    assert (
        refused(client.reject_assignment, AssignmentId="3NONE", RequesterFeedback="x")[0]
        == "AssignmentDoesNotExist"
    )
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
    assert market.store.work.earnings(worker, market.now).bonuses == Decimal("3.00")
    assert market.store.people.messages(worker)[0].text == "well done"
    other = market.worker("Bob")
    for changes in (
        {"WorkerId": other},
        {"BonusAmount": "0"},
        {"BonusAmount": "0.00"},
        {"AssignmentId": "3NONE"},
        {"Reason": ""},
    ):
        refused(client.send_bonus, **bonus | changes)
    held = market.store.work.accept(other, hit, market.now)
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
    assert available(market.store, worker, market.now) == []
    client.delete_worker_block(WorkerId=worker)
    client.delete_worker_block(WorkerId=worker, Reason="was not blocked")
    assert client.list_worker_blocks()["NumResults"] == 0
    assert len(available(market.store, worker, market.now)) == 1
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
    (found,) = market.store.people.messages(ada, unseen=True)
    assert (found.subject, found.text) == ("More work", "There is more.\nCome back!")
    market.store.people.mark_seen(ada, market.now)
    assert market.store.people.messages(ada, unseen=True) == []
    for changes in (
        {"Subject": "x" * 201},
        {"MessageText": "x" * 4097},
        {"WorkerIds": ["A1"] * 101},
        {"WorkerIds": []},
    ):
        refused(client.notify_workers, **message | {"WorkerIds": [ada]} | changes)
