"""Batch folders: ``batch.toml``, ``batch.csv`` and ``template.html``, written whole or not at all and read strictly.

``batch.csv`` and ``template.html`` are what the requester's web site took: UTF-8 with a header, quoted by RFC 4180, and
an HTML page with ``${column}``. ``training.csv`` has controls to practise on.

Cells are written as they are, for a changed phrase would no longer be the database's key. Those that hold HTML never
begin like a formula (`hits.batch.markup.safe_cell`); those that only programs read may, so open the file in a
spreadsheet with all columns as text.
"""

import csv
import io
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import tomli_w

from hits.batch.markup import plain
from hits.batch.page import check_template, placeholders, read_interface
from hits.kinds import KINDS
from hits.payment import fair_rule
from hits.qualifications import qualifications_table, read_qualifications
from hits.records import Batch, BatchSettings, Item, Kind, RewardRule
from rypt.options import check_option
from rypt.strict import SyntaxFormatError, parse_toml
from rypt.text import FormatError, InputError, PathLike, RyptError, is_one_line, new_folder, read_bytes

BATCH_TOML, BATCH_CSV, TEMPLATE = "batch.toml", "batch.csv", "template.html"
TRAINING_CSV = "training.csv"
PUBLISHED = "published.*.jsonl"  # its hits on a market (`hits.market.ledger`)
MAX_ITEM_ID = 128
OPTIONAL = frozenset(["made", "qualifications"])  # sections that a batch made by hand does not have


def new_settings(
    kind: Kind,
    *,
    seed: int,
    now: datetime,
    source_language: str = "",
    target_language: str = "",
    interface: str = "en",
    reward: RewardRule | None = None,
    assignments: int | None = None,
    made: Mapping[str, object] | None = None,
    id: str | None = None,
) -> BatchSettings:
    """Settings of a new batch; texts come from the interface's language, the reward from a fair wage.

    The id is random and not drawn from the seed: two batches of one seed are two batches.
    """
    texts = read_interface(interface, kind, source_language, target_language)
    return BatchSettings(
        id=id or secrets.token_hex(6),
        kind=kind,
        title=plain(texts["title"]),
        description=plain(texts["description"]),
        keywords=plain(texts["keywords"]),
        reward=reward or fair_rule(kind),
        assignments=assignments or KINDS[kind].assignments,
        seed=seed,
        source_language=source_language,
        target_language=target_language,
        interface=interface,
        created=now.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        made=dict(made or {}),
    )


def write_batch(folder: PathLike, batch: Batch) -> None:
    """Write a batch as a new folder, which appears whole or not at all."""
    files = _files(batch)
    target = Path(folder)
    if (target / BATCH_TOML).exists():
        advice = "" if any(target.glob(PUBLISHED)) else "it is not published: delete it, or "
        message = f"expected a new or empty folder, found one with a batch in it; {advice}name another"
        raise InputError(folder, None, message)
    with new_folder(folder) as building:
        for name, content in files.items():
            with open(building / name, "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())


def _files(batch: Batch) -> dict[str, bytes]:
    header = list(batch.items[0].columns) if batch.items else []
    for item in batch.items:
        if list(item.columns) != header or item.columns.get("item") != item.id:
            raise ValueError(f"item {item.id} has other columns than the first")
        for name, value in item.columns.items():
            if not _is_text(value):
                raise RyptError(f"item {item.id}: expected Unicode text in column {name}, found {value!r}")
    names = [item.id for item in batch.items]
    if not names or len(set(names)) < len(names):
        raise RyptError("expected a batch of items with different ids")
    files = {
        BATCH_TOML: _toml(batch.settings).encode(),
        BATCH_CSV: _csv(header, (list(item.columns.values()) for item in batch.items)),
        TEMPLATE: batch.template.encode(),
    }
    if batch.training:
        names = list(batch.training[0].columns)
        files[TRAINING_CSV] = _csv(names, (list(item.columns.values()) for item in batch.training))
    return files


def _is_text(value: str) -> bool:
    return "\0" not in value and value.encode("utf-8", "replace").decode() == value


def _csv(header: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, strict=True)
    writer.writerow(header)
    writer.writerows(rows)
    return stream.getvalue().encode()


def _toml(settings: BatchSettings) -> str:
    sections = ("reward", "made", "qualifications")
    values: dict[str, Any] = {
        name: getattr(settings, name) for name in settings.__slots__ if name not in sections
    }
    values["reward"] = {"base": str(settings.reward.base), "each": str(settings.reward.each)}
    if settings.made:
        values["made"] = settings.made
    if asked := qualifications_table(settings.qualifications):
        values["qualifications"] = asked
    return tomli_w.dumps(values)


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
    training: tuple[Item, ...] = ()
    if (place / TRAINING_CSV).exists():
        training = tuple(_read_items(place / TRAINING_CSV, settings.kind))
    return Batch(settings, items, template, folder=place, training=training)


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
        check_option("kind", values["kind"], tuple(map(str, Kind)))
        values["kind"] = Kind(values["kind"])
        values["reward"] = _reward(values["reward"])
        values["qualifications"] = read_qualifications(values.get("qualifications", {}))
        return BatchSettings(**values)
    except RyptError as error:
        raise InputError(path, None, str(error)) from None


def _reward(values: Mapping[str, Any]) -> RewardRule:
    if values.keys() != {"base", "each"}:
        raise FormatError(f"expected base and each in [reward], found {', '.join(values) or 'nothing'}")
    try:
        base, each = (Decimal(values[name]) for name in ("base", "each") if isinstance(values[name], str))
    except (InvalidOperation, ValueError):
        raise FormatError(f'expected amounts like "0.02" in [reward], found {dict(values)}') from None
    return RewardRule(base, each)
