"""Parts of references that a person verified: offered once, and found in a reference without an alignment."""

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hits.batch.alternatives import read_reference_links
from hits.batch.folder import new_settings
from hits.batch.label_controls import add_verified, align_references, control_candidates, find_phrase
from hits.batch.labels import make_label_batch
from hits.batch.options import BatchOptions
from hits.records import Kind
from rypt.campaign.folder import Campaign
from rypt.records import Label
from rypt.text import RyptError, tokenize

NOW = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)


@pytest.fixture
def campaign(unjudged_campaign: Path, demo_campaign: Path, tmp_path: Path) -> Campaign:
    shutil.copytree(unjudged_campaign, tmp_path / "campaign")
    shutil.copy(demo_campaign / "reference.align", tmp_path / "campaign")
    return Campaign.open(tmp_path / "campaign")


def test_a_batch_uses_what_was_verified_without_the_alignment(campaign: Campaign) -> None:
    links = read_reference_links(campaign.path("reference.align"), campaign)
    offered = control_candidates(campaign, links)
    add_verified(campaign, {each.key: Label.YES if n % 2 else Label.NO for n, each in enumerate(offered)})
    assert control_candidates(campaign, links) == []  # nobody is asked twice
    settings = new_settings(Kind.LABEL, seed=1, now=NOW)
    batch = make_label_batch(campaign, settings, BatchOptions(limit=60))
    known = {(each.key[0], each.phrase) for n, each in enumerate(offered) if n % 2}
    expected = [
        (item.columns["segment"], item.columns[f"phrase_{n}"])
        for item in batch.items
        for n in range(1, item.size + 1)
        if item.columns[f"control_{n}"] == "YES"
    ]
    assert len(expected) >= 5
    assert set(expected) <= known


def test_references_are_aligned_where_no_links_are_given(campaign: Campaign) -> None:
    links = align_references(campaign)
    sizes = [len(tokenize(text)) for text in campaign.references[0]]
    assert len(links) == len(sizes)
    assert all(target < size for each, size in zip(links, sizes, strict=True) for _, target in each)
    assert len(control_candidates(campaign, links)) > 20
    campaign.references.clear()
    with pytest.raises(RyptError, match="expected a campaign with references"):
        align_references(campaign)


def test_exercises_come_from_several_segments(campaign: Campaign) -> None:
    settings = new_settings(Kind.LABEL, seed=1, now=NOW)
    batch = make_label_batch(campaign, settings, BatchOptions(limit=10, training=5))
    assert len({item.columns["segment"] for item in batch.training}) == 5
    assert [item.columns["control_1"] for item in batch.training] == ["YES", "NO", "YES", "NO", "YES"]


@pytest.mark.parametrize(
    ("phrase", "positions"),
    [("red house", (1, 2)), ("the", (0,)), ("house red", ()), ("", ()), ("a b c d e f g", ())],
)
def test_a_phrase_is_found_in_one_piece(phrase: str, positions: tuple[int, ...]) -> None:
    assert find_phrase(["the", "Red", "House", "the", "end"], phrase, "lower") == positions
