"""Comparisons from files, whose format is detected from their content or given by name.

csv         WMT's rankings: system1Id … system5Id and system1rank … system5rank, 2 systems or more in a row
xml         rankings exported by Appraise
counts      ``sys1 sys2 better equal worse``, each pair once or both ways
tournament  ``count sys1 sys2 >``: how often sys1 was better (``>``) or worse (``<``), each pair once or both ways
judgments   ``segment sys1 sys2 >`` with ``<``, ``=`` or ``>``: one judgment per line
jsonl       ``{"segment": …, "system_a": …, "system_b": …, "choice": "A", "worker": …}``, choice A, B or EQUAL
database    the comparisons in a campaign's folder, or in its judgment database
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from hits.ranking.data import Comparisons, comparisons_of, merge
from hits.ranking.names import FORMATS, NOT_JUDGED
from hits.ranking.readers.counts import read_counts, read_tournament
from hits.ranking.readers.rankings import read_csv, read_xml
from rypt.options import check_option
from rypt.strict import SyntaxFormatError, parse_json
from rypt.text import InputError, PathLike, RyptError, read_lines

Lines = Sequence[tuple[int, str]]
SQLITE = b"SQLite format 3\0"
OUTCOMES = {">": 1, "=": 0, "<": -1}
CHOICES = {"A": 1, "EQUAL": 0, "B": -1}


@dataclass(frozen=True, slots=True)
class Filters:
    """Which comparisons count."""

    languages: str | None = None  # source-target, as the file spells them
    judges: str | None = None  # a pattern such as researcher_*
    exclude: tuple[str, ...] = ()
    sample: int | None = None
    not_judged: str = "item"


def read_comparisons(
    paths: Sequence[PathLike],
    *,
    format: str | None = None,
    filters: Filters | None = None,
    rng: np.random.Generator | None = None,
) -> Comparisons:
    """The comparisons of all files together, filtered; systems without any left are not among ``systems``.

    A sample is drawn without replacement, so it needs the generator.
    """
    wanted = filters or Filters()
    check_option("not judged", wanted.not_judged, NOT_JUDGED)
    if format is not None:
        check_option("format", format, FORMATS)
    merged = merge([_some(path, _read(path, format, wanted)) for path in paths])
    for system in wanted.exclude:
        merged = merged.without(system)
    if wanted.judges is not None:
        merged = _by_judge(merged, wanted.judges)
    if wanted.sample is not None:
        merged = sampled(merged, wanted.sample, rng if rng is not None else np.random.default_rng())
    return compared_only(merged)


def _some(path: PathLike, comparisons: Comparisons) -> Comparisons:
    if not len(comparisons):
        raise InputError(path, None, "expected two systems that were compared, found none: nothing is judged")
    return comparisons


def compared_only(comparisons: Comparisons) -> Comparisons:
    """Only the systems that are in a comparison."""
    used = np.unique(np.concatenate([comparisons.a, comparisons.b])).tolist()
    return comparisons if len(used) == len(comparisons.systems) else comparisons.among(used)


def sampled(comparisons: Comparisons, size: int, rng: np.random.Generator) -> Comparisons:
    """A sample of comparisons without replacement, in their order."""
    if size > len(comparisons):
        raise RyptError(f"expected a sample of at most {len(comparisons)} comparisons, found {size}")
    return comparisons.take(np.sort(rng.choice(len(comparisons), size, replace=False)))


def _by_judge(comparisons: Comparisons, pattern: str) -> Comparisons:
    kept = np.array([fnmatchcase(name, pattern) for name in comparisons.workers])
    if not kept[comparisons.worker].any():
        some = ", ".join(comparisons.workers[:5]) if any(comparisons.workers) else "none: the files name no judges"
        raise RyptError(f"no judge is called {pattern}; there are {some}")
    return comparisons.take(np.flatnonzero(kept[comparisons.worker]))


def _read(path: PathLike, format: str | None, filters: Filters) -> Comparisons:
    if format == "database" or (format is None and _is_database(path)):
        _refuse_languages(path, filters)
        return _read_database(path)
    lines = [line for line in read_lines(path) if line[1].strip()]
    if not lines:
        raise InputError(path, None, "expected comparisons, found an empty file")
    if broken := next((number for number, line in lines if "\r" in line), None):
        raise InputError(path, broken, "expected lines that end with a line feed, found a carriage return inside one")
    kind = format or _recognize(path, lines)
    if kind == "csv":
        return read_csv(path, lines, languages=filters.languages, not_judged=filters.not_judged)
    if kind == "xml":
        return read_xml(path, lines, languages=filters.languages, not_judged=filters.not_judged)
    _refuse_languages(path, filters)
    return READERS[kind](path, lines)


def _refuse_languages(path: PathLike, filters: Filters) -> None:
    if filters.languages is not None:
        raise InputError(path, None, f"expected languages to choose {filters.languages} from, found none in this file")


def _recognize(path: PathLike, lines: Lines) -> str:
    """The format of a file, by its first lines; the shape of a tournament may also be a list of judgments."""
    first = lines[0][1].strip()
    if "system1id" in first.lower():
        return "csv"
    if first.startswith("<"):
        return "xml"
    if first.startswith("{"):
        return "jsonl"
    fields = first.split()
    if len(fields) == 5 and all(field.isdecimal() for field in fields[2:]):
        return "counts"
    if len(fields) == 4 and fields[3] in OUTCOMES:
        return _tournament_or_judgments(path, [line.split() for _, line in lines])
    raise InputError(
        path, lines[0][0], "expected a WMT CSV, Appraise XML, counts (sys1 sys2 better equal worse), a tournament "
        f"(count sys1 sys2 >), judgments (segment sys1 sys2 >) or JSONL, found {first[:60]!r}",
    )  # fmt: skip


def _tournament_or_judgments(path: PathLike, rows: Sequence[Sequence[str]]) -> str:
    """A tournament has every pair and outcome once, no ties and a count in front."""
    keys = [tuple(row[1:]) for row in rows]
    if any(row[3:4] == ["="] or not row[0].isdecimal() for row in rows):
        return "judgments"
    if len(set(keys)) == len(keys):
        return "tournament"
    raise InputError(path, None, "counts or segments? say --format tournament or --format judgments")


def _read_judgments(path: PathLike, lines: Lines) -> Comparisons:
    records = []
    for number, line in lines:
        fields = line.split()
        if len(fields) != 4 or fields[3] not in OUTCOMES:
            raise InputError(path, number, f"expected segment, two systems and <, = or >, found {line.strip()[:60]!r}")
        segment, a, b, sign = fields
        if a == b:
            raise InputError(path, number, f"the system {a} is compared with itself")
        records.append((segment, a, b, OUTCOMES[sign], ""))
    return comparisons_of(records)


def _read_jsonl(path: PathLike, lines: Lines) -> Comparisons:
    return comparisons_of([_json_record(path, number, line) for number, line in lines])


def _json_record(path: PathLike, number: int, line: str) -> tuple[str, str, str, int, str]:
    try:
        record: Any = parse_json(line)
    except SyntaxFormatError as error:
        raise InputError(path, number, f"expected a JSON object: {error}") from None
    if not isinstance(record, dict):
        raise InputError(path, number, f"expected a JSON object, found {line[:60]!r}")
    a, b, choice = (record.get(name) for name in ("system_a", "system_b", "choice"))
    for name, value in (("system_a", a), ("system_b", b)):
        if not isinstance(value, str) or not value:
            raise InputError(path, number, f"expected {name} as a name, found {value!r}")
    if not isinstance(choice, str) or choice.upper() not in CHOICES:
        raise InputError(path, number, f"expected choice as A, B or EQUAL, found {choice!r}")
    if a == b:
        raise InputError(path, number, f"the system {a} is compared with itself")
    segment, worker = (_json_name(path, number, record, name) for name in ("segment", "worker"))
    return segment, str(a), str(b), CHOICES[choice.upper()], worker


def _json_name(path: PathLike, number: int, record: dict[str, Any], name: str) -> str:
    """A name, or a number that is one; empty where there is none or null."""
    value = record.get(name)
    if value is None:
        return ""
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise InputError(path, number, f"expected {name} as a name, found {value!r}")
    return str(value)


def _is_database(path: PathLike) -> bool:
    if str(path) == "-":
        return False
    if Path(path).is_dir():
        return True
    try:
        if not Path(path).is_file():  # to look into a pipe would take away what is read
            return False
        with open(path, "rb") as stream:
            return stream.read(len(SQLITE)) == SQLITE
    except OSError:
        return False  # whoever reads it says what is wrong


def _read_database(path: PathLike) -> Comparisons:
    """What counts in a campaign's database; comparisons of one assignment are one row."""
    from hits.results.answers import Results
    from rypt.campaign.folder import Campaign
    from rypt.database.judgments import JudgmentDatabase

    opened = Campaign.open(path).database() if Path(path).is_dir() else JudgmentDatabase(path, readonly=True)
    with opened as db:
        given = Results(db).comparisons()
    if not given:
        raise InputError(path, None, "expected comparisons, found none in this database")
    numbers: dict[str, int] = {}
    rows = [numbers.setdefault(c.assignment or f" {i}", len(numbers)) for i, c in enumerate(given)]
    made = comparisons_of((c.segment, c.system_a, c.system_b, CHOICES[c.choice], c.worker) for c in given)
    return replace(made, row=np.array(rows, np.int32))


READERS: Mapping[str, Callable[[PathLike, Lines], Comparisons]] = {
    "counts": read_counts,
    "tournament": read_tournament,
    "judgments": _read_judgments,
    "jsonl": _read_jsonl,
}  # formats without languages


def write_jsonl(comparisons: Comparisons) -> Iterable[str]:
    """The lines of a JSONL file that `read_comparisons` reads."""
    letters = {1: "A", 0: "EQUAL", -1: "B"}
    c = comparisons
    for a, b, outcome, segment, worker in zip(c.a, c.b, c.outcome, c.segment, c.worker, strict=True):
        record = {
            "segment": c.segments[segment], "system_a": c.systems[a], "system_b": c.systems[b],
            "choice": letters[int(outcome)], "worker": c.workers[worker],
        }  # fmt: skip
        yield json.dumps(record, ensure_ascii=False)
