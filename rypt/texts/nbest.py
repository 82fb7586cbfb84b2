"""Candidates with their alignments, from a list of any dialect or from plain output.

Which dialects there are, and how to add one, is in `rypt.texts.dialects`. Plain output is one candidate per segment, in
the order of the segments. Alignments may stand in the list, as links, phrase pairs, a derivation or ``|0-1|`` after
each phrase, or in a file of their own, line by line.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from rypt.records import Candidate, Segment
from rypt.text import FormatError, InputError, NumberedLines, PathLike, Watch, read_lines, tokenize, unwatched
from rypt.texts.alignment import (
    Lexicon,
    PhrasePair,
    check_links,
    format_links,
    links_of_pairs,
    parse_links,
    parse_phrase_pairs,
)
from rypt.texts.derivation import is_derivation, parse_derivation
from rypt.texts.dialects import DIALECTS, dialect_of

LOG_LINES = 200  # how far a log is looked through for the list that follows
_TRACE = re.compile(r"(?<!\S)\|(\d{1,6})-(\d{1,6})\|(?!\S)")


def read_candidates(
    path: PathLike,
    segments: Mapping[str, Segment],
    *,
    alignments: PathLike | None = None,
    lexicon: Lexicon | None = None,
    watch: Watch = unwatched,
    only: Collection[str] | None = None,
) -> list[Candidate]:
    """Read a list and check it against its segments; errors name file and line.

    With ``only``, segments of which are wanted alone, candidates of other segments are left out.
    """
    lexicon = lexicon or Lexicon()
    aligned = None if alignments is None else _read_alignments(alignments)
    candidates: list[Candidate] = []
    index = -1
    for index, (number, raw) in enumerate(read_raw(path, list(segments), watch)):
        if only is not None and raw.segment not in only:
            continue
        segment = segments.get(raw.segment)
        try:
            if segment is None:
                raise FormatError(not_in_source(raw.segment, len(segments)))
            if aligned is not None:
                raw = replace(raw, alignment=_alignment_of(path, alignments, aligned, raw.segment, index))
            candidate = aligned_candidate(raw, segment, lexicon)
        except FormatError as error:
            raise InputError(path, number, str(error)) from None
        try:
            size = len(segment.tokens)
            check_links(parse_links(candidate.alignment or ""), size, len(candidate.tokens))
        except FormatError as error:
            at = (path, number) if alignments is None else (alignments, index + 1)
            given = f"the alignment is {candidate.alignment!r}, the candidate {candidate.text!r}"
            raise InputError(*at, f"segment {candidate.segment}: {error}; {given}") from None
        candidates.append(candidate)
    if aligned is not None and alignments is not None and len(aligned) != index + 1:
        message = f"expected {index + 1} alignments, one for each line of {path}, found {len(aligned)}"
        raise InputError(alignments, len(aligned), message)
    return candidates


def read_raw(
    path: PathLike,
    order: Sequence[str] | None = None,
    watch: Watch = unwatched,
    *,
    data: bytes | bytearray | None = None,
    lines: NumberedLines | None = None,
) -> Iterator[tuple[int, Candidate]]:
    """The numbered lines of a list as they stand; ``order`` names the segments of plain output, a line each.

    ``data`` is what the file holds, or ``lines`` its lines, where it has been read already.
    """
    if data is not None:
        lines = enumerate(data.decode().removesuffix("\n").split("\n"), start=1)
    lines = read_lines(path) if lines is None else lines
    watched = iter(watch(lines, f"read {path}"))
    head: list[tuple[int, str]] = []
    dialect = None
    for number, line in watched:
        head.append((number, line))
        dialect = dialect_of(line)
        if dialect is not None or (order is not None and len(head) >= LOG_LINES):
            break
    if order is not None and len(head) > 1 and (dialect is None or not dialect.log_before):
        dialect = dialect_of(head[0][1])  # what follows plain output is plain output
    if dialect is not None and dialect.read is not None:
        yield from dialect.read(path, chain(head, watched), order)
        return
    numbered, index = enumerate(chain(head, watched)), -1
    for index, (number, line) in numbered:
        try:
            yield number, parse_line(line, order, index)
        except TooManyLinesError as error:
            raise InputError(
                path, number, f"{error}{_grouped(path, len(order or ()), index + 1, numbered)}"
            ) from None
        except FormatError as error:
            raise InputError(path, number, str(error)) from None
    if order is not None and dialect is None and 0 <= index < len(order) - 1:
        raise InputError(path, index + 1, f"expected {len(order)} lines, one per segment, found {index + 1}")


class TooManyLinesError(FormatError):
    """Plain output has more lines than there are segments."""


def _grouped(path: PathLike, segments: int, lines: int, rest: Iterable[object]) -> str:
    """How to number plain output that has the same number of candidates for each segment, one after the other."""
    total = lines + sum(1 for _ in rest)
    if total % segments:
        return f" ({total} in all)"
    each = total // segments
    command = f"awk '{{print int((NR-1)/{each}) \" ||| \" $0}}' {path} > numbered.nbest"
    return f" ({total} in all); if each segment has {each} candidates in turn, number them: {command}"


def not_in_source(segment: str, count: int) -> str:
    """What to say of a candidate whose segment does not exist.

    >>> not_in_source("40", 40)
    "segment '40' is not in the source, whose 40 segments count from 0; does the list count from 1?"
    """
    hint = (
        f", whose {count} segments count from 0; does the list count from 1?" if segment == str(count) else ""
    )
    return f"segment {segment!r} is not in the source{hint}"


def parse_line(line: str, order: Sequence[str] | None = None, index: int = 0) -> Candidate:
    """Read one line of a list: of any dialect with one candidate per line, or else plain output."""
    line = line.rstrip("\r")
    if "\0" in line:
        raise FormatError("expected text, found a NUL character")
    for dialect in DIALECTS:
        if dialect.parse_line is not None and dialect.is_line(line):
            return dialect.parse_line(line)
    if order is None:
        raise FormatError(f"expected id ||| candidate ||| features ||| score, found {line[:40]!r}")
    if index >= len(order):
        raise TooManyLinesError(f"expected {len(order)} lines, one per segment, found more")
    return Candidate(order[index], line.strip(" \t"), None, {}, None)


def _read_alignments(path: PathLike) -> list[tuple[str | None, str]]:
    """Lines of links, each with the segment id in front of ``|||`` where there is one."""
    lines = []
    for _, line in read_lines(path):
        segment, bars, links = line.rpartition("|||")
        lines.append((segment.strip() if bars else None, links.strip()))
    return lines


def _alignment_of(
    path: PathLike, alignments: PathLike | None, aligned: list[tuple[str | None, str]], name: str, index: int
) -> str:
    """The links of a candidate from a file of them."""
    if index >= len(aligned):
        message = f"expected an alignment for each candidate of {path}, found {len(aligned)}"
        raise InputError(alignments or path, len(aligned) or None, message)
    segment, links = aligned[index]
    if segment is not None and segment != name:
        raise FormatError(
            f"the alignment on line {index + 1} is for segment {segment}, not for segment {name}"
        )
    return links


def aligned_candidate(raw: Candidate, segment: Segment, lexicon: Lexicon) -> Candidate:
    """Bring every kind of alignment to Pharaoh links."""
    text, alignment = raw.text, raw.alignment
    pairs: list[PhrasePair] | None = None
    if is_derivation(text):
        tokens, pairs = parse_derivation(text)
        text = " ".join(tokens)
    elif alignment and is_derivation(alignment):
        tokens, pairs = parse_derivation(alignment)
        if tokens != tokenize(text):
            raise FormatError(
                f"the derivation is of another candidate: it yields {' '.join(tokens)!r}, not {text!r}"
            )
    elif alignment and "=" in alignment:
        pairs = parse_phrase_pairs(alignment)
    if _TRACE.search(text) and not is_derivation(raw.text):
        text, traced = _parse_trace(text)
        pairs = traced if alignment is None else pairs
    if pairs is not None:
        alignment = format_links(links_of_pairs(pairs, segment.tokens, tokenize(text), lexicon))
    if alignment is None:
        raise FormatError(
            "expected an alignment: a field after the score, a derivation, or a file of alignments, "
            "which `rypt align` makes and --alignments takes"
        )
    return Candidate(raw.segment, text, alignment, raw.features, raw.score, raw.columns)


def has_links(raw: Candidate) -> bool:
    """Whether a candidate says which source words it translates, by links, a derivation or source ranges."""
    return bool(raw.alignment) or is_derivation(raw.text) or _TRACE.search(raw.text) is not None


def _parse_trace(text: str) -> tuple[str, list[PhrasePair]]:
    """Read phrases followed by the source range (its last token included) they translate.

    >>> _parse_trace("the patient |0-1| laughs |2-2|")
    ('the patient laughs', [PhrasePair(source=(0, 1), target=(0, 1)), PhrasePair(source=(2,), target=(2,))])
    """
    words: list[str] = []
    pairs = []
    begin = 0
    for token in tokenize(text):
        trace = _TRACE.fullmatch(token)
        if trace:
            if int(trace[1]) > int(trace[2]):
                raise FormatError(f"expected a source range from left to right, found {token}")
            pairs.append(
                PhrasePair(tuple(range(int(trace[1]), int(trace[2]) + 1)), tuple(range(begin, len(words))))
            )
            begin = len(words)
        else:
            words.append(token)
    return " ".join(words), [pair for pair in pairs if pair.target]


def by_segment(candidates: list[Candidate]) -> Iterator[tuple[str, list[int]]]:
    """Segments in the order of their first candidate, with the indices of their candidates."""
    groups: dict[str, list[int]] = {}
    for i, candidate in enumerate(candidates):
        groups.setdefault(candidate.segment, []).append(i)
    yield from groups.items()
