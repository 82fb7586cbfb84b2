"""Files of candidates, a list each system: a folder stands for all of them, and a list's name says whose it is.

``systems/Online-W.jsonl`` is the list of the system Online-W; its alignments may stand in ``links/Online-W.links``.
"""

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from rypt.records import Candidate
from rypt.text import InputError, PathLike, RyptError

LINKS = ".links"


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
    by_name: dict[str, PathLike] = {}
    try:
        paths = sorted(
            path for path in Path(folder).iterdir() if path.is_file() and not path.name.startswith(".")
        )
    except OSError as error:
        raise InputError(folder, None, error.strerror or str(error)) from None
    for path in paths:
        other = by_name.setdefault(list_name(path), path)
        if other is not path:
            raise InputError(
                folder, None, f"expected one file of each name, found {Path(other).name} and {path.name}"
            )
    if not by_name:
        raise InputError(folder, None, f"expected {what} in the folder, found no file")
    return list(by_name.values())


def _links_of(lists: Sequence[PathLike], folder: PathLike) -> list[PathLike]:
    """The files of alignments named like the lists."""
    if not Path(folder).is_dir():
        raise InputError(folder, None, "expected a folder of alignments, as the lists are in a folder")
    by_name = {list_name(path): path for path in _files(folder, "alignments")}
    missing = [path for path in lists if list_name(path) not in by_name]
    if missing:
        raise InputError(
            folder, None, f"expected alignments of {missing[0]}, such as {list_name(missing[0])}{LINKS}"
        )
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
