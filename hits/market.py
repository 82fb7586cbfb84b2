"""Where workers are: one protocol, and the one client that speaks it to our own server and to anything like it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from hashlib import sha256
from typing import Any, Protocol

from hits.page import item_question
from hits.question_xml import read_answers
from hits.records import Batch, Item, parse_annotation
from rypt.text import RyptError

REGION = "us-east-1"  # the only one the protocol knows
CLOSED = (
    "Amazon closed Mechanical Turk on 2026-09-30; this talks to an endpoint that speaks its protocol. "
    "The market of one's own is `rypt hits serve`, and --market local is the default."
)
SUBMITTED = ("Submitted", "Approved", "Rejected")
ALREADY_THERE = "AWS.MechanicalTurk.HitAlreadyExists"


@dataclass(frozen=True, slots=True)
class Work:
    """One assignment as the market tells it; times count seconds since 1970."""

    assignment: str
    hit: str
    worker: str
    status: str
    answer: str  # QuestionFormAnswers XML
    accepted: int
    submitted: int
    feedback: str = ""

    @property
    def fields(self) -> dict[str, str]:
        """What was filled in; XML that cannot be read is a `FormatError`."""
        return read_answers(self.answer)


class Market(Protocol):
    """What every market does."""

    name: str
    key: str  # tells one market from another of the same name

    def find(self, batch: str) -> dict[str, str]:
        """The hits of a batch that are there: item → hit."""

    def create(self, batch: Batch, item: Item) -> str:
        """Publish one item; asked twice within a day, it makes one hit. Returns the hit."""

    def work(self, hit: str) -> Iterator[Work]:
        """All assignments of a hit that were submitted."""

    def approve(self, assignment: str, feedback: str = "", *, overturn: bool = False) -> None:
        """Accept an assignment; ``overturn`` a rejection."""

    def reject(self, assignment: str, feedback: str) -> None:
        """Refuse an assignment, with the reason."""

    def bonus(self, worker: str, assignment: str, amount: Decimal, reason: str) -> None:
        """Pay more than the reward; asked twice for one assignment, it pays once."""

    def block(self, worker: str, reason: str) -> None:
        """Keep a worker from further hits."""

    def expire(self, hit: str) -> None:
        """Let nobody begin a hit any more."""

    def delete(self, hit: str) -> None:
        """Remove a hit whose work has all been reviewed."""


class BotoMarket:
    """A market that speaks Mechanical Turk's requester protocol, through boto3."""

    def __init__(self, client: Any, name: str, key: str) -> None:
        self.client = client
        self.name = name
        self.key = key
        self._types: dict[str, str] = {}

    def find(self, batch: str) -> dict[str, str]:
        """Go through all hits; ours carry batch and item in their annotation."""
        found = {}
        for page in self._pages("list_hits"):
            for hit in page["HITs"]:
                ours = parse_annotation(hit.get("RequesterAnnotation", ""))
                if ours and ours[0] == batch:
                    found[ours[1]] = hit["HITId"]
        return found

    def create(self, batch: Batch, item: Item) -> str:
        """One hit, of a type shared by all items with the same reward."""
        settings = batch.settings
        request = {
            "HITTypeId": self._type(batch, item),
            "MaxAssignments": settings.assignments,
            "LifetimeInSeconds": settings.lifetime,
            "Question": item_question(batch, item),
            "RequesterAnnotation": batch.annotation(item),
            "UniqueRequestToken": _token(batch.annotation(item)),
        }
        try:
            return str(self._call("create_hit_with_hit_type", request)["HIT"]["HITId"])
        except MarketError as error:
            if error.code != ALREADY_THERE:
                raise
            there = self.find(settings.id).get(item.id)
            if there is None:
                message = f"item {item.id} was published and removed within a day; wait, or make a new batch"
                raise MarketError(message, error.code) from None
            return there

    def _type(self, batch: Batch, item: Item) -> str:
        reward = str(batch.reward(item))
        if reward not in self._types:
            settings = batch.settings
            request = {
                "Title": settings.title,
                "Description": settings.description,
                "Keywords": settings.keywords,
                "Reward": reward,
                "AssignmentDurationInSeconds": settings.duration,
                "AutoApprovalDelayInSeconds": settings.auto_approval,
            }
            self._types[reward] = self._call("create_hit_type", request)["HITTypeId"]
        return self._types[reward]

    def work(self, hit: str) -> Iterator[Work]:
        """Page by page: a hit may have more assignments than a page holds."""
        for page in self._pages("list_assignments_for_hit", {"HITId": hit, "AssignmentStatuses": list(SUBMITTED)}):
            for record in page["Assignments"]:
                yield Work(
                    record["AssignmentId"],
                    hit,
                    record["WorkerId"],
                    record["AssignmentStatus"],
                    record["Answer"],
                    _seconds(record["AcceptTime"]),
                    _seconds(record["SubmitTime"]),
                    record.get("RequesterFeedback", ""),
                )

    def approve(self, assignment: str, feedback: str = "", *, overturn: bool = False) -> None:
        """Approve; a feedback that is empty is left out, for the protocol wants at least a character."""
        request = {"AssignmentId": assignment, "OverrideRejection": overturn}
        self._call("approve_assignment", request | ({"RequesterFeedback": feedback} if feedback else {}))

    def reject(self, assignment: str, feedback: str) -> None:
        """Reject with a reason."""
        self._call("reject_assignment", {"AssignmentId": assignment, "RequesterFeedback": feedback})

    def bonus(self, worker: str, assignment: str, amount: Decimal, reason: str) -> None:
        """Pay once: payments that are there already are looked up, for request tokens last a day only."""
        for paid in self._bonuses(assignment):
            if paid["WorkerId"] == worker and paid.get("Reason") == reason:
                if Decimal(paid["BonusAmount"]) != amount:
                    raise MarketError(f"a bonus of ${paid['BonusAmount']} was paid for this reason already", "")
                return
        request = {"WorkerId": worker, "BonusAmount": str(amount), "AssignmentId": assignment, "Reason": reason}
        self._call("send_bonus", {**request, "UniqueRequestToken": _token(f"bonus:{assignment}:{reason}")})

    def paid(self, worker: str, assignment: str) -> Decimal:
        """What a worker got besides the reward of an assignment."""
        amounts = [Decimal(paid["BonusAmount"]) for paid in self._bonuses(assignment) if paid["WorkerId"] == worker]
        return sum(amounts, Decimal(0))

    def _bonuses(self, assignment: str) -> Iterator[dict[str, Any]]:
        for page in self._pages("list_bonus_payments", {"AssignmentId": assignment}):
            yield from page["BonusPayments"]

    def status(self, assignment: str) -> str:
        """Submitted, Approved or Rejected."""
        found = self._call("get_assignment", {"AssignmentId": assignment})
        return str(found["Assignment"]["AssignmentStatus"])

    def block(self, worker: str, reason: str) -> None:
        """Block a worker."""
        self._call("create_worker_block", {"WorkerId": worker, "Reason": reason})

    def expire(self, hit: str) -> None:
        """Set the expiration to a time long ago."""
        self._call("update_expiration_for_hit", {"HITId": hit, "ExpireAt": 0})

    def delete(self, hit: str) -> None:
        """Dispose of a hit."""
        self._call("delete_hit", {"HITId": hit})

    def balance(self) -> Decimal:
        """What is left to spend."""
        return Decimal(self._call("get_account_balance", {})["AvailableBalance"])

    def _call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        response: dict[str, Any] = self._guarded(lambda: getattr(self.client, operation)(**request))
        return response

    def _pages(self, operation: str, request: dict[str, Any] | None = None) -> Iterator[dict[str, Any]]:
        pages = iter(
            self.client.get_paginator(operation).paginate(**(request or {}), PaginationConfig={"PageSize": 100})
        )
        while (page := self._guarded(lambda: next(pages, None))) is not None:
            yield page

    def _guarded(self, call: Callable[[], Any]) -> Any:
        """Turn the client's errors into one line."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            return call()
        except ClientError as error:
            code = error.response.get("TurkErrorCode") or error.response.get("Error", {}).get("Code", "")
            raise MarketError(f"the market {self.name} refuses: {error.response['Error']['Message']}", code) from None
        except BotoCoreError as error:
            raise MarketError(f"the market {self.name} does not answer: {error}", "") from None


class MarketError(RyptError):
    """What a market refused, with its code."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


def connect(endpoint: str, access_key: str | None, secret_key: str | None, name: str) -> BotoMarket:
    """The client for an endpoint with its keys; without them boto3 looks where it always does."""
    import boto3
    from botocore.config import Config

    client = boto3.client(
        "mturk",
        region_name=REGION,
        endpoint_url=endpoint,
        aws_access_key_id=access_key,
        aws_secret_access_key=secret_key,
        config=Config(retries={"mode": "standard", "max_attempts": 5}, connect_timeout=10, read_timeout=60),
    )
    identity = access_key if name == "local" and access_key else endpoint
    return BotoMarket(client, name, f"{name}-{sha256(identity.encode()).hexdigest()[:8]}")


def _token(text: str) -> str:
    """A request token, which may have 64 characters."""
    return sha256(text.encode()).hexdigest()


def _seconds(time: datetime) -> int:
    return int(time.timestamp())
