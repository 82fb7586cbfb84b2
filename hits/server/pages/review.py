"""What the requester sees of an answer to review: the source, each text with its answer, controls, the time."""

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from hits.kinds import parse_ranking_control
from hits.records import MAX_ALTERNATIVES, MAX_RANKED, Assignment, Kind
from hits.results.content import Content
from hits.results.verdicts import SECONDS_LOOK
from hits.server.question import cleaner


@dataclass(frozen=True, slots=True)
class AnsweredPart:
    """One question of a page: what it is about, the answer, and for a control whether it is right."""

    text: Markup
    answer: str
    expected: str = ""
    right: bool = True


@dataclass(frozen=True, slots=True)
class AnsweredPage:
    """An answered page of a known batch; ``fast`` where the answers took hardly any time."""

    source: Markup
    parts: tuple[AnsweredPart, ...]
    comment: str
    fast: bool


def answered_page(assignment: Assignment, content: Content) -> AnsweredPage:
    """The page of an item as it was answered."""
    columns, fields = assignment.columns, assignment.fields
    parts = tuple(PARTS[content.kind](columns, fields, content))
    pace = None if assignment.seconds is None else assignment.seconds / max(content.size, 1)
    fast = pace is not None and pace < SECONDS_LOOK
    return AnsweredPage(_html(columns.get("source", "")), parts, fields.get("comment", ""), fast)


def _html(text: str) -> Markup:
    """HTML of a batch's column, made safe once more: the file may have been edited."""
    return Markup(cleaner().clean(text))


def _labels(columns: Mapping[str, str], fields: Mapping[str, str], content: Content) -> list[AnsweredPart]:
    controls = {control.slot: control for control in content.controls}
    return [
        AnsweredPart(
            _html(columns.get(f"text_{n}") or columns[f"phrase_{n}"]),
            fields.get(f"label_{n}", ""),
            controls[n].expected if n in controls else "",
            n not in controls or controls[n].passed,
        )
        for n in range(1, MAX_ALTERNATIVES + 1)
        if columns.get(f"phrase_{n}")
    ]


def _comparison(
    columns: Mapping[str, str], fields: Mapping[str, str], content: Content
) -> list[AnsweredPart]:
    choice = fields.get("choice", "")
    sides = [
        Markup('<b>{}</b> <span class="{}">{}</span>').format(
            side, "chosen" if side == choice else "", _html(columns.get(f"text_{side.lower()}", ""))
        )
        for side in ("A", "B")
    ]
    right = all(control.passed for control in content.controls)
    return [AnsweredPart(Markup(" ").join(sides), choice, columns.get("control", ""), right)]


def _ranking(columns: Mapping[str, str], fields: Mapping[str, str], content: Content) -> list[AnsweredPart]:
    parts = [
        AnsweredPart(_html(columns.get(f"text_{n}", "")), fields.get(f"rank_{n}", ""))
        for n in range(1, MAX_RANKED + 1)
        if columns.get(f"text_{n}")
    ]
    for control in content.controls:
        relation, first, second = parse_ranking_control(control.expected)
        expected = f"{first} {'before' if relation == 'better' else 'equal to'} {second}"
        text = Markup("Texts {} and {}").format(first, second)
        answer = " and ".join(control.answer.split()) or "–"
        parts.append(AnsweredPart(text, answer, expected, control.passed))
    return parts


PARTS = {Kind.LABEL: _labels, Kind.COMPARISON: _comparison, Kind.RANKING: _ranking}
