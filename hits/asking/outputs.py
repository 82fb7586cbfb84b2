"""Systems' outputs: for each system its candidate for each segment, as comparisons and rankings show them."""

import hashlib
import re
from collections.abc import Mapping, Sequence

import numpy as np

from hits.batches.markup import escape, language_columns, readable
from hits.records import BatchSettings
from rypt.records import Segment
from rypt.text import InputError, PathLike, RyptError, read_lines, tokenize
from rypt.texts.formats import original_texts, reader_of
from rypt.texts.nbest import not_in_source, read_list

Outputs = Mapping[str, Mapping[str, str]]  # system → segment → candidate
_SHORT_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")


def read_output(path: PathLike, segments: Sequence[Segment]) -> dict[str, str]:
    """One candidate per line, as many as there are segments; of an n-best list the first of each segment."""
    numbered = list(read_lines(path))
    if numbered and reader_of(numbered[0][1]) is not None:
        return _first_of_list(path, segments, numbered)
    lines = [line for _, line in numbered]
    if len(lines) != len(segments):
        raise InputError(
            path, len(lines), f"expected {len(segments)} lines, one per segment, found {len(lines)}"
        )
    return {segment.id: line for segment, line in zip(segments, lines, strict=True)}


def _first_of_list(
    path: PathLike, segments: Sequence[Segment], lines: Sequence[tuple[int, str]]
) -> dict[str, str]:
    """The first candidate of each segment, before it was cut into tokens where the list keeps that."""
    firsts: dict[str, str | None] = {segment.id: None for segment in segments}
    originals = {(segment, candidate): text for segment, candidate, text in original_texts(lines)}
    for number, raw in read_list(path, list(firsts), lines=lines):
        if raw.segment not in firsts:
            raise InputError(path, number, not_in_source(raw.segment, len(firsts)))
        if firsts[raw.segment] is None:
            firsts[raw.segment] = originals.get((raw.segment, raw.text), raw.text)
    texts = {name: text for name, text in firsts.items() if text is not None}
    missing = next((name for name in firsts if name not in texts), None)
    if missing is not None:
        raise InputError(
            path, None, f"expected a candidate of every segment, found none of segment {missing}"
        )
    return texts


def check_outputs(segments: Sequence[Segment], outputs: Outputs, least: int = 2) -> None:
    """Refuse too few systems, nameless ones, and candidates of segments that are not there."""
    if len(outputs) < least:
        raise RyptError(f"expected the outputs of at least {least} systems, found {len(outputs)}")
    known = {segment.id for segment in segments}
    for system, candidates in outputs.items():
        if not system.strip():
            raise RyptError("expected a name for each system, found an empty one")
        unknown = [segment for segment in candidates if segment not in known]
        if unknown:
            raise RyptError(f"system {system}: segment {unknown[0]!r} is not in the source")


def check_limit(limit: int | None) -> None:
    """Refuse a limit below 1."""
    if limit is not None and limit < 1:
        raise RyptError(f"expected a limit of at least 1, found {limit}")


def same_text(a: str, b: str) -> bool:
    """Whether two candidates look the same to a reader: the same words, whatever the spaces."""
    return tokenize(a) == tokenize(b)


def short_name(segment: str) -> str:
    """A segment's id as item ids hold it: itself when it is short and plain, else a digest of it.

    >>> short_name("news-12"), short_name("a long: name")
    ('news-12', '489af57728a9')
    """
    return (
        segment
        if _SHORT_NAME.fullmatch(segment)
        else hashlib.sha256(segment.encode("utf-8", "replace")).hexdigest()[:12]
    )


def given_columns(segment: Segment, reference: str | None, settings: BatchSettings) -> dict[str, str]:
    """The columns of every page of a segment: source, reference, and their languages and directions."""
    columns = {
        "segment": segment.id,
        **language_columns(segment.language or settings.source_language, settings.target_language),
        "source": readable(segment.text, segment.language or settings.source_language),
    }
    if reference is not None:
        columns["reference"] = readable(reference, settings.target_language)
        columns["hidden_reference"] = "" if reference.strip() else "hidden"
    return columns


def shown(text: str, nothing: str, language: str = "") -> str:
    """A candidate as HTML, as people read it; an empty one is marked as empty."""
    return readable(text, language) if text.strip() else f'<i class="empty">{escape(nothing)}</i>'


def half_of(count: int, rng: np.random.Generator) -> list[bool]:
    """True for half of ``count`` in a random order; of an odd number, for one more or one less than False.

    >>> sorted(half_of(4, np.random.default_rng(1))), sum(half_of(5, np.random.default_rng(1))) in (2, 3)
    ([False, False, True, True], True)
    """
    start = int(rng.integers(2))
    return [bool((start + i) % 2) for i in rng.permutation(count)]
