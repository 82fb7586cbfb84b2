"""Candidates with their alignments, from a list of any dialect or from plain output.

Which dialects there are, and how to add one, is in `rypt.texts.dialects`. Plain output is one candidate per segment, in
the order of the segments. Alignments may stand in the list, as links, phrase pairs, a derivation or ``|0-1|`` after
each phrase, or in a file of their own, line by line.
"""

import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice

import numpy as np

from rypt.compiled import Compiled, is_on_disk
from rypt.records import Candidate, RawCandidate, Segment
from rypt.text import (
    FormatError,
    InputError,
    NumberedLines,
    PathLike,
    Watch,
    read_bytes,
    read_lines,
    tokenize,
    unwatched,
)
from rypt.texts.alignment import Lexicon, PhrasePair, format_links, links_of_pairs, parse_phrase_pairs
from rypt.texts.buffers import first_bad_links, line_buffer, link_message
from rypt.texts.columns import CandidateColumns, ScannedList
from rypt.texts.derivation import is_derivation, parse_derivation
from rypt.texts.dialects import BARS, DIALECTS, dialect_of
from rypt.texts.dialects.bars import plain_candidate
from rypt.texts.features import LazyFeatures
from rypt.texts.fields import find_candidates, links_fit

LARGE = 1 << 21  # bytes of a file from which on its lines are looked at by compiled code, all at once
LARGE_COLD = 1 << 24  # the same where that code has to be compiled first
MANY = 50  # segments of a part of a campaign, from which on it pays to look at all lines so
LOG_LINES = 200  # how far a log is looked through for the list that follows
_LINK_BYTES = re.compile(r"[0-9 \t-]*")
_TRACE = re.compile(r"(?<!\S)\|(\d{1,6})-(\d{1,6})\|(?!\S)")


def read_candidates(
    path: PathLike,
    segments: Mapping[str, Segment],
    *,
    alignments: PathLike | None = None,
    lexicon: Lexicon | None = None,
    watch: Watch = unwatched,
    lazy_features: bool = False,
    only: Collection[str] | None = None,
) -> Sequence[Candidate]:
    """Read a list and check it against its segments; errors name file and line.

    With ``lazy_features`` those of most lines are read, and checked, when they are first asked for. With ``only``,
    segments of which are wanted alone, lines of other segments are left out, and in n-best lists not even looked at.
    Candidates of large n-best lists whose features are not wanted yet are made when they are asked for.
    """
    lexicon = lexicon or Lexicon()
    aligned = _read_alignments(alignments) if alignments is not None else None
    if lazy_features and _is_large(path) and (only is None or len(only) >= MANY):
        columns = _read_columns(path, segments, aligned, lexicon, watch, only)
        if columns is not None:
            return columns
    candidates: list[Candidate] = []
    places: list[int] = []
    index, raw = -1, None
    try:
        for index, (number, raw) in enumerate(_read_list(path, list(segments), watch, only)):
            if raw is None or (only is not None and raw.segment not in only):
                continue
            try:
                links = (
                    None if aligned is None else _alignment_of(path, alignments, aligned, raw.segment, index)
                )
                segment = segments.get(raw.segment)
                if segment is None:
                    raise FormatError(not_in_source(raw.segment, len(segments)))
                candidates.append(_with_links(raw, links, segment, lexicon))
            except FormatError as error:
                raise InputError(path, number, str(error)) from None
            places.append(number if aligned is None else index + 1)
    except InputError:  # the first mistake is named, which may be in features that were put off
        _read_features([*candidates, raw])
        raise
    if not lazy_features:
        _read_features(candidates)
    if aligned is not None and alignments is not None and len(aligned) != index + 1:
        message = f"expected {index + 1} alignments, one for each line of {path}, found {len(aligned)}"
        raise InputError(alignments, len(aligned), message)
    _check(candidates, segments, path if alignments is None else alignments, places)
    return candidates


def _is_large(path: PathLike) -> bool:
    """Whether a file, which can be read again, holds so much that compiled code pays."""
    try:
        about = os.stat(path)
    except OSError:
        return False
    limit = LARGE if is_on_disk(find_candidates) else max(LARGE, LARGE_COLD)
    return stat.S_ISREG(about.st_mode) and (about.st_size >= limit or Compiled.small is None)


def _read_columns(
    path: PathLike,
    segments: Mapping[str, Segment],
    aligned: list[tuple[str | None, str]] | None,
    lexicon: Lexicon,
    watch: Watch,
    only: Collection[str] | None,
) -> CandidateColumns | None:
    """A whole n-best list at once; None for other lists, and where something is wrong: read those line by line.

    Lines that are not plain are read one by one, and their texts and links are put after the bytes of the file.
    """
    try:
        head = next(read_lines(path), None)
        data = read_bytes(path) if head is not None and dialect_of(head[1]) is BARS else None
    except InputError:
        return None
    if not data:
        return None
    scanned = ScannedList(
        data, lambda lines, total: watch(lines, f"read {path}", total), wants_links=aligned is None
    )
    wanted = [only is None or name in only for name in scanned.names]
    try:
        odd = {
            line: _with_links(
                raw,
                None if aligned is None else _links_of(aligned, raw.segment, line),
                segments[raw.segment],
                lexicon,
            )
            for line, raw in _odd_lines(path, scanned, list(segments), wanted)
            if only is None or raw.segment in only
        }
        index = {name: i for i, name in enumerate(segments)}
        needed = np.bincount(scanned.numbers[scanned.plain], minlength=len(wanted)) > 0
        places = [
            index[name] if need and want else -1
            for name, need, want in zip(scanned.names, needed.tolist(), wanted, strict=True)
        ]
        numbers = np.array(places, np.int32)[scanned.numbers]
        numbers[~scanned.plain] = -1
        numbers[list(odd)] = [index[candidate.segment] for candidate in odd.values()]
        lines = np.flatnonzero(numbers >= 0)
        names = list(segments)
        links = None
        if aligned is not None:
            links = [
                _links_of(aligned, names[number], line)
                for line, number in zip(lines.tolist(), numbers[lines].tolist(), strict=True)
            ]
            if len(aligned) != len(numbers):
                return None
    except (FormatError, InputError, KeyError):
        return None

    def build(index: int) -> Candidate:
        line = int(lines[index])
        plain = odd.get(line) or plain_candidate(scanned.line(line), path, line + 1)
        assert plain is not None
        return plain if links is None or line in odd else replace(plain, alignment=links[index])

    columns = scanned.columns(names, numbers, lines, odd, links, build)
    sizes = np.array([len(segment.tokens) for segment in segments.values()], np.int32)
    fit = links_fit(columns.buffer, columns.texts, columns.links, sizes[columns.segments])
    return columns if fit else None


def _odd_lines(
    path: PathLike, scanned: ScannedList, order: Sequence[str], wanted: Sequence[bool]
) -> Iterator[tuple[int, RawCandidate | Candidate]]:
    """The lines that are not plain, and not of an n-best list's segment that is not wanted."""
    for line in np.flatnonzero(~scanned.plain).tolist():
        text = scanned.line(line)
        if wanted[scanned.numbers[line]] or "|||" not in text:
            yield line, plain_candidate(text, path, line + 1) or parse_line(text, order, line)


def _links_of(aligned: list[tuple[str | None, str]], name: str, line: int) -> str:
    """The links of a candidate from a file of them, which must be links."""
    if (
        line >= len(aligned)
        or aligned[line][0] not in (None, name)
        or not _LINK_BYTES.fullmatch(aligned[line][1])
    ):
        raise FormatError("to be read line by line")
    return aligned[line][1]


def _read_features(candidates: Iterable[Candidate | RawCandidate | None]) -> None:
    """Read features that were put off."""
    for candidate in candidates:
        if candidate is not None and isinstance(candidate.features, LazyFeatures):
            candidate.features.read()


def _with_links(
    raw: RawCandidate | Candidate, links: str | None, segment: Segment, lexicon: Lexicon
) -> Candidate:
    """A line of a list as a candidate; ``links`` are those of a file of alignments."""
    if isinstance(raw, RawCandidate):
        return aligned_candidate(raw if links is None else replace(raw, alignment=links), segment, lexicon)
    if links is None and raw.alignment:
        return raw
    return aligned_candidate(_as_raw(raw, links), segment, lexicon)


def _as_raw(candidate: Candidate, alignment: str | None) -> RawCandidate:
    c = candidate
    return RawCandidate(c.segment, c.text, alignment, c.features, c.score, c.columns)


def _read_list(
    path: PathLike, order: Sequence[str], watch: Watch, only: Collection[str] | None
) -> Iterator[tuple[int, RawCandidate | Candidate | None]]:
    """The numbered lines of a list: plain ones of an n-best list as candidates, all others as they stand.

    None for a line of an n-best list whose segment is not among ``only``.
    """
    lines = iter(watch(read_lines(path), f"read {path}"))
    head = list(islice(lines, 1))
    if not head or dialect_of(head[0][1]) is not BARS:
        yield from read_raw(path, order, lines=chain(head, lines))
        return
    for index, (number, line) in enumerate(chain(head, lines)):
        if only is not None and "|||" in line and line.partition("|||")[0].strip(" \t") not in only:
            yield number, None
            continue
        try:
            yield number, plain_candidate(line, path, number) or parse_line(line, order, index)
        except FormatError as error:
            raise InputError(path, number, str(error)) from None


def read_raw(
    path: PathLike,
    order: Sequence[str] | None = None,
    watch: Watch = unwatched,
    *,
    data: bytes | bytearray | None = None,
    lines: NumberedLines | None = None,
) -> Iterator[tuple[int, RawCandidate]]:
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


def parse_line(line: str, order: Sequence[str] | None = None, index: int = 0) -> RawCandidate:
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
    return RawCandidate(order[index], line.strip(" \t"), None, {}, None)


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


def aligned_candidate(raw: RawCandidate, segment: Segment, lexicon: Lexicon) -> Candidate:
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


def has_links(raw: RawCandidate) -> bool:
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


def _check(
    candidates: list[Candidate], segments: Mapping[str, Segment], path: PathLike, numbers: list[int]
) -> None:
    """Refuse links that are malformed or out of range; ``numbers`` are their lines in the file."""
    sizes = {name: len(segment.tokens) for name, segment in segments.items()}
    links, lines = line_buffer("\n".join([c.alignment for c in candidates]).encode(), len(candidates))
    source_sizes = np.array([sizes[c.segment] for c in candidates], np.int32)
    target_sizes = np.array([_size(c.text) for c in candidates], np.int32)
    bad, wrong = first_bad_links(links, lines, source_sizes, target_sizes)
    if bad >= 0:
        raise InputError(path, numbers[bad], link_message(candidates[bad], wrong, int(source_sizes[bad])))


def _size(text: str) -> int:
    """The number of tokens."""
    return len(tokenize(text)) if "  " in text or "\t" in text or not text else text.count(" ") + 1


def by_segment(candidates: list[Candidate]) -> Iterator[tuple[str, list[int]]]:
    """Segments in the order of their first candidate, with the indices of their candidates."""
    groups: dict[str, list[int]] = {}
    for i, candidate in enumerate(candidates):
        groups.setdefault(candidate.segment, []).append(i)
    yield from groups.items()
