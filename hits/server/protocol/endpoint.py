"""The requester endpoint: signed JSON in, JSON out, for any web framework to mount.

`Endpoint.answer` takes a request's headers and body and returns a `Response`; nothing is stored by a request whose
signature, form or content is wrong.
"""

import json
import logging
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hits.market.folder import Keys
from hits.server.protocol.calls import Call
from hits.server.protocol.operations import OPERATIONS, perform
from hits.server.protocol.signature import SignedRequest, verify
from hits.server.protocol.wire import CONTENT_TYPE, MAX_BODY_BYTES, WireError, WireProtocol
from hits.server.store.records import RefusedError
from hits.server.store.store import Store

if TYPE_CHECKING:
    from wsgiref.types import WSGIEnvironment

log = logging.getLogger(__name__)


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
        self.protocol = WireProtocol()

    def answer(
        self,
        headers: Mapping[str, str],
        body: bytes,
        now: int,
        *,
        method: str = "POST",
        path: str = "/",
        query: str = "",
        connection: str = "",
    ) -> Response:
        """Verify, check and perform one call; ``path`` is the whole path that the client signed.

        ``connection`` names the one by which the request came; leave it out where several clients may share one.
        """
        request_id = str(uuid.uuid4())
        lower = {name.lower(): value for name, value in headers.items()}
        request = SignedRequest(lower, body, method, path, query, connection)
        try:
            return self._response(200, self._result(request, now, request_id), request_id)
        except WireError as error:
            fault = {"__type": error.kind, "message": error.message}
            response = self._response(error.status, _json(fault), request_id)
            return replace(response, headers={**response.headers, **error.headers})
        except RefusedError as error:
            fault = {"__type": "RequestError", "Message": error.message, "TurkErrorCode": error.code}
            return self._response(400, _json(fault), request_id)
        except Exception:
            log.exception("request %s failed", request_id)
            message = f"The market could not answer; its log has request {request_id}."
            fault = {"__type": "ServiceFault", "Message": message, "TurkErrorCode": "AWS.ServiceUnavailable"}
            return self._response(500, _json(fault), request_id)

    def refuse_large(self) -> Response:
        """The answer to a body over the limit, for a server that stops reading at it."""
        fault = {
            "__type": "RequestEntityTooLargeException",
            "message": f"expected at most {MAX_BODY_BYTES:,} bytes",
        }
        return self._response(413, _json(fault), str(uuid.uuid4()))

    def _result(self, request: SignedRequest, now: int, request_id: str) -> bytes:
        if len(request.body) > MAX_BODY_BYTES:
            raise WireError(
                "RequestEntityTooLargeException", f"expected at most {MAX_BODY_BYTES:,} bytes", 413
            )
        if request.method != "POST":
            raise WireError("UnknownOperationException", "expected POST", 405)
        verify(request, self.keys, now, self.store.signatures.note)
        operation = self.protocol.operation(request.headers.get("x-amz-target", ""))
        if not re.match(r"application/x-amz-json-1\.[01]\s*(;|$)", request.headers.get("content-type", "")):
            raise WireError("UnsupportedMediaTypeException", f"expected the Content-Type {CONTENT_TYPE}", 415)
        if operation not in OPERATIONS:
            raise WireError("UnknownOperationException", f"this market does not know {operation}")
        members = self.protocol.parse(operation, request.body)
        result = perform(Call(self.store, operation, members, now, request_id))
        return self.protocol.serialise(operation, result)

    @staticmethod
    def _response(status: int, body: bytes, request_id: str) -> Response:
        headers = {
            "Content-Type": CONTENT_TYPE,
            "Content-Length": str(len(body)),
            "x-amzn-RequestId": request_id,
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
        }
        return Response(status, headers, body)


def connection_of(environ: "WSGIEnvironment") -> str:
    """The client's end of the connection, empty where the server does not tell."""
    return f"{environ.get('REMOTE_ADDR', '')}:{environ['REMOTE_PORT']}" if environ.get("REMOTE_PORT") else ""


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value).encode("ascii")
