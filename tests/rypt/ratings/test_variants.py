"""Marks find their place in the commonest text."""

from hypothesis import given
from hypothesis import strategies as st

from rypt.ratings.variants import Variant, Votes

TEXTS = st.text(st.sampled_from("ab ,."), max_size=15)


def test_the_commonest_text_is_that_of_most_raters_then_of_most_lines() -> None:
    votes = Votes()
    for text, rater in [
        ("x", "r1"),
        ("x", "r1"),
        ("x", "r1"),
        ("y", "r2"),
        ("y", "r3"),
        ("z", "r4"),
        ("z", "r5"),
    ]:
        votes.add(text, rater)
    assert votes.commonest() == "y"
    votes.add("z", "r5")
    assert votes.commonest() == "z"


def test_places() -> None:
    edited = Variant("Er sah ein ein Haus, das gross war.", "Er sah ein Haus, das sehr groß war.")
    for marked, wanted in [("Haus", "Haus"), ("ein ein", "ein"), ("gross", "sehr groß"), ("war", "war")]:
        start = "Er sah ein ein Haus, das gross war.".index(marked)
        place = edited.moved(start, start + len(marked))
        assert place is not None
        assert "Er sah ein Haus, das sehr groß war."[slice(*place)].strip() == wanted


def test_words_that_are_far_away_are_not_taken_unless_they_are_long() -> None:
    text = "Ja, er kam, und sie ging weg"
    assert Variant(text + ",", text).moved(len(text), len(text) + 1) is None
    doubled = Variant("sie ging weg, Ja, er kam, und sie ging weg", text)
    assert doubled.moved(0, 12) == (16, 28)


@given(TEXTS, TEXTS, st.data())
def test_a_mark_stays_inside_and_keeps_what_is_equal(text: str, common: str, data: st.DataObject) -> None:
    variant = Variant(text, common)
    start = data.draw(st.integers(0, len(text)))
    stop = data.draw(st.integers(start, len(text)))
    place = variant.moved(start, stop)
    assert place is None or 0 <= place[0] <= place[1] <= len(common)
    assert 0 <= variant.likeness <= 1
    assert (variant.likeness == 1) == (text == common)
    assert Variant(text, text).moved(start, stop) == (start, stop)
    longer = Variant(text, f"{common}{text}")
    if start < stop:
        assert longer.moved(start, stop) is not None
