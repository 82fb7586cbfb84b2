import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hits.batch.controls import (
    Donors,
    clean_part,
    confident_label,
    control_count,
    damage,
    damaged_words,
    reference_positions,
)
from hits.kinds import parse_ranking_control, ranking_control
from rypt.records import Label, Span, Votes
from rypt.text import FormatError, RyptError

TEXTS = {
    "1": [["the", "children", "played", "in", "the", "garden"]],
    "2": [["the", "train", "leaves", "from", "platform", "seven"], ["the", "train", "departs"]],
    "3": [["nobody", "could", "open", "the", "door"]],
}


@given(st.integers(1, 10_000), st.floats(0.001, 0.5))
def test_controls_are_the_wanted_share_of_all(asked: int, share: float) -> None:
    controls = control_count(asked, share)
    assert controls >= 1
    assert abs(controls - share * (controls + asked)) <= 0.5 or controls == 1


@pytest.mark.parametrize("share", [-0.1, 0.6, float("nan")])
def test_an_impossible_share_is_refused(share: float) -> None:
    with pytest.raises(RyptError, match="share of controls"):
        control_count(10, share)


@pytest.mark.parametrize(
    ("yes", "no", "not_sure", "label"),
    [
        (2, 0, 0, Label.YES),
        (0, 3, 0, Label.NO),
        (1, 0, 0, None),
        (3, 1, 0, None),
        (2, 0, 1, None),
        (0, 0, 2, None),
    ],
)
def test_only_what_everybody_says_is_confident(
    yes: float, no: float, not_sure: float, label: Label | None
) -> None:
    assert confident_label(Votes("1", Span(0, 1), "x", yes, no, not_sure)) is label


@given(st.integers(0, 1000), st.integers(1, 6), st.sampled_from(sorted(TEXTS)))
def test_words_lent_come_from_one_other_segment_and_have_a_distinctive_one(
    seed: int, size: int, segment: str
) -> None:
    own = TEXTS[segment][0]
    words = Donors(TEXTS).words(size, segment, own, np.random.default_rng(seed))
    assert words is not None
    strange = [word for word in words if word not in own]
    assert len(strange) >= len(words) / 2
    sources = [
        name
        for name, texts in TEXTS.items()
        if any(list(words) == text[i : i + len(words)] for text in texts for i in range(len(text)))
    ]
    assert sources
    assert segment not in sources
    assert any(sum(any(word in text for text in texts) for texts in TEXTS.values()) == 1 for word in strange)


def test_long_candidates_can_be_damaged_though_they_share_articles_with_all_others() -> None:
    texts = {str(n): [[f"w{n}-{i}" if i % 3 else "the" for i in range(30)]] for n in range(5)}
    for n, tokens in enumerate(texts.values()):
        assert damage(str(n), tokens[0], Donors(texts), np.random.default_rng(n)) is not None


def test_short_words_that_fit_anywhere_are_never_lent_alone() -> None:
    donors = Donors(TEXTS)
    lent = {donors.words(1, "1", TEXTS["1"][0], np.random.default_rng(seed)) for seed in range(200)}
    assert lent
    assert not {("from",), ("the",), ("open",)} & lent


def test_one_segment_has_no_donor() -> None:
    rng = np.random.default_rng(0)
    assert Donors({"1": [["a", "b"]]}).words(1, "1", [], rng) is None
    assert Donors({}).words(1, "1", [], rng) is None
    assert damage("1", [], Donors(TEXTS), rng) is None


@given(st.integers(0, 500), st.integers(1, 12))
def test_damage_replaces_one_run_of_the_stated_length(seed: int, size: int) -> None:
    tokens = [f"w{i}" for i in range(size)]
    made = damage("1", tokens, Donors(TEXTS), np.random.default_rng(seed))
    assert made is not None
    found = made.split(" ")
    kept = [word for word in found if word in tokens]
    assert len(kept) == size - damaged_words(size)
    gone = [i for i, word in enumerate(tokens) if word not in kept]
    assert gone == list(range(gone[0], gone[-1] + 1))
    assert found[: gone[0]] == tokens[: gone[0]]


def test_a_trusted_part_is_what_phrase_extraction_would_take() -> None:
    links = ((0, 0), (1, 1), (2, 3), (3, 3), (4, 2), (5, 5))
    assert reference_positions(Span(0, 2), links, 7) == clean_part(Span(0, 2), links, 7) == [0, 1]
    assert clean_part(Span(2, 4), links, 7) == [3]
    assert clean_part(Span(2, 3), links, 7) == []  # its word belongs to 3 as well
    assert clean_part(Span(1, 3), links, 7) == []  # in two pieces
    assert clean_part(Span(5, 7), links, 7) == []  # 6 is linked with nothing
    assert clean_part(Span(6, 7), links, 7) == []
    assert reference_positions(Span(1, 3), links, 7) == [1, 3]


@given(st.sampled_from(["better", "equal"]), st.integers(1, 5), st.integers(1, 5))
def test_controls_of_rankings(relation: str, first: int, second: int) -> None:
    assert parse_ranking_control(ranking_control(relation, first, second)) == (relation, first, second)


BROKEN = [
    "",
    "x",
    "[]",
    "{}",
    '{"better": [1]}',
    '{"worse": [1, 2]}',
    '{"better": [0, 2]}',
    '{"better": [1, 6]}',
    '{"better": ["1", 2]}',
    '{"better": [1, 2], "equal": [1, 2]}',
    '{"better": [true, 2]}',
    '{"better": [1, 2.0]}',
]


@pytest.mark.parametrize("control", BROKEN)
def test_a_broken_control_is_refused(control: str) -> None:
    with pytest.raises(FormatError, match="expected a control like"):
        parse_ranking_control(control)
