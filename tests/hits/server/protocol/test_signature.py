from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import botocore.auth
import pytest
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hits.market.folder import Keys, new_keys
from hits.server.protocol.signature import SERVICE, SKEW, SignedRequest, verify
from hits.server.protocol.wire import WireError
from hits.server.store.signatures import AGAIN, SignatureUse
from hits.server.store.store import Store

NOW = 1_800_000_000
KEYS = Keys("AKIAEXAMPLE", "the/secret+key")
Sign = Callable[..., SignedRequest]


def always_new(use: SignatureUse) -> None:
    """No request is a replay."""


def accepted(request: SignedRequest, now: int = NOW, keys: Keys = KEYS) -> SignatureUse:
    """What is noted of a request that passes: its own signature, until it is too old."""
    noted: list[SignatureUse] = []
    verify(request, keys, now, lambda use: noted.append(use))
    [use] = noted
    assert request.headers["authorization"].endswith(f"Signature={use.signature}")
    assert use.now == now <= use.expires
    return use


@pytest.fixture
def sign(monkeypatch: pytest.MonkeyPatch) -> Sign:
    """Sign with botocore's own signer."""

    def signed(
        body: bytes = b"{}",
        *,
        at: int = NOW,
        keys: Keys = KEYS,
        service: str = SERVICE,
        region: str = "us-east-1",
        url: str = "http://127.0.0.1:8000/",
        headers: dict[str, str] | None = None,
    ) -> SignedRequest:
        moment = datetime.fromtimestamp(at, UTC).replace(tzinfo=None)
        monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda: moment)
        base = {
            "X-Amz-Target": "MTurkRequesterServiceV20170117.GetHIT",
            "Content-Type": "application/x-amz-json-1.1",
        }
        request = AWSRequest("POST", url, base | (headers or {}), body)
        botocore.auth.SigV4Auth(Credentials(keys.access_key, keys.secret_key), service, region).add_auth(
            request
        )
        host, _, rest = url.removeprefix("http://").partition("/")
        path, _, query = rest.partition("?")
        lower = {name.lower(): value for name, value in request.headers.items()} | {"host": host}
        return SignedRequest(lower, body, "POST", f"/{path}", query)

    return signed


def refused(request: SignedRequest, now: int = NOW, keys: Keys = KEYS) -> str:
    with pytest.raises(WireError) as error:
        verify(request, keys, now, always_new)
    assert error.value.status in (400, 403)
    return error.value.kind


def test_botocores_signature_is_accepted(sign: Sign) -> None:
    uses = [
        accepted(sign()),
        accepted(sign(b'{"HITId": "3A"}', region="eu-west-1", headers={"X-Amz-Extra": " a   b "})),
        accepted(sign(url="http://localhost:81/requester/x?b=2&a=%20x&a=1&c")),
    ]
    assert len({use.signature for use in uses}) == 3


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(
    st.binary(max_size=300),
    st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=60),
)
def test_any_body_and_any_secret(sign: Sign, body: bytes, secret: str) -> None:
    keys = Keys("AKIA1", secret)
    request = sign(body, keys=keys)
    accepted(request, keys=keys)
    assert refused(replace(request, body=body + b" "), keys=keys) == "InvalidSignatureException"
    assert refused(request, keys=Keys("AKIA1", secret + "x")) == "InvalidSignatureException"


@pytest.mark.parametrize("name", ["host", "x-amz-target", "content-type", "x-amz-date"])
def test_a_changed_header(sign: Sign, name: str) -> None:
    request = sign()
    other = "20270115T080001Z" if name == "x-amz-date" else request.headers[name] + "x"
    assert (
        refused(replace(request, headers=dict(request.headers) | {name: other}))
        == "InvalidSignatureException"
    )
    gone = {key: value for key, value in request.headers.items() if key != name}
    assert refused(replace(request, headers=gone)) == "InvalidSignatureException"


def test_a_changed_method_path_or_query(sign: Sign) -> None:
    request = sign(url="http://h/p?q=1")
    accepted(request)
    for changed in (
        replace(request, method="PUT"),
        replace(request, path="/q"),
        replace(request, query="q=2"),
    ):
        assert refused(changed) == "InvalidSignatureException"


@pytest.mark.parametrize("name", ["x-amz-target", "host"])
def test_a_header_that_is_not_signed(sign: Sign, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A valid signature that leaves out the target would let anybody who holds it choose the operation."""
    original = botocore.auth.SigV4Auth.headers_to_sign

    def fewer(signer: botocore.auth.SigV4Auth, request: AWSRequest) -> Any:
        headers = original(signer, request)
        del headers[name]
        return headers

    monkeypatch.setattr(botocore.auth.SigV4Auth, "headers_to_sign", fewer)
    with pytest.raises(WireError, match=f"to be signed: {name}"):
        verify(sign(), KEYS, NOW, always_new)


def test_the_digest_in_a_header_is_that_of_the_body(sign: Sign) -> None:
    """botocore signs what the header says; whoever changes the body must not get away by leaving the header."""
    digest = sha256(b"{}").hexdigest()
    request = sign(headers={"X-Amz-Content-SHA256": digest})
    accepted(request)
    assert refused(replace(request, body=b'{"HITId": "3A"}')) == "InvalidSignatureException"
    unsigned = sign(headers={"X-Amz-Content-SHA256": "UNSIGNED-PAYLOAD"})
    assert refused(unsigned) == "InvalidSignatureException"
    plain = sign()
    smuggled = replace(plain, body=b"x", headers=dict(plain.headers) | {"x-amz-content-sha256": digest})
    assert refused(smuggled) == "InvalidSignatureException"


@pytest.mark.parametrize(
    "change",
    [
        {"path": "/?a=1"},
        {"path": "/#a"},
        {"query": "#a"},
        {"query": "a"},
        {"path": "/\ud800"},
        {"query": "\ud800"},
        {"path": "//evil/"},
        {"path": ""},
        {"method": "\ud800"},
    ],
)
def test_odd_paths_and_queries(sign: Sign, change: dict[str, str]) -> None:
    request = sign(url="http://127.0.0.1:8000/")
    if change == {"path": ""}:
        accepted(replace(request, **change))  # no path is the path /
    else:
        assert refused(replace(request, **change)) == "InvalidSignatureException"


def test_other_keys(sign: Sign) -> None:
    assert refused(sign(keys=Keys("AKIAEXAMPLE", "another"))) == "InvalidSignatureException"
    assert refused(sign(keys=Keys("AKIAOTHER", KEYS.secret_key))) == "UnrecognizedClientException"


def test_a_scope_of_another_day(sign: Sign, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key for a day, if it leaked, must not sign for other days."""
    yesterday = "20270114/us-east-1/mturk-requester/aws4_request"
    monkeypatch.setattr(botocore.auth.SigV4Auth, "credential_scope", lambda signer, request: yesterday)
    monkeypatch.setattr(
        botocore.auth.SigV4Auth,
        "scope",
        lambda signer, request: f"{signer.credentials.access_key}/{yesterday}",
    )
    original = botocore.auth.SigV4Auth.signature

    def signature(signer: botocore.auth.SigV4Auth, text: str, request: AWSRequest) -> Any:
        request.context["timestamp"] = "20270114T080000Z"
        return original(signer, text, request)

    monkeypatch.setattr(botocore.auth.SigV4Auth, "signature", signature)
    with pytest.raises(WireError, match="day is not that"):
        verify(sign(), KEYS, NOW, always_new)


def test_another_service(sign: Sign) -> None:
    assert refused(sign(service="s3")) == "InvalidSignatureException"


@pytest.mark.parametrize("shift", [-SKEW, SKEW, 0, 1])
def test_a_clock_that_is_a_little_off(sign: Sign, shift: int) -> None:
    assert accepted(sign(at=NOW + shift)).expires == NOW + shift + SKEW


@pytest.mark.parametrize("shift", [-SKEW - 1, SKEW + 1, 86400, -86400])
def test_a_clock_that_is_far_off(sign: Sign, shift: int) -> None:
    assert refused(sign(at=NOW + shift)) == "InvalidSignatureException"


@pytest.mark.parametrize(
    ("authorization", "kind"),
    [
        (None, "MissingAuthenticationTokenException"),
        ("", "MissingAuthenticationTokenException"),
        ("Basic YTpi", "IncompleteSignatureException"),
        ("AWS4-HMAC-SHA256", "IncompleteSignatureException"),
        ("AWS4-HMAC-SHA256 Credential=A, SignedHeaders=host, Signature=0", "IncompleteSignatureException"),
        (
            f"AWS4-HMAC-SHA256 Credential=A/B, SignedHeaders=host, Signature={'0' * 64}",
            "IncompleteSignatureException",
        ),
        ("AWS4-HMAC-SHA256 " + "a" * 100_000, "IncompleteSignatureException"),
        (
            f"AWS4-HMAC-SHA256 Credential=\ud800/20270115/r/s/aws4_request, SignedHeaders=host, Signature={'0' * 64}",
            "IncompleteSignatureException",
        ),
    ],
)
def test_broken_authorization(sign: Sign, authorization: str | None, kind: str) -> None:
    headers = {name: value for name, value in sign().headers.items() if name != "authorization"}
    if authorization is not None:
        headers["authorization"] = authorization
    assert refused(SignedRequest(headers, b"{}")) == kind


@pytest.mark.parametrize(
    "date", ["", "now", "20271350T250000Z", "2027-01-15T08:00:00Z", "20270115T080000Z\n"]
)
def test_broken_date(sign: Sign, date: str) -> None:
    request = sign()
    assert (
        refused(replace(request, headers=dict(request.headers) | {"x-amz-date": date}))
        == "InvalidSignatureException"
    )


def sent(request: SignedRequest, connection: str, number: int, attempt: int = 1) -> SignedRequest:
    """A request as it comes: the client's names of call and try are not under the signature."""
    names = {"amz-sdk-invocation-id": str(number), "amz-sdk-request": f"attempt={attempt}; max=3"}
    return replace(request, headers=dict(request.headers) | names, connection=connection)


def answer(request: SignedRequest, store: Store, now: int = NOW) -> str:
    """How a request is answered: taken, or the kind of its refusal."""
    try:
        verify(request, KEYS, now, store.signatures.note)
    except WireError as error:
        return error.kind if error.status == 403 and "sent before" in error.message else error.message
    return "taken"


@pytest.mark.parametrize("connection", ["10.0.0.9:1234", ""])
def test_a_replay_under_any_name_is_refused_also_after_a_restart(
    sign: Sign, tmp_path: Path, connection: str
) -> None:
    request = sign()
    with Store(tmp_path / "market.db") as store:
        assert answer(sent(request, "10.0.0.1:1000", 1), store) == "taken"
        for number in (1, 2):
            for later in (0, 1, AGAIN, AGAIN + 1, SKEW):
                kind = "RequestThrottledException" if later <= AGAIN else "InvalidSignatureException"
                assert answer(sent(request, connection, number), store, NOW + later) == kind
        assert (
            answer(sent(request, "10.0.0.1:1000", 1), store) == "RequestThrottledException"
        )  # byte for byte
    with Store(tmp_path / "market.db") as store:
        assert answer(sent(request, connection, 3), store, NOW + 9) == "InvalidSignatureException"


def test_what_came_without_a_connection_is_never_repeated(sign: Sign, tmp_path: Path) -> None:
    with Store(tmp_path / "market.db") as store:
        assert answer(sent(sign(), "", 1), store) == "taken"
        assert answer(sent(sign(), "", 2), store) == "RequestThrottledException"


def test_equal_calls_and_tries_of_one_client_are_no_replay(sign: Sign, tmp_path: Path) -> None:
    """botocore signs nothing that differs in equal calls of one second, or in the tries of one."""
    with Store(tmp_path / "market.db") as store:
        for number in range(3):
            assert answer(sent(sign(), "10.0.0.1:1000", number), store, NOW + number) == "taken"
        assert answer(sent(sign(), "10.0.0.1:1000", 2, attempt=2), store, NOW + 1) == "taken"
        assert answer(sent(sign(), "10.0.0.1:1000", 9), store, NOW + AGAIN + 1) == "InvalidSignatureException"
        again = sign(at=NOW + 1)  # signed anew, on another connection
        assert answer(sent(again, "10.0.0.1:1001", 2, attempt=3), store, NOW + 1) == "taken"


def test_signatures_are_forgotten_when_they_are_too_old_anyway(sign: Sign, tmp_path: Path) -> None:
    with Store(tmp_path / "market.db") as store:
        for step in range(5):
            verify(sign(at=NOW + step), KEYS, NOW + step, store.signatures.note)
        late = NOW + SKEW + 100
        verify(sign(at=late), KEYS, late, store.signatures.note)
        with store.file.reading(0) as db:
            assert db.execute("SELECT count(*) FROM signatures").fetchone()[0] == 1


def test_a_refused_signature_is_not_noted(sign: Sign, tmp_path: Path) -> None:
    with Store(tmp_path / "market.db") as store:
        with pytest.raises(WireError):
            verify(replace(sign(), body=b"x"), KEYS, NOW, store.signatures.note)
        with store.file.reading(0) as db:
            assert db.execute("SELECT count(*) FROM signatures").fetchone()[0] == 0


def test_new_keys_differ_and_hide_the_secret() -> None:
    first, second = new_keys(), new_keys()
    assert first.access_key != second.access_key
    assert first.secret_key != second.secret_key
    assert first.secret_key not in repr(first)
