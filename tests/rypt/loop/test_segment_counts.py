"""After a change of the database only the segments it touches are counted, and the sums are those of a new count."""

import os
import shutil
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from rypt.campaign.folder import Campaign
from rypt.campaign.kept import KEPT
from rypt.campaign.settings import write_settings
from rypt.database.judgments import JudgmentDatabase
from rypt.loop import status
from rypt.loop.segment_counts import SegmentCounts
from rypt.loop.status import campaign_status
from rypt.records import Judgment, Label
from rypt.scoring.observations import Places

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

    def watched(part: Campaign, *arguments: Any) -> tuple[dict[str, SegmentCounts], Places | None]:
        counts, places = count(part, *arguments)
        looked_at.append(set(counts))
        return counts, places

    with patch.object(status, "count_segments", watched):
        now = campaign_status(Campaign.open(campaign.folder), NOW)
    return {
        "labels": asdict(now.labels),
        "people": repr(now.people),
        "texts": asdict(now.texts),
        "next": now.next,
    }, looked_at


def write_list(campaign: Campaign, name: str, lines: list[str]) -> None:
    campaign.path(name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    os.utime(campaign.path(name), (1000, 1000))


def add_list(campaign: Campaign, name: str, lines: list[str]) -> None:
    """Write a list and name it in the settings."""
    write_list(campaign, name, lines)
    files = replace(campaign.files, nbest=[*Campaign.open(campaign.folder).files.nbest, name])
    write_settings(replace(campaign.settings, files=files), campaign.folder)
    os.utime(campaign.path("rypt.toml"), (1000, 1000))


def test_after_a_change_of_lists_only_segments_with_other_candidates_are_counted_again(
    campaign: Campaign,
) -> None:
    settle(campaign, 1001)
    first, _ = counted_by(campaign)
    old = campaign.candidates[0]
    one = f"{old.segment} ||| {old.text} ||| LM= 1 ||| 0 ||| {old.alignment}"
    other = f"{old.segment} ||| something else ||| LM= 1 ||| 0 ||| 0-0 1-1"
    add_list(campaign, "more.nbest", [one])  # a candidate that was known
    second, looked_at = counted_by(campaign)
    assert looked_at == []
    assert (second["labels"], second["texts"]) == (first["labels"], {**first["texts"], "lists": 2})  # type: ignore[dict-item]
    add_list(campaign, "yet.nbest", [one, other])
    third, looked_at = counted_by(campaign)
    assert looked_at == [{old.segment}]
    assert third["texts"] == {**second["texts"], "lists": 3, "candidates": first["texts"]["candidates"] + 1}  # type: ignore[dict-item, index]
    with JudgmentDatabase(campaign.path(campaign.files.database)) as db:
        judged = next(j for j in db.judgments() if j.segment != old.segment)
        db.add([Judgment(judged.segment, judged.span, judged.phrase, Label.NO, "new", "x")])
    settle(campaign, 1002)
    write_list(campaign, "yet.nbest", [one])
    fourth, looked_at = counted_by(campaign)
    assert looked_at == [{old.segment, judged.segment}]
    campaign.path(KEPT).unlink()
    assert counted_by(campaign) == (fourth, [set(campaign.trees)])


def test_marks_change_with_votes_alone(campaign: Campaign) -> None:
    with JudgmentDatabase(campaign.path(campaign.files.database)) as db:
        before = db.vote_marks()
        old = next(iter(db.judgments()))
        db.add([old])
        assert db.vote_marks() == before
        db.add([Judgment(old.segment, old.span, old.phrase, old.label, old.worker, "elsewhere", weight=0.0)])
        assert db.vote_marks() == before
        db.add(
            [
                Judgment(
                    old.segment, old.span, old.phrase, old.label, old.worker, "elsewhere", weight=0.0, time=3
                )
            ]
        )
        db.add([Judgment(old.segment, old.span, "a new phrase", Label.NO, old.worker, severity=1.0)])
        after = db.vote_marks()
        assert {name for name in after if after[name] != before.get(name)} == {old.segment}
        assert db.count_keys() == len(db.votes())
