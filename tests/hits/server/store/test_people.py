"""Workers: how they come in, and who gets nothing."""

import pytest
from store_lives import YES, available, code, make_hit, make_worker

from hits.server.store.records import AssignmentStatus, Locale, RefusedError
from hits.server.store.store import Store


@pytest.mark.parametrize("name", ["\x1b[31mAda", "Ada\0", "A\nB", "", " ", "x" * 201, "\x9b", "Ada\u202eb"])
def test_names_that_cannot_be_shown_are_refused(store: Store, name: str) -> None:
    with pytest.raises(RefusedError, match="expected a name"):
        store.people.invite(name, 1)
    with pytest.raises(RefusedError, match="expected a name"):
        store.people.enrol("link", name, 1)
    assert store.people.all() == []


def test_blocked_workers_get_nothing(store: Store) -> None:
    hit, worker = make_hit(store), make_worker(store)
    store.people.block(worker, "random answers", 1)
    assert available(store, worker, 2) == []
    with pytest.raises(RefusedError) as error:
        store.work.accept(worker, hit.id, 2)
    assert code(error) == "PermissionDeniedException"
    assert store.people.find(worker).blocked == "random answers"
    store.people.unblock(worker, 3)
    assert len(available(store, worker, 4)) == 1


def test_a_worker_blocked_while_working_may_still_hand_in(store: Store) -> None:
    hit, worker = make_hit(store), make_worker(store)
    assignment = store.work.accept(worker, hit.id, 0)
    store.people.block(worker, "slow", 1)
    assert store.work.submit(assignment.id, worker, YES, 2).status is AssignmentStatus.SUBMITTED


def test_invitations(store: Store) -> None:
    first = store.people.invite("Ada", 0, locale=Locale("DE"), approved_before=9, rejected_before=1)
    second = store.people.invite("Ada", 5)
    assert first.token != second.token
    assert first.worker.id == second.worker.id
    for invitation in (first, second):
        found = store.people.by_token(invitation.token)
        assert found is not None
        assert (found.name, found.locale, found.approved_before) == ("Ada", Locale("DE"), 9)
    assert store.people.by_token("guess") is None
    assert store.people.by_token("\ud800") is None
    with store.file.writing(6) as db:
        db.execute("UPDATE invitations SET revoked = 6")
    assert store.people.by_token(first.token) is None
    with pytest.raises(RefusedError):
        store.people.invite("  ", 7)


def test_tokens_are_not_in_the_file(store: Store) -> None:
    token = store.people.invite("Ada", 0).token
    store.close()
    assert token.encode() not in store.file.path.read_bytes()


def test_workers_sent_by_a_recruiting_service(store: Store) -> None:
    worker = store.people.enrol("prolific", "5f1", 0)
    assert store.people.enrol("prolific", "5f1", 9) == worker
    assert store.people.enrol("sona", "5f1", 9).id != worker.id
    store.people.consent(worker.id, 10)
    store.people.consent(worker.id, 20)
    assert store.people.find(worker.id).consented == 10
