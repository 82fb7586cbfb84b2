"""The content of an answered assignment: labels, comparisons and outcomes of controls, by the item's columns."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import product

from hits.kinds import kind_of, parse_ranking_control, same_systems
from hits.records import (
    MAX_ALTERNATIVES,
    MAX_RANKED,
    REJECTED,
    Assignment,
    Choice,
    Comparison,
    ControlKind,
    Kind,
    Ranking,
)
from hits.simulated import is_simulated
from rypt.records import Judgment, Label, Span, parse_label
from rypt.text import FormatError
from rypt.texts.phrases import phrase_key

ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:@+-]{0,127}")


@dataclass(frozen=True, slots=True)
class LabelAnswer:
    """A worker's label of one alternative, None if left blank; ``control`` if the answer was known."""

    slot: int
    judgment: Judgment
    answered: bool
    control: bool


@dataclass(frozen=True, slots=True)
class ControlAnswer:
    """The outcome of a control; an ``answer`` left out is empty and not passed."""

    worker: str
    slot: int
    kind: str
    expected: str
    answer: str
    passed: bool


@dataclass(frozen=True, slots=True)
class Content:
    """The parsed content of an assignment.

    ``implied`` comparisons are those of systems that the page did not show because their text was another's.
    """

    kind: Kind
    size: int
    labels: tuple[LabelAnswer, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    controls: tuple[ControlAnswer, ...] = ()
    unanswered: int = 0
    implied: tuple[Comparison, ...] = ()

    def judgments(self) -> list[Judgment]:
        """The labels that are no controls; of two on one key the one further down the page."""
        last = {
            (a.judgment.segment, a.judgment.span, a.judgment.phrase): a.judgment
            for a in self.labels
            if a.answered and not a.control
        }
        return list(last.values())


def understand(assignment: Assignment, case: str = "lower") -> Content:
    """Read the form's fields by the item's columns; what cannot be read is a `FormatError`.

    Phrases become keys of a database with this ``case``.
    """
    if assignment.problem:
        raise FormatError(assignment.problem)
    for name, text in (("hit", assignment.hit), ("assignment", assignment.id), ("worker", assignment.worker)):
        if not ID.fullmatch(text):
            raise FormatError(f"expected a {name} id of letters and digits, found {text!r}")
    kind = kind_of(assignment.columns)
    if not assignment.columns.get("segment"):
        raise FormatError("expected a column segment, found nothing in it")
    return READERS[kind](assignment, case)


def _read_labels(assignment: Assignment, case: str) -> Content:
    columns = assignment.columns
    span = _span(columns)
    labels: list[LabelAnswer] = []
    controls: list[ControlAnswer] = []
    source = "simulation" if is_simulated(assignment.worker) else "hit"
    for slot in range(1, MAX_ALTERNATIVES + 1):
        phrase, given = columns.get(f"phrase_{slot}", ""), assignment.fields.get(f"label_{slot}", "").strip()
        if not phrase:
            continue
        label, severity = parse_label(given or "NOT_SURE")
        expected = columns.get(f"control_{slot}", "")
        judgment = Judgment(
            columns["segment"],
            span,
            phrase_key(phrase, case),
            label,
            assignment.worker,
            assignment.hit,
            source,
            assignment.submitted,
            float(assignment.status != REJECTED),
            severity,
        )
        labels.append(LabelAnswer(slot, judgment, bool(given), bool(expected)))
        if expected:
            right = bool(given) and label == Label.parse(expected)
            kind = columns.get(f"control_kind_{slot}") or ControlKind.REPEAT
            controls.append(
                ControlAnswer(assignment.worker, slot, kind, expected, str(label) if given else "", right)
            )
    blank = sum(not label.answered for label in labels)
    return Content(Kind.LABEL, len(labels), tuple(labels), controls=tuple(controls), unanswered=blank)


def _read_comparison(assignment: Assignment, case: str) -> Content:
    columns = assignment.columns
    given = assignment.fields.get("choice", "").strip().upper()
    if given not in ("", *Choice):
        raise FormatError(f"expected a choice A, B or EQUAL, found {given!r}")
    if expected := columns.get("control", ""):
        kind = columns.get("control_kind") or ControlKind.REPEAT
        control = ControlAnswer(assignment.worker, 1, kind, expected, given, given == expected)
        return Content(Kind.COMPARISON, 1, controls=(control,), unanswered=int(not given))
    a, b = columns["system_a"], columns["system_b"]
    if not given or not a or not b:
        return Content(Kind.COMPARISON, 1, unanswered=int(not given))
    made = Comparison(
        columns["segment"],
        a,
        b,
        Choice(given),
        assignment.worker,
        assignment.submitted,
        assignment.hit,
        assignment.id,
    )
    return Content(Kind.COMPARISON, 1, comparisons=(made,))


def _read_ranking(assignment: Assignment, case: str) -> Content:
    """A ranking's comparisons; slots left blank are left out, and so is the pair that is a control.

    A system with the text of a slot has the slot's rank.
    """
    columns = assignment.columns
    slots = [
        i for i in range(1, MAX_RANKED + 1) if columns.get(f"system_{i}") or columns.get(f"candidate_{i}")
    ]
    ranks = {slot: rank for slot in slots if (rank := _rank(assignment.fields.get(f"rank_{slot}", "")))}
    controls, pair = _ranking_control(columns, ranks, assignment.worker)
    ranking = Ranking(
        columns["segment"],
        tuple(str(slot) if columns.get(f"system_{slot}") else "" for slot in ranks),
        tuple(ranks.values()),
        assignment.worker,
        assignment.submitted,
        assignment.hit,
        assignment.id,
    )
    groups = {str(slot): (columns.get(f"system_{slot}", ""), *same_systems(columns, slot)) for slot in slots}
    made: list[Comparison] = []
    implied: list[Comparison] = []
    for c in ranking.comparisons():
        if {int(c.system_a), int(c.system_b)} == pair:
            continue
        shown, *rest = product(groups[c.system_a], groups[c.system_b])
        made.append(replace(c, system_a=shown[0], system_b=shown[1]))
        implied += [replace(c, system_a=a, system_b=b) for a, b in rest]
    blank = len(slots) - len(ranks)
    return Content(
        Kind.RANKING,
        len(slots),
        comparisons=tuple(made),
        controls=controls,
        unanswered=blank,
        implied=tuple(implied),
    )


def _rank(text: str) -> int | None:
    if not text.strip():
        return None
    if not re.fullmatch(f"[1-{MAX_RANKED}]", text.strip()):
        raise FormatError(f"expected a rank from 1 to {MAX_RANKED}, found {text!r}")
    return int(text)


def _ranking_control(
    columns: Mapping[str, str], ranks: Mapping[int, int], worker: str
) -> tuple[tuple[ControlAnswer, ...], set[int]]:
    """The outcome of the pair whose order is known, and its two slots."""
    expected = columns.get("control", "")
    if not expected:
        return (), set()
    relation, first, second = parse_ranking_control(expected)
    a, b = ranks.get(first), ranks.get(second)
    passed = a is not None and b is not None and (a < b if relation == "better" else a == b)
    answer = f"{a} {b}" if a is not None and b is not None else ""
    kind = columns.get("control_kind") or ControlKind.REPEAT
    return (ControlAnswer(worker, 1, kind, expected, answer, passed),), {first, second}


def _span(columns: Mapping[str, str]) -> Span:
    """``start`` and ``stop``, or ``first`` and ``last`` (included) as other people's batches may have."""

    def whole(name: str) -> int:
        if not re.fullmatch(r"[0-9]{1,9}", columns.get(name, "")):
            raise FormatError(
                f"expected a whole number in the column {name}, found {columns.get(name, '')!r}"
            )
        return int(columns[name])

    if columns.get("start", "") == "" and columns.get("first"):
        span = Span.inclusive(whole("first"), whole("last"))
    else:
        span = Span(whole("start"), whole("stop"))
    if span.start >= span.stop:
        raise FormatError(f"expected a span of at least one token, found {span}")
    return span


READERS: Mapping[Kind, Callable[[Assignment, str], Content]] = {
    Kind.LABEL: _read_labels,
    Kind.COMPARISON: _read_comparison,
    Kind.RANKING: _read_ranking,
}
