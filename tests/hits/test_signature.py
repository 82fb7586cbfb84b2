from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import botocore.auth
import pytest
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hits.signature import SERVICE, SKEW, Keys, SignedRequest, new_keys, verify
from hits.store import Store
from hits.wire import WireError

NOW = 1_800_000_000
KEYS = Keys("AKIAEXAMPLE", "the/secret+key")
Sign = Callable[..., SignedRequest]


def always_new(signature: str, attempt: str, expires: int, now: int) -> bool:
    return True


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
        base = {"X-Amz-Target": "MTurkRequesterServiceV20170117.GetHIT", "Content-Type": "application/x-amz-json-1.1"}
        request = AWSRequest("POST", url, base | (headers or {}), body)
        botocore.auth.SigV4Auth(Credentials(keys.access_key, keys.secret_key), service, region).add_auth(request)
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
    verify(sign(), KEYS, NOW, always_new)
    verify(sign(b'{"HITId": "3A"}', region="eu-west-1", headers={"X-Amz-Extra": " a   b "}), KEYS, NOW, always_new)
    verify(sign(url="http://localhost:81/requester/x?b=2&a=%20x&a=1&c"), KEYS, NOW, always_new)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.binary(max_size=300), st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=60))
def test_any_body_and_any_secret(sign: Sign, body: bytes, secret: str) -> None:
    keys = Keys("AKIA1", secret)
    request = sign(body, keys=keys)
    verify(request, keys, NOW, always_new)
    assert refused(replace(request, body=body + b" "), keys=keys) == "InvalidSignatureException"
    assert refused(request, keys=Keys("AKIA1", secret + "x")) == "InvalidSignatureException"


@pytest.mark.parametrize("name", ["host", "x-amz-target", "content-type", "x-amz-date"])
def test_a_changed_header(sign: Sign, name: str) -> None:
    request = sign()
    other = "20270115T080001Z" if name == "x-amz-date" else request.headers[name] + "x"
    assert refused(replace(request, headers=dict(request.headers) | {name: other})) == "InvalidSignatureException"
    gone = {key: value for key, value in request.headers.items() if key != name}
    assert refused(replace(request, headers=gone)) == "InvalidSignatureException"


def test_a_changed_method_path_or_query(sign: Sign) -> None:
    request = sign(url="http://h/p?q=1")
    verify(request, KEYS, NOW, always_new)
    for changed in (replace(request, method="PUT"), replace(request, path="/q"), replace(request, query="q=2")):
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


def test_other_keys(sign: Sign) -> None:
    assert refused(sign(keys=Keys("AKIAEXAMPLE", "another"))) == "InvalidSignatureException"
    assert refused(sign(keys=Keys("AKIAOTHER", KEYS.secret_key))) == "UnrecognizedClientException"


def test_a_scope_of_another_day(sign: Sign, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key for a day, if it leaked, must not sign for other days."""
    yesterday = "20270114/us-east-1/mturk-requester/aws4_request"
    monkeypatch.setattr(botocore.auth.SigV4Auth, "credential_scope", lambda signer, request: yesterday)
    monkeypatch.setattr(
        botocore.auth.SigV4Auth, "scope", lambda signer, request: f"{signer.credentials.access_key}/{yesterday}"
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
    verify(sign(at=NOW + shift), KEYS, NOW, always_new)


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
        (f"AWS4-HMAC-SHA256 Credential=A/B, SignedHeaders=host, Signature={'0' * 64}", "IncompleteSignatureException"),
        ("AWS4-HMAC-SHA256 " + "a" * 100_000, "IncompleteSignatureException"),
        (f"AWS4-HMAC-SHA256 Credential=\ud800/20270115/r/s/aws4_request, SignedHeaders=host, Signature={'0' * 64}",
         "IncompleteSignatureException"),
    ],
)  # fmt: skip
def test_broken_authorization(sign: Sign, authorization: str | None, kind: str) -> None:
    headers = {name: value for name, value in sign().headers.items() if name != "authorization"}
    if authorization is not None:
        headers["authorization"] = authorization
    assert refused(SignedRequest(headers, b"{}")) == kind


@pytest.mark.parametrize("date", ["", "now", "20271350T250000Z", "2027-01-15T08:00:00Z", "20270115T080000Z\n"])
def test_broken_date(sign: Sign, date: str) -> None:
    request = sign()
    assert (
        refused(replace(request, headers=dict(request.headers) | {"x-amz-date": date})) == "InvalidSignatureException"
    )


def test_a_replay_is_refused_also_after_a_restart(sign: Sign, tmp_path: Path) -> None:
    request = sign(headers={"amz-sdk-invocation-id": "1", "amz-sdk-request": "attempt=1; max=3"})
    with Store(tmp_path / "market.db") as store:
        verify(request, KEYS, NOW, store.note_signature)
        for later in (0, 1, 9, 11, 600):
            with pytest.raises(WireError, match="sent before"):
                verify(request, KEYS, NOW + later, store.note_signature)
    with Store(tmp_path / "market.db") as store, pytest.raises(WireError, match="sent before"):
        verify(request, KEYS, NOW + 1, store.note_signature)


def test_equal_calls_of_one_second_are_no_replay_but_later_ones_are(sign: Sign, tmp_path: Path) -> None:
    """botocore does not sign the invocation's id: equal calls of one second have equal signatures."""

    def call(number: int) -> SignedRequest:
        request = sign()
        ids = {"amz-sdk-invocation-id": str(number), "amz-sdk-request": "attempt=1"}
        return replace(request, headers=dict(request.headers) | ids)

    with Store(tmp_path / "market.db") as store:
        for number in range(3):
            verify(call(number), KEYS, NOW + number, store.note_signature)
        with pytest.raises(WireError, match="sent before"):
            verify(call(99), KEYS, NOW + 11, store.note_signature)


def test_signatures_are_forgotten_when_they_are_too_old_anyway(sign: Sign, tmp_path: Path) -> None:
    with Store(tmp_path / "market.db") as store:
        for step in range(5):
            verify(sign(at=NOW + step), KEYS, NOW + step, store.note_signature)
        late = NOW + SKEW + 100
        verify(sign(at=late), KEYS, late, store.note_signature)
        with store.reading(0) as db:
            assert db.execute("SELECT count(*) FROM signatures").fetchone()[0] == 1


def test_a_refused_signature_is_not_noted(sign: Sign, tmp_path: Path) -> None:
    with Store(tmp_path / "market.db") as store:
        with pytest.raises(WireError):
            verify(replace(sign(), body=b"x"), KEYS, NOW, store.note_signature)
        with store.reading(0) as db:
            assert db.execute("SELECT count(*) FROM signatures").fetchone()[0] == 0


def test_new_keys_differ_and_hide_the_secret() -> None:
    first, second = new_keys(), new_keys()
    assert first.access_key != second.access_key
    assert first.secret_key != second.secret_key
    assert first.secret_key not in repr(first)
