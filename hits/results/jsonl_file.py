"""All that hits brought back as JSONL: assignments with their payments.

    export_answers(results, stream)   →   import_answers(Results(another), "answers.jsonl")

Unlike a results CSV (`hits.results.csv_file`) it has everything, so two campaigns can be merged by it. Judgments that an
assignment gave come with it; segments, other judgments and exclusions are in the export of the database.
"""

import json
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
        assignments = list(results.assignments(batch))
    for a in assignments:
        record = {
            "assignment": a.id,
            **{name: getattr(a, name) for name in (*TEXTS, *TIMES, *TABLES)},
            "bonuses": [
                {"amount": str(b.amount), "reason": b.reason, "time": b.time} for b in paid.get(a.id, [])
            ],
        }
        stream.write(json.dumps(record, ensure_ascii=False) + "\n")
    return len(assignments)


def import_answers(results: Results, path: PathLike) -> Added:
    """Import such a file in one transaction: what another database knows of an assignment is joined with ours."""
    added = Added()
    with results.db.writing():
        for line, text in read_lines(path):
            try:
                if text.strip():
                    results.put_merged(*_read_record(parse_json(text)), added)
            except FormatError as error:
                raise InputError(path, line, str(error)) from None
        results.settle_weights()
    return added


def _read_record(record: Any) -> tuple[Assignment, list[Bonus]]:
    """One assignment and what was paid for it."""
    if not isinstance(record, dict) or "assignment" not in record:
        raise FormatError("expected an assignment")
    values: dict[str, Any] = {name: _text(record, name) for name in TEXTS}
    values |= {name: _seconds(record, name) for name in TIMES}
    for name in TABLES:
        table = values[name] = record.get(name, {})
        if not isinstance(table, dict) or not all(isinstance(text, str) for text in table.values()):
            raise FormatError(f"expected names and texts in the field {name}, found {table!r}")
    assignment = Assignment(_text(record, "assignment"), **values)
    paid = record.get("bonuses", [])
    if not isinstance(paid, list) or not all(isinstance(bonus, dict) for bonus in paid):
        raise FormatError(f"expected a list of payments in the field bonuses, found {paid!r}")
    return assignment, [
        Bonus(
            assignment.id, assignment.worker, _amount(bonus), _text(bonus, "reason"), _seconds(bonus, "time")
        )
        for bonus in paid
    ]


def _text(record: Record, name: str) -> str:
    text = record.get(name, "")
    if not isinstance(text, str):
        raise FormatError(f"expected text in the field {name}, found {text!r}")
    return text


def _seconds(record: Record, name: str) -> int | None:
    seconds = record.get(name)
    if seconds is None or (type(seconds) is int and 0 <= seconds < 10**12):
        return seconds
    raise FormatError(f"expected a whole number in the field {name}, found {seconds!r}")


def _amount(record: Record) -> Decimal:
    amount = money(_text(record, "amount"))
    if amount is None:
        raise FormatError(f"expected an amount of money, found {record.get('amount')!r}")
    return amount
