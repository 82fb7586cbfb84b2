import hashlib
import http.client
import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from hits.server.protocol.endpoint import Response
from hits.server.protocol.signature import SERVICE
from hits.server.store.hits import HitStore

if TYPE_CHECKING:
    from conftest import LocalMarket
else:
    LocalMarket = Any

PREFIX = "MTurkRequesterServiceV20170117"


def signed(market: LocalMarket, body: bytes, operation: str = "ListHITs", **changes: str) -> dict[str, str]:
    headers = {
        "X-Amz-Target": f"{PREFIX}.{operation}",
        "Content-Type": "application/x-amz-json-1.1",
    } | changes
    request = AWSRequest("POST", market.url, headers, body)
    SigV4Auth(Credentials(market.keys.access_key, market.keys.secret_key), SERVICE, "us-east-1").add_auth(
        request
    )
    return dict(request.headers) | {"Host": market.url.removeprefix("http://")}


def ask(market: LocalMarket, body: bytes, operation: str = "ListHITs", **changes: str) -> Response:
    return market.endpoint.answer(signed(market, body, operation, **changes), body, market.now)


def error(response: Response) -> str:
    assert response.headers["Content-Type"] == "application/x-amz-json-1.1"
    found = json.loads(response.body)
    assert found.get("Message") or found.get("message")
    return str(found["__type"])


def contents(market: LocalMarket) -> str:
    """A digest of all that is stored, but for the signatures seen."""
    with market.store.file.reading(market.now) as db:
        rows = [line for line in db.iterdump() if not line.startswith('INSERT INTO "signatures"')]
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()


def test_an_answer(market: LocalMarket) -> None:
    response = ask(market, b"{}")
    assert response.status == 200
    assert json.loads(response.body) == {"NumResults": 0, "HITs": []}
    assert response.headers["x-amzn-RequestId"]
    assert response.headers["Content-Length"] == str(len(response.body))


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"{", "SerializationException"),
        (b"\xff\xfe\x00", "SerializationException"),
        (b'{"Title": "\xc3\x28"}', "SerializationException"),
        (b"[" * 1_000_000, "SerializationException"),
        (b'{"a":' * 300_000, "SerializationException"),
        (b'{"Title": NaN}', "SerializationException"),
        (b"null", "SerializationException"),
        (b'{"Title": "\\ud800"}', "RequestError"),
        (b'{"Title": "' + b"x" * 9_000_000 + b'"}', "RequestError"),
        (b'{"__proto__": {}}', "RequestError"),
        (b"{}", "RequestError"),
    ],
)
def test_hostile_bodies(market: LocalMarket, body: bytes, kind: str) -> None:
    before = contents(market)
    response = ask(market, body, "CreateHIT")
    assert response.status == 400
    assert error(response) == kind
    assert contents(market) == before


def test_a_body_over_the_limit_is_refused_unread(market: LocalMarket) -> None:
    before = contents(market)
    body = b'{"Title": "' + b"x" * 10_485_760 + b'"}'
    response = ask(market, body, "CreateHIT")
    assert (response.status, error(response)) == (413, "RequestEntityTooLargeException")
    connection = http.client.HTTPConnection(market.url.removeprefix("http://"), timeout=180)
    connection.putrequest("POST", "/")
    connection.putheader("Content-Length", str(10**12))
    connection.endheaders()
    answer = connection.getresponse()
    assert answer.status == 413
    assert json.loads(answer.read())["__type"] == "RequestEntityTooLargeException"
    connection.close()
    assert contents(market) == before


@pytest.mark.parametrize("operation", ["Nonsense", "", "CreateHIT;DROP TABLE hits", "../GetHIT"])
def test_unknown_operations(market: LocalMarket, operation: str) -> None:
    response = ask(market, b"{}", operation)
    assert (response.status, error(response)) == (400, "UnknownOperationException")


def test_other_content_types_and_methods(market: LocalMarket) -> None:
    assert ask(market, b"{}", **{"Content-Type": "text/plain"}).status == 415
    for method in ("GET", "PUT", "DELETE"):
        assert market.endpoint.answer({}, b"", market.now, method=method).status == 405


@pytest.mark.parametrize(
    "headers", [{}, {"X-Amz-Target": f"{PREFIX}.ListHITs"}, {"Authorization": "Bearer x"}]
)
def test_without_a_signature_nobody_comes_in(market: LocalMarket, headers: dict[str, str]) -> None:
    response = market.endpoint.answer(headers, b"{}", market.now)
    assert response.status in (400, 403)
    assert error(response).endswith("Exception")


def test_a_replayed_request_changes_nothing(market: LocalMarket) -> None:
    body = json.dumps(market.request()).encode()
    headers = signed(market, body, "CreateHIT") | {"amz-sdk-invocation-id": "1"}
    assert market.endpoint.answer(headers, body, market.now).status == 200
    before = contents(market)
    for later in (0, 1, 5, 60):
        for changes in ({}, {"amz-sdk-invocation-id": "2"}, {"amz-sdk-request": f"attempt={later}"}):
            response = market.endpoint.answer(
                headers | changes, body, market.now + later, connection="10.0.0.9:1"
            )
            assert response.status == 403
            assert "sent before" in json.loads(response.body)["message"]
            assert ("x-amz-retry-after" in response.headers) == (
                error(response) != "InvalidSignatureException"
            )
    assert contents(market) == before


def test_a_forged_request_changes_nothing(market: LocalMarket) -> None:
    body = json.dumps(market.request()).encode()
    headers = signed(market, body, "CreateHIT")
    before = contents(market)
    forged = json.dumps(market.request(Reward="99.00")).encode()
    assert market.endpoint.answer(headers, forged, market.now).status == 403
    assert (
        market.endpoint.answer(headers | {"X-Amz-Target": f"{PREFIX}.CreateHITType"}, body, market.now).status
        == 403
    )
    assert contents(market) == before


def test_wrong_keys_through_the_client(market: LocalMarket) -> None:
    for changes, kind in (
        ({"aws_secret_access_key": "guess"}, "InvalidSignatureException"),
        ({"aws_access_key_id": "AKIAGUESS"}, "UnrecognizedClientException"),
    ):
        with pytest.raises(ClientError) as caught:
            market.client(**changes).list_hits()
        assert caught.value.response["Error"]["Code"] == kind
        assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403


def test_a_clock_off_by_more_than_fifteen_minutes(market: LocalMarket) -> None:
    body = b"{}"
    headers = signed(market, body)
    for shift, status in ((-901, 403), (901, 403), (900, 200)):
        assert market.endpoint.answer(headers, body, market.now + shift).status == status


def test_a_failure_of_the_market_is_a_service_fault(market: LocalMarket) -> None:
    def fail(*arguments: object, **named: object) -> None:
        raise OSError("disk on fire, key " + market.keys.secret_key)

    market.store.hits = fail  # type: ignore[method-assign,assignment]
    response = ask(market, b"{}")
    assert (response.status, error(response)) == (500, "ServiceFault")
    assert b"fire" not in response.body
    market.now += 1
    with pytest.raises(ClientError) as caught:
        market.client().list_hits()
    assert caught.value.response["Error"]["Code"] == "ServiceFault"


def test_the_clients_own_retry_is_no_replay(market: LocalMarket, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock stands still, so the second try has the signature of the first, which failed on our side."""
    whole, fails, heard = HitStore.all, [OSError("busy")], []

    def hits(*arguments: Any, **named: Any) -> Any:
        if fails:
            raise fails.pop()
        return whole(*arguments, **named)

    monkeypatch.setattr(HitStore, "all", hits)
    client = market.client(config=Config(retries={"mode": "standard", "total_max_attempts": 2}, proxies={}))
    client.meta.events.register("before-send.mturk", lambda request, **_: heard.append(request.headers))
    assert client.list_hits()["NumResults"] == 0
    assert len(heard) == 2
    assert heard[0]["Authorization"] == heard[1]["Authorization"]
    assert heard[0]["amz-sdk-invocation-id"] == heard[1]["amz-sdk-invocation-id"]


def test_many_clients_at_once(market: LocalMarket) -> None:
    """The same token from all sides makes one hit; other hits all come."""
    clients = [market.client() for _ in range(8)]
    refusals: set[str] = set()

    def create(number: int) -> str | None:
        try:
            token = "same" if number % 2 else f"t{number}"
            return str(
                clients[number % 8].create_hit(**market.request(UniqueRequestToken=token))["HIT"]["HITId"]
            )
        except ClientError as caught:
            refusals.add(caught.response["TurkErrorCode"])
            return None

    with ThreadPoolExecutor(8) as pool:
        made = {hit for hit in pool.map(create, range(40)) if hit}
    assert len(made) == 21
    assert refusals == {"AWS.MechanicalTurk.HitAlreadyExists"}
    assert {hit.id for hit in market.store.hits.all(market.now)} == made


def test_nothing_secret_is_stored_in_plain_answers(market: LocalMarket) -> None:
    for body, operation in ((b"{}", "ListHITs"), (b"{}", "GetAccountBalance"), (b"{", "GetHIT")):
        assert market.keys.secret_key.encode() not in ask(market, body, operation).body
