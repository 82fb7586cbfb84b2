"""The client of a market: our own server, or another endpoint that speaks Mechanical Turk's requester protocol.

market = open_market("campaign/market")              # the folder of a local market, or of its campaign
market = open_market("http://127.0.0.1:8000/")       # an endpoint, with the keys that boto3 finds
market = open_market("mturk-sandbox")                # Mechanical Turk's, for practice; "mturk" spends real money
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any

from hits.batch.page import item_question
from hits.batch.question_xml import read_answers
from hits.market.folder import served_access
from hits.market.qualification_types import is_type, requirements
from hits.market.service import session
from hits.records import CENT, STATUSES, Assignment, Batch, Bonus, Item, parse_annotation
from hits.results.csv_file import format_time
from rypt.campaign.settings import SETTINGS, read_settings
from rypt.text import FormatError, PathLike, RyptError

REGION = "us-east-1"  # the only one the protocol knows
ENDPOINTS = {
    "mturk": "https://mturk-requester.us-east-1.amazonaws.com",
    "mturk-sandbox": "https://mturk-requester-sandbox.us-east-1.amazonaws.com",
}
HIT_EXISTS = "AWS.MechanicalTurk.HitAlreadyExists"
TYPE_EXISTS = "AWS.MechanicalTurk.QualificationTypeAlreadyExists"
TIMES = ("AutoApprovalTime", "ApprovalTime", "RejectionTime")

Record = Mapping[str, Any]  # a hit, an assignment, … under the protocol's names


class MarketError(RyptError):
    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


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


class Market:
    """A market behind a boto3 client; ``key`` distinguishes markets of one name, ``folder`` is that of a local one."""

    def __init__(self, client: Any, name: str, key: str, folder: Path | None = None) -> None:
        self.client = client
        self.name = name
        self.key = key
        self.folder = folder
        self._types: dict[tuple[str, str], str] = {}  # batch and reward → hit type

    def hits(self, batch: str) -> dict[str, Record]:
        """The published hits of a batch by item, as the market shows them; goes through all hits of the market."""
        found = {}
        for hit in self._list("list_hits", "HITs"):
            ours = parse_annotation(hit.get("RequesterAnnotation", ""))
            if ours and ours[0] == batch:
                found[ours[1]] = hit
        return found

    def create(self, batch: Batch, item: Item) -> str:
        """Publish one item and return its hit; a repeated call within a day makes no second hit."""
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
            return str(self._call("create_hit_with_hit_type", **request)["HIT"]["HITId"])
        except MarketError as error:
            if error.code != HIT_EXISTS:
                raise
            hit = self.hits(settings.id).get(item.id)
            if hit is None:
                message = f"item {item.id} was published and removed within a day; wait, or make a new batch"
                raise MarketError(message, error.code) from None
            return str(hit["HITId"])

    def _type(self, batch: Batch, item: Item) -> str:
        """The hit type that all items with the same reward share."""
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
            self._types[settings.id, reward] = self._call("create_hit_type", **request)["HITTypeId"]
        return self._types[settings.id, reward]

    def _qualification(self, request: dict[str, Any]) -> str:
        """The qualification type that a request would create: an existing one of its name, or a new one."""
        kind = self._find_qualification(request)
        if kind is None:
            try:
                kind = self._call("create_qualification_type", **request)["QualificationType"]
            except MarketError as error:
                if error.code != TYPE_EXISTS or (kind := self._find_qualification(request)) is None:
                    raise
        return str(kind["QualificationTypeId"])

    def _find_qualification(self, request: dict[str, Any]) -> Record | None:
        wanted = {"Query": request["Name"], "MustBeRequestable": False, "MustBeOwnedByCaller": True}
        kinds = self._list("list_qualification_types", "QualificationTypes", **wanted)
        return next((kind for kind in kinds if is_type(request, kind)), None)

    def work(self, hit: str) -> Iterator[Assignment]:
        wanted = {"HITId": hit, "AssignmentStatuses": list(STATUSES)}
        yield from map(read_assignment, self._list("list_assignments_for_hit", "Assignments", **wanted))

    def status(self, assignment: str) -> str:
        return str(self._call("get_assignment", AssignmentId=assignment)["Assignment"]["AssignmentStatus"])

    def approve(self, assignment: str, feedback: str = "", *, overturn: bool = False) -> None:
        words = {"RequesterFeedback": feedback} if feedback else {}  # the protocol wants at least a character
        self._call("approve_assignment", AssignmentId=assignment, OverrideRejection=overturn, **words)

    def reject(self, assignment: str, feedback: str) -> None:
        self._call("reject_assignment", AssignmentId=assignment, RequesterFeedback=feedback)

    def bonuses(self, hits: Iterable[str]) -> Iterator[Bonus]:
        """All bonuses paid for work on these hits; our own market lists those of all hits at once."""
        requests: Iterable[dict[str, str]] = (
            [{}] if self.name == "local" else ({"HITId": hit} for hit in hits)
        )
        for request in requests:
            yield from map(_bonus, self._list("list_bonus_payments", "BonusPayments", **request))

    def bonus(self, worker: str, assignment: str, amount: Decimal, reason: str) -> bool:
        """Pay a bonus, once per assignment and reason; return True if it was paid now.

        Earlier payments are looked up, because request tokens last a day only.
        """
        amount = whole_cents(amount)
        for paid in self._paid(assignment):
            if (paid.worker, paid.reason) == (worker, reason):
                if paid.amount != amount:
                    raise MarketError(f"a bonus of ${paid.amount} was paid for this reason already", "")
                return False
        self._call(
            "send_bonus",
            WorkerId=worker,
            BonusAmount=str(amount),
            AssignmentId=assignment,
            Reason=reason,
            UniqueRequestToken=_token(f"bonus:{assignment}:{reason}"),
        )
        return True

    def paid(self, worker: str, assignment: str) -> Decimal:
        return sum((bonus.amount for bonus in self._paid(assignment) if bonus.worker == worker), Decimal(0))

    def _paid(self, assignment: str) -> Iterator[Bonus]:
        yield from map(_bonus, self._list("list_bonus_payments", "BonusPayments", AssignmentId=assignment))

    def block(self, worker: str, reason: str) -> None:
        self._call("create_worker_block", WorkerId=worker, Reason=reason)

    def unblock(self, worker: str) -> None:
        self._call("delete_worker_block", WorkerId=worker)

    def expire(self, hit: str) -> None:
        self._call("update_expiration_for_hit", HITId=hit, ExpireAt=0)

    def participants(self, batch: str) -> list[Participant]:
        """The people whom a recruiting service sent for a batch; none on a market without one."""
        return []

    def unsettled(self) -> list[str]:
        """Whose work was approved through this client and is not paid by that, a line each; nobody's by default."""
        return []

    def _call(self, operation: str, **request: Any) -> dict[str, Any]:
        response: dict[str, Any] = self._guarded(lambda: getattr(self.client, operation)(**request))
        return response

    def _list(self, operation: str, member: str, **request: Any) -> Iterator[Record]:
        """The records of a list, a hundred per call."""
        config = {"PageSize": 100}
        pages = iter(self.client.get_paginator(operation).paginate(**request, PaginationConfig=config))
        while (page := self._guarded(lambda: next(pages, None))) is not None:
            yield from page[member]

    def _guarded(self, call: Callable[[], Any]) -> Any:
        """Turn the client's errors into one line."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            return call()
        except ClientError as error:
            code = error.response.get("TurkErrorCode") or error.response.get("Error", {}).get("Code", "")
            message = f"the market {self.name} refuses: {error.response['Error']['Message']}"
            raise MarketError(message, code) from None
        except BotoCoreError as error:
            place = (
                f" in {self.folder} (served by `rypt hits serve {self.folder}`)"
                if self.folder is not None
                else ""
            )
            raise MarketError(f"the market {self.name}{place} does not answer: {error}", "") from None


def read_assignment(record: Record) -> Assignment:
    """An assignment of the protocol; one whose answers cannot be read has a problem."""
    fields, problem = {}, ""
    try:
        fields = read_answers(record["Answer"])
    except FormatError as error:
        problem = str(error)
    facts = {name: format_time(_seconds(record[name])) for name in TIMES if record.get(name)}
    return Assignment(
        id=record["AssignmentId"],
        hit=record["HITId"],
        worker=record["WorkerId"],
        fields=fields,
        accepted=_seconds(record["AcceptTime"]),
        submitted=_seconds(record["SubmitTime"]),
        status=record["AssignmentStatus"],
        facts=facts | {"RequesterFeedback": record.get("RequesterFeedback", "")},
        problem=problem,
    )


def _bonus(record: Record) -> Bonus:
    amount, reason = Decimal(record["BonusAmount"]), record.get("Reason", "")
    return Bonus(record["AssignmentId"], record["WorkerId"], amount, reason, _seconds(record["GrantTime"]))


def _seconds(time: datetime) -> int:
    return int(time.timestamp())


def _token(text: str) -> str:
    """A request token, which may have 64 characters."""
    return sha256(text.encode()).hexdigest()


def whole_cents(amount: Decimal) -> Decimal:
    """An amount that a market can pay, with two places; any other is refused.

    >>> whole_cents(Decimal("1.5"))
    Decimal('1.50')
    """
    if not amount.is_finite() or amount <= 0 or amount != amount.quantize(CENT):
        raise RyptError(f"expected an amount of at least one cent, in whole cents, found {amount}")
    return amount.quantize(CENT)


@dataclass(frozen=True, slots=True)
class MarketAddress:
    """Where a market is: the ``folder`` of a local one, or the URL of a requester ``endpoint``.

    ``recruited`` adds to a local market the service that recruits for it (`hits.market.recruit`).
    """

    folder: Path | None = None
    endpoint: str | None = None
    recruited: Callable[[Market], Market] | None = None

    def __post_init__(self) -> None:
        if (self.folder is None) == (self.endpoint is None):
            raise RyptError("expected either the folder of a local market or the URL of an endpoint")

    @property
    def name(self) -> str:
        """``local`` or ``mturk``, the name for fees and results."""
        return "mturk" if self.folder is None else "local"

    def open(self) -> Market:
        if self.folder is not None:
            access = served_access(self.folder)
            local = connect(access.url, access.access_key, access.secret_key, "local", self.folder)
            return local if self.recruited is None else self.recruited(local)
        return connect(self.endpoint or "", None, None, "mturk")


def market_address(market: PathLike) -> MarketAddress:
    """The address of a market: mturk, mturk-sandbox, a URL, the folder of a local market or of its campaign.

    >>> market_address("https://127.0.0.1:8000/").name, market_address("campaign/market").name
    ('mturk', 'local')
    """
    place = ENDPOINTS.get(str(market), str(market))
    if place.startswith(("http://", "https://")):
        return MarketAddress(endpoint=place)
    if (Path(market) / SETTINGS).is_file():
        return market_of_campaign(Path(market))
    return MarketAddress(folder=Path(market))


def market_of_campaign(campaign: Path) -> MarketAddress:
    market = read_settings(campaign).market
    if market.endpoint is not None:
        return MarketAddress(endpoint=market.endpoint)
    return MarketAddress(folder=Path(os.path.normpath(campaign / market.folder)))


def campaign_around(place: PathLike) -> Path | None:
    """The campaign in a folder or around it, as around the folder of a batch."""
    around = () if Path(place).is_absolute() else Path.cwd().parents
    folders = (Path(place), *Path(place).parents, *around)
    return next((folder for folder in folders[:4] if (folder / SETTINGS).is_file()), None)


AnyMarket = PathLike | MarketAddress | Market


def open_market(market: AnyMarket) -> Market:
    """A client for a market, given by the folder of a local one, by a URL, by an address, or by a client."""
    if isinstance(market, str | Path):
        return market_address(market).open()
    return market.open() if isinstance(market, MarketAddress) else market


def connect(
    endpoint: str, access_key: str | None, secret_key: str | None, name: str, folder: Path | None = None
) -> Market:
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
    identity = access_key if name == "local" and access_key else endpoint
    return Market(client, name, f"{name}-{sha256(identity.encode()).hexdigest()[:8]}", folder)
