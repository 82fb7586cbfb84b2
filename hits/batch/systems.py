"""Batches about systems' outputs: two candidates of a segment to compare, or five to rank.

Each system of a pair stands first in half of the pair's comparisons. Rankings draw systems so that all are shown about
equally often; they show different texts only, and a system with the text of one that is shown gets its rank.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from hits.batch.controls import Donors, control_count, damage
from hits.batch.markup import escape, language_columns, plain, readable
from hits.batch.page import batch_template, read_interface, without_long_pages
from hits.kinds import ranking_control
from hits.records import MAX_RANKED, Batch, BatchSettings, Choice, ControlKind, Item, Kind, same_text_note
from rypt.records import Segment
from rypt.text import InputError, PathLike, RyptError, plural, read_lines, tokenize
from rypt.texts.formats import original_texts, reader_of
from rypt.texts.nbest import not_in_source, read_list

Outputs = Mapping[str, Mapping[str, str]]  # system → segment → candidate
Slot = tuple[str, str]  # system (empty: made for a control) and candidate
SHORT_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Row(NamedTuple):
    """The candidates of one item; a control has what a careful worker answers, and how that is known."""

    segment: Segment
    slots: Sequence[Slot]
    control: str = ""
    control_kind: str = ""


def make_comparison_batch(
    segments: Sequence[Segment],
    outputs: Outputs,
    settings: BatchSettings,
    *,
    matches: Iterable[tuple[str, str, str]] | None = None,
    references: Mapping[str, str] | None = None,
    control_share: float = 0.1,
    limit: int | None = None,
) -> Batch:
    """Compare systems two by two, on every segment for which both have a candidate.

    ``matches`` (segment, system, system) asks exactly these instead. Nobody is asked about two candidates with the
    same text; a note counts them. ``limit`` is the maximum number of comparisons, drawn at random.
    """
    _check(segments, outputs, limit)
    rng = np.random.default_rng(settings.seed)
    questions = [
        (segment, (a, outputs[a][segment.id]), (b, outputs[b][segment.id]))
        for segment in segments
        for a, b in combinations(outputs, 2)
        if segment.id in outputs[a] and segment.id in outputs[b]
    ]
    if matches is not None:
        wanted = {(segment, frozenset((a, b))) for segment, a, b in matches}
        questions = [(s, a, b) for s, a, b in questions if (s.id, frozenset((a[0], b[0]))) in wanted]
    asked = []
    same = 0
    for i in rng.permutation(len(questions)):
        segment, a, b = questions[i]
        if same_text(a[1], b[1]):
            same += 1
            continue
        asked.append((segment, *sorted((a, b))))
        if len(asked) == limit:
            break
    if not asked:
        raise RyptError("nothing to compare: no segment has two candidates that differ")
    pairs = Counter((a[0], b[0]) for _, a, b in asked)
    turned = {pair: iter(half_of(count, rng)) for pair, count in pairs.items()}
    rows = [Row(segment, (b, a) if next(turned[a[0], b[0]]) else (a, b)) for segment, a, b in asked]
    count = control_count(len(rows), control_share)
    controls = _comparison_controls(segments, outputs, count, rng)
    notes = [same_text_note(same, same + len(asked))] if same else []
    return _batch(settings, rows, controls, count, references, notes, rng)


def make_ranking_batch(
    segments: Sequence[Segment],
    outputs: Outputs,
    settings: BatchSettings,
    *,
    references: Mapping[str, str] | None = None,
    control_share: float = 0.1,
    limit: int | None = None,
) -> Batch:
    """Rank five systems an item, or fewer where fewer texts differ; ``limit`` is the most items without controls.

    The systems with the text of a slot stand in its column ``same_1`` …, and get its rank, as in WMT's campaigns.
    """
    _check(segments, outputs, limit)
    rng = np.random.default_rng(settings.seed)
    rows: list[Row] = []
    used: Counter[str] = Counter()
    for i in rng.permutation(len(segments)):
        if len(rows) == limit:
            break
        segment = segments[i]
        drawn = _least_used(segment.id, outputs, used, rng)
        if len(drawn) > 1:
            used.update(
                {name for system, _ in drawn for name in (system, *_same(segment.id, system, outputs))}
            )
            rows.append(Row(segment, [drawn[j] for j in rng.permutation(len(drawn))]))
    if not rows:
        raise RyptError("nothing to rank: no segment has two candidates that differ")
    count = control_count(len(rows), control_share)
    controls = _ranking_controls(segments, outputs, rows, count, rng)
    return _batch(settings, rows, controls, count, references, [], rng, outputs)


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


def _least_used(segment: str, outputs: Outputs, used: Counter[str], rng: np.random.Generator) -> list[Slot]:
    """Five systems with different texts, those shown least so far first, ties by chance."""
    systems = list(outputs)
    mixed = [systems[i] for i in rng.permutation(len(systems))]
    drawn: list[Slot] = []
    for system in sorted(mixed, key=lambda name: used[name]):
        text = outputs[system].get(segment)
        if (
            text is not None
            and len(drawn) < MAX_RANKED
            and not any(same_text(text, other) for _, other in drawn)
        ):
            drawn.append((system, text))
    return drawn


def _same(segment: str, system: str, outputs: Outputs) -> list[str]:
    """The other systems with a system's text for a segment; none for a slot that belongs to no system."""
    if not system:
        return []
    text = outputs[system][segment]
    return [
        name
        for name, texts in outputs.items()
        if name != system and segment in texts and same_text(text, texts[segment])
    ]


def _donors(segments: Sequence[Segment], outputs: Outputs) -> Donors:
    return Donors(
        {s.id: [tokenize(texts[s.id]) for texts in outputs.values() if s.id in texts] for s in segments}
    )


def _comparison_controls(
    segments: Sequence[Segment], outputs: Outputs, count: int, rng: np.random.Generator
) -> list[Row]:
    """A candidate beside its damaged self, first in half of them, or beside itself; two of three are damaged."""
    donors = _donors(segments, outputs)
    by_name = {segment.id: segment for segment in segments}
    pool = [
        (name, system) for system, texts in outputs.items() for name, text in texts.items() if text.strip()
    ]
    drawn: list[tuple[Segment, Slot, str | None]] = []
    for i in rng.permutation(len(pool)) if pool else []:
        if len(drawn) == count:
            break
        name, system = pool[i]
        text = outputs[system][name]
        damaged = damage(name, tokenize(text), donors, rng) if len(drawn) % 3 < 2 else None
        drawn.append((by_name[name], (system, text), damaged))
    turned = iter(half_of(sum(damaged is not None for _, _, damaged in drawn), rng))
    controls = []
    for segment, slot, damaged in drawn:
        if damaged is None:
            controls.append(Row(segment, (slot, ("", slot[1])), Choice.EQUAL, ControlKind.IDENTICAL))
        elif next(turned):
            controls.append(Row(segment, (("", damaged), slot), Choice.B, ControlKind.DAMAGED))
        else:
            controls.append(Row(segment, (slot, ("", damaged)), Choice.A, ControlKind.DAMAGED))
    return controls


def _ranking_controls(
    segments: Sequence[Segment], outputs: Outputs, rows: Sequence[Row], count: int, rng: np.random.Generator
) -> list[Row]:
    """Rows again in which one slot is a copy of another, or a damaged copy; two of three are damaged.

    Half of the damaged ones stand before the undamaged candidate.
    """
    donors = _donors(segments, outputs)
    controls: list[Row] = []
    damaged_first = iter(half_of(sum(i % 3 < 2 for i in range(count)), rng))
    for i in rng.permutation(len(rows)):
        if len(controls) == count:
            break
        segment = rows[i].segment
        originals = rows[i].slots[: MAX_RANKED - 1]
        system, text = originals[int(rng.integers(len(originals)))]
        damaged = damage(segment.id, tokenize(text), donors, rng) if len(controls) % 3 < 2 else None
        if not text.strip():
            continue
        slots = [*originals, ("", text if damaged is None else damaged)]
        mixed = [slots[j] for j in rng.permutation(len(slots))]
        first = 1 + next(n for n, slot in enumerate(mixed) if slot[0] == system)
        second = 1 + next(n for n, slot in enumerate(mixed) if not slot[0])
        if damaged is not None and next(damaged_first) is not (second < first):
            mixed[first - 1], mixed[second - 1] = mixed[second - 1], mixed[first - 1]
            first, second = second, first
        kind = ControlKind.IDENTICAL if damaged is None else ControlKind.DAMAGED
        relation = "equal" if damaged is None else "better"
        controls.append(Row(segment, mixed, ranking_control(relation, first, second), kind))
    return controls


def _batch(
    settings: BatchSettings,
    rows: Sequence[Row],
    controls: Sequence[Row],
    wanted: int,
    references: Mapping[str, str] | None,
    notes: list[str],
    rng: np.random.Generator,
    outputs: Outputs | None = None,
) -> Batch:
    """Rows and controls as items in a random order; ``outputs`` only for rankings."""
    if len(controls) < wanted:
        notes.append(f"only {len(controls)} of {plural(wanted, 'control')} could be made")
    every = [*rows, *controls]
    languages = settings.source_language, settings.target_language
    interface = read_interface(settings.interface, settings.kind, *languages)
    slots = max(len(row.slots) for row in every)
    numbers: Counter[str] = Counter()
    items = []
    for i in rng.permutation(len(every)):
        row = every[i]
        segment = row.segment.id
        numbers[segment] += 1
        reference = None if references is None else references.get(segment, "")
        columns = {"item": f"{short_name(segment)}-{numbers[segment]}", "segment": segment}
        page = page_columns(row.segment, reference, settings)
        if outputs is None:
            columns |= _comparison_columns(row, page, settings, interface["empty"])
        else:
            columns |= _ranking_columns(row, page, settings, interface["empty"], slots, outputs)
        items.append(Item(columns["item"], columns))
    slots = 0 if settings.kind is Kind.COMPARISON else slots
    template = batch_template(settings.kind, interface, slots=slots, reference=references is not None)
    return without_long_pages(Batch(settings, tuple(items), template, notes=tuple(notes)))


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


def _comparison_columns(
    row: Row, page: Mapping[str, str], settings: BatchSettings, empty: str
) -> dict[str, str]:
    (system_a, text_a), (system_b, text_b) = row.slots
    return {
        "system_a": system_a,
        "system_b": system_b,
        "candidate_a": plain(text_a),
        "candidate_b": plain(text_b),
        "control": str(row.control),
        "control_kind": str(row.control_kind),
        **page,
        "text_a": candidate_html(text_a, empty, settings.target_language),
        "text_b": candidate_html(text_b, empty, settings.target_language),
    }


def _ranking_columns(
    row: Row, page: Mapping[str, str], settings: BatchSettings, empty: str, slots: int, outputs: Outputs
) -> dict[str, str]:
    columns = {
        "size": str(len(row.slots)),
        "control": row.control,
        "control_kind": str(row.control_kind),
        **page,
    }
    for n in range(1, slots + 1):
        used = n <= len(row.slots)
        system, text = row.slots[n - 1] if used else ("", "")
        same = _same(row.segment.id, system, outputs)
        columns |= {
            f"system_{n}": system,
            f"candidate_{n}": plain(text),
            f"same_{n}": json.dumps(same, ensure_ascii=False) if same else "",
            f"hidden_{n}": "" if used else "hidden disabled",
            f"text_{n}": candidate_html(text, empty, settings.target_language) if used else "",
        }
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
