"""What tests of the store begin with: a hit, a worker, an error's code."""

from typing import Any

import pytest

from hits.server.store import Store
from hits.server.store.records import Record, RefusedError
from hits.server.store.work import FINISHED

LABELS = {
    "Title": "Judge phrases",
    "Description": "Ten each",
    "Reward": "0.05",
    "AssignmentDurationInSeconds": 600,
    "AutoApprovalDelayInSeconds": 86400,
    "LifetimeInSeconds": 3600,
    "Question": "<q/>",
}

YES = {"label_1": "YES"}


def make_hit(store: Store, *, places: int = 1, now: int = 0, **changes: Any) -> str:
    return str(store.hits.create({**LABELS, "MaxAssignments": places, **changes}, now)["HITId"])


def make_worker(store: Store, name: str = "Ada") -> str:
    return store.people.invite(name, 0).worker.id


def code(error: pytest.ExceptionInfo[RefusedError]) -> str:
    return error.value.code.removeprefix("AWS.MechanicalTurk.")


def accept(store: Store, worker: str, hit: str, now: int = 0) -> str:
    return str(store.work.accept(worker, hit, now)["AssignmentId"])


def submit(store: Store, worker: str, hit: str, now: int = 0) -> str:
    assignment = accept(store, worker, hit, now)
    store.work.submit(assignment, worker, YES, now)
    return assignment


def status(store: Store, assignment: str, now: int = 0) -> str:
    return str(store.work.find(assignment, now)[0]["AssignmentStatus"])


def available(store: Store, worker: str, now: int) -> list[Record]:
    """The hits that a worker may accept now, the oldest first."""
    types = {group["HITTypeId"] for group in store.open_hits.groups(worker, now) if not group["unmet"]}
    mine = {row["HITId"] for row in store.work.all(now, worker=worker, statuses=["Accepted", *FINISHED])}
    hits = store.hits.all(now, status="Assignable")
    return [hit for hit in hits if hit["HITTypeId"] in types and hit["HITId"] not in mine]
