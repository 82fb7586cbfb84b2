"""The numbers of the dashboard: progress, speed, cost, agreement, and a row for each worker, from the market's file.

Controls are known to the batch alone, so the accuracy on them needs the batch folders; everything else does not.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from math import nan
from pathlib import Path

from hits.kinds import KINDS
from hits.market.folder import came_from
from hits.records import Assignment, Kind, parse_annotation
from hits.results.content import Content, Reply, read_content, replies
from hits.results.quality import Effort, reports
from hits.results.verdicts import Limits, Verdict, WorkerReport
from hits.server.batches import read_copy
from hits.server.store import Store
from hits.server.store.figures import Snapshot
from hits.server.store.records import Record, Worker
from hits.simulated import is_simulated
from rypt.analysis.agreement import Agreement, agreement
from rypt.text import FormatError, RyptError, plural

ANSWER_FIELD = re.compile(r"label_[0-9]{1,2}|choice|rank_[0-9]")
Items = Mapping[tuple[str, str], Mapping[str, str]]  # batch and item → the item's columns


@dataclass(slots=True)
class Progress:
    """How far one batch is, or the hits of one title that belong to no batch of ours."""

    batch: str
    title: str
    folder: str = ""
    hits: int = 0
    places: int = 0
    pending: int = 0
    waiting: int = 0
    reviewed: int = 0
    expired: int = 0
    paused: int = 0
    agreement: Agreement | None = None
    same: float = nan

    @property
    def done(self) -> int:
        """Assignments that were submitted."""
        return self.waiting + self.reviewed

    def add(self, hit: Record, now: int) -> None:
        """Count one more hit."""
        self.hits += 1
        self.places += hit["MaxAssignments"]
        self.pending += hit["NumberOfAssignmentsPending"]
        self.waiting += hit["submitted"]
        self.reviewed += hit["NumberOfAssignmentsCompleted"]
        self.paused += hit["paused"] is not None
        missing = hit["NumberOfAssignmentsAvailable"] > 0 and hit["paused"] is None
        self.expired += missing and hit["Expiration"] <= now


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """A worker, what their answers say, the outcomes of their controls in order, and what waits for review."""

    worker: Worker
    report: WorkerReport | None
    outcomes: tuple[bool, ...]
    waiting: int
    earned: Decimal


@dataclass(slots=True)
class Work:
    """All submitted work, as `hits.results.quality` wants it."""

    replies: list[Reply] = field(default_factory=list)
    efforts: list[Effort] = field(default_factory=list)
    controls: list[tuple[str, bool]] = field(default_factory=list)
    outcomes: dict[str, list[bool]] = field(default_factory=lambda: defaultdict(list))
    waiting: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    of_batch: dict[str, list[Reply]] = field(default_factory=lambda: defaultdict(list))
    kinds: set[Kind | None] = field(default_factory=set)
    unread: int = 0
    last_hour: int = 0


@dataclass(frozen=True, slots=True)
class Figures:
    """All that the dashboard's first page shows.

    ``unit`` is what is timed, ``counted`` what is counted for a worker: a label, a comparison; "answer" where batches
    of several kinds, or of others, are on the market.
    """

    market: Snapshot
    progress: list[Progress]
    workers: list[WorkerRow]
    agreement: Agreement
    same: float
    answers_an_hour: float
    last_hour: int
    notes: list[str]
    unit: str = "answer"
    counted: str = "answer"

    @property
    def open_hits(self) -> int:
        return sum(hit["HITStatus"] == "Assignable" for hit in self.market.hits)

    @property
    def waiting(self) -> int:
        return sum(row.waiting for row in self.workers)

    @property
    def cost(self) -> Decimal:
        """Rewards that are paid or waiting, and bonuses."""
        return sum(self.market.money.values(), Decimal("0.00"))


def figures(store: Store, folders: Iterable[Path], now: int, excluded: Collection[str] = ()) -> Figures:
    """All figures at this moment; the agreement is that of workers who are not excluded."""
    folders = list(folders)
    items, notes = known_items(folders)
    sources = {folder.name: came_from(folder) for folder in folders}
    market = store.figures.snapshot(now)
    work = read_work(market.answers, items, now)
    verdicts = {
        report.worker: report
        for report in reports(work.replies, work.efforts, work.controls, excluded, Limits())
    }
    rows = [
        WorkerRow(
            worker,
            verdicts.get(worker.id),
            tuple(work.outcomes[worker.id]),
            work.waiting[worker.id],
            market.earned(worker.id),
        )
        for worker in market.workers
    ]
    rows.sort(key=lambda row: (-(row.report.answers if row.report else 0), row.worker.name))
    progress = progress_of(market.hits, now)
    for part in progress:
        part.folder = sources.get(part.batch, "")
        if part.batch:
            votes = _votes(work.of_batch[part.batch], excluded)
            part.agreement, part.same = agreement(votes), share_of_equal_pairs(votes)
    votes = _votes(work.replies, excluded)
    timed = [(seconds, answers) for _, seconds, answers in work.efforts if seconds]
    seconds = sum(seconds for seconds, _ in timed)
    unit, counted = _nouns(work.kinds)
    return Figures(
        market,
        progress,
        rows,
        agreement(votes),
        share_of_equal_pairs(votes),
        3600 * sum(answers for _, answers in timed) / seconds if seconds else nan,
        work.last_hour,
        notes + to_look_at(progress, rows, work.unread),
        unit,
        counted,
    )


def _nouns(kinds: Collection[Kind | None]) -> tuple[str, str]:
    """One answer, and what the replies of a worker are, in words: a ranking is timed by candidate, and compares."""
    kind = next(iter(kinds)) if len(kinds) == 1 else None
    if kind is None:
        return "answer", "answer"
    return KINDS[kind].unit, "label" if kind is Kind.LABEL else "comparison"


def _votes(replies: Iterable[Reply], excluded: Collection[str]) -> list[tuple[tuple[object, ...], str, str]]:
    """Question, worker and answer of replies that are no controls, by workers who count."""
    counted = (reply for reply in replies if not reply.control and reply.worker not in excluded)
    return [(reply.question, reply.worker, reply.answer) for reply in counted]


def known_items(folders: Iterable[Path]) -> tuple[dict[tuple[str, str], Mapping[str, str]], list[str]]:
    """The items of batch folders, and a note for each folder that cannot be read."""
    items: dict[tuple[str, str], Mapping[str, str]] = {}
    notes = []
    for folder in folders:
        try:
            batch, by_id = read_copy(folder)
            items.update({(batch.settings.id, name): item.columns for name, item in by_id.items()})
        except (RyptError, OSError) as error:
            notes.append(f"A batch is not used for controls: {error}")
    return items, notes


def progress_of(hits: Iterable[Record], now: int) -> list[Progress]:
    """Progress by batch and title."""
    parts: dict[tuple[str, str], Progress] = {}
    for hit in hits:
        key = (hit["batch"], hit["Title"])
        parts.setdefault(key, Progress(*key)).add(hit, now)
    return list(parts.values())


def read_work(answers: Iterable[Record], items: Items, now: int) -> Work:
    """All submitted assignments, read by their batch's columns where these are known."""
    work = Work()
    for row in answers:
        assignment = read_answer(row, items)
        content = known_content(assignment)
        given = plain_replies(assignment) if content is None else replies(assignment.worker, content)
        asked = max(len(given), 1) if content is None else content.size
        work.replies += given
        work.of_batch[assignment.batch] += given
        work.kinds.add(None if content is None else content.kind)
        work.unread += content is None and bool(assignment.columns)
        work.efforts.append((assignment.worker, assignment.seconds, asked))
        work.waiting[assignment.worker] += row["AssignmentStatus"] == "Submitted"
        work.last_hour += asked if row["SubmitTime"] > now - 3600 else 0
        for control in content.controls if content else ():
            if control.answer:
                work.controls.append((assignment.worker, control.passed))
            work.outcomes[assignment.worker].append(control.passed)
    return work


def read_answer(row: Record, items: Items) -> Assignment:
    """A submitted assignment of the store as `hits.results` has it; without columns where its batch is not known."""
    ours = parse_annotation(row["RequesterAnnotation"] or "") or ("", "")
    return Assignment(
        row["AssignmentId"],
        row["HITId"],
        row["WorkerId"],
        row["fields"],
        row["AcceptTime"],
        row["SubmitTime"],
        row["AssignmentStatus"],
        *ours,
        items.get(ours, {}),
    )


def known_content(assignment: Assignment) -> Content | None:
    """What an answer says; None when its batch is not known or does not fit."""
    if not assignment.columns:
        return None
    try:
        return read_content(assignment)
    except FormatError:
        return None


def plain_replies(assignment: Assignment) -> list[Reply]:
    """Replies of an answer whose batch is not known: each field of ours is a question of its hit."""
    return [
        Reply(assignment.worker, (assignment.hit, name), value, value)
        for name, value in assignment.fields.items()
        if ANSWER_FIELD.fullmatch(name) and value
    ]


def share_of_equal_pairs(triples: Iterable[tuple[tuple[object, ...], str, str]]) -> float:
    """Of all two answers to one question by two workers, the share that are the same.

    >>> share_of_equal_pairs([(("1",), "x", "YES"), (("1",), "y", "YES"), (("1",), "z", "NO")])
    0.3333333333333333
    """
    given: dict[tuple[object, ...], dict[str, str]] = defaultdict(dict)
    for question, worker, answer in triples:
        given[question][worker] = answer
    equal = pairs = 0
    for answers in given.values():
        counts: dict[str, int] = defaultdict(int)
        for answer in answers.values():
            counts[answer] += 1
        pairs += len(answers) * (len(answers) - 1)
        equal += sum(count * (count - 1) for count in counts.values())
    return equal / pairs if pairs else nan


def to_look_at(progress: Iterable[Progress], rows: Sequence[WorkerRow], unread: int = 0) -> list[str]:
    """Notes on what needs the requester's attention."""
    notes = [
        f"{part.title}: {plural(part.expired, 'hit')} expired before all places were taken."
        for part in progress
        if part.expired
    ]
    if simulated := sum(is_simulated(row.worker.id) for row in rows):
        notes.append(f"{plural(simulated, 'SIMULATED worker')}: these answers are not human judgments.")
    notes += [
        f"{row.worker.name}: {'; '.join(row.report.reasons)}."
        for row in rows
        if row.report and row.report.verdict in (Verdict.LOOK, Verdict.BAD)
        if row.worker.blocked is None and not row.report.excluded
    ]
    if unread:
        notes.append(f"{plural(unread, 'unreadable assignment')} left out of the results: please review.")
    return notes


def sparkline(outcomes: tuple[bool, ...], width: int = 120, height: int = 24, window: int = 10) -> str:
    """Points of a line: the share of right controls among the last ten, after each control.

    >>> sparkline((True, False))
    '2.0,2.0 118.0,12.0'
    """
    shares = []
    for end in range(1, len(outcomes) + 1):
        part = outcomes[max(0, end - window) : end]
        shares.append(sum(part) / len(part))
    if len(shares) == 1:
        shares *= 2
    step = (width - 4) / max(len(shares) - 1, 1)
    return " ".join(
        f"{2 + i * step:.1f},{2 + (1 - share) * (height - 4):.1f}" for i, share in enumerate(shares)
    )
