"""Reading a batch folder: every mistake is named with its file and line."""

import csv
import io
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from hits.batches.controls import parse_ranking_control, same_systems
from hits.batches.page import check_template, placeholders
from hits.qualifications import read_qualifications
from hits.records import (
    MAX_ALTERNATIVES,
    MAX_RANKED,
    Batch,
    BatchSettings,
    Choice,
    IdenticalPair,
    Item,
    Kind,
    RewardRule,
)
from rypt.records import Label
from rypt.text import FormatError, InputError, PathLike, RyptError, is_one_line, read_bytes

BATCH_TOML, BATCH_CSV, TEMPLATE, IDENTICAL_CSV = "batch.toml", "batch.csv", "template.html", "identical.csv"
MAX_ITEM_ID = 128
OPTIONAL = frozenset(["made", "qualifications"])  # sections that a batch made by hand or by an older rypt does not have
NEEDED = {
    Kind.LABEL: ("item", "segment", "start", "stop", "size", "phrase_1", "control_1"),
    Kind.COMPARISON: ("item", "segment", "system_a", "system_b", "candidate_a", "candidate_b", "control"),
    Kind.RANKING: ("item", "segment", "size", "system_1", "system_2", "control"),
}


def read_batch(folder: PathLike) -> Batch:
    """Read a batch folder and check it."""
    place = Path(folder)
    if not (place / BATCH_TOML).is_file():
        raise InputError(folder, None, f"expected a batch, a folder with {BATCH_TOML} ('rypt hits make' makes one)")
    settings = _read_settings(place / BATCH_TOML)
    items = tuple(_read_items(place / BATCH_CSV, settings.kind))
    if not items:
        raise InputError(place / BATCH_CSV, None, "expected items, found none")
    template = read_bytes(place / TEMPLATE).decode()
    try:
        check_template(template, items[0].columns)
    except FormatError as error:
        raise InputError(place / TEMPLATE, _line_of_unknown(template, items[0].columns), str(error)) from None
    identical: tuple[IdenticalPair, ...] = ()
    if (place / IDENTICAL_CSV).exists():
        needed = IdenticalPair.__slots__
        rows = _read_rows(place / IDENTICAL_CSV, needed)
        identical = tuple(IdenticalPair(*(row[name] for name in needed)) for _, row in rows)
    return Batch(settings, items, template, identical, folder=place)


def _line_of_unknown(template: str, columns: Mapping[str, str]) -> int | None:
    unknown = [name for name in placeholders(template) if name not in columns]
    return template[: template.index(f"${{{unknown[0]}}}")].count("\n") + 1 if unknown else None


def _read_rows(path: Path, needed: tuple[str, ...]) -> Iterator[tuple[int, dict[str, str]]]:
    """Rows of a CSV file with a header, each with the line on which it begins."""
    reader = csv.reader(io.StringIO(read_bytes(path).decode(), newline=""), strict=True)
    line = 1
    header: list[str] | None = None
    try:
        for cells in reader:
            if header is None:
                header = cells
                _check_header(path, header, needed)
            elif len(cells) != len(header):
                raise InputError(path, line, f"expected {len(header)} cells, found {len(cells)}")
            else:
                yield line, dict(zip(header, cells, strict=True))
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(path, line, f"expected CSV: {error}") from None
    if header is None:
        raise InputError(path, None, "expected a header, found an empty file")


def _check_header(path: Path, header: list[str], needed: tuple[str, ...]) -> None:
    missing = [name for name in needed if name not in header]
    if missing:
        raise InputError(path, 1, f"expected a column {missing[0]}")
    twice = [name for i, name in enumerate(header) if name in header[:i]]
    if twice:
        raise InputError(path, 1, f"the column {twice[0]} is there twice")


def _read_items(path: Path, kind: Kind) -> Iterator[Item]:
    check = {Kind.LABEL: _check_label, Kind.COMPARISON: _check_comparison, Kind.RANKING: _check_ranking}[kind]
    lines: dict[str, int] = {}
    for line, row in _read_rows(path, NEEDED[kind]):
        name = row["item"]
        try:
            if not (name and len(name) <= MAX_ITEM_ID and name.isprintable() and " " not in name):
                raise FormatError(f"expected an item id of 1 to {MAX_ITEM_ID} characters, found {name!r}")
            if name in lines:
                raise FormatError(f"item {name} is there already, in line {lines[name]}")
            if not row["segment"] or not is_one_line(row["segment"]):
                raise FormatError(f"expected a segment, found {row['segment']!r}")
            check(row)
        except FormatError as error:
            raise InputError(path, line, str(error)) from None
        lines[name] = line
        yield Item(name, row)


def _whole(row: Mapping[str, str], name: str, least: int, most: int) -> int:
    text = row[name]
    if not (text.isascii() and text.isdigit() and len(text) < 10 and least <= int(text) <= most):
        raise FormatError(f"expected {name} as a number from {least} to {most}, found {text!r}")
    return int(text)


def _check_label(row: Mapping[str, str]) -> None:
    start, stop = _whole(row, "start", 0, 10**6), _whole(row, "stop", 1, 10**6)
    if stop <= start:
        raise FormatError(f"expected a span of at least one token, found {start}-{stop}")
    for n in range(1, _whole(row, "size", 1, MAX_ALTERNATIVES) + 1):
        if not row.get(f"phrase_{n}", "").strip():
            raise FormatError(f"expected a phrase in column phrase_{n}, for size is {row['size']}")
        expected = row.get(f"control_{n}")
        if expected is None or (expected and expected not in Label.__members__):
            raise FormatError(f"expected YES, NO, NOT_SURE or nothing in column control_{n}, found {expected!r}")


def _check_comparison(row: Mapping[str, str]) -> None:
    if row["control"] and row["control"] not in Choice.__members__:
        raise FormatError(f"expected A, B, EQUAL or nothing in column control, found {row['control']!r}")
    if not row["control"] and not (row["system_a"] and row["system_b"]):
        raise FormatError("expected system_a and system_b, for the item is no control")


def _check_ranking(row: Mapping[str, str]) -> None:
    size = _whole(row, "size", 2, MAX_RANKED)
    for n in range(1, size + 1):
        if f"system_{n}" not in row or not (row["control"] or row[f"system_{n}"]):
            raise FormatError(f"expected a system in column system_{n}, for size is {size}")
        same_systems(row, n)
    if row["control"]:
        _, first, second = parse_ranking_control(row["control"])
        if max(first, second) > size:
            raise FormatError(f"expected a control of slots 1 to {size}, found {row['control']}")


def _read_settings(path: Path) -> BatchSettings:
    try:
        values = tomllib.loads(read_bytes(path).decode())
    except tomllib.TOMLDecodeError as error:
        raise InputError(path, None, f"expected TOML: {error}") from None
    known = {f.name: f.type for f in fields(BatchSettings)}
    for name in (known.keys() - OPTIONAL) ^ (values.keys() - OPTIONAL):
        problem = "unknown setting" if name in values else "expected the setting"
        raise InputError(path, None, f"{problem} {name}")
    for name, value in values.items():
        kind = int if known[name] is int else dict if name in ("reward", *OPTIONAL) else str
        if type(value) is not kind:
            said = {int: "a whole number", dict: f"a section [{name}]", str: "a text"}[kind]
            raise InputError(path, None, f"expected {name} as {said}, found {value!r}")
    try:
        values["kind"] = _kind(values["kind"])
        values["reward"] = _reward(values["reward"])
        values["qualifications"] = read_qualifications(values.get("qualifications", {}))
        return BatchSettings(**values)
    except RyptError as error:
        raise InputError(path, None, str(error)) from None


def _kind(name: str) -> Kind:
    if name not in [str(kind) for kind in Kind]:
        raise FormatError(f"expected kind as one of {', '.join(Kind)}, found {name!r}")
    return Kind(name)


def _reward(values: Mapping[str, Any]) -> RewardRule:
    if values.keys() != {"base", "each"}:
        raise FormatError(f"expected base and each in [reward], found {', '.join(values) or 'nothing'}")
    try:
        base, each = (Decimal(values[name]) for name in ("base", "each") if isinstance(values[name], str))
    except (InvalidOperation, ValueError):
        raise FormatError(f'expected amounts like "0.02" in [reward], found {dict(values)}') from None
    return RewardRule(base, each)
