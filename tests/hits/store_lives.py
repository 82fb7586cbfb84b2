"""What tests of the store begin with: a hit, a worker, an error's code."""

from decimal import Decimal

import pytest

from hits.server.store.hits import NewHit
from hits.server.store.records import Hit, HitProperties, RefusedError
from hits.server.store.store import Store

LABELS = HitProperties("Judge phrases", "Ten each", Decimal("0.05"), duration=600, auto_approval=86400)

YES = {"label_1": "YES"}


def make_hit(store: Store, *, places: int = 1, properties: HitProperties = LABELS, now: int = 0) -> Hit:
    return store.create_hit(properties, NewHit("<q/>", lifetime=3600, max_assignments=places), now)


def make_worker(store: Store, name: str = "Ada") -> str:
    return store.invite(name, 0).worker.id


def code(error: pytest.ExceptionInfo[RefusedError]) -> str:
    return error.value.code.removeprefix("AWS.MechanicalTurk.")
