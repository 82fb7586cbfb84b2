import csv
import os
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hits.batch.folder import new_settings, read_batch, write_batch
from hits.batch.labels import make_label_batch
from hits.batch.options import BatchOptions
from hits.batch.systems import make_system_batch
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


@pytest.mark.slow
@pytest.mark.parametrize("kind", Kind)
def test_batches_of_every_kind_come_back_as_they_were(
    kind: Kind, demo_campaign: Path, tmp_path: Path
) -> None:
    if kind is Kind.LABEL:
        campaign = Campaign.open(demo_campaign)
        options = BatchOptions(reference_alignment=campaign.path("reference.align"))
        batch = make_label_batch(campaign, settings(kind), options)
    else:
        batch = make_system_batch(SEGMENTS, OUTPUTS, settings(kind), references={"0": "the house"})
    write_batch(tmp_path / "new" / "batch", batch)
    assert read_batch(tmp_path / "new" / "batch") == batch
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["batch"]


@pytest.mark.slow
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


COLUMNS = {
    Kind.LABEL: {
        "item": "0-1-2-1",
        "segment": "0",
        "start": "1",
        "stop": "2",
        "size": "2",
        "phrase_1": "a",
        "phrase_2": "b",
        "control_1": "",
        "control_2": "NO",
        "source": "s",
    },
    Kind.COMPARISON: {
        "item": "0-1",
        "segment": "0",
        "system_a": "x",
        "system_b": "y",
        "candidate_a": "a",
        "candidate_b": "b",
        "control": "",
        "source": "s",
    },
    Kind.RANKING: {
        "item": "0-1",
        "segment": "0",
        "size": "3",
        "system_1": "x",
        "system_2": "",
        "system_3": "z",
        "control": '{"better": [1, 2]}',
        "source": "s",
    },
}


def written(folder: Path, kind: Kind, **columns: str) -> Path:
    row = {**COLUMNS[kind], **columns}
    settings = BatchSettings("b1", kind, "t", "d", "k", RewardRule())
    write_batch(folder, Batch(settings, (Item(row["item"], row),), "<form>\n${source}</form>"))
    return folder


@pytest.mark.parametrize(
    ("kind", "columns", "message"),
    [
        (Kind.LABEL, {"start": "x"}, "expected start as a number from 0"),
        (Kind.LABEL, {"start": "-1"}, "expected start"),
        (Kind.LABEL, {"start": "²"}, "expected start"),
        (Kind.LABEL, {"start": "2"}, "a span of at least one token, found 2-2"),
        (Kind.LABEL, {"size": "0"}, "expected size as a number from 1 to 10"),
        (Kind.LABEL, {"size": "3"}, "expected a phrase in column phrase_3"),
        (Kind.LABEL, {"phrase_2": " "}, "expected a phrase in column phrase_2"),
        (Kind.LABEL, {"control_2": "MAYBE"}, "in column control_2, found 'MAYBE'"),
        (Kind.LABEL, {"segment": ""}, "expected a segment"),
        (Kind.LABEL, {"item": ""}, "expected an item id"),
        (Kind.LABEL, {"item": "a b"}, "expected an item id"),
        (Kind.LABEL, {"item": "x" * 129}, "expected an item id"),
        (Kind.COMPARISON, {"control": "C"}, "expected A, B, EQUAL or nothing"),
        (Kind.COMPARISON, {"system_b": ""}, "expected system_a and system_b"),
        (Kind.RANKING, {"size": "1"}, "expected size as a number from 2 to 5"),
        (Kind.RANKING, {"size": "4"}, "expected a system in column system_4"),
        (Kind.RANKING, {"control": ""}, "expected a system in column system_2"),
        (Kind.RANKING, {"control": "x"}, "expected a control like"),
        (Kind.RANKING, {"control": '{"better": [1, 4]}'}, "expected a control of slots 1 to 3"),
    ],
)
def test_a_wrong_cell_is_named_with_its_line(
    tmp_path: Path, kind: Kind, columns: dict[str, str], message: str
) -> None:
    with pytest.raises(InputError, match=f"batch.csv:2: .*{message}"):
        read_batch(written(tmp_path / "b", kind, **columns))


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("batch.csv", "control,", "", "batch.csv:1: expected a column control"),
        ("batch.csv", "source", "item", "batch.csv:1: the column item is there twice"),
        ("batch.csv", "0-1,0,x", "0-1,x", "batch.csv:2: expected 8 cells, found 7"),
        ("batch.csv", "0-1,0,x", '0-1,"0"0,x', "batch.csv:2: expected CSV"),
        ("batch.csv", ",a,b,", ',"a,b,', "batch.csv:2: expected CSV"),
        ("batch.csv", "source", "other", r"template.html:2: .*\$\{source\}"),
        ("template.html", "${source}", "\n${sauce}", r"template.html:3: .*\$\{sauce\}"),
        ("template.html", "<form>", "<p>", "template.html: expected one <form>"),
        (
            "batch.toml",
            "seed = 0",
            "sead = 0",
            "batch.toml: (unknown setting sead|expected the setting seed)",
        ),
        ("batch.toml", "seed = 0", 'seed = "0"', "batch.toml: expected seed as a whole number"),
        ("batch.toml", "seed = 0", "seed = true", "batch.toml: expected seed as a whole number"),
        ("batch.toml", 'title = "t"', "title = 3", "batch.toml: expected title as a text"),
        ("batch.toml", 'title = "t"', 'title = ""', "batch.toml: expected a title of 1 to 128"),
        (
            "batch.toml",
            'kind = "comparison"',
            'kind = "poll"',
            "expected kind as one of label, comparison, ranking",
        ),
        ("batch.toml", 'base = "0"', "", "expected base and each"),
        ("batch.toml", 'base = "0"', 'base = "x"', "expected amounts like"),
        ("batch.toml", 'base = "0"', "base = 0.5", "expected amounts like"),
        ("batch.toml", 'base = "0"', 'base = "-1"', "expected a reward between"),
        ("batch.toml", "[reward]", "[reward", "batch.toml: expected TOML"),
        ("batch.toml", "seed = 0", "seed = \0", "batch.toml:.*NUL"),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, name: str, old: str, new: str, message: str) -> None:
    folder = written(tmp_path / "b", Kind.COMPARISON)
    raw = (folder / name).read_text(encoding="utf-8")
    assert old in raw
    (folder / name).write_text(raw.replace(old, new, 1), encoding="utf-8", newline="")
    with pytest.raises(InputError, match=message):
        read_batch(folder)


def test_lines_are_counted_through_cells_with_line_ends(tmp_path: Path) -> None:
    folder = written(tmp_path / "b", Kind.COMPARISON, source="one\ntwo\nthree")
    with open(folder / "batch.csv", "a", encoding="utf-8", newline="") as stream:
        stream.write("0-1,0,x,y,a,b,,s\r\n")
    with pytest.raises(InputError, match=r"batch.csv:5: item 0-1 is there already, in line 2"):
        read_batch(folder)


@pytest.mark.parametrize(
    "content", [b"", b"item,segment,system_a,system_b,candidate_a,candidate_b,control\r\n"]
)
def test_a_batch_without_items_is_refused(tmp_path: Path, content: bytes) -> None:
    folder = written(tmp_path / "b", Kind.COMPARISON)
    (folder / "batch.csv").write_bytes(content)
    with pytest.raises(InputError, match=r"batch.csv: expected (items|a header), found"):
        read_batch(folder)
