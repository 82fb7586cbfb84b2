"""What hits ask of workers, tests with two tries, and answer keys."""

import itertools
from typing import Any

import pytest
from store_lives import available, code, make_hit, make_worker

from hits.batch.question_xml import XmlError
from hits.qualifications import LOCALE, PERCENT_APPROVED
from hits.server.store import Store
from hits.server.store.qualifications import meets, read_answer_key, score_test
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
KEY = (
    "<AnswerKey><Question><QuestionIdentifier>q</QuestionIdentifier><AnswerOption>"
    "<SelectionIdentifier>right</SelectionIdentifier><AnswerScore>1</AnswerScore></AnswerOption></Question>"
    "<QualificationValueMapping><PercentageMapping><MaximumSummedScore>1</MaximumSummedScore></PercentageMapping>"
    "</QualificationValueMapping></AnswerKey>"
)


def make_type(store: Store, name: str = "German", **changes: Any) -> str:
    request = {"Name": name, "Description": "d", "QualificationTypeStatus": "Active", **changes}
    return str(store.qualifications.create_type(request, 0)["QualificationTypeId"])


def make_test(store: Store, delay: int | None) -> str:
    return make_type(
        store, Test="<QuestionForm/>", AnswerKey=KEY, TestDurationInSeconds=100, RetryDelayInSeconds=delay
    )


@pytest.mark.parametrize("comparator", RULES)
def test_comparators(comparator: str) -> None:
    for value, first, second in itertools.product(range(3), repeat=3):
        bounds = [first, second] if comparator in ("In", "NotIn") else [first]
        rule = {"Comparator": comparator, "IntegerValues": bounds}
        assert meets(rule, value) == RULES[comparator](value, bounds)
        assert not meets(rule, None)


@pytest.mark.parametrize(
    ("comparator", "value", "passes"),
    [("Exists", 0, True), ("Exists", None, False), ("DoesNotExist", None, True), ("DoesNotExist", 0, False)],
)
def test_existence(comparator: str, value: int | None, passes: bool) -> None:
    assert meets({"Comparator": comparator}, value) is passes


def test_requirements_decide_who_gets_a_hit(store: Store) -> None:
    kind = make_type(store)
    rules = [
        {"QualificationTypeId": kind, "Comparator": "GreaterThanOrEqualTo", "IntegerValues": [80]},
        {"QualificationTypeId": LOCALE, "Comparator": "In", "LocaleValues": [{"Country": "DE"}]},
        {"QualificationTypeId": PERCENT_APPROVED, "Comparator": "GreaterThan", "IntegerValues": [50]},
    ]
    hit = make_hit(store, QualificationRequirements=rules)
    worker = make_worker(store)

    def missing() -> set[str]:
        with pytest.raises(RefusedError) as error:
            store.work.accept(worker, hit, 1)
        assert code(error) == "DoesNotMeetRequirements"
        assert available(store, worker, 1) == []
        assert store.open_hits.accept_next(worker, "", 1) is None
        kinds = [str(rule["QualificationTypeId"]) for rule in rules]
        return {name for name in kinds if name in error.value.message}

    assert missing() == {kind, LOCALE}  # a beginner's rate is 100
    store.people.invite("Ada", 0, country="FR")
    assert missing() == {kind, LOCALE}
    store.people.invite("Ada", 0, country="DE")
    assert missing() == {kind}
    for value in (79, 80):
        store.qualifications.give(kind, worker, value, 1)
        assert bool(available(store, worker, 1)) == (value == 80)
    store.qualifications.take_back(kind, worker, "cheated", 1)
    assert missing() == {kind}
    assert store.people.messages(worker)[0]["MessageText"] == "cheated"
    store.qualifications.give(kind, worker, 100, 1)
    other = make_hit(store)
    rejected = store.work.accept(worker, other, 1)["AssignmentId"]
    store.work.submit(rejected, worker, {"a": "b"}, 1)
    store.work.reject(rejected, "no", 1)
    assert missing() == {PERCENT_APPROVED}


def test_a_test_with_two_tries(store: Store) -> None:
    kind = make_test(store, delay=60)
    rule = {"QualificationTypeId": kind, "Comparator": "GreaterThanOrEqualTo", "IntegerValues": [80]}
    hit = make_hit(store, QualificationRequirements=[rule])
    ada, bob, tests = make_worker(store), make_worker(store, "Bob"), store.qualifications

    def askable(now: int) -> list[str]:
        groups = store.open_hits.groups(ada, now)
        return [str(each["QualificationTypeId"]) for each in store.open_hits.askable(groups)]

    assert askable(1) == [kind]
    for now in (1, 2):
        tests.ask(ada, kind, now)
    [first] = tests.tries(ada, kind, 2)
    for now in (10, 11):  # the same answers again are the same try
        tests.submit_test(first["id"], ada, {"q": "wrong"}, now)
    assert [row["value"] for row in tests.tries(ada, kind, 12)] == [0]
    with pytest.raises(RefusedError, match="handed in before"):
        tests.submit_test(first["id"], ada, {"q": "right"}, 12)
    assert available(store, ada, 12) == []
    with pytest.raises(RefusedError) as error:
        tests.ask(ada, kind, 69)
    assert code(error) == "QualificationTypeRetryDelayNotElapsed"
    tests.ask(ada, kind, 70)
    second = tests.tries(ada, kind, 70)[1]["id"]
    with pytest.raises(RefusedError):
        tests.submit_test(second, bob, {"q": "right"}, 71)
    tests.submit_test(second, ada, {"q": "right"}, 71)
    assert [row["value"] for row in tests.tries(ada, kind, 71)] == [0, 100]
    assert available(store, ada, 72)[0]["HITId"] == hit
    assert askable(72) == []
    with pytest.raises(RefusedError) as error:
        tests.ask(ada, kind, 1000)
    assert code(error) == "QualificationTypeDoesNotAllowRetake"


def test_a_test_whose_time_is_over_counts_as_a_try(store: Store) -> None:
    kind, worker, tests = make_test(store, delay=0), make_worker(store), store.qualifications
    tests.ask(worker, kind, 0)
    [late] = tests.tries(worker, kind, 161)
    assert not late["open"]
    with pytest.raises(RefusedError, match="over"):
        tests.submit_test(late["id"], worker, {"q": "right"}, 161)
    tests.ask(worker, kind, 200)
    with pytest.raises(RefusedError) as error:
        tests.ask(worker, kind, 500)
    assert code(error) == "QualificationTypeDoesNotAllowRetake"


def test_what_a_worker_can_ask_for(store: Store) -> None:
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


QUESTIONS = """
<Question><QuestionIdentifier>nextmove</QuestionIdentifier>
  <AnswerOption><SelectionIdentifier>D</SelectionIdentifier><AnswerScore>5</AnswerScore></AnswerOption>
</Question>
<Question><QuestionIdentifier>fruit</QuestionIdentifier>
  <AnswerOption><SelectionIdentifier>apples</SelectionIdentifier><SelectionIdentifier>pears</SelectionIdentifier>
    <AnswerScore>10</AnswerScore></AnswerOption>
  <AnswerOption><SelectionIdentifier>apples</SelectionIdentifier><AnswerScore>4</AnswerScore></AnswerOption>
  <DefaultScore>-2</DefaultScore>
</Question>
"""
PERCENT = "<PercentageMapping><MaximumSummedScore>15</MaximumSummedScore></PercentageMapping>"


def key(mapping: str = "", questions: str = QUESTIONS) -> str:
    wrapped = f"<QualificationValueMapping>{mapping}</QualificationValueMapping>" if mapping else ""
    return f"<AnswerKey>{questions}{wrapped}</AnswerKey>"


@pytest.mark.parametrize(
    ("answers", "total", "percent"),  # worked out by hand
    [
        ({"nextmove": "D", "fruit": "pears|apples"}, 15, 100),
        ({"nextmove": "D", "fruit": "apples"}, 9, 60),
        ({"nextmove": "D", "fruit": "apples|pears|plums"}, 3, 20),
        ({"nextmove": "C", "fruit": "apples|pears"}, 10, 67),
        ({"fruit": "apples"}, 4, 27),
        ({}, -2, -13),
    ],
)
def test_scores(answers: dict[str, str], total: int, percent: int) -> None:
    assert [score_test(key(mapping), answers) for mapping in ("", PERCENT)] == [total, percent]


@pytest.mark.parametrize(
    "text",
    [
        "<AnswerKey/>",
        "<Other/>",
        "no XML",
        key("<RangeMapping/>"),
        *(key(PERCENT.replace("15", maximum)) for maximum in ("0", "many", "NaN", "1e999999")),
        key(questions="<Question><QuestionIdentifier>q</QuestionIdentifier><AnswerOption/></Question>"),
        key(questions="<Question/>"),
    ],
)
def test_broken_keys(text: str) -> None:
    with pytest.raises(XmlError):
        read_answer_key(text)
