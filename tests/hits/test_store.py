import itertools
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from hits.store import Store
from hits.store_base import MarketFileError
from hits.store_hits import NewHit
from hits.store_qualifications import NewQualificationType
from hits.store_records import AssignmentStatus, Hit, HitProperties, HitStatus, Locale, RefusedError, Requirement
from hits.store_requirements import ADULT, LOCALE, NUMBER_APPROVED, PERCENT_APPROVED, meets

LABELS = HitProperties("Judge phrases", "Ten each", Decimal("0.05"), duration=600, auto_approval=86400)
YES = {"label_1": "YES"}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "market.db") as opened:
        yield opened


def make_hit(store: Store, *, places: int = 1, properties: HitProperties = LABELS, now: int = 0) -> Hit:
    return store.create_hit(properties, NewHit("<q/>", lifetime=3600, max_assignments=places), now)


def make_worker(store: Store, name: str = "Ada") -> str:
    return store.invite(name, 0).worker.id


def code(error: pytest.ExceptionInfo[RefusedError]) -> str:
    return error.value.code.removeprefix("AWS.MechanicalTurk.")


def test_a_whole_life(store: Store) -> None:
    hit, worker = make_hit(store), make_worker(store)
    assert [found.id for found in store.available_hits(worker, 5)] == [hit.id]
    assignment = store.accept(worker, hit.id, 5)
    assert assignment.deadline == 605
    assert store.hit(hit.id, 5).status is HitStatus.UNASSIGNABLE
    assert store.current_assignments(worker, 6) == [assignment]
    done = store.submit(assignment.id, worker, YES, 65)
    assert (done.status, done.submitted, done.auto_approval) == (AssignmentStatus.SUBMITTED, 65, 65 + 86400)
    assert store.hit(hit.id, 66).status is HitStatus.REVIEWABLE
    assert store.available_hits(worker, 66) == []
    assert store.earnings(worker, 66).waiting == Decimal("0.05")
    store.approve(assignment.id, "well done", 70)
    assert store.earnings(worker, 71).approved == Decimal("0.05")
    store.delete_hit(hit.id, 72)
    assert store.hit(hit.id, 72).status is HitStatus.DISPOSED
    assert store.hits(72) == []


def test_submitting_again_is_acknowledged_and_stores_nothing(store: Store) -> None:
    hit, worker = make_hit(store), make_worker(store)
    assignment = store.accept(worker, hit.id, 1)
    first = store.submit(assignment.id, worker, YES, 2)
    assert store.submit(assignment.id, worker, YES, 900) == first
    store.approve(assignment.id, None, 901)
    assert store.submit(assignment.id, worker, YES, 902).status is AssignmentStatus.APPROVED
    with pytest.raises(RefusedError, match="other answers") as error:
        store.submit(assignment.id, worker, {"label_1": "NO"}, 3)
    assert code(error) == "InvalidAssignmentState"
    assert store.assignment(assignment.id, 903).answers == YES


def test_accepting_again_gives_the_same_assignment_and_never_a_second(store: Store) -> None:
    hit, worker = make_hit(store, places=5), make_worker(store)
    assignment = store.accept(worker, hit.id, 1)
    assert store.accept(worker, hit.id, 2) == assignment
    store.submit(assignment.id, worker, YES, 3)
    with pytest.raises(RefusedError) as error:
        store.accept(worker, hit.id, 4)
    assert code(error) == "AssignmentAlreadyExists"
    assert store.hit(hit.id, 5).available == 4


def test_another_workers_assignment_is_not_there(store: Store) -> None:
    hit, ada, bob = make_hit(store), make_worker(store), make_worker(store, "Bob")
    assignment = store.accept(ada, hit.id, 1)
    for attempt in (
        lambda: store.submit(assignment.id, bob, YES, 2),
        lambda: store.return_assignment(assignment.id, bob, 2),
        lambda: store.submit("3NOSUCH", bob, YES, 2),
    ):
        with pytest.raises(RefusedError) as error:
            attempt()
        assert code(error) == "AssignmentDoesNotExist"
    assert store.assignment(assignment.id, 3).status is AssignmentStatus.ACCEPTED


def test_time_runs_out_and_the_place_is_free_again(store: Store) -> None:
    hit, ada, bob = make_hit(store), make_worker(store), make_worker(store, "Bob")
    late = store.accept(ada, hit.id, 0)
    with pytest.raises(RefusedError, match="no free place"):
        store.accept(bob, hit.id, 600)
    assert store.available_hits(bob, 601)[0].id == hit.id
    with pytest.raises(RefusedError, match="time is over"):
        store.submit(late.id, ada, YES, 601)
    assert store.assignment(late.id, 601).status is AssignmentStatus.ABANDONED
    again = store.accept(bob, hit.id, 601)
    store.submit(again.id, bob, YES, 601 + 600)
    with pytest.raises(RefusedError):
        store.submit(late.id, ada, YES, 1201)
    assert store.hit(hit.id, 1300).submitted == 1


def test_returning(store: Store) -> None:
    first, second, worker = make_hit(store), make_hit(store), make_worker(store)
    assignment = store.accept(worker, first.id, 1)
    store.return_assignment(assignment.id, worker, 2)
    store.return_assignment(assignment.id, worker, 3)
    assert store.hit(first.id, 4).status is HitStatus.ASSIGNABLE
    assert [hit.id for hit in store.available_hits(worker, 4)] == [second.id, first.id]
    again = store.accept(worker, first.id, 5)
    assert again.id != assignment.id
    store.submit(again.id, worker, YES, 6)
    with pytest.raises(RefusedError):
        store.return_assignment(again.id, worker, 7)


def test_automatic_approval_happens_at_its_time_whenever_somebody_looks(store: Store) -> None:
    hit, worker = make_hit(store), make_worker(store)
    assignment = store.accept(worker, hit.id, 0)
    store.submit(assignment.id, worker, YES, 100)
    assert store.assignment(assignment.id, 100 + 86399).status is AssignmentStatus.SUBMITTED
    found = store.assignment(assignment.id, 10**8)
    assert (found.status, found.approved) == (AssignmentStatus.APPROVED, 100 + 86400)
    with pytest.raises(RefusedError):
        store.reject(assignment.id, "too late", 10**8)


def test_blocked_workers_get_nothing(store: Store) -> None:
    hit, worker = make_hit(store), make_worker(store)
    store.block(worker, "random answers", 1)
    assert store.available_hits(worker, 2) == []
    assert store.count_available(worker, 2) == 0
    assert not store.may_preview(worker, hit.id, 2)
    with pytest.raises(RefusedError) as error:
        store.accept(worker, hit.id, 2)
    assert code(error) == "PermissionDeniedException"
    assert store.worker(worker).blocked == "random answers"
    store.unblock(worker, 3)
    assert store.count_available(worker, 4) == 1


def test_a_worker_blocked_while_working_may_still_hand_in(store: Store) -> None:
    hit, worker = make_hit(store), make_worker(store)
    assignment = store.accept(worker, hit.id, 0)
    store.block(worker, "slow", 1)
    assert store.submit(assignment.id, worker, YES, 2).status is AssignmentStatus.SUBMITTED


def test_invitations(store: Store) -> None:
    first = store.invite("Ada", 0, locale=Locale("DE"), approved_before=9, rejected_before=1)
    second = store.invite("Ada", 5)
    assert first.token != second.token
    assert first.worker.id == second.worker.id
    for invitation in (first, second):
        found = store.worker_by_token(invitation.token)
        assert found is not None
        assert (found.name, found.locale, found.approved_before) == ("Ada", Locale("DE"), 9)
    assert store.worker_by_token("guess") is None
    assert store.worker_by_token("\ud800") is None
    store.revoke_invitations(first.worker.id, 6)
    assert store.worker_by_token(first.token) is None
    with pytest.raises(RefusedError):
        store.invite("  ", 7)


def test_tokens_are_not_in_the_file(store: Store) -> None:
    token = store.invite("Ada", 0).token
    store.close()
    assert token.encode() not in store.path.read_bytes()


def test_the_file_is_private_and_survives_reopening(tmp_path: Path) -> None:
    path = tmp_path / "market.db"
    with Store(path) as store:
        key = store.secret("key", lambda: "first")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        worker = make_worker(store)
    with Store(path) as store:
        assert store.secret("key", lambda: "second") == key == "first"
        assert store.worker(worker).name == "Ada"


def test_workers_sent_by_a_recruiting_service(store: Store) -> None:
    worker = store.enrol("prolific", "5f1", 0)
    assert store.enrol("prolific", "5f1", 9) == worker
    assert store.enrol("sona", "5f1", 9).id != worker.id
    store.consent(worker.id, 10)
    store.consent(worker.id, 20)
    assert store.worker(worker.id).consented == 10


def test_foreign_files_are_left_alone(tmp_path: Path) -> None:
    text, other = tmp_path / "text.db", tmp_path / "other.db"
    text.write_text("not a database, but long enough to look at")
    sqlite3.connect(other).executescript("CREATE TABLE t (x); INSERT INTO t VALUES (1)")
    for path in (text, other, tmp_path / "missing" / "market.db"):
        with pytest.raises(MarketFileError):
            Store(path)
    assert text.read_text().startswith("not a database")


def test_a_newer_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "market.db"
    Store(path).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(MarketFileError, match="newer rypt"):
        Store(path)


@pytest.mark.parametrize("answers", [{}, {"": "x"}, {"a": "x" * 1_000_001}, {str(n): "" for n in range(1001)}])
def test_answers_that_are_refused(store: Store, answers: dict[str, str]) -> None:
    hit, worker = make_hit(store), make_worker(store)
    assignment = store.accept(worker, hit.id, 1)
    with pytest.raises(RefusedError):
        store.submit(assignment.id, worker, answers, 2)
    assert store.assignment(assignment.id, 3).answers is None


def test_the_database_itself_refuses_what_must_not_happen(store: Store) -> None:
    hit, ada, bob = make_hit(store), make_worker(store), make_worker(store, "Bob")
    assignment = store.accept(ada, hit.id, 1)
    insert = "INSERT INTO assignments (id, hit, worker, reward, accepted, deadline) VALUES (?, ?, ?, 5, 1, 9)"

    def attempt(sql: str, *values: str) -> None:
        with pytest.raises(sqlite3.IntegrityError), store.writing(2) as db:
            db.execute(sql, values)

    attempt(insert, "3X", hit.id, bob)  # over the maximum
    roomy = make_hit(store, places=2)
    store.accept(ada, roomy.id, 1)
    attempt(insert, "3X", roomy.id, ada)  # the same worker again
    attempt("UPDATE assignments SET status = 'approved', approved = 1 WHERE id = ?", assignment.id)
    attempt("UPDATE assignments SET status = 'submitted', submitted = 1, auto_approval = 1 WHERE id = ?", assignment.id)
    store.submit(assignment.id, ada, YES, 3)
    attempt("INSERT INTO answers VALUES (?, '{}')", assignment.id)
    attempt("UPDATE answers SET fields = '{}' WHERE assignment = ?", assignment.id)
    attempt("DELETE FROM answers WHERE assignment = ?", assignment.id)
    attempt(
        "UPDATE assignments SET status = 'accepted', submitted = NULL, auto_approval = NULL WHERE id = ?", assignment.id
    )
    attempt("UPDATE hits SET max_assignments = 0 WHERE id = ?", hit.id)
    assert store.assignment(assignment.id, 4).answers == YES


def test_a_type_changed_later_does_not_change_what_was_promised(store: Store) -> None:
    hit, worker = make_hit(store), make_worker(store)
    assignment = store.accept(worker, hit.id, 1)
    cheaper = store.create_hit_type(replace(LABELS, reward=Decimal("0.01")), 2)
    store.set_type(hit.id, cheaper.id, 2)
    store.submit(assignment.id, worker, YES, 3)
    store.approve(assignment.id, None, 4)
    assert store.earnings(worker, 5).approved == Decimal("0.05")


RULES = {
    "LessThan": lambda value, given: value < given[0],
    "LessThanOrEqualTo": lambda value, given: value <= given[0],
    "GreaterThan": lambda value, given: value > given[0],
    "GreaterThanOrEqualTo": lambda value, given: value >= given[0],
    "EqualTo": lambda value, given: value == given[0],
    "NotEqualTo": lambda value, given: value != given[0],
    "In": lambda value, given: value in given,
    "NotIn": lambda value, given: value not in given,
}


@pytest.mark.parametrize("comparator", RULES)
def test_comparators(comparator: str) -> None:
    for value, first, second in itertools.product(range(3), repeat=3):
        given = (first, second) if comparator in ("In", "NotIn") else (first,)
        assert meets(Requirement("3A", comparator, given), value) == RULES[comparator](value, given)
    assert not meets(Requirement("3A", comparator, (1,)), None)


def test_existence() -> None:
    for comparator, value, passes in (("Exists", 0, True), ("Exists", None, False), ("DoesNotExist", None, True)):
        assert meets(Requirement("3A", comparator), value) is passes
    assert not meets(Requirement("3A", "DoesNotExist"), 0)


def test_locales() -> None:
    berlin, york = Locale("DE", "BE"), Locale("US", "NY")
    for comparator, given, value, passes in (
        ("EqualTo", (Locale("DE"),), berlin, True),
        ("EqualTo", (Locale("US", "CA"),), york, False),
        ("NotEqualTo", (Locale("US"),), york, False),
        ("In", (Locale("US", "CA"), Locale("US", "NY")), york, True),
        ("NotIn", (Locale("US"),), berlin, True),
        ("EqualTo", (york,), Locale("US"), False),
    ):
        assert meets(Requirement(LOCALE, comparator, locales=given), value) is passes


def test_requirements_decide_who_gets_a_hit(store: Store) -> None:
    kind = store.create_qualification_type(NewQualificationType("German", "reads German"), 0)
    rules = (
        Requirement(kind.id, "GreaterThanOrEqualTo", (80,)),
        Requirement(LOCALE, "EqualTo", locales=(Locale("DE"),)),
        Requirement(PERCENT_APPROVED, "GreaterThan", (90,)),
        Requirement(NUMBER_APPROVED, "GreaterThanOrEqualTo", (10,)),
        Requirement(ADULT, "EqualTo", (1,)),
    )
    hit = make_hit(store, properties=replace(LABELS, requirements=rules))
    worker = make_worker(store)

    def missing() -> set[str]:
        with pytest.raises(RefusedError) as error:
            store.accept(worker, hit.id, 1)
        assert code(error) == "DoesNotMeetRequirements"
        assert store.count_available(worker, 1) == 0
        return {rule.qualification for rule in rules if rule.qualification in error.value.message}

    assert missing() == {kind.id, LOCALE, NUMBER_APPROVED, ADULT}  # a beginner's rate is 100
    store.invite("Ada", 0, locale=Locale("DE"), adult=True, approved_before=90, rejected_before=10)
    assert missing() == {kind.id, PERCENT_APPROVED}
    store.invite("Ada", 0, locale=Locale("DE"), adult=True, approved_before=91, rejected_before=9)
    assert missing() == {kind.id}
    store.grant(kind.id, worker, 79, 1)
    assert missing() == {kind.id}
    store.grant(kind.id, worker, 80, 1)
    assert [found.id for found in store.available_hits(worker, 1)] == [hit.id]
    store.revoke(kind.id, worker, "cheated", 1)
    assert missing() == {kind.id}
    assert store.messages(worker)[0].text == "cheated"
    store.grant(kind.id, worker, None, 1)  # without a value it counts as 1
    assert missing() == {kind.id}
    store.grant(kind.id, worker, 100, 1)
    store.accept(worker, hit.id, 1)


def test_what_is_guarded(store: Store) -> None:
    worker = make_worker(store)
    hits = {
        guard: make_hit(
            store, properties=replace(LABELS, requirements=(Requirement(ADULT, "EqualTo", (1,), guarded=guard),))
        )
        for guard in ("Accept", "PreviewAndAccept", "DiscoverPreviewAndAccept")
    }
    assert [store.may_preview(worker, hit.id, 1) for hit in hits.values()] == [True, False, False]


TEST_FORM = (
    "<QuestionForm><Question><QuestionIdentifier>q</QuestionIdentifier><QuestionContent/><AnswerSpecification/>"
    "</Question></QuestionForm>"
)
KEY = (
    "<AnswerKey><Question><QuestionIdentifier>q</QuestionIdentifier><AnswerOption>"
    "<SelectionIdentifier>right</SelectionIdentifier><AnswerScore>1</AnswerScore></AnswerOption></Question>"
    "<QualificationValueMapping><PercentageMapping><MaximumSummedScore>1</MaximumSummedScore></PercentageMapping>"
    "</QualificationValueMapping></AnswerKey>"
)


def test_a_test_with_two_tries(store: Store) -> None:
    new = NewQualificationType("German", "test", retry_delay=60, test=TEST_FORM, answer_key=KEY, test_duration=100)
    kind = store.create_qualification_type(new, 0)
    pass_mark = Requirement(kind.id, "GreaterThanOrEqualTo", (80,))
    hit = make_hit(store, properties=replace(LABELS, requirements=(pass_mark,)))
    ada, bob = make_worker(store), make_worker(store, "Bob")
    assert [found.id for found in store.missing_qualifications(ada, 1)] == [kind.id]
    request = store.request_qualification(ada, kind.id, 1)
    assert request.status == "started"
    assert store.request_qualification(ada, kind.id, 2) == request
    failed = store.submit_test(request.id, ada, {"q": "wrong"}, 10)
    assert (failed.status, failed.value) == ("granted", 0)
    assert store.submit_test(request.id, ada, {"q": "wrong"}, 11) == failed
    with pytest.raises(RefusedError):
        store.submit_test(request.id, ada, {"q": "right"}, 12)
    assert store.count_available(ada, 12) == 0
    with pytest.raises(RefusedError) as error:
        store.request_qualification(ada, kind.id, 69)
    assert code(error) == "QualificationTypeRetryDelayNotElapsed"
    second = store.request_qualification(ada, kind.id, 70)
    with pytest.raises(RefusedError):
        store.submit_test(second.id, bob, {"q": "right"}, 71)
    assert store.submit_test(second.id, ada, {"q": "right"}, 71).value == 100
    assert store.available_hits(ada, 72)[0].id == hit.id
    assert store.missing_qualifications(ada, 72) == []
    with pytest.raises(RefusedError) as error:
        store.request_qualification(ada, kind.id, 1000)
    assert code(error) == "QualificationTypeDoesNotAllowRetake"


def test_a_test_whose_time_is_over_counts_as_a_try(store: Store) -> None:
    new = NewQualificationType("German", "test", retry_delay=0, test=TEST_FORM, answer_key=KEY, test_duration=100)
    kind = store.create_qualification_type(new, 0)
    worker = make_worker(store)
    first = store.request_qualification(worker, kind.id, 0)
    with pytest.raises(RefusedError, match="over"):
        store.submit_test(first.id, worker, {"q": "right"}, 161)
    assert [request.status for request in store.requests_of(worker, kind.id)] == ["rejected"]
    store.request_qualification(worker, kind.id, 200)
    with pytest.raises(RefusedError) as error:
        store.request_qualification(worker, kind.id, 500)
    assert code(error) == "QualificationTypeDoesNotAllowRetake"


def test_granted_at_once_and_decided_by_the_requester(store: Store) -> None:
    worker = make_worker(store)
    at_once = store.create_qualification_type(
        NewQualificationType("a", "d", auto_granted=True, auto_granted_value=7), 0
    )
    assert store.request_qualification(worker, at_once.id, 1).status == "granted"
    assert store.qualification(at_once.id, worker, 1).value == 7
    with pytest.raises(RefusedError) as error:
        store.request_qualification(worker, at_once.id, 2)
    assert code(error) == "QualificationAlreadyExists"
    by_hand = store.create_qualification_type(NewQualificationType("b", "d"), 0)
    request = store.request_qualification(worker, by_hand.id, 1)
    assert [found.id for found in store.qualification_requests()] == [request.id]
    store.decide_request(request.id, 2, grant=True, value=3)
    assert store.qualification(by_hand.id, worker, 2).value == 3
    with pytest.raises(RefusedError):
        store.decide_request(request.id, 3, grant=False)


def test_racing_for_the_last_place(store: Store) -> None:
    """Two stores on one file, as two processes would have it, and eight workers at each hit of two places."""
    workers = [make_worker(store, f"w{n}") for n in range(8)]
    hits = [make_hit(store, places=2) for _ in range(15)]
    with Store(store.path) as other:
        barrier = threading.Barrier(len(workers))
        refusals: set[str] = set()

        def work(number: int) -> list[str]:
            mine, worker, done = (store, other)[number % 2], workers[number], []
            for hit in hits:
                barrier.wait(30)
                try:
                    assignment = mine.accept(worker, hit.id, 1)
                except RefusedError as error:
                    refusals.add(error.code)
                    continue
                mine.submit(assignment.id, worker, YES, 2)
                done.append(assignment.id)
            return done

        with ThreadPoolExecutor(len(workers)) as pool:
            acknowledged = [one for done in pool.map(work, range(len(workers))) for one in done]
    assert refusals == {"AWS.MechanicalTurk.InvalidHITState"}
    assert len(acknowledged) == len(set(acknowledged)) == 2 * len(hits)
    stored = store.assignments(3)
    assert sorted(found.id for found in stored) == sorted(acknowledged)
    assert all(store.hit(hit.id, 3).submitted == 2 for hit in hits)


def test_one_worker_in_many_windows(store: Store) -> None:
    hit, worker = make_hit(store, places=9), make_worker(store)
    with ThreadPoolExecutor(8) as pool:
        accepted = set(pool.map(lambda _: store.accept(worker, hit.id, 1).id, range(8)))
        assert len(accepted) == 1
        answers = list(pool.map(lambda _: store.submit(*accepted, worker, YES, 2), range(8)))
    assert len({answer.id for answer in answers}) == 1
    with store.reading(3) as db:
        assert db.execute("SELECT count(*) FROM answers").fetchone()[0] == 1


CHILD = """
import sys, threading
from decimal import Decimal
from hits.store import Store
from hits.store_hits import NewHit
from hits.store_records import HitProperties, RefusedError

store = Store(sys.argv[1])
kind = HitProperties("t", "d", Decimal("0.05"), 600)
hits = [store.create_hit(kind, NewHit("<q/>", 3600, 3), 0).id for _ in range(400)]

def work(number):
    worker = store.invite(f"w{number}", 0).worker.id
    for hit in hits:
        try:
            assignment = store.accept(worker, hit, 1)
        except RefusedError:
            continue
        store.submit(assignment.id, worker, {"who": worker, "hit": hit}, 2)
        sys.stdout.write(f"{assignment.id} {worker} {hit}\\n")
        sys.stdout.flush()

for number in range(6):
    threading.Thread(target=work, args=[number]).start()
"""


def test_what_was_acknowledged_survives_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "market.db"
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    watchdog = threading.Timer(60, child.kill)
    watchdog.start()
    try:
        lines = [child.stdout.readline() for _ in range(40)]
        os.kill(child.pid, signal.SIGKILL)
        lines += child.stdout.readlines()
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
        watchdog.cancel()
    acknowledged = [line.split() for line in lines if line.endswith("\n")]
    assert 40 <= len(acknowledged) < 1200, "the child was to be killed in the middle"
    with Store(path) as store:
        stored = {found.id: found for found in store.assignments(3)}
        for assignment, worker, hit in acknowledged:
            assert stored[assignment].answers == {"who": worker, "hit": hit}
            assert store.submit(assignment, worker, {"who": worker, "hit": hit}, 4) == stored[assignment]
        assert len(stored) - len(acknowledged) <= 6  # one a thread may have been stored and not yet acknowledged
        with store.reading(3) as db:
            assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
            assert db.execute("SELECT count(*) FROM answers").fetchone()[0] == len(stored)
        for hit in store.hits(3):
            found = [one for one in stored.values() if one.hit == hit.id]
            assert hit.submitted == len(found) <= 3


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
            assert self.store.accept(worker, self.hit.id, self.now).id == mine[0]
        elif mine or self.expected() != "Assignable":
            with pytest.raises(RefusedError):
                self.store.accept(worker, self.hit.id, self.now)
        else:
            found = self.store.accept(worker, self.hit.id, self.now)
            self.lives[found.id] = {"worker": worker, "status": "accepted", "from": self.now}

    @precondition(lambda self: self.lives)
    @rule(data=st.data(), step=st.sampled_from(["submitted", "returned", "approved", "rejected"]))
    def step(self, data: st.DataObject, step: str) -> None:
        name = data.draw(st.sampled_from(sorted(self.lives)))
        life, store, before = self.lives[name], self.store, self.lives[name]["status"]
        worker = str(life["worker"])
        attempts = {
            "submitted": lambda: store.submit(name, worker, {"who": worker}, self.now),
            "returned": lambda: store.return_assignment(name, worker, self.now),
            "approved": lambda: store.approve(name, None, self.now),
            "rejected": lambda: store.reject(name, "no", self.now),
        }
        allowed = {"submitted": "accepted", "returned": "accepted", "approved": "submitted", "rejected": "submitted"}
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
        self.store.set_expiration(self.hit.id, self.end, self.now)
        self.reviewing = self.reviewing and later < 0

    @rule()
    def extend(self) -> None:
        if self.places + 1 < 10:
            self.store.add_assignments(self.hit.id, 1, self.now)
            self.places += 1
            self.reviewing = False

    @rule(reviewing=st.booleans())
    def review(self, reviewing: bool) -> None:
        if self.expected() == ("Reviewable" if reviewing else "Reviewing"):
            self.store.set_reviewing(self.hit.id, reviewing, self.now)
            self.reviewing = reviewing
        else:
            with pytest.raises(RefusedError):
                self.store.set_reviewing(self.hit.id, reviewing, self.now)

    @invariant()
    def the_store_says_the_same(self) -> None:
        hit = self.store.hit(self.hit.id, self.now)
        assert hit.status == self.expected()
        assert hit.pending == self.count("accepted")
        assert hit.submitted == self.count("submitted")
        assert hit.completed == self.count("approved", "rejected")
        assert hit.pending + hit.submitted + hit.completed <= self.places == hit.max_assignments
        found = self.store.assignments(self.now, hit=self.hit.id, statuses=list(AssignmentStatus))
        assert {one.id: str(one.status) for one in found} == {name: life["status"] for name, life in self.lives.items()}


TestLives = Lives.TestCase
TestLives.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
