"""Labels and spans."""

import pytest

from rypt.records import Label, Span
from rypt.text import FormatError


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("YES", "YES"),
        ("yes", "YES"),
        (" No ", "NO"),
        ("NOTSURE", "NOT_SURE"),
        ("not sure", "NOT_SURE"),
        ("BLANK", "NOT_SURE"),
    ],
)
def test_labels_as_people_write_them(text, label):
    assert Label.parse(text) == label


@pytest.mark.parametrize("text", ["maybe", "J", "1", "YES NO", ""])
def test_other_words_are_no_labels(text):
    with pytest.raises(FormatError, match="expected a label YES, NO or NOT_SURE"):
        Label.parse(text)


def test_spans():
    assert Span.inclusive(3, 6) == Span(3, 7)
    assert len(Span(3, 7)) == 4
    assert sorted([Span(1, 3), Span(0, 5), Span(0, 2)]) == [Span(0, 2), Span(0, 5), Span(1, 3)]
