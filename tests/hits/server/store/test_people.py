"""Workers: how they come in, and who gets nothing."""

import pytest
from store_lives import YES, code, make_hit, make_worker

from hits.server.store.records import AssignmentStatus, Locale, RefusedError
from hits.server.store.store import Store


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


def test_workers_sent_by_a_recruiting_service(store: Store) -> None:
    worker = store.enrol("prolific", "5f1", 0)
    assert store.enrol("prolific", "5f1", 9) == worker
    assert store.enrol("sona", "5f1", 9).id != worker.id
    store.consent(worker.id, 10)
    store.consent(worker.id, 20)
    assert store.worker(worker.id).consented == 10
