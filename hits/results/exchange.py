"""Assignments and ties as records, so that merging judgment databases and exporting them as JSONL lose nothing.

    {"assignment": "3X…", "hit": …, "batch": …, "item": …, "market": …, "worker": …, "status": …, "accepted": …,
     "submitted": …, "columns": {…}, "fields": {…}, "facts": {…}, "bonuses": [{"amount": …, "reason": …, "time": …}]}
    {"identical": "news-12", "batch": …, "system_a": …, "system_b": …, "count": 3}

Where two databases know an assignment, an approval stands above a rejection, which can be overturned, and this above
no decision; of two texts of one fact the one that sorts last stays. So the order of merging does not matter.
"""

import json
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

from hits.records import Answer, IdenticalPair
from hits.results.answers import Added, Bonus, Results
from hits.results.content import APPROVED, REJECTED, SUBMITTED, Assignment
from rypt.database.judgments import JudgmentDatabase
from rypt.records import Record
from rypt.text import FormatError

DECISIONS = (SUBMITTED, REJECTED, APPROVED)
WEIGHTS = """
    WITH given AS (
        SELECT j.segment, j.start, j.stop, j.phrase, j.worker, j.origin, j.label, j.repeat,
            CAST(a.status <> 'Rejected' AS REAL) AS weight
        FROM judgments AS j JOIN assignments AS a ON a.hit = j.origin AND a.worker = j.worker
        WHERE j.source IN ('hit', 'simulation') AND j.weight <> (a.status <> 'Rejected')
    )
    UPDATE judgments SET weight = given.weight FROM given
    WHERE judgments.segment = given.segment AND judgments.start = given.start AND judgments.stop = given.stop
        AND judgments.phrase = given.phrase AND judgments.worker = given.worker AND judgments.origin = given.origin
        AND judgments.label = given.label AND judgments.repeat = given.repeat
"""


class HitRecords:
    """The tables of `hits.results.schema` for `rypt.database.extensions`."""

    fields = ("assignment", "identical")

    def prepare(self, db: JudgmentDatabase) -> None:
        """Make the tables, or bring them up to date."""
        Results(db)

    def records(self, db: JudgmentDatabase) -> Iterator[Record]:
        """All assignments in the order in which they came, then all ties."""
        results = Results(db, as_it_is=True)
        paid: dict[str, list[dict[str, Any]]] = {}
        current = results.current
        rows = "SELECT assignment, amount, reason, time FROM bonuses ORDER BY assignment, number"
        for assignment, amount, reason, time in results.rows(rows) if current else ():
            paid.setdefault(assignment, []).append({"amount": amount, "reason": reason, "time": time})
        for given in results.assignments():
            yield _record(given, paid.get(given.answer.assignment, []))
        rows = "SELECT batch, segment, system_a, system_b, count FROM identical"
        for batch, segment, a, b, count in results.rows(rows) if current else ():
            yield {"identical": segment, "batch": batch, "system_a": a, "system_b": b, "count": count}

    def put(self, db: JudgmentDatabase, record: Record) -> bool:
        """Add one record; what another database knows of an assignment that is here is taken over."""
        results = Results(db, as_it_is=True)
        if "identical" in record:
            pair = IdenticalPair(*(_text(record, name) for name in ("identical", "system_a", "system_b")))
            return results.put_identical(_text(record, "batch"), [pair], _whole(record, "count") or 1) > 0
        assignment, bonuses = _assignment(record)
        added = Added()
        results.put(_joined(results, assignment), added)
        name = assignment.answer.assignment
        known = results.rows("SELECT count(*) FROM bonuses WHERE assignment = ?", [name])[0][0]
        if len(bonuses) > known:
            results.put_bonuses(name, bonuses)
        return added.assignments > 0

    def settle(self, db: JudgmentDatabase) -> None:
        """Let judgments of rejected work, and of no other, have weight 0."""
        db.db.conn.execute(WEIGHTS)


HIT_RECORDS = HitRecords()


def _record(given: Assignment, bonuses: list[dict[str, Any]]) -> dict[str, Any]:
    a = given.answer
    return {
        "assignment": a.assignment,
        "hit": a.hit,
        "batch": a.batch,
        "item": a.item,
        "market": given.market,
        "worker": a.worker,
        "status": given.status,
        "accepted": a.accepted,
        "submitted": a.submitted,
        "columns": dict(given.columns),
        "fields": dict(a.fields),
        "facts": dict(given.facts),
        "bonuses": bonuses,
    }


def _assignment(record: Record) -> tuple[Assignment, list[Bonus]]:
    batch, item, hit, name, worker = (_text(record, name) for name in ("batch", "item", "hit", "assignment", "worker"))
    times = _whole(record, "accepted"), _whole(record, "submitted")
    answer = Answer(batch, item, hit, name, worker, _texts(record, "fields"), *times)
    assignment = Assignment(
        answer, _texts(record, "columns"), _text(record, "status"), _texts(record, "facts"), _text(record, "market")
    )
    paid = record.get("bonuses", [])
    if not isinstance(paid, list) or not all(isinstance(each, dict) for each in paid):
        raise FormatError("expected a list of payments in the field bonuses")
    bonuses = [Bonus(answer.assignment, _money(b), _text(b, "reason"), _whole(b, "time")) for b in paid]
    return assignment, bonuses


def _joined(results: Results, assignment: Assignment) -> Assignment:
    """The assignment with what is known of it here, by rules that do not ask which came first."""
    a = assignment.answer
    rows = results.rows(
        "SELECT a.status, h.facts, a.facts FROM assignments AS a JOIN hits AS h ON h.id = a.hit WHERE a.id = ?",
        [a.assignment],
    )
    status, facts = assignment.status, dict(assignment.facts)
    for before, of_hit, of_work in rows:
        status = max(status, before, key=DECISIONS.index)
        for name, text in {**json.loads(of_hit), **json.loads(of_work)}.items():
            facts[name] = max(text, facts.get(name, ""))
    return Assignment(a, assignment.columns, status, facts, assignment.market)


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


def _whole(record: Record, name: str) -> int | None:
    value = record.get(name)
    if value is not None and (type(value) is not int or not 0 <= value < 10**12):
        raise FormatError(f"expected a whole number in the field {name}, found {value!r}")
    return value


def _money(record: Record) -> Decimal:
    try:
        amount = Decimal(_text(record, "amount"))
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or amount < 0:
        raise FormatError(f"expected an amount of money, found {record.get('amount')!r}")
    return amount
