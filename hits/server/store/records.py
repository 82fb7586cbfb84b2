"""What the store gives and takes: rows under the protocol's names, workers, money, and refusals."""

import hashlib
import secrets
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from rypt.text import RyptError

CENT = Decimal("0.01")
DAY = 86400
ID_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

Record = dict[str, Any]  # a hit, an assignment, …: columns → values, under the protocol's names
Request = Mapping[str, Any]  # the members of a requester's call


class RefusedError(RyptError):
    """A request that the market refuses; ``code`` is the protocol's name for the reason.

    >>> RefusedError("HITDoesNotExist", "no hit 3ABC").code
    'AWS.MechanicalTurk.HITDoesNotExist'
    >>> RefusedError("AWS.ParameterValidationFailed", "expected a title").code
    'AWS.ParameterValidationFailed'
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code if code.startswith("AWS.") else f"AWS.MechanicalTurk.{code}"
        self.message = message


def invalid(what: str, message: str) -> RefusedError:
    """The error for a member of a request with a value that cannot be used."""
    return RefusedError("AWS.ParameterValidationFailed", f"{what}: {message}")


@dataclass(frozen=True, slots=True)
class Worker:
    """A person who judges. ``source`` is how they came: ``invitation``, or ``link`` for the shared link."""

    number: int
    id: str
    name: str
    source: str
    consented: int | None = None
    country: str | None = None
    blocked: str | None = None  # the reason


@dataclass(frozen=True, slots=True)
class Invitation:
    """A worker and the secret of their link; the market keeps only its hash, so it is shown once."""

    worker: Worker
    token: str


@dataclass(frozen=True, slots=True)
class Earnings:
    """What a worker has earned and what waits for review, in dollars; and how many hits they sent."""

    approved: Decimal
    waiting: Decimal
    bonuses: Decimal
    done: int

    @property
    def total(self) -> Decimal:
        return self.approved + self.bonuses


def new_id(first: str = "3", size: int = 30) -> str:
    """An id in the protocol's form: capitals and digits, impossible to guess."""
    return first + "".join(secrets.choice(ID_LETTERS) for _ in range(size - len(first)))


def insert(db: sqlite3.Connection, table: str, values: Record) -> None:
    names = ", ".join(values)
    db.execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(values))})", [*values.values()])


def token_hash(token: str) -> str:
    """The hash under which a token is stored, so that the file lets nobody in."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def cents(amount: Decimal) -> int:
    """Dollars as whole cents.

    >>> cents(Decimal("0.05"))
    5
    """
    return int(amount.quantize(CENT) * 100)


def dollars(amount: int) -> Decimal:
    """Whole cents as dollars with two places.

    >>> dollars(5), dollars(0)
    (Decimal('0.05'), Decimal('0.00'))
    """
    return Decimal(amount).scaleb(-2).quantize(CENT)
