"""The answers collected from hits: hits, assignments, comparisons, controls and bonuses, each exactly once.

    tables = AnswerTables(db)
    tables.put(hit, assignment, answers)      # inside db.writing(); adds or updates
    tables.comparisons(); tables.controls(); tables.work("b1")

What a form's fields mean (labels, comparisons, outcomes of controls) is read by `hits.results`; here it is kept and
asked for. Everything stays: a later answer of the same worker to the same question is what counts, by the views
``counted`` and ``counted_comparisons``. The judgments of rejected work have weight 0 and do not count.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np

from rypt.arrays import Ints
from rypt.database.answer_rows import (
    APPROVED,
    REJECTED,
    SUBMITTED,
    AnswerRows,
    AssignmentRow,
    BonusRow,
    ComparisonRow,
    ControlRow,
    CountedComparison,
    GivenComparison,
    GivenLabel,
    HitRow,
    IdenticalRow,
    LabelColumns,
    LabelRow,
    LeftOutRow,
    WorkRow,
    filled,
)
from rypt.database.compact import LABEL_CODES, SOURCE_CODES
from rypt.database.judgments import JudgmentDatabase
from rypt.database.vote_columns import read_integers, read_key_numbers
from rypt.text import FormatError, is_one_line, plural

IN_HITS = (SOURCE_CODES["hit"], SOURCE_CODES["simulation"])
PEOPLE = f"source <> {SOURCE_CODES['simulation']}"
DECISIONS = (SUBMITTED, REJECTED, APPROVED)  # where two databases differ, the later one of these stands


class AnswerTables:
    """The tables of hits in a judgment database; methods named ``put…`` are for use inside ``db.writing()``."""

    def __init__(self, db: JudgmentDatabase) -> None:
        self.db = db
        self._tokens: dict[str, int] = {}

    def put(self, hit: HitRow, assignment: AssignmentRow, answers: AnswerRows) -> bool:
        """Add an assignment; False where it was there: then its status and facts are brought up to date."""
        if self._is_known(hit, assignment):
            return False
        self._check_place(answers)
        self._put_hit(hit)
        a = assignment
        self._execute("DELETE FROM left_out WHERE assignment = ?", (a.id,))
        texts = (_json(a.fields), _json(filled(a.facts)))
        values = (a.id, a.hit, a.worker, a.status, a.accepted, a.submitted, a.seconds, *texts)
        self._execute("INSERT INTO assignments VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
        self.db.put(answers.judgments)
        many = self.db.db.executemany
        many(
            "INSERT INTO label_answers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            ((a.id, *row) for row in answers.labels),
        )
        compared = ((a.id, number, *row) for number, row in enumerate(answers.comparisons, start=1))
        many("INSERT INTO comparisons VALUES (?, ?, ?, ?, ?, ?, ?)", compared)
        many("INSERT INTO controls VALUES (?, ?, ?, ?, ?, ?)", ((a.id, *row) for row in answers.controls))
        return True

    def _is_known(self, hit: HitRow, a: AssignmentRow) -> bool:
        """Whether it was added before; then it must be the same, and its status and facts may be newer."""
        row = self._one("SELECT hit, worker, fields FROM assignments WHERE id = ?", a.id)
        if row is None:
            other = self._one("SELECT id FROM assignments WHERE hit = ? AND worker = ?", a.hit, a.worker)
            if other:
                raise FormatError(f"worker {a.worker} did hit {a.hit} before, in assignment {other[0]}")
            return False
        known_hit, worker, fields = row
        if (known_hit, worker, filled(json.loads(fields))) != (a.hit, a.worker, filled(a.fields)):
            raise FormatError(f"assignment {a.id} is there with another hit, worker or answer")
        self._update_hit(a.hit, hit.facts)
        self._update(a.id, a.status, a.facts)
        return True

    def _check_place(self, answers: AnswerRows) -> None:
        for segment, start, stop in {(row.segment, row.start, row.stop) for row in answers.labels}:
            if segment not in self._tokens:
                self._tokens = {s.id: len(s.tokens) for s in self.db.segments()}
            if segment not in self._tokens:
                raise FormatError(f"segment {segment!r} is not in the database")
            if stop > (tokens := self._tokens[segment]):
                raise FormatError(
                    f"span {start}-{stop} is outside segment {segment}, which has {plural(tokens, 'token')}"
                )

    def _put_hit(self, hit: HitRow) -> None:
        row = self._one("SELECT columns FROM hits WHERE id = ?", hit.id)
        if row is not None:
            if filled(json.loads(row[0])) != filled(hit.columns):
                raise FormatError(f"hit {hit.id} is there with another item")
            self._update_hit(hit.id, hit.facts)
            return
        texts = (_json(hit.columns), _json(filled(hit.facts)), hit.market)
        values = (hit.id, hit.batch, hit.item, hit.kind, hit.size, *texts)
        self._execute("INSERT INTO hits VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)", values)

    def _update_hit(self, hit: str, facts: Mapping[str, str]) -> None:
        """What the market says of a hit may change: it expires, or more assignments are asked for."""
        (known,) = self._one("SELECT facts FROM hits WHERE id = ?", hit)
        if (merged := _json({**json.loads(known), **filled(facts)})) != known:
            self._execute("UPDATE hits SET facts = ? WHERE id = ?", (merged, hit))

    def set_status(self, assignment: str, status: str, facts: Mapping[str, str]) -> None:
        """Approve or reject: judgments of rejected work stay and do not count; an approval brings them back."""
        with self.db.writing():
            if self._one("SELECT 1 FROM assignments WHERE id = ?", assignment) is None:
                raise FormatError(f"assignment {assignment} is not in {self.db.path}")
            self._update(assignment, status, facts)

    def _update(self, assignment: str, status: str, facts: Mapping[str, str]) -> None:
        row = self._one("SELECT hit, worker, status, facts FROM assignments WHERE id = ?", assignment)
        hit, worker, before, known = row
        status = before if status == SUBMITTED else status  # a file from before the decision does not undo it
        merged = _json({**json.loads(known), **filled(facts)})
        if (status, merged) != (before, known):
            self._execute(
                "UPDATE assignments SET status = ?, facts = ? WHERE id = ?", (status, merged, assignment)
            )
        if (status == REJECTED) != (before == REJECTED):
            keys = (
                "SELECT segment, start, stop, phrase FROM label_answers WHERE assignment = ? AND control = 0"
            )
            for key in self.db.db.execute(keys, [assignment]).fetchall():
                self._execute(
                    f"""
                    UPDATE judgment_rows SET weight = ? WHERE source IN {IN_HITS} AND phrase = (
                        SELECT p.id FROM spans AS s CROSS JOIN phrases AS p ON p.span = s.id
                        WHERE s.segment = ? AND s.start = ? AND s.stop = ? AND p.phrase = ?
                    )
                    AND worker = (SELECT id FROM names WHERE name = ?)
                    AND origin = (SELECT id FROM names WHERE name = ?)
                    """,
                    (float(status != REJECTED), *key, worker, hit),
                )

    def put_merged(
        self, hit: HitRow, assignment: AssignmentRow, answers: AnswerRows, paid: Sequence[BonusRow]
    ) -> bool:
        """Add an assignment of another database, or join what both know of it; False where it was there.

        An approval stands above a rejection, which can be overturned, and this above no decision; of two texts of one
        fact the one that sorts last stays, and so do the payments of whoever knows more. So the order of merging does
        not matter. `settle_weights` comes after the last one.
        """
        row = self._one(
            "SELECT a.status, h.facts, a.facts FROM assignments AS a JOIN hits AS h ON h.id = a.hit WHERE a.id = ?",
            assignment.id,
        )
        if row is not None:
            status, of_hit, of_work = row
            hit = replace(hit, facts=_last_texts(hit.facts, json.loads(of_hit)))
            assignment = replace(
                assignment,
                status=max(assignment.status, status, key=DECISIONS.index),
                facts=_last_texts(assignment.facts, json.loads(of_work)),
            )
        added = self.put(hit, assignment, answers)
        if len(paid) > self._one("SELECT count(*) FROM bonuses WHERE assignment = ?", assignment.id)[0]:
            self.put_bonuses(assignment.id, paid)
        return added

    def put_left_out(self, row: LeftOutRow) -> None:
        """Note an assignment that cannot be read; one that is read later is taken out again."""
        self._execute("INSERT OR REPLACE INTO left_out VALUES (?, ?, ?, ?, ?, ?)", row)

    def left_out(self, batch: str | None = None) -> list[LeftOutRow]:
        """The assignments of a batch, or of all, that cannot be read."""
        if not self._rows("SELECT 1 FROM sqlite_master WHERE name = 'left_out'"):
            return []  # an older file that is open for reading only
        sql = "SELECT * FROM left_out WHERE ?1 IS NULL OR batch = ?1 ORDER BY worker, assignment"
        return [LeftOutRow(*row) for row in self._rows(sql, batch)]

    def settle_weights(self) -> None:
        """Inside a transaction: let judgments of rejected work, and of no other, have weight 0."""
        self.db.db.execute(f"""
            WITH given AS (
                SELECT r.phrase, r.worker, r.origin, r.label, r.repeat, CAST(a.status <> 'Rejected' AS REAL) AS weight
                FROM judgment_rows AS r CROSS JOIN names AS w ON w.id = r.worker
                    CROSS JOIN names AS o ON o.id = r.origin
                    CROSS JOIN assignments AS a ON a.hit = o.name AND a.worker = w.name
                WHERE r.source IN {IN_HITS} AND r.weight <> (a.status <> 'Rejected')
            )
            UPDATE judgment_rows AS r SET weight = given.weight FROM given
            WHERE r.phrase = given.phrase AND r.worker = given.worker AND r.origin = given.origin
                AND r.label = given.label AND r.repeat = given.repeat
        """)

    def put_identical(self, pairs: Iterable[IdenticalRow]) -> int:
        """Record pairs of systems with the same text for a segment; return the number of new ones."""
        before = self._one("SELECT count(*) FROM identical")[0]
        rows = ((pair.batch, pair.segment, *sorted((pair.system_a, pair.system_b))) for pair in pairs)
        self.db.db.executemany("INSERT OR IGNORE INTO identical VALUES (?, ?, ?, ?)", rows)
        return int(self._one("SELECT count(*) FROM identical")[0] - before)

    def put_bonuses(self, assignment: str, paid: Sequence[BonusRow]) -> None:
        """Replace the payments for an assignment; an unknown assignment is ignored."""
        if self._one("SELECT 1 FROM assignments WHERE id = ?", assignment) is None:
            return
        self._execute("DELETE FROM bonuses WHERE assignment = ?", (assignment,))
        rows = (
            (assignment, number, str(amount), *rest) for number, (amount, *rest) in enumerate(paid, start=1)
        )
        self.db.db.executemany("INSERT INTO bonuses VALUES (?, ?, ?, ?, ?)", rows)

    def assignments(self, batch: str | None = None) -> Iterator[tuple[HitRow, AssignmentRow]]:
        """All assignments in the order in which they were added, of one batch or all; bounded in memory."""
        sql = """
            SELECT h.id, h.batch, h.item, h.kind, h.size, h.columns, h.facts, h.market,
                a.id, a.hit, a.worker, a.status, a.accepted, a.submitted, a.seconds, a.fields, a.facts
            FROM assignments AS a JOIN hits AS h ON h.id = a.hit WHERE ?1 IS NULL OR h.batch = ?1 ORDER BY a.number
        """
        with self.db.errors():
            for row in self.db.db.execute(sql, [batch]):
                hit, work = HitRow(*row[:8]), AssignmentRow(*row[8:])
                yield (
                    replace(hit, columns=json.loads(row[5]), facts=json.loads(row[6])),
                    replace(work, fields=json.loads(row[15]), facts=json.loads(row[16])),
                )

    def answers(self, assignment: str) -> AnswerRows:
        """What one assignment says; its judgments are with the others."""
        labels = """
            SELECT slot, segment, start, stop, phrase, label, control, severity FROM label_answers WHERE assignment = ?
        """
        compared = "SELECT segment, system_a, system_b, choice, implied FROM comparisons WHERE assignment = ? ORDER BY number"
        controls = "SELECT slot, kind, expected, answer, passed FROM controls WHERE assignment = ?"
        return AnswerRows(
            [LabelRow(*row) for row in self._rows(labels, assignment)],
            [ComparisonRow(*row) for row in self._rows(compared, assignment)],
            [ControlRow(*row) for row in self._rows(controls, assignment)],
        )

    def bonuses(self) -> dict[str, list[BonusRow]]:
        """The payments for each assignment, in their order."""
        paid: dict[str, list[BonusRow]] = {}
        for assignment, amount, reason, time in self._rows(
            "SELECT assignment, amount, reason, time FROM bonuses ORDER BY assignment, number"
        ):
            paid.setdefault(assignment, []).append(BonusRow(Decimal(amount), reason, time))
        return paid

    def identical(self) -> list[IdenticalRow]:
        """All pairs of systems with the same text for a segment."""
        rows = self._rows("SELECT batch, segment, system_a, system_b FROM identical")
        return [IdenticalRow(*row) for row in rows]

    def count_identical(self, batch: str | None = None) -> int:
        """The number of pairs of systems with the same text for a segment, of a batch or all."""
        sql = """
            SELECT count(*) FROM (
                SELECT DISTINCT segment, system_a, system_b FROM identical WHERE ?1 IS NULL OR batch = ?1
            )
        """
        return int(self._rows(sql, batch)[0][0])

    def comparisons(self) -> list[CountedComparison]:
        """The comparisons that count: the last of each worker on two systems in a segment, of work not rejected."""
        return [
            CountedComparison(*row)
            for row in self._rows("""
                SELECT segment, system_a, system_b, choice, worker, time, hit, assignment FROM counted_comparisons
                ORDER BY arrival, number
            """)
        ]

    def implied(self) -> set[tuple[str, str, str]]:
        """The comparisons that follow from equal texts: assignment and the two systems."""
        return set(self._rows("SELECT assignment, system_a, system_b FROM comparisons WHERE implied"))

    def controls(self) -> list[tuple[str, ControlRow]]:
        """The workers and the outcomes of all controls, in the order in which they came."""
        sql = """
            SELECT a.worker, c.slot, c.kind, c.expected, c.answer, c.passed
            FROM controls AS c JOIN assignments AS a ON a.id = c.assignment ORDER BY a.number, c.slot
        """
        return [(str(row[0]), ControlRow(*row[1:])) for row in self._rows(sql)]

    def work(self, batch: str | None = None) -> list[WorkRow]:
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
        return [WorkRow(*row) for row in self._rows(sql, batch)]

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
        return dict(
            self._rows(
                "SELECT h.batch, count(*) FROM assignments AS a JOIN hits AS h ON h.id = a.hit GROUP BY h.batch"
            )
        )

    def given_labels(self) -> list[GivenLabel]:
        """All labels given in hits, controls included, the earliest first."""
        return [
            GivenLabel(*row)
            for row in self._rows("""
                SELECT a.worker, l.segment, l.start, l.stop, l.phrase, l.label, l.control
                FROM label_answers AS l JOIN assignments AS a ON a.id = l.assignment
                WHERE l.label IS NOT NULL ORDER BY ifnull(a.submitted, 0), a.number, l.slot
            """)
        ]

    def imported_labels(self) -> list[GivenLabel]:
        """The judgments of people that come from no hit of this database, the earliest first."""
        return [
            GivenLabel(*row)
            for row in self._rows("""
                SELECT worker, segment, start, stop, phrase, label FROM judgments
                WHERE source <> 'simulation' AND NOT (source = 'hit' AND origin IN (SELECT id FROM hits))
                ORDER BY ifnull(time, 0), segment, start, stop, phrase, origin, repeat
            """)
        ]

    def label_columns(self) -> LabelColumns:
        """What `given_labels` and then `imported_labels` return, as columns."""
        names = [str(name) for (name,) in self._rows("SELECT name FROM names ORDER BY id")]
        place = {number: i for i, (number,) in enumerate(self._rows("SELECT id FROM names ORDER BY id"))}
        given = self._rows("""
            SELECT a.worker, p.id, l.segment, l.start, l.stop, l.phrase, l.label, l.control
            FROM label_answers AS l JOIN assignments AS a ON a.id = l.assignment
                LEFT JOIN spans AS s ON s.segment = l.segment AND s.start = l.start AND s.stop = l.stop
                LEFT JOIN phrases AS p ON p.span = s.id AND p.phrase = l.phrase
            WHERE l.label IS NOT NULL ORDER BY ifnull(a.submitted, 0), a.number, l.slot
        """)
        in_hits = "SELECT n.id FROM hits AS h CROSS JOIN names AS n ON n.name = h.id"
        rows = self._numbers(
            "judgment_rows", f"{PEOPLE} AND NOT (source = {IN_HITS[0]} AND origin IN ({in_hits}))"
        )
        last = int(rows[:, 0].max(initial=0)) if len(rows) else 0
        last = max([last, *(row[1] or 0 for row in given)])
        others: dict[
            tuple[Any, ...], int
        ] = {}  # questions of hits that no judgment is about, such as controls
        numbers = {name: i for i, name in enumerate(names)}
        for worker, *_ in given:
            if numbers.setdefault(worker, len(names)) == len(names):
                names.append(worker)
        questions = [row[1] or last + 1 + others.setdefault(row[2:6], len(others)) for row in given]
        return LabelColumns(
            names,
            np.array([numbers[row[0]] for row in given] + [place[w] for w in rows[:, 1].tolist()], np.int64),
            np.array(questions + rows[:, 0].tolist(), np.int64),
            list(LABEL_CODES),
            np.array([LABEL_CODES[row[6]] for row in given] + rows[:, 2].tolist(), np.int64),
            np.array([bool(row[7]) for row in given] + [False] * len(rows), np.bool_),
        )

    def counted_columns(self) -> Ints:
        """Phrase, worker and label, as numbers, of people's judgments that count, the earliest first."""
        return self._numbers("counted_rows", PEOPLE)

    def _numbers(self, table: str, where: str) -> Ints:
        """Phrase, worker and label of rows by time, key, worker and place."""
        connection = self.db.db
        with self.db.errors():
            columns = ("phrase", "worker", "label", "origin", "repeat", "ifnull(time, 0)")
            rows = read_integers(connection, columns, table, where)
            spans = [
                number
                for (number,) in connection.execute("SELECT id FROM spans ORDER BY segment, start, stop")
            ]
            keys = read_key_numbers(connection)
            span_rank = _ranks(spans, keys[:, 0])[keys[:, 0]]
            known = np.argsort(span_rank, kind="stable")[np.count_nonzero(span_rank < 0) :]
            key_rank = _ranks(keys[known, 1], rows[:, 0])
            names = connection.execute("SELECT id FROM names ORDER BY name")
            name_rank = _ranks([number for (number,) in names], rows[:, [1, 3]])
        rows = rows[key_rank[rows[:, 0]] >= 0]
        phrase, worker, label, origin, repeat, time = rows.T
        order = np.lexsort((repeat, label, name_rank[origin], name_rank[worker], key_rank[phrase], time))
        return np.asarray(rows[order, :3], np.int64)

    def given_comparisons(self) -> list[GivenComparison]:
        """All comparisons that were asked for, the earliest first."""
        return [
            GivenComparison(*row)
            for row in self._rows("""
                SELECT a.worker, c.segment, c.system_a, c.system_b, c.choice
                FROM comparisons AS c JOIN assignments AS a ON a.id = c.assignment
                WHERE NOT c.implied ORDER BY ifnull(a.submitted, 0), a.number, c.number
            """)
        ]

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
        return [
            (GivenComparison(*row), json.loads(columns)) for *row, columns in self._rows(sql, first, second)
        ]

    def workers(self) -> set[str]:
        """Everybody who gave a judgment or did an assignment."""
        sql = """
            SELECT name FROM names WHERE id IN (SELECT worker FROM judgment_rows) UNION SELECT worker FROM assignments
        """
        return {str(worker) for (worker,) in self._rows(sql)}

    def _rows(self, sql: str, *values: str | None) -> list[Any]:
        with self.db.errors():
            return self.db.db.execute(sql, values).fetchall()

    def _one(self, sql: str, *values: str) -> Any:
        return self.db.db.execute(sql, values).fetchone()

    def _execute(self, sql: str, values: Sequence[Any]) -> None:
        self.db.db.execute(sql, values)


def _ranks(numbers: Sequence[int] | Ints, used: Ints) -> Ints:
    """Where each number stands, -1 where it does not; up to the largest that is used."""
    array = np.array(numbers, np.int64)
    ranks = np.full(int(max(array.max(initial=0), used.max(initial=0))) + 1, -1, np.int64)
    ranks[array] = np.arange(len(array))
    return ranks


def _last_texts(facts: Mapping[str, str], known: Mapping[str, str]) -> dict[str, str]:
    """The facts of both; of two texts the one that sorts last."""
    return {**facts, **{name: max(text, facts.get(name, "")) for name, text in known.items()}}


def _json(texts: Mapping[str, str]) -> str:
    for text in (*texts, *texts.values()):
        if "\0" in text or not is_one_line(re.sub("[\r\n]", " ", text)):
            raise FormatError(f"expected text, found {text[:40]!r}")
    return json.dumps(dict(texts), ensure_ascii=False)
