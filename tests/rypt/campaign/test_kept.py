"""Numbers kept in a campaign's folder: taken while nothing changes, counted again otherwise."""

import os
from pathlib import Path

import pytest

from rypt.campaign.folder import Campaign, create
from rypt.campaign.kept import KEPT, kept_numbers
from rypt.loop.status import campaign_status
from rypt.records import Judgment, Label, Span

LATER = 4_000_000_000.0  # all files are older


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    (tmp_path / "source").write_text("a b c\n")
    (tmp_path / "trees").write_text("(S (NP (A a) (B b)) (C c))\n")
    (tmp_path / "nbest").write_text("0 ||| x y z ||| ||| 0 ||| 0-0 1-1 2-2\n")
    create(
        tmp_path / "campaign",
        source=tmp_path / "source",
        trees=tmp_path / "trees",
        nbest=[tmp_path / "nbest"],
    )
    return Campaign.open(tmp_path / "campaign")


def counted(campaign: Campaign, now: float = LATER) -> bool:
    """Whether the numbers were counted and not taken from the folder."""
    calls = []
    numbers = kept_numbers(campaign, lambda kept: calls.append(1) or {"candidates": 1}, now)  # type: ignore[func-returns-value]
    assert numbers == {"candidates": 1}
    return bool(calls)


def test_counted_once_while_no_file_changes(campaign):
    assert counted(campaign)
    assert not counted(campaign)
    with campaign.database():  # a reader, whose log comes and goes
        assert not counted(campaign)
    assert not counted(campaign)


@pytest.mark.parametrize("name", ["../source", "../trees", "../nbest", "rypt.toml"])
def test_counted_again_when_a_file_changes_even_to_one_of_the_same_size(campaign, name):
    counted(campaign)
    path = campaign.path(name)
    path.write_bytes(path.read_bytes())
    os.utime(path, ns=(1, 1))
    assert counted(campaign)
    assert not counted(campaign)


def test_counted_again_after_a_judgment_though_the_database_stays_open(campaign):
    counted(campaign)
    with campaign.database(readonly=False) as db:
        db.add([Judgment("0", Span(0, 2), "x y", Label.YES, "w")])
        assert counted(campaign)
    assert counted(campaign)  # the log went into the file
    assert not counted(campaign)


def test_nothing_is_kept_about_files_that_just_changed(campaign):
    newest = max(os.stat(campaign.path(name)).st_mtime for name in ("../nbest", "rypt.toml", "judgments.db"))
    assert counted(campaign, newest + 1)
    assert not campaign.path(KEPT).exists()


def test_nothing_is_kept_when_a_file_changes_during_the_count(campaign):
    def count(kept) -> dict[str, int]:
        os.utime(campaign.path("../nbest"), ns=(1, 1))
        return {}

    kept_numbers(campaign, count, LATER)
    assert not campaign.path(KEPT).exists()


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"null", b'{"form": 1}', b"\xff", b'{"numbers": 3}'])
def test_a_damaged_file_is_replaced(campaign, damage):
    counted(campaign)
    campaign.path(KEPT).write_bytes(damage)
    assert counted(campaign)
    assert not counted(campaign)


def test_a_place_that_cannot_be_written_to_is_only_slower(campaign):
    campaign.path(KEPT).mkdir()
    assert counted(campaign)
    assert counted(campaign)


def test_the_status_of_kept_numbers_is_that_of_counted_ones(campaign):
    for path in (*campaign.folder.parent.iterdir(), *campaign.folder.iterdir()):
        os.utime(path, ns=(10**18, 10**18))
    first = campaign_status(campaign, 2_000_000_000)
    assert campaign.path(KEPT).exists()
    again = campaign_status(Campaign.open(campaign.folder), 2_000_000_000)
    assert repr(again) == repr(first)  # nan equals itself there
