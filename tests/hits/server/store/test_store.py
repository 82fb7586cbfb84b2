"""The store as a whole: one life told in full, and random lives against a plain model."""

import tempfile
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from store_lives import LABELS, YES, available, make_hit, make_worker

from hits.server.store.records import AssignmentStatus, HitStatus, RefusedError
from hits.server.store.store import Store


def test_a_whole_life(store: Store) -> None:
    hit, worker = make_hit(store), make_worker(store)
    assert [found.id for found in available(store, worker, 5)] == [hit.id]
    assignment = store.work.accept(worker, hit.id, 5)
    assert assignment.deadline == 605
    assert store.hits.find(hit.id, 5).status is HitStatus.UNASSIGNABLE
    assert store.work.held(worker, 6) == [assignment]
    done = store.work.submit(assignment.id, worker, YES, 65)
    assert (done.status, done.submitted, done.auto_approval) == (AssignmentStatus.SUBMITTED, 65, 65 + 86400)
    assert store.hits.find(hit.id, 66).status is HitStatus.REVIEWABLE
    assert available(store, worker, 66) == []
    assert store.work.earnings(worker, 66).waiting == Decimal("0.05")
    store.review.approve(assignment.id, "well done", 70)
    assert store.work.earnings(worker, 71).approved == Decimal("0.05")
    store.hits.delete(hit.id, 72)
    assert store.hits.find(hit.id, 72).status is HitStatus.DISPOSED
    assert store.hits.all(72) == []


def test_automatic_approval_happens_at_its_time_whenever_somebody_looks(store: Store) -> None:
    hit, worker = make_hit(store), make_worker(store)
    assignment = store.work.accept(worker, hit.id, 0)
    store.work.submit(assignment.id, worker, YES, 100)
    assert store.work.find(assignment.id, 100 + 86399).status is AssignmentStatus.SUBMITTED
    found = store.work.find(assignment.id, 10**8)
    assert (found.status, found.approved) == (AssignmentStatus.APPROVED, 100 + 86400)
    with pytest.raises(RefusedError):
        store.review.reject(assignment.id, "too late", 10**8)


def test_a_type_changed_later_does_not_change_what_was_promised(store: Store) -> None:
    hit, worker = make_hit(store), make_worker(store)
    assignment = store.work.accept(worker, hit.id, 1)
    cheaper = store.hits.create_type(replace(LABELS, reward=Decimal("0.01")), 2)
    store.hits.set_type(hit.id, cheaper.id, 2)
    store.work.submit(assignment.id, worker, YES, 3)
    store.review.approve(assignment.id, None, 4)
    assert store.work.earnings(worker, 5).approved == Decimal("0.05")


class Lives(RuleBasedStateMachine):
    """Random steps of workers and a requester on one hit, against a plain list of what happened to each assignment."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.store = Store(Path(self.folder.name) / "market.db")
        self.now, self.places, self.end, self.reviewing = 0, 2, 3600, False
        self.hit = make_hit(self.store, places=2)
        self.workers = [make_worker(self.store, name) for name in "abc"]
        self.lives: dict[str, dict[str, int | str]] = {}

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()

    def settle(self) -> None:
        for life in self.lives.values():
            if life["status"] == "accepted" and self.now > int(life["from"]) + 600:
                life["status"] = "abandoned"
            if life["status"] == "submitted" and self.now >= int(life["from"]) + 86400:
                life["status"] = "approved"

    def count(self, *statuses: str) -> int:
        return sum(life["status"] in statuses for life in self.lives.values())

    def expected(self) -> str:
        taken = self.count("accepted", "submitted", "approved", "rejected")
        if self.now < self.end and taken < self.places:
            return "Assignable"
        if self.count("accepted"):
            return "Unassignable"
        return "Reviewing" if self.reviewing else "Reviewable"

    @rule(seconds=st.sampled_from([1, 300, 601, 3600, 86400]))
    def wait(self, seconds: int) -> None:
        self.now += seconds
        self.settle()

    @rule(number=st.integers(0, 2))
    def accept(self, number: int) -> None:
        worker = self.workers[number]
        mine = [
            name
            for name, life in self.lives.items()
            if life["worker"] == worker and life["status"] not in ("returned", "abandoned")
        ]
        if mine and self.lives[mine[0]]["status"] == "accepted":
            assert self.store.work.accept(worker, self.hit.id, self.now).id == mine[0]
        elif mine or self.expected() != "Assignable":
            with pytest.raises(RefusedError):
                self.store.work.accept(worker, self.hit.id, self.now)
        else:
            found = self.store.work.accept(worker, self.hit.id, self.now)
            self.lives[found.id] = {"worker": worker, "status": "accepted", "from": self.now}

    @precondition(lambda self: self.lives)
    @rule(data=st.data(), step=st.sampled_from(["submitted", "returned", "approved", "rejected"]))
    def step(self, data: st.DataObject, step: str) -> None:
        name = data.draw(st.sampled_from(list(self.lives)))
        life, store, before = self.lives[name], self.store, self.lives[name]["status"]
        worker = str(life["worker"])
        attempts = {
            "submitted": lambda: store.work.submit(name, worker, {"who": worker}, self.now),
            "returned": lambda: store.work.give_back(name, worker, self.now),
            "approved": lambda: store.review.approve(name, None, self.now),
            "rejected": lambda: store.review.reject(name, "no", self.now),
        }
        allowed = {
            "submitted": "accepted",
            "returned": "accepted",
            "approved": "submitted",
            "rejected": "submitted",
        }
        harmless = {"submitted": ("submitted", "approved", "rejected"), "returned": ("returned", "abandoned")}
        if before == allowed[step]:
            attempts[step]()
            life["status"] = step
            if step == "submitted":
                life["from"] = self.now
        elif before in harmless.get(step, ()):
            attempts[step]()
        else:
            with pytest.raises(RefusedError):
                attempts[step]()

    @rule(later=st.sampled_from([-10, 1000]))
    def move_the_end(self, later: int) -> None:
        self.end = self.now + later
        self.store.hits.set_expiration(self.hit.id, self.end, self.now)
        self.reviewing = self.reviewing and later < 0

    @rule()
    def extend(self) -> None:
        if self.places + 1 < 10:
            self.store.hits.add_assignments(self.hit.id, 1, self.now)
            self.places += 1
            self.reviewing = False

    @rule(reviewing=st.booleans())
    def review(self, reviewing: bool) -> None:
        if self.expected() == ("Reviewable" if reviewing else "Reviewing"):
            self.store.hits.set_reviewing(self.hit.id, reviewing, self.now)
            self.reviewing = reviewing
        else:
            with pytest.raises(RefusedError):
                self.store.hits.set_reviewing(self.hit.id, reviewing, self.now)

    @invariant()
    def the_store_says_the_same(self) -> None:
        hit = self.store.hits.find(self.hit.id, self.now)
        assert hit.status == self.expected()
        assert hit.pending == self.count("accepted")
        assert hit.submitted == self.count("submitted")
        assert hit.completed == self.count("approved", "rejected")
        assert hit.pending + hit.submitted + hit.completed <= self.places == hit.max_assignments
        found = self.store.work.all(self.now, hit=self.hit.id, statuses=list(AssignmentStatus))
        assert {one.id: str(one.status) for one in found} == {
            name: life["status"] for name, life in self.lives.items()
        }


TestLives = Lives.TestCase
TestLives.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
