"""Verifying AWS Signature Version 4, and refusing what was signed too long ago or is sent a second time.

The signature covers method, path, query, the signed headers and the body: whoever changes one of them, or does not
know the secret key, cannot make it. Amazon's description: "Signature Version 4 signing process".

A signature is good once. Its time counts whole seconds and botocore signs nothing else that differs, so equal calls of
one second, a retry among them, have equal signatures. What tells such calls from a replay is the connection: whoever
overheard a request cannot send on the connection it came by. On any other connection an equal signature is refused; in
its first moments with a code upon which clients sign again a little later, which is all that a replay cannot do.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import quote, unquote

from hits.server.protocol.wire import WireError

ALGORITHM = "AWS4-HMAC-SHA256"
SERVICE = "mturk-requester"
SKEW = 15 * 60
MUST_BE_SIGNED = {"host", "x-amz-date", "x-amz-target"}
CREDENTIAL = re.compile(r"([A-Za-z0-9_]{1,128})/([0-9]{8})/([a-z0-9-]{1,40})/([a-z0-9-]{1,40})/aws4_request")
AUTHORIZATION = re.compile(
    rf"{ALGORITHM} +Credential=([^,\s]{{1,300}}), *SignedHeaders=([a-z0-9;-]{{1,1000}}), *Signature=([0-9a-f]{{64}})"
)

AGAIN = 2  # seconds in which an equal signature may be a client's second call, or its second try


@dataclass(frozen=True, slots=True)
class Keys:
    """What a requester signs with; the secret key is never sent and never shown."""

    access_key: str
    secret_key: str = field(repr=False)


def new_keys() -> Keys:
    """Keys in Amazon's form, as hard to guess as Amazon's."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
    return Keys("AKIA" + "".join(secrets.choice(letters) for _ in range(16)), secrets.token_urlsafe(30))


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
        return " ".join(self.headers.get(name, "")[:64] for name in ("amz-sdk-invocation-id", "amz-sdk-request"))


@dataclass(frozen=True, slots=True)
class Use:
    """One use of a signature: how it came, when, and until when the signature must be remembered."""

    signature: str
    connection: str
    attempt: str
    now: int
    expires: int


NoteUse = Callable[[Use], int | None]  # None, or when the signature was first used if this is a replay


def verify(request: SignedRequest, keys: Keys, now: int, note: NoteUse) -> None:
    """Raise `WireError` unless the request was signed with the keys, within 15 minutes of now, and is no replay."""
    match = AUTHORIZATION.fullmatch(request.headers.get("authorization", "").strip())
    if not request.headers.get("authorization"):
        raise WireError("MissingAuthenticationTokenException", "expected a signed request", 403)
    credential = CREDENTIAL.fullmatch(match[1]) if match else None
    if match is None or credential is None:
        raise WireError("IncompleteSignatureException", f"expected an Authorization header of {ALGORITHM}", 400)
    access_key, day, region, service = credential.groups()
    names = match[2].split(";")
    if not hmac.compare_digest(access_key.encode(), keys.access_key.encode()):
        raise WireError("UnrecognizedClientException", "the access key is not known here", 403)
    if service != SERVICE:
        raise _wrong(f"expected the service {SERVICE} in the credential's scope, found {service}")
    signed = _signing_time(request.headers.get("x-amz-date", ""), day)
    if abs(now - signed) > SKEW:
        raise _wrong(f"signed {abs(now - signed)} seconds off the server's time; expected at most {SKEW}")
    scope = f"{day}/{region}/{service}/aws4_request"
    expected = _signature(keys.secret_key, scope, request.headers["x-amz-date"], _canonical(request, names))
    if not hmac.compare_digest(expected, match[3]):
        raise _wrong("the signature does not match the request; is the secret key right?")
    first = note(Use(expected, request.connection, request.attempt, now, signed + SKEW))
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


def _canonical(request: SignedRequest, names: list[str]) -> str:
    """The request in the one form that both sides sign."""
    if names != sorted(set(names)):
        raise _wrong("expected SignedHeaders in order, each once")
    if missing := sorted(MUST_BE_SIGNED - set(names)):
        raise _wrong(f"expected these headers to be signed: {', '.join(missing)}")
    if absent := [name for name in names if name not in request.headers]:
        raise _wrong(f"signed headers did not arrive: {', '.join(absent)[:200]}")
    headers = "".join(f"{name}:{' '.join(request.headers[name].split())}\n" for name in names)
    body = hashlib.sha256(request.body).hexdigest()
    path = quote(request.path or "/", safe="/-_.~")
    return "\n".join([request.method, path, _canonical_query(request.query), headers, ";".join(names), body])


def _canonical_query(query: str) -> str:
    pairs = []
    for part in filter(None, query.split("&")):
        name, _, value = part.partition("=")
        pairs.append((quote(unquote(name), safe="-_.~"), quote(unquote(value), safe="-_.~")))
    return "&".join(f"{name}={value}" for name, value in sorted(pairs))


def _signature(secret_key: str, scope: str, date: str, canonical: str) -> str:
    digest = hashlib.sha256(canonical.encode("utf-8", "surrogateescape")).hexdigest()
    key = f"AWS4{secret_key}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.digest(key, "\n".join([ALGORITHM, date, scope, digest]).encode(), "sha256").hex()
