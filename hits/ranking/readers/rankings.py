"""Rankings of several systems at once: WMT's CSV and Appraise's XML. A row of five becomes ten comparisons."""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from xml.etree import ElementTree
from xml.parsers import expat

import numpy as np
from numpy.typing import NDArray

from hits.ranking.data import Comparisons, Names, compared_only, merge
from rypt.text import InputError, PathLike

Lines = Sequence[tuple[int, str]]
RANKS = {str(rank): rank for rank in range(1, 6)} | {"-1": -1}
LANGUAGES = ("srclang", "trglang")
JUDGMENTS = ("ranking-result", "ranking-item")  # elements of Appraise's XML
MISCLOSED, CLOSED = (
    "</appraise-result>",
    "</appraise-results>",
)  # Appraise's template closes its root element wrongly


@dataclass(slots=True)
class Rankings:
    """Rankings as they are read, all of the same number of systems."""

    lines: list[int] = field(default_factory=list)
    systems: list[str] = field(default_factory=list)  # those of a ranking side by side
    ranks: list[str] = field(default_factory=list)
    segments: list[str] = field(default_factory=list)
    workers: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)  # rankings of one group are one row; empty: each its own


def read_csv(path: PathLike, lines: Lines, *, not_judged: str = "item") -> list[tuple[str, Comparisons]]:
    """WMT's ranking CSV, for each language pair; the header's case does not matter, nor does the order of columns.

    A rank of -1 means that the candidate was not judged: it takes itself away, or with ``not_judged="row"`` its whole
    ranking. ``rankingID``, where it is there, says which rows were one ranking.
    """
    header = [name.strip().lower() for name in next(csv.reader([lines[0][1]]))]
    place = {name: i for i, name in enumerate(header)}
    size = sum(bool(re.fullmatch(r"system\d+id", name)) for name in header)
    names = [f"system{k}{what}" for what in ("id", "rank") for k in range(1, size + 1)]
    missing = [name for name in (*names, "judgeid") if name not in place]
    if size < 2:
        raise InputError(path, lines[0][0], "expected columns system1Id, system2Id, … in the header")
    if missing:
        raise InputError(path, lines[0][0], f"expected a column {missing[0]} in the header")
    segment = next((place[name] for name in ("segmentid", "srcindex") if name in place), None)
    if segment is None:
        raise InputError(path, lines[0][0], "expected a column segmentId or srcIndex in the header")
    ids, ranks = (
        itemgetter(*(place[name] for name in names[:size])),
        itemgetter(*(place[n] for n in names[size:])),
    )
    worker, group = place["judgeid"], place.get("rankingid")
    rows = Rankings()
    for number, fields in _rows(path, lines, len(header)):
        rows.lines.append(number)
        rows.systems.extend(ids(fields))
        rows.ranks.extend(ranks(fields))
        rows.segments.append(fields[segment])
        rows.workers.append(fields[worker])
        if group is not None:
            rows.groups.append(fields[group])
    if not all(name in place for name in LANGUAGES):
        return [("", _comparisons(path, rows, size, not_judged))]
    pick = itemgetter(*(place[name] for name in LANGUAGES))
    pairs = np.array(["-".join(pick(fields)) for _, fields in _rows(path, lines, len(header))])
    spelled = list(dict.fromkeys(pairs.tolist())) or [""]
    if len(spelled) == 1:
        return [(spelled[0], _comparisons(path, rows, size, not_judged))]
    return [
        (pair, compared_only(_comparisons(path, rows, size, not_judged, pairs == pair))) for pair in spelled
    ]


def _rows(path: PathLike, lines: Lines, size: int) -> Iterator[tuple[int, list[str]]]:
    numbers = [number for number, _ in lines]
    reader = csv.reader((line for _, line in lines), strict=True)
    try:
        next(reader)
        for fields in reader:
            if len(fields) != size:
                number = numbers[min(reader.line_num, len(numbers)) - 1]
                raise InputError(
                    path, number, f"expected {size} fields as in the header, found {len(fields)}"
                )
            yield numbers[reader.line_num - 1], fields
    except csv.Error as error:
        raise InputError(
            path, numbers[min(reader.line_num, len(numbers)) - 1], f"expected CSV: {error}"
        ) from None


def _comparisons(
    path: PathLike, rankings: Rankings, size: int, not_judged: str, kept: NDArray[np.bool_] | None = None
) -> Comparisons:
    """All pairs inside the rankings, in their order."""
    if not rankings.lines:
        raise InputError(path, None, "expected rankings, found only a header")
    codes = np.array([RANKS.get(text.strip(), 0) for text in rankings.ranks], np.int32).reshape(-1, size)
    names, place = _numbered(rankings.systems)
    systems = place.reshape(-1, size)
    lines = np.array(rankings.lines)
    _check(path, codes, systems, rankings, names, size)
    if not_judged == "row":
        codes = np.where((codes == -1).any(axis=1, keepdims=True), -1, codes)
    usable = np.ones(len(lines), np.bool_) if kept is None else kept
    first, second = np.triu_indices(size, 1)
    a, b = systems[:, first], systems[:, second]
    judged = (codes[:, first] > 0) & (codes[:, second] > 0) & usable[:, None]
    outcome = np.sign(codes[:, second] - codes[:, first]).astype(np.int8)
    segments, segment = _numbered(rankings.segments)
    workers, worker = _numbered(rankings.workers)
    group = _numbered(rankings.groups)[1] if rankings.groups else np.arange(len(lines), dtype=np.int32)
    times = judged.sum(axis=1)
    order = np.argsort(names)
    renumber = np.empty(len(names), np.int32)
    renumber[order] = np.arange(len(names), dtype=np.int32)
    return Comparisons(
        tuple(names[i] for i in order),
        renumber[a[judged]],
        renumber[b[judged]],
        outcome[judged],
        np.repeat(group, times),
        np.repeat(segment, times),
        np.repeat(worker, times),
        segments,
        workers,
    )


def _numbered(texts: Sequence[str]) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """The distinct texts in the order in which they appear, and the number of each text."""
    names = Names()
    numbers = np.array([names.number(text) for text in texts], np.int32)
    return names.names(), numbers


def _check(
    path: PathLike,
    codes: NDArray[np.int32],
    systems: NDArray[np.int32],
    rankings: Rankings,
    names: Sequence[str],
    size: int,
) -> None:
    """Refuse ranks outside 1 to 5, systems without a name, and systems that are in a ranking twice."""
    bad = np.argwhere(codes == 0)
    if len(bad):
        row, column = bad[0].tolist()
        text = rankings.ranks[row * size + column]
        raise InputError(
            path, rankings.lines[row], f"expected a rank 1 to 5, or -1 for not judged, found {text!r}"
        )
    judged = np.where(
        codes > 0, systems, -1 - np.arange(size, dtype=np.int32)
    )  # a slot left empty may have any name
    if "" in names and (judged == names.index("")).any():
        row = int(np.argwhere(judged == names.index(""))[0][0])
        raise InputError(path, rankings.lines[row], "expected the name of a system, found nothing")
    ordered = np.sort(judged, axis=1)
    twice = np.argwhere(ordered[:, 1:] == ordered[:, :-1])
    if len(twice):
        row, column = twice[0].tolist()
        name = names[ordered[row, column]]
        raise InputError(path, rankings.lines[row], f"the system {name} is compared with itself")


def read_xml(path: PathLike, lines: Lines, *, not_judged: str = "item") -> list[tuple[str, Comparisons]]:
    """Rankings exported by Appraise, for each language pair.

    They are elements ``translation`` with ``system`` and ``rank`` inside a judgment. A judgment is a ``ranking-result``
    inside a ``ranking-task`` (WMT13 to WMT15) or a ``ranking-item`` that holds its translations itself.
    ``system="a,b"`` means that both made this very candidate: they share its rank. Judgments that were skipped hold no
    translations. A segment is named by its hit and its number there, since a hit numbers its own.
    """
    judgments = _Judgments(path)
    parser = ElementTree.XMLParser(target=judgments)
    try:
        for number, line in lines:
            judgments.line = number
            parser.feed(line.replace(MISCLOSED, CLOSED) + "\n")
        parser.close()
    except ElementTree.ParseError as error:
        what = expat.errors.messages.get(error.code, "not well-formed")
        raise InputError(path, _xml_line(lines, error), f"expected XML: {what}") from None
    if not judgments.pairs:
        raise InputError(path, None, "expected rankings, found none")
    return [
        (
            pair.strip("-"),
            merge([_comparisons(path, rows, size, not_judged) for size, rows in sorted(by_size.items())]),
        )
        for pair, by_size in judgments.pairs.items()
    ]


def _xml_line(lines: Lines, error: ElementTree.ParseError) -> int:
    at = error.position[0] - 1
    return lines[min(at, len(lines) - 1)][0]


class _Judgments:
    """Gathers judgments while XML is parsed: the elements around the current one, and the translations in it."""

    def __init__(self, path: PathLike) -> None:
        self.path, self.line = path, 0
        self.pairs: dict[
            str, dict[int, Rankings]
        ] = {}  # by language pair, then by the number of systems in a ranking
        self._around: list[tuple[str, dict[str, str]]] = []
        self._translations: list[tuple[str, str]] = []

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """An element begins."""
        self._around.append((tag, attributes))
        if tag == "translation" and any(tag in JUDGMENTS for tag, _ in self._around):
            if "system" not in attributes or "rank" not in attributes:
                raise InputError(self.path, self.line, "expected a translation with system and rank")
            names = attributes["system"].split(",")
            self._translations += [(name.strip(), attributes["rank"]) for name in names]

    def end(self, tag: str) -> None:
        """An element ends."""
        if tag in JUDGMENTS and len(self._translations) > 1:
            self._add()
        if tag in JUDGMENTS:
            self._translations = []
        self._around.pop()

    def _add(self) -> None:
        pair = "-".join(self._attribute(name) for name in ("source-language", "target-language"))
        rankings = self.pairs.setdefault(pair, {}).setdefault(len(self._translations), Rankings())
        rankings.lines.append(self.line)
        rankings.systems += [name for name, _ in self._translations]
        rankings.ranks += [rank for _, rank in self._translations]
        rankings.segments.append("/".join(filter(None, (self._attribute("hit-id"), self._attribute("id")))))
        rankings.workers.append(self._attribute("user"))

    def _attribute(self, name: str) -> str:
        """Of the innermost element that has it."""
        return next((attributes[name] for _, attributes in reversed(self._around) if name in attributes), "")
