"""Answers become judgments and comparisons in the campaign's database, each exactly once.

    Results(db).add([Assignment(answer, item.columns)])   →   db.votes(), results.comparisons()

A judgment's ``origin`` is its hit and its ``source`` is ``hit``; a worker does a hit once, so hit and worker name the
assignment. Everything stays: a later answer of the same worker to the same question is what counts, by the views
``counted`` and ``counted_comparisons``. The judgments of rejected work have weight 0 and do not count. Controls never
become judgments; their outcome is kept. Systems with the same text for a segment are tied, and nobody is asked.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from hits.records import Answer, Choice, Comparison, IdenticalPair
from hits.results.content import REJECTED, STATUSES, SUBMITTED, Assignment, Content, ControlAnswer, understand
from hits.results.schema import SCRIPTS, applied, prepare
from rypt.database.judgments import COLUMNS, KEEP_BOTH, JudgmentDatabase
from rypt.text import FormatError, is_one_line

HIT_FACTS = (
    "HITTypeId", "Title", "Description", "Keywords", "Reward", "CreationTime", "MaxAssignments", "RequesterAnnotation",
    "AssignmentDurationInSeconds", "AutoApprovalDelayInSeconds", "Expiration", "NumberOfSimilarHITs",
    "LifetimeInSeconds",
)  # fmt: skip
INSERT_JUDGMENT = f"INSERT INTO judgments ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?) {KEEP_BOTH}"


@dataclass(frozen=True, slots=True)
class Bonus:
    """One payment besides the reward of an assignment."""

    assignment: str
    amount: Decimal
    reason: str
    time: int | None = None


@dataclass(slots=True)
class Added:
    """What became of assignments."""

    assignments: int = 0
    already: int = 0
    judgments: int = 0
    comparisons: int = 0
    controls: int = 0
    unanswered: int = 0


class Results:
    """The hits, assignments, comparisons and controls in a judgment database.

    Tables are made when missing, and brought up to date, unless ``as_it_is``.
    """

    def __init__(self, db: JudgmentDatabase, *, as_it_is: bool = False) -> None:
        self.db = db
        self.there = applied(db) > 0 if as_it_is else prepare(db)
        self.current = self.there and applied(db) == len(SCRIPTS)
        self._tokens: dict[str, int] = {}

    def add(self, assignments: Iterable[Assignment]) -> Added:
        """Add assignments, all in one transaction: give one at a time where each shall stand alone."""
        added = Added()
        with self.db.writing():
            for assignment in assignments:
                self.put(assignment, added)
        return added

    def put(self, assignment: Assignment, added: Added) -> None:
        """Inside a transaction: add one assignment, or bring the status of one that is there up to date."""
        content = understand(assignment, self.db.case)
        if self._is_there(assignment):
            added.already += 1
            return
        self._check_place(content)
        self._put_hit(assignment, content)
        self._put_assignment(assignment)
        judgments = content.judgments()
        self.db.db.conn.executemany(INSERT_JUDGMENT, map(self.db.row, judgments))
        self._put_content(assignment.answer.assignment, content)
        added.assignments += 1
        added.judgments += len(judgments)
        added.comparisons += len(content.comparisons) + len(content.implied)
        added.controls += len(content.controls)
        added.unanswered += content.unanswered

    def _is_there(self, assignment: Assignment) -> bool:
        """Whether it was added before; then it must be the same, and its status and facts may be newer."""
        a = assignment.answer
        row = self._one("SELECT hit, worker, fields FROM assignments WHERE id = ?", a.assignment)
        if row is None:
            other = self._one("SELECT id FROM assignments WHERE hit = ? AND worker = ?", a.hit, a.worker)
            if other:
                raise FormatError(f"worker {a.worker} did hit {a.hit} before, in assignment {other[0]}")
            return False
        hit, worker, fields = row
        if (hit, worker, _filled(json.loads(fields))) != (a.hit, a.worker, _filled(a.fields)):
            raise FormatError(f"assignment {a.assignment} is there with another hit, worker or answer")
        self._update_hit(a.hit, assignment.facts)
        self._update(a.assignment, assignment.status, assignment.facts)
        return True

    def _check_place(self, content: Content) -> None:
        for segment, span in {(a.judgment.segment, a.judgment.span) for a in content.labels}:
            if segment not in self._tokens:
                self._tokens = {s.id: len(s.tokens) for s in self.db.segments()}
            if segment not in self._tokens:
                raise FormatError(f"segment {segment!r} is not in the database")
            if span.stop > (tokens := self._tokens[segment]):
                raise FormatError(f"span {span} is outside segment {segment}, which has {tokens} tokens")

    def _put_hit(self, assignment: Assignment, content: Content) -> None:
        a = assignment.answer
        row = self._one("SELECT columns FROM hits WHERE id = ?", a.hit)
        if row is not None:
            if _filled(json.loads(row[0])) != _filled(assignment.columns):
                raise FormatError(f"hit {a.hit} is there with another item")
            self._update_hit(a.hit, assignment.facts)
            return
        facts = {name: assignment.facts[name] for name in HIT_FACTS if assignment.facts.get(name)}
        item = a.item or assignment.columns.get("item", "")
        market = assignment.market or ("local" if a.batch else "mturk")
        texts = (_json(assignment.columns), _json(facts), market)
        values = (a.hit, a.batch, item, str(content.kind), content.size, *texts)
        self._do("INSERT INTO hits VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)", values)

    def _update_hit(self, hit: str, facts: Mapping[str, str]) -> None:
        """What the market says of a hit may change: it expires, or more assignments are asked for."""
        (known,) = self._one("SELECT facts FROM hits WHERE id = ?", hit)
        newer = {name: facts[name] for name in HIT_FACTS if facts.get(name)}
        if (merged := _json({**json.loads(known), **newer})) != known:
            self._do("UPDATE hits SET facts = ? WHERE id = ?", (merged, hit))

    def _put_assignment(self, assignment: Assignment) -> None:
        a = assignment.answer
        facts = {name: text for name, text in assignment.facts.items() if text and name not in HIT_FACTS}
        values = (
            a.assignment, a.hit, a.worker, assignment.status, a.accepted, a.submitted, assignment.seconds,
            _json(a.fields), _json(facts),
        )  # fmt: skip
        self._do("INSERT INTO assignments VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)

    def _put_content(self, assignment: str, content: Content) -> None:
        for a in content.labels:
            j = a.judgment
            label = str(j.label) if a.answered else None
            values = (assignment, a.slot, j.segment, *j.span, j.phrase, label, a.control)
            self._do("INSERT INTO label_answers VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
        for number, c in enumerate((*content.comparisons, *content.implied), start=1):
            row = (assignment, number, c.segment, c.system_a, c.system_b, str(c.choice))
            self._do("INSERT INTO comparisons VALUES (?, ?, ?, ?, ?, ?, ?)", (*row, number > len(content.comparisons)))
        for k in content.controls:
            self._do(
                "INSERT INTO controls VALUES (?, ?, ?, ?, ?, ?)",
                (assignment, k.slot, k.kind, k.expected, k.answer, k.passed),
            )

    def add_identical(self, batch: str, pairs: Iterable[IdenticalPair], count: int) -> int:
        """Let systems with the same text be tied, ``count`` times each, as often as others are asked; how many are new.

        The ties of several batches on one segment are the same ties.
        """
        with self.db.writing():
            return self.put_identical(batch, pairs, count)

    def put_identical(self, batch: str, pairs: Iterable[IdenticalPair], count: int) -> int:
        """The same inside a transaction."""
        before = self._one("SELECT count(*) FROM identical")[0]
        for pair in pairs:
            values = (batch, pair.segment, *sorted((pair.system_a, pair.system_b)), count)
            self._do("INSERT OR IGNORE INTO identical VALUES (?, ?, ?, ?, ?)", values)
        return int(self._one("SELECT count(*) FROM identical")[0] - before)

    def add_bonuses(self, payments: Iterable[tuple[str, Sequence[Bonus]]]) -> None:
        """Assignments and all bonuses paid for each so far, in the order of payment; others stay as they are."""
        given = list(payments)
        if given:
            with self.db.writing():
                for assignment, paid in given:
                    self.put_bonuses(assignment, paid)

    def put_bonuses(self, assignment: str, paid: Sequence[Bonus]) -> None:
        """The same inside a transaction; an assignment that is not here has none."""
        if self._one("SELECT 1 FROM assignments WHERE id = ?", assignment) is None:
            return
        self._do("DELETE FROM bonuses WHERE assignment = ?", (assignment,))
        for number, bonus in enumerate(paid, start=1):
            values = (assignment, number, str(bonus.amount), bonus.reason, bonus.time)
            self._do("INSERT INTO bonuses VALUES (?, ?, ?, ?, ?)", values)

    def set_status(self, assignment: str, status: str, facts: Mapping[str, str] | None = None) -> None:
        """Approve or reject: judgments of rejected work stay and do not count; an approval brings them back."""
        if status not in STATUSES:
            raise FormatError(f"expected a status {', '.join(STATUSES)}, found {status!r}")
        with self.db.writing():
            if self._one("SELECT 1 FROM assignments WHERE id = ?", assignment) is None:
                raise FormatError(f"assignment {assignment} is not in {self.db.path}")
            self._update(assignment, status, facts or {})

    def _update(self, assignment: str, status: str, facts: Mapping[str, str]) -> None:
        row = self._one("SELECT hit, worker, status, facts FROM assignments WHERE id = ?", assignment)
        assert row is not None
        hit, worker, before, known = row
        newer = {name: text for name, text in facts.items() if text and name not in HIT_FACTS}
        status = before if status == SUBMITTED else status  # a file from before the decision does not undo it
        merged = _json({**json.loads(known), **newer})
        if (status, merged) != (before, known):
            self._do("UPDATE assignments SET status = ?, facts = ? WHERE id = ?", (status, merged, assignment))
        if (status == REJECTED) != (before == REJECTED):
            keys = "SELECT segment, start, stop, phrase FROM label_answers WHERE assignment = ? AND control = 0"
            for key in self.db.db.execute(keys, [assignment]).fetchall():
                self._do(
                    "UPDATE judgments SET weight = ? WHERE segment = ? AND start = ? AND stop = ? AND phrase = ? "
                    "AND worker = ? AND origin = ? AND source IN ('hit', 'simulation')",
                    (float(status != REJECTED), *key, worker, hit),
                )

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Rows of a query about the tables of hits; none where there are no such tables."""
        with self.db.errors():
            return self.db.db.execute(sql, list(values)).fetchall() if self.there else []

    def assignments(self, batch: str | None = None) -> Iterator[Assignment]:
        """All assignments in the order in which they were added, of one batch or all; bounded in memory."""
        where, values = ("WHERE h.batch = ?", [batch]) if batch is not None else ("", [])
        sql = f"""
            SELECT h.batch, h.item, h.id, a.id, a.worker, a.fields, a.accepted, a.submitted, h.columns, a.status,
                h.facts, a.facts, {"h.market" if self.current else "''"}
            FROM assignments AS a JOIN hits AS h ON h.id = a.hit {where} ORDER BY a.number
        """
        with self.db.errors():
            for row in self.db.db.execute(sql, values) if self.there else ():
                batch, item, hit, assignment, worker, fields, accepted, submitted, columns, status, *rest = row
                facts, more, market = rest
                answer = Answer(batch, item, hit, assignment, worker, json.loads(fields), accepted, submitted)
                known = {**json.loads(facts), **json.loads(more)}
                yield Assignment(answer, json.loads(columns), status, known, market)

    def comparisons(self) -> list[Comparison]:
        """The comparisons that count: the last of each worker on two systems in a segment, of work not rejected."""
        sql = """
            SELECT segment, system_a, system_b, choice, worker, time, hit, assignment FROM counted_comparisons
            ORDER BY arrival, number
        """
        return [Comparison(row[0], row[1], row[2], Choice(row[3]), *row[4:]) for row in self.rows(sql)]

    def controls(self) -> list[ControlAnswer]:
        """The outcome of all controls, in the order in which they came."""
        sql = """
            SELECT a.worker, c.slot, c.kind, c.expected, c.answer, c.passed
            FROM controls AS c JOIN assignments AS a ON a.id = c.assignment ORDER BY a.number, c.slot
        """
        return [ControlAnswer(w, slot, kind, e, a, bool(p)) for w, slot, kind, e, a, p in self.rows(sql)]

    def _one(self, sql: str, *values: str) -> Any:
        return self.db.db.execute(sql, values).fetchone()

    def _do(self, sql: str, values: Sequence[Any]) -> None:
        self.db.db.conn.execute(sql, values)


def _filled(texts: Mapping[str, str]) -> dict[str, str]:
    """Without empty ones: a CSV has a cell for every column, a form sends only what was filled in."""
    return {name: text for name, text in texts.items() if text}


def _json(texts: Mapping[str, str]) -> str:
    for text in (*texts, *texts.values()):
        if "\0" in text or not is_one_line(re.sub("[\r\n]", " ", text)):
            raise FormatError(f"expected text, found {text[:40]!r}")
    return json.dumps(dict(texts), ensure_ascii=False)


def known_workers(db: JudgmentDatabase) -> set[str]:
    """Everybody who gave an answer that is in a database."""
    with db.errors():
        found = {str(worker) for (worker,) in db.db.execute("SELECT DISTINCT worker FROM judgments")}
        if prepare(db):
            found |= {str(worker) for (worker,) in db.db.execute("SELECT DISTINCT worker FROM assignments")}
    return found
