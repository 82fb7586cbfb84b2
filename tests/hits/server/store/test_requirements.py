"""What hits ask of workers: comparators, places, and who gets a hit."""

import itertools
from dataclasses import replace

import pytest
from store_lives import LABELS, available, code, make_hit, make_worker

from hits.server.store.qualifications import NewQualificationType
from hits.server.store.records import Locale, RefusedError, Requirement
from hits.server.store.requirements import ADULT, LOCALE, NUMBER_APPROVED, PERCENT_APPROVED, meets
from hits.server.store.store import Store

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
    for comparator, value, passes in (
        ("Exists", 0, True),
        ("Exists", None, False),
        ("DoesNotExist", None, True),
    ):
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
    kind = store.qualifications.create_type(NewQualificationType("German", "reads German"), 0)
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
            store.work.accept(worker, hit.id, 1)
        assert code(error) == "DoesNotMeetRequirements"
        assert len(available(store, worker, 1)) == 0
        return {rule.qualification for rule in rules if rule.qualification in error.value.message}

    assert missing() == {kind.id, LOCALE, NUMBER_APPROVED, ADULT}  # a beginner's rate is 100
    store.people.invite("Ada", 0, locale=Locale("DE"), adult=True, approved_before=90, rejected_before=10)
    assert missing() == {kind.id, PERCENT_APPROVED}
    store.people.invite("Ada", 0, locale=Locale("DE"), adult=True, approved_before=91, rejected_before=9)
    assert missing() == {kind.id}
    store.qualifications.grant(kind.id, worker, 79, 1)
    assert missing() == {kind.id}
    store.qualifications.grant(kind.id, worker, 80, 1)
    assert [found.id for found in available(store, worker, 1)] == [hit.id]
    store.qualifications.revoke(kind.id, worker, "cheated", 1)
    assert missing() == {kind.id}
    assert store.people.messages(worker)[0].text == "cheated"
    store.qualifications.grant(kind.id, worker, None, 1)  # without a value it counts as 1
    assert missing() == {kind.id}
    store.qualifications.grant(kind.id, worker, 100, 1)
    store.work.accept(worker, hit.id, 1)


def test_all_guards_keep_from_accepting(store: Store) -> None:
    worker = make_worker(store)
    for guard in ("Accept", "PreviewAndAccept", "DiscoverPreviewAndAccept"):
        rule = Requirement(ADULT, "EqualTo", (1,), guarded=guard)
        hit = make_hit(store, properties=replace(LABELS, requirements=(rule,)))
        with pytest.raises(RefusedError, match="lacks qualifications"):
            store.work.accept(worker, hit.id, 1)
