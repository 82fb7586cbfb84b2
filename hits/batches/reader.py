"""Reading a batch folder: every mistake is named with its file and line."""

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import fields
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from hits.batches.kinds import KINDS
from hits.batches.page import check_template, placeholders
from hits.qualifications import read_qualifications
from hits.records import Batch, BatchSettings, IdenticalPair, Item, Kind, RewardRule
from rypt.strict import SyntaxFormatError, parse_toml
from rypt.text import FormatError, InputError, PathLike, RyptError, is_one_line, read_bytes

BATCH_TOML, BATCH_CSV, TEMPLATE, IDENTICAL_CSV = "batch.toml", "batch.csv", "template.html", "identical.csv"
TRAINING_CSV = "training.csv"
MAX_ITEM_ID = 128
OPTIONAL = frozenset(
    ["made", "qualifications"]
)  # sections that a batch made by hand or by an older rypt does not have


def read_batch(folder: PathLike) -> Batch:
    """Read a batch folder and check it."""
    place = Path(folder)
    if not (place / BATCH_TOML).is_file():
        raise InputError(
            folder, None, f"expected a batch, a folder with {BATCH_TOML} ('rypt hits make' makes one)"
        )
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
    training: tuple[Item, ...] = ()
    if (place / TRAINING_CSV).exists():
        training = tuple(_read_items(place / TRAINING_CSV, settings.kind))
    return Batch(settings, items, template, identical, folder=place, training=training)


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
    rules = KINDS[kind]
    lines: dict[str, int] = {}
    for line, row in _read_rows(path, rules.columns):
        name = row["item"]
        try:
            if not (name and len(name) <= MAX_ITEM_ID and name.isprintable() and " " not in name):
                raise FormatError(f"expected an item id of 1 to {MAX_ITEM_ID} characters, found {name!r}")
            if name in lines:
                raise FormatError(f"item {name} is there already, in line {lines[name]}")
            if not row["segment"] or not is_one_line(row["segment"]):
                raise FormatError(f"expected a segment, found {row['segment']!r}")
            rules.check(row)
        except FormatError as error:
            raise InputError(path, line, str(error)) from None
        lines[name] = line
        yield Item(name, row)


def _read_settings(path: Path) -> BatchSettings:
    try:
        values = parse_toml(read_bytes(path).decode())
    except SyntaxFormatError as error:
        raise InputError(path, None, f"expected TOML: {error}") from None
    known = {f.name: f.type for f in fields(BatchSettings)}
    for name in (known.keys() - OPTIONAL) ^ (values.keys() - OPTIONAL):
        problem = "unknown setting" if name in values else "expected the setting"
        raise InputError(path, None, f"{problem} {name}")
    for name, value in values.items():
        kind = int if known[name] is int else dict if name in ("reward", *OPTIONAL) else str
        if type(value) is not kind:
            expected = {int: "a whole number", dict: f"a section [{name}]", str: "a text"}[kind]
            raise InputError(path, None, f"expected {name} as {expected}, found {value!r}")
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
