"""Answers become judgments and comparisons in the campaign's database, each exactly once.

    Results(db).add([Assignment(answer, item.columns)])   →   db.votes(), results.comparisons()

A judgment's ``origin`` is its hit and its ``source`` is ``hit``; a worker does a hit once, so hit and worker name the
assignment. Controls never become judgments; their outcome is kept. Systems with the same text for a segment
are counted, and left out of comparisons. What is kept, and what of it counts, is in `rypt.database.answers`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from hits.records import Answer, Choice, Comparison, IdenticalPair
from hits.results.content import Assignment, ControlAnswer, answer_rows, understand
from rypt.database.answer_rows import STATUSES, BonusRow, IdenticalRow, LeftOutRow
from rypt.database.answers import AnswerTables
from rypt.database.judgments import JudgmentDatabase
from rypt.text import FormatError


@dataclass(frozen=True, slots=True)
class Bonus:
    """One payment besides the reward of an assignment."""

    assignment: str
    amount: Decimal
    reason: str
    time: int | None = None


@dataclass(slots=True)
class Added:
    """The numbers of added assignments and their answers."""

    assignments: int = 0
    already: int = 0
    judgments: int = 0
    comparisons: int = 0
    controls: int = 0
    unanswered: int = 0


class Results:
    """The hits, assignments, comparisons and controls in a judgment database."""

    def __init__(self, db: JudgmentDatabase) -> None:
        self.db = db
        self.tables = AnswerTables(db)

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
        hit, work, answers = answer_rows(assignment, content)
        if not self.tables.put(hit, work, answers):
            added.already += 1
            return
        added.assignments += 1
        added.judgments += len(answers.judgments)
        added.comparisons += len(answers.comparisons)
        added.controls += len(answers.controls)
        added.unanswered += content.unanswered

    def add_identical(self, batch: str, pairs: Iterable[IdenticalPair]) -> int:
        """Add the pairs of systems with the same text for a segment; return how many are new."""
        with self.db.writing():
            return self.put_identical(batch, pairs)

    def put_identical(self, batch: str, pairs: Iterable[IdenticalPair]) -> int:
        """The same inside a transaction."""
        return self.tables.put_identical(
            IdenticalRow(batch, pair.segment, pair.system_a, pair.system_b) for pair in pairs
        )

    def add_bonuses(self, payments: Iterable[tuple[str, Sequence[Bonus]]]) -> None:
        """Assignments and all bonuses paid for each so far, in the order of payment; others stay as they are."""
        given = list(payments)
        if given:
            with self.db.writing():
                for assignment, paid in given:
                    self.tables.put_bonuses(assignment, [BonusRow(b.amount, b.reason, b.time) for b in paid])

    def set_status(self, assignment: str, status: str, facts: Mapping[str, str] | None = None) -> None:
        """Approve or reject: judgments of rejected work stay and do not count; an approval brings them back."""
        if status not in STATUSES:
            raise FormatError(f"expected a status {', '.join(STATUSES)}, found {status!r}")
        self.tables.set_status(assignment, status, facts or {})

    def add_left_out(self, rows: Iterable[LeftOutRow]) -> None:
        """Remember assignments that cannot be read, so that `status` and `workers` name them until they are."""
        given = list(rows)
        if given:
            with self.db.writing():
                for row in given:
                    self.tables.put_left_out(row)

    def assignments(self, batch: str | None = None) -> Iterator[Assignment]:
        """All assignments in the order in which they were added, of one batch or all; bounded in memory."""
        for hit, work in self.tables.assignments(batch):
            answer = Answer(
                hit.batch, hit.item, hit.id, work.id, work.worker, work.fields, work.accepted, work.submitted
            )
            yield Assignment(answer, hit.columns, work.status, {**hit.facts, **work.facts}, hit.market)

    def comparisons(self) -> list[Comparison]:
        """The comparisons that count: the last of each worker on two systems in a segment, of work not rejected."""
        return [
            Comparison(
                c.segment, c.system_a, c.system_b, Choice(c.choice), c.worker, c.time, c.hit, c.assignment
            )
            for c in self.tables.comparisons()
        ]

    def controls(self) -> list[ControlAnswer]:
        """The outcome of all controls, in the order in which they came."""
        return [
            ControlAnswer(w, c.slot, c.kind, c.expected, c.answer, bool(c.passed))
            for w, c in self.tables.controls()
        ]
