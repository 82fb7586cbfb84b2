"""Each kind of batch has all that a kind needs; what its rules refuse is tested with the reader of batch folders."""

import pytest

from hits.batches.kinds import KINDS
from hits.batches.layout import batch_template, interface_languages, read_interface
from hits.batches.page import placeholders
from hits.records import Item, Kind
from hits.results.content import kind_of


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
        assert "source" in placeholders(template)
        assert not set(rules.columns) & set(placeholders(template))


@pytest.mark.parametrize(
    ("kind", "columns", "allowed"),
    [
        (Kind.LABEL, {"size": "1"}, False),
        (Kind.LABEL, {"size": "2"}, True),
        (Kind.COMPARISON, {}, False),
        (Kind.RANKING, {"size": "3"}, False),
        (Kind.RANKING, {"size": "4", "control": ""}, True),
        (Kind.RANKING, {"size": "4", "control": '{"better": [1, 2]}'}, False),
    ],
)
def test_which_items_may_be_split(kind, columns, allowed):
    assert KINDS[kind].can_be_split(Item("i", columns)) is allowed
