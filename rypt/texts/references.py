"""Reference translations: files with one line per segment, named one by one or by the beginning of their names."""

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from rypt.text import FormatError, InputError, PathLike, RyptError, read_lines
from rypt.texts.formats import json_object


class References:
    """One or more references of each segment; the segment with id ``"7"`` has those in line 8 of each document.

    ``segments`` are the ids of the lines where they are not numbers from 0.

    >>> references = References([["the house", "a cat"], ["the home", "one cat"]])
    >>> references["1"], len(references), references.count
    (['a cat', 'one cat'], 2, 2)
    >>> References([["the house", "a cat"]], segments=["news-1", "news-2"])["news-2"]
    ['a cat']
    """

    def __init__(
        self,
        documents: Sequence[Sequence[str]],
        paths: Sequence[PathLike] = (),
        segments: Sequence[str] | None = None,
    ) -> None:
        self.documents = [list(document) for document in documents]
        self.paths = tuple(paths)
        self.lines = None if segments is None else {segment: line for line, segment in enumerate(segments)}
        if len({len(document) for document in self.documents}) != 1:
            sizes = ", ".join(str(len(document)) for document in self.documents) or "no document"
            raise RyptError(f"expected documents with one line per segment, equally many, found {sizes}")

    @property
    def count(self) -> int:
        """The number of references of each segment."""
        return len(self.documents)

    def __len__(self) -> int:
        return len(self.documents[0])

    def __getitem__(self, segment: str) -> list[str]:
        if self.lines is not None:
            line = self.lines.get(segment, len(self))
        else:
            line = int(segment) if re.fullmatch("[0-9]{1,18}", segment) else len(self)
        if line >= len(self):
            known = "for the segments from 0" if self.lines is None else "for other segments"
            raise RyptError(f"segment {segment!r} has no reference: there are {len(self)}, {known}")
        return [document[line] for document in self.documents]


def read_references(paths: Sequence[PathLike]) -> References:
    """Read files of references (`reference_files`), which must have the same number of lines."""
    files = [file for path in paths for file in reference_files(path)]
    if not files:
        raise RyptError("expected at least one file of references")
    documents: list[list[str]] = []
    for i, file in enumerate(files):
        if file in files[:i]:
            raise InputError(file, None, "the same references are named twice")
        documents.append(read_reference(file, len(documents[0]) if documents else None))
    return References(documents, files)


def read_reference(path: PathLike, count: int | None = None) -> list[str]:
    """The lines of a file of references, as many as there are segments or other references."""
    lines = [line for _, line in read_lines(path)]
    if not lines:
        raise InputError(path, None, "expected references, found an empty file")
    if lines[0].startswith("{"):
        with suppress(FormatError):
            json_object(lines[0])
            raise InputError(path, 1, "expected plain text, a line per segment, found JSON")
    if count is not None and len(lines) != count:
        raise InputError(path, len(lines), f"expected {count} lines, one per segment, found {len(lines)}")
    return lines


def reference_files(path: PathLike) -> list[PathLike]:
    """The file of this name, else the numbered files whose names begin so.

    For ``ref`` these are ``ref0 ref1 …``, ``ref.0 ref.1 …`` (Z-MERT, which also counts from 1) or ``ref.ref0 …``
    (Moses), each plain or ``.gz``. A gap in the numbers or files of more than one kind are errors, because some
    references would be left out.
    """
    if str(path) == "-" or (os.path.exists(path) and not os.path.isdir(path)):
        return [path]
    folder, name = os.path.split(path)
    numbered = re.compile(re.escape(name) + r"(?P<kind>|\.|\.ref)(?P<number>[0-9]{1,9})(\.gz)?")
    matches = map(numbered.fullmatch, os.listdir(folder or ".") if os.path.isdir(folder or ".") else [])
    files = sorted((match["kind"], int(match["number"]), match[0]) for match in matches if match)
    if not files:
        message = f"no such file, nor numbered ones such as {name}0, {name}.0 or {name}.ref0"
        raise InputError(path, None, message)
    first, last = files[0], files[-1]
    if first[0] != last[0]:
        raise InputError(path, None, f"expected numbered files of one kind, found {first[2]} and {last[2]}")
    if [number for _, number, _ in files] != list(range(first[1], first[1] + len(files))) or first[1] > 1:
        listed = ", ".join(file for _, _, file in files)
        message = f"expected one file for each number, from 0 or 1 without a gap, found {listed}"
        raise InputError(path, None, message)
    return [str(Path(folder) / file) if folder else file for _, _, file in files]
