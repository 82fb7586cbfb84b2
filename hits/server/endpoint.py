"""The requester endpoint: signed JSON in, an operation is carried out in the store, JSON out.

`Endpoint.answer` takes a request's headers and body and returns a `Response`; nothing is stored by a request whose
signature, form or content is wrong. Requests are checked against botocore's description of the service.
"""

import json
import logging
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from botocore.model import ServiceModel
from botocore.validate import ParamValidator

from hits.market.folder import Keys
from hits.market.service import SERVICE, description
from hits.server.operations import OPERATIONS, Call, perform
from hits.server.signature import SignedRequest, WireError, verify
from hits.server.store import Store
from hits.server.store.records import RefusedError, invalid

log = logging.getLogger(__name__)
MAX_BODY_BYTES = 10_000_000
CONTENT_TYPE = "application/x-amz-json-1.1"


@dataclass(frozen=True, slots=True)
class Response:
    """What to send back."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Endpoint:
    """Answers requesters' calls on a store; may be used by many threads at once."""

    def __init__(self, store: Store, keys: Keys) -> None:
        self.store = store
        self.keys = keys
        self.model = ServiceModel(description(), SERVICE)

    def answer(
        self, headers: Mapping[str, str], body: bytes, now: int, *, path: str = "/", query: str = ""
    ) -> Response:
        """Verify, check and perform one call; ``path`` is the whole path that the client signed."""
        request_id = str(uuid.uuid4())
        request = SignedRequest({name.lower(): value for name, value in headers.items()}, body, path, query)
        status = 200
        try:
            result = self._perform(request, now)
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
        return _response(status, result, request_id)

    def refuse_large(self) -> Response:
        """The answer to a body over the limit, for a server that stops reading at it."""
        message = f"expected at most {MAX_BODY_BYTES:,} bytes"
        fault = {"__type": "RequestEntityTooLargeException", "message": message}
        return _response(413, fault, str(uuid.uuid4()))

    def _perform(self, request: SignedRequest, now: int) -> Any:
        verify(request, self.keys, now)
        target = request.headers.get("x-amz-target", "")
        prefix, _, name = target.rpartition(".")
        if prefix != self.model.metadata["targetPrefix"] or name not in OPERATIONS:
            message = f"this market does not know the operation {target[:100]!r} of X-Amz-Target"
            raise WireError("UnknownOperationException", message)
        operation = self.model.operation_model(name)
        members = _parse_json(request.body)
        report = ParamValidator().validate(members, operation.input_shape)
        if report.has_errors():
            raise invalid(name, report.generate_report())
        _check_values(members, name)
        result = perform(Call(self.store, name, members, now))
        return _legal(operation.output_shape, result)


def _response(status: int, result: Any, request_id: str) -> Response:
    body = json.dumps(result, ensure_ascii=False).encode("utf-8", "replace")
    headers = {
        "Content-Type": CONTENT_TYPE,
        "Content-Length": str(len(body)),
        "x-amzn-RequestId": request_id,
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }
    return Response(status, headers, body)


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
    elif isinstance(value, list):
        for number, item in enumerate(value):
            _check_values(item, f"{path}[{number}]")
    elif isinstance(value, dict):
        for name, member in value.items():
            _check_values(member, f"{path}.{name}")


def _legal(shape: Any, value: Any) -> Any:
    """The members of an answer that the service's description knows and that are not None."""
    if shape is None or shape.type_name == "structure":
        members = shape.members if shape is not None else {}
        return {name: _legal(members[name], value[name]) for name in members if value.get(name) is not None}
    return [_legal(shape.member, item) for item in value] if shape.type_name == "list" else value
