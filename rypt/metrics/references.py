"""Reference translations: files of one line per segment, named one by one or by the beginning of their names."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from rypt.text import InputError, PathLike, RyptError, read_lines
from rypt.texts.parallel_rows import json_row


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
        """How many references each segment has."""
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
    """Read files, plain or ``.gz``, as they are named or found by a prefix (`reference_files`).

    All must have the same number of lines.
    """
    files = [file for path in paths for file in reference_files(path)]
    if not files:
        raise RyptError("expected at least one file of references")
    documents: list[list[str]] = []
    for i, file in enumerate(files):
        if file in files[:i]:
            raise InputError(file, None, "the same references are named twice")
        lines = [line for _, line in read_lines(file)]
        if not lines:
            raise InputError(file, None, "expected references, found an empty file")
        if row := json_row(lines[0]):
            raise InputError(file, 1, f"expected plain text, a line per segment, found {row}")
        if documents and len(lines) != len(documents[0]):
            expected = f"expected {len(documents[0])} lines like {files[0]}"
            raise InputError(file, len(lines), f"{expected}, found {len(lines)}")
        documents.append(lines)
    return References(documents, files)


def reference_files(path: PathLike) -> list[PathLike]:
    """The file of this name, else the numbered files whose names begin so.

    For ``ref`` these are ``ref0 ref1 …``, ``ref.0 ref.1 …`` (Z-MERT, which also counts from 1) or ``ref.ref0 …``
    (Moses), each plain or ``.gz``. A gap in the numbers is an error, and so are files of more than one kind: either
    would leave out references without a word.
    """
    if str(path) == "-" or (os.path.exists(path) and not os.path.isdir(path)):
        return [path]
    folder, name = os.path.split(path)
    numbered = re.compile(re.escape(name) + r"(?P<kind>|\.|\.ref)(?P<number>[0-9]{1,9})(\.gz)?")
    kinds: dict[str, dict[int, str]] = {}
    for file in sorted(os.listdir(folder or ".")) if os.path.isdir(folder or ".") else []:
        if match := numbered.fullmatch(file):
            kind, number = kinds.setdefault(match["kind"], {}), int(match["number"])
            if number in kind:
                raise InputError(
                    path, None, f"expected one file for each number, found {kind[number]} and {file}"
                )
            kind[number] = file
    if not kinds:
        message = f"no such file, nor numbered ones such as {name}0, {name}.0 or {name}.ref0"
        raise InputError(path, None, message)
    if len(kinds) > 1:
        examples = " and ".join(min(kind.items())[1] for kind in kinds.values())
        raise InputError(path, None, f"expected numbered files of one kind, found {examples}")
    (kind,) = kinds.values()
    _check_numbers(path, sorted(kind))
    return [str(Path(folder) / kind[number]) if folder else kind[number] for number in sorted(kind)]


def _check_numbers(path: PathLike, numbers: list[int]) -> None:
    """Refuse numbers that do not count up from 0 or 1."""
    if numbers not in (list(range(len(numbers))), list(range(1, len(numbers) + 1))):
        listed = ", ".join(map(str, numbers))
        raise InputError(
            path, None, f"expected files numbered from 0 or from 1 without a gap, found {listed}"
        )
