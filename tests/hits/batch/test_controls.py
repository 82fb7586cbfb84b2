"""Controls: their share, what may be lent, repeated or shown as right, and what a person verified."""

import shutil
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hits.batch.controls import (
    Alternative,
    Donors,
    LabelControls,
    Page,
    ReferenceParts,
    add_verified,
    align_references,
    confident_label,
    control_candidates,
    control_count,
    damage,
    find_phrase,
    read_reference_links,
)
from hits.batch.folder import new_settings
from hits.batch.labels import make_label_batch
from hits.batch.options import BatchOptions
from hits.kinds import parse_ranking_control, ranking_control
from hits.records import Kind
from rypt.campaign.folder import Campaign
from rypt.records import Candidate, Label, Query, Span, Votes
from rypt.text import FormatError, InputError, RyptError, tokenize

LENDERS = {
    "1": [["the", "children", "played", "in", "the", "garden", "."]],
    "2": [["the", "train", "leaves", "from", "platform", "seven", "."], ["the", "train", "departs"]],
    "3": [["nobody", ",", "could", "open", "the", "door", "."]],
}
SPAN = Span(0, 1)
TEXTS = {"1": "garden . fence", "2": "platform . seven", "3": "telephone . ringing"}
Key = tuple[str, Span, str]


@pytest.mark.slow
@given(st.integers(1, 10_000), st.floats(0.001, 0.5))
def test_controls_are_the_wanted_share_of_all(asked: int, share: float) -> None:
    controls = control_count(asked, share)
    assert controls >= 1
    assert abs(controls - share * (controls + asked)) <= 0.5 or controls == 1
    for impossible in (-share, 0.5 + share, float("nan")):
        with pytest.raises(RyptError, match="share of controls"):
            control_count(asked, impossible)


@pytest.mark.parametrize(
    ("votes", "label"),
    [
        ((2, 0, 0), Label.YES),
        ((0, 3, 0), Label.NO),
        ((1, 0, 0), None),
        ((3, 1, 0), None),
        ((2, 0, 1), None),
        ((0, 0, 2), None),
    ],
)
def test_only_unanimous_labels_are_confident(votes: tuple[float, ...], label: Label | None) -> None:
    assert confident_label(Votes("1", Span(0, 1), "x", *votes)) is label


@given(st.integers(0, 1000), st.integers(1, 6), st.sampled_from(sorted(LENDERS)))
def test_words_lent_come_from_another_segment_and_carry_meaning(seed: int, size: int, segment: str) -> None:
    own = LENDERS[segment][0]
    words = Donors(LENDERS).words(size, segment, own, np.random.default_rng(seed))
    assert words is not None
    assert all(map(str.isalnum, words))
    strange = [word for word in words if word not in own]
    assert len(strange) >= len(words) / 2
    lenders = [name for name, texts in LENDERS.items() if any(set(words) <= set(text) for text in texts)]
    assert lenders
    assert segment not in lenders
    assert not {("from",), ("the",), ("open",)} & {words}


def test_damage_needs_another_segment() -> None:
    rng = np.random.default_rng(0)
    assert Donors({"1": [["a", "b"]]}).words(1, "1", [], rng) is None
    assert Donors({}).words(1, "1", [], rng) is None
    assert damage("1", "", Donors(LENDERS), rng) is None
    texts = {str(n): [[f"w{n}-{i}" if i % 3 else "the" for i in range(30)]] for n in range(5)}
    assert damage("0", " ".join(texts["0"][0]), Donors(texts), rng) is not None  # though all share an article


@given(st.integers(0, 500), st.integers(1, 12), st.booleans())
def test_damage_replaces_one_run_and_keeps_final_punctuation(seed: int, size: int, stop: bool) -> None:
    tokens = [*(f"w{i}" for i in range(size)), *["."] * stop]
    damaged = damage("1", " ".join(tokens), Donors(LENDERS), np.random.default_rng(seed))
    assert damaged is not None
    found = damaged.split(" ")
    kept = [word for word in found if word in tokens]
    assert size - len(kept) + stop == max(min(size, 2), -(-size // 4), min(size // 2, 3))
    gone = [i for i, word in enumerate(tokens) if word not in kept]
    assert gone == list(range(gone[0], gone[-1] + 1))
    assert found[: gone[0]] == tokens[: gone[0]]
    assert (found[-1] == ".") == stop


def test_a_trusted_part_is_what_phrase_extraction_would_take() -> None:
    references = Given({"1": "a b c d e f"})
    references.links, references.sizes = {"1": ((0, 0), (1, 1), (2, 3), (3, 3), (4, 2), (5, 5))}, {"1": 7}
    assert references.positions("1", Span(0, 2)) == references.clean("1", Span(0, 2)) == [0, 1]
    assert references.clean("1", Span(2, 4)) == [3]
    assert references.clean("1", Span(2, 3)) == []  # its word belongs to 3 as well
    assert references.clean("1", Span(1, 3)) == []  # not consecutive
    assert references.clean("1", Span(5, 7)) == references.clean("1", Span(6, 7)) == []  # 6 has no link
    assert references.positions("1", Span(1, 3)) == [1, 3]


@given(st.sampled_from(["better", "equal"]), st.integers(1, 5), st.integers(1, 5))
def test_controls_of_rankings(relation: str, first: int, second: int) -> None:
    assert parse_ranking_control(ranking_control(relation, first, second)) == (relation, first, second)


@pytest.mark.parametrize(
    "control",
    [
        "",
        "[]",
        '{"better": [1]}',
        '{"worse": [1, 2]}',
        '{"better": [0, 2]}',
        '{"better": [1, 6]}',
        '{"better": ["1", 2]}',
        '{"better": [1, 2], "equal": [1, 2]}',
        '{"better": [true, 2]}',
    ],
)
def test_a_broken_control_is_refused(control: str) -> None:
    with pytest.raises(FormatError, match="expected a control like"):
        parse_ranking_control(control)


class Given(ReferenceParts):
    """References without a campaign, by default none, aligned word by word."""

    def __init__(self, texts: dict[str, str] | None = None) -> None:
        self.texts, self.sizes = texts or {}, dict.fromkeys(TEXTS, 3)
        self.links = dict.fromkeys(self.texts, ((0, 0), (1, 1), (2, 2)))


def added(
    count: int,
    segments: str = "12",
    votes: dict[Key, Votes] | None = None,
    *,
    texts: dict[str, str] = TEXTS,
    reference: str = "",
    verified: dict[Key, Label] | None = None,
    room: int = 10,
) -> tuple[list[Page], Counter[str], list[str]]:
    """Pages with controls, the labels that they expect, and the notes."""
    frontier = [Query(s, SPAN, text.split()[0], "", "", 1, text, (0,)) for s, text in texts.items()]
    candidates = [Candidate(segment, text, "0-0") for segment, text in texts.items()]
    references = Given({"1": reference} if reference else None)
    controls = LabelControls(frontier, candidates, votes or {}, references, verified or {}, "lower")
    pages: list[Page] = [((s, SPAN), [Alternative(TEXTS[s].split()[0], TEXTS[s], (0,))]) for s in segments]
    notes = controls.add(pages, count, room, np.random.default_rng(3))
    return pages, Counter(str(a.expected) for _, page in pages for a in page if a.expected), notes


def test_repeats_of_other_constituents_get_pages_of_their_own() -> None:
    votes = {("2", SPAN, "platform"): Votes("2", SPAN, "platform", 2, 0)}
    pages, labels, notes = added(2, "1", votes)
    assert (labels, notes, pages[-1][0]) == ({"YES": 1, "NO": 1}, [], ("2", SPAN))


def test_what_cannot_be_made_is_noted() -> None:
    assert added(2, room=1)[2][-1] == "only 0 of 2 controls could be made"  # the pages are full
    _, labels, notes = added(3, "123")
    assert (labels, len(notes)) == ({"NO": 3}, 1)  # one kind makes up for the other
    assert "`rypt hits controls`" in notes[0]
    _, labels, notes = added(1, "1", texts={"1": TEXTS["1"]})
    assert (labels, len(notes)) == ({}, 2)  # nobody to lend words


def test_a_damaged_candidate_keeps_the_rest_of_its_host() -> None:
    damaged = added(1, "1")[0][0][1][1]
    assert damaged.expected is Label.NO
    assert damaged.candidate == f"{damaged.phrase} . fence"
    assert damaged.phrase in {word for segment in "23" for word in TEXTS[segment].split()}


@pytest.mark.parametrize(
    ("reference", "votes", "verified", "expected"),
    [
        ("garden was there", (), Label.YES, 1),
        ("garden was there", (), Label.NO, 0),
        ("garden was there", (), None, 0),  # an alignment alone decides nothing
        ("it was there", (), Label.YES, 0),
        ("garden was there", (1, 1), Label.YES, 0),
        ("garden was there", (0, 0, 1), Label.YES, 0),
        ("", (1, 0), None, 0),
        ("", (3, 1), None, 0),
    ],
)
def test_a_phrase_is_right_if_a_person_verified_it_and_nobody_disagrees(
    reference: str, votes: tuple[float, ...], verified: Label | None, expected: int
) -> None:
    key = ("1", SPAN, "garden")
    _, labels, _ = added(
        2,
        votes={key: Votes(*key, *votes)} if votes else {},
        reference=reference,
        verified={key: verified} if verified else {},
    )
    assert (labels["YES"], labels["NO"]) == (expected, 2 - expected)


@pytest.mark.parametrize(("word", "made"), [("obama", True), ("2009", True), ("in", False), (",", False)])
def test_a_name_that_is_the_same_in_all_texts_expects_yes(word: str, made: bool) -> None:
    query = Query("1", SPAN, word, "", word, 1, f"{word} . fence", (0,))
    candidates = [Candidate("1", f"{word} . fence", ""), Candidate("2", "in , there was", "")]
    controls = LabelControls([query], candidates, {}, Given({"1": f"{word} was there"}), {}, "lower")
    pages: list[Page] = []
    controls.add(pages, 2, 10, np.random.default_rng(1))
    assert bool(pages) == made


@pytest.fixture
def campaign(unjudged_campaign: Path, demo_campaign: Path, tmp_path: Path) -> Campaign:
    shutil.copytree(unjudged_campaign, tmp_path / "campaign")
    shutil.copy(demo_campaign / "reference.align", tmp_path / "campaign")
    return Campaign.open(tmp_path / "campaign")


def test_a_batch_uses_what_was_verified_without_the_alignment(campaign: Campaign) -> None:
    links = read_reference_links(campaign.path("reference.align"), campaign)
    offered = control_candidates(campaign, links)
    for n, each in enumerate(offered):
        add_verified(campaign, each.key, Label.YES if n % 2 else Label.NO)
    assert control_candidates(campaign, links) == []  # nobody is asked twice
    settings = new_settings(Kind.LABEL, seed=1, now=datetime(2026, 11, 20, tzinfo=UTC))
    batch = make_label_batch(campaign, settings, BatchOptions(limit=200, training=5))
    expected = {
        (item.columns["segment"], item.columns[f"phrase_{n}"])
        for item in batch.items
        for n in range(1, item.size + 1)
        if item.columns[f"control_{n}"] == "YES"
    }
    assert len(expected) >= 5
    assert expected <= {(each.key[0], each.phrase) for n, each in enumerate(offered) if n % 2}
    assert len({item.columns["segment"] for item in batch.training}) == 5
    assert [item.columns["control_1"] for item in batch.training] == ["YES", "NO", "YES", "NO", "YES"]
    assert not expected & {(item.columns["segment"], item.columns["phrase_1"]) for item in batch.training}


def test_references_are_aligned_where_no_links_are_given(campaign: Campaign) -> None:
    links = align_references(campaign)
    sizes = [len(tokenize(text)) for text in campaign.references[0]]
    assert len(links) == len(sizes)
    assert all(target < size for each, size in zip(links, sizes, strict=True) for _, target in each)
    assert len(control_candidates(campaign, links)) > 20
    campaign.references.clear()
    for needs_references in (
        align_references,
        lambda campaign: read_reference_links(campaign.path("reference.align"), campaign),
    ):
        with pytest.raises(RyptError, match=r"expected a campaign with .*reference"):
            needs_references(campaign)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0-0\n0-0\n0-99\n" + "\n" * 37, "align:3: link 0-99 is out of range: the reference has"),
        ("x\n", "align:1: expected 40 lines"),
        ("0-0\n" * 39 + "bad\n", "align:40: expected alignment links"),
    ],
)
def test_reference_links_that_do_not_fit_are_named(
    demo_campaign: Path, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "align").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_reference_links(tmp_path / "align", Campaign.open(demo_campaign))


@pytest.mark.parametrize(
    ("phrase", "positions"),
    [("red house", (1, 2)), ("the", (0,)), ("house red", ()), ("", ()), ("a b c d e f", ())],
)
def test_a_phrase_is_found_where_it_is_consecutive(phrase: str, positions: tuple[int, ...]) -> None:
    assert find_phrase(["the", "Red", "House", "the", "end"], phrase, "lower") == positions
