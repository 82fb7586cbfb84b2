import csv
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hits.batch.folder import new_settings, read_batch, write_batch
from hits.batch.labels import make_label_batch
from hits.batch.options import BatchOptions
from hits.batch.systems import make_comparison_batch, make_ranking_batch
from hits.payment import fair_rule
from hits.records import Batch, BatchSettings, Item, Kind, RewardRule
from rypt.campaign.folder import Campaign
from rypt.records import Segment
from rypt.text import InputError, RyptError

NOW = datetime(2026, 11, 20, 10, 30, tzinfo=timezone(timedelta(hours=1)))
PLAIN = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
SEGMENTS = [Segment("0", "das Haus"), Segment("1", "der Hund")]
OUTPUTS = {"x": {"0": "the house", "1": "the dog"}, "y": {"0": "a house", "1": "the dog"}}
TEMPLATE = "<form>${source}</form>"


def comparison(**columns: str) -> Item:
    there = {
        "item": "0-1",
        "segment": "0",
        "system_a": "x",
        "system_b": "y",
        "candidate_a": "a",
        "candidate_b": "b",
        "control": "",
        "source": "s",
        **columns,
    }
    return Item(there["item"], there)


def settings(kind: Kind = Kind.COMPARISON) -> BatchSettings:
    return new_settings(kind, seed=5, now=NOW, source_language="de", target_language="en")


@pytest.mark.parametrize("kind", Kind)
def test_batches_of_every_kind_come_back_as_they_were(
    kind: Kind, demo_campaign: Path, tmp_path: Path
) -> None:
    if kind is Kind.LABEL:
        campaign = Campaign.open(demo_campaign)
        options = BatchOptions(reference_alignment=campaign.path("reference.align"))
        batch = make_label_batch(campaign, settings(kind), options)
    else:
        make = make_comparison_batch if kind is Kind.COMPARISON else make_ranking_batch
        batch = make(SEGMENTS, OUTPUTS, settings(kind), references={"0": "the house"})
    write_batch(tmp_path / "new" / "batch", batch)
    assert read_batch(tmp_path / "new" / "batch") == batch
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["batch"]


@given(st.lists(st.tuples(PLAIN, PLAIN), min_size=1, max_size=4), PLAIN)
def test_any_text_survives(
    tmp_path_factory: pytest.TempPathFactory, texts: list[tuple[str, str]], title: str
) -> None:
    folder = tmp_path_factory.mktemp("any") / "b"
    items = [comparison(item=f"0-{n}", candidate_a=a, source=b) for n, (a, b) in enumerate(texts)]
    made = replace(settings(), title=f"t{title}", keywords=title)
    batch = Batch(made, tuple(items), TEMPLATE)
    write_batch(folder, batch)
    assert read_batch(folder) == batch


def test_the_csv_is_rfc_4180_in_utf8_and_cells_are_verbatim(tmp_path: Path) -> None:
    cells = {"candidate_a": '=HYPERLINK("x")', "candidate_b": "-1, 2", "source": "a\nü"}
    write_batch(tmp_path / "b", Batch(settings(), (comparison(**cells),), TEMPLATE))
    raw = (tmp_path / "b" / "batch.csv").read_bytes()
    header = b"item,segment,system_a,system_b,candidate_a,candidate_b,control,source\r\n"
    assert raw == header + '0-1,0,x,y,"=HYPERLINK(""x"")","-1, 2",,"a\nü"\r\n'.encode()
    with open(tmp_path / "b" / "batch.csv", encoding="utf-8", newline="") as stream:
        assert next(csv.DictReader(stream))["candidate_a"] == '=HYPERLINK("x")'


def test_settings_have_texts_and_a_fair_reward_by_default(tmp_path: Path) -> None:
    made = settings()
    assert made.title == "Which German–English translation is better?"
    assert made.assignments == 3
    assert made.reward == fair_rule(Kind.COMPARISON)
    assert made.created == "2026-11-20T09:30:00Z"
    assert made.id != settings().id
    own = new_settings(Kind.LABEL, seed=1, now=NOW, title="T", assignments=5, id="x1", interface="de")
    assert (own.title, own.assignments, own.id) == ("T", 5, "x1")
    assert "Übersetzung" in own.description


def test_money_is_written_exactly(tmp_path: Path) -> None:
    rule = RewardRule(Decimal("0.005"), Decimal("0.1234"))
    write_batch(tmp_path / "b", Batch(replace(settings(), reward=rule), (comparison(),), TEMPLATE))
    assert '[reward]\nbase = "0.005"\neach = "0.1234"\n' in (tmp_path / "b" / "batch.toml").read_text(
        encoding="utf-8"
    )
    assert read_batch(tmp_path / "b").settings.reward == rule


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    batch = Batch(settings(), (comparison(),), TEMPLATE)
    (tmp_path / "empty").mkdir()
    write_batch(tmp_path / "empty", batch)
    with pytest.raises(
        InputError, match="a new or empty folder, found one with a batch in it; it is not published: delete"
    ):
        write_batch(tmp_path / "empty", replace(batch, template="<form></form>"))
    (tmp_path / "empty" / "published.local-1.jsonl").touch()
    with pytest.raises(InputError, match=r"found one with a batch in it; name another$"):
        write_batch(tmp_path / "empty", replace(batch, template="<form></form>"))
    assert read_batch(tmp_path / "empty") == batch
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="expected a new or empty folder"):
        write_batch(tmp_path / "file", batch)


def test_an_interrupted_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def full_disk(handle: int) -> None:
        calls.append(handle)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(InputError, match="b: No space left"):
        write_batch(tmp_path / "b", Batch(settings(), (comparison(),), TEMPLATE))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", ["\ud800", "a\0b"])
def test_text_that_no_file_can_hold_is_refused(tmp_path: Path, value: str) -> None:
    with pytest.raises(RyptError, match="item 0-1: expected Unicode text in column candidate_a"):
        write_batch(tmp_path / "b", Batch(settings(), (comparison(candidate_a=value),), TEMPLATE))


def test_items_need_different_ids(tmp_path: Path) -> None:
    for items in ((), (comparison(), comparison())):
        with pytest.raises(RyptError, match="items with different ids"):
            write_batch(tmp_path / "b", Batch(settings(), items, TEMPLATE))


def test_times_are_kept_in_utc() -> None:
    assert new_settings(Kind.LABEL, seed=1, now=NOW.astimezone(UTC)).created == settings().created
