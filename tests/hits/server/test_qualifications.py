"""What hits ask of workers, tests with two tries, and answer keys."""

import itertools

import pytest
from store_lives import available, code, make_hit, make_worker

from hits.batch.question_xml import XmlError
from hits.qualifications import LOCALE, PERCENT_APPROVED
from hits.server.store.qualifications import meets, score_test
from hits.server.store.records import RefusedError

RULES = {
    "LessThan": lambda value, bounds: value < bounds[0],
    "LessThanOrEqualTo": lambda value, bounds: value <= bounds[0],
    "GreaterThan": lambda value, bounds: value > bounds[0],
    "GreaterThanOrEqualTo": lambda value, bounds: value >= bounds[0],
    "EqualTo": lambda value, bounds: value == bounds[0],
    "NotEqualTo": lambda value, bounds: value != bounds[0],
    "In": lambda value, bounds: value in bounds,
    "NotIn": lambda value, bounds: value not in bounds,
}


def option(choice, score=1):
    return (
        f"<AnswerOption><SelectionIdentifier>{choice}</SelectionIdentifier>"
        f"<AnswerScore>{score}</AnswerScore></AnswerOption>"
    )


def key(*options, name="q", mapping=""):
    return (
        f"<AnswerKey><Question><QuestionIdentifier>{name}</QuestionIdentifier>{''.join(options)}</Question>{mapping}"
        "</AnswerKey>"
    )


def percent(maximum):
    inside = f"<PercentageMapping><MaximumSummedScore>{maximum}</MaximumSummedScore></PercentageMapping>"
    return f"<QualificationValueMapping>{inside}</QualificationValueMapping>"


def make_type(store, name="German", **changes):
    request = {"Name": name, "Description": "d", "QualificationTypeStatus": "Active", **changes}
    return store.qualifications.create_type(request, 0)["QualificationTypeId"]


def make_test(store, delay):
    answers = key(option("right"), mapping=percent(1))
    limits = {"TestDurationInSeconds": 100, "RetryDelayInSeconds": delay}
    return make_type(store, Test="<QuestionForm/>", AnswerKey=answers, **limits)


@pytest.mark.parametrize("comparator", RULES)
def test_comparators(comparator):
    for value, first, second in itertools.product(range(3), repeat=3):
        bounds = [first, second] if comparator in ("In", "NotIn") else [first]
        rule = {"Comparator": comparator, "IntegerValues": bounds}
        assert meets(rule, value) == RULES[comparator](value, bounds)
        assert not meets(rule, None)
    for value in (0, None):
        assert meets({"Comparator": "Exists"}, value) is (value is not None)
        assert meets({"Comparator": "DoesNotExist"}, value) is (value is None)


def test_requirements_decide_who_gets_a_hit(store):
    kind = make_type(store)
    rules = [
        {"QualificationTypeId": kind, "Comparator": "GreaterThanOrEqualTo", "IntegerValues": [80]},
        {"QualificationTypeId": LOCALE, "Comparator": "In", "LocaleValues": [{"Country": "DE"}]},
        {"QualificationTypeId": PERCENT_APPROVED, "Comparator": "GreaterThan", "IntegerValues": [50]},
    ]
    hit = make_hit(store, QualificationRequirements=rules)
    worker = make_worker(store)

    def missing():
        with pytest.raises(RefusedError) as error:
            store.work.accept(worker, hit, 1)
        assert code(error) == "DoesNotMeetRequirements"
        assert available(store, worker, 1) == []
        assert store.open_hits.accept_next(worker, "", 1) is None
        return {name for name in (kind, LOCALE, PERCENT_APPROVED) if name in error.value.message}

    assert missing() == {kind, LOCALE}  # a beginner's rate is 100
    store.people.invite("Ada", 0, country="FR")
    assert missing() == {kind, LOCALE}
    store.people.invite("Ada", 0, country="DE")
    for value in (79, 80):
        store.qualifications.give(kind, worker, value, 1)
        assert bool(available(store, worker, 1)) == (value == 80)
    store.qualifications.take_back(kind, worker, "cheated", 1)
    assert missing() == {kind}
    assert store.people.messages(worker)[0]["MessageText"] == "cheated"
    store.qualifications.give(kind, worker, 100, 1)
    rejected = store.work.accept(worker, make_hit(store), 1)["AssignmentId"]
    store.work.submit(rejected, worker, {"a": "b"}, 1)
    store.work.reject(rejected, "no", 1)
    assert missing() == {PERCENT_APPROVED}


def test_a_test_with_two_tries(store):
    kind = make_test(store, delay=60)
    rule = {"QualificationTypeId": kind, "Comparator": "GreaterThanOrEqualTo", "IntegerValues": [80]}
    hit = make_hit(store, QualificationRequirements=[rule])
    ada, bob, tests = make_worker(store), make_worker(store, "Bob"), store.qualifications

    def askable(now):
        groups = store.open_hits.groups(ada, now)
        return [each["QualificationTypeId"] for each in store.open_hits.askable(groups)]

    def refused(action, *arguments):
        with pytest.raises(RefusedError) as error:
            action(*arguments)
        return code(error)

    assert askable(1) == [kind]
    for now in (1, 2):
        tests.ask(ada, kind, now)
    [first] = tests.tries(ada, kind, 2)
    for now in (10, 11):  # the same answers again are the same try
        tests.submit_test(first["id"], ada, {"q": "wrong"}, now)
    assert [row["value"] for row in tests.tries(ada, kind, 12)] == [0]
    again = refused(tests.submit_test, first["id"], ada, {"q": "right"}, 12)
    assert again == "InvalidQualificationRequestState"
    assert available(store, ada, 12) == []
    assert refused(tests.ask, ada, kind, 69) == "QualificationTypeRetryDelayNotElapsed"
    tests.ask(ada, kind, 70)
    second = tests.tries(ada, kind, 70)[1]["id"]
    assert refused(tests.submit_test, second, bob, {"q": "right"}, 71) == "QualificationRequestDoesNotExist"
    tests.submit_test(second, ada, {"q": "right"}, 71)
    assert [row["value"] for row in tests.tries(ada, kind, 71)] == [0, 100]
    assert available(store, ada, 72)[0]["HITId"] == hit
    assert askable(72) == []
    assert refused(tests.ask, ada, kind, 1000) == "QualificationTypeDoesNotAllowRetake"
    tests.ask(bob, kind, 0)
    [late] = tests.tries(bob, kind, 161)  # a test whose time is over counts as a try
    assert not late["open"]
    assert (
        refused(tests.submit_test, late["id"], bob, {"q": "right"}, 161) == "InvalidQualificationRequestState"
    )


def test_what_a_worker_can_ask_for(store):
    worker = make_worker(store)
    at_once = make_type(store, "a", AutoGranted=True, AutoGrantedValue=7)
    rule = {"QualificationTypeId": at_once, "Comparator": "EqualTo", "IntegerValues": [7]}
    make_hit(store, QualificationRequirements=[rule])
    assert available(store, worker, 1) == []
    store.qualifications.ask(worker, at_once, 1)
    assert len(available(store, worker, 1)) == 1
    for kind in (make_type(store, "b"), make_type(store, "c", QualificationTypeStatus="Inactive"), LOCALE):
        with pytest.raises(RefusedError):
            store.qualifications.ask(worker, kind, 1)


@pytest.mark.parametrize(
    "text",
    [
        "no XML",
        "<AnswerKey/>",
        key("<AnswerOption/>"),
        key(option("a"), "<DefaultScore>1</DefaultScore>"),
        key(option("a", "many")),
        key(option("a"), mapping="<QualificationValueMapping><RangeMapping/></QualificationValueMapping>"),
        *(key(option("a"), mapping=percent(maximum)) for maximum in ("0", "NaN", "1e999999")),
    ],
)
def test_broken_keys(text):
    with pytest.raises(XmlError):
        score_test(text, {})
    options = option("D", 5), option("C", -1)
    assert [score_test(key(*options), {"q": choice}) for choice in ("D", "C", "B")] == [5, -1, 0]
