"""What the requester sees of an answer to review: the source, each text with its answer, controls, the time."""

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from hits.records import MAX_ALTERNATIVES, MAX_RANKED, Kind
from hits.results.verdicts import Limits
from hits.server.questions.safe_html import cleaner
from hits.simulated import is_simulated


@dataclass(frozen=True, slots=True)
class AnsweredPart:
    """One question of a page: what it is about, the answer, and for a control the expected one."""

    text: Markup
    answer: str
    expected: str = ""

    @property
    def outcome(self) -> str:
        """``right`` or ``wrong`` for a control, else nothing."""
        if not self.expected:
            return ""
        graded = self.answer.startswith("NO_") and self.answer != "NOT_SURE" and self.expected == "NO"
        return "right" if graded or self.answer == self.expected else "wrong"


@dataclass(frozen=True, slots=True)
class AnsweredPage:
    """An answered page of a batch that is known; ``fast`` where the answers took hardly any time."""

    source: Markup
    parts: tuple[AnsweredPart, ...]
    comment: str
    fast: bool


def answered_page(
    columns: Mapping[str, str], fields: Mapping[str, str], kind: Kind, worker: str, seconds: int
) -> AnsweredPage:
    """The page of an item as it was answered."""
    parts = READERS[kind](columns, fields)
    pace = seconds / max(len(parts), 1)
    fast = pace < Limits().seconds_look and not is_simulated(worker)
    return AnsweredPage(_html(columns.get("source", "")), parts, fields.get("comment", ""), fast)


def _html(text: str) -> Markup:
    """HTML of a batch's column, made safe once more: the file may have been edited."""
    return Markup(cleaner().clean(text))


def _labels(columns: Mapping[str, str], fields: Mapping[str, str]) -> tuple[AnsweredPart, ...]:
    return tuple(
        AnsweredPart(
            _html(columns.get(f"text_{n}") or columns[f"phrase_{n}"]),
            fields.get(f"label_{n}", ""),
            columns.get(f"control_{n}", ""),
        )
        for n in range(1, MAX_ALTERNATIVES + 1)
        if columns.get(f"phrase_{n}")
    )


def _comparison(columns: Mapping[str, str], fields: Mapping[str, str]) -> tuple[AnsweredPart, ...]:
    sides = Markup("<b>A</b> {} <b>B</b> {}").format(
        _html(columns.get("text_a", "")), _html(columns.get("text_b", ""))
    )
    return (AnsweredPart(sides, fields.get("choice", ""), columns.get("control", "")),)


def _ranking(columns: Mapping[str, str], fields: Mapping[str, str]) -> tuple[AnsweredPart, ...]:
    return tuple(
        AnsweredPart(_html(columns.get(f"text_{n}", "")), fields.get(f"rank_{n}", ""))
        for n in range(1, MAX_RANKED + 1)
        if columns.get(f"text_{n}")
    )


READERS = {Kind.LABEL: _labels, Kind.COMPARISON: _comparison, Kind.RANKING: _ranking}
