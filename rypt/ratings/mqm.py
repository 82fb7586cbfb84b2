"""MQM ratings as Google publishes them: a TSV line for each error, which ``<v>…</v>`` marks in target or source.

The columns of all years are known, by their names in the first line, else by their order: system, doc, doc_id (or
docSegId), seg_id (or globalSegId), rater, source, target, category, severity, and a comment or JSON metadata. A rating
is made of all lines of one rater about one output; its score is the sum of their penalties
(`rypt.ratings.error_spans.weight`), 0 is best. Of side-by-side campaigns (WMT23), whose systems are named after the
pairing they were shown in (``A_with_B``), the ratings are those of the system before ``_with_``.

The files are full of slips. Marks are mended, and where raters or lines have different texts of one output or one
segment, marks are moved to the commonest (`rypt.ratings.variants`). Each repair is counted.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from rypt.ratings.error_spans import ErrorSpan, Rating, is_no_fault, letters, weight
from rypt.ratings.repairs import Repairs
from rypt.ratings.variants import ALIKE, Variant, Votes
from rypt.text import InputError, NumberedLines, PathLike, read_lines

ORDER = (
    "system",
    "doc",
    "docsegid",
    "globalsegid",
    "rater",
    "source",
    "target",
    "category",
    "severity",
    "metadata",
)
ALIASES = {
    "docid": "docsegid",
    "segid": "globalsegid",
    "document": "doc",
    "comment": "metadata",
    "note": "metadata",
}
NEEDED = ("system", "rater", "source", "target", "category", "severity")
SIDES = ("source", "target")
PAIRED = "_with_"  # between the system that was rated and the one that was shown beside it
DONE = {
    "mark-not-closed": "closed at the end of the text, or at the last </v>",
    "mark-not-opened": "left out",
    "mark-nested": "made a part of the mark around it",
}
_MARK = re.compile(r"</?v>")
_QUOTES = re.compile('"+')
Row = dict[str, str]
SegmentKey = tuple[str, ...]


class _Line(NamedTuple):
    """A line about an output, with its texts freed from marks."""

    number: int
    row: Row
    pairing: str
    segment: SegmentKey
    source: str
    target: str


def read_mqm(
    path: PathLike, lines: NumberedLines | None = None, repairs: Repairs | None = None
) -> list[Rating]:
    """Read all ratings in the order in which they begin; lines without a rater carry no judgment and are left out.

    ``lines`` replaces reading ``path``, for a caller who shows progress. ``repairs`` takes what had to be mended.
    """
    repairs = repairs or Repairs(path)
    rows = list(_rows(path, read_lines(path) if lines is None else lines, repairs))
    _unquote(rows)
    systems = _systems({row["system"]: number for number, row in reversed(rows)}, repairs)
    rated: list[_Line] = []
    for number, row in rows:
        if row["rater"].strip():
            pairing = row["system"]
            row["system"] = systems[pairing]
            source, target = (_MARK.sub("", row[side]) if "v>" in row[side] else row[side] for side in SIDES)
            rated.append(_Line(number, row, pairing, _segment_key(row, source), source, target))
    texts = _CommonTexts(rated)
    ratings = [_rating(group, texts, repairs) for group in _groups(rated, texts, repairs)]
    repairs.require(len(ratings))
    return ratings


def _rows(path: PathLike, lines: NumberedLines, repairs: Repairs) -> Iterator[tuple[int, Row]]:
    header: Sequence[str] | None = None
    for number, line in lines:
        if not line.strip():
            continue
        values = line.split("\t")
        if header is None:
            names = [_column(value) for value in values]
            header = names if {"system", "rater"} <= set(names) else ORDER
            missing = [name for name in NEEDED if name not in header]
            if missing:
                raise InputError(
                    path, number, f"expected columns {', '.join(NEEDED)}; missing {', '.join(missing)}"
                )
            least = max(map(header.index, NEEDED)) + 1
            if header is names:
                continue
        if len(values) < least:
            problem = f"expected {len(header)} fields between tabs, found {len(values)}"
            repairs.add(number, "line-refused", problem)
            continue
        yield number, dict(zip(header, values, strict=False))


def _column(name: str) -> str:
    plain = re.sub(r"[^a-z]", "", name.lower())
    return ALIASES.get(plain, plain)


def _unquote(rows: Sequence[tuple[int, Row]]) -> None:
    """Undo the quotation marks of CSV, column by column: doubled ones, with or without a pair around the field.

    A column is quoted when most of its fields with quotation marks are; of those, only the ones that are change.
    """
    for side in (*SIDES, "metadata"):
        quoted = [row for _, row in rows if '"' in row.get(side, "")]
        plain = {row[side]: _unquoted(row[side]) for row in quoted}
        if 2 * sum(plain[row[side]] is not None for row in quoted) <= len(quoted):
            continue
        for row in quoted:
            row[side] = plain[row[side]] or row[side]


def _unquoted(text: str) -> str | None:
    """A field without the quotation marks of CSV, None when it has none.

    >>> [_unquoted(text) for text in ('"He said ""no""."', 'He said ""no"".', '"No."')]
    ['He said "no".', 'He said "no".', None]
    """
    inner = text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else ""
    for field in (inner, text):
        runs = _QUOTES.findall(field)
        if runs and all(len(run) % 2 == 0 for run in runs):
            return field.replace('""', '"')
    return None


def _systems(lines: Mapping[str, int], repairs: Repairs) -> dict[str, str]:
    """The system of each name, which stands first on these lines.

    The part from ``_with_`` on is a pairing where at least half of the names have one, and some names another system
    or comes with the same system again; else it belongs to the name.
    """
    plain = {name: name.strip() for name in lines}
    halves = {name: name.strip().partition(PAIRED) for name in lines}
    systems = {begin for begin, _, _ in halves.values()}
    paired = [begin for begin, _, end in halves.values() if begin and end]
    names_others = any(end in systems for _, _, end in halves.values() if end)
    if 2 * len(paired) < len(lines) or not (names_others or len(set(paired)) < len(paired)):
        return plain
    for name, line in sorted(lines.items(), key=lambda item: item[1]):
        begin, _, end = halves[name]
        if begin and end:
            plain[name] = begin
            if not repairs.strict:
                repairs.add(line, "pairing", f"the system is named {name.strip()}", f"taken as {begin}")
    return plain


def _segment_key(row: Row, source: str) -> SegmentKey:
    """What the lines of one segment have in common: its ids, or where there are none, its source."""
    key = tuple(row.get(name, "").strip() for name in ("doc", "docsegid", "globalsegid"))
    return key if _is_id(key[1]) or _is_id(key[2]) else (source,)


def _is_id(text: str) -> bool:
    return text not in ("", "-1")


def _segment(row: Row) -> str:
    """The id in the whole test set, else the one in the document, after the document's name."""
    id_in_set, number = row.get("globalsegid", "").strip(), row.get("docsegid", "").strip()
    if _is_id(id_in_set):
        return id_in_set
    return f"{row.get('doc', '').strip()}:{number}".removeprefix(":") if _is_id(number) else ""


class _CommonTexts:
    """The commonest source of each segment and the commonest target of each output, and the variants of them.

    A source that is quite another one is no variant: then an id is that of several segments.
    """

    def __init__(self, lines: Sequence[_Line]) -> None:
        self._variants: dict[tuple[str, str], Variant] = {}
        sources: dict[SegmentKey, Votes] = {}
        for line in lines:
            sources.setdefault(line.segment, Votes()).add(line.source, line.row["rater"])
        self._sources = {segment: votes.commonest() for segment, votes in sources.items()}
        targets: dict[tuple[str, SegmentKey, str], Votes] = {}
        for line in lines:
            key = line.row["system"], line.segment, self.source(line)
            targets.setdefault(key, Votes()).add(line.target, line.row["rater"])
        self._targets = {output: votes.commonest() for output, votes in targets.items()}

    def source(self, line: _Line) -> str:
        """The commonest source of the line's segment, or its own where that is another one."""
        common = self._sources[line.segment]
        if line.source == common or self.variant(line.source, common).likeness >= ALIKE:
            return common
        return line.source

    def target(self, line: _Line) -> str:
        """The commonest target of the line's output."""
        return self._targets[line.row["system"], line.segment, self.source(line)]

    def variant(self, text: str, common: str) -> Variant:
        """How a text differs from the commonest one."""
        if (text, common) not in self._variants:
            self._variants[text, common] = Variant(text, common)
        return self._variants[text, common]


def _groups(lines: Sequence[_Line], texts: _CommonTexts, repairs: Repairs) -> list[list[_Line]]:
    """The lines of each rating: of one rater about one output in one pairing."""
    groups: dict[tuple[str, ...], list[_Line]] = {}
    for line in lines:
        source = "" if repairs.strict else texts.source(line)
        key = line.pairing, line.row["system"], *line.segment, line.row["rater"], source
        groups.setdefault(key, []).append(line)
    return list(groups.values())


def _rating(group: Sequence[_Line], texts: _CommonTexts, repairs: Repairs) -> Rating:
    first = group[0]
    source, target = (
        (first.source, first.target) if repairs.strict else (texts.source(first), texts.target(first))
    )
    errors: list[ErrorSpan] = []
    unlike = 0
    for line in group:
        for side, text, common in (("source", line.source, source), ("target", line.target, target)):
            if text != common:
                problem = f"the {side} is another one than on line {first.number}, of the same rating"
                if not repairs.strict and text == getattr(first, side):
                    problem = f"the {side} is another one than most lines have"
                repairs.add(line.number, f"{side}-differs", problem, "taken as the commonest one")
        is_unlike = line.target != target and texts.variant(line.target, target).likeness < ALIKE
        unlike += is_unlike
        errors += _errors(line, {"source": source, "target": target}, texts, repairs, len(errors) + 1)
    other_text = unlike == len(group)
    if other_text:
        repairs.add(
            first.number,
            "other-text",
            "the target has little in common with the commonest one",
            "score taken",
        )
    row, score = (
        first.row,
        round(sum(weight(line.row["severity"], line.row["category"]) for line in group), 6),
    )
    times = [time for line in group if (time := _time(line.row)) is not None]
    return Rating(
        _segment(row),
        source,
        target,
        row["system"],
        row["rater"].strip(),
        tuple(errors),
        score,
        max(times, default=None),
        first.number,
        document=row.get("doc", "").strip(),
        other_text=other_text,
    )


def _errors(
    line: _Line, common: Mapping[str, str], texts: _CommonTexts, repairs: Repairs, number: int
) -> list[ErrorSpan]:
    """The marks of one line; an error without a mark has no place, but a non-translation is the whole target.

    ``number`` is what the spans of an error with several of them have in common.
    """
    kind, category = line.row["severity"].strip(), line.row["category"].strip()
    places = [(side, place) for side in ("target", "source") for place in _marks(line, side, repairs)]
    if "noerror" in (letters(kind), letters(category)) or is_no_fault(category):
        return []
    spans = []
    for side, place in places:
        text, to = getattr(line, side), common[side]
        moved = place if text == to else texts.variant(text, to).moved(*place)
        if moved is None or (text != to and texts.variant(text, to).likeness < ALIKE):
            words = text[slice(*place)]
            repairs.add(
                line.number, "mark-lost", f"{words[:40]!r} is not in the commonest {side}", "no place"
            )
            continue
        spans.append(ErrorSpan(side, *moved, kind, category))
    if len(spans) > 1:
        return [span._replace(error=number) for span in spans]
    if not spans and letters(category).startswith("nontranslation"):
        spans.append(ErrorSpan("target", 0, len(common["target"]), kind, category))
    return spans or [ErrorSpan("nowhere", 0, 0, kind, category)]


def _marks(line: _Line, side: str, repairs: Repairs) -> list[tuple[int, int]]:
    text = line.row[side]
    if "v>" not in text:
        return []
    begin, end = text.find("<v>"), text.find("</v>")
    if (
        0 <= begin < end and text.rfind("<v>") == begin and text.rfind("</v>") == end
    ):  # one mark: the common case
        return [(begin, end - len("<v>"))]
    places, slips = marks(text)
    for kind, problem in slips:
        repairs.add(line.number, kind, problem, DONE[kind])
    return places


def marks(text: str) -> tuple[list[tuple[int, int]], list[tuple[str, str]]]:
    """What stands between ``<v>`` and ``</v>``, as positions in the text without them, and what was wrong.

    A mark inside another one is a part of it. One without an end goes to the last ``</v>`` after it, else to the end.

    >>> marks("Ein <v>gutes</v> Haus<v>.</v>")
    ([(4, 9), (14, 15)], [])
    >>> marks("Ein <v>gutes Haus.")
    ([(4, 15)], [('mark-not-closed', 'expected </v> after <v>, found the end of the text')])
    """
    places: list[tuple[int, int]] = []
    slips: list[tuple[str, str]] = []
    depth = removed = 0
    start = stop = 0
    for mark in _MARK.finditer(text):
        at = mark.start() - removed
        removed += len(mark[0])
        opens = mark[0] == "<v>"
        if opens != (depth == 0):
            kind = "mark-nested" if opens else "mark-not-opened"
            if opens or depth == 0:
                slips.append(
                    (kind, f"expected <v>…</v> in pairs, found {mark[0]} at column {mark.start() + 1}")
                )
        if opens:
            start, stop = (at, -1) if depth == 0 else (start, stop)
            depth += 1
        elif depth:
            depth, stop = depth - 1, at
            if depth == 0:
                places.append((start, stop))
    if depth:
        slips.append(("mark-not-closed", "expected </v> after <v>, found the end of the text"))
        places.append((start, stop if stop >= 0 else len(text) - removed))
    return places, slips


def _time(row: Mapping[str, str]) -> int | None:
    """Seconds since 1970 from the metadata, which have milliseconds; older files have a comment there."""
    if not row.get("metadata", "").startswith("{"):
        return None
    try:
        stamp = json.loads(row["metadata"]).get("timestamp")
    except (ValueError, RecursionError):
        return None
    return int(stamp) // 1000 if isinstance(stamp, (int, float)) and 0 < stamp < 10**14 else None
