"""All that hits brought back as JSONL: assignments with their payments.

    export_answers(results, stream)   →   import_answers(Results(another), "answers.jsonl")

Unlike a results CSV (`hits.results.csv_file`) it has everything, so two campaigns can be merged by it. Judgments that an
assignment gave come with it; segments, other judgments and exclusions are in the export of the database.
"""

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any, TextIO

from hits.records import Assignment, Bonus
from hits.results.answers import Added, Results
from rypt.options import money
from rypt.records import Record
from rypt.strict import parse_json
from rypt.text import FormatError, InputError, PathLike, read_lines

TEXTS = ("hit", "batch", "item", "market", "worker", "status")
TIMES = ("accepted", "submitted")
TABLES = ("columns", "fields", "facts")


def export_answers(results: Results, stream: TextIO, *, batch: str | None = None) -> int:
    """Write the assignments of a batch, or all, in the order in which they came; return the number of records."""
    with results.db.snapshot():
        paid = results.bonuses()
        records = [assignment_record(a, paid.get(a.id, [])) for a in results.assignments(batch)]
    for record in records:
        stream.write(json.dumps(record, ensure_ascii=False) + "\n")
    return len(records)


def import_answers(results: Results, path: PathLike) -> Added:
    """Import such a file in one transaction: what another database knows of an assignment is joined with ours."""
    added = Added()
    with results.db.writing():
        for line, text in read_lines(path):
            try:
                if text.strip():
                    results.put_merged(*assignment_from_record(parse_json(text)), added)
            except FormatError as error:
                raise InputError(path, line, str(error)) from None
        results.settle_weights()
    return added


def assignment_record(a: Assignment, paid: list[Bonus]) -> dict[str, Any]:
    """An assignment as it is exported; `assignment_from_record` reads it back."""
    return {
        "assignment": a.id,
        **{name: getattr(a, name) for name in (*TEXTS, *TIMES)},
        **{name: dict(getattr(a, name)) for name in TABLES},
        "bonuses": [{"amount": str(b.amount), "reason": b.reason, "time": b.time} for b in paid],
    }


def assignment_from_record(record: Any) -> tuple[Assignment, list[Bonus]]:
    """Read one assignment and what was paid for it."""
    if not isinstance(record, dict) or "assignment" not in record:
        raise FormatError("expected an assignment")
    values: dict[str, Any] = {name: _text(record, name) for name in TEXTS}
    values |= {name: _seconds(record, name) for name in TIMES}
    for name in TABLES:
        table = values[name] = _field(
            record, name, {}, "names and texts", lambda value: isinstance(value, dict)
        )
        if not all(isinstance(text, str) for text in table.values()):
            raise FormatError(f"expected names and texts in the field {name}")
    paid = _field(record, "bonuses", [], "a list of payments", lambda value: isinstance(value, list))
    if not all(isinstance(each, dict) for each in paid):
        raise FormatError("expected a list of payments in the field bonuses")
    made = Assignment(_text(record, "assignment"), **values)
    return made, [
        Bonus(made.id, made.worker, _amount(b), _text(b, "reason"), _seconds(b, "time")) for b in paid
    ]


def _field(record: Record, name: str, absent: Any, what: str, right: Callable[[Any], bool]) -> Any:
    value = record.get(name, absent)
    if not right(value):
        raise FormatError(f"expected {what} in the field {name}, found {value!r}")
    return value


def _text(record: Record, name: str) -> str:
    return str(_field(record, name, "", "text", lambda value: isinstance(value, str)))


def _seconds(record: Record, name: str) -> int | None:
    def right(value: Any) -> bool:
        return value is None or (type(value) is int and 0 <= value < 10**12)

    seconds: int | None = _field(record, name, None, "a whole number", right)
    return seconds


def _amount(record: Record) -> Decimal:
    amount = money(_text(record, "amount"))
    if amount is None:
        raise FormatError(f"expected an amount of money, found {record.get('amount')!r}")
    return amount
