"""MQM ratings as Google publishes them: a TSV line for each error, which ``<v>…</v>`` marks in target or source.

The columns of all years are known, by their names in the first line, else by their order: system, doc, doc_id (or
docSegId), seg_id (or globalSegId), rater, source, target, category, severity, and a comment or JSON metadata. A rating
is made of all lines of one rater about one output. Scores (Freitag et al. 2021, "Experts, Errors, and Context"): Major
5, Minor 1, Minor Fluency/Punctuation 0.1, Non-translation 25, others 0, and Critical 10; 0 is best.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from rypt.ratings.error_spans import ErrorSpan, Rating
from rypt.text import InputError, NumberedLines, PathLike, read_lines

ORDER = ("system", "doc", "docsegid", "globalsegid", "rater", "source", "target", "category", "severity", "metadata")
ALIASES = {"docid": "docsegid", "segid": "globalsegid", "document": "doc", "comment": "metadata", "note": "metadata"}
NEEDED = ("system", "rater", "source", "target", "category", "severity")
_MARK = re.compile(r"</?v>")
Row = dict[str, str]


def read_mqm(path: PathLike, lines: NumberedLines | None = None) -> list[Rating]:
    """Read all ratings in the order in which they begin; lines without a rater carry no judgment and are left out.

    ``lines`` replaces reading ``path``, for a caller who shows progress.
    """
    groups: dict[tuple[str, ...], list[tuple[int, Row]]] = {}
    rows = list(_rows(path, read_lines(path) if lines is None else lines))
    quoted = _is_quoted([row for _, row in rows])
    for number, row in rows:
        if not row["rater"].strip():
            continue
        if quoted:
            row = {name: _unquoted(value) for name, value in row.items()}
        key = tuple(row.get(name, "") for name in ("system", "doc", "docsegid", "globalsegid", "rater"))
        groups.setdefault(key, []).append((number, row))
    return [_rating(path, group) for group in groups.values()]


def _rows(path: PathLike, lines: NumberedLines) -> Iterator[tuple[int, Row]]:
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
                raise InputError(path, number, f"expected columns {', '.join(NEEDED)}; missing {', '.join(missing)}")
            if header is names:
                continue
        if len(values) < max(map(header.index, NEEDED)) + 1:
            raise InputError(path, number, f"expected {len(header)} fields between tabs, found {len(values)}")
        yield number, dict(zip(header, values, strict=False))


def _column(name: str) -> str:
    plain = re.sub(r"[^a-z]", "", name.lower())
    return ALIASES.get(plain, plain)


def _is_quoted(rows: Sequence[Row]) -> bool:
    """Whether the file was written as CSV is: each field with a quotation mark in quotes, its own doubled."""
    texts = [row[side] for row in rows for side in ("source", "target") if '"' in row[side]]
    whole = all(len(t) > 1 and t[0] == t[-1] == '"' and '"' not in t[1:-1].replace('""', "") for t in texts)
    return whole and any('""' in text[1:-1] for text in texts)


def _unquoted(value: str) -> str:
    return value[1:-1].replace('""', '"') if len(value) > 1 and value[0] == value[-1] == '"' else value


def _rating(path: PathLike, group: Sequence[tuple[int, Row]]) -> Rating:
    number, first = group[0]
    source, target = (_MARK.sub("", first[side]) for side in ("source", "target"))
    errors: list[ErrorSpan] = []
    for line, row in group:
        marked = _errors(path, line, row)
        for side, text in (("source", source), ("target", target)):
            if _MARK.sub("", row[side]) != text:
                raise InputError(path, line, f"the {side} is another one than on line {number}, of the same rating")
        errors += marked
    score = round(sum(_weight(row) for _, row in group), 6)
    times = [time for _, row in group if (time := _time(row)) is not None]
    named = first["system"].strip(), first["rater"].strip()
    return Rating(_segment(first), source, target, *named, tuple(errors), score, max(times, default=None), number)


def _segment(row: Row) -> str:
    """The id in the whole test set, else the one in the document, after the document's name."""
    id_in_set, number = row.get("globalsegid", "").strip(), row.get("docsegid", "").strip()
    return id_in_set or (f"{row.get('doc', '').strip()}:{number}".removeprefix(":") if number else "")


def _errors(path: PathLike, line: int, row: Row) -> list[ErrorSpan]:
    """The marks of one line; an error without a mark has no place, but a non-translation is the whole target."""
    kind, category = row["severity"].strip(), row["category"].strip()
    if _is_no_error(row) or _is_of_the_source(category):
        return []
    spans = []
    for side in ("target", "source"):
        for start, stop in marks(path, line, row[side]):
            spans.append(ErrorSpan(side, start, stop, kind, category))
    if not spans and _is_non_translation(category):
        spans.append(ErrorSpan("target", 0, len(row["target"]), kind, category))
    return spans or [ErrorSpan("nowhere", 0, 0, kind, category)]


def marks(path: PathLike, line: int, text: str) -> list[tuple[int, int]]:
    """What stands between ``<v>`` and ``</v>``, as positions in the text without them.

    >>> marks("ted.tsv", 7, "Ein <v>gutes</v> Haus<v>.</v>")
    [(4, 9), (14, 15)]
    """
    places = []
    start: int | None = None
    removed = 0
    for mark in _MARK.finditer(text):
        at = mark.start() - removed
        if (mark[0] == "<v>") != (start is None):
            raise InputError(path, line, f"expected <v>…</v> in pairs, found {mark[0]} at column {mark.start() + 1}")
        if start is None:
            start = at
        else:
            places.append((start, at))
            start = None
        removed += len(mark[0])
    if start is not None:
        raise InputError(path, line, "expected </v> after <v>, found the end of the text")
    return places


def _plain(text: str) -> str:
    return re.sub(r"[^a-z/]", "", text.lower())


def _is_no_error(row: Mapping[str, str]) -> bool:
    return _plain(row["category"]) == "noerror" or _plain(row["severity"]) == "noerror"


def _is_of_the_source(category: str) -> bool:
    """Errors of the source text itself, which say nothing of its translation."""
    return _plain(category).split("/")[0] in ("source", "sourceerror", "sourceissue")


def _is_non_translation(category: str) -> bool:
    return _plain(category).startswith("nontranslation")


def _weight(row: Mapping[str, str]) -> float:
    severity, category = _plain(row["severity"]), _plain(row["category"])
    if _is_no_error(row) or _is_of_the_source(row["category"]):
        return 0.0
    if _is_non_translation(category):
        return 25.0
    if severity == "minor":
        return 0.1 if category.startswith("fluency/punctuation") else 1.0
    return {"major": 5.0, "critical": 10.0}.get(severity, 0.0)


def _time(row: Mapping[str, str]) -> int | None:
    """Seconds since 1970 from the metadata, which have milliseconds; older files have a comment there."""
    if not row.get("metadata", "").startswith("{"):
        return None
    try:
        stamp = json.loads(row["metadata"]).get("timestamp")
    except (ValueError, RecursionError):
        return None
    return int(stamp) // 1000 if isinstance(stamp, (int, float)) and 0 < stamp < 10**14 else None
