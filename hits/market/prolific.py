"""A client for Prolific's API, as far as recruiting for a batch needs it: studies, submissions, bonus payments.

    service = Prolific(token)
    study = service.create_study({...})          # a draft, which costs nothing
    service.act(study.id, "PUBLISH")

Money is whole cents there and `Decimal` dollars (or pounds: the currency of the account) here. The shapes are those of
the public documentation; they were tested against a server of our own, not against the real service.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from hits.batch.question_xml import is_loopback
from rypt.strict import SyntaxFormatError, parse_json
from rypt.text import RyptError

API = "https://api.prolific.com/api/v1"
TIMEOUT = 60
LATER = 10  # seconds after which a request of a client that was killed has surely been carried out
TRIES = 4  # of a request that changes nothing, when the service is busy
REASON_LENGTH = 100  # characters of the reason of a rejection, at least


class ProlificError(RyptError):
    """What the service refused; ``status`` is that of HTTP, 0 where it did not answer."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Study:
    """A study: its id, our name for it, and its status (UNPUBLISHED, ACTIVE, COMPLETED, …)."""

    id: str
    internal_name: str
    status: str
    places: int
    taken: int


@dataclass(frozen=True, slots=True)
class Submission:
    """One participant's work on a study, as the service knows it."""

    id: str
    participant: str
    status: str
    code: str


class _NoRedirects(HTTPRedirectHandler):
    """A redirect is an error: it would send the token elsewhere, and turn a payment into a page view."""

    def redirect_request(self, *arguments: Any, **others: Any) -> None:
        return None


class Prolific:
    """The service behind a token; ``api`` is another address for tests, ``pause`` waits some seconds."""

    def __init__(self, token: str, api: str = API, pause: Callable[[float], None] = time.sleep) -> None:
        parts = urlsplit(api)
        if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
            raise RyptError(f"expected an https address of the service, got {api}")
        self._token, self.api, self._pause = token, api.rstrip("/"), pause

    def cost(self, reward: Decimal, places: int) -> Decimal:
        request = {"reward": int(reward * 100), "total_available_places": places}
        answer = self._ask("POST", "/study-cost-calculator/", request, tries=TRIES)
        with _readable(answer):
            return (Decimal(str(_value(answer, "total_cost"))) / 100).quantize(Decimal("0.01"))

    def find(self, internal_name: str, *, wait: bool = False) -> Study | None:
        """The study of this name of ours, if there is one; ``wait`` looks again later, for one that is being made."""
        studies = map(_study, self._pages("/studies/"))
        study = next((study for study in studies if study.internal_name == internal_name), None)
        if study is None and wait:
            self._pause(LATER)
            return self.find(internal_name)
        return study

    def study(self, study: str) -> Study:
        return _study(self._ask("GET", f"/studies/{study}/"))

    def create_study(self, properties: Mapping[str, Any]) -> Study:
        """A new study, a draft; the request is never repeated, for that would make two."""
        return _study(self._ask("POST", "/studies/", properties))

    def act(self, study: str, action: str) -> None:
        self._ask("POST", f"/studies/{study}/transition/", {"action": action})

    def submissions(self, study: str) -> list[Submission]:
        return [_submission(record) for record in self._pages(f"/studies/{study}/submissions/")]

    def approve(self, submission: str) -> None:
        """Approve: the participant is paid."""
        self._ask("POST", f"/submissions/{submission}/transition/", {"action": "APPROVE"})

    def reject(self, submission: str, reason: str, category: str) -> None:
        """Reject, with a reason that the participant reads."""
        request = {"action": "REJECT", "message": reason, "rejection_category": category}
        self._ask("POST", f"/submissions/{submission}/transition/", request)

    def prepare_bonus(self, study: str, submission: str, amount: Decimal) -> str:
        """Set up a bonus; the id of the payment. Nothing is paid yet."""
        request = {"study_id": study, "csv_bonuses": f"{submission},{amount:.2f}"}
        answer = self._ask("POST", "/submissions/bonus-payments/", request)
        with _readable(answer):
            return str(_value(answer, "id"))

    def pay_bonus(self, payment: str) -> None:
        """Pay what was set up. The service pays again if it is asked again, so this is never repeated."""
        self._ask("POST", f"/bulk-bonus-payments/{payment}/pay/", {})

    def _pages(self, path: str) -> Iterator[Any]:
        """The records of a list, page by page: the next page is the same list with another query.

        A list that ends before as many as the service counts is an error: who is missing in it would go unpaid.
        """
        query, seen, count, total = "", set(), 0, 0
        while query not in seen:
            seen.add(query)
            page = self._ask("GET", f"{path}{query}")
            with _readable(page):
                records = list(page["results"])
                count += len(records)
                total = max(total, int((page.get("meta") or {}).get("count") or 0))
                following = ((page.get("_links") or {}).get("next") or {}).get("href")
                query = f"?{urlsplit(str(following)).query}" if following else ""
            yield from records
        if count < total:
            raise ProlificError(f"expected {total} records of {path}, got {count}")

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None, tries: int = 1) -> Any:
        """One request; one that changes nothing is repeated while the service is busy."""
        for attempt in range(1, (TRIES if method == "GET" else tries)):
            try:
                return self._send(method, path, body)
            except ProlificError as error:
                if error.status not in (0, 429) and error.status < 500:
                    raise
                self._pause(2.0 ** (attempt - 1))
        return self._send(method, path, body)

    def _send(self, method: str, path: str, body: Mapping[str, Any] | None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Token {self._token}", "Content-Type": "application/json"}
        request = Request(f"{self.api}{path}", data, headers, method=method)
        try:
            with build_opener(_NoRedirects).open(request, timeout=TIMEOUT) as response:
                text = response.read()
        except HTTPError as error:
            with error:
                message = f"Prolific refuses: {_detail(error.read())} ({error.code})"
                raise ProlificError(message, error.code) from None
        except (OSError, HTTPException) as error:
            raise ProlificError(f"Prolific does not answer: {error}") from None
        try:
            return parse_json(text) if text.strip() else {}
        except SyntaxFormatError as error:
            raise ProlificError(f"expected JSON of Prolific: {error}") from None


@contextmanager
def _readable(answer: Any) -> Iterator[None]:
    """Turn an answer of another shape than the documented one into one line."""
    try:
        yield
    except (KeyError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        message = f"Prolific's answer cannot be read ({error}): {str(answer)[:100]}"
        raise ProlificError(message) from None


def _value(record: Any, name: str) -> Any:
    if record[name] is None:
        raise KeyError(name)
    return record[name]


def _detail(text: bytes) -> str:
    """What an error says of itself, in one line: of its field ``error``, or of a flat one."""
    try:
        answer = parse_json(text)
        error = answer.get("error") if isinstance(answer.get("error"), dict) else answer
        reason = error.get("detail") or error.get("title") or error.get("message") or "without a reason"
    except (SyntaxFormatError, AttributeError):
        return "without a reason"
    return (reason if isinstance(reason, str) else json.dumps(reason, ensure_ascii=False))[:300]


def _study(record: Any) -> Study:
    with _readable(record):
        places, taken = (int(record.get(name) or 0) for name in ("total_available_places", "places_taken"))
        name, status = str(record.get("internal_name") or ""), str(record.get("status") or "")
        return Study(str(_value(record, "id")), name, status, places, taken)


def _submission(record: Any) -> Submission:
    with _readable(record):
        participant, code = str(record.get("participant_id") or ""), str(record.get("study_code") or "")
        return Submission(str(_value(record, "id")), participant, str(_value(record, "status")), code)
