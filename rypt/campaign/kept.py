"""What takes long to compute, kept in the campaign's folder until a file that it was computed from changes.

    numbers = kept_numbers(campaign, count, now)           →   what ``count(…)`` returns, or returned before
    kept_value(campaign, ".models.json", "tree")           →   what `keep_value` put there, None if a file changed

``.status.json`` and ``.models.json`` hold values with the size, time and inode of every file they depend on: settings,
texts, and the database with its log. Where one of these differs, or the file cannot be read, values are computed again
(in ``.status.json``, where only lists and the database differ, those of segments that changed): they are never taken
for the data. Files changed in the last seconds may change again within the resolution of the clock, so nothing is kept
about them. A file is replaced as a whole, so two processes may count at the same time and a crash leaves the old one; a
folder that cannot be written to is only slower.
"""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rypt.campaign.folder import Campaign
from rypt.campaign.settings import SETTINGS
from rypt.signature import rypt_version
from rypt.text import InputError, open_output

KEPT = ".status.json"
FORM = 5  # of the numbers; another one is counted again
SETTLED = 2.0  # seconds after which a file that is the same by size and time is the same

Numbers = dict[str, Any]  # what JSON can hold
Files = dict[str, list[int] | None]


@dataclass(frozen=True, slots=True)
class Kept:
    """Numbers that were kept, and whether lists and database are still those they were counted from.

    Settings, source and trees are the same.
    """

    numbers: Numbers
    same_lists: bool
    same_database: bool


def kept_numbers(campaign: Campaign, count: Callable[[Kept | None], Numbers], now: float) -> Numbers:
    """The numbers that ``count`` returns; ``now`` is in seconds since 1970.

    ``count`` is given the numbers that were kept if only lists and the database are others since, else None.
    """
    before, settings = files_now(campaign), _settings(campaign)
    kept = _read(campaign, KEPT)
    if kept is not None and kept["files"] == before:
        return dict(kept["numbers"])
    usable = None
    if kept is not None and kept["settings"] == settings:
        files = kept["files"]
        database = {str(path) for path in _database_files(campaign)}
        lists = {str(campaign.path(name)) for name in _lists(campaign)} | (files.keys() - before.keys())
        rest = before.keys() - database - lists - {str(campaign.path(SETTINGS))}
        if all(files.get(name) == before[name] for name in rest):
            usable = Kept(
                kept["numbers"],
                same_lists=before.keys() == files.keys()
                and all(files.get(name) == before[name] for name in lists),
                same_database=all(files.get(name) == before[name] for name in database),
            )
    numbers = count(usable)
    newest = max((file[1] for file in before.values() if file), default=0)
    if newest < (now - SETTLED) * 1e9 and files_now(campaign) == before:
        _write(campaign, KEPT, before, settings, numbers)
    return numbers


def kept_value(campaign: Campaign, name: str, key: str) -> Any:
    """What was kept under a key in a file of the campaign, None where there is nothing or something changed since."""
    kept = _read(campaign, name)
    return kept["numbers"].get(key) if kept is not None and kept["files"] == files_now(campaign) else None


def keep_value(campaign: Campaign, name: str, key: str, value: Any, files: Files, now: float) -> None:
    """Keep a value, that JSON can hold, beside others; ``files`` are those of before it was computed."""
    newest = max((file[1] for file in files.values() if file), default=0)
    if newest < (now - SETTLED) * 1e9 and files_now(campaign) == files:
        kept = _read(campaign, name)
        others = kept["numbers"] if kept is not None and kept["files"] == files else {}
        _write(campaign, name, files, _settings(campaign), {**others, key: value})


def _lists(campaign: Campaign) -> list[str]:
    """The files of candidates and of their links."""
    files = campaign.files
    return [*files.nbest, *files.alignments, *([files.lexicon] if files.lexicon else [])]


def _settings(campaign: Campaign) -> str:
    """The settings without the lists."""
    files = replace(campaign.files, nbest=[], alignments=[], lexicon=None)
    return repr(replace(campaign.settings, files=files))


def _database_files(campaign: Campaign) -> tuple[Path, Path]:
    """The database and its log."""
    database = campaign.path(campaign.files.database)
    return database, database.with_name(f"{database.name}-wal")


def files_now(campaign: Campaign) -> Files:
    """Size, time of the last change in nanoseconds, and inode of each file that numbers depend on."""
    files = campaign.files
    names = [
        SETTINGS,
        files.source,
        files.trees,
        files.lexicon,
        *files.nbest,
        *files.alignments,
        *files.references,
    ]
    paths = [campaign.path(name) for name in names if name]
    database, log = _database_files(campaign)
    facts: Files = {}
    for path in (*paths, database, log):
        try:
            about = os.stat(path)
        except OSError:
            facts[str(path)] = None
            continue
        empty_log = path == log and not about.st_size  # comes and goes with every reader
        facts[str(path)] = None if empty_log else [about.st_size, about.st_mtime_ns, about.st_ino]
    return facts


def _read(campaign: Campaign, name: str) -> dict[str, Any] | None:
    """What was kept by this version."""
    try:
        kept = json.loads(campaign.path(name).read_text(encoding="utf-8"))
        whole = kept["form"] == FORM and kept["version"] == rypt_version() and isinstance(kept["files"], dict)
        whole = whole and isinstance(kept["settings"], str)
        return kept if whole and isinstance(kept["numbers"], dict) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(campaign: Campaign, name: str, files: Files, settings: str, numbers: Numbers) -> None:
    kept = {"form": FORM, "version": rypt_version(), "files": files, "settings": settings, "numbers": numbers}
    try:
        with open_output(campaign.path(name)) as stream:
            json.dump(kept, stream)
    except InputError:
        return  # a folder or disk that cannot be written to
