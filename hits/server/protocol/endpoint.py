"""The requester endpoint: signed JSON in, JSON out, for any web framework to mount.

`Endpoint.answer` takes a request's headers and body and returns a `Response`; nothing is stored by a request whose
signature, form or content is wrong.
"""

import json
import logging
import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from hits.server.protocol.calls import Call
from hits.server.protocol.operations import OPERATIONS, perform
from hits.server.protocol.signature import Keys, SignedRequest, new_keys, verify
from hits.server.protocol.wire import CONTENT_TYPE, MAX_BODY_BYTES, Protocol, WireError
from hits.server.store.records import RefusedError
from hits.server.store.store import Store

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Response:
    """What to send back."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def market_keys(store: Store) -> Keys:
    """The keys of a market: made when it is first served, the same ever after."""
    fresh = new_keys()
    return Keys(
        store.secret("access_key", lambda: fresh.access_key), store.secret("secret_key", lambda: fresh.secret_key)
    )


class Endpoint:
    """Answers requesters' calls on a store; may be used by many threads at once."""

    def __init__(self, store: Store, keys: Keys) -> None:
        self.store = store
        self.keys = keys
        self.protocol = Protocol()
        if missing := self.protocol.operations ^ OPERATIONS.keys():
            log.warning("this botocore describes other operations than this market knows: %s", ", ".join(missing))

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
            found = {"__type": error.kind, "message": error.message}
            response = self._response(error.status, _json(found), request_id)
            return replace(response, headers={**response.headers, **error.headers})
        except RefusedError as error:
            found = {"__type": "RequestError", "Message": error.message, "TurkErrorCode": error.code}
            return self._response(400, _json(found), request_id)
        except Exception:
            log.exception("request %s failed", request_id)
            message = f"The market could not answer; its log has request {request_id}."
            found = {"__type": "ServiceFault", "Message": message, "TurkErrorCode": "AWS.ServiceUnavailable"}
            return self._response(500, _json(found), request_id)

    def refuse_large(self) -> Response:
        """The answer to a body over the limit, for a server that stops reading at it."""
        found = {"__type": "RequestEntityTooLargeException", "message": f"expected at most {MAX_BODY_BYTES:,} bytes"}
        return self._response(413, _json(found), str(uuid.uuid4()))

    def _result(self, request: SignedRequest, now: int, request_id: str) -> bytes:
        if len(request.body) > MAX_BODY_BYTES:
            raise WireError("RequestEntityTooLargeException", f"expected at most {MAX_BODY_BYTES:,} bytes", 413)
        if request.method != "POST":
            raise WireError("UnknownOperationException", "expected POST", 405)
        verify(request, self.keys, now, self.store.note_use)
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


def wsgi_app(endpoint: Endpoint, clock: Callable[[], float]) -> "WSGIApplication":
    """The endpoint as a web application of its own; a body over the limit is refused without reading it."""

    def app(environ: "WSGIEnvironment", start_response: "StartResponse") -> list[bytes]:
        size = environ.get("CONTENT_LENGTH") or "0"
        if not size.isdigit() or int(size) > MAX_BODY_BYTES:
            response = endpoint.refuse_large()
        else:
            headers = {name[5:].replace("_", "-"): text for name, text in environ.items() if name.startswith("HTTP_")}
            headers["Content-Type"] = environ.get("CONTENT_TYPE", "")
            path = quote(environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", ""), encoding="latin-1") or "/"
            response = endpoint.answer(
                headers,
                environ["wsgi.input"].read(int(size)),
                int(clock()),
                method=environ["REQUEST_METHOD"],
                path=path,
                query=environ.get("QUERY_STRING", ""),
                connection=connection_of(environ),
            )
        start_response(f"{response.status} {HTTPStatus(response.status).phrase}", list(response.headers.items()))
        return [response.body]

    return app


def connection_of(environ: "WSGIEnvironment") -> str:
    """The client's end of the connection, empty where the server does not tell."""
    return f"{environ.get('REMOTE_ADDR', '')}:{environ['REMOTE_PORT']}" if environ.get("REMOTE_PORT") else ""


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value).encode("ascii")
