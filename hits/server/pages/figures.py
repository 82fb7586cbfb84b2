"""The numbers of the dashboard: progress, speed, cost, agreement, and a row for each worker, from the market's file.

Controls are known to the batch alone, so the accuracy on them needs the batch folders; everything else does not.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from math import comb, nan
from pathlib import Path

from hits.kinds import KINDS
from hits.market.folder import came_from
from hits.records import SUBMITTED, Assignment, Kind, Progress, parse_annotation
from hits.results.content import Content, Reply, read_content, replies
from hits.results.quality import reports
from hits.results.verdicts import Verdict, WorkerReport
from hits.server.batches import read_copy
from hits.server.store import Store
from hits.server.store.records import Record, Worker
from hits.simulated import is_simulated
from rypt.analysis.agreement import by_question, krippendorff_alpha
from rypt.text import FormatError, RyptError, plural

ANSWER_FIELD = re.compile(r"label_[0-9]{1,2}|choice|rank_[0-9]")
Items = Mapping[tuple[str, str], Mapping[str, str]]  # batch and item → the item's columns
Votes = list[tuple[tuple[object, ...], str, str]]  # question, worker, answer


@dataclass(frozen=True, slots=True)
class Answered:
    """A submitted assignment, what it says (None where its batch is not known or does not fit), and its answers."""

    assignment: Assignment
    content: Content | None
    replies: list[Reply]

    @property
    def size(self) -> int:
        return max(len(self.replies), 1) if self.content is None else self.content.size


@dataclass(slots=True)
class BatchRow:
    """One batch, or the hits of one title that belong to no batch of ours."""

    batch: str
    title: str
    folder: str = ""
    progress: Progress = field(default_factory=Progress)
    expired: int = 0
    paused: int = 0
    alpha: float = nan
    same: float = nan


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """A worker, what their answers say, how many assignments wait for review, and the money."""

    worker: Worker
    report: WorkerReport | None
    waiting: int
    earned: Decimal


@dataclass(frozen=True, slots=True)
class Figures:
    """All that the dashboard's first page shows.

    ``money`` is what each worker has Approved, Submitted (waiting), or as bonus. ``alpha`` is Krippendorff's, ``same``
    the share of equal pairs. ``unit`` is what is timed, ``counted`` what is counted for a worker: a label, a
    comparison; "answer" where batches of several kinds, or of others, are there.
    """

    money: Mapping[tuple[str, str], Decimal]
    batches: list[BatchRow]
    workers: list[WorkerRow]
    alpha: float
    same: float
    answers_an_hour: float
    last_hour: int
    notes: list[str]
    unit: str
    counted: str

    @property
    def total(self) -> Progress:
        return Progress.total(row.progress for row in self.batches)

    @property
    def waiting(self) -> int:
        return sum(row.waiting for row in self.workers)

    @property
    def cost(self) -> Decimal:
        """Rewards that are paid or waiting, and bonuses."""
        return sum(self.money.values(), Decimal("0.00"))

    def paid(self, kind: str) -> Decimal:
        return sum((amount for (_, of), amount in self.money.items() if of == kind), Decimal("0.00"))


def figures(store: Store, folders: Iterable[Path], now: int, excluded: Collection[str] = ()) -> Figures:
    """All figures at this moment; the agreement is that of workers who are not excluded."""
    folders = list(folders)
    items, notes = known_items(folders)
    work = [read_answered(row, items) for row in store.work.all(now)]
    money = store.work.money(now)
    workers = _worker_rows(store.people.all(), work, money, excluded)
    batches = _batch_rows(store.hits.progress(now), now)
    sources = {folder.name: came_from(folder) for folder in folders}
    for row in batches:
        row.folder = sources.get(row.batch, "")
        if row.batch:
            votes = _votes((one for one in work if one.assignment.batch == row.batch), excluded)
            row.alpha, row.same = krippendorff_alpha(votes), share_of_equal_pairs(votes)
    votes = _votes(work, excluded)
    timed = [(one.assignment.seconds, one.size) for one in work if one.assignment.seconds]
    seconds = sum(seconds for seconds, _ in timed)
    kinds = {one.content.kind if one.content else None for one in work}
    kind = next(iter(kinds)) if len(kinds) == 1 else None
    return Figures(
        money,
        batches,
        workers,
        krippendorff_alpha(votes),
        share_of_equal_pairs(votes),
        3600 * sum(size for _, size in timed) / seconds if seconds else nan,
        sum(one.size for one in work if (one.assignment.submitted or 0) > now - 3600),
        notes + _to_look_at(batches, workers, work),
        unit="answer" if kind is None else KINDS[kind].unit,
        counted="answer" if kind is None else "label" if kind is Kind.LABEL else "comparison",
    )


def _worker_rows(
    workers: Iterable[Worker],
    work: Sequence[Answered],
    money: Mapping[tuple[str, str], Decimal],
    excluded: Collection[str],
) -> list[WorkerRow]:
    waiting = Counter(one.assignment.worker for one in work if one.assignment.status == SUBMITTED)
    found = reports(
        [reply for one in work for reply in one.replies],
        [(one.assignment.worker, one.assignment.seconds, one.size) for one in work],
        [
            (one.assignment.worker, control.passed)
            for one in work
            for control in (one.content.controls if one.content else ())
            if control.answer
        ],
        excluded,
    )
    by_worker = {report.worker: report for report in found}
    earned: dict[str, Decimal] = {}
    for (who, _), amount in money.items():
        earned[who] = earned.get(who, Decimal("0.00")) + amount
    rows = [
        WorkerRow(
            worker, by_worker.get(worker.id), waiting[worker.id], earned.get(worker.id, Decimal("0.00"))
        )
        for worker in workers
    ]
    return sorted(rows, key=lambda row: (-(row.report.answers if row.report else 0), row.worker.name))


def _batch_rows(hits: Iterable[Record], now: int) -> list[BatchRow]:
    rows: dict[tuple[str, str], BatchRow] = {}
    for hit in hits:
        key = (hit["batch"], hit["Title"])
        row = rows.setdefault(key, BatchRow(*key))
        row.progress.add(hit)
        row.paused += hit["paused"] is not None
        missing = hit["NumberOfAssignmentsAvailable"] > 0 and hit["paused"] is None
        row.expired += missing and hit["Expiration"] <= now
    return list(rows.values())


def _votes(work: Iterable[Answered], excluded: Collection[str]) -> Votes:
    """The replies that are no controls, by workers who count."""
    return [
        (reply.question, reply.worker, reply.answer)
        for one in work
        for reply in one.replies
        if not reply.control and reply.worker not in excluded
    ]


def share_of_equal_pairs(votes: Votes) -> float:
    """Of all two answers to one question by two workers, the share that are the same.

    >>> share_of_equal_pairs([(("1",), "x", "YES"), (("1",), "y", "YES"), (("1",), "z", "NO")])
    0.3333333333333333
    """
    questions = by_question(votes).values()
    pairs = sum(comb(len(answers), 2) for answers in questions)
    equal = sum(comb(n, 2) for answers in questions for n in Counter(answers.values()).values())
    return equal / pairs if pairs else nan


def known_items(folders: Iterable[Path]) -> tuple[dict[tuple[str, str], Mapping[str, str]], list[str]]:
    """The items of batch folders, and a note for each folder that cannot be read."""
    items: dict[tuple[str, str], Mapping[str, str]] = {}
    notes = []
    for folder in folders:
        try:
            batch = read_copy(folder)
            items.update({(batch.settings.id, item.id): item.columns for item in batch.items})
        except (RyptError, OSError) as error:
            notes.append(f"A batch is not used for controls: {error}")
    return items, notes


def read_answered(row: Record, items: Items) -> Answered:
    """A submitted assignment of the store, read by its batch's columns where these are known."""
    batch, item = parse_annotation(row["RequesterAnnotation"] or "") or ("", "")
    assignment = Assignment(
        id=row["AssignmentId"],
        hit=row["HITId"],
        worker=row["WorkerId"],
        fields=row["fields"],
        accepted=row["AcceptTime"],
        submitted=row["SubmitTime"],
        status=row["AssignmentStatus"],
        batch=batch,
        item=item,
        columns=items.get((batch, item), {}),
    )
    try:
        content = read_content(assignment) if assignment.columns else None
    except FormatError:
        content = None
    if content is not None:
        return Answered(assignment, content, replies(assignment.worker, content))
    plain = [  # each field of ours is a question of its hit
        Reply(assignment.worker, (assignment.hit, name), value, value)
        for name, value in assignment.fields.items()
        if ANSWER_FIELD.fullmatch(name) and value
    ]
    return Answered(assignment, None, plain)


def _to_look_at(
    batches: Iterable[BatchRow], workers: Sequence[WorkerRow], work: Iterable[Answered]
) -> list[str]:
    notes = [
        f"{row.title}: {plural(row.expired, 'hit')} expired before all places were taken."
        for row in batches
        if row.expired
    ]
    if simulated := sum(is_simulated(row.worker.id) for row in workers):
        notes.append(f"{plural(simulated, 'SIMULATED worker')}: these answers are not human judgments.")
    notes += [
        f"{row.worker.name}: {'; '.join(row.report.reasons)}."
        for row in workers
        if row.report and row.report.verdict in (Verdict.LOOK, Verdict.BAD)
        if row.worker.blocked is None and not row.report.excluded
    ]
    if unread := sum(one.content is None and bool(one.assignment.columns) for one in work):
        notes.append(f"{plural(unread, 'unreadable assignment')} left out of the results: please review.")
    return notes
