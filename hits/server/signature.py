"""Verifying AWS Signature Version 4, which boto3 puts on every request.

The signature covers method, path, query, the signed headers and the body: whoever changes one of them, or does not
know the secret key, cannot make it. It is good for 15 minutes; against somebody who overhears a request, use TLS.
The arithmetic is botocore's own.
"""

import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from hits.market.folder import Keys

SERVICE = "mturk-requester"
MAX_SECONDS = 15 * 60
MUST_BE_SIGNED = {"host", "x-amz-date", "x-amz-target"}
AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 +Credential=([A-Za-z0-9_]{1,128})/([0-9]{8})/([a-z0-9-]{1,40})/([a-z0-9-]{1,40})/aws4_request"
    r", *SignedHeaders=([a-z0-9;-]{1,1000}), *Signature=([0-9a-f]{64})"
)


class WireError(Exception):
    """A request that is no legal call: the ``__type`` of the answer, one line, and the status."""

    def __init__(self, kind: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.status = status


@dataclass(frozen=True, slots=True)
class SignedRequest:
    """An HTTP request as it came: header names in lower case, path and query not decoded."""

    headers: Mapping[str, str]
    body: bytes
    path: str = "/"
    query: str = ""


def verify(request: SignedRequest, keys: Keys, now: int) -> None:
    """Raise `WireError` unless the request was signed with the keys, within 15 minutes of now."""
    authorization = request.headers.get("authorization", "").strip()
    if not authorization:
        raise WireError("MissingAuthenticationTokenException", "expected a signed request", 403)
    match = AUTHORIZATION.fullmatch(authorization)
    if match is None:
        raise WireError(
            "IncompleteSignatureException", "expected an Authorization header of AWS4-HMAC-SHA256"
        )
    access_key, day, region, service, signed_names, signature = match.groups()
    if not hmac.compare_digest(access_key, keys.access_key):
        raise WireError("UnrecognizedClientException", "the access key is not known here", 403)
    if service != SERVICE:
        raise _wrong(f"expected the service {SERVICE} in the credential's scope, got {service}")
    date = request.headers.get("x-amz-date", "")
    try:
        signed = datetime.strptime(date, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise _wrong("expected the header X-Amz-Date like 20261231T235959Z") from None
    if not date.startswith(day):
        raise _wrong("the credential's day is not that of X-Amz-Date")
    if abs(now - signed) > MAX_SECONDS:
        off = abs(now - int(signed))
        raise _wrong(f"signed {off} seconds off the server's time; expected at most {MAX_SECONDS}")
    names = signed_names.split(";")
    if missing := sorted((MUST_BE_SIGNED | set(names)) - (set(names) & set(request.headers))):
        raise _wrong(f"expected these headers, and signed: {', '.join(missing)[:200]}")
    if not hmac.compare_digest(_signature(request, names, keys, region), signature):
        raise _wrong("the signature does not match the request; is the secret key right?")


def _wrong(message: str) -> WireError:
    return WireError("InvalidSignatureException", message, 403)


def _signature(request: SignedRequest, names: list[str], keys: Keys, region: str) -> str:
    """The signature that botocore makes of a request: of the headers that are said to be signed and of no others."""
    signed = {name: request.headers[name] for name in names}
    # botocore believes a header that gives the digest of the body
    if "x-amz-content-sha256" in signed:
        signed["x-amz-content-sha256"] = sha256(request.body).hexdigest()
    path = request.path.replace("?", "%3F").replace("#", "%23")
    url = f"http://market{path}?{request.query.replace('#', '%23')}"
    copy = AWSRequest("POST", url, signed, request.body)
    copy.context["timestamp"] = request.headers["x-amz-date"]
    signer = _Verifier(Credentials(keys.access_key, keys.secret_key), SERVICE, region)
    try:
        return str(signer.signature(signer.string_to_sign(copy, signer.canonical_request(copy)), copy))
    except UnicodeError:
        raise _wrong("expected headers, path and query that can be written in UTF-8") from None


class _Verifier(SigV4Auth):  # type: ignore[misc]  # botocore has no types
    """botocore's signer, but a client may have signed headers that botocore's own clients leave out."""

    def headers_to_sign(self, request: Any) -> Any:
        return request.headers
