"""Verifying AWS Signature Version 4, and refusing what was signed too long ago or is sent a second time.

The signature covers method, path, query, the signed headers and the body: whoever changes one of them, or does not
know the secret key, cannot make it. Amazon's description: "Signature Version 4 signing process"; the arithmetic is
botocore's own, as its clients use it.

A signature is good once. Its time counts whole seconds and botocore signs nothing else that differs, so equal calls of
one second, a retry among them, have equal signatures. What tells such calls from a replay is the connection: whoever
overheard a request cannot send on the connection it came by. On any other connection an equal signature is refused; in
its first moments with a code upon which clients sign again a little later, which is all that a replay cannot do.
"""

import hmac
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from hits.market.folder import Keys
from hits.server.protocol.wire import WireError
from hits.server.store.signatures import AGAIN, SignatureUse

ALGORITHM = "AWS4-HMAC-SHA256"
SERVICE = "mturk-requester"
SKEW = 15 * 60
BODY_DIGEST = "x-amz-content-sha256"
MUST_BE_SIGNED = {"host", "x-amz-date", "x-amz-target"}
CREDENTIAL = re.compile(r"([A-Za-z0-9_]{1,128})/([0-9]{8})/([a-z0-9-]{1,40})/([a-z0-9-]{1,40})/aws4_request")
AUTHORIZATION = re.compile(
    rf"{ALGORITHM} +Credential=([^,\s]{{1,300}}), *SignedHeaders=([a-z0-9;-]{{1,1000}}), *Signature=([0-9a-f]{{64}})"
)


@dataclass(frozen=True, slots=True)
class SignedRequest:
    """An HTTP request as it came: header names in lower case, path and query not decoded."""

    headers: Mapping[str, str]
    body: bytes
    method: str = "POST"
    path: str = "/"
    query: str = ""
    connection: str = ""  # by which it came, where that is known: nobody else can send on it

    @property
    def attempt(self) -> str:
        """What a client calls this try of this call; it is not signed."""
        return " ".join(
            self.headers.get(name, "")[:64] for name in ("amz-sdk-invocation-id", "amz-sdk-request")
        )


NoteUse = Callable[
    [SignatureUse], int | None
]  # None, or when the signature was first used if this is a replay


def verify(request: SignedRequest, keys: Keys, now: int, note: NoteUse) -> None:
    """Raise `WireError` unless the request was signed with the keys, within 15 minutes of now, and is no replay."""
    match = AUTHORIZATION.fullmatch(request.headers.get("authorization", "").strip())
    if not request.headers.get("authorization"):
        raise WireError("MissingAuthenticationTokenException", "expected a signed request", 403)
    credential = CREDENTIAL.fullmatch(match[1]) if match else None
    if match is None or credential is None:
        raise WireError(
            "IncompleteSignatureException", f"expected an Authorization header of {ALGORITHM}", 400
        )
    access_key, day, region, service = credential.groups()
    names = match[2].split(";")
    if not hmac.compare_digest(access_key.encode(), keys.access_key.encode()):
        raise WireError("UnrecognizedClientException", "the access key is not known here", 403)
    if service != SERVICE:
        raise _wrong(f"expected the service {SERVICE} in the credential's scope, found {service}")
    signed = _signing_time(request.headers.get("x-amz-date", ""), day)
    if abs(now - signed) > SKEW:
        raise _wrong(f"signed {abs(now - signed)} seconds off the server's time; expected at most {SKEW}")
    _check_signed_headers(request, names)
    expected = _signature(request, names, keys, region)
    if not hmac.compare_digest(expected, match[3]):
        raise _wrong("the signature does not match the request; is the secret key right?")
    first = note(SignatureUse(expected, request.connection, request.attempt, now, signed + SKEW))
    if first is not None:
        raise _replayed(now - first)


def _replayed(seconds: int) -> WireError:
    """Clients that may have made two equal calls are told to wait until their signature is another."""
    message = "this signed request was sent before; sign each call anew, equal calls in different seconds"
    if 0 <= seconds <= AGAIN:
        return WireError("RequestThrottledException", message, 403, {"x-amz-retry-after": "1100"})
    return _wrong(message)


def _wrong(message: str) -> WireError:
    return WireError("InvalidSignatureException", message, 403)


def _signing_time(date: str, day: str) -> int:
    try:
        if not re.fullmatch(r"[0-9]{8}T[0-9]{6}Z", date):
            raise ValueError
        moment = datetime.strptime(date, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        raise _wrong("expected the header X-Amz-Date like 20261231T235959Z") from None
    if not date.startswith(day):
        raise _wrong("the credential's day is not that of X-Amz-Date")
    return int(moment.timestamp())


def _check_signed_headers(request: SignedRequest, names: list[str]) -> None:
    if names != sorted(set(names)):
        raise _wrong("expected SignedHeaders in order, each once")
    if missing := sorted(MUST_BE_SIGNED - set(names)):
        raise _wrong(f"expected these headers to be signed: {', '.join(missing)}")
    if absent := [name for name in names if name not in request.headers]:
        raise _wrong(f"signed headers did not arrive: {', '.join(absent)[:200]}")


def _signature(request: SignedRequest, names: list[str], keys: Keys, region: str) -> str:
    """The signature that botocore makes of a request: of the headers that are said to be signed and of no others.

    botocore believes a header that gives the digest of the body; here it must be that of the body that came.
    """
    signed = {name: request.headers[name] for name in names}
    if signed.get(BODY_DIGEST, digest := sha256(request.body).hexdigest()) != digest:
        raise _wrong(f"the header {BODY_DIGEST} is not the digest of the body")
    path = (request.path or "/").replace("?", "%3F").replace("#", "%23")
    query = request.query.replace("#", "%23")
    copy = AWSRequest(request.method, f"http://market{path}?{query}", signed, request.body)
    copy.context["timestamp"] = request.headers["x-amz-date"]
    signer = _Verifier(Credentials(keys.access_key, keys.secret_key), SERVICE, region)
    try:
        return str(signer.signature(signer.string_to_sign(copy, signer.canonical_request(copy)), copy))
    except UnicodeError:
        raise _wrong("expected headers, path and query that can be written in UTF-8") from None


class _Verifier(SigV4Auth):  # type: ignore[misc]  # botocore has no types
    """botocore's signer, but a client may have signed headers that botocore's own clients leave out."""

    def headers_to_sign(self, request: Any) -> Any:
        """All headers of the copy that is signed."""
        return request.headers
