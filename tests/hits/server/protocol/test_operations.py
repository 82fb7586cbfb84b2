"""The operations as a whole: all are there, and what the local market does not do says so."""

from typing import TYPE_CHECKING, Any

from hits.server.protocol.operations import OPERATIONS
from hits.server.protocol.wire import WireProtocol

if TYPE_CHECKING:
    from conftest import LocalMarket
else:
    LocalMarket = Any
from requester import create, refused


def test_every_operation_of_the_service_has_its_function() -> None:
    assert set(OPERATIONS) == WireProtocol().operations


def test_what_the_local_market_does_not_do(client: Any, market: LocalMarket) -> None:
    hit = create(client, market)
    kind = client.get_hit(HITId=hit)["HIT"]["HITTypeId"]
    done = market.submit(market.worker(), hit)
    to = {
        "Destination": "a@b.c",
        "Transport": "Email",
        "Version": "2006-05-05",
        "EventTypes": ["HITReviewable"],
    }
    for call, request in (
        (client.get_file_upload_url, {"AssignmentId": done, "QuestionIdentifier": "q"}),
        (client.send_test_event_notification, {"Notification": to, "TestEventType": "Ping"}),
        (client.update_notification_settings, {"HITTypeId": kind, "Notification": to, "Active": True}),
    ):
        code, message = refused(call, **request)
        assert code.endswith("NotSupported")
        assert message.startswith("The local market")
    refused(client.update_notification_settings, HITTypeId=kind)
    code, _ = refused(client.update_notification_settings, HITTypeId="3NOSUCHTYPE", Active=False)
    assert code.endswith("HITTypeDoesNotExist")
    client.update_notification_settings(HITTypeId=kind, Active=False)
    assert client.list_review_policy_results_for_hit(HITId=hit)["HITId"] == hit
    assert client.get_account_balance()["AvailableBalance"] == "10000.00"
