"""The store: its file, one life told in full, random lives against a plain model, races, a killed process."""

import sqlite3
import stat
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from store_lives import YES, accept, code, make_hit, make_worker, status, submit

from hits.server.store import Store
from hits.server.store.base import MarketFileError
from hits.server.store.records import RefusedError

ALL = ("Accepted", "Returned", "Abandoned", "Submitted", "Approved", "Rejected")


def test_the_file_is_private_and_survives_reopening(tmp_path: Path) -> None:
    path = tmp_path / "market.db"
    with Store(path) as store:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        worker = make_worker(store)
    with Store(path) as store:
        assert store.people.find(worker).name == "Ada"


def test_foreign_files_are_left_alone(tmp_path: Path) -> None:
    text, other = tmp_path / "text.db", tmp_path / "other.db"
    text.write_text("not a database, but long enough to look at")
    sqlite3.connect(other).executescript("CREATE TABLE t (x); INSERT INTO t VALUES (1)")
    Store(tmp_path / "newer.db").close()
    with sqlite3.connect(tmp_path / "newer.db") as db:
        db.execute("PRAGMA user_version = 99")
    for path in (text, other, tmp_path / "newer.db", tmp_path / "missing" / "market.db"):
        with pytest.raises(MarketFileError, match=path.name):
            Store(path)
    assert text.read_text().startswith("not a database")


def test_the_database_itself_refuses_what_must_not_happen(store: Store) -> None:
    hit, ada, bob = make_hit(store), make_worker(store), make_worker(store, "Bob")
    assignment = accept(store, ada, hit, 1)

    def attempt(sql: str, *values: str) -> None:
        with pytest.raises(sqlite3.IntegrityError), store.file.writing(2) as db:
            db.execute(sql, values)

    columns = "AssignmentId, HITId, WorkerId, reward, AcceptTime, Deadline"
    insert = f"INSERT INTO assignments ({columns}) VALUES ('3X', ?, ?, 5, 1, 9)"
    attempt(insert, hit, bob)  # over the maximum
    roomy = make_hit(store, places=2)
    accept(store, ada, roomy, 1)
    attempt(insert, roomy, ada)  # the same worker again
    change = "UPDATE assignments SET AssignmentStatus = {} WHERE AssignmentId = ?"
    attempt(change.format("'Approved', ApprovalTime = 1"), assignment)
    attempt(
        change.format("'Submitted', SubmitTime = 1, AutoApprovalTime = 1"), assignment
    )  # without an answer
    store.work.submit(assignment, ada, YES, 3)
    attempt("INSERT INTO answers VALUES (?, '{}')", assignment)
    attempt("UPDATE answers SET fields = '{}' WHERE AssignmentId = ?", assignment)
    attempt("DELETE FROM answers WHERE AssignmentId = ?", assignment)
    attempt(change.format("'Accepted', SubmitTime = NULL, AutoApprovalTime = NULL"), assignment)
    attempt("UPDATE hits SET MaxAssignments = 0 WHERE HITId = ?", hit)
    assert store.work.find(assignment, 4)[0]["fields"] == YES


class Lives(RuleBasedStateMachine):
    """Random steps of workers and a requester on one hit, against a plain list of what happened to each assignment."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.store = Store(Path(self.folder.name) / "market.db")
        self.now, self.places, self.end = 0, 2, 3600
        self.hit = make_hit(self.store, places=2)
        self.workers = [make_worker(self.store, name) for name in "abc"]
        self.lives: dict[str, dict[str, int | str]] = {}

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()

    def settle(self) -> None:
        for life in self.lives.values():
            if life["status"] == "Accepted" and self.now > int(life["from"]) + 600:
                life["status"] = "Abandoned"
            if life["status"] == "Submitted" and self.now >= int(life["from"]) + 86400:
                life["status"] = "Approved"

    def count(self, *statuses: str) -> int:
        return sum(life["status"] in statuses for life in self.lives.values())

    def expected(self) -> str:
        taken = self.count("Accepted", "Submitted", "Approved", "Rejected")
        if self.now < self.end and taken < self.places:
            return "Assignable"
        return "Unassignable" if self.count("Accepted") else "Reviewable"

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
            if life["worker"] == worker and life["status"] not in ("Returned", "Abandoned")
        ]
        if mine and self.lives[mine[0]]["status"] == "Accepted":
            assert accept(self.store, worker, self.hit, self.now) == mine[0]
        elif mine or self.expected() != "Assignable":
            with pytest.raises(RefusedError):
                self.store.work.accept(worker, self.hit, self.now)
        else:
            name = accept(self.store, worker, self.hit, self.now)
            self.lives[name] = {"worker": worker, "status": "Accepted", "from": self.now}

    @precondition(lambda self: self.lives)
    @rule(data=st.data(), step=st.sampled_from(["Submitted", "Returned", "Approved", "Rejected"]))
    def step(self, data: st.DataObject, step: str) -> None:
        name = data.draw(st.sampled_from(list(self.lives)))
        life, work, before = self.lives[name], self.store.work, self.lives[name]["status"]
        worker = str(life["worker"])
        attempts = {
            "Submitted": lambda: work.submit(name, worker, {"who": worker}, self.now),
            "Returned": lambda: work.give_back(name, worker, self.now),
            "Approved": lambda: work.approve(name, None, self.now),
            "Rejected": lambda: work.reject(name, "no", self.now),
        }
        allowed = {"Submitted": "Accepted", "Returned": "Accepted"}
        harmless = {"Submitted": ("Submitted", "Approved", "Rejected"), "Returned": ("Returned", "Abandoned")}
        if before == allowed.get(step, "Submitted"):
            attempts[step]()
            life["status"] = step
            if step == "Submitted":
                life["from"] = self.now
        elif before in harmless.get(step, ()):
            attempts[step]()
        else:
            with pytest.raises(RefusedError):
                attempts[step]()

    @rule(later=st.sampled_from([-10, 1000]))
    def move_the_end(self, later: int) -> None:
        self.end = self.now + later
        self.store.hits.set_expiration(self.hit, self.end, self.now)

    @rule()
    def extend(self) -> None:
        self.store.hits.add_assignments({"HITId": self.hit, "NumberOfAdditionalAssignments": 1}, self.now)
        self.places += 1

    @invariant()
    def the_store_says_the_same(self) -> None:
        hit = self.store.hits.find(self.hit, self.now)
        assert hit["HITStatus"] == self.expected()
        counts = (hit["NumberOfAssignmentsPending"], hit["submitted"], hit["NumberOfAssignmentsCompleted"])
        assert counts == (self.count("Accepted"), self.count("Submitted"), self.count("Approved", "Rejected"))
        assert sum(counts) <= self.places == hit["MaxAssignments"]
        rows = self.store.work.all(self.now, hit=self.hit, statuses=ALL)
        assert {row["AssignmentId"]: row["AssignmentStatus"] for row in rows} == {
            name: life["status"] for name, life in self.lives.items()
        }


TestLives = Lives.TestCase
TestLives.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)


def test_submitting_again_is_acknowledged_and_stores_nothing(store: Store) -> None:
    worker = make_worker(store)
    assignment = accept(store, worker, make_hit(store), 1)
    first = store.work.submit(assignment, worker, YES, 2)
    assert store.work.submit(assignment, worker, YES, 900) == first
    store.work.approve(assignment, None, 901)
    assert store.work.submit(assignment, worker, YES, 902)["AssignmentStatus"] == "Approved"
    with pytest.raises(RefusedError, match="other answers") as error:
        store.work.submit(assignment, worker, {"label_1": "NO"}, 3)
    assert code(error) == "InvalidAssignmentState"
    assert store.work.find(assignment, 903)[0]["fields"] == YES


def test_what_was_given_back_comes_last(store: Store) -> None:
    first, second, worker = make_hit(store), make_hit(store), make_worker(store)
    assignment = accept(store, worker, first, 1)
    store.work.give_back(assignment, worker, 2)
    store.work.give_back(assignment, worker, 3)
    assert store.hits.find(first, 4)["HITStatus"] == "Assignable"
    hit_type = store.hits.find(first, 4)["HITTypeId"]
    following = store.open_hits.accept_next(worker, hit_type, 4) or ""
    assert store.work.find(following, 4)[0]["HITId"] == second
    again = accept(store, worker, first, 5)
    assert again != assignment
    store.work.submit(again, worker, YES, 6)
    with pytest.raises(RefusedError):
        store.work.give_back(again, worker, 7)


def test_the_next_hit_is_of_the_batch_first(store: Store) -> None:
    names = ("rypt:b1:0", "rypt:b2:0", "rypt:b1:1", "rypt:b2:1")
    rewards = ("0.05", "0.05", "0.07", "0.07")
    for name, reward in zip(names, rewards, strict=True):
        make_hit(store, RequesterAnnotation=name, Reward=reward)
    worker = make_worker(store)
    cheap = store.open_hits.groups(worker, 1)[0]["HITTypeId"]
    order = []
    while assignment := store.open_hits.accept_next(worker, cheap, 1, "b2"):
        order.append(store.work.find(assignment, 1)[1]["RequesterAnnotation"])
        store.work.submit(assignment, worker, YES, 2)
    assert order == ["rypt:b2:0", "rypt:b2:1", "rypt:b1:0", "rypt:b1:1"]


@pytest.mark.parametrize(
    "answers", [{}, {"": "x"}, {"a": "x" * 1_000_001}, {str(n): "" for n in range(1001)}]
)
def test_answers_that_are_refused(store: Store, answers: dict[str, str]) -> None:
    worker = make_worker(store)
    assignment = accept(store, worker, make_hit(store), 1)
    with pytest.raises(RefusedError):
        store.work.submit(assignment, worker, answers, 2)
    assert status(store, assignment, 3) == "Accepted"


def test_racing_for_the_last_place(store: Store) -> None:
    """Two stores on one file, as two processes would have it, and eight workers at each hit of two places."""
    workers = [make_worker(store, f"w{n}") for n in range(8)]
    hits = [make_hit(store, places=2) for _ in range(15)]
    with Store(store.file.path) as other:
        barrier = threading.Barrier(len(workers))
        refusals: set[str] = set()

        def work(number: int) -> list[str]:
            mine, worker, done = (store, other)[number % 2], workers[number], []
            for hit in hits:
                barrier.wait(180)
                try:
                    done.append(submit(mine, worker, hit, 1))
                except RefusedError as error:
                    refusals.add(error.code)
            return done

        with ThreadPoolExecutor(len(workers)) as pool:
            acknowledged = [one for done in pool.map(work, range(len(workers))) for one in done]
    assert refusals == {"AWS.MechanicalTurk.InvalidHITState"}
    assert len(acknowledged) == len(set(acknowledged)) == 2 * len(hits)
    assert sorted(row["AssignmentId"] for row in store.work.all(3)) == sorted(acknowledged)
    assert all(store.hits.find(hit, 3)["submitted"] == 2 for hit in hits)


def test_one_worker_in_many_windows(store: Store) -> None:
    hit, worker = make_hit(store, places=9), make_worker(store)
    with ThreadPoolExecutor(8) as pool:
        [assignment] = set(pool.map(lambda _: accept(store, worker, hit, 1), range(8)))
        answers = list(pool.map(lambda _: store.work.submit(assignment, worker, YES, 2), range(8)))
    assert all(answer == answers[0] for answer in answers)
    with store.file.reading(3) as db:
        assert db.execute("SELECT count(*) FROM answers").fetchone()[0] == 1


def test_a_bonus_is_paid_once_for_a_token_whoever_asks_at_once(store: Store) -> None:
    worker = make_worker(store)
    assignment = submit(store, worker, make_hit(store))
    request = {
        "WorkerId": worker,
        "AssignmentId": assignment,
        "BonusAmount": "1",
        "Reason": "good",
        "UniqueRequestToken": "once",
    }

    def pay(_: int) -> bool:
        try:
            store.work.pay_bonus(request, 1)
        except RefusedError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(pay, range(8))) == 1
    assert store.work.earnings(worker, 1).bonuses == 1


@pytest.mark.parametrize("name", ["\x1b[31mAda", "Ada\0", "A\nB", "", " ", "x" * 201, "\x9b", "Ada\u202eb"])
def test_names_that_cannot_be_shown_are_refused(store: Store, name: str) -> None:
    with pytest.raises(RefusedError, match="name"):
        store.people.invite(name, 1)
    with pytest.raises(RefusedError, match="name"):
        store.people.enrol(name, 1)
    assert store.people.all() == []


def test_invitations(store: Store) -> None:
    first = store.people.invite("Ada", 0, country="DE")
    second = store.people.invite("Ada", 5)
    assert first.token != second.token
    assert first.worker.id == second.worker.id
    for invitation in (first, second):
        worker = store.people.by_token(invitation.token)
        assert worker is not None
        assert (worker.name, worker.country) == ("Ada", "DE")
    assert store.people.by_token("guess") is None
    assert store.people.by_token("\ud800") is None
    assert store.people.revoke(first.worker.id, 6) == 2
    assert store.people.by_token(first.token) is None
    token = store.people.invite("Bob", 7).token
    store.close()
    assert token.encode() not in store.file.path.read_bytes()
