"""One call of an operation, and the pages in which lists are answered."""

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from hits.server.store.records import invalid
from hits.server.store.store import Store

PAGE = 10  # results when a request does not say how many


class Numbered(Protocol):
    """A record that knows its place in the order of its list."""

    @property
    def number(self) -> int:
        """Larger for later records, and never used again."""


T = TypeVar("T", bound=Numbered)


@dataclass(frozen=True, slots=True)
class Call:
    """What an operation is given: the store, the checked request, the time, and the request's id."""

    store: Store
    operation: str
    request: Mapping[str, Any]
    now: int
    id: str


Operation = Callable[[Call], Mapping[str, Any]]


def paged(
    call: Call, member: str, fetch: Callable[[int, int], Sequence[T]], show: Callable[[T], Mapping[str, Any]]
) -> dict[str, Any]:
    """One page of a list: ``fetch(after, limit)`` finds records beyond a number, the token says where to go on.

    The token holds a number, not a count of records, so nothing is missed or seen twice when records come or go
    while a requester turns the pages.
    """
    size = call.request.get("MaxResults", PAGE)
    records = fetch(_read_token(call), size + 1)
    page = records[:size]
    answer: dict[str, Any] = {"NumResults": len(page), member: [show(record) for record in page]}
    if len(records) > size:
        answer["NextToken"] = _token(call.operation, page[-1].number)
    return answer


def _token(operation: str, number: int) -> str:
    return base64.urlsafe_b64encode(f"{operation}:{number}".encode()).decode()


def _read_token(call: Call) -> int:
    token = call.request.get("NextToken")
    if token is None:
        return 0
    try:
        operation, _, number = (
            base64.b64decode(token.encode("ascii"), b"-_", validate=True).decode("ascii").partition(":")
        )
    except (binascii.Error, ValueError):
        operation, number = "", ""
    if operation != call.operation or not number.isdigit() or len(number) > 18:
        raise invalid("NextToken", "expected a token from an earlier page of the same list")
    return int(number)
