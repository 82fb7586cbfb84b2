"""Candidates with their alignments, from an n-best list of any format or from plain output (`rypt.texts.formats`).

    read_list("run7.nbest")                           # the candidates of each line, as they are written
    read_candidates("run7.nbest", {"0": segment})     # with links, checked against their segments

Alignments may stand in the list, as links, phrase pairs, a derivation or ``|0-1|`` after each phrase, or in a file of
their own, line by line.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from rypt.arrays import Ids, Ints
from rypt.records import Candidate, Segment
from rypt.text import (
    FormatError,
    InputError,
    NumberedLines,
    PathLike,
    Watch,
    read_lines,
    token_count,
    tokenize,
    unwatched,
)
from rypt.texts.alignment import (
    Lexicon,
    LinkError,
    format_links,
    is_derivation,
    link_arrays,
    links_of_pairs,
    parse_derivation,
    parse_phrase_pairs,
    parse_text,
)
from rypt.texts.formats import read_fairseq, read_plain, reader_of

LOG_LINES = 200  # how far a log is looked through for the list that follows


def read_list(
    path: PathLike,
    order: Sequence[str] | None = None,
    watch: Watch = unwatched,
    *,
    lines: NumberedLines | None = None,
) -> Iterator[tuple[int, Candidate]]:
    """The candidates of a list as they are written, each with the number of its line.

    ``order`` are the ids of the segments, which plain output needs; ``lines`` are those of the file, where it has been
    read already. The first line says which format a file has; only the output of fairseq may have a log before it.
    """
    watched = iter(watch(read_lines(path) if lines is None else lines, f"read {path}"))
    head = [first] if (first := next(watched, None)) else []
    reader = reader_of(head[0][1]) if head else None
    while reader is None and len(head) < LOG_LINES and (following := next(watched, None)):
        head.append(following)
        reader = read_fairseq if reader_of(following[1]) is read_fairseq else None
    return (reader or read_plain)(path, chain(head, watched), order)


def read_list_of(
    path: PathLike, order: Sequence[str], watch: Watch = unwatched, *, lines: NumberedLines | None = None
) -> Iterator[tuple[int, Candidate]]:
    """The candidates of a list, as `read_list`; one of another segment is refused."""
    known = frozenset(order)
    for number, candidate in read_list(path, order, watch, lines=lines):
        if candidate.segment not in known:
            message = f"segment {candidate.segment!r} is not in the source"
            if candidate.segment == str(len(order)):
                message += f", whose {len(order)} segments count from 0; does the list count from 1?"
            raise InputError(path, number, message)
        yield number, candidate


def read_candidates(
    path: PathLike,
    segments: Mapping[str, Segment],
    *,
    alignments: PathLike | None = None,
    lexicon: Lexicon | None = None,
    watch: Watch = unwatched,
) -> list[Candidate]:
    """Read a list and check it against its segments; errors name file and line."""
    links = None if alignments is None else [line for _, line in read_lines(alignments)]
    candidates: list[Candidate] = []
    numbers: list[int] = []
    for number, candidate in read_list_of(path, list(segments), watch):
        try:
            if links is not None:
                alignment = _links_at(len(candidates), links, candidate.segment)
                candidate = replace(candidate, alignment=alignment)
            candidates.append(aligned_candidate(candidate, segments[candidate.segment], lexicon or {}))
        except FormatError as error:
            raise InputError(path, number, str(error)) from None
        numbers.append(number)
    if links is not None and alignments is not None and len(links) != len(candidates):
        message = f"expected {len(candidates)} alignments, one for each line of {path}, found {len(links)}"
        raise InputError(alignments, len(links), message)
    sizes = {name: len(segment.tokens) for name, segment in segments.items()}
    source_sizes = np.array([sizes[candidate.segment] for candidate in candidates], np.int64)
    target_sizes = np.array([token_count(candidate.text) for candidate in candidates], np.int64)
    try:
        links_of_candidates(candidates, source_sizes, target_sizes)
    except LinkError as error:
        if alignments is not None:
            raise InputError(alignments, error.index + 1, str(error)) from None
        raise InputError(path, numbers[error.index], str(error)) from None
    return candidates


def links_of_candidates(
    candidates: Sequence[Candidate], source_sizes: Ints, target_sizes: Ints
) -> tuple[Ints, Ids, Ids]:
    """The links of all candidates as arrays, checked (`rypt.texts.alignment.link_arrays`)."""
    try:
        return link_arrays(
            [candidate.alignment or "" for candidate in candidates], source_sizes, target_sizes
        )
    except LinkError as error:
        bad = candidates[error.index]
        shown = f"the alignment is {bad.alignment!r}, the candidate {bad.text!r}"
        raise LinkError(error.index, f"segment {bad.segment}: {error}; {shown}") from None


def _links_at(index: int, lines: Sequence[str], segment: str) -> str:
    """The links of a candidate from a file of them, where the id of the segment may stand before ``|||``."""
    if index >= len(lines):
        raise FormatError(f"expected an alignment for each candidate, found {len(lines)}")
    name, bars, links = lines[index].rpartition("|||")
    if bars and name.strip() != segment:
        raise FormatError(
            f"the alignment on line {index + 1} is for segment {name.strip()}, not for segment {segment}"
        )
    return links.strip()


def aligned_candidate(candidate: Candidate, segment: Segment, lexicon: Lexicon) -> Candidate:
    """Bring every kind of alignment to Pharaoh links; that of a derivation in the text counts before any other."""
    text, alignment = candidate.text, candidate.alignment
    if alignment is not None and not ("=" in alignment or "{" in alignment or "|" in text or "{" in text):
        return candidate  # links, as in most lists
    text, pairs = parse_text(text)
    if alignment is not None and not is_derivation(candidate.text):
        pairs = None
        if is_derivation(alignment):
            words, pairs = parse_derivation(alignment)
            if words != " ".join(tokenize(text)):
                raise FormatError(
                    f"the derivation is of another candidate: it yields {words!r}, not {text!r}"
                )
        elif "=" in alignment:
            pairs = parse_phrase_pairs(alignment)
    if pairs is not None:
        alignment = format_links(links_of_pairs(pairs, segment.tokens, tokenize(text), lexicon))
    if alignment is None:
        raise FormatError(
            "expected an alignment: a field after the score, a derivation, or a file of links (--alignments)"
        )
    return replace(candidate, text=text, alignment=alignment)
