"""Each kind of batch has all that a kind needs; what its rules refuse is tested with the reader of batch folders."""

import pytest

from hits.batch.page import batch_template, interface_languages, placeholders, read_interface
from hits.kinds import KINDS, kind_of
from hits.records import Kind
from hits.results import content
from hits.server.pages import review
from rypt.text import FormatError


@pytest.mark.parametrize("kind", Kind)
def test_a_kind_has_rules_a_page_in_every_language_and_columns_by_which_it_is_known(kind):
    rules = KINDS[kind]
    assert rules.assignments >= 1
    assert rules.seconds > 0
    assert {"item", "segment"} <= set(rules.columns)
    assert kind_of(dict.fromkeys(rules.columns, "x")) is kind
    for language in interface_languages():
        template = batch_template(kind, read_interface(language, kind, "de", "en"), slots=2, reference=True)
        assert f'class="hit hit-{kind}"' in template
        assert not set(rules.columns) & set(placeholders(template))


@pytest.mark.parametrize("kind", Kind)
def test_answers_of_a_kind_are_read_and_shown_to_the_requester(kind):
    assert kind in content.READERS
    assert kind in review.PARTS


def test_an_item_without_all_columns_of_a_kind_is_of_none():
    assert kind_of({"system_a": "", "system_b": "x"}) is Kind.COMPARISON
    assert kind_of({"system_1": "", "system_2": "x"}) is Kind.RANKING
    for columns in (
        {},
        {"system_a": "x"},
        {"system_a": "", "system_b": ""},
        {"system_1": "x"},
        {"phrase_1": ""},
    ):
        with pytest.raises(FormatError, match="phrase_1 for a label; system_a and system_b for a comparison"):
            kind_of(columns)
