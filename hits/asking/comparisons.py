"""Comparison batches: a source segment and two systems' candidates; each stands first in half of a pair's items."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
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
from hits.batches.controls import Donors, control_count, damage
from hits.batches.layout import batch_template, read_interface
from hits.batches.markup import plain
from hits.batches.page import fit
from hits.records import Batch, BatchSettings, Choice, ControlKind, IdenticalPair, Item, Kind
from rypt.records import Segment
from rypt.text import RyptError, plural, tokenize

Side = tuple[str, str]  # system (empty: made for a control) and candidate
Question = tuple[Segment, Side, Side]
Row = tuple[Segment, tuple[Side, Side], str, str]  # with the control and its kind


def make_comparison_batch(
    segments: Sequence[Segment],
    outputs: Outputs,
    settings: BatchSettings,
    *,
    pairs: Iterable[tuple[str, str]] | None = None,
    matches: Iterable[tuple[str, str, str]] | None = None,
    references: Mapping[str, str] | None = None,
    control_share: float = 0.1,
    limit: int | None = None,
) -> Batch:
    """Compare systems two by two, all pairs or those given, on every segment for which both have a candidate.

    ``matches`` (segment, system, system) asks exactly these instead. Pairs with the same text stand in
    ``identical``, and nobody is asked about them. ``limit`` is the maximum number of comparisons, drawn at random.
    """
    check_outputs(segments, outputs)
    check_limit(limit)
    rng = np.random.default_rng(settings.seed)
    chosen = list(pairs) if pairs is not None else list(combinations(outputs, 2))
    questions = _questions(segments, outputs, chosen)
    if matches is not None:
        wanted = {(segment, frozenset((a, b))) for segment, a, b in matches}
        questions = [(s, a, b) for s, a, b in questions if (s.id, frozenset((a[0], b[0]))) in wanted]
    asked, identical = _drawn(questions, limit, rng)
    if not asked:
        raise RyptError("nothing to compare: no segment has two candidates that differ")
    rows: list[Row] = [(segment, sides, "", "") for segment, sides in _sides(asked, rng)]
    count = control_count(len(rows), control_share)
    controls = _controls(segments, outputs, count, rng)
    notes = (
        [f"only {len(controls)} of {plural(count, 'control')} could be made"] if len(controls) < count else []
    )
    rows += controls
    interface = read_interface(
        settings.interface, Kind.COMPARISON, settings.source_language, settings.target_language
    )
    items = []
    numbers: dict[str, int] = {}
    for i in rng.permutation(len(rows)):
        segment, sides, control, kind = rows[i]
        numbers[segment.id] = numbers.get(segment.id, 0) + 1
        reference = None if references is None else references.get(segment.id, "")
        given = given_columns(segment, reference, settings)
        items.append(_item(given, numbers[segment.id], sides, control, kind, interface["empty"]))
    template = batch_template(Kind.COMPARISON, interface, slots=0, reference=references is not None)
    return fit(Batch(settings, tuple(items), template, identical, tuple(notes)))


def _questions(
    segments: Sequence[Segment], outputs: Outputs, pairs: Sequence[tuple[str, str]]
) -> list[Question]:
    """Every two candidates of a segment, those with the same text included."""
    for pair in pairs:
        for system in pair:
            if system not in outputs:
                raise RyptError(f"expected one of the systems {', '.join(outputs)}, found {system!r}")
        if pair[0] == pair[1]:
            raise RyptError(f"expected two systems to compare, found {pair[0]} twice")
    questions = []
    for segment in segments:
        for a, b in pairs:
            first, second = outputs[a].get(segment.id), outputs[b].get(segment.id)
            if first is not None and second is not None:
                questions.append((segment, (a, first), (b, second)))
    return questions


def _drawn(
    questions: Sequence[Question], limit: int | None, rng: np.random.Generator
) -> tuple[list[Question], tuple[IdenticalPair, ...]]:
    """Questions in a random order, up to a limit, and the pairs with the same text that were drawn on the way.

    So the share of these pairs in a batch is their share among the systems' outputs.
    """
    asked: list[Question] = []
    identical = []
    for i in rng.permutation(len(questions)):
        segment, (a, first), (b, second) = questions[i]
        if same_text(first, second):
            identical.append((i, IdenticalPair(segment.id, a, b)))
        else:
            asked.append(questions[i])
            if len(asked) == limit:
                break
    return asked, tuple(pair for _, pair in sorted(identical, key=lambda numbered: numbered[0]))


def _sides(
    questions: Sequence[Question], rng: np.random.Generator
) -> list[tuple[Segment, tuple[Side, Side]]]:
    """Each question's candidates as A and B: either system of a pair stands first in half of the pair's questions."""
    asked = Counter(frozenset((a[0], b[0])) for _, a, b in questions)
    turned = {pair: iter(half_of(count, rng)) for pair, count in asked.items()}
    sides = []
    for segment, *both in questions:
        a, b = sorted(both)
        sides.append((segment, (b, a) if next(turned[frozenset((a[0], b[0]))]) else (a, b)))
    return sides


def _controls(
    segments: Sequence[Segment], outputs: Outputs, count: int, rng: np.random.Generator
) -> list[Row]:
    """A candidate beside its damaged self, first in half of them, or beside itself; two of three are damaged."""
    donors = Donors(
        {s.id: [tokenize(texts[s.id]) for texts in outputs.values() if s.id in texts] for s in segments}
    )
    by_name = {segment.id: segment for segment in segments}
    pool = [
        (name, system) for system, texts in outputs.items() for name, text in texts.items() if text.strip()
    ]
    made: list[tuple[Segment, Side, str | None]] = []
    for i in rng.permutation(len(pool)) if pool else []:
        if len(made) == count:
            break
        name, system = pool[i]
        text = outputs[system][name]
        damaged = damage(name, tokenize(text), donors, rng) if len(made) % 3 < 2 else None
        made.append((by_name[name], (system, text), damaged))
    turned = iter(half_of(sum(damaged is not None for _, _, damaged in made), rng))
    controls: list[Row] = []
    for segment, side, damaged in made:
        if damaged is None:
            controls.append((segment, (side, ("", side[1])), Choice.EQUAL, ControlKind.IDENTICAL))
        elif next(turned):
            controls.append((segment, (("", damaged), side), Choice.B, ControlKind.DAMAGED))
        else:
            controls.append((segment, (side, ("", damaged)), Choice.A, ControlKind.DAMAGED))
    return controls


def _item(
    given: Mapping[str, str], number: int, sides: tuple[Side, Side], control: str, kind: str, nothing: str
) -> Item:
    name = f"{short_name(given['segment'])}-{number}"
    (system_a, text_a), (system_b, text_b) = sides
    columns = {
        "item": name,
        "segment": given["segment"],
        "system_a": system_a,
        "system_b": system_b,
        "candidate_a": plain(text_a),
        "candidate_b": plain(text_b),
        "control": str(control),
        "control_kind": str(kind),
        **given,
        "text_a": shown(text_a, nothing, given["target_lang"]),
        "text_b": shown(text_b, nothing, given["target_lang"]),
    }
    return Item(name, columns)
