"""Answers become judgments and comparisons in the campaign's database, each exactly once.

    with open_results("campaign", readonly=False) as results:
        results.add([Assignment(…)])   →   results.db.votes(), results.comparisons()

A judgment's ``origin`` is its hit and its ``source`` is ``hit``; a worker does a hit once, so hit and worker name the
assignment. Controls never become judgments; their outcome is in a table of its own. Everything stays: a later answer
of the same worker to the same question is what counts, and the judgments of rejected work have weight 0.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, NamedTuple, Self

from hits.records import APPROVED, REJECTED, SUBMITTED, Assignment, Bonus, Choice, Comparison
from hits.results.content import Content, Reply, judgments, read_content
from hits.results.tables import create_answer_tables
from rypt.campaign.folder import Campaign
from rypt.database.judgments import JudgmentDatabase
from rypt.text import FormatError, PathLike, is_one_line, plural

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

    def __iadd__(self, other: "Added") -> Self:
        for name in Added.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self


class Work(NamedTuple):
    """One assignment in numbers: ``labels`` given, ``places`` of its hit, ``counts`` unless its worker is excluded."""

    assignment: str
    worker: str
    hit: str
    kind: str
    size: int
    seconds: int | None
    labels: int
    market: str
    status: str
    counts: int
    reward: Decimal
    places: int
    bonuses: tuple[Decimal, ...]

    @property
    def answers(self) -> int:
        """Labels given, candidates ranked, or one comparison."""
        return self.labels if self.kind == "label" else self.size


@contextmanager
def open_results(campaign: Campaign | PathLike, *, readonly: bool = True) -> Iterator["Results"]:
    """The results of a campaign, given by itself or by its folder."""
    if not isinstance(campaign, Campaign):
        campaign = Campaign.open(campaign)
    with campaign.database(readonly=readonly) as db:
        yield Results(db)


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

    def put(self, a: Assignment, added: Added) -> None:
        """Inside a transaction: add one assignment, or bring status and facts of a known one up to date."""
        content = read_content(a, self.db.case)
        of_hit, of_work = _split_facts(a.facts)
        if self._is_known(a):
            self._update_facts("hits", a.hit, of_hit)
            self._update_facts("assignments", a.id, of_work)
            self._update_status(a)
            added.already += 1
            return
        self._check_place(content)
        self._put_hit(a, content, of_hit)
        self._execute("DELETE FROM left_out WHERE assignment = ?", a.id)
        self._execute(
            "INSERT INTO assignments VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *(a.id, a.hit, a.worker, a.status, a.accepted, a.submitted, a.seconds),
            *(_json(a.fields), _json(of_work)),
        )
        labels = judgments(a, content)
        self.db.put(labels)
        compared = [(c, False) for c in content.comparisons] + [(c, True) for c in content.implied]
        comparisons = [
            (number, c.segment, c.system_a, c.system_b, c.choice, implied)
            for number, (c, implied) in enumerate(compared, start=1)
        ]
        self._insert("label_answers", a.id, content.labels)
        self._insert("comparisons", a.id, comparisons)
        self._insert("controls", a.id, content.controls)
        added.assignments += 1
        added.judgments += len(labels)
        added.comparisons += len(compared)
        added.controls += len(content.controls)
        added.unanswered += content.unanswered

    def _is_known(self, a: Assignment) -> bool:
        """Whether it was added before; then hit, worker and answers must be the same."""
        known = self.db.rows("SELECT hit, worker, fields FROM assignments WHERE id = ?", a.id)
        if not known:
            other = self.db.rows("SELECT id FROM assignments WHERE hit = ? AND worker = ?", a.hit, a.worker)
            if other:
                raise FormatError(f"worker {a.worker} did hit {a.hit} before, in assignment {other[0][0]}")
            return False
        hit, worker, fields = known[0]
        if (hit, worker, _filled(json.loads(fields))) != (a.hit, a.worker, _filled(a.fields)):
            raise FormatError(f"assignment {a.id} is there with another hit, worker or answer")
        return True

    def _check_place(self, content: Content) -> None:
        if not content.labels:
            return
        segment, start, stop = content.labels[0][1:4]  # all labels of a page are of one constituent
        if segment not in self._tokens:
            self._tokens = {s.id: len(s.tokens) for s in self.db.segments()}
        if segment not in self._tokens:
            raise FormatError(f"segment {segment!r} is not in the database")
        if stop > (size := self._tokens[segment]):
            where = f"segment {segment}, which has {plural(size, 'token')}"
            raise FormatError(f"span {start}-{stop} is outside {where}")

    def _put_hit(self, a: Assignment, content: Content, facts: Mapping[str, str]) -> None:
        rows = self.db.rows("SELECT columns FROM hits WHERE id = ?", a.hit)
        if not rows:
            self._execute(
                "INSERT INTO hits VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)",
                *(a.hit, a.batch, a.item or a.columns.get("item", ""), str(content.kind), content.size),
                *(_json(a.columns), _json(facts), a.market or ("local" if a.batch else "mturk")),
            )
        elif _filled(json.loads(rows[0][0])) != _filled(a.columns):
            raise FormatError(f"hit {a.hit} is there with another item")
        else:
            self._update_facts("hits", a.hit, facts)

    def _update_facts(self, table: str, id: str, facts: Mapping[str, str]) -> None:
        """What the market says may change: a hit expires, or more assignments are asked for."""
        ((known,),) = self.db.rows(f"SELECT facts FROM {table} WHERE id = ?", id)
        if (merged := _json({**json.loads(known), **facts})) != known:
            self._execute(f"UPDATE {table} SET facts = ? WHERE id = ?", merged, id)

    def _update_status(self, a: Assignment) -> None:
        """Approve or reject: judgments of rejected work stay and do not count; an approval brings them back."""
        ((before,),) = self.db.rows("SELECT status FROM assignments WHERE id = ?", a.id)
        if a.status in (before, SUBMITTED):  # a file from before the decision does not undo it
            return
        self._execute("UPDATE assignments SET status = ? WHERE id = ?", a.status, a.id)
        if REJECTED in (before, a.status):
            sql = (
                "SELECT segment, start, stop, phrase FROM label_answers WHERE assignment = ? AND NOT control"
            )
            self.db.put_weight(a.worker, a.hit, float(a.status != REJECTED), self.db.rows(sql, a.id))

    def put_merged(self, a: Assignment, paid: Sequence[Bonus], added: Added) -> None:
        """Inside a transaction: add an assignment of another database, or join what both know of it.

        An approval is above a rejection, which can be overturned, and this above no decision; of two texts of one
        fact the one that sorts last stays, and so do the longer payments. So the order of merging does not matter.
        """
        facts = dict(a.facts)
        sql = "SELECT facts FROM hits WHERE id = ? UNION ALL SELECT facts FROM assignments WHERE id = ?"
        for (known,) in self.db.rows(sql, a.hit, a.id):
            for name, text in json.loads(known).items():
                facts[name] = max(text, facts.get(name, ""))
        statuses = [a.status, *self._column("SELECT status FROM assignments WHERE id = ?", a.id)]
        self.put(replace(a, status=max(statuses, key=DECISIONS.index), facts=facts), added)
        payments = _payments(paid)
        sql = "SELECT number, amount, reason, time FROM bonuses WHERE assignment = ? ORDER BY number"
        before = list(self.db.rows(sql, a.id))
        if (len(payments), repr(payments)) > (len(before), repr(before)):
            self._put_bonuses(a.id, paid)

    def settle_weights(self) -> None:
        """Inside a transaction: let judgments of rejected work, and of no other, have weight 0."""
        rows = self.db.rows("""
            SELECT j.worker, j.origin, a.status <> 'Rejected', j.segment, j.start, j.stop, j.phrase
            FROM judgments AS j JOIN assignments AS a ON a.hit = j.origin AND a.worker = j.worker
            WHERE j.source <> 'import' AND j.weight <> (a.status <> 'Rejected')
        """)
        for worker, hit, counts, *key in rows:
            self.db.put_weight(worker, hit, float(counts), [key])

    def add_bonuses(self, bonuses: Iterable[Bonus]) -> None:
        """All bonuses paid so far for the assignments that they name; others stay as they are."""
        paid: dict[str, list[Bonus]] = {}
        for bonus in sorted(bonuses, key=lambda bonus: bonus.time or 0):
            paid.setdefault(bonus.assignment, []).append(bonus)
        if paid:
            with self.db.writing():
                for assignment, payments in paid.items():
                    if self.db.rows("SELECT 1 FROM assignments WHERE id = ?", assignment):
                        self._put_bonuses(assignment, payments)

    def _put_bonuses(self, assignment: str, paid: Sequence[Bonus]) -> None:
        self._execute("DELETE FROM bonuses WHERE assignment = ?", assignment)
        self._insert("bonuses", assignment, _payments(paid))

    def add_left_out(self, assignments: Iterable[Assignment]) -> None:
        """Remember assignments that cannot be read, so that `status` and `workers` name them until they can."""
        rows = [(a.id, a.hit, a.batch, a.worker, a.status, a.problem) for a in assignments]
        if rows:
            with self.db.writing():
                self.db.db.conn.executemany("INSERT OR REPLACE INTO left_out VALUES (?, ?, ?, ?, ?, ?)", rows)

    def left_out(self, batch: str | None = None) -> list[Assignment]:
        """The assignments of a batch, or of all, that cannot be read."""
        sql = "SELECT * FROM left_out WHERE ?1 IS NULL OR batch = ?1 ORDER BY worker, assignment"
        return [
            Assignment(id, hit, worker, {}, status=status, batch=name, problem=problem)
            for id, hit, name, worker, status, problem in self.db.rows(sql, batch)
        ]

    def assignments(self, batch: str | None = None) -> Iterator[Assignment]:
        """All assignments in the order in which they were added, of one batch or all; bounded in memory."""
        sql = """
            SELECT a.id, a.hit, a.worker, a.fields, a.accepted, a.submitted, a.status,
                h.batch, h.item, h.columns, h.market, h.facts, a.facts
            FROM assignments AS a JOIN hits AS h ON h.id = a.hit WHERE ?1 IS NULL OR h.batch = ?1 ORDER BY a.number
        """
        with self.db.errors():
            for row in self.db.db.execute(sql, [batch]):
                id, hit, worker, fields, accepted, submitted, status, *of_hit, facts = row
                name, item, columns, market, hit_facts = of_hit
                yield Assignment(
                    *(id, hit, worker, json.loads(fields), accepted, submitted, status),
                    *(name, item, json.loads(columns)),
                    facts={**json.loads(hit_facts), **json.loads(facts)},
                    market=market,
                )

    def bonuses(self) -> dict[str, list[Bonus]]:
        """The payments for each assignment, in their order."""
        paid: dict[str, list[Bonus]] = {}
        rows = self.db.rows("""
            SELECT b.assignment, a.worker, b.amount, b.reason, b.time
            FROM bonuses AS b JOIN assignments AS a ON a.id = b.assignment ORDER BY b.assignment, b.number
        """)
        for assignment, worker, amount, reason, time in rows:
            bonus = Bonus(assignment, worker, Decimal(amount), reason, time)
            paid.setdefault(assignment, []).append(bonus)
        return paid

    def comparisons(self, batch: str | None = None, *, asked: bool = False) -> list[Comparison]:
        """The comparisons that count: the last of each worker on two systems in a segment, of work not rejected.

        With ``asked`` those that follow from equal texts are left out.
        """
        sql = """
            SELECT segment, system_a, system_b, choice, worker, time, hit, assignment FROM counted_comparisons
            WHERE (?1 IS NULL OR batch = ?1) AND NOT (?2 AND implied) ORDER BY arrival, number
        """
        return [
            Comparison(segment, a, b, Choice(choice), *rest)
            for segment, a, b, choice, *rest in self.db.rows(sql, batch, asked)
        ]

    def work(self, batch: str | None = None) -> list[Work]:
        """All assignments of a batch, or of all, in numbers, in the order in which they came."""
        sql = """
            SELECT a.id, a.worker, h.id, h.kind, h.size, a.seconds,
                (SELECT count(*) FROM label_answers AS l WHERE l.assignment = a.id AND l.label IS NOT NULL),
                h.market, a.status, a.worker NOT IN (SELECT worker FROM excluded_workers),
                json_extract(h.facts, '$.Reward'), json_extract(h.facts, '$.MaxAssignments'),
                (SELECT group_concat(b.amount, ' ') FROM bonuses AS b WHERE b.assignment = a.id)
            FROM assignments AS a JOIN hits AS h ON h.id = a.hit
            WHERE ?1 IS NULL OR h.batch = ?1 ORDER BY a.number
        """
        return [
            Work._make(
                (*row, _dollars(reward), _places(places), tuple(map(Decimal, (bonuses or "").split())))
            )
            for *row, reward, places, bonuses in self.db.rows(sql, batch)
        ]

    def statuses(self) -> dict[str, str]:
        """The status of each assignment, also of those that could not be read."""
        sql = "SELECT id, status FROM assignments UNION SELECT assignment, status FROM left_out"
        return dict(self.db.rows(sql))

    def count_assignments(self) -> dict[str, int]:
        """The number of assignments of each batch, rejected ones included."""
        sql = "SELECT h.batch, count(*) FROM assignments AS a JOIN hits AS h ON h.id = a.hit GROUP BY h.batch"
        return dict(self.db.rows(sql))

    def collected(self, batch: str) -> list[tuple[str, dict[str, str], str]]:
        """Hit, what the market said of it and status of each assignment of a batch."""
        sql = "SELECT h.id, h.facts, a.status FROM hits AS h JOIN assignments AS a ON a.hit = h.id WHERE h.batch = ?"
        return [(hit, json.loads(facts), status) for hit, facts, status in self.db.rows(sql, batch)]

    def comparisons_between(self, first: str, second: str) -> list[tuple[Comparison, dict[str, str]]]:
        """All comparisons of two systems by workers who count, in hits that compare two, with the hits' columns."""
        sql = """
            SELECT c.segment, c.system_a, c.system_b, c.choice, a.worker, h.columns
            FROM comparisons AS c JOIN assignments AS a ON a.id = c.assignment JOIN hits AS h ON h.id = a.hit
            WHERE h.kind = 'comparison' AND a.status <> 'Rejected'
                AND a.worker NOT IN (SELECT worker FROM excluded_workers)
                AND min(c.system_a, c.system_b) = min(?1, ?2) AND max(c.system_a, c.system_b) = max(?1, ?2)
            ORDER BY ifnull(a.submitted, 0), a.number
        """
        return [
            (Comparison(segment, a, b, Choice(choice), worker), json.loads(columns))
            for segment, a, b, choice, worker, columns in self.db.rows(sql, first, second)
        ]

    def workers_between(self, first: str, second: str) -> set[str]:
        """Everybody who compared two systems, excluded workers too."""
        sql = """
            SELECT a.worker FROM comparisons AS c JOIN assignments AS a ON a.id = c.assignment
            WHERE NOT c.implied
                AND min(c.system_a, c.system_b) = min(?1, ?2) AND max(c.system_a, c.system_b) = max(?1, ?2)
        """
        return set(self._column(sql, first, second))

    def workers(self) -> set[str]:
        """Everybody who gave a judgment or did an assignment."""
        sql = "SELECT worker FROM workers UNION SELECT worker FROM assignments"
        return set(self._column(sql))

    def count_labels(self, batch: str | None = None) -> dict[str | None, int]:
        """How often each label was given to a real question, None for none, in work that counts."""
        sql = """
            SELECT l.label, count(*) FROM label_answers AS l JOIN assignments AS a ON a.id = l.assignment
            JOIN hits AS h ON h.id = a.hit
            WHERE a.status <> 'Rejected' AND NOT l.control AND (?1 IS NULL OR h.batch = ?1)
                AND a.worker NOT IN (SELECT worker FROM excluded_workers) GROUP BY l.label
        """
        return dict(self.db.rows(sql, batch))

    def controls(self) -> list[tuple[str, bool]]:
        """Worker and outcome of all controls that were answered."""
        rows = self.db.rows("""
            SELECT a.worker, c.passed FROM controls AS c JOIN assignments AS a ON a.id = c.assignment
            WHERE c.answer <> '' ORDER BY a.number, c.slot
        """)
        return [(worker, bool(passed)) for worker, passed in rows]

    def replies(self) -> Iterator[Reply]:
        """All answers in the order in which they came: labels (controls, too), judgments from files, comparisons.

        Simulated judgments are left out, and so are comparisons that follow from equal texts.
        """
        labels = """
            SELECT a.worker, l.segment, l.start, l.stop, l.phrase, l.label, l.control
            FROM label_answers AS l JOIN assignments AS a ON a.id = l.assignment
            WHERE l.label IS NOT NULL ORDER BY ifnull(a.submitted, 0), a.number, l.slot
        """
        imported = """
            SELECT worker, segment, start, stop, phrase, label, 0 FROM judgments
            WHERE source <> 'simulation' AND NOT (source = 'hit' AND origin IN (SELECT id FROM hits))
            ORDER BY ifnull(time, 0), segment, start, stop, phrase
        """
        for sql in (labels, imported):
            for worker, segment, start, stop, phrase, label, control in self.db.rows(sql):
                yield Reply(worker, (segment, start, stop, phrase), label, label, bool(control))
        compared = self.db.rows("""
            SELECT a.worker, c.segment, c.system_a, c.system_b, c.choice
            FROM comparisons AS c JOIN assignments AS a ON a.id = c.assignment
            WHERE NOT c.implied ORDER BY ifnull(a.submitted, 0), a.number, c.number
        """)
        for worker, segment, a, b, choice in compared:
            preferred = Comparison(segment, a, b, Choice(choice), worker).preferred
            yield Reply(worker, (segment, *sorted((a, b))), preferred, choice)

    def _column(self, sql: str, *values: Any) -> list[str]:
        return [text for (text,) in self.db.rows(sql, *values)]

    def _execute(self, sql: str, *values: Any) -> None:
        self.db.db.execute(sql, values)

    def _insert(self, table: str, assignment: str, rows: Sequence[tuple[Any, ...]]) -> None:
        if rows:
            marks = ", ".join("?" * (1 + len(rows[0])))
            values = ((assignment, *row) for row in rows)
            self.db.db.conn.executemany(f"INSERT INTO {table} VALUES ({marks})", values)


def _payments(paid: Sequence[Bonus]) -> list[tuple[int, str, str, int | None]]:
    return [(number, str(b.amount), b.reason, b.time) for number, b in enumerate(paid, start=1)]


def _split_facts(facts: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """What a market says of a hit, and what it says of the assignment; empty texts left out."""
    texts = _filled(facts)
    return (
        {name: texts[name] for name in HIT_FACTS if name in texts},
        {name: text for name, text in texts.items() if name not in HIT_FACTS},
    )


def _filled(texts: Mapping[str, str]) -> dict[str, str]:
    """Without empty ones: a CSV has a cell for every column, a form sends only what was filled in."""
    return {name: text for name, text in texts.items() if text}


def _dollars(reward: str | None) -> Decimal:
    """The reward of a hit as the market says it, such as ``$0.05``; 0 for what is no amount."""
    match = re.fullmatch(r"\$?([0-9]{1,7}(?:\.[0-9]{1,4})?)", (reward or "").strip())
    return Decimal(match[1] if match else 0)


def _places(places: str | None) -> int:
    return int(places) if places and places.isdecimal() else 1


def _json(texts: Mapping[str, str]) -> str:
    for text in (*texts, *texts.values()):
        if "\0" in text or not is_one_line(re.sub("[\r\n]", " ", text)):
            raise FormatError(f"expected text, found {text[:40]!r}")
    return json.dumps(dict(texts), ensure_ascii=False)
