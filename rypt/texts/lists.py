"""Files of candidates and of references, named one by one or together.

A folder stands for its lists, and a list's name says whose it is: ``systems/Online-W.jsonl`` is that of the system
Online-W, its alignments are in ``links/Online-W.links``. Several references are named by the beginning of their names.
"""

import os
import re
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from rypt.records import Candidate
from rypt.text import FormatError, InputError, PathLike, RyptError, read_lines
from rypt.texts.formats import json_object


def list_name(path: PathLike) -> str:
    """The name of a file without its endings.

    >>> list_name("out/Human-A.0.jsonl.gz")
    'Human-A.0'
    """
    return Path(Path(path).name.removesuffix(".gz")).stem


def list_names(paths: Sequence[PathLike]) -> list[str]:
    """The names of several files, numbered where two in different folders have the same.

    >>> list_names(["A/out.txt", "B/out.txt"])
    ['1-out', '2-out']
    """
    names = [list_name(path) for path in paths]
    if len(set(names)) < len(names):
        names = [f"{number}-{name}" for number, name in enumerate(names, start=1)]
    return names


def list_system(path: PathLike, systems: Collection[str]) -> str | None:
    """The system that a list's file is named after: the longest that fits between points; None where none does.

    >>> list_system("out/newstest.A.2.nbest.gz", ["A", "A.2", "B"])
    'A.2'
    """
    fitting = [system for system in systems if system and f".{system}." in f".{Path(path).name}."]
    return max(fitting, key=len, default=None)


def expand_lists(
    nbest: Sequence[PathLike], alignments: Sequence[PathLike] = ()
) -> tuple[list[PathLike], list[PathLike]]:
    """Put the files of a folder in its place, in the order of their names, each with the alignments named like it."""
    lists: list[PathLike] = []
    links: list[PathLike] = []
    for i, path in enumerate(nbest):
        given = alignments[i : i + 1]
        if Path(path).is_dir():
            files = _files(path, "lists of candidates")
            lists += files
            links += [file for folder in given for file in _links_of(files, folder)]
        else:
            lists.append(path)
            links += given
    return lists, [*links, *alignments[len(nbest) :]]


def _files(folder: PathLike, what: str) -> list[PathLike]:
    try:
        paths = sorted(path for path in Path(folder).iterdir() if path.is_file() and path.name[0] != ".")
    except OSError as error:
        raise InputError(folder, None, error.strerror or str(error)) from None
    if not paths:
        raise InputError(folder, None, f"expected {what} in the folder, found no file")
    for path, following in pairwise(sorted(paths, key=list_name)):
        if list_name(path) == list_name(following):
            names = f"{path.name} and {following.name}"
            raise InputError(folder, None, f"expected one file of each name, found {names}")
    return list[PathLike](paths)


def _links_of(lists: Sequence[PathLike], folder: PathLike) -> list[PathLike]:
    """The files of alignments named like the lists."""
    if not Path(folder).is_dir():
        raise InputError(folder, None, "expected a folder of alignments, as the lists are in a folder")
    by_name = {list_name(path): path for path in _files(folder, "alignments")}
    for path in lists:
        if list_name(path) not in by_name:
            message = f"expected alignments of {path}, such as {list_name(path)}.links"
            raise InputError(folder, None, message)
    return [by_name[list_name(path)] for path in lists]


def distinct(lists: Iterable[Sequence[Candidate]]) -> list[Candidate]:
    """The candidates of all lists in order, each text with its alignment once per segment."""
    firsts: dict[tuple[str, str, str | None], Candidate] = {}
    for candidates in lists:
        for candidate in candidates:
            firsts.setdefault((candidate.segment, candidate.text, candidate.alignment), candidate)
    return list(firsts.values())


def lists_without(
    lists: Iterable[tuple[str, Sequence[Candidate]]], systems: Collection[str], known: Collection[str] = ()
) -> list[tuple[str, Sequence[Candidate]]]:
    """The lists, each with its file, without those of some systems, a human translation, say; all must be there.

    Of other ``known`` systems the longest name that fits counts: ``A.2.jsonl`` is not of A where A.2 is one.

    >>> [file for file, _ in lists_without([("A.jsonl", []), ("A.2.jsonl", [])], ["A"], ["A.2"])]
    ['A.2.jsonl']
    """
    names = sorted({*systems, *known})
    owned = [(list_system(file, names), (file, candidates)) for file, candidates in lists]
    missing = sorted(set(systems) - {system for system, _ in owned if system is not None})
    if missing:
        raise RyptError(f"expected a list of {missing[0]} to leave out, found none with that name")
    return [one for system, one in owned if system not in systems]


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
