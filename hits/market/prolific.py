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
from dataclasses import dataclass
from decimal import Decimal
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, build_opener

from hits.batch.question_xml import is_loopback
from rypt.strict import SyntaxFormatError, parse_json
from rypt.text import RyptError

API = "https://api.prolific.com/api/v1"
TIMEOUT = 60
LATER = 10  # seconds after which a request of a client that was killed has surely been carried out
TRIES = 4  # of a request that changes nothing, when the service is busy
STUDY_ACTIONS = ("PUBLISH", "PAUSE", "START", "STOP")
REJECTIONS = (
    "TOO_QUICKLY",
    "TOO_SLOWLY",
    "FAILED_INSTRUCTIONS",
    "INCOMP_LONGITUDINAL",
    "FAILED_CHECK",
    "LOW_EFFORT",
    "MALINGERING",
    "NO_CODE",
    "BAD_CODE",
    "NO_DATA",
    "UNSUPP_DEVICE",
    "OTHER",
)
REASON_LENGTH = 100  # characters of the reason of a rejection, at least


class ProlificError(RyptError):
    """What the service refused; ``status`` is that of HTTP, 0 where it did not answer."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Study:
    """A study: its id, our name for it, and where it is in its life (UNPUBLISHED, ACTIVE, PAUSED, COMPLETED, …)."""

    id: str
    internal_name: str
    status: str
    places: int
    taken: int


@dataclass(frozen=True, slots=True)
class Submission:
    """One participant's work on a study, as the service knows it.

    While a participant is asked to return it, its status stays; lists of submissions may not say so, a submission alone
    does. ``bonuses`` are those that were paid.
    """

    id: str
    participant: str
    status: str
    code: str
    asked_to_return: bool = False
    bonuses: tuple[Decimal, ...] = ()


class Prolific:
    """The service behind a token; ``api`` is another address for tests, ``pause`` waits some seconds."""

    def __init__(self, token: str, api: str = API, pause: Callable[[float], None] = time.sleep) -> None:
        parts = urlsplit(api)
        if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
            raise RyptError(f"expected an https address of the service, got {api}")
        self._token, self._api, self._pause = token, api.rstrip("/"), pause

    def cost(self, reward: Decimal, places: int) -> Decimal:
        """What a study costs with the service's fee."""
        request = {"reward": _cents(reward), "total_available_places": places}
        return _money(_field(self._ask("POST", "/study-cost-calculator/", request, again=True), "total_cost"))

    def find(self, internal_name: str, *, wait: bool = False) -> Study | None:
        """The study of this name of ours, if there is one; ``wait`` looks again later, for one that is being made."""
        for again in (False, True):
            studies = (_study(record) for record in self._pages("/studies/"))
            study = next((study for study in studies if study.internal_name == internal_name), None)
            if study is not None or again or not wait:
                return study
            self._pause(LATER)
        raise AssertionError

    def study(self, study: str) -> Study:
        """A study as it is now."""
        return _study(self._ask("GET", f"/studies/{study}/"))

    def create_study(self, properties: Mapping[str, Any]) -> Study:
        """A new study, a draft; it is never sent twice, for that would make two."""
        return _study(self._ask("POST", "/studies/", properties))

    def act(self, study: str, action: str) -> None:
        """Publish, pause, start again or stop a study."""
        self._ask("POST", f"/studies/{study}/transition/", {"action": action})

    def submissions(self, study: str) -> list[Submission]:
        """All submissions of a study."""
        return [_submission(record) for record in self._pages(f"/studies/{study}/submissions/")]

    def submission(self, submission: str) -> Submission:
        """A submission as it is now."""
        return _submission(self._ask("GET", f"/submissions/{submission}/"))

    def approve(self, submission: str) -> None:
        """Approve: the participant is paid."""
        self._ask("POST", f"/submissions/{submission}/transition/", {"action": "APPROVE"})

    def reject(self, submission: str, reason: str, category: str) -> None:
        """Reject, with a reason that the participant reads."""
        request = {"action": "REJECT", "message": reason, "rejection_category": category}
        self._ask("POST", f"/submissions/{submission}/transition/", request)

    def ask_to_return(self, submission: str, reason: str) -> None:
        """Ask the participant to give the submission back unpaid."""
        self._ask("POST", f"/submissions/{submission}/request-return/", {"request_return_reasons": [reason]})

    def prepare_bonuses(self, study: str, bonuses: Mapping[str, Decimal]) -> tuple[str, Decimal]:
        """Set up bonuses by submission; the id of the payment, and what it costs with the fee. Nothing is paid yet."""
        lines = "\n".join(f"{submission},{amount:.2f}" for submission, amount in bonuses.items())
        made = self._ask("POST", "/submissions/bonus-payments/", {"study_id": study, "csv_bonuses": lines})
        return str(_field(made, "id")), _money(_field(made, "total_amount"))

    def pay_bonuses(self, payment: str) -> None:
        """Pay what was set up. The service pays again if it is asked again, so this is never repeated."""
        self._ask("POST", f"/bulk-bonus-payments/{payment}/pay/", {})

    def _pages(self, path: str) -> Iterator[dict[str, Any]]:
        """The records of a list, page by page: the next page is the same list with another query.

        A list that ends before as many as the service counts is an error: who is missing in it would go unpaid.
        """
        query, seen, count, total = "", set(), 0, 0
        while query not in seen:
            seen.add(query)
            page = self._send("GET", f"{self._api}{path}{query}", None, again=True)
            records = _field(page, "results")
            yield from records
            count += len(records)
            total = max(total, int((page.get("meta") or {}).get("count") or 0))
            following = ((page.get("_links") or {}).get("next") or {}).get("href")
            query = f"?{urlsplit(str(following)).query}" if following else ""
        if count < total:
            raise ProlificError(f"expected {total} records of {path}, got {count}", 0)

    def _ask(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, again: bool = False
    ) -> Any:
        return self._send(method, f"{self._api}{path}", body, again=again or method == "GET")

    def _send(self, method: str, address: str, body: Mapping[str, Any] | None, *, again: bool) -> Any:
        """One request; one that changes nothing is repeated while the service is busy."""
        for attempt in range(TRIES if again else 1):
            try:
                return self._answer(method, address, body)
            except ProlificError as error:
                if attempt + 1 == TRIES or not again or not (error.status in (0, 429) or error.status >= 500):
                    raise
                self._pause(2.0**attempt)
        raise AssertionError

    def _answer(self, method: str, address: str, body: Mapping[str, Any] | None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Token {self._token}", "Content-Type": "application/json"}
        try:
            with build_opener().open(
                Request(address, data, headers, method=method), timeout=TIMEOUT
            ) as response:
                text = response.read()
        except HTTPError as error:
            with error:
                raise ProlificError(
                    f"Prolific refuses: {_detail(error.read())} ({error.code})", error.code
                ) from None
        except (OSError, HTTPException) as error:
            raise ProlificError(f"Prolific does not answer: {error}", 0) from None
        try:
            return parse_json(text) if text.strip() else {}
        except SyntaxFormatError as error:
            raise ProlificError(f"expected JSON of Prolific: {error}", 0) from None


def _field(record: Any, name: str) -> Any:
    """A field that an answer must have."""
    if not isinstance(record, dict) or record.get(name) is None:
        raise ProlificError(f"expected a field {name} in Prolific's answer, found {str(record)[:100]}", 0)
    return record[name]


def _detail(text: bytes) -> str:
    """What an error says of itself, in one line: of its field ``error``, or of a flat one."""
    try:
        answer = parse_json(text)
        error = answer.get("error") if isinstance(answer.get("error"), dict) else answer
        reason = error.get("detail") or error.get("title") or error.get("message")
    except (SyntaxFormatError, AttributeError):
        reason = None
    if reason is None:
        return "without a reason"
    return (reason if isinstance(reason, str) else json.dumps(reason, ensure_ascii=False))[:300]


def _study(record: Mapping[str, Any]) -> Study:
    try:
        return Study(
            str(record["id"]),
            str(record.get("internal_name") or ""),
            str(record.get("status") or ""),
            int(record.get("total_available_places") or 0),
            int(record.get("places_taken") or 0),
        )
    except (KeyError, TypeError, ValueError):
        raise ProlificError(f"expected a study of Prolific, found {str(record)[:100]}", 0) from None


def _submission(record: Any) -> Submission:
    """A submission of a list or alone: the two name participant and code differently."""
    try:
        bonuses = tuple(_money(cents) for cents in record.get("bonus_payments") or ())
        participant = record.get("participant_id") or record.get("participant") or ""
        code = record.get("study_code") or record.get("entered_code") or ""
        return Submission(
            str(record["id"]),
            str(participant),
            str(record["status"]),
            str(code),
            bool(record.get("return_requested")),
            bonuses,
        )
    except (KeyError, TypeError, AttributeError, ArithmeticError):
        raise ProlificError(f"expected a submission of Prolific, found {str(record)[:100]}", 0) from None


def _cents(amount: Decimal) -> int:
    return int((amount * 100).to_integral_value())


def _money(cents: object) -> Decimal:
    return (Decimal(str(cents)) / 100).quantize(Decimal("0.01"))
