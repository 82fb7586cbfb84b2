"""Comparisons and segment scores from files, whose format is detected from their content or given by name.

pairs       a table with a header: ``segment,system_a,system_b,winner,annotator`` and similar (`columns`)
scores      a table with a header: ``system,segment,document,score,rater`` and similar (`columns`)
appraise    Appraise's export of direct assessment or ESA, without a header (`scores`)
mqm         Google's TSV of MQM errors (`scores`)
pearmut     pearmut's annotations (`scores`)
csv         WMT's rankings: system1Id … system5Id and system1rank … system5rank, 2 systems or more in a row
xml         rankings exported by Appraise
counts      ``sys1 sys2 better equal worse``, each pair once or both ways
tournament  ``count sys1 sys2 >``: how often sys1 was better (``>``) or worse (``<``), each pair once or both ways
judgments   ``segment sys1 sys2 >`` with ``<``, ``=`` or ``>``: one judgment per line
jsonl       ``{"segment": …, "system_a": …, "system_b": …, "choice": "A", "worker": …}``, choice A, B or EQUAL; or the
            columns of a table as keys
database    the comparisons in a campaign's folder, or in its judgment database; without any, the folder's scores.jsonl
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from hits.ranking.data import Comparisons, compared_only, comparisons_of, merge
from hits.ranking.names import FORMATS, NOT_JUDGED
from hits.ranking.readers.appraise import appraise_columns, read_appraise
from hits.ranking.readers.columns import HOW, Part, guess, kind_of, read_records, read_table, table_kind
from hits.ranking.readers.counts import read_counts, read_tournament
from hits.ranking.readers.languages import pair_in_name, pair_key
from hits.ranking.readers.pearmut import pearmut_answers, read_pearmut
from hits.ranking.readers.rankings import read_csv, read_xml
from hits.ranking.readers.scores import (
    is_mqm,
    is_two_columns,
    is_wmt25,
    read_mqm_scores,
    read_two_columns,
    read_wmt25,
)
from hits.ranking.scores.data import SegmentScores, merge_scores
from rypt.options import check_option
from rypt.strict import SyntaxFormatError, parse_json
from rypt.text import InputError, PathLike, RyptError, read_lines

if TYPE_CHECKING:
    from rypt.database.judgments import JudgmentDatabase

Lines = Sequence[tuple[int, str]]
SQLITE = b"SQLite format 3\0"
SCORES = "scores.jsonl"  # of a campaign that was made from ratings (`rypt.ratings.rated_campaign`)
OUTCOMES = {">": 1, "=": 0, "<": -1}
CHOICES = {"A": 1, "EQUAL": 0, "B": -1}


@dataclass(frozen=True, slots=True)
class Filters:
    """Which comparisons or scores count."""

    languages: str | None = None  # source-target: Czech-English, ces-eng or cs-en
    judges: str | None = None  # a pattern such as researcher_*
    exclude: tuple[str, ...] = ()
    sample: int | None = None
    not_judged: str = "item"


@dataclass(frozen=True, slots=True)
class DataPart:
    """The data of one language pair, which is empty where nothing says what it is, and the files they are from."""

    languages: str
    data: Comparisons | SegmentScores
    paths: tuple[str, ...] = ()


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
    part = only_part(read_parts(paths, format=format, filters=filters, rng=rng))
    return part.data.comparisons() if isinstance(part.data, SegmentScores) else part.data


def only_part(parts: Sequence[DataPart]) -> DataPart:
    """The one part, for what cannot be done with several language pairs."""
    if len(parts) > 1:
        some = ", ".join(sorted(part.languages or "unknown" for part in parts)[:8])
        raise InputError(
            ", ".join(dict.fromkeys(path for part in parts for path in part.paths)),
            None,
            f"expected one pair of languages, found {some}: choose one with --languages, or --merge them",
        )
    return parts[0]


def read_parts(
    paths: Sequence[PathLike],
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    together: bool = False,
    better: str | None = None,
    filters: Filters | None = None,
    rng: np.random.Generator | None = None,
) -> list[DataPart]:
    """The data of each language pair in the files, filtered.

    A pair is that of the rows, else that in the file's name. Files of the same pair are joined, and so are those
    without one; ``together`` joins all. ``columns`` says which columns of a table are which, ``better`` whether higher
    or lower scores are better where the file does not say so.
    """
    wanted = filters or Filters()
    check_option("not judged", wanted.not_judged, NOT_JUDGED)
    if format is not None:
        check_option("format", format, FORMATS)
    groups: dict[str, list[tuple[str, str, Comparisons | SegmentScores]]] = {}
    for path in paths:
        for pair, data in _of_languages(path, _read(path, format, columns, wanted), wanted.languages):
            key = "" if together else pair_key(pair)
            groups.setdefault(key, []).append((pair, str(path), _some(path, data)))
    parts = []
    for items in groups.values():
        files = tuple(dict.fromkeys(path for _, path, _ in items))
        data = _filtered(_joined([data for _, _, data in items], files), wanted, rng, few=len(groups) == 1)
        if isinstance(data, SegmentScores) and better is not None:
            data = replace(data, higher=better == "higher")
        parts.append(DataPart("" if together and len(items) > 1 else items[0][0], data, files))
    for system in wanted.exclude:
        _check_excluded(system, [data for items in groups.values() for _, _, data in items])
    return parts


def _of_languages(
    path: PathLike, items: Sequence[tuple[str, Comparisons | SegmentScores]], languages: str | None
) -> list[tuple[str, Comparisons | SegmentScores]]:
    """What a file has of the wanted languages, with its pair."""
    named = [(pair or pair_in_name(path), data) for pair, data in items]
    if languages is None:
        return named
    if not any(pair for pair, _ in named):
        raise InputError(
            path, None, f"expected languages to choose {languages} from, found none in this file"
        )
    kept = [(pair, data) for pair, data in named if pair_key(pair) == pair_key(languages)]
    if not kept:
        some = ", ".join(sorted({pair for pair, _ in named})[:8])
        raise InputError(path, None, f"expected rows of {languages}, found {some}")
    return kept


def _joined(
    parts: Sequence[Comparisons | SegmentScores], files: Sequence[str]
) -> Comparisons | SegmentScores:
    scores = [part for part in parts if isinstance(part, SegmentScores)]
    comparisons = [part for part in parts if isinstance(part, Comparisons)]
    if scores and comparisons:
        raise InputError(
            ", ".join(files), None, "expected comparisons or scores, found both: rank them one by one"
        )
    return merge_scores(scores) if scores else merge(comparisons)


def _filtered(
    data: Comparisons | SegmentScores, wanted: Filters, rng: np.random.Generator | None, *, few: bool
) -> Comparisons | SegmentScores:
    for system in wanted.exclude:
        if few or system in data.systems:
            data = data.without(system)
    if wanted.judges is not None:
        names, numbers = (
            (data.raters, data.rater) if isinstance(data, SegmentScores) else (data.workers, data.worker)
        )
        data = data.take(_by_judge(names, numbers, wanted.judges))
    if wanted.sample is not None:
        data = sampled(data, wanted.sample, rng if rng is not None else np.random.default_rng())
    return data.rated_only() if isinstance(data, SegmentScores) else compared_only(data)


def _check_excluded(system: str, parts: Sequence[Comparisons | SegmentScores]) -> None:
    if not any(system in part.systems for part in parts):
        names = sorted({name for part in parts for name in part.systems})
        raise RyptError(f"expected one of the systems {', '.join(names)}, found {system!r}")


def _some(path: PathLike, data: Comparisons | SegmentScores) -> Comparisons | SegmentScores:
    if not len(data):
        raise InputError(path, None, "expected two systems that were compared, found none: nothing is judged")
    return data


S = TypeVar("S", bound=Comparisons | SegmentScores)


def sampled(data: S, size: int, rng: np.random.Generator) -> S:
    """A sample of comparisons or ratings without replacement, in their order."""
    if size > len(data):
        what = "ratings" if isinstance(data, SegmentScores) else "comparisons"
        raise RyptError(f"expected a sample of at most {len(data)} {what}, found {size}")
    return cast(S, data.take(np.sort(rng.choice(len(data), size, replace=False))))


def _by_judge(names: Sequence[str], numbers: NDArray[np.int32], pattern: str) -> NDArray[np.intp]:
    kept = np.array([fnmatchcase(name, pattern) for name in names])
    if not kept[numbers].any():
        some = ", ".join(names[:5]) if any(names) else "none: the files name no judges"
        raise RyptError(f"no judge is called {pattern}; there are {some}")
    return np.flatnonzero(kept[numbers])


def _read(
    path: PathLike, format: str | None, columns: Mapping[str, str] | None, filters: Filters
) -> list[Part]:
    if format == "database" or (format is None and _is_database(path)):
        compared = _read_database(path)
        if compared is not None:
            return [("", compared)]
        if (Path(path) / SCORES).is_file():
            return _read(Path(path) / SCORES, "jsonl", columns, filters)
        raise InputError(
            path,
            None,
            "expected comparisons, found none in this database (rypt hits make --kind comparison asks for them, "
            "rypt hits collect brings the answers in)",
        )
    lines = [line for line in read_lines(path) if line[1].strip()]
    if not lines:
        raise InputError(path, None, "expected comparisons or scores, found an empty file")
    if len(lines) == 1 and "\r" in lines[0][1]:
        lines = [(k, line) for k, line in enumerate(lines[0][1].split("\r"), start=1) if line.strip()]
    if broken := next((number for number, line in lines if "\r" in line), None):
        raise InputError(
            path, broken, "expected lines that end with a line feed, found a carriage return inside one"
        )
    kind = format or _recognize(path, lines, columns)
    if columns and kind not in ("pairs", "scores", "jsonl"):
        raise InputError(path, None, f"--columns is for tables with a header and for JSONL, found {kind}")
    if kind in ("pairs", "scores"):
        plain = kind == "scores" and not columns and is_two_columns(lines[0][1])
        return read_two_columns(path, lines) if plain else read_table(path, lines, columns)
    if kind in ("jsonl", "pearmut"):
        return _read_json(path, lines, columns, kind)
    if kind in RANKINGS:
        return list(RANKINGS[kind](path, lines, not_judged=filters.not_judged))
    return CAMPAIGNS[kind](path, lines) if kind in CAMPAIGNS else [("", READERS[kind](path, lines))]


def _recognize(path: PathLike, lines: Lines, columns: Mapping[str, str] | None) -> str:
    """The format of a file, by its first lines; the shape of a tournament may also be a list of judgments."""
    first = lines[0][1].strip()
    if "system1id" in first.lower() and not columns:
        return "csv"
    if first.startswith("<"):
        return "xml"
    if first.startswith(("{", "[")):
        return "jsonl"
    if is_mqm(lines[0][1]) and not columns:
        return "mqm"
    if appraise_columns(first) and not columns:
        return "appraise"
    table = table_kind(lines[0][1], columns)
    if table is not None:
        return table[0]
    if is_two_columns(lines[0][1]) and not columns:
        return "scores"
    fields = first.split()
    if len(fields) == 5 and all(field.isdecimal() for field in fields[2:]):
        return "counts"
    if len(fields) == 4 and fields[3] in OUTCOMES:
        return _tournament_or_judgments(path, [line.split() for _, line in lines])
    if columns or any(delimiter in first for delimiter in "\t,;"):
        return "pairs"  # whose reader says which columns it misses
    raise InputError(
        path,
        lines[0][0],
        "expected a WMT CSV, Appraise XML, counts (sys1 sys2 better equal worse), a tournament "
        "(count sys1 sys2 >), judgments (segment sys1 sys2 >), JSONL, MQM, or a table with a header, found "
        f"{first[:60]!r}. {HOW}",
    )


def _read_json(path: PathLike, lines: Lines, columns: Mapping[str, str] | None, kind: str) -> list[Part]:
    """One object a line, or one JSON document: a list of objects, or pearmut's annotations."""
    try:
        first: Any = parse_json(lines[0][1])
        by_line = isinstance(first, dict)
    except SyntaxFormatError:
        by_line = len(lines) > 1 and lines[0][1].rstrip().endswith("}")
    if not by_line:
        first = _json_value(path, lines[0][0], "\n".join(line for _, line in lines))
        values = [(lines[0][0], value) for value in (first if isinstance(first, list) else [first])]
    else:
        values = [(number, _json_value(path, number, line)) for number, line in lines]
    answers = [pearmut_answers(value) for _, value in values]
    if values and all(some is not None for some in answers):
        pairs = zip(values, answers, strict=True)
        return read_pearmut(path, [(number, *answer) for (number, _), some in pairs for answer in some or ()])
    if any(is_wmt25(value) for _, value in values[:1]):
        return read_wmt25(path, values)
    if kind == "pearmut" or not values:
        raise InputError(
            path, lines[0][0], "expected pearmut's annotations: objects with item and annotation"
        )
    keys = list(values[0][1]) if isinstance(values[0][1], dict) else []
    named = {"system_a", "system_b", "choice"} & set(keys)
    if by_line and not columns and (len(named) == 3 or (named and kind_of(guess(keys)) is None) or not keys):
        return [("", comparisons_of([_json_record(path, number, value) for number, value in values]))]
    return read_records(path, values, columns)


def _json_value(path: PathLike, number: int, text: str) -> Any:
    try:
        return parse_json(text)
    except SyntaxFormatError as error:
        raise InputError(path, number, f"expected a JSON object: {error}") from None


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
            raise InputError(
                path, number, f"expected segment, two systems and <, = or >, found {line.strip()[:60]!r}"
            )
        segment, a, b, sign = fields
        if a == b:
            raise InputError(path, number, f"the system {a} is compared with itself")
        records.append((segment, a, b, OUTCOMES[sign], ""))
    return comparisons_of(records)


def _json_record(path: PathLike, number: int, record: Any) -> tuple[str, str, str, int, str]:
    if not isinstance(record, dict):
        raise InputError(
            path, number, f"expected a JSON object, found {json.dumps(record, ensure_ascii=False)[:60]!r}"
        )
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
    if not Path(path).is_file():
        return False  # a pipe, whose first bytes can be read only once
    try:
        with open(path, "rb") as stream:
            return stream.read(len(SQLITE)) == SQLITE
    except OSError:
        return False  # whoever reads it says what is wrong


def _read_database(path: PathLike) -> Comparisons | None:
    """What counts in a campaign's database, None without comparisons; those of one assignment are one row."""
    from hits.results.answers import Results

    with _open_database(path) as db:
        given = Results(db).comparisons()
    if not given:
        return None
    numbers: dict[str, int] = {}
    rows = [numbers.setdefault(c.assignment or f" {i}", len(numbers)) for i, c in enumerate(given)]
    made = comparisons_of((c.segment, c.system_a, c.system_b, CHOICES[c.choice], c.worker) for c in given)
    return replace(made, row=np.array(rows, np.int32))


def _open_database(path: PathLike) -> "JudgmentDatabase":
    """The database of a campaign's folder, or that of a file."""
    from rypt.campaign.folder import Campaign
    from rypt.database.judgments import JudgmentDatabase

    return Campaign.open(path).database() if Path(path).is_dir() else JudgmentDatabase(path, readonly=True)


def excluded_workers(paths: Sequence[PathLike], first: str, second: str) -> list[str]:
    """The excluded workers who compared two systems, sorted; only databases know of them."""
    from hits.results.answers import Results

    workers: set[str] = set()
    for path in filter(_is_database, paths):
        with _open_database(path) as db:
            workers |= Results(db).workers_between(first, second) & db.excluded().keys()
    return sorted(workers)


READERS: Mapping[str, Callable[[PathLike, Lines], Comparisons]] = {
    "counts": read_counts,
    "tournament": read_tournament,
    "judgments": _read_judgments,
}  # formats without languages
RANKINGS = {"csv": read_csv, "xml": read_xml}  # rankings of several systems
CAMPAIGNS: Mapping[str, Callable[[PathLike, Lines], list[Part]]] = {
    "appraise": read_appraise,
    "mqm": read_mqm_scores,
}  # segment scores


def write_jsonl(comparisons: Comparisons) -> Iterable[str]:
    """The lines of a JSONL file that `read_comparisons` reads."""
    letters = {1: "A", 0: "EQUAL", -1: "B"}
    c = comparisons
    for a, b, outcome, segment, worker in zip(c.a, c.b, c.outcome, c.segment, c.worker, strict=True):
        record = {
            "segment": c.segments[segment],
            "system_a": c.systems[a],
            "system_b": c.systems[b],
            "choice": letters[int(outcome)],
            "worker": c.workers[worker],
        }
        yield json.dumps(record, ensure_ascii=False)
