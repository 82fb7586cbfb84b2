"""What lists of candidates are compared with: their segments in order, with source and references."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from rypt.campaign.folder import read_source
from rypt.records import Candidate, Segment
from rypt.text import InputError, PathLike, RyptError, read_lines
from rypt.texts.formats import reader_of
from rypt.texts.nbest import not_in_source, read_list
from rypt.texts.references import References, read_references

_FINAL = re.compile(
    r"(?P<space>\s?)[.!?]+(\s*[\"'»”’)\]]+)*\s*$"
)  # punctuation at the end, and what is before it
TOKENISED = (
    "the candidates look tokenised (most have a space before their final punctuation): BLEU, chrF++ and above all TER "
    "are of tokens here, and may differ from those of raw text"
)
TOKENISED_ALONE = f"{TOKENISED}; the references are raw text, so candidates have to be detokenised first"


@dataclass(frozen=True, slots=True)
class ListTexts:
    """Lists read whole; ``order`` are the ids of all segments, where the source or the references have them."""

    lists: list[list[Candidate]]
    order: list[str] | None
    source: list[Segment] | None
    references: References | None

    def firsts(self) -> list[dict[str, Candidate]]:
        """Of each list the first candidate of each segment."""
        chosen: list[dict[str, Candidate]] = []
        for candidates in self.lists:
            chosen.append({})
            for raw in candidates:
                chosen[-1].setdefault(raw.segment, raw)
        return chosen

    def tokenised_note(self) -> str:
        """That scores are of tokens, where candidates look like that; empty elsewhere."""
        if self.references is None or not any(
            looks_tokenised(raw.text for raw in side) for side in self.lists
        ):
            return ""
        documents = self.references.documents
        return TOKENISED if any(looks_tokenised(document) for document in documents) else TOKENISED_ALONE


def read_lists(
    paths: Sequence[PathLike], source: PathLike | None = None, references: Sequence[PathLike] = ()
) -> ListTexts:
    """Read lists of any dialect, and find the reference of each segment.

    References are in the order of the source. Without a source the segments are numbered from 0; or they have names,
    and their order is that of a list that has as many of them as there are references.
    """
    segments = None if source is None else read_source(source)
    documents = read_references(references) if references else None
    if segments is not None:
        order: list[str] | None = [segment.id for segment in segments]
    elif documents is not None:
        order = [str(i) for i in range(len(documents))]
    else:
        order = next((numbers for path in paths if (numbers := _numbers(path))), None)
    lists = [[raw for _, raw in read_list(path, order)] for path in paths]
    if segments is not None and source is not None:
        _check_ids(paths, lists, source, order or [])
        if documents is not None:
            documents = _by_source(documents, source, order or [])
    elif documents is not None and order is not None:
        named = _order_of_names(paths, lists, len(documents))
        if named:
            lists = [_with_names(candidates, dict(zip(order, named, strict=True))) for candidates in lists]
            documents, order = References(documents.documents, documents.paths, named), named
    return ListTexts(lists, order, segments, documents)


def looks_tokenised(texts: Iterable[str]) -> bool:
    """Whether most texts that end with punctuation have a space before it.

    >>> looks_tokenised(["Yes .", 'He said : " No . "', "Well"]), looks_tokenised(["Yes.", "No !", "So?"])
    (True, False)
    """
    ends = [bool(match["space"]) for text in texts if (match := _FINAL.search(text))]
    return 2 * sum(ends) > len(ends)


def _numbers(path: PathLike) -> list[str] | None:
    """The numbers of the lines of plain output; None of a list that names its segments."""
    head = [line for _, line in islice(read_lines(path), 1)]
    return [str(i) for i, _ in enumerate(read_lines(path))] if head and reader_of(head[0]) is None else None


def _check_ids(
    paths: Sequence[PathLike], lists: Sequence[Sequence[Candidate]], source: PathLike, order: Sequence[str]
) -> None:
    known = set(order)
    for path, candidates in zip(paths, lists, strict=True):
        if strange := next((raw.segment for raw in candidates if raw.segment not in known), None):
            cure = f'; {source} begins with segment {order[0]!r} (ids stand in JSONL: {{"id": …, "text": …}})'
            raise InputError(path, None, f"{not_in_source(strange, len(order))}{cure}")


def _by_source(documents: References, source: PathLike, order: Sequence[str]) -> References:
    if len(documents) != len(order):
        message = f"expected {len(order)} lines, one per segment of {source}, found {len(documents)}"
        raise InputError(documents.paths[0], None, message)
    return References(documents.documents, documents.paths, order)


def _order_of_names(
    paths: Sequence[PathLike], lists: Sequence[Sequence[Candidate]], count: int
) -> list[str] | None:
    """The names of the segments in the order of the references; None where segments are numbered from 0."""
    known = {str(i) for i in range(count)}
    ids = {
        path: list(dict.fromkeys(raw.segment for raw in side))
        for path, side in zip(paths, lists, strict=True)
    }
    named = {path: names for path, names in ids.items() if not known.issuperset(names)}
    if not named:
        return None
    for path, names in named.items():
        if all(re.fullmatch("[0-9]+", name) for name in names):
            strange = next(name for name in names if name not in known)
            raise InputError(
                path,
                None,
                f"segment {strange!r} has no reference: there are {count}, for the segments "
                "from 0 (--source FILE tells which segments they are of)",
            )
    first = next((path for path, names in named.items() if len(names) == count), None)
    if first is None:
        path, names = next(iter(named.items()))
        raise InputError(
            path,
            None,
            f"segments have names, such as {names[0]!r}, and there are {len(names)} of them "
            f"for {count} references: --source FILE tells which references are theirs",
        )
    for path, names in named.items():
        shared = set(names) & set(named[first])
        if [name for name in names if name in shared] != [name for name in named[first] if name in shared]:
            raise RyptError(
                f"{first} and {path} have the segments in different orders: --source FILE tells the order "
                "of the references"
            )
    return named[first]


def _with_names(candidates: list[Candidate], names: dict[str, str]) -> list[Candidate]:
    """A list that numbers its segments from 0, with names instead; one that has names stays as it is."""
    if any(raw.segment not in names for raw in candidates):
        return candidates
    return [replace(raw, segment=names[raw.segment]) for raw in candidates]
