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
        "hit": a.hit,
        "batch": a.batch,
        "item": a.item,
        "market": a.market,
        "worker": a.worker,
        "status": a.status,
        "accepted": a.accepted,
        "submitted": a.submitted,
        "columns": dict(a.columns),
        "fields": dict(a.fields),
        "facts": dict(a.facts),
        "bonuses": [{"amount": str(b.amount), "reason": b.reason, "time": b.time} for b in paid],
    }


def assignment_from_record(record: Any) -> tuple[Assignment, list[Bonus]]:
    """Read one assignment and what was paid for it."""
    if not isinstance(record, dict) or "assignment" not in record:
        raise FormatError("expected an assignment")
    paid = record.get("bonuses", [])
    if not isinstance(paid, list) or not all(isinstance(each, dict) for each in paid):
        raise FormatError("expected a list of payments in the field bonuses")
    names = ("assignment", "hit", "worker", "status", "batch", "item")
    id, hit, worker, status, batch, item = (_text(record, name) for name in names)
    fields, columns, facts = (_texts(record, name) for name in ("fields", "columns", "facts"))
    times = _seconds(record, "accepted"), _seconds(record, "submitted")
    market = _text(record, "market")
    made = Assignment(id, hit, worker, fields, *times, status, batch, item, columns, facts, market)
    return made, [Bonus(id, worker, _amount(b), _text(b, "reason"), _seconds(b, "time")) for b in paid]


def _text(record: Record, name: str) -> str:
    value = record.get(name, "")
    if not isinstance(value, str):
        raise FormatError(f"expected text in the field {name}, found {value!r}")
    return value


def _texts(record: Record, name: str) -> dict[str, str]:
    value = record.get(name, {})
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise FormatError(f"expected names and texts in the field {name}")
    return value


def _seconds(record: Record, name: str) -> int | None:
    value = record.get(name)
    if value is not None and (type(value) is not int or not 0 <= value < 10**12):
        raise FormatError(f"expected a whole number in the field {name}, found {value!r}")
    return value


def _amount(record: Record) -> Decimal:
    amount = money(_text(record, "amount"))
    if amount is None:
        raise FormatError(f"expected an amount of money, found {record.get('amount')!r}")
    return amount
