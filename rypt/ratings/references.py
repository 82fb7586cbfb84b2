"""Which systems of a campaign are people, and references that stand in a file of their own.

A file of references is text with a line for each segment, TSV with an id and a text a line, or JSONL with ``id`` and
``text``. Lines without ids are in the order of the ids, counted from the first segment that was rated; a file with a
line for every segment of the test set, of which some were rated, is read by line numbers, if the ids are numbers.
"""

import json
import re
from collections.abc import Collection, Iterable, Sequence

from rypt.text import InputError, PathLike, read_lines

_HUMAN = re.compile(
    r"(?:.*[._-])?(?:ref|reference|human)(?:[._-]?[a-z0-9]|[._-][a-z0-9]{2})?(?:\.\d+)?", re.IGNORECASE
)
_TEXTS = ("text", "reference", "candidate", "translation")


def is_human(system: str) -> bool:
    """Whether a name is one that campaigns give to a human translation.

    >>> [name for name in ("ref", "ref.A", "refB", "Human-P.0", "wmt23.refA", "Refine", "Greedy") if is_human(name)]
    ['ref', 'ref.A', 'refB', 'Human-P.0', 'wmt23.refA']
    """
    return _HUMAN.fullmatch(system) is not None


def human_systems(
    systems: Iterable[str], people: Collection[str], machines: Collection[str]
) -> tuple[str, ...]:
    """The human translations among systems: those named so, and ``people``, but never ``machines``."""
    return tuple(name for name in systems if name not in machines and (name in people or is_human(name)))


def read_references(path: PathLike, segments: Sequence[str]) -> dict[str, str]:
    """The references of a file by segment; segments that it lacks are not among them."""
    lines = list(read_lines(path))
    rows = [(number, line) for number, line in lines if line.strip()]
    if not rows:
        raise InputError(path, None, "expected references, found an empty file")
    known = set(segments)
    if rows[0][1].lstrip().startswith("{"):
        pairs = dict(_record(path, number, line) for number, line in rows)
    elif all(line.count("\t") == 1 for _, line in rows) and any(
        line.split("\t")[0] in known for _, line in rows
    ):
        pairs = {line.split("\t")[0]: line.split("\t")[1] for _, line in rows}
    else:
        pairs = _by_order(path, [line for _, line in lines], segments)
    references = {segment: text for segment, text in pairs.items() if segment in known and text.strip()}
    if not references:
        raise InputError(
            path, None, f"expected references of the rated segments, such as {segments[0]}, found none"
        )
    return references


def _record(path: PathLike, number: int, line: str) -> tuple[str, str]:
    try:
        record = json.loads(line)
        text = next(record[name] for name in _TEXTS if name in record)
        if not isinstance(text, str):
            raise TypeError(f"{text!r} is no text")
        return str(record["id"]), text
    except (ValueError, TypeError, KeyError, StopIteration, RecursionError):
        raise InputError(path, number, "expected a JSON object with id and text") from None


def _by_order(path: PathLike, lines: Sequence[str], segments: Sequence[str]) -> dict[str, str]:
    are_numbers = all(segment.isascii() and segment.isdigit() for segment in segments)
    if len(lines) == len(segments):
        ordered = sorted(segments, key=int) if are_numbers else segments
        return dict(zip(ordered, lines, strict=True))
    first = 0 if "0" in segments else 1
    if are_numbers and len(lines) > max(map(int, segments)) - first:
        return {segment: lines[int(segment) - first] for segment in segments}
    numbered = " or one for each number" if are_numbers else ""
    raise InputError(
        path,
        None,
        f"expected {len(segments)} lines, one for each segment in the order of the ids{numbered}, or TSV or JSONL with "
        f"ids such as {segments[0]}, found {len(lines)} lines",
    )
