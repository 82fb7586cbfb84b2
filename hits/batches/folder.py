"""Batch folders: ``batch.toml``, ``batch.csv`` and ``template.html``, written whole or not at all and read strictly.

``batch.csv`` and ``template.html`` are what the requester's web site took: UTF-8 with a header, quoted by RFC 4180, and
an HTML page with ``${column}``. ``identical.csv`` lists the comparisons that need no question (see `IdenticalPair`),
``training.csv`` controls to practise on.

Cells are written as they are, for a changed phrase would no longer be the database's key. Those that hold HTML never
begin like a formula (`hits.batches.markup.safe_cell`); those that only programs read may, so open the file in a
spreadsheet with all columns as text.
"""

import csv
import io
import os
import secrets
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import tomli_w

from hits.batches.kinds import KINDS
from hits.batches.layout import read_interface
from hits.batches.markup import plain
from hits.batches.price import fair_rule
from hits.batches.reader import BATCH_CSV, BATCH_TOML, IDENTICAL_CSV, TEMPLATE, TRAINING_CSV, read_batch
from hits.qualifications import qualifications_table
from hits.records import DAY, Batch, BatchSettings, IdenticalPair, Kind, RewardRule
from rypt.text import InputError, PathLike, RyptError, new_folder

__all__ = ["new_settings", "read_batch", "write_batch"]
PUBLISHED = (
    "published.*.jsonl"  # files of a batch folder that record its hits on a market (`hits.market.ledger`)
)


def new_settings(
    kind: Kind,
    *,
    seed: int,
    now: datetime,
    source_language: str = "",
    target_language: str = "",
    interface: str = "en",
    title: str | None = None,
    description: str | None = None,
    keywords: str | None = None,
    reward: RewardRule | None = None,
    assignments: int | None = None,
    duration: int = 30 * 60,
    lifetime: int = 14 * DAY,
    auto_approval: int = 7 * DAY,
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
        title=plain(title or texts["title"]),
        description=plain(description or texts["description"]),
        keywords=plain(texts["keywords"] if keywords is None else keywords),
        reward=reward or fair_rule(kind),
        assignments=assignments or KINDS[kind].assignments,
        duration=duration,
        lifetime=lifetime,
        auto_approval=auto_approval,
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
        advice = (
            "name another"
            if any(target.glob(PUBLISHED))
            else "it is not published: delete it, or name another"
        )
        raise InputError(
            folder, None, f"expected a new or empty folder, found one with a batch in it; {advice}"
        )
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
    if batch.identical:
        rows = [(pair.segment, pair.system_a, pair.system_b) for pair in batch.identical]
        files[IDENTICAL_CSV] = _csv(list(IdenticalPair.__slots__), rows)
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
