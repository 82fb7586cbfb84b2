"""What workers do: accept, submit, return, and racing for the last place."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from store_lives import YES, available, code, make_hit, make_worker

from hits.server.store.records import AssignmentStatus, HitStatus, RefusedError
from hits.server.store.store import Store


def test_submitting_again_is_acknowledged_and_stores_nothing(store: Store) -> None:
    hit, worker = make_hit(store), make_worker(store)
    assignment = store.work.accept(worker, hit.id, 1)
    first = store.work.submit(assignment.id, worker, YES, 2)
    assert store.work.submit(assignment.id, worker, YES, 900) == first
    store.review.approve(assignment.id, None, 901)
    assert store.work.submit(assignment.id, worker, YES, 902).status is AssignmentStatus.APPROVED
    with pytest.raises(RefusedError, match="other answers") as error:
        store.work.submit(assignment.id, worker, {"label_1": "NO"}, 3)
    assert code(error) == "InvalidAssignmentState"
    assert store.work.find(assignment.id, 903).answers == YES


def test_accepting_again_gives_the_same_assignment_and_never_a_second(store: Store) -> None:
    hit, worker = make_hit(store, places=5), make_worker(store)
    assignment = store.work.accept(worker, hit.id, 1)
    assert store.work.accept(worker, hit.id, 2) == assignment
    store.work.submit(assignment.id, worker, YES, 3)
    with pytest.raises(RefusedError) as error:
        store.work.accept(worker, hit.id, 4)
    assert code(error) == "AssignmentAlreadyExists"
    assert store.hits.find(hit.id, 5).available == 4


def test_another_workers_assignment_is_not_there(store: Store) -> None:
    hit, ada, bob = make_hit(store), make_worker(store), make_worker(store, "Bob")
    assignment = store.work.accept(ada, hit.id, 1)
    for attempt in (
        lambda: store.work.submit(assignment.id, bob, YES, 2),
        lambda: store.work.give_back(assignment.id, bob, 2),
        lambda: store.work.submit("3NOSUCH", bob, YES, 2),
    ):
        with pytest.raises(RefusedError) as error:
            attempt()
        assert code(error) == "AssignmentDoesNotExist"
    assert store.work.find(assignment.id, 3).status is AssignmentStatus.ACCEPTED


def test_time_runs_out_and_the_place_is_free_again(store: Store) -> None:
    hit, ada, bob = make_hit(store), make_worker(store), make_worker(store, "Bob")
    late = store.work.accept(ada, hit.id, 0)
    with pytest.raises(RefusedError, match="no free place"):
        store.work.accept(bob, hit.id, 600)
    assert available(store, bob, 601)[0].id == hit.id
    with pytest.raises(RefusedError, match="time is over"):
        store.work.submit(late.id, ada, YES, 601)
    assert store.work.find(late.id, 601).status is AssignmentStatus.ABANDONED
    again = store.work.accept(bob, hit.id, 601)
    store.work.submit(again.id, bob, YES, 601 + 600)
    with pytest.raises(RefusedError):
        store.work.submit(late.id, ada, YES, 1201)
    assert store.hits.find(hit.id, 1300).submitted == 1


def test_returning(store: Store) -> None:
    first, second, worker = make_hit(store), make_hit(store), make_worker(store)
    assignment = store.work.accept(worker, first.id, 1)
    store.work.give_back(assignment.id, worker, 2)
    store.work.give_back(assignment.id, worker, 3)
    assert store.hits.find(first.id, 4).status is HitStatus.ASSIGNABLE
    following = store.open_hits.accept_next(worker, first.type.id, 4)
    assert store.work.find(following or "", 4).hit == second.id  # what was given back comes last
    again = store.work.accept(worker, first.id, 5)
    assert again.id != assignment.id
    store.work.submit(again.id, worker, YES, 6)
    with pytest.raises(RefusedError):
        store.work.give_back(again.id, worker, 7)


@pytest.mark.parametrize(
    "answers", [{}, {"": "x"}, {"a": "x" * 1_000_001}, {str(n): "" for n in range(1001)}]
)
def test_answers_that_are_refused(store: Store, answers: dict[str, str]) -> None:
    hit, worker = make_hit(store), make_worker(store)
    assignment = store.work.accept(worker, hit.id, 1)
    with pytest.raises(RefusedError):
        store.work.submit(assignment.id, worker, answers, 2)
    assert store.work.find(assignment.id, 3).answers is None


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
                    assignment = mine.work.accept(worker, hit.id, 1)
                except RefusedError as error:
                    refusals.add(error.code)
                    continue
                mine.work.submit(assignment.id, worker, YES, 2)
                done.append(assignment.id)
            return done

        with ThreadPoolExecutor(len(workers)) as pool:
            acknowledged = [one for done in pool.map(work, range(len(workers))) for one in done]
    assert refusals == {"AWS.MechanicalTurk.InvalidHITState"}
    assert len(acknowledged) == len(set(acknowledged)) == 2 * len(hits)
    stored = store.work.all(3)
    assert sorted(found.id for found in stored) == sorted(acknowledged)
    assert all(store.hits.find(hit.id, 3).submitted == 2 for hit in hits)


def test_one_worker_in_many_windows(store: Store) -> None:
    hit, worker = make_hit(store, places=9), make_worker(store)
    with ThreadPoolExecutor(8) as pool:
        accepted = set(pool.map(lambda _: store.work.accept(worker, hit.id, 1).id, range(8)))
        assert len(accepted) == 1
        answers = list(pool.map(lambda _: store.work.submit(*accepted, worker, YES, 2), range(8)))
    assert len({answer.id for answer in answers}) == 1
    with store.file.reading(3) as db:
        assert db.execute("SELECT count(*) FROM answers").fetchone()[0] == 1
