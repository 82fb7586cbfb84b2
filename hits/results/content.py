"""The content of an answered assignment: labels, comparisons and outcomes of controls, by the item's columns."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations, product
from typing import NamedTuple

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
)
from hits.simulated import is_simulated
from rypt.records import Judgment, Label, Span, parse_label
from rypt.text import FormatError
from rypt.texts.phrases import phrase_key

ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:@+-]{0,127}")


class LabelAnswer(NamedTuple):
    """The label of one alternative, None if left blank; a ``control`` becomes no judgment."""

    slot: int
    segment: str
    start: int
    stop: int
    phrase: str
    label: Label | None
    control: bool
    severity: float | None


class Reply(NamedTuple):
    """One answer to one question by one worker, as the reports on workers see it.

    ``answer`` says what is meant (a label, the better system), ``shown`` what was clicked (a label, a side). A
    ``control`` says nothing about agreement with others, for it was made or chosen to be clear.
    """

    worker: str
    question: tuple[object, ...]
    answer: str
    shown: str
    control: bool = False


class ControlAnswer(NamedTuple):
    """The outcome of a control; an ``answer`` left out is empty and not passed."""

    slot: int
    kind: str
    expected: str
    answer: str
    passed: bool


@dataclass(frozen=True, slots=True)
class Content:
    """The parsed content of an assignment: ``size`` questions, of which some are ``unanswered``.

    ``implied`` comparisons are those of systems that the page did not show because their text was another's.
    """

    kind: Kind
    size: int
    unanswered: int
    labels: tuple[LabelAnswer, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    implied: tuple[Comparison, ...] = ()
    controls: tuple[ControlAnswer, ...] = ()


def read_content(assignment: Assignment, case: str = "lower") -> Content:
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


def judgments(assignment: Assignment, content: Content) -> list[Judgment]:
    """The labels that are no controls; of two on one key the one further down the page."""
    source = "simulation" if is_simulated(assignment.worker) else "hit"
    weight = float(assignment.status != REJECTED)
    last = {}
    for a in content.labels:
        if a.label is not None and not a.control:
            span, key = Span(a.start, a.stop), (a.segment, a.start, a.stop, a.phrase)
            origin = assignment.worker, assignment.hit, source, assignment.submitted
            last[key] = Judgment(a.segment, span, a.phrase, a.label, *origin, weight, a.severity)
    return list(last.values())


def replies(worker: str, content: Content) -> list[Reply]:
    """The answers of a page for the reports on workers; comparisons that follow from equal texts are left out."""
    labels = [
        Reply(worker, (a.segment, a.start, a.stop, a.phrase), a.label, a.label, a.control)
        for a in content.labels
        if a.label is not None
    ]
    return labels + [
        Reply(worker, (c.segment, *sorted((c.system_a, c.system_b))), c.preferred, c.choice)
        for c in content.comparisons
    ]


def _read_labels(assignment: Assignment, case: str) -> Content:
    columns = assignment.columns
    span = _span(columns)
    labels: list[LabelAnswer] = []
    controls: list[ControlAnswer] = []
    for slot in range(1, MAX_ALTERNATIVES + 1):
        phrase, text = columns.get(f"phrase_{slot}", ""), assignment.fields.get(f"label_{slot}", "").strip()
        if not phrase:
            continue
        label, severity = parse_label(text) if text else (None, None)
        expected = columns.get(f"control_{slot}", "")
        key = columns["segment"], *span, phrase_key(phrase, case)
        labels.append(LabelAnswer(slot, *key, label, bool(expected), severity))
        if expected:
            passed = label is Label.parse(expected)
            kind = columns.get(f"control_kind_{slot}") or ControlKind.REPEAT
            controls.append(ControlAnswer(slot, kind, expected, str(label or ""), passed))
    blank = sum(a.label is None for a in labels)
    return Content(Kind.LABEL, len(labels), blank, labels=tuple(labels), controls=tuple(controls))


def _read_comparison(assignment: Assignment, case: str) -> Content:
    columns = assignment.columns
    choice = assignment.fields.get("choice", "").strip().upper()
    if choice not in ("", *Choice):
        raise FormatError(f"expected a choice A, B or EQUAL, found {choice!r}")
    comparisons: tuple[Comparison, ...] = ()
    controls: tuple[ControlAnswer, ...] = ()
    a, b = columns["system_a"], columns["system_b"]
    if expected := columns.get("control", ""):
        controls = (_page_control(columns, expected, choice, passed=choice == expected),)
    elif choice and a and b:
        comparisons = (_comparison(assignment, a, b, Choice(choice)),)
    return Content(Kind.COMPARISON, 1, int(not choice), comparisons=comparisons, controls=controls)


def _comparison(of: Assignment, a: str, b: str, choice: Choice) -> Comparison:
    return Comparison(of.columns["segment"], a, b, choice, of.worker, of.submitted, of.hit, of.id)


def _page_control(columns: Mapping[str, str], expected: str, answer: str, *, passed: bool) -> ControlAnswer:
    """The outcome of a comparison's or ranking's only control."""
    kind = columns.get("control_kind") or ControlKind.REPEAT
    return ControlAnswer(1, kind, expected, answer, passed)


def _read_ranking(assignment: Assignment, case: str) -> Content:
    """A ranking's comparisons; slots left blank are left out, and so is the pair that is a control.

    A system with the text of a slot has the slot's rank. A slot without a system was made for a control.
    """
    columns = assignment.columns
    slots = [
        i for i in range(1, MAX_RANKED + 1) if columns.get(f"system_{i}") or columns.get(f"candidate_{i}")
    ]
    ranks = {slot: rank for slot in slots if (rank := _rank(assignment.fields.get(f"rank_{slot}", "")))}
    controls: tuple[ControlAnswer, ...] = ()
    control_pair: set[int] = set()
    if expected := columns.get("control", ""):
        relation, first, second = parse_ranking_control(expected)
        control_pair = {first, second}
        a, b = ranks.get(first), ranks.get(second)
        if a is None or b is None:
            answer, passed = "", False
        else:
            answer, passed = f"{a} {b}", a < b if relation == "better" else a == b
        controls = (_page_control(columns, expected, answer, passed=passed),)
    systems = {
        slot: (system, *same_systems(columns, slot))
        for slot in ranks
        if (system := columns.get(f"system_{slot}"))
    }
    asked: list[Comparison] = []
    implied: list[Comparison] = []
    for first, second in combinations(systems, 2):
        if {first, second} == control_pair:
            continue
        better, worse = ranks[first] < ranks[second], ranks[first] > ranks[second]
        choice = Choice.A if better else Choice.B if worse else Choice.EQUAL
        shown, *rest = (
            _comparison(assignment, a, b, choice) for a, b in product(systems[first], systems[second])
        )
        asked.append(shown)
        implied += rest
    blank = len(slots) - len(ranks)
    return Content(Kind.RANKING, len(slots), blank, (), tuple(asked), tuple(implied), controls)


def _rank(text: str) -> int | None:
    if not text.strip():
        return None
    if not re.fullmatch(f"[1-{MAX_RANKED}]", text.strip()):
        raise FormatError(f"expected a rank from 1 to {MAX_RANKED}, found {text!r}")
    return int(text)


def _span(columns: Mapping[str, str]) -> Span:
    """``start`` and ``stop``, or ``first`` and ``last`` (included) as other people's batches may have."""

    def whole(name: str) -> int:
        text = columns.get(name, "")
        if not re.fullmatch(r"[0-9]{1,9}", text):
            raise FormatError(f"expected a whole number in the column {name}, found {text!r}")
        return int(text)

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
