import csv
from pathlib import Path

import pytest

from hits.batch.folder import read_batch, write_batch
from hits.records import Batch, BatchSettings, Item, Kind, RewardRule
from rypt.text import InputError

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


@pytest.mark.parametrize("kind", Kind)
def test_a_good_batch_is_read(tmp_path: Path, kind: Kind) -> None:
    batch = read_batch(written(tmp_path / "b", kind))
    assert batch.settings.kind is kind
    assert batch.items == (Item(COLUMNS[kind]["item"], COLUMNS[kind]),)


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


def test_bytes_that_are_not_utf8_are_named(tmp_path: Path) -> None:
    folder = written(tmp_path / "b", Kind.COMPARISON)
    (folder / "batch.csv").write_bytes((folder / "batch.csv").read_bytes() + b"\xff")
    with pytest.raises(InputError, match=r"batch.csv:3: expected UTF-8"):
        read_batch(folder)


@pytest.mark.parametrize("name", ["batch.toml", "batch.csv", "template.html"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    folder = written(tmp_path / "b", Kind.COMPARISON)
    (folder / name).unlink()
    with pytest.raises(InputError, match="expected a batch" if name == "batch.toml" else name):
        read_batch(folder)


def test_a_cell_beyond_what_csv_holds_is_an_error_and_no_crash(tmp_path: Path) -> None:
    before = csv.field_size_limit(131_072)  # Python's own, which sqlite-utils raises
    try:
        with pytest.raises(InputError, match=r"batch.csv:2: expected CSV: field larger"):
            read_batch(written(tmp_path / "b", Kind.COMPARISON, source="x" * 200_000))
    finally:
        csv.field_size_limit(before)
