"""Answers become judgments and comparisons in the campaign's database, each exactly once.

    Results(db).add(assignments)   →   read_votes(db), results.comparisons()

A judgment's ``origin`` is its hit and its ``source`` is ``hit``; a worker does a hit once, so hit and worker name the
assignment. Controls never become judgments; their outcome is in a table of its own. Systems with the same text for a
segment are counted, and left out of comparisons. Everything stays: a later answer of the same worker to the same
question is what counts, and the judgments of rejected work have weight 0.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, NamedTuple

from hits.records import (
    APPROVED,
    REJECTED,
    STATUSES,
    SUBMITTED,
    Assignment,
    Bonus,
    Choice,
    Comparison,
    IdenticalPair,
)
from hits.results.content import Content, ControlAnswer, understand
from hits.results.tables import create_answer_tables
from rypt.database.judgments import JudgmentDatabase
from rypt.text import FormatError, is_one_line, plural

DECISIONS = (SUBMITTED, REJECTED, APPROVED)  # of two databases that differ, the later one of these is taken
HIT_FACTS = (  # what a market says of a hit; the other facts are of an assignment
    "HITTypeId",
    "Title",
    "Description",
    "Keywords",
    "Reward",
    "CreationTime",
    "MaxAssignments",
    "RequesterAnnotation",
    "AssignmentDurationInSeconds",
    "AutoApprovalDelayInSeconds",
    "Expiration",
    "NumberOfSimilarHITs",
    "LifetimeInSeconds",
)


@dataclass(slots=True)
class Added:
    """The numbers of added assignments and their answers."""

    assignments: int = 0
    already: int = 0
    judgments: int = 0
    comparisons: int = 0
    controls: int = 0
    unanswered: int = 0


class Work(NamedTuple):
    """One assignment in numbers: ``given`` labels, ``counts`` where its worker is not excluded."""

    worker: str
    hit: str
    kind: str
    size: int
    seconds: int | None
    given: int
    reward: str | None
    places: str | None
    market: str
    bonuses: str | None
    counts: int
    status: str

    @property
    def answers(self) -> int:
        """Labels given, candidates ranked, or one comparison."""
        return self.given if self.kind == "label" else self.size


class GivenLabel(NamedTuple):
    """A label as a worker gave it, in a hit or from a file."""

    worker: str
    segment: str
    start: int
    stop: int
    phrase: str
    label: str
    control: int = 0


class GivenComparison(NamedTuple):
    """A comparison as a worker made it."""

    worker: str
    segment: str
    system_a: str
    system_b: str
    choice: str


class Results:
    """The hits, assignments, comparisons and controls in a judgment database."""

    def __init__(self, db: JudgmentDatabase) -> None:
        self.db = db
        self._tokens: dict[str, int] = {}
        create_answer_tables(db)

    def add(self, assignments: Iterable[Assignment]) -> Added:
        """Add assignments, all in one transaction: give one at a time where each shall be independent."""
        added = Added()
        with self.db.writing():
            for assignment in assignments:
                self.put(assignment, added)
        return added

    def put(self, assignment: Assignment, added: Added) -> None:
        """Inside a transaction: add one assignment, or bring status and facts of a known one up to date."""
        content = understand(assignment, self.db.case)
        if self._is_known(assignment):
            added.already += 1
            return
        self._check_place(content)
        self._put_hit(assignment, content)
        _, facts = split_facts(assignment.facts)
        id, judgments = assignment.id, content.judgments()
        self._execute("DELETE FROM left_out WHERE assignment = ?", id)
        self._execute(
            "INSERT INTO assignments VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *(
                id,
                assignment.hit,
                assignment.worker,
                assignment.status,
                assignment.accepted,
                assignment.submitted,
            ),
            *(assignment.seconds, _json(assignment.fields), _json(facts)),
        )
        self.db.put(judgments)
        labels = (
            (
                id,
                a.slot,
                j.segment,
                *j.span,
                j.phrase,
                str(j.label) if a.answered else None,
                a.control,
                j.severity,
            )
            for a in content.labels
            for j in (a.judgment,)
        )
        compared = [(c, False) for c in content.comparisons] + [(c, True) for c in content.implied]
        pairs = (
            (id, number, c.segment, c.system_a, c.system_b, str(c.choice), implied)
            for number, (c, implied) in enumerate(compared, start=1)
        )
        controls = ((id, k.slot, k.kind, k.expected, k.answer, k.passed) for k in content.controls)
        self._execute_many("INSERT INTO label_answers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", labels)
        self._execute_many("INSERT INTO comparisons VALUES (?, ?, ?, ?, ?, ?, ?)", pairs)
        self._execute_many("INSERT INTO controls VALUES (?, ?, ?, ?, ?, ?)", controls)
        added.assignments += 1
        added.judgments += len(judgments)
        added.comparisons += len(compared)
        added.controls += len(content.controls)
        added.unanswered += content.unanswered

    def _is_known(self, assignment: Assignment) -> bool:
        """Whether it was added before; then it must be the same, and its status and facts may be newer."""
        a = assignment
        known = self._rows("SELECT hit, worker, fields FROM assignments WHERE id = ?", a.id)
        if not known:
            other = self._rows("SELECT id FROM assignments WHERE hit = ? AND worker = ?", a.hit, a.worker)
            if other:
                raise FormatError(f"worker {a.worker} did hit {a.hit} before, in assignment {other[0][0]}")
            return False
        hit, worker, fields = known[0]
        if (hit, worker, filled(json.loads(fields))) != (a.hit, a.worker, filled(a.fields)):
            raise FormatError(f"assignment {a.id} is there with another hit, worker or answer")
        of_hit, of_work = split_facts(assignment.facts)
        self._update_hit(a.hit, of_hit)
        self._update(a.id, a.status, of_work)
        return True

    def _check_place(self, content: Content) -> None:
        for segment, span in {(a.judgment.segment, a.judgment.span) for a in content.labels}:
            if segment not in self._tokens:
                self._tokens = {s.id: len(s.tokens) for s in self.db.segments()}
            if segment not in self._tokens:
                raise FormatError(f"segment {segment!r} is not in the database")
            if span.stop > (tokens := self._tokens[segment]):
                raise FormatError(
                    f"span {span} is outside segment {segment}, which has {plural(tokens, 'token')}"
                )

    def _put_hit(self, assignment: Assignment, content: Content) -> None:
        a, (facts, _) = assignment, split_facts(assignment.facts)
        rows = self._rows("SELECT columns FROM hits WHERE id = ?", a.hit)
        if rows:
            if filled(json.loads(rows[0][0])) != filled(assignment.columns):
                raise FormatError(f"hit {a.hit} is there with another item")
            self._update_hit(a.hit, facts)
            return
        item = a.item or assignment.columns.get("item", "")
        market = assignment.market or ("local" if a.batch else "mturk")
        self._execute(
            "INSERT INTO hits VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)",
            *(a.hit, a.batch, item, str(content.kind), content.size),
            *(_json(assignment.columns), _json(facts), market),
        )

    def _update_hit(self, hit: str, facts: Mapping[str, str]) -> None:
        """What the market says of a hit may change: it expires, or more assignments are asked for."""
        ((known,),) = self._rows("SELECT facts FROM hits WHERE id = ?", hit)
        if (merged := _json({**json.loads(known), **facts})) != known:
            self._execute("UPDATE hits SET facts = ? WHERE id = ?", merged, hit)

    def set_status(self, assignment: str, status: str, facts: Mapping[str, str] | None = None) -> None:
        """Approve or reject: judgments of rejected work stay and do not count; an approval brings them back."""
        if status not in STATUSES:
            raise FormatError(f"expected a status {', '.join(STATUSES)}, found {status!r}")
        with self.db.writing():
            if not self._rows("SELECT 1 FROM assignments WHERE id = ?", assignment):
                raise FormatError(f"assignment {assignment} is not in {self.db.path}")
            self._update(assignment, status, filled(facts or {}))

    def _update(self, assignment: str, status: str, facts: Mapping[str, str]) -> None:
        rows = self._rows("SELECT hit, worker, status, facts FROM assignments WHERE id = ?", assignment)
        hit, worker, before, known = rows[0]
        status = before if status == SUBMITTED else status  # a file from before the decision does not undo it
        merged = _json({**json.loads(known), **facts})
        if (status, merged) != (before, known):
            sql = "UPDATE assignments SET status = ?, facts = ? WHERE id = ?"
            self._execute(sql, status, merged, assignment)
        if (status == REJECTED) != (before == REJECTED):
            keys = self._rows(
                "SELECT segment, start, stop, phrase FROM label_answers WHERE assignment = ? AND NOT control",
                assignment,
            )
            self.db.put_weight(worker, hit, float(status != REJECTED), keys)

    def put_merged(self, assignment: Assignment, paid: Sequence[Bonus], added: Added) -> None:
        """Inside a transaction: add an assignment of another database, or join what both know of it.

        An approval is above a rejection, which can be overturned, and this above no decision; of two texts of one
        fact the one that sorts last stays, and so do the longer payments. So the order of merging does not matter.
        """
        id = assignment.id
        rows = self._rows(
            "SELECT a.status, h.facts, a.facts FROM assignments AS a JOIN hits AS h ON h.id = a.hit WHERE a.id = ?",
            id,
        )
        for status, of_hit, of_work in rows:
            facts = dict(assignment.facts)
            for name, text in {**json.loads(of_hit), **json.loads(of_work)}.items():
                facts[name] = max(text, facts.get(name, ""))
            decided = max(assignment.status, status, key=DECISIONS.index)
            assignment = replace(assignment, status=decided, facts=facts)
        self.put(assignment, added)
        if len(paid) > self._rows("SELECT count(*) FROM bonuses WHERE assignment = ?", id)[0][0]:
            self._put_bonuses(id, paid)

    def settle_weights(self) -> None:
        """Inside a transaction: let judgments of rejected work, and of no other, have weight 0."""
        rows = self._rows("""
            SELECT j.worker, j.origin, a.status <> 'Rejected', j.segment, j.start, j.stop, j.phrase
            FROM judgments AS j JOIN assignments AS a ON a.hit = j.origin AND a.worker = j.worker
            WHERE j.source <> 'import' AND j.weight <> (a.status <> 'Rejected')
        """)
        for worker, hit, counts, *key in rows:
            self.db.put_weight(worker, hit, float(counts), [key])

    def add_identical(self, batch: str, pairs: Iterable[IdenticalPair]) -> int:
        """Add the pairs of systems with the same text for a segment; return how many are new."""
        with self.db.writing():
            return self.put_identical(batch, pairs)

    def put_identical(self, batch: str, pairs: Iterable[IdenticalPair]) -> int:
        """The same inside a transaction."""
        rows = ((batch, pair.segment, *sorted((pair.system_a, pair.system_b))) for pair in pairs)
        before = self._rows("SELECT count(*) FROM identical")[0][0]
        self._execute_many("INSERT OR IGNORE INTO identical VALUES (?, ?, ?, ?)", rows)
        return int(self._rows("SELECT count(*) FROM identical")[0][0] - before)

    def add_bonuses(self, payments: Iterable[tuple[str, Sequence[Bonus]]]) -> None:
        """Assignments and all bonuses paid for each so far, in the order of payment; others stay as they are."""
        given = list(payments)
        if given:
            with self.db.writing():
                for assignment, paid in given:
                    if self._rows("SELECT 1 FROM assignments WHERE id = ?", assignment):
                        self._put_bonuses(assignment, paid)

    def _put_bonuses(self, assignment: str, paid: Sequence[Bonus]) -> None:
        self._execute("DELETE FROM bonuses WHERE assignment = ?", assignment)
        rows = ((assignment, i, str(b.amount), b.reason, b.time) for i, b in enumerate(paid, start=1))
        self._execute_many("INSERT INTO bonuses VALUES (?, ?, ?, ?, ?)", rows)

    def add_left_out(self, assignments: Iterable[Assignment]) -> None:
        """Remember assignments that cannot be read, so that `status` and `workers` name them until they are."""
        rows = [(a.id, a.hit, a.batch, a.worker, a.status, a.problem) for a in assignments]
        if rows:
            with self.db.writing():
                self._execute_many("INSERT OR REPLACE INTO left_out VALUES (?, ?, ?, ?, ?, ?)", rows)

    def left_out(self, batch: str | None = None) -> list[Assignment]:
        """The assignments of a batch, or of all, that cannot be read."""
        sql = "SELECT * FROM left_out WHERE ?1 IS NULL OR batch = ?1 ORDER BY worker, assignment"
        return [
            Assignment(id, hit, worker, {}, status=status, batch=of_batch, problem=problem)
            for id, hit, of_batch, worker, status, problem in self._rows(sql, batch)
        ]

    def assignments(self, batch: str | None = None) -> Iterator[Assignment]:
        """All assignments in the order in which they were added, of one batch or all; bounded in memory."""
        sql = """
            SELECT h.batch, h.item, h.columns, h.facts, h.market,
                a.id, a.hit, a.worker, a.status, a.accepted, a.submitted, a.fields, a.facts
            FROM assignments AS a JOIN hits AS h ON h.id = a.hit WHERE ?1 IS NULL OR h.batch = ?1 ORDER BY a.number
        """
        with self.db.errors():
            for row in self.db.db.execute(sql, [batch]):
                (
                    batch_id,
                    item,
                    columns,
                    of_hit,
                    market,
                    id,
                    hit,
                    worker,
                    status,
                    accepted,
                    submitted,
                    *texts,
                ) = row
                fields, of_work = map(json.loads, texts)
                facts = {**json.loads(of_hit), **of_work}
                yield Assignment(
                    id,
                    hit,
                    worker,
                    fields,
                    accepted,
                    submitted,
                    status,
                    batch_id,
                    item,
                    json.loads(columns),
                    facts,
                    market,
                )

    def bonuses(self) -> dict[str, list[Bonus]]:
        """The payments for each assignment, in their order."""
        paid: dict[str, list[Bonus]] = {}
        sql = """
            SELECT assignment, worker, amount, reason, time FROM bonuses
            JOIN assignments AS a ON a.id = assignment ORDER BY assignment, bonuses.number
        """
        for assignment, worker, amount, reason, time in self._rows(sql):
            paid.setdefault(assignment, []).append(Bonus(assignment, worker, Decimal(amount), reason, time))
        return paid

    def identical(self) -> list[tuple[str, IdenticalPair]]:
        """All pairs of systems with the same text for a segment, with their batch."""
        rows = self._rows("SELECT batch, segment, system_a, system_b FROM identical")
        return [(batch, IdenticalPair(*pair)) for batch, *pair in rows]

    def count_identical(self, batch: str | None = None) -> int:
        """The number of pairs of systems with the same text for a segment, of a batch or all."""
        sql = "SELECT DISTINCT segment, system_a, system_b FROM identical WHERE ?1 IS NULL OR batch = ?1"
        return len(self._rows(sql, batch))

    def comparisons(self) -> list[Comparison]:
        """The comparisons that count: the last of each worker on two systems in a segment, of work not rejected."""
        rows = self._rows("""
            SELECT segment, system_a, system_b, choice, worker, time, hit, assignment FROM counted_comparisons
            ORDER BY arrival, number
        """)
        return [Comparison(segment, a, b, Choice(choice), *rest) for segment, a, b, choice, *rest in rows]

    def implied(self) -> set[tuple[str, str, str]]:
        """The comparisons that follow from equal texts: assignment and the two systems."""
        return set(self._rows("SELECT assignment, system_a, system_b FROM comparisons WHERE implied"))

    def controls(self) -> list[ControlAnswer]:
        """The outcome of all controls, in the order in which they came."""
        rows = self._rows("""
            SELECT a.worker, c.slot, c.kind, c.expected, c.answer, c.passed
            FROM controls AS c JOIN assignments AS a ON a.id = c.assignment ORDER BY a.number, c.slot
        """)
        return [
            ControlAnswer(worker, slot, kind, expected, answer, bool(passed))
            for worker, slot, kind, expected, answer, passed in rows
        ]

    def work(self, batch: str | None = None) -> list[Work]:
        """All assignments of a batch, or of all, in numbers, in the order in which they came."""
        sql = """
            SELECT a.worker, h.id, h.kind, h.size, a.seconds,
                (SELECT count(*) FROM label_answers AS l WHERE l.assignment = a.id AND l.label IS NOT NULL),
                json_extract(h.facts, '$.Reward'), json_extract(h.facts, '$.MaxAssignments'), h.market,
                (SELECT group_concat(b.amount, ' ') FROM bonuses AS b WHERE b.assignment = a.id),
                a.worker NOT IN (SELECT worker FROM excluded_workers), a.status
            FROM assignments AS a JOIN hits AS h ON h.id = a.hit
            WHERE ?1 IS NULL OR h.batch = ?1 ORDER BY a.number
        """
        return [Work(*row) for row in self._rows(sql, batch)]

    def count_labels(self, batch: str | None = None) -> dict[str | None, int]:
        """How often each label was given to a real question, None for none, in work that counts."""
        sql = """
            SELECT l.label, count(*) FROM label_answers AS l JOIN assignments AS a ON a.id = l.assignment
            JOIN hits AS h ON h.id = a.hit
            WHERE a.status <> 'Rejected' AND NOT l.control AND (?1 IS NULL OR h.batch = ?1)
                AND a.worker NOT IN (SELECT worker FROM excluded_workers) GROUP BY l.label
        """
        return dict(self._rows(sql, batch))

    def statuses(self) -> dict[str, str]:
        """The status of each assignment, also of those that could not be read."""
        return dict(
            self._rows("SELECT id, status FROM assignments UNION SELECT assignment, status FROM left_out")
        )

    def count_assignments(self) -> dict[str, int]:
        """The number of assignments of each batch, rejected ones included."""
        sql = "SELECT h.batch, count(*) FROM assignments AS a JOIN hits AS h ON h.id = a.hit GROUP BY h.batch"
        return dict(self._rows(sql))

    def given_labels(self) -> list[GivenLabel]:
        """All labels given in hits, controls included, the earliest first."""
        rows = self._rows("""
            SELECT a.worker, l.segment, l.start, l.stop, l.phrase, l.label, l.control
            FROM label_answers AS l JOIN assignments AS a ON a.id = l.assignment
            WHERE l.label IS NOT NULL ORDER BY ifnull(a.submitted, 0), a.number, l.slot
        """)
        return [GivenLabel(*row) for row in rows]

    def imported_labels(self) -> list[GivenLabel]:
        """The judgments of people that come from no hit of this database, the earliest first."""
        rows = self._rows("""
            SELECT ifnull(time, 0), worker, segment, start, stop, phrase, label FROM judgments
            WHERE source <> 'simulation' AND NOT (source = 'hit' AND origin IN (SELECT id FROM hits))
            ORDER BY segment, start, stop, phrase
        """)
        rows.sort(key=lambda row: row[0])
        return [GivenLabel(*row[1:]) for row in rows]

    def given_comparisons(self) -> list[GivenComparison]:
        """All comparisons that were asked for, the earliest first."""
        rows = self._rows("""
            SELECT a.worker, c.segment, c.system_a, c.system_b, c.choice
            FROM comparisons AS c JOIN assignments AS a ON a.id = c.assignment
            WHERE NOT c.implied ORDER BY ifnull(a.submitted, 0), a.number, c.number
        """)
        return [GivenComparison(*row) for row in rows]

    def comparisons_between(self, first: str, second: str) -> list[tuple[GivenComparison, dict[str, str]]]:
        """The comparisons of two systems by workers who count, in hits that compare two, with the hits' columns."""
        sql = """
            SELECT a.worker, c.segment, c.system_a, c.system_b, c.choice, h.columns
            FROM comparisons AS c JOIN assignments AS a ON a.id = c.assignment JOIN hits AS h ON h.id = a.hit
            WHERE h.kind = 'comparison' AND a.status <> 'Rejected'
                AND a.worker NOT IN (SELECT worker FROM excluded_workers)
                AND min(c.system_a, c.system_b) = min(?1, ?2) AND max(c.system_a, c.system_b) = max(?1, ?2)
            ORDER BY ifnull(a.submitted, 0), a.number
        """
        rows = self._rows(sql, first, second)
        return [(GivenComparison(*row), json.loads(columns)) for *row, columns in rows]

    def workers(self) -> set[str]:
        """Everybody who gave a judgment or did an assignment."""
        return {
            str(worker)
            for (worker,) in self._rows("SELECT worker FROM workers UNION SELECT worker FROM assignments")
        }

    def _rows(self, sql: str, *values: Any) -> list[Any]:
        return self.db.rows(sql, *values)

    def _execute(self, sql: str, *values: Any) -> None:
        self.db.db.execute(sql, values)

    def _execute_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        self.db.db.conn.executemany(sql, rows)


def split_facts(facts: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """What a market says of a hit, and what it says of the assignment; empty texts left out."""
    texts = filled(facts)
    return (
        {name: texts[name] for name in HIT_FACTS if name in texts},
        {name: text for name, text in texts.items() if name not in HIT_FACTS},
    )


def filled(texts: Mapping[str, str]) -> dict[str, str]:
    """Without empty ones: a CSV has a cell for every column, a form sends only what was filled in."""
    return {name: text for name, text in texts.items() if text}


def _json(texts: Mapping[str, str]) -> str:
    for text in (*texts, *texts.values()):
        if "\0" in text or not is_one_line(re.sub("[\r\n]", " ", text)):
            raise FormatError(f"expected text, found {text[:40]!r}")
    return json.dumps(dict(texts), ensure_ascii=False)
