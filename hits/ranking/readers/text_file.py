"""A text file to be read: its lines, and its header or its JSON, parsed once for all formats that look at them."""

import csv
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from hits.ranking.data import Comparisons
from hits.ranking.scores.data import SegmentScores
from rypt.strict import SyntaxFormatError, parse_json
from rypt.text import InputError, PathLike, RyptError, read_lines

Part = tuple[str, Comparisons | SegmentScores]  # language pair, empty where it is unknown
DELIMITERS = "\t,;| "  # WMT's files of direct assessment have spaces
ALIASES = {
    "a": "systema system1 sysa sys1 modela model1 mta mt1 a left first firstsystem systemleft outputa candidatea",
    "b": "systemb system2 sysb sys2 modelb model2 mtb mt2 b right second secondsystem systemright outputb candidateb",
    "winner": "winner choice preference preferred preferredsystem better bettersystem outcome result verdict judgment "
    "judgement answer vote label decision winnersystem",
    "system": "system systemid sysid sys systemname mtsystem model engine modelid mt",
    "score": "score overall rating da esa mqm scr rawscr esascore mqmscore dascore rawscore humanscore human segscore "
    "value directassessment sqm xsts penalty mqmavgscore psqmavgscore avgscore",
    "segment": "segment segmentid segid seg globalsegid globalsegmentid item itemid lineid line srcindex sentence "
    "sentenceid sourceid sid srcid id index i example exampleid question questionid promptid",
    "document": "document documentid docid doc documentname docname",
    "domain": "domain domainname domainid genre",
    "rater": "rater raterid annotator annotatorid worker workerid judge judgeid user userid username evaluator "
    "evaluatorid assessor participant",
    "source": "sourcelanguage sourcelang srclang srclanguage langsrc sl inputsrc",
    "target": "targetlanguage targetlang trglang tgtlang tgtlanguage trglanguage langtgt tl inputtrg",
    "languages": "languages languagepair langpair langs lp pair",
    "type": "itemtype segmenttype type",
    "row": "rankingid ranking row rowid group",
    "direction": "direction higherisbetter scoredirection",
    "score_a": "scorea score1 ratinga rating1 systemascore system1score modelascore model1score ascore ranka",
    "score_b": "scoreb score2 ratingb rating2 systembscore system2score modelbscore model2score bscore rankb",
    "winner_a": "winnermodela winnersystema winnera awins",
    "winner_b": "winnermodelb winnersystemb winnerb bwins",
    "tie": "winnertie tie ties tied",
    "whole": "isdocscore isdocument isdocumentscore unk",
    "spans": "errorspans mqm spans",
    "end": "timeend endtime",
}  # of the columns of a table: role, and the names that it has in files, as `plain` spells them
_DECIMAL_COMMA = re.compile(r"^(-?\d+),(\d+)$")  # as spreadsheets of many countries write numbers


def plain(name: str) -> str:
    """A name without case, spaces and punctuation."""
    return re.sub(r"[^a-z0-9<>=]", "", name.lower())


def read_columns(text: str) -> dict[str, str]:
    """What ``--columns a=first,b=second`` says: the column of each role.

    >>> read_columns("a=sys left,winner=Best")
    {'a': 'sys left', 'winner': 'Best'}
    """
    columns = {}
    for part in filter(None, text.split(",")):
        role, equals, name = part.partition("=")
        if not equals or not name or role.strip() not in ALIASES:
            expected = f"expected ROLE=COLUMN, where the role is one of {', '.join(ALIASES)}"
            raise RyptError(f"--columns {part}: {expected}")
        columns[role.strip()] = name.strip()
    return columns


def find_roles(names: Sequence[str], columns: Mapping[str, str]) -> dict[str, str]:
    """The column of each role: the one that the user named, else the one whose name comes first in `ALIASES`.

    >>> find_roles(["Seg", "Segment ID", "System A"], {"b": "Seg"})
    {'b': 'Seg', 'a': 'System A', 'segment': 'Segment ID'}
    """
    roles: dict[str, str] = {}
    for role, name in columns.items():
        if name not in names:
            raise RyptError(f"--columns {role}={name}: expected one of the columns {', '.join(names)}")
        roles[role] = name
    by_alias = {plain(name): name for name in reversed(names) if name not in roles.values()}
    for role, aliases in ALIASES.items():
        fitting = [by_alias[alias] for alias in aliases.split() if alias in by_alias]
        if role not in roles and fitting and fitting[0] not in roles.values():
            roles[role] = fitting[0]
    return roles


@dataclass(frozen=True)
class TextFile:
    """The lines of a file that are not empty, with their numbers; ``columns`` are those that the user named."""

    path: PathLike
    lines: Sequence[tuple[int, str]]
    columns: Mapping[str, str] = field(default_factory=dict)

    @property
    def first(self) -> str:
        """The first line."""
        return self.lines[0][1]

    def error(self, problem: str, line: int | None = None) -> InputError:
        return InputError(self.path, line, problem)

    @cached_property
    def delimiter(self) -> str:
        return next((mark for mark in DELIMITERS if mark in self.first), ",")

    @cached_property
    def header(self) -> list[str]:
        """The fields of the first line."""
        try:
            return [name.strip() for name in next(csv.reader([self.first], delimiter=self.delimiter))]
        except csv.Error:
            return []

    @cached_property
    def roles(self) -> dict[str, str]:
        """The column of each role, by the header or by the keys of JSON objects."""
        try:
            return find_roles(self.keys if self.is_json else self.header, self.columns)
        except RyptError as error:
            raise self.error(str(error), self.lines[0][0]) from None

    def rows(self, names: Sequence[str] | None = None) -> Iterator[tuple[int, dict[str, str]]]:
        """The rows below the header, by column; with ``names`` for the columns, all rows of a file without header."""
        for number, fields in self.fields(skip=0 if names else 1):
            columns = names or self.header
            if len(fields) != len(columns):
                expected = f"{len(columns)} fields as in the {'first line' if names else 'header'}"
                raise self.error(f"expected {expected}, found {len(fields)}", number)
            # of columns with the same name the first counts
            yield number, dict(zip(reversed(columns), reversed(fields), strict=True))

    def fields(self, skip: int = 0) -> Iterator[tuple[int, list[str]]]:
        """The fields of each line but the first few, without spaces around them."""
        reader = csv.reader((line for _, line in self.lines), delimiter=self.delimiter, strict=True)
        try:
            for k, fields in enumerate(reader):
                if k >= skip:
                    yield self._line(reader.line_num), [text.strip() for text in fields]
        except csv.Error as error:
            raise self.error(f"expected CSV: {error}", self._line(reader.line_num)) from None

    def _line(self, count: int) -> int:
        """The number in the file of the last of the first ``count`` lines."""
        return self.lines[min(count, len(self.lines)) - 1][0]

    @property
    def is_json(self) -> bool:
        return self.first.lstrip().startswith(("{", "["))

    @cached_property
    def values(self) -> list[tuple[int, Any]]:
        """The values of a JSON file, one in each line, or all in one list that may take several lines."""
        number, first = self.lines[0]
        try:
            one_a_line = isinstance(parse_json(first), dict)
        except SyntaxFormatError:
            one_a_line = len(self.lines) > 1 and first.rstrip().endswith("}")
        if one_a_line:
            return [(number, self._parse(number, line)) for number, line in self.lines]
        value = self._parse(number, "\n".join(line for _, line in self.lines))
        return [(number, item) for item in (value if isinstance(value, list) else [value])]

    def _parse(self, number: int, text: str) -> Any:
        try:
            return parse_json(text)
        except SyntaxFormatError as error:
            raise self.error(f"expected a JSON object: {error}", number) from None

    @cached_property
    def keys(self) -> list[str]:
        """The keys of JSON objects."""
        objects = (value for _, value in self.values[:1000] if isinstance(value, dict))
        return list(dict.fromkeys(key for value in objects for key in value))

    def records(self) -> Iterator[tuple[int, dict[str, str]]]:
        """The values of each row, or of each JSON object, by role."""
        roles = self.roles
        if not self.is_json:
            for number, row in self.rows():
                yield number, {role: row[name] for role, name in roles.items()}
            return
        for number, value in self.values:
            if not isinstance(value, dict):
                raise self.error(f"expected a JSON object, found {json.dumps(value)[:60]}", number)
            yield number, {role: self._text(number, key, value.get(key)) for role, key in roles.items()}

    def _text(self, number: int, key: str, value: Any) -> str:
        """A value as a table would have it."""
        if value is None:
            return ""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self.error(f"expected {key} as a name or a number, found {json.dumps(value)[:40]}", number)
        return str(value).strip()

    def number(self, line: int | None, text: object, what: str = "a number as score") -> float:
        """A finite number in a line."""
        value = as_number(text)
        if value is None:
            raise self.error(f"expected {what}, found {text!r}", line)
        return value


def as_number(text: object) -> float | None:
    """A finite number, None for anything else.

    >>> [as_number(text) for text in ("-1.5", "4,5", "None", "inf")]
    [-1.5, 4.5, None, None]
    """
    try:
        value = float(_DECIMAL_COMMA.sub(r"\1.\2", text) if isinstance(text, str) else text)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) and not isinstance(text, bool) else None


def open_text(path: PathLike, columns: Mapping[str, str]) -> TextFile:
    """Read a file whose lines end with LF, CR LF or CR."""
    lines = [line for line in read_lines(path) if line[1].strip()]
    if not lines:
        raise InputError(path, None, "expected comparisons or scores, found an empty file")
    if len(lines) == 1 and "\r" in lines[0][1]:
        lines = [(k, line) for k, line in enumerate(lines[0][1].split("\r"), start=1) if line.strip()]
    if broken := next((number for number, line in lines if "\r" in line), None):
        problem = "expected lines that end with a line feed, found a carriage return inside one"
        raise InputError(path, broken, problem)
    return TextFile(path, lines, columns)
