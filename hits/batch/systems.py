"""Batches about systems' outputs: two candidates of a segment to compare, or five to rank.

Each system of a pair comes first in half of the pair's comparisons. Rankings draw systems so that all are shown about
equally often; they show different texts only, and a system with the text of one that is shown gets its rank.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from hits.batch.controls import Donors, control_count, damage
from hits.batch.markup import escape, language_columns, plain, readable
from hits.batch.page import batch_template, read_interface, without_long_pages
from hits.kinds import ranking_control
from hits.records import MAX_RANKED, Batch, BatchSettings, Choice, ControlKind, Item, Kind
from rypt.records import Segment
from rypt.text import InputError, PathLike, RyptError, plural, read_lines, tokenize
from rypt.texts.formats import original_texts, reader_of
from rypt.texts.nbest import read_list_of

Outputs = Mapping[str, Mapping[str, str]]  # system → segment → candidate
Match = tuple[str, str, str]  # segment and two systems
Slot = tuple[str, str]  # system (empty: made for a control) and candidate
SHORT_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Row(NamedTuple):
    """The candidates of one item; a control has the expected answer, and how that is known."""

    segment: Segment
    slots: Sequence[Slot]
    control: str = ""
    control_kind: str = ""


def make_system_batch(
    segments: Sequence[Segment],
    outputs: Outputs,
    settings: BatchSettings,
    *,
    matches: Iterable[Match] | None = None,
    references: Mapping[str, str] | None = None,
    control_share: float = 0.1,
    limit: int | None = None,
) -> Batch:
    """Compare systems two by two, or rank five (or as many as have different texts), by the kind of the settings.

    ``limit`` is the maximum number of questions, drawn at random; ``matches`` are the comparisons to ask instead.
    Nobody is asked to compare two candidates with the same text.
    """
    _check(segments, outputs, limit)
    rng = np.random.default_rng(settings.seed)
    ranking = settings.kind is Kind.RANKING
    notes: list[str] = []
    rows = list(
        _rankings(segments, outputs, limit, rng)
        if ranking
        else _comparisons(segments, outputs, matches, limit, notes, rng)
    )
    if not rows:
        raise RyptError(
            f"nothing to {'rank' if ranking else 'compare'}: no segment has two candidates that differ"
        )
    count = control_count(len(rows), control_share)
    texts = {s.id: [tokenize(of[s.id]) for of in outputs.values() if s.id in of] for s in segments}
    controls = list(_controls(rows, count, Donors(texts), ranking, rng))
    if len(controls) < count:
        notes.append(f"only {len(controls)} of {plural(count, 'control')} could be made")
    every = [*rows, *controls]
    slots = max(len(row.slots) for row in every) if ranking else 0
    interface = read_interface(
        settings.interface, settings.kind, settings.source_language, settings.target_language
    )
    numbers: Counter[str] = Counter()
    items = []
    for i in rng.permutation(len(every)):
        row, segment = every[i], every[i].segment.id
        numbers[segment] += 1
        reference = None if references is None else references.get(segment, "")
        name = f"{short_name(segment)}-{numbers[segment]}"
        columns = {"item": name, "segment": segment, **page_columns(row.segment, reference, settings)}
        columns |= _system_columns(row, outputs, settings, interface["empty"], slots)
        items.append(Item(name, columns))
    template = batch_template(settings.kind, interface, slots=slots, reference=references is not None)
    return without_long_pages(Batch(settings, tuple(items), template, notes=tuple(notes)))


def _check(segments: Sequence[Segment], outputs: Outputs, limit: int | None) -> None:
    if len(outputs) < 2:
        raise RyptError(f"expected the outputs of at least 2 systems, found {len(outputs)}")
    if limit is not None and limit < 1:
        raise RyptError(f"expected a limit of at least 1, found {limit}")
    names = {segment.id for segment in segments}
    for system, candidates in outputs.items():
        if not system.strip():
            raise RyptError("expected a name for each system, found an empty one")
        if unknown := [segment for segment in candidates if segment not in names]:
            raise RyptError(f"system {system}: segment {unknown[0]!r} is not in the source")


def _comparisons(
    segments: Sequence[Segment],
    outputs: Outputs,
    matches: Iterable[Match] | None,
    limit: int | None,
    notes: list[str],
    rng: np.random.Generator,
) -> Iterator[Row]:
    """Pairs of candidates in a random order; each system of a pair comes first in half of the pair's rows."""
    by_name = {segment.id: segment for segment in segments}
    if matches is None:
        pairs = combinations(sorted(outputs), 2)
        every = [(s, a, b) for a, b in pairs for s in by_name if s in outputs[a] and s in outputs[b]]
    else:
        every = [(s, min(a, b), max(a, b)) for s, a, b in matches]
    asked = [(s, a, b) for s, a, b in every if not same_text(outputs[a][s], outputs[b][s])]
    if same := len(every) - len(asked):
        notes.append(
            f"{same} of {plural(len(every), 'pair')} of candidates have the same text and are not asked about"
        )
    drawn = [asked[i] for i in rng.permutation(len(asked))[:limit]]
    counts = Counter((a, b) for _, a, b in drawn)
    turned = {pair: iter(half_of(count, rng)) for pair, count in counts.items()}
    for s, a, b in drawn:
        order = (b, a) if next(turned[a, b]) else (a, b)
        yield Row(by_name[s], [(system, outputs[system][s]) for system in order])


def _rankings(
    segments: Sequence[Segment], outputs: Outputs, limit: int | None, rng: np.random.Generator
) -> Iterator[Row]:
    """Five systems with different texts for each segment, those shown least so far first, ties by chance."""
    used: Counter[str] = Counter()
    rows = 0
    for i in rng.permutation(len(segments)):
        segment = segments[i]
        systems = [name for name in outputs if segment.id in outputs[name]]
        mixed = [systems[j] for j in rng.permutation(len(systems))]
        drawn: list[str] = []
        for system in sorted(mixed, key=lambda name: used[name]):
            text = outputs[system][segment.id]
            if len(drawn) < MAX_RANKED and not any(same_text(text, outputs[o][segment.id]) for o in drawn):
                drawn.append(system)
        if len(drawn) > 1 and rows != limit:
            rows += 1
            used.update({name for system in drawn for name in (system, *_same(segment.id, system, outputs))})
            yield Row(
                segment, [(drawn[j], outputs[drawn[j]][segment.id]) for j in rng.permutation(len(drawn))]
            )


def _same(segment: str, system: str, outputs: Outputs) -> list[str]:
    """The other systems with a system's text for a segment; none for a slot that belongs to no system."""
    return [
        name
        for name, texts in outputs.items()
        if system
        and name != system
        and segment in texts
        and same_text(outputs[system][segment], texts[segment])
    ]


def _controls(
    rows: Sequence[Row], count: int, donors: Donors, ranking: bool, rng: np.random.Generator
) -> Iterator[Row]:
    """Rows with a candidate and its copy, two of three times a damaged copy; half of these come first."""
    damaged_first = iter(half_of(sum(n % 3 < 2 for n in range(count)), rng))
    made = 0
    for i in rng.permutation(len(rows)):
        segment, slots = rows[i].segment, list(rows[i].slots[: MAX_RANKED - 1])
        at = int(rng.integers(len(slots)))
        system, text = slots[at]
        if made == count or not text.strip():
            continue
        damaged = damage(segment.id, text, donors, rng) if made % 3 < 2 else None
        slots = [*(slots if ranking else [slots[at]]), ("", text if damaged is None else damaged)]
        mixed = [slots[j] for j in rng.permutation(len(slots))]
        better = 1 + next(n for n, slot in enumerate(mixed) if slot[0] == system)
        copy = 1 + next(n for n, slot in enumerate(mixed) if not slot[0])
        if damaged is not None and next(damaged_first) is not (copy < better):
            mixed[better - 1], mixed[copy - 1] = mixed[copy - 1], mixed[better - 1]
            better, copy = copy, better
        made += 1
        kind = ControlKind.IDENTICAL if damaged is None else ControlKind.DAMAGED
        if ranking:
            expected = ranking_control("equal" if damaged is None else "better", better, copy)
        else:
            expected = str(Choice.EQUAL if damaged is None else Choice.A if better == 1 else Choice.B)
        yield Row(segment, mixed, expected, kind)


def page_columns(segment: Segment, reference: str | None, settings: BatchSettings) -> dict[str, str]:
    """The columns of every page of a segment: source, reference, and their languages and directions."""
    source_language = segment.language or settings.source_language
    columns = {
        **language_columns(source_language, settings.target_language),
        "source": readable(segment.text, source_language),
    }
    if reference is not None:
        columns["reference"] = readable(reference, settings.target_language)
        columns["hidden_reference"] = "" if reference.strip() else "hidden"
    return columns


def _system_columns(
    row: Row, outputs: Outputs, settings: BatchSettings, empty: str, slots: int
) -> dict[str, str]:
    """The columns of each candidate: sides a and b of a comparison, or the slots of a ranking, used or not."""
    columns = {"control": str(row.control), "control_kind": str(row.control_kind)}
    if slots:
        columns["size"] = str(len(row.slots))
    names = [str(n) for n in range(1, slots + 1)] or ["a", "b"]
    for name, (system, text) in zip(names, row.slots, strict=False):
        columns[f"system_{name}"] = system
        columns[f"candidate_{name}"] = plain(text)
        columns[f"text_{name}"] = candidate_html(text, empty, settings.target_language)
        if slots:
            same = _same(row.segment.id, system, outputs)
            columns |= {
                f"same_{name}": json.dumps(same, ensure_ascii=False) if same else "",
                f"hidden_{name}": "",
            }
    for name in names[len(row.slots) :]:
        columns |= {f"{part}_{name}": "" for part in ("system", "candidate", "text", "same")}
        columns[f"hidden_{name}"] = "hidden disabled"
    return columns


def candidate_html(text: str, empty: str, language: str = "") -> str:
    """A candidate as HTML, as people read it; ``empty`` stands for one without words."""
    return readable(text, language) if text.strip() else f'<i class="empty">{escape(empty)}</i>'


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
    for _, raw in read_list_of(path, list(firsts), lines=lines):
        if firsts[raw.segment] is None:
            firsts[raw.segment] = originals.get((raw.segment, raw.text), raw.text)
    texts = {name: text for name, text in firsts.items() if text is not None}
    missing = next((name for name in firsts if name not in texts), None)
    if missing is not None:
        raise InputError(
            path, None, f"expected a candidate of every segment, found none of segment {missing}"
        )
    return texts


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
        if SHORT_NAME.fullmatch(segment)
        else hashlib.sha256(segment.encode("utf-8", "replace")).hexdigest()[:12]
    )


def half_of(count: int, rng: np.random.Generator) -> list[bool]:
    """True for half of ``count`` in a random order; of an odd number, for one more or one less than False.

    >>> sorted(half_of(4, np.random.default_rng(1))), sum(half_of(5, np.random.default_rng(1))) in (2, 3)
    ([False, False, True, True], True)
    """
    start = int(rng.integers(2))
    return [bool((start + i) % 2) for i in rng.permutation(count)]
