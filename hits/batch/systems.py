"""Systems' outputs: for each system its candidate for each segment, as comparisons and rankings show them."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np

from hits.batch.controls import Donors, control_count, damage
from hits.batch.markup import escape, language_columns, plain, readable
from hits.batch.page import batch_template, fit, read_interface
from hits.kinds import ranking_control
from hits.records import MAX_RANKED, Batch, BatchSettings, Choice, ControlKind, IdenticalPair, Item, Kind
from rypt.records import Segment
from rypt.text import InputError, PathLike, RyptError, plural, read_lines, tokenize
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


Slot = tuple[str, str]  # system (empty: made for a control) and candidate
RankingRow = tuple[Segment, list[Slot], str, str]  # with the control and its kind


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
    controls = _ranking_controls(segments, outputs, rows, count, rng)
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
        items.append(_ranking_item(name, given, shown_slots, same, slots, control, kind, interface["empty"]))
    template = batch_template(Kind.RANKING, interface, slots=slots, reference=references is not None)
    return fit(Batch(settings, tuple(items), template, _identical(segments, outputs, seen), tuple(notes)))


def _rows(
    segments: Sequence[Segment],
    outputs: Outputs,
    per_segment: int,
    limit: int | None,
    rng: np.random.Generator,
) -> tuple[list[RankingRow], set[tuple[str, str]]]:
    """What is asked, and which systems' candidates were drawn for which segments, asked or not."""
    rows: list[RankingRow] = []
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


def _ranking_controls(
    segments: Sequence[Segment],
    outputs: Outputs,
    rows: Sequence[RankingRow],
    count: int,
    rng: np.random.Generator,
) -> list[RankingRow]:
    """Rows again in which one slot is a copy of another, or a damaged copy; two of three are damaged.

    Half of the damaged ones stand before the undamaged candidate.
    """
    donors = Donors(
        {s.id: [tokenize(texts[s.id]) for texts in outputs.values() if s.id in texts] for s in segments}
    )
    controls: list[RankingRow] = []
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


def _ranking_item(
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
