"""Candidates with their alignments: n-best lists, JSONL, and plain system output.

Read are Moses' form (``id ||| text ||| features ||| score [||| alignment …]``), Joshua's and cdec's (the text may be
a derivation, or carry ``|0-1|`` after each phrase), Marian's (alignment and word scores before the features), fairseq's
(lines ``H-0``, ``P-0``, ``A-0``), JSONL (``{"id", "candidate", "alignment", "features", "score"}``), and plain text,
one candidate a segment. Alignments may also stand in a file of their own, line by line.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from rypt.records import Candidate, RawCandidate, Segment
from rypt.text import FormatError, InputError, PathLike, Watch, is_one_line, read_lines, tokenize, unwatched
from rypt.texts.alignment import Lexicon, PhrasePair, format_links, links_of_pairs, parse_phrase_pairs
from rypt.texts.buffers import first_bad_links, line_buffer, link_message
from rypt.texts.derivation import is_derivation, parse_derivation
from rypt.texts.fairseq import is_fairseq, read_fairseq
from rypt.texts.features import finite, read_features

_TRACE = re.compile(r"(?<!\S)\|(\d{1,6})-(\d{1,6})\|(?!\S)")
_LINK = re.compile(r"[0-9]+-[0-9]+(?![^ \t])")
_LINKS = re.compile(r"\d+-\d+( |$)")
_PAIRS = re.compile(r"\d+(-\d+)?=\d+(-\d+)?( |$)")


def read_candidates(
    path: PathLike,
    segments: Mapping[str, Segment],
    *,
    alignments: PathLike | None = None,
    lexicon: Lexicon | None = None,
    watch: Watch = unwatched,
) -> list[Candidate]:
    """Read a list and check it against its segments; errors name file and line."""
    lexicon = lexicon or Lexicon()
    aligned = _read_alignments(alignments) if alignments is not None else None
    candidates: list[Candidate] = []
    places: list[tuple[PathLike, int]] = []
    for number, raw in read_raw(path, list(segments), watch):
        try:
            place: tuple[PathLike, int] = (path, number)
            if aligned is not None and alignments is not None:
                place = (alignments, len(candidates) + 1)
                if len(candidates) >= len(aligned):
                    message = f"expected an alignment for each candidate of {path}, found {len(aligned)}"
                    raise InputError(alignments, len(aligned) or None, message)
                raw = _with_alignment(raw, aligned, len(candidates))
            segment = segments.get(raw.segment)
            if segment is None:
                raise FormatError(f"segment {raw.segment!r} is not in the source")
            candidates.append(aligned_candidate(raw, segment, lexicon))
            places.append(place)
        except FormatError as error:
            raise InputError(path, number, str(error)) from None
    if aligned is not None and alignments is not None and len(aligned) != len(candidates):
        message = f"expected {len(candidates)} alignments, one for each line of {path}, found {len(aligned)}"
        raise InputError(alignments, len(aligned), message)
    _check(candidates, segments, places)
    return candidates


def read_raw(
    path: PathLike,
    order: Sequence[str] | None = None,
    watch: Watch = unwatched,
    *,
    data: bytes | bytearray | None = None,
) -> Iterator[tuple[int, RawCandidate]]:
    """The numbered lines of a list as they stand; ``order`` names the segments of plain output, a line each.

    ``data`` is what the file holds, where it has been read already.
    """
    lines = read_lines(path) if data is None else enumerate(data.decode().removesuffix("\n").split("\n"), start=1)
    watched = iter(watch(lines, f"read {path}"))
    head = []
    for numbered in watched:
        head.append(numbered)
        if order is not None or _says_its_form(numbered[1]):
            break
    if head and is_fairseq(head[-1][1]):
        yield from read_fairseq(path, chain(head, watched))
        return
    for index, (number, line) in enumerate(chain(head, watched)):
        try:
            yield number, parse_line(line, order, index)
        except FormatError as error:
            raise InputError(path, number, str(error)) from None


def _says_its_form(line: str) -> bool:
    """Whether a line is of a known form; fairseq's output may begin with lines of its log, which are of none."""
    return line.startswith("{") or "|||" in line or is_fairseq(line)


def parse_line(line: str, order: Sequence[str] | None = None, index: int = 0) -> RawCandidate:
    """Read one line of a list."""
    line = line.rstrip("\r")
    if "\0" in line:
        raise FormatError("expected text, found a NUL character")
    if line.startswith("{"):
        return _parse_json(line)
    if "|||" in line:
        return _parse_fields([field.strip(" \t") for field in line.split("|||")])
    if order is None:
        raise FormatError(f"expected id ||| candidate ||| features ||| score, found {line[:40]!r}")
    if index >= len(order):
        raise FormatError(f"expected {len(order)} lines, one a segment, found more")
    return RawCandidate(order[index], line.strip(" \t"), None, {}, None)


def _parse_json(line: str) -> RawCandidate:
    try:
        record: dict[str, Any] = json.loads(line)
        segment = record["id"] if "id" in record else record["segment"]
        text, alignment, score = record["candidate"], record.get("alignment"), record.get("score")
        features = {name: finite(value) for name, value in (record.get("features") or {}).items()}
        score = None if score is None else finite(score)
    except KeyError as error:
        raise FormatError(f"expected a field {error.args[0]}") from None
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise FormatError(f"expected a JSON object with id, candidate, alignment: {error}") from None
    if isinstance(segment, int) and not isinstance(segment, bool):
        segment = str(segment)
    for name, value in (("id", segment), ("candidate", text), ("alignment", alignment or "")):
        if not isinstance(value, str) or not is_one_line(value):
            raise FormatError(f"expected the {name} as one line of text, found {value!r}")
    if not segment:
        raise FormatError("expected an id, found an empty one")
    for name in features:
        if len(name.split()) != 1 or not is_one_line(name):
            raise FormatError(f"expected one word as the name of a feature, found {name!r}")
    return RawCandidate(segment, text, alignment, features, score)


def _parse_fields(fields: list[str]) -> RawCandidate:
    if len(fields) < 2:
        raise FormatError(f"expected id ||| candidate ||| features ||| score, found {len(fields)} fields")
    if not fields[0]:
        raise FormatError("expected an id before |||, found none")
    at = 2
    while at < len(fields) and _before_features(fields[at], fields[at + 1] if at + 1 < len(fields) else ""):
        at += 1
    score = finite(tokenize(fields[at + 1])[0]) if len(fields) > at + 1 and fields[at + 1] else None
    named = read_features(fields[at]) if len(fields) > at else {}
    return RawCandidate(fields[0], fields[1], _alignment_field(fields[2:at] + fields[at + 2 :]), named, score)


def _before_features(field: str, following: str) -> bool:
    """Whether a field after the text is Marian's alignment, which may be empty, or its word scores."""
    if not field:
        return "=" in following and following[0] not in "0123456789"
    return _LINK.match(field) is not None or field.startswith("WordScores=")


def _alignment_field(fields: list[str]) -> str | None:
    """The word links, else the phrase pairs, else the derivation; an empty field is a candidate without links."""
    for form in (_LINKS, _PAIRS):
        for field in fields:
            if form.match(field):
                return field
    for field in fields:
        if is_derivation(field):
            return field
    return "" if "" in fields else None


def _read_alignments(path: PathLike) -> list[tuple[str | None, str]]:
    """Lines of links, each with the segment id in front of ``|||`` where there is one."""
    lines = []
    for _, line in read_lines(path):
        segment, bars, links = line.rpartition("|||")
        lines.append((segment.strip() if bars else None, links.strip()))
    return lines


def _with_alignment(raw: RawCandidate, aligned: list[tuple[str | None, str]], index: int) -> RawCandidate:
    segment, links = aligned[index]
    if segment is not None and segment != raw.segment:
        raise FormatError(f"the alignment on line {index + 1} is for segment {segment}, not for segment {raw.segment}")
    return RawCandidate(raw.segment, raw.text, links, raw.features, raw.score)


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
            raise FormatError(f"the derivation is of another candidate: it yields {' '.join(tokens)!r}, not {text!r}")
    elif alignment and "=" in alignment:
        pairs = parse_phrase_pairs(alignment)
    if _TRACE.search(text) and not is_derivation(raw.text):
        text, traced = _parse_trace(text)
        pairs = traced if alignment is None else pairs
    if pairs is not None:
        alignment = format_links(links_of_pairs(pairs, segment.tokens, tokenize(text), lexicon))
    if alignment is None:
        raise FormatError("expected an alignment: a field after the score, a derivation, or a file of alignments")
    return Candidate(raw.segment, text, alignment, raw.features, raw.score)


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
            pairs.append(PhrasePair(tuple(range(int(trace[1]), int(trace[2]) + 1)), tuple(range(begin, len(words)))))
            begin = len(words)
        else:
            words.append(token)
    return " ".join(words), [pair for pair in pairs if pair.target]


def _check(candidates: list[Candidate], segments: Mapping[str, Segment], places: list[tuple[PathLike, int]]) -> None:
    """Refuse links that are malformed or out of range."""
    sizes = {name: len(segment.tokens) for name, segment in segments.items()}
    links, lines = line_buffer("\n".join(c.alignment for c in candidates).encode(), len(candidates))
    source_sizes = np.array([sizes[c.segment] for c in candidates], np.int32)
    target_sizes = np.array([len(c.tokens) for c in candidates], np.int32)
    bad, wrong = first_bad_links(links, lines, source_sizes, target_sizes)
    if bad >= 0:
        raise InputError(*places[bad], link_message(candidates[bad], wrong, int(source_sizes[bad])))


def by_segment(candidates: list[Candidate]) -> Iterator[tuple[str, list[int]]]:
    """Segments in the order of their first candidate, with the indices of their candidates."""
    groups: dict[str, list[int]] = {}
    for i, candidate in enumerate(candidates):
        groups.setdefault(candidate.segment, []).append(i)
    yield from groups.items()
