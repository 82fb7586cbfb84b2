"""The kinds of batch: columns of their items, default number of workers, time per answer, and words.

`KINDS` is the one place that lists them; whatever differs from kind to kind in a few words or numbers is asked there.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NamedTuple

from hits.records import MAX_ALTERNATIVES, MAX_RANKED, Choice, Kind
from rypt.records import Label
from rypt.text import FormatError

Row = Mapping[str, str]  # a line of batch.csv


class AnswerWords(NamedTuple):
    """What an answer is called: in the columns of a table, and in a sentence."""

    short: str
    words: str


LABELS = {label: AnswerWords(label, label) for label in ("YES", "NO")} | {
    "NOT_SURE": AnswerWords("?", "NOT SURE")
}
SIDES = {
    "A": AnswerWords("first", "the first text"),
    "B": AnswerWords("second", "the second text"),
    "EQUAL": AnswerWords("=", "equal"),
}


@dataclass(frozen=True, slots=True)
class KindRules:
    """The rules of one kind.

    ``unit`` is one answer in words, ``seconds`` its time until times were measured. An item that has all columns of
    ``known_by``, and a value in at least one of them, is of this kind. ``assignments`` is the default number of workers
    per item. ``columns`` are those that programs need; ``check`` raises a `FormatError` for a row that cannot be asked.
    ``answers`` are those that a worker can click, for the reports on workers; rankings are read as comparisons.
    """

    unit: str
    known_by: tuple[str, ...]
    assignments: int
    seconds: Decimal
    columns: tuple[str, ...]
    check: Callable[[Row], None]
    answers: Mapping[str, AnswerWords] = field(default_factory=dict)


def ranking_control(relation: str, first: int, second: int) -> str:
    """The control column of a ranking: slot ``first`` is ``better`` than slot ``second``, or ``equal`` to it."""
    return json.dumps({relation: [first, second]})


def parse_ranking_control(control: str) -> tuple[str, int, int]:
    """What a ranking's control column says: ``better`` or ``equal``, and two slots."""
    try:
        ((relation, (first, second)),) = json.loads(control).items()
    except (ValueError, TypeError, AttributeError, RecursionError):
        relation, first, second = "", 0, 0
    slots = [slot for slot in (first, second) if type(slot) is int and 1 <= slot <= MAX_RANKED]
    if relation not in ("better", "equal") or len(slots) != 2:
        raise FormatError(f'expected a control like {{"better": [1, 4]}}, found {control!r}')
    return relation, slots[0], slots[1]


def same_systems(columns: Mapping[str, str], slot: int) -> list[str]:
    """The systems whose text is that of a ranking's slot, by its column ``same_1`` …, a JSON list."""
    given = columns.get(f"same_{slot}", "")
    try:
        names = json.loads(given) if given else []
    except (ValueError, RecursionError):
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) and name.strip() for name in names):
        raise FormatError(
            f'expected a list of systems like ["x", "y"] in column same_{slot}, found {given!r}'
        )
    return names


def _whole(row: Row, name: str, least: int, most: int) -> int:
    text = row[name]
    if not (text.isascii() and text.isdigit() and len(text) < 10 and least <= int(text) <= most):
        raise FormatError(f"expected {name} as a number from {least} to {most}, found {text!r}")
    return int(text)


def _check_label(row: Row) -> None:
    start, stop = _whole(row, "start", 0, 10**6), _whole(row, "stop", 1, 10**6)
    if stop <= start:
        raise FormatError(f"expected a span of at least one token, found {start}-{stop}")
    for n in range(1, _whole(row, "size", 1, MAX_ALTERNATIVES) + 1):
        if not row.get(f"phrase_{n}", "").strip():
            raise FormatError(f"expected a phrase in column phrase_{n}, for size is {row['size']}")
        expected = row.get(f"control_{n}")
        if expected is None or (expected and expected not in Label.__members__):
            raise FormatError(
                f"expected YES, NO, NOT_SURE or nothing in column control_{n}, found {expected!r}"
            )


def _check_comparison(row: Row) -> None:
    if row["control"] and row["control"] not in Choice.__members__:
        raise FormatError(f"expected A, B, EQUAL or nothing in column control, found {row['control']!r}")
    if not row["control"] and not (row["system_a"] and row["system_b"]):
        raise FormatError("expected system_a and system_b, for the item is no control")


def _check_ranking(row: Row) -> None:
    size = _whole(row, "size", 2, MAX_RANKED)
    for n in range(1, size + 1):
        if f"system_{n}" not in row or not (row["control"] or row[f"system_{n}"]):
            raise FormatError(f"expected a system in column system_{n}, for size is {size}")
        same_systems(row, n)
    if row["control"]:
        _, first, second = parse_ranking_control(row["control"])
        if max(first, second) > size:
            raise FormatError(f"expected a control of slots 1 to {size}, found {row['control']}")


KINDS: Mapping[Kind, KindRules] = {
    Kind.LABEL: KindRules(
        unit="label",
        known_by=("phrase_1",),
        assignments=1,
        seconds=Decimal("8.4"),  # the paper's
        columns=("item", "segment", "start", "stop", "size", "phrase_1", "control_1"),
        check=_check_label,
        answers=LABELS,
    ),
    Kind.COMPARISON: KindRules(
        unit="comparison",
        known_by=("system_a", "system_b"),
        assignments=3,
        seconds=Decimal(30),
        columns=("item", "segment", "system_a", "system_b", "candidate_a", "candidate_b", "control"),
        check=_check_comparison,
        answers=SIDES,
    ),
    Kind.RANKING: KindRules(
        unit="ranked candidate",
        known_by=("system_1", "system_2"),
        assignments=1,
        seconds=Decimal(15),  # a candidate
        columns=("item", "segment", "size", "system_1", "system_2", "control"),
        check=_check_ranking,
        answers=SIDES,
    ),
}


def answer_words() -> dict[str, AnswerWords]:
    """What the answers of all kinds are called."""
    return {answer: words for rules in KINDS.values() for answer, words in rules.answers.items()}


def kind_of(columns: Row) -> Kind:
    """The kind of an item, by its columns.

    >>> kind_of({"system_a": "", "system_b": "online-w"})
    <Kind.COMPARISON: 'comparison'>
    """
    for kind, rules in KINDS.items():
        if all(name in columns for name in rules.known_by) and any(columns[name] for name in rules.known_by):
            return kind
    known = "; ".join(f"{' and '.join(rules.known_by)} for a {kind}" for kind, rules in KINDS.items())
    raise FormatError(f"expected the columns of an item: {known}")
