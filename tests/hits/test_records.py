from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hits.records import DAY, Batch, BatchSettings, Item, Kind, RewardRule, parse_annotation
from rypt.text import RyptError

SETTINGS = BatchSettings("a1b2", Kind.LABEL, "Title", "Description", "key", RewardRule())


@given(st.text("0123456789abcdef", min_size=1), st.text(min_size=1))
def test_annotations_lead_back_to_batch_and_item(batch: str, item: str) -> None:
    settings = replace(SETTINGS, id=batch[:64])
    annotation = Batch(settings, (), "").annotation(Item(item, {}))
    assert parse_annotation(annotation) == (batch[:64], item)


@pytest.mark.parametrize("text", ["", "rypt", "rypt:a", "rypt::x", "rypt:a:", "other:a:b", "RYPT:a:b"])
def test_other_annotations_are_not_ours(text: str) -> None:
    assert parse_annotation(text) is None


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("title", ""),
        ("title", "x" * 129),
        ("description", "x" * 2001),
        ("keywords", "x" * 1001),
        ("assignments", 0),
        ("duration", 29),
        ("duration", 366 * DAY),
        ("lifetime", 29),
        ("auto_approval", 31 * DAY),
        ("seed", -1),
        ("id", "a:b"),
    ],
)
def test_settings_no_market_takes_are_refused(setting: str, value: str | int) -> None:
    with pytest.raises(RyptError, match=setting if setting != "id" else "batch id"):
        replace(SETTINGS, **{setting: value})


@given(st.decimals(0, 10, places=4), st.decimals(0, 1, places=4), st.integers(1, 10))
def test_rewards_are_the_least_whole_cents_that_cover_the_rule(
    base: Decimal, each: Decimal, size: int
) -> None:
    reward = RewardRule(base, each).reward(size)
    exact = base + each * size
    assert reward * 100 == int(reward * 100)
    assert exact <= reward < exact + Decimal("0.01")


@pytest.mark.parametrize("amount", ["-0.01", "NaN", "Infinity", "1001"])
def test_impossible_rewards_are_refused(amount: str) -> None:
    with pytest.raises(RyptError, match="expected a reward"):
        RewardRule(each=Decimal(amount))
