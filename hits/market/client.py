"""Clients of markets: one interface, and one client for our own server and compatible ones.

market = open_market("market")                       # the folder of a local market
market = open_market("http://127.0.0.1:8000/")       # an endpoint, with the keys that boto3 finds
market = open_market(MarketAddress(endpoint="https://…", production=True))       # one that spends real money
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from hashlib import sha256
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit
from uuid import uuid4

from hits.batch.page import item_question
from hits.batch.question_xml import read_answers
from hits.market.folder import served_access
from hits.market.qualification_types import is_type, requirements
from hits.market.service import session
from hits.records import CENT, STATUSES, Assignment, Batch, Bonus, Item, parse_annotation
from hits.results.csv_file import format_time
from rypt.text import FormatError, PathLike, RyptError

REGION = "us-east-1"  # the only one the protocol knows
SANDBOX = "mturk-requester-sandbox.us-east-1.amazonaws.com"  # where Mechanical Turk let people practise
TIMES = ("AutoApprovalTime", "ApprovalTime", "RejectionTime")
HIT_EXISTS = "AWS.MechanicalTurk.HitAlreadyExists"
TYPE_EXISTS = "AWS.MechanicalTurk.QualificationTypeAlreadyExists"


@dataclass(frozen=True, slots=True)
class HitState:
    """One hit of a batch as the market shows it; times count seconds since 1970.

    Of its ``places``, assignments asked for, some are ``open``, some in somebody's hands (``pending``), some submitted,
    and of these some ``reviewed``.
    """

    hit: str
    item: str
    type: str
    status: str
    created: int
    expires: int
    places: int
    open: int
    pending: int
    reviewed: int

    @property
    def submitted(self) -> int:
        """Assignments that were submitted, reviewed or not."""
        return self.places - self.open - self.pending


@dataclass(frozen=True, slots=True)
class Participant:
    """A person whom a recruiting service sent: the service's submission and its status, and the work on our market.

    ``worker`` is empty for a person who never came to the market; ``code`` is the completion code that was entered.
    """

    submission: str
    participant: str
    worker: str
    status: str
    code: str
    assignments: int
    approved: int
    rejected: int


class Market(Protocol):
    """The interface of every market."""

    name: str
    key: str  # distinguishes markets of the same name
    folder: Path | None  # of a local market, where it is on this machine

    def find(self, batch: str) -> dict[str, str]:
        """The published hits of a batch: item → hit."""

    def states(self, batch: str) -> "Iterator[HitState]":
        """The published hits of a batch, and how many places of each are free, taken and done."""

    def bonuses(self, hit: str) -> "Iterator[Bonus]":
        """All bonuses paid for assignments of a hit, the earliest first."""

    def create(self, batch: Batch, item: Item) -> str:
        """Publish one item and return its hit; a repeated call within a day makes no second hit."""

    def work(self, hit: str) -> Iterator[Assignment]:
        """All assignments of a hit that were submitted."""

    def status(self, assignment: str) -> str:
        """Submitted, Approved or Rejected."""

    def approve(self, assignment: str, feedback: str = "", *, overturn: bool = False) -> None:
        """Accept an assignment; ``overturn`` a rejection."""

    def reject(self, assignment: str, feedback: str) -> None:
        """Refuse an assignment, with the reason."""

    def bonus(self, worker: str, assignment: str, amount: Decimal, reason: str) -> bool:
        """Pay a bonus, once per assignment and reason; return True if it was paid now."""

    def paid(self, worker: str, assignment: str) -> Decimal:
        """All bonuses of a worker for an assignment."""

    def block(self, worker: str, reason: str) -> None:
        """Block a worker from further hits."""

    def unblock(self, worker: str) -> None:
        """Unblock a worker."""

    def expire(self, hit: str) -> None:
        """Expire a hit, so that nobody can begin it."""

    def delete(self, hit: str) -> None:
        """Remove a hit whose work has all been reviewed."""

    def participants(self, batch: str) -> "list[Participant]":
        """The people whom a recruiting service sent for a batch; none on a market without one."""

    def unsettled(self) -> list[str]:
        """Whose work was approved through this client and is not paid by that, a line each; nobody's by default."""


class BotoMarket:
    """A market that speaks Mechanical Turk's requester protocol, through boto3."""

    def __init__(self, client: Any, name: str, key: str, folder: Path | None = None) -> None:
        self.client = client
        self.name = name
        self.key = key
        self.folder = folder
        self._types: dict[tuple[str, str], str] = {}  # batch and reward → hit type

    def find(self, batch: str) -> dict[str, str]:
        """Go through all hits; ours carry batch and item in their annotation."""
        return {state.item: state.hit for state in self.states(batch)}

    def states(self, batch: str) -> Iterator[HitState]:
        """Go through all hits, a hundred per call."""
        for page in self._pages("list_hits"):
            for hit in page["HITs"]:
                ours = parse_annotation(hit.get("RequesterAnnotation", ""))
                if ours and ours[0] == batch:
                    yield HitState(
                        hit["HITId"],
                        ours[1],
                        hit["HITTypeId"],
                        hit["HITStatus"],
                        _seconds(hit["CreationTime"]),
                        _seconds(hit["Expiration"]),
                        hit["MaxAssignments"],
                        hit["NumberOfAssignmentsAvailable"],
                        hit["NumberOfAssignmentsPending"],
                        hit["NumberOfAssignmentsCompleted"],
                    )

    def bonuses(self, hit: str) -> Iterator[Bonus]:
        """Page by page."""
        paid = [
            Bonus(
                record["AssignmentId"],
                record["WorkerId"],
                Decimal(record["BonusAmount"]),
                record.get("Reason", ""),
                _seconds(record["GrantTime"]),
            )
            for page in self._pages("list_bonus_payments", {"HITId": hit})
            for record in page["BonusPayments"]
        ]
        yield from sorted(paid, key=lambda bonus: bonus.time or 0)

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
            if error.code != HIT_EXISTS:
                raise
            hit = self.find(settings.id).get(item.id)
            if hit is None:
                message = f"item {item.id} was published and removed within a day; wait, or make a new batch"
                raise MarketError(message, error.code) from None
            return hit

    def _type(self, batch: Batch, item: Item) -> str:
        settings, reward = batch.settings, str(batch.reward(item))
        if (settings.id, reward) not in self._types:
            request: dict[str, Any] = {
                "Title": settings.title,
                "Description": settings.description,
                "Keywords": settings.keywords,
                "Reward": reward,
                "AssignmentDurationInSeconds": settings.duration,
                "AutoApprovalDelayInSeconds": settings.auto_approval,
            }
            if rules := requirements(settings.qualifications, self._qualification):
                request["QualificationRequirements"] = rules
            self._types[settings.id, reward] = self._call("create_hit_type", request)["HITTypeId"]
        return self._types[settings.id, reward]

    def _qualification(self, request: dict[str, Any]) -> str:
        """The qualification type that a request would create: an existing one of its name, or a new one."""
        kind = self._find_qualification(request)
        if kind is None:
            try:
                made = self._call("create_qualification_type", request)["QualificationType"][
                    "QualificationTypeId"
                ]
                return str(made)
            except MarketError as error:
                if error.code != TYPE_EXISTS or (kind := self._find_qualification(request)) is None:
                    raise
        return kind

    def _find_qualification(self, request: dict[str, Any]) -> str | None:
        wanted = {"Query": request["Name"], "MustBeRequestable": False, "MustBeOwnedByCaller": True}
        for page in self._pages("list_qualification_types", wanted):
            for kind in page["QualificationTypes"]:
                if is_type(request, kind):
                    return str(kind["QualificationTypeId"])
        return None

    def work(self, hit: str) -> Iterator[Assignment]:
        """Page by page: a hit may have more assignments than a page holds."""
        for page in self._pages(
            "list_assignments_for_hit", {"HITId": hit, "AssignmentStatuses": list(STATUSES)}
        ):
            for record in page["Assignments"]:
                yield read_assignment(record)

    def approve(self, assignment: str, feedback: str = "", *, overturn: bool = False) -> None:
        """Approve; a feedback that is empty is left out, for the protocol wants at least a character."""
        request = {"AssignmentId": assignment, "OverrideRejection": overturn}
        self._call("approve_assignment", request | ({"RequesterFeedback": feedback} if feedback else {}))

    def reject(self, assignment: str, feedback: str) -> None:
        """Reject with a reason."""
        self._call("reject_assignment", {"AssignmentId": assignment, "RequesterFeedback": feedback})

    def bonus(self, worker: str, assignment: str, amount: Decimal, reason: str) -> bool:
        """Pay once: earlier payments are looked up, because request tokens last a day only."""
        amount = whole_cents(amount)
        for paid in self._bonuses(assignment):
            if paid["WorkerId"] == worker and paid.get("Reason") == reason:
                if Decimal(paid["BonusAmount"]) != amount:
                    raise MarketError(
                        f"a bonus of ${paid['BonusAmount']} was paid for this reason already", ""
                    )
                return False
        request = {
            "WorkerId": worker,
            "BonusAmount": str(amount),
            "AssignmentId": assignment,
            "Reason": reason,
        }
        self._call("send_bonus", {**request, "UniqueRequestToken": _token(f"bonus:{assignment}:{reason}")})
        return True

    def paid(self, worker: str, assignment: str) -> Decimal:
        """All bonuses of a worker for an assignment."""
        amounts = [
            Decimal(paid["BonusAmount"]) for paid in self._bonuses(assignment) if paid["WorkerId"] == worker
        ]
        return sum(amounts, Decimal(0))

    def _bonuses(self, assignment: str) -> Iterator[dict[str, Any]]:
        for page in self._pages("list_bonus_payments", {"AssignmentId": assignment}):
            yield from page["BonusPayments"]

    def status(self, assignment: str) -> str:
        """Submitted, Approved or Rejected."""
        response = self._call("get_assignment", {"AssignmentId": assignment})
        return str(response["Assignment"]["AssignmentStatus"])

    def block(self, worker: str, reason: str) -> None:
        """Block a worker."""
        self._call("create_worker_block", {"WorkerId": worker, "Reason": reason})

    def unblock(self, worker: str) -> None:
        """Take a block back."""
        self._call("delete_worker_block", {"WorkerId": worker})

    def expire(self, hit: str) -> None:
        """Set the expiration to a time long ago."""
        self._call("update_expiration_for_hit", {"HITId": hit, "ExpireAt": 0})

    def delete(self, hit: str) -> None:
        """Dispose of a hit."""
        self._call("delete_hit", {"HITId": hit})

    def participants(self, batch: str) -> list[Participant]:
        """None: nobody recruits for this market."""
        return []

    def unsettled(self) -> list[str]:
        """Nobody's: what is approved here is settled."""
        return []

    def balance(self) -> Decimal:
        """What is left to spend."""
        return Decimal(self._call("get_account_balance", {})["AvailableBalance"])

    def _call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        response: dict[str, Any] = self._guarded(lambda: getattr(self.client, operation)(**request))
        return response

    def _pages(self, operation: str, request: dict[str, Any] | None = None) -> Iterator[dict[str, Any]]:
        pages = iter(
            self.client.get_paginator(operation).paginate(
                **(request or {}), PaginationConfig={"PageSize": 100}
            )
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
            raise MarketError(
                f"the market {self.name} refuses: {error.response['Error']['Message']}", code
            ) from None
        except BotoCoreError as error:
            raise MarketError(f"the market {self.name}{self._place()} does not answer: {error}", "") from None

    def _place(self) -> str:
        """Where a local market is, and how it is served."""
        return "" if self.folder is None else f" in {self.folder} (served by `rypt hits serve {self.folder}`)"


class MarketError(RyptError):
    """What a market refused, with its code."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


def whole_cents(amount: Decimal) -> Decimal:
    """An amount that a market can pay, with two places; any other is refused.

    >>> whole_cents(Decimal("1.5"))
    Decimal('1.50')
    """
    if not amount.is_finite() or amount <= 0 or amount != amount.quantize(CENT):
        raise RyptError(f"expected an amount of at least one cent, in whole cents, found {amount}")
    return amount.quantize(CENT)


def spends_money(endpoint: str) -> bool:
    """Whether an endpoint may spend real money: all but those on this machine and the sandbox.

    >>> [spends_money(f"{url}/") for url in ("http://localhost:8000", "http://127.0.0.1", f"https://{SANDBOX}")]
    [False, False, False]
    >>> [spends_money(url) for url in ("https://evil-sandbox.example", "https://localhost.example", "localhost")]
    [True, True, True]
    """
    try:
        host = urlsplit(endpoint).hostname or ""
    except ValueError:
        return True
    if host in (SANDBOX, "localhost"):
        return False
    try:
        return not ip_address(host).is_loopback
    except ValueError:
        return True


@dataclass(frozen=True, slots=True)
class MarketAddress:
    """Where a market is: the ``folder`` of a local one, or the URL of a requester ``endpoint``.

    ``production`` says that an endpoint may spend real money; without it such an endpoint is refused. ``recruited``
    adds to a local market the service that recruits for it (`hits.market.recruited`).
    """

    folder: Path | None = None
    endpoint: str | None = None
    production: bool = False
    recruited: Callable[[BotoMarket], Market] | None = None

    def __post_init__(self) -> None:
        if (self.folder is None) == (self.endpoint is None):
            raise RyptError("expected either the folder of a local market or the URL of an endpoint")

    @property
    def name(self) -> str:
        """``local`` or ``mturk``, the name for fees and results."""
        return "mturk" if self.folder is None else "local"

    def open(self) -> Market:
        """A client for the market."""
        if self.folder is not None:
            access = served_access(self.folder)
            local = connect(access.url, access.access_key, access.secret_key, "local", self.folder)
            return local if self.recruited is None else self.recruited(local)
        endpoint = self.endpoint or ""
        if spends_money(endpoint) and not self.production:
            raise RyptError(f"{endpoint} is no sandbox: say --production if it is meant")
        return connect(endpoint, None, None, "mturk")


def market_address(market: PathLike) -> MarketAddress:
    """The address that a text stands for: a URL is an endpoint, anything else a folder.

    >>> market_address("https://127.0.0.1:8000/").name, market_address("campaign/market").name
    ('mturk', 'local')
    """
    if str(market).startswith(("http://", "https://")):
        return MarketAddress(endpoint=str(market))
    return MarketAddress(folder=Path(market))


AnyMarket = PathLike | MarketAddress | Market


def open_market(market: AnyMarket) -> Market:
    """A client for a market, given by the folder of a local one, by a URL, by an address, or by a client."""
    if isinstance(market, str | Path):
        return market_address(market).open()
    return market.open() if isinstance(market, MarketAddress) else market


def connect(
    endpoint: str, access_key: str | None, secret_key: str | None, name: str, folder: Path | None = None
) -> BotoMarket:
    """The client for an endpoint with its keys, or with the keys that boto3 finds."""
    from botocore.config import Config

    client = session().client(
        "mturk",
        region_name=REGION,
        endpoint_url=endpoint,
        aws_access_key_id=access_key,
        aws_secret_access_key=secret_key,
        config=Config(retries={"mode": "standard", "max_attempts": 5}, connect_timeout=10, read_timeout=60),
    )
    client.meta.events.register("before-sign.mturk", _name_call)
    identity = access_key if name == "local" and access_key else endpoint
    return BotoMarket(client, name, f"{name}-{sha256(identity.encode()).hexdigest()[:8]}", folder)


def _name_call(request: Any, **_: object) -> None:
    """Add a signed unique header to each request, so that equal calls in one second have different signatures."""
    request.headers["X-Rypt-Call"] = uuid4().hex


def _token(text: str) -> str:
    """A request token, which may have 64 characters."""
    return sha256(text.encode()).hexdigest()


def _seconds(time: datetime) -> int:
    return int(time.timestamp())


def read_assignment(record: Mapping[str, Any]) -> Assignment:
    """An assignment of the protocol; one whose answers cannot be read has a problem."""
    fields, problem = {}, ""
    try:
        fields = read_answers(record["Answer"])
    except FormatError as error:
        problem = str(error)
    facts = {name: format_time(_seconds(record[name])) for name in TIMES if record.get(name)}
    return Assignment(
        record["AssignmentId"],
        record["HITId"],
        record["WorkerId"],
        fields,
        _seconds(record["AcceptTime"]),
        _seconds(record["SubmitTime"]),
        record["AssignmentStatus"],
        facts=facts | {"RequesterFeedback": record.get("RequesterFeedback", "")},
        problem=problem,
    )
