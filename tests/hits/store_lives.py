"""What tests of the store begin with: a hit, a worker, an error's code."""

from decimal import Decimal

import pytest

from hits.server.store.hits import NewHit
from hits.server.store.records import AssignmentStatus, Hit, HitProperties, HitStatus, RefusedError
from hits.server.store.store import Store
from hits.server.store.work import FINISHED

LABELS = HitProperties("Judge phrases", "Ten each", Decimal("0.05"), duration=600, auto_approval=86400)

YES = {"label_1": "YES"}


def make_hit(store: Store, *, places: int = 1, properties: HitProperties = LABELS, now: int = 0) -> Hit:
    return store.hits.create(properties, NewHit("<q/>", lifetime=3600, max_assignments=places), now)


def make_worker(store: Store, name: str = "Ada") -> str:
    return store.people.invite(name, 0).worker.id


def code(error: pytest.ExceptionInfo[RefusedError]) -> str:
    return error.value.code.removeprefix("AWS.MechanicalTurk.")


def available(store: Store, worker: str, now: int) -> list[Hit]:
    """The hits that a worker may accept now, the oldest first."""
    types = {group.hit_type for group in store.open_hits.groups(worker, now)}
    mine = {
        held.hit
        for held in store.work.all(now, worker=worker, statuses=[AssignmentStatus.ACCEPTED, *FINISHED])
    }
    hits = store.hits.all(now, status=HitStatus.ASSIGNABLE)
    return [hit for hit in hits if hit.type.id in types and hit.id not in mine]
