"""After a change of the database only the segments it touches are counted, and the sums are those of a new count."""

import os
import shutil
from dataclasses import asdict
from pathlib import Path
from unittest.mock import patch

import pytest

from rypt.campaign.folder import Campaign
from rypt.database.judgments import JudgmentDatabase
from rypt.loop import status
from rypt.loop.kept import KEPT
from rypt.loop.segment_counts import SegmentCounts
from rypt.loop.status import campaign_status
from rypt.records import Judgment, Label

NOW = 2_000_000_000


@pytest.fixture
def campaign(demo_campaign: Path, tmp_path: Path) -> Campaign:
    shutil.copytree(demo_campaign, tmp_path / "campaign")
    return Campaign.open(tmp_path / "campaign")


def settle(campaign: Campaign, time: int) -> None:
    """Let all files be old enough to be trusted, the database as of a time."""
    for path in campaign.folder.rglob("*"):
        if path.is_file():
            seconds = time if path.name.startswith(campaign.files.database) else 1000
            os.utime(path, (seconds, seconds))


def counted_by(campaign: Campaign) -> tuple[dict[str, object], list[set[str]]]:
    """The status, and for each count the segments that were looked at."""
    looked_at: list[set[str]] = []
    count = status.count_segments

    def watched(part: Campaign, *arguments: object) -> tuple[dict[str, SegmentCounts], list[object]]:
        counts, left = count(part, *arguments)  # type: ignore[arg-type]
        looked_at.append(set(counts))
        return counts, list(left)

    with patch.object(status, "count_segments", watched):
        now = campaign_status(Campaign.open(campaign.folder), NOW)
    return {
        "labels": asdict(now.labels),
        "people": repr(now.people),
        "texts": asdict(now.texts),
        "next": now.next,
    }, looked_at


def test_only_segments_whose_votes_changed_are_counted_again(campaign: Campaign) -> None:
    settle(campaign, 1001)
    first, looked_at = counted_by(campaign)
    assert looked_at == [set(campaign.trees)]
    assert counted_by(campaign) == (first, [])
    with JudgmentDatabase(campaign.path(campaign.files.database)) as db:
        old = next(iter(db.judgments()))
        db.add([Judgment(old.segment, old.span, old.phrase, label, "new", "x") for label in (Label.NO, Label.NOT_SURE)])
    settle(campaign, 1002)
    second, looked_at = counted_by(campaign)
    assert looked_at == [{old.segment}]
    assert second != first
    with JudgmentDatabase(campaign.path(campaign.files.database)) as db:
        db.exclude(old.worker, "test")
        judged = {j.segment for j in db.judgments() if j.worker == old.worker}
    settle(campaign, 1003)
    third, looked_at = counted_by(campaign)
    assert looked_at == [judged]
    campaign.path(KEPT).unlink()
    assert counted_by(campaign) == (third, [set(campaign.trees)])


def test_marks_change_with_votes_alone(campaign: Campaign) -> None:
    with JudgmentDatabase(campaign.path(campaign.files.database)) as db:
        before = db.vote_marks()
        old = next(iter(db.judgments()))
        db.add([old])
        assert db.vote_marks() == before
        db.add([Judgment(old.segment, old.span, old.phrase, old.label, old.worker, "elsewhere", weight=0.0)])
        assert db.vote_marks() == before
        db.add([Judgment(old.segment, old.span, old.phrase, old.label, old.worker, "elsewhere", weight=0.0, time=3)])
        db.add([Judgment(old.segment, old.span, "a new phrase", Label.NO, old.worker, severity=1.0)])
        after = db.vote_marks()
        assert {name for name in after if after[name] != before.get(name)} == {old.segment}
        assert db.count_keys() == len(db.votes())
