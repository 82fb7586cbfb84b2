"""Comparisons and segment scores from files, whose format is recognised from their content; and what of them to take.

WMT's rankings  CSV: system1Id … system5Id and system1rank … system5rank, 2 systems or more in a row (`rankings`)
pearmut         annotations as JSON (`campaigns`)
WMT25           human evaluation as JSONL (`campaigns`)
MQM             Google's TSV with a line for each error (`campaigns`)
Appraise        export of direct assessment or ESA (`campaigns`)
table           with a header, or JSON objects: ``segment,system_a,system_b,winner,annotator`` or
                ``system,segment,document,score,rater`` and similar (`tables`)
two columns     system and score, without a header (`tables`)
counts          ``sys1 sys2 better equal worse``, each pair once or both ways (`rankings`)
campaign        the comparisons in a campaign's folder, or in its judgment database; without any, the folder's scores.jsonl
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hits.ranking.data import Comparisons, compared_only, comparisons_of, merge
from hits.ranking.readers.campaigns import (
    is_appraise,
    is_mqm,
    is_pearmut,
    is_wmt25,
    read_appraise,
    read_mqm_scores,
    read_pearmut,
    read_wmt25,
)
from hits.ranking.readers.languages import pair_in_name, pair_key
from hits.ranking.readers.rankings import is_counts, is_wmt_rankings, read_counts, read_wmt_rankings
from hits.ranking.readers.tables import HOW, is_table, is_two_columns, read_table, read_two_columns
from hits.ranking.readers.text_file import Part, TextFile, open_text
from hits.ranking.scores.data import SegmentScores, merge_scores
from rypt.text import InputError, PathLike, RyptError

if TYPE_CHECKING:
    from rypt.database.judgments import JudgmentDatabase

ALL = "all"  # language pairs: their data are joined
SQLITE = b"SQLite format 3\0"
SCORES = "scores.jsonl"  # of a campaign that was made from ratings (`rypt.ratings.rated_campaign`)
CHOICES = {"A": 1, "EQUAL": 0, "B": -1}


class Format(NamedTuple):
    """A format of files: whether a file has it, and the data of each language pair in such a file."""

    name: str
    recognises: Callable[[TextFile], bool]
    read: Callable[[TextFile], list[Part]]


TABLE = Format("a table with a header", is_table, read_table)
FORMATS = (
    Format("WMT's rankings", is_wmt_rankings, read_wmt_rankings),
    Format("pearmut's annotations", is_pearmut, read_pearmut),
    Format("WMT25's scores", is_wmt25, read_wmt25),
    Format("MQM", is_mqm, read_mqm_scores),
    Format("Appraise's export", is_appraise, read_appraise),
    TABLE,
    Format("two columns (system score)", is_two_columns, read_two_columns),
    Format("counts (sys1 sys2 better equal worse)", is_counts, read_counts),
)


@dataclass(frozen=True, slots=True)
class DataPart:
    """The data of one language pair, which is empty where nothing says what it is, and the files they are from."""

    languages: str
    data: Comparisons | SegmentScores
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ComparisonFiles:
    """Files, campaigns or databases with comparisons or segment scores, and what of them to take.

    ``columns`` says which columns of a table are which (`text_file.ALIASES`). ``languages`` is the pair to take, such
    as Czech-English, ces-eng or cs-en; ``all`` joins the data of all pairs. ``judges`` is a pattern of names such as
    researcher_*, ``exclude`` systems to leave out. ``better`` says whether higher or lower scores are better where a
    file does not; ``standardize`` makes z-scores of them, by rater; where they become comparisons, a difference of at
    most ``tie`` is a tie.
    """

    paths: tuple[PathLike, ...]
    columns: Mapping[str, str] = field(default_factory=dict)
    languages: str | None = None
    judges: str | None = None
    exclude: tuple[str, ...] = ()
    better: str | None = None
    standardize: bool = False
    tie: float = 0.0
    seed: int = 1

    def parts(self) -> list[DataPart]:
        """The data of each language pair; a pair is that of the rows, else that in the file's name."""
        groups: dict[str, list[tuple[str, str, Comparisons | SegmentScores]]] = {}
        for path in self.paths:
            for pair, data in self._of_languages(path, read_file(path, self.columns)):
                if not len(data):
                    problem = "expected two systems that were compared, found none: nothing is judged"
                    raise InputError(path, None, problem)
                key = "" if self.languages == ALL else pair_key(pair)
                groups.setdefault(key, []).append((pair, str(path), data))
        systems = {name for items in groups.values() for _, _, data in items for name in data.systems}
        for system in self.exclude:
            if system not in systems:
                raise RyptError(f"expected one of the systems {', '.join(sorted(systems))}, found {system!r}")
        parts = []
        for items in groups.values():
            files = tuple(dict.fromkeys(path for _, path, _ in items))
            pairs = {pair for pair, _, _ in items} if self.languages == ALL else {items[0][0]}
            data = self._filtered(_joined([data for _, _, data in items], files), files)
            parts.append(DataPart(pairs.pop() if len(pairs) == 1 else "", data, files))
        return parts

    def part(self) -> DataPart:
        """The one part, for what cannot be done with several language pairs."""
        parts = self.parts()
        if len(parts) > 1:
            some = ", ".join(sorted(part.languages or "unknown" for part in parts)[:8])
            files = ", ".join(dict.fromkeys(path for part in parts for path in part.paths))
            choice = "choose one with --languages, or join them with --languages all"
            raise InputError(files, None, f"expected one pair of languages, found {some}: {choice}")
        return parts[0]

    def comparisons(self, part: DataPart) -> Comparisons:
        """The comparisons of a part, made of its scores where it has scores."""
        return part.data.comparisons(self.tie) if isinstance(part.data, SegmentScores) else part.data

    def read(self) -> Comparisons:
        """The comparisons, all of one language pair."""
        return self.comparisons(self.part())

    def rng(self) -> np.random.Generator:
        """The random numbers of whatever is done with the comparisons."""
        return np.random.default_rng([self.seed, 1])

    def _of_languages(self, path: PathLike, parts: Sequence[Part]) -> list[Part]:
        """The wanted language pairs of a file."""
        named = [(pair or pair_in_name(path), data) for pair, data in parts]
        if self.languages in (None, ALL):
            return named
        kept = [(pair, data) for pair, data in named if pair_key(pair) == pair_key(self.languages or "")]
        if not kept:
            some = ", ".join(sorted({pair for pair, _ in named if pair})[:8]) or "no languages in this file"
            raise InputError(path, None, f"expected rows of {self.languages}, found {some}")
        return kept

    def _filtered(
        self, data: Comparisons | SegmentScores, files: Sequence[str]
    ) -> Comparisons | SegmentScores:
        for system in self.exclude:
            if system in data.systems:
                data = data.without(system)
        if isinstance(data, Comparisons):
            if self.standardize:
                problem = "expected segment scores to standardise, found comparisons"
                raise RyptError(f"{', '.join(files)}: {problem}")
            return compared_only(data.take(self._of_judges(data.workers, data.worker)))
        scores = data.take(self._of_judges(data.raters, data.rater)).rated_only()
        if self.better is not None:
            scores = replace(scores, higher=self.better == "higher")
        return scores.standardize() if self.standardize else scores

    def _of_judges(self, names: Sequence[str], numbers: NDArray[np.int32]) -> NDArray[np.intp]:
        if self.judges is None:
            return np.arange(len(numbers))
        wanted = np.array([fnmatchcase(name, self.judges) for name in names])
        if not wanted[numbers].any():
            some = ", ".join(names[:5]) if any(names) else "none: the files name no judges"
            raise RyptError(f"expected judges called {self.judges}, found {some}")
        return np.flatnonzero(wanted[numbers])


def _joined(
    parts: Sequence[Comparisons | SegmentScores], files: Sequence[str]
) -> Comparisons | SegmentScores:
    scores = [part for part in parts if isinstance(part, SegmentScores)]
    comparisons = [part for part in parts if isinstance(part, Comparisons)]
    if scores and comparisons:
        problem = "expected comparisons or scores, found both: rank them one by one"
        raise InputError(", ".join(files), None, problem)
    return merge_scores(scores) if scores else merge(comparisons)


def read_file(path: PathLike, columns: Mapping[str, str]) -> list[Part]:
    """All data in a file, those of each language pair for themselves."""
    if _is_database(path):
        compared = _read_database(path)
        if compared is not None:
            return [("", compared)]
        if not (Path(path) / SCORES).is_file():
            asks = "rypt hits make --kind comparison asks for them, rypt hits collect brings the answers in"
            raise InputError(path, None, f"expected comparisons, found none in this database ({asks})")
        path = Path(path) / SCORES
    file = open_text(path, columns)
    formats = (TABLE,) if columns else FORMATS
    format = next((format for format in formats if format.recognises(file)), None)
    if format is not None:
        return format.read(file)
    if columns or file.is_json or any(mark in file.first for mark in "\t,;"):
        return read_table(file)  # which says which columns it misses
    known = ", ".join(format.name for format in FORMATS)
    raise file.error(f"expected {known}, found {file.first.strip()[:60]!r}. {HOW}", file.lines[0][0])


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
        return False  # reading it as text says what is wrong


def _read_database(path: PathLike) -> Comparisons | None:
    """What counts in a campaign's database, None without comparisons; those of one assignment are one row."""
    from hits.results.answers import Results

    with _open_database(path) as db:
        counted = Results(db).comparisons()
    if not counted:
        return None
    records = [(c.segment, c.system_a, c.system_b, CHOICES[c.choice], c.worker) for c in counted]
    return comparisons_of(records, rows=[c.assignment or f" {i}" for i, c in enumerate(counted)])


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
