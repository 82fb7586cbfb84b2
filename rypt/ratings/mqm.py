"""MQM ratings as Google publishes them: a TSV line for each error, which ``<v>…</v>`` marks in target or source.

The columns of all years are known, by their names in the first line, else by their order: system, doc, doc_id (or
docSegId), seg_id (or globalSegId), rater, source, target, category, severity, and a comment or JSON metadata. A rating
is made of all lines of one rater about one output; its score is the sum of their penalties
(`rypt.ratings.rating.weight`), 0 is best. Of side-by-side campaigns (WMT23), whose systems are named after the
pairing they were shown in (``A_with_B``), the ratings are those of the system before ``_with_``.

The files were edited by hand. Broken marks are mended, and where raters or lines have different texts of one output or
one segment, marks are moved to the commonest of them. Each repair is counted.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import accumulate, takewhile
from typing import NamedTuple, TypeVar

from rypt.ratings.rating import ErrorSpan, Rating, Repairs, is_no_error, letters, weight
from rypt.text import InputError, NumberedLines, PathLike, read_lines

NEEDED = ("system", "rater", "source", "target", "category", "severity")
ORDER = ("system", "doc", "docsegid", "globalsegid", *NEEDED[1:], "metadata")
ALIASES = {
    "docid": "docsegid",
    "segid": "globalsegid",
    "document": "doc",
    "comment": "metadata",
    "note": "metadata",
}
SIDES = ("target", "source")
PAIRED = "_with_"  # between the system that was rated and the one that was shown beside it
ALIKE = 0.5  # share of equal characters from which two texts are variants of one
NEAR, LONG = 3, 8  # characters: short words are looked for in the neighbourhood, longer ones everywhere
_MARK = re.compile(r"</?v>")
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
T = TypeVar("T")
Row = dict[str, str]
SegmentKey = tuple[str, ...]
Place = tuple[int, int]


class _Line(NamedTuple):
    """A line about an output; ``texts`` are target and source without marks."""

    number: int
    row: Row
    system: str
    segment: SegmentKey
    texts: Mapping[str, str]


def read_mqm(
    path: PathLike, lines: NumberedLines | None = None, repairs: Repairs | None = None
) -> list[Rating]:
    """Read all ratings in the order in which they begin; lines without a rater carry no judgment and are left out.

    ``lines`` replaces reading ``path``, for a caller who shows progress. ``repairs`` takes what had to be mended.
    """
    repairs = repairs or Repairs(path)
    rows = list(_rows(path, read_lines(path) if lines is None else lines, repairs))
    _unquote([row for _, row in rows])
    systems = _systems({row["system"]: number for number, row in reversed(rows)}, repairs)
    rated = []
    for number, row in rows:
        if row["rater"].strip():
            texts = {side: _MARK.sub("", row[side]) if "v>" in row[side] else row[side] for side in SIDES}
            rated.append(
                _Line(number, row, systems[row["system"]], _segment_key(row, texts["source"]), texts)
            )
    sources = _commonest((line.segment, line.texts["source"], line.row["rater"]) for line in rated)
    outputs: list[tuple[str, SegmentKey, str]] = []  # of each line: a segment with two sources is two
    for line in rated:
        source, common = line.texts["source"], sources[line.segment]
        outputs.append((line.system, line.segment, common if _are_alike(source, common) else source))
    targets = _commonest(
        (output, line.texts["target"], line.row["rater"]) for output, line in zip(outputs, rated, strict=True)
    )
    groups: dict[tuple[str, str, tuple[str, SegmentKey, str]], list[_Line]] = {}
    for output, line in zip(outputs, rated, strict=True):
        groups.setdefault((line.row["system"], line.row["rater"], output), []).append(line)
    ratings = [
        _rating(group, {"target": targets[output], "source": output[2]}, repairs)
        for (_, _, output), group in groups.items()
    ]
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
                problem = f"expected columns {', '.join(NEEDED)}; missing {', '.join(missing)}"
                raise InputError(path, number, problem)
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


def _unquote(rows: Sequence[Row]) -> None:
    """Undo the quotation marks of CSV, column by column: doubled ones, with or without a pair around the field.

    A column is quoted when most of its fields with quotation marks are; of those, only the ones that are change.
    """
    for side in (*SIDES, "metadata"):
        marked = [row for row in rows if '"' in row.get(side, "")]
        plain = [_unquoted(row[side]) for row in marked]
        if 2 * sum(text is not None for text in plain) > len(marked):
            for row, text in zip(marked, plain, strict=True):
                row[side] = text or row[side]


def _unquoted(text: str) -> str | None:
    """A field without the quotation marks of CSV, None when it has none.

    >>> [_unquoted(text) for text in ('"He said ""no""."', 'He said ""no"".', '"No."')]
    ['He said "no".', 'He said "no".', None]
    """
    inner = text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else ""
    for field in (inner, text):
        runs = re.findall('"+', field)
        if runs and all(len(run) % 2 == 0 for run in runs):
            return field.replace('""', '"')
    return None


def _systems(lines: Mapping[str, int], repairs: Repairs) -> dict[str, str]:
    """The system of each name, given the line where the name first occurs.

    The part from ``_with_`` on is a pairing where at least half of the names have one, and some names another system
    or comes with the same system again; else it belongs to the name.
    """
    halves = {name: name.strip().partition(PAIRED) for name in lines}
    rated = {begin for begin, _, _ in halves.values()}
    paired = [begin for begin, _, end in halves.values() if begin and end]
    names_others = any(end in rated for _, _, end in halves.values() if end)
    systems = {name: name.strip() for name in lines}
    if 2 * len(paired) < len(lines) or not (names_others or len(set(paired)) < len(paired)):
        return systems
    for name, line in sorted(lines.items(), key=lambda item: item[1]):
        begin, _, end = halves[name]
        if begin and end:
            systems[name] = begin
            if not repairs.strict:  # it is no mistake
                repairs.add(line, "pairing", f"the system is named {name.strip()}")
    return systems


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


def _commonest(seen: Iterable[tuple[T, str, str]]) -> dict[T, str]:
    """For each item the text that most raters saw; of several, that of most lines, then the first."""
    raters: dict[T, dict[str, Counter[str]]] = {}
    for item, text, rater in seen:
        raters.setdefault(item, {}).setdefault(text, Counter())[rater] += 1
    return {
        item: max(texts, key=lambda text: (len(texts[text]), texts[text].total()))
        for item, texts in raters.items()
    }


class _Edit:
    """How the words of a text became those of another, and how like the two are.

    >>> edit = _Edit("Er sagte: Ein altes Haus.", "Er sagt: Ein Haus.")
    >>> [edit.moved(start, stop) for start, stop in [(3, 8), (14, 24), (14, 19)]]
    [(3, 7), (12, 17), None]
    """

    def __init__(self, text: str, common: str) -> None:
        self._text, self._common = text, common
        before = _equal_letters(text, common)
        after = _equal_letters(text[before:][::-1], common[before:][::-1])
        words, others = (
            [whole[:before], *_WORDS.findall(whole[before : len(whole) - after]), whole[len(whole) - after :]]
            for whole in (text, common)
        )
        at, to = ([*accumulate(map(len, some), initial=0)] for some in (words, others))
        opcodes = SequenceMatcher(None, words, others, autojunk=False).get_opcodes()
        self._blocks = [(kind, at[a], at[b], to[c], to[d]) for kind, a, b, c, d in opcodes]
        same = sum(stop - start for kind, start, stop, *_ in self._blocks if kind == "equal")
        self.likeness = 2 * same / (len(text) + len(common)) if text or common else 1.0

    def moved(self, start: int, stop: int) -> Place | None:
        """The place of marked characters in the other text: equal ones, and what replaced words; None for nothing."""
        places = []
        for kind, first, last, to_first, to_last in self._blocks:
            if first < stop and start < last and kind == "equal":
                places.append((to_first + max(start - first, 0), to_first + min(stop, last) - first))
            elif first < stop and start < last and kind == "replace":
                places.append((to_first, to_last))
        return (places[0][0], places[-1][1]) if places else self._repeated(start, stop)

    def _repeated(self, start: int, stop: int) -> Place | None:
        """The same words nearest to where they were cut out: editors often doubled marked words (``the the house``)."""
        words = self._text[start:stop].strip()
        near = 0
        for kind, first, last, to, _ in self._blocks:
            if first <= start <= last:
                near = to + start - first if kind == "equal" else to
        before, after = self._common.rfind(words, 0, near), self._common.find(words, near)
        distances = [(near - before - len(words), before), (after - near, after)]
        distance, at = min((pair for pair in distances if pair[1] >= 0), default=(0, -1))
        if not words or at < 0 or (distance > NEAR and len(words) < LONG):
            return None
        return at, at + len(words)


def _equal_letters(one: str, other: str) -> int:
    """How many letters at the beginning are equal."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


_edit = lru_cache(10_000)(_Edit)


def _are_alike(text: str, common: str) -> bool:
    return text == common or _edit(text, common).likeness >= ALIKE


def _rating(group: Sequence[_Line], common: Mapping[str, str], repairs: Repairs) -> Rating:
    """The rating that one rater's lines about one output make, on the commonest texts."""
    first = group[0]
    errors: list[ErrorSpan] = []
    for line in group:
        for side in reversed(SIDES):
            if line.texts[side] != common[side]:
                problem = f"the {side} is another one than most lines have"
                repairs.add(line.number, f"{side}-differs", problem)
        errors += _errors(line, common, repairs, len(errors) + 1)
    other_text = not any(_are_alike(line.texts["target"], common["target"]) for line in group)
    if other_text:
        repairs.add(first.number, "other-text", "the target has little in common with the commonest one")
    score = round(sum(weight(line.row["severity"], line.row["category"]) for line in group), 6)
    times = [time for line in group if (time := _time(line.row)) is not None]
    return Rating(
        _segment(first.row),
        common["source"],
        common["target"],
        first.system,
        first.row["rater"].strip(),
        tuple(errors),
        score,
        max(times, default=None),
        first.number,
        document=first.row.get("doc", "").strip(),
        other_text=other_text,
    )


def _errors(line: _Line, common: Mapping[str, str], repairs: Repairs, number: int) -> list[ErrorSpan]:
    """The marks of one line; an error without a mark has no place, but a non-translation is the whole target.

    ``number`` is what the spans of an error with several of them have in common.
    """
    severity, category = line.row["severity"].strip(), line.row["category"].strip()
    places: list[tuple[str, Place]] = []
    for side in SIDES:
        marked, slips = marks(line.row[side])
        places += [(side, place) for place in marked]
        for kind, problem in slips:
            repairs.add(line.number, kind, problem)
    if is_no_error(severity, category):
        return []
    spans = []
    for side, place in places:
        text = line.texts[side]
        moved: Place | None = place
        if text != common[side]:
            edit = _edit(text, common[side])
            moved = edit.moved(*place) if edit.likeness >= ALIKE else None
        if moved is None:
            problem = f"{text[slice(*place)][:40]!r} is not in the commonest {side}"
            repairs.add(line.number, "mark-lost", problem)
        else:
            spans.append(ErrorSpan(side, *moved, severity, category))
    if len(spans) > 1:
        return [span._replace(error=number) for span in spans]
    if not spans and letters(category).startswith("nontranslation"):
        spans.append(ErrorSpan("target", 0, len(common["target"]), severity, category))
    return spans or [ErrorSpan("nowhere", 0, 0, severity, category)]


def marks(text: str) -> tuple[list[Place], list[tuple[str, str]]]:
    """What is between ``<v>`` and ``</v>``, as positions in the text without them, and what was wrong.

    A mark inside another one is a part of it. One without an end goes to the last ``</v>`` after it, else to the end.

    >>> marks("Ein <v>gutes</v> Haus<v>.</v>")
    ([(4, 9), (14, 15)], [])
    >>> marks("Ein <v>gutes Haus.")
    ([(4, 15)], [('mark-not-closed', 'expected </v> after <v>, found the end of the text')])
    """
    places: list[Place] = []
    slips: list[tuple[str, str]] = []
    depth = removed = 0
    start = stop = 0
    for mark in _MARK.finditer(text):
        at = mark.start() - removed
        removed += len(mark[0])
        opens = mark[0] == "<v>"
        if opens == (depth > 0):
            kind = "mark-nested" if opens else "mark-not-opened"
            problem = f"expected <v>…</v> in pairs, found {mark[0]} at column {mark.start() + 1}"
            slips.append((kind, problem))
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
