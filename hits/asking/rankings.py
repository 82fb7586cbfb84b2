"""Ranking batches: a source segment and five systems' candidates to be ranked, which makes ten comparisons."""

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations

import numpy as np

from hits.asking.outputs import (
    Outputs,
    check_limit,
    check_outputs,
    given_columns,
    half_of,
    same_text,
    short_name,
    shown,
)
from hits.batches.controls import Donors, control_count, damage, ranking_control
from hits.batches.layout import batch_template, read_interface
from hits.batches.markup import plain
from hits.batches.page import fit
from hits.records import MAX_RANKED, Batch, BatchSettings, ControlKind, IdenticalPair, Item, Kind
from rypt.records import Segment
from rypt.text import RyptError, plural, tokenize

Slot = tuple[str, str]  # system (empty: made for a control) and candidate
Row = tuple[Segment, list[Slot], str, str]  # with the control and its kind


def make_ranking_batch(
    segments: Sequence[Segment],
    outputs: Outputs,
    settings: BatchSettings,
    *,
    references: Mapping[str, str] | None = None,
    per_segment: int = 1,
    control_share: float = 0.1,
    limit: int | None = None,
) -> Batch:
    """Rank five systems an item, drawn so that all systems are shown about equally often.

    An item shows different texts only; where fewer than five are left, it shows fewer. A system with the text of one
    that is shown stands in ``same_1`` … and gets its rank, as in WMT's campaigns; that both are equal is in
    ``identical``, as it is for segments on which all systems agree. ``limit`` is the most items without controls.
    """
    check_outputs(segments, outputs)
    check_limit(limit)
    if per_segment < 1:
        raise RyptError(f"expected at least 1 item a segment, found {per_segment}")
    rng = np.random.default_rng(settings.seed)
    rows, seen = _rows(segments, outputs, per_segment, limit, rng)
    if not rows:
        raise RyptError("nothing to rank: no segment has two candidates that differ")
    count = control_count(len(rows), control_share)
    controls = _controls(segments, outputs, rows, count, rng)
    notes = (
        [f"only {len(controls)} of {plural(count, 'control')} could be made"] if len(controls) < count else []
    )
    rows += controls
    interface = read_interface(
        settings.interface, Kind.RANKING, settings.source_language, settings.target_language
    )
    items = []
    numbers: Counter[str] = Counter()
    slots = max(len(row[1]) for row in rows)
    for i in rng.permutation(len(rows)):
        segment, shown_slots, control, kind = rows[i]
        numbers[segment.id] += 1
        reference = None if references is None else references.get(segment.id, "")
        given = given_columns(segment, reference, settings)
        name = f"{short_name(segment.id)}-{numbers[segment.id]}"
        same = [_same(segment.id, system, outputs) for system, _ in shown_slots]
        items.append(_item(name, given, shown_slots, same, slots, control, kind, interface["empty"]))
    template = batch_template(Kind.RANKING, interface, slots=slots, reference=references is not None)
    return fit(Batch(settings, tuple(items), template, _identical(segments, outputs, seen), tuple(notes)))


def _rows(
    segments: Sequence[Segment],
    outputs: Outputs,
    per_segment: int,
    limit: int | None,
    rng: np.random.Generator,
) -> tuple[list[Row], set[tuple[str, str]]]:
    """What is asked, and which systems' candidates were drawn for which segments, asked or not."""
    rows: list[Row] = []
    seen: set[tuple[str, str]] = set()
    used: Counter[str] = Counter()
    for _ in range(per_segment):
        for i in rng.permutation(len(segments)):
            if limit is not None and len(rows) >= limit:
                return rows, seen
            drawn = _draw(segments[i].id, outputs, used, rng)
            drawn_systems = {
                name for system, _ in drawn for name in (system, *_same(segments[i].id, system, outputs))
            }
            seen |= {(segments[i].id, system) for system in drawn_systems}
            if len(drawn) > 1:
                used.update(drawn_systems)
                rows.append((segments[i], [drawn[j] for j in rng.permutation(len(drawn))], "", ""))
    return rows, seen


def _same(segment: str, system: str, outputs: Outputs) -> list[str]:
    """The other systems with a system's text for a segment; none for a slot that belongs to no system."""
    text = outputs[system][segment] if system else None
    if text is None:
        return []
    rest = [(name, texts[segment]) for name, texts in outputs.items() if name != system and segment in texts]
    return [name for name, other in rest if same_text(text, other)]


def _draw(segment: str, outputs: Outputs, used: Counter[str], rng: np.random.Generator) -> list[Slot]:
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


def _controls(
    segments: Sequence[Segment], outputs: Outputs, rows: Sequence[Row], count: int, rng: np.random.Generator
) -> list[Row]:
    """Rows again in which one slot is a copy of another, or a damaged copy; two of three are damaged.

    Half of the damaged ones stand before the undamaged candidate.
    """
    donors = Donors(
        {s.id: [tokenize(texts[s.id]) for texts in outputs.values() if s.id in texts] for s in segments}
    )
    controls: list[Row] = []
    damaged_first = iter(half_of(sum(i % 3 < 2 for i in range(count)), rng))
    for i in rng.permutation(len(rows)):
        if len(controls) == count:
            break
        segment, slots, _, _ = rows[i]
        kept = slots[: MAX_RANKED - 1]
        system, text = kept[int(rng.integers(len(kept)))]
        damaged = damage(segment.id, tokenize(text), donors, rng) if len(controls) % 3 < 2 else None
        if not text.strip():
            continue
        made = [*kept, ("", text if damaged is None else damaged)]
        mixed = [made[j] for j in rng.permutation(len(made))]
        first = 1 + next(n for n, slot in enumerate(mixed) if slot[0] == system)
        second = 1 + next(n for n, slot in enumerate(mixed) if not slot[0])
        if damaged is not None and next(damaged_first) is not (second < first):
            mixed[first - 1], mixed[second - 1] = mixed[second - 1], mixed[first - 1]
            first, second = second, first
        kind = ControlKind.IDENTICAL if damaged is None else ControlKind.DAMAGED
        relation = "equal" if damaged is None else "better"
        controls.append((segment, mixed, ranking_control(relation, first, second), kind))
    return controls


def _identical(
    segments: Sequence[Segment], outputs: Outputs, seen: Collection[tuple[str, str]]
) -> tuple[IdenticalPair, ...]:
    """Pairs with the same text among the candidates that were drawn."""
    return tuple(
        IdenticalPair(segment.id, a, b)
        for segment in segments
        for a, b in combinations([name for name in outputs if (segment.id, name) in seen], 2)
        if same_text(outputs[a][segment.id], outputs[b][segment.id])
    )


def _item(
    name: str,
    given: Mapping[str, str],
    slots: Sequence[Slot],
    same: Sequence[Sequence[str]],
    most: int,
    control: str,
    kind: str,
    nothing: str,
) -> Item:
    columns = {"item": name, "segment": given["segment"], "size": str(len(slots)), "control": control}
    columns |= {"control_kind": str(kind), **given}
    for n in range(1, most + 1):
        used = n <= len(slots)
        system, text = slots[n - 1] if used else ("", "")
        columns |= {
            f"system_{n}": system,
            f"candidate_{n}": plain(text),
            f"same_{n}": json.dumps(same[n - 1], ensure_ascii=False) if used and same[n - 1] else "",
            f"hidden_{n}": "" if used else "hidden disabled",
            f"text_{n}": shown(text, nothing, given["target_lang"]) if used else "",
        }
    return Item(name, columns)
