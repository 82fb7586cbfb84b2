"""Numbers that take long to count, kept in the campaign's folder until a file that they were counted from changes.

    numbers = kept_numbers(campaign, count, now)   →   what ``count(…)`` returns, or returned before

``.status.json`` holds the numbers with the size, time and inode of every file they depend on: settings, texts, and the
database with its log. Where one of these differs, or the file cannot be read, numbers are counted again (where only the
database differs, those of the segments whose votes changed): they are never taken for the data. Files changed in the
last seconds may change again within the resolution of the clock, so nothing is kept about them. The file is replaced as
a whole, so two processes may count at the same time and a crash leaves the old one; a folder that cannot be written to
is only slower.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rypt.campaign.folder import Campaign
from rypt.campaign.settings import SETTINGS
from rypt.signature import rypt_version
from rypt.text import InputError, open_output

KEPT = ".status.json"
FORM = 3  # of the numbers; another one is counted again
SETTLED = 2.0  # seconds after which a file that is the same by size and time is the same

Numbers = dict[str, Any]  # what JSON can hold
Files = dict[str, list[int] | None]


def kept_numbers(campaign: Campaign, count: Callable[[Numbers | None], Numbers], now: float) -> Numbers:
    """The numbers that ``count`` returns; ``now`` is in seconds since 1970.

    ``count`` is given the numbers that were kept if only the database is another one since, else None.
    """
    before = files_now(campaign)
    kept = _read(campaign)
    if kept is not None and kept["files"] == before:
        return dict(kept["numbers"])
    database = {str(path) for path in _database_files(campaign)}
    same_texts = kept is not None and all(kept["files"].get(name) == before[name] for name in set(before) - database)
    numbers = count(kept["numbers"] if kept is not None and same_texts else None)
    newest = max((file[1] for file in before.values() if file), default=0)
    if newest < (now - SETTLED) * 1e9 and files_now(campaign) == before:
        _write(campaign, before, numbers)
    return numbers


def _database_files(campaign: Campaign) -> tuple[Path, Path]:
    """The database and its log."""
    database = campaign.path(campaign.files.database)
    return database, database.with_name(f"{database.name}-wal")


def files_now(campaign: Campaign) -> Files:
    """Size, time of the last change in nanoseconds, and inode of each file that numbers depend on."""
    files = campaign.files
    names = [SETTINGS, files.source, files.trees, files.lexicon, *files.nbest, *files.alignments, *files.references]
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


def _read(campaign: Campaign) -> dict[str, Any] | None:
    """What was kept by this version."""
    try:
        kept = json.loads(campaign.path(KEPT).read_text(encoding="utf-8"))
        whole = kept["form"] == FORM and kept["version"] == rypt_version() and isinstance(kept["files"], dict)
        return kept if whole and isinstance(kept["numbers"], dict) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(campaign: Campaign, files: Files, numbers: Numbers) -> None:
    kept = {"form": FORM, "version": rypt_version(), "files": files, "numbers": numbers}
    try:
        with open_output(campaign.path(KEPT)) as stream:
            json.dump(kept, stream)
    except InputError:
        return  # a folder or disk that cannot be written to
