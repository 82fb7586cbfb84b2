"""Signatures are botocore's, cover the whole request, and are good for fifteen minutes."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import botocore.auth
import pytest
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hits.market.folder import Keys, new_keys
from hits.server.signature import MAX_SECONDS, SERVICE, SignedRequest, WireError, verify

NOW = 1_800_000_000
KEYS = Keys("AKIAEXAMPLE", "the/secret+key")
Sign = Callable[..., SignedRequest]
WRONG = "InvalidSignatureException"


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
        signer = botocore.auth.SigV4Auth(Credentials(keys.access_key, keys.secret_key), service, region)
        signer.add_auth(request)
        host, _, rest = url.removeprefix("http://").partition("/")
        path, _, query = rest.partition("?")
        lower = {name.lower(): value for name, value in request.headers.items()} | {"host": host}
        return SignedRequest(lower, body, f"/{path}", query)

    return signed


def refused(request: SignedRequest, now: int = NOW, keys: Keys = KEYS) -> str:
    with pytest.raises(WireError) as error:
        verify(request, keys, now)
    assert error.value.status in (400, 403)
    return error.value.kind


def test_botocores_signature_is_accepted(sign: Sign) -> None:
    verify(sign(), KEYS, NOW)
    verify(sign(b'{"HITId": "3A"}', region="eu-west-1", headers={"X-Amz-Extra": " a   b "}), KEYS, NOW)
    verify(sign(url="http://localhost:81/requester/x?b=2&a=%20x&a=1&c"), KEYS, NOW)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(
    st.binary(max_size=300),
    st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=60),
)
def test_any_body_and_any_secret(sign: Sign, body: bytes, secret: str) -> None:
    keys = Keys("AKIA1", secret)
    request = sign(body, keys=keys)
    verify(request, keys, NOW)
    assert refused(replace(request, body=body + b" "), keys=keys) == WRONG
    assert refused(request, keys=Keys("AKIA1", secret + "x")) == WRONG


@pytest.mark.parametrize("name", ["host", "x-amz-target", "content-type", "x-amz-date"])
def test_a_changed_header(sign: Sign, name: str) -> None:
    request = sign()
    other = "20270115T080001Z" if name == "x-amz-date" else request.headers[name] + "x"
    assert refused(replace(request, headers=dict(request.headers) | {name: other})) == WRONG
    gone = {key: value for key, value in request.headers.items() if key != name}
    assert refused(replace(request, headers=gone)) == WRONG


@pytest.mark.parametrize(
    "change",
    [
        {"path": "/q"},
        {"path": "/p?a=1"},
        {"path": "/p#a"},
        {"path": "/\ud800"},
        {"path": "//evil/"},
        {"query": "q=2"},
        {"query": "#a"},
        {"query": "\ud800"},
    ],
)
def test_a_changed_path_or_query(sign: Sign, change: dict[str, str]) -> None:
    assert refused(replace(sign(url="http://h/p?q=1"), **change)) == WRONG


@pytest.mark.parametrize("name", ["x-amz-target", "host"])
def test_a_header_that_is_not_signed(sign: Sign, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A valid signature that leaves out the target would let anybody who holds it choose the operation."""
    original = botocore.auth.SigV4Auth.headers_to_sign

    def fewer(signer: botocore.auth.SigV4Auth, request: AWSRequest) -> Any:
        headers = original(signer, request)
        del headers[name]
        return headers

    monkeypatch.setattr(botocore.auth.SigV4Auth, "headers_to_sign", fewer)
    with pytest.raises(WireError, match=f"signed: {name}"):
        verify(sign(), KEYS, NOW)


def test_the_digest_in_a_header_is_that_of_the_body(sign: Sign) -> None:
    """botocore signs what the header says; whoever changes the body must not get away by leaving the header."""
    digest = sha256(b"{}").hexdigest()
    request = sign(headers={"X-Amz-Content-SHA256": digest})
    verify(request, KEYS, NOW)
    assert refused(replace(request, body=b'{"HITId": "3A"}')) == WRONG
    assert refused(sign(headers={"X-Amz-Content-SHA256": "UNSIGNED-PAYLOAD"})) == WRONG
    plain = sign()
    headers = dict(plain.headers) | {"x-amz-content-sha256": digest}
    assert refused(replace(plain, body=b"x", headers=headers)) == WRONG


def test_other_keys_and_scopes(sign: Sign) -> None:
    assert refused(sign(keys=Keys("AKIAEXAMPLE", "another"))) == WRONG
    assert refused(sign(keys=Keys("AKIAOTHER", KEYS.secret_key))) == "UnrecognizedClientException"
    assert refused(sign(service="s3")) == WRONG
    request = sign()
    yesterday = request.headers["authorization"].replace("/20270115/", "/20270114/")
    with pytest.raises(WireError, match="day is not that"):
        verify(replace(request, headers=dict(request.headers) | {"authorization": yesterday}), KEYS, NOW)


@pytest.mark.parametrize("shift", [-MAX_SECONDS, MAX_SECONDS, 0, 1])
def test_a_clock_that_is_a_little_off(sign: Sign, shift: int) -> None:
    verify(sign(at=NOW + shift), KEYS, NOW)


@pytest.mark.parametrize("shift", [-MAX_SECONDS - 1, MAX_SECONDS + 1, 86400, -86400])
def test_a_clock_that_is_far_off(sign: Sign, shift: int) -> None:
    assert refused(sign(at=NOW + shift)) == WRONG


@pytest.mark.parametrize(
    ("authorization", "kind"),
    [
        (None, "MissingAuthenticationTokenException"),
        ("", "MissingAuthenticationTokenException"),
        ("Basic YTpi", "IncompleteSignatureException"),
        ("AWS4-HMAC-SHA256", "IncompleteSignatureException"),
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
    "date", ["", "now", "20271350T250000Z", "2027-01-15T08:00:00Z", "20270115T080000Z\n", "2027115T080000Z"]
)
def test_broken_date(sign: Sign, date: str) -> None:
    request = sign()
    assert refused(replace(request, headers=dict(request.headers) | {"x-amz-date": date})) == WRONG


def test_new_keys_differ_and_hide_the_secret() -> None:
    first, second = new_keys(), new_keys()
    assert first.access_key != second.access_key
    assert first.secret_key != second.secret_key
    assert first.secret_key not in repr(first)
