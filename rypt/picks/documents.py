"""The documents that segments belong to: units for intervals, and halves to choose on and to report on.

A file of documents has a line ``{"id": segment, "document": name}`` for each segment; beside the source of a campaign
it is called ``documents.jsonl``.
"""

import json
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rypt.campaign.folder import Campaign
from rypt.options import check_option
from rypt.text import InputError, PathLike, RyptError, read_lines

DOCUMENTS = "documents.jsonl"
ORDER = 7  # seed of the order in which documents are dealt to halves
HALVES = ("first", "second")


def find_documents(campaign: Campaign, path: PathLike | None = None) -> list[str] | None:
    """The document of each segment of a campaign, from a file or from the one beside its source; None without one."""
    beside = Path(campaign.path(campaign.files.source)).parent / DOCUMENTS
    if path is None and not beside.is_file():
        return None
    return read_documents(beside if path is None else path, [segment.id for segment in campaign.segments])


def need_documents(documents: list[str] | None, why: str) -> list[str]:
    """The documents, or an error that says what they are needed for."""
    if documents is None:
        raise RyptError(
            f"{why} needs to know the documents: expected {DOCUMENTS} beside the campaign's source, or "
            '--documents FILE, with a line {"id", "document"} for each segment'
        )
    return documents


def read_documents(path: PathLike, segments: Sequence[str]) -> list[str]:
    """The document of each of these segments; lines of other segments are passed over."""
    documents: dict[str, str] = {}
    for number, line in read_lines(path):
        try:
            record = json.loads(line)
            segment, document = str(record["id"]), str(record["document"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise InputError(path, number, "expected an object with id and document") from None
        if documents.setdefault(segment, document) != document:
            raise InputError(path, number, f"segment {segment} is in two documents")
    missing = next((segment for segment in segments if segment not in documents), None)
    if missing is not None:
        raise InputError(path, None, f"expected the document of each segment, found none of {missing}")
    return [documents[segment] for segment in segments]


def half_of(documents: Sequence[str], half: str) -> list[bool]:
    """Which segments are in a half of the documents; both halves have nearly the same number of segments.

    The documents come in an order that is shuffled once and for all, each to the half that has fewer segments.

    >>> half_of(["a", "a", "b", "c", "c", "c"], "first")
    [False, False, False, True, True, True]
    """
    check_option("half", half, HALVES)
    counts = Counter(documents)
    order = sorted(counts)
    random.Random(ORDER).shuffle(order)
    sizes = [0, 0]
    places: dict[str, int] = {}
    for document in order:
        places[document] = int(sizes[1] < sizes[0])
        sizes[places[document]] += counts[document]
    if not all(sizes):
        raise RyptError("expected at least two documents to make halves of, found one")
    return [HALVES[places[document]] == half for document in documents]
