"""The requester endpoint: signed JSON in, an operation is carried out in the store, JSON out.

Requests carry AWS Signature Version 4, which covers method, path, query, the signed headers and the body, and is good
for 15 minutes; against somebody who overhears a request, use TLS. The arithmetic is botocore's own, and so is the
description of the service that requests are checked against. Nothing is stored by a request whose signature, form or
content is wrong.
"""

import hmac
import json
import logging
import re
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from typing import Any, NamedTuple

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.model import ServiceModel
from botocore.validate import ParamValidator

from hits.market.folder import MarketAccess
from hits.market.service import SERVICE, description
from hits.server.operations import OPERATIONS, Call, check
from hits.server.store import Store
from hits.server.store.records import RefusedError, invalid

log = logging.getLogger(__name__)
CONTENT_TYPE = "application/x-amz-json-1.1"
SIGNING_NAME = "mturk-requester"
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
        self.kind, self.message, self.status = kind, message, status


class SignedRequest(NamedTuple):
    """An HTTP request as it came: header names in lower case, path and query not decoded."""

    headers: Mapping[str, str]
    body: bytes
    path: str = "/"
    query: str = ""


def answer(store: Store, access: MarketAccess, request: SignedRequest, now: int) -> tuple[int, bytes, str]:
    """Verify, check and perform one call: the status, the body and the request id of the answer."""
    request_id, status = str(uuid.uuid4()), 200
    try:
        result = _perform(store, access, request, now)
    except WireError as error:
        status, result = error.status, {"__type": error.kind, "message": error.message}
    except RefusedError as error:
        status = 400
        result = {"__type": "RequestError", "Message": error.message, "TurkErrorCode": error.code}
    except Exception:
        log.exception("request %s failed", request_id)
        message = f"The market could not answer; its log has request {request_id}."
        status = 500
        result = {"__type": "ServiceFault", "Message": message, "TurkErrorCode": "AWS.ServiceUnavailable"}
    return status, json.dumps(result, ensure_ascii=False).encode("utf-8", "replace"), request_id


@cache
def _model() -> ServiceModel:
    return ServiceModel(description(), SERVICE)


def _perform(store: Store, access: MarketAccess, request: SignedRequest, now: int) -> Any:
    verify(request, access, now)
    target = request.headers.get("x-amz-target", "")
    prefix, _, name = target.rpartition(".")
    if prefix != _model().metadata["targetPrefix"] or name not in OPERATIONS:
        message = f"this market does not know the operation {target[:100]!r} of X-Amz-Target"
        raise WireError("UnknownOperationException", message)
    operation = _model().operation_model(name)
    members = _parse_json(request.body)
    report = ParamValidator().validate(members, operation.input_shape)
    if report.has_errors():
        raise invalid(name, report.generate_report())
    _check_values(members, name)
    check(members)
    return _legal(operation.output_shape, OPERATIONS[name](Call(store, name, members, now)) or {})


def _parse_json(body: bytes) -> dict[str, Any]:
    """One JSON object; a member that is null is the same as one left out."""
    try:
        value = json.loads(body.decode("utf-8") or "{}")
    except (ValueError, RecursionError) as error:
        raise WireError("SerializationException", f"expected JSON in UTF-8: {error}") from None
    if not isinstance(value, dict):
        raise WireError("SerializationException", "expected a JSON object")
    return {name: member for name, member in value.items() if member is not None}


def _check_values(value: Any, path: str) -> None:
    """Refuse what SQLite cannot keep: halves of surrogate pairs, numbers of more than 64 bits; and NUL."""
    if isinstance(value, str):
        if "\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
            raise invalid(path, "expected text without NUL and halves of surrogate pairs")
    elif isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise invalid(path, f"expected a number of at most 64 bits, got {value}")
    elif isinstance(value, list | dict):
        for name, member in enumerate(value) if isinstance(value, list) else value.items():
            _check_values(member, f"{path}.{name}")


def _legal(shape: Any, value: Any) -> Any:
    """The members of an answer that the service's description knows and that are not None."""
    if shape is None or shape.type_name == "structure":
        members = shape.members if shape is not None else {}
        return {name: _legal(members[name], value[name]) for name in members if value.get(name) is not None}
    return [_legal(shape.member, item) for item in value] if shape.type_name == "list" else value


def verify(request: SignedRequest, access: MarketAccess, now: int) -> None:
    """Raise `WireError` unless the request was signed with the market's keys, within 15 minutes of now."""
    authorization = request.headers.get("authorization", "").strip()
    if not authorization:
        raise WireError("MissingAuthenticationTokenException", "expected a signed request", 403)
    match = AUTHORIZATION.fullmatch(authorization)
    if match is None:
        expected = "expected an Authorization header of AWS4-HMAC-SHA256"
        raise WireError("IncompleteSignatureException", expected)
    access_key, day, region, service, signed_names, signature = match.groups()
    if not hmac.compare_digest(access_key, access.access_key):
        raise WireError("UnrecognizedClientException", "the access key is not known here", 403)
    if service != SIGNING_NAME:
        raise _wrong(f"expected the service {SIGNING_NAME} in the credential's scope, got {service}")
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
    if not hmac.compare_digest(_signature(request, names, access, region), signature):
        raise _wrong("the signature does not match the request; is the secret key right?")


def _wrong(message: str) -> WireError:
    return WireError("InvalidSignatureException", message, 403)


def _signature(request: SignedRequest, names: list[str], access: MarketAccess, region: str) -> str:
    """The signature that botocore makes of a request, of the signed headers and of no others."""
    signed = {name: request.headers[name] for name in names}
    # botocore believes a header that gives the digest of the body
    if "x-amz-content-sha256" in signed:
        signed["x-amz-content-sha256"] = sha256(request.body).hexdigest()
    path = request.path.replace("?", "%3F").replace("#", "%23")
    url = f"http://market{path}?{request.query.replace('#', '%23')}"
    copy = AWSRequest("POST", url, signed, request.body)
    copy.context["timestamp"] = request.headers["x-amz-date"]
    signer = _Verifier(Credentials(access.access_key, access.secret_key), SIGNING_NAME, region)
    try:
        return str(signer.signature(signer.string_to_sign(copy, signer.canonical_request(copy)), copy))
    except UnicodeError:
        raise _wrong("expected headers, path and query that can be written in UTF-8") from None


class _Verifier(SigV4Auth):  # type: ignore[misc]  # botocore has no types
    """botocore's signer, but a client may have signed headers that botocore's own clients leave out."""

    def headers_to_sign(self, request: Any) -> Any:
        return request.headers
