"""How workers come to qualifications: tests with two tries, requests."""

from dataclasses import replace

import pytest
from store_lives import LABELS, available, code, make_hit, make_worker

from hits.server.store.qualifications import NewQualificationType
from hits.server.store.records import RefusedError, Requirement
from hits.server.store.store import Store

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
    new = NewQualificationType(
        "German", "test", retry_delay=60, test=TEST_FORM, answer_key=KEY, test_duration=100
    )
    kind = store.qualifications.create_type(new, 0)
    pass_mark = Requirement(kind.id, "GreaterThanOrEqualTo", (80,))
    hit = make_hit(store, properties=replace(LABELS, requirements=(pass_mark,)))
    ada, bob = make_worker(store), make_worker(store, "Bob")
    assert [found.id for found in store.requests.missing(ada, 1)] == [kind.id]
    request = store.requests.ask(ada, kind.id, 1)
    assert request.status == "started"
    assert store.requests.ask(ada, kind.id, 2) == request
    failed = store.requests.submit_test(request.id, ada, {"q": "wrong"}, 10)
    assert (failed.status, failed.value) == ("granted", 0)
    assert store.requests.submit_test(request.id, ada, {"q": "wrong"}, 11) == failed
    with pytest.raises(RefusedError):
        store.requests.submit_test(request.id, ada, {"q": "right"}, 12)
    assert len(available(store, ada, 12)) == 0
    with pytest.raises(RefusedError) as error:
        store.requests.ask(ada, kind.id, 69)
    assert code(error) == "QualificationTypeRetryDelayNotElapsed"
    second = store.requests.ask(ada, kind.id, 70)
    with pytest.raises(RefusedError):
        store.requests.submit_test(second.id, bob, {"q": "right"}, 71)
    assert store.requests.submit_test(second.id, ada, {"q": "right"}, 71).value == 100
    assert available(store, ada, 72)[0].id == hit.id
    assert store.requests.missing(ada, 72) == []
    with pytest.raises(RefusedError) as error:
        store.requests.ask(ada, kind.id, 1000)
    assert code(error) == "QualificationTypeDoesNotAllowRetake"


def test_a_test_whose_time_is_over_counts_as_a_try(store: Store) -> None:
    new = NewQualificationType(
        "German", "test", retry_delay=0, test=TEST_FORM, answer_key=KEY, test_duration=100
    )
    kind = store.qualifications.create_type(new, 0)
    worker = make_worker(store)
    first = store.requests.ask(worker, kind.id, 0)
    with pytest.raises(RefusedError, match="over"):
        store.requests.submit_test(first.id, worker, {"q": "right"}, 161)
    assert [request.status for request in store.requests.of_worker(worker, kind.id)] == ["rejected"]
    store.requests.ask(worker, kind.id, 200)
    with pytest.raises(RefusedError) as error:
        store.requests.ask(worker, kind.id, 500)
    assert code(error) == "QualificationTypeDoesNotAllowRetake"


def test_granted_at_once_and_decided_by_the_requester(store: Store) -> None:
    worker = make_worker(store)
    at_once = store.qualifications.create_type(
        NewQualificationType("a", "d", auto_granted=True, auto_granted_value=7), 0
    )
    assert store.requests.ask(worker, at_once.id, 1).status == "granted"
    assert store.qualifications.find(at_once.id, worker, 1).value == 7
    with pytest.raises(RefusedError) as error:
        store.requests.ask(worker, at_once.id, 2)
    assert code(error) == "QualificationAlreadyExists"
    by_hand = store.qualifications.create_type(NewQualificationType("b", "d"), 0)
    request = store.requests.ask(worker, by_hand.id, 1)
    assert [found.id for found in store.requests.waiting()] == [request.id]
    store.requests.decide(request.id, 2, grant=True, value=3)
    assert store.qualifications.find(by_hand.id, worker, 2).value == 3
    with pytest.raises(RefusedError):
        store.requests.decide(request.id, 3, grant=False)
