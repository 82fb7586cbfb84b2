"""The reports on workers from columns of answers: the same as from single replies, for hundreds of thousands of them.

    column_reports(results, limits)   →   [WorkerReport(worker="A1", verdict=Verdict.BAD, …), …]

A question has at most three different answers (YES, NO, NOT_SURE; a system, the other one, neither), so the answers of
all workers to it are three counts, from which one's own is taken away.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from statistics import median

import numpy as np
from numpy.typing import NDArray

from hits.results.answers import Results
from hits.results.quality import Effort, read_replies, typical_agreement
from hits.results.verdicts import Limits, Share, WorkerReport, judged
from rypt.arrays import Ints
from rypt.records import Label

SLOTS = 3  # different answers to a question
Bools = NDArray[np.bool_]


class _Codes(dict[object, int]):
    """Numbers things in the order in which they come."""

    def __missing__(self, thing: object) -> int:
        self[thing] = number = len(self)
        return number


@dataclass(frozen=True, slots=True)
class ReplyColumns:
    """Answers in the order in which they came: codes of workers, questions, what is meant and what was clicked."""

    workers: list[str]
    answers: list[str]
    worker: Ints
    question: Ints
    answer: Ints
    shown: Ints
    control: Bools


def read_reply_columns(results: Results) -> ReplyColumns:
    """What `hits.results.quality.read_replies` reads, as columns."""
    workers, questions, answers = _Codes(), _Codes(), _Codes()
    for label in Label:
        _ = answers[str(label)]
    rows = [
        (workers[r.worker], questions[r.question], answers[r.answer], answers[r.shown], r.control)
        for r in read_replies(results)
    ]
    worker, question, answer, shown, control = np.array(rows, np.int64).reshape(-1, 5).T
    names, texts = [str(name) for name in workers], [str(a) for a in answers]
    return ReplyColumns(names, texts, worker, question, answer, shown, control.astype(np.bool_))


class _Given:
    """The last answer of each worker to each question, and how many workers who count (a mask) gave each answer."""

    def __init__(self, replies: ReplyColumns, counts: Bools) -> None:
        self.reply_counts = counts[replies.worker]
        count = len(replies.workers)
        _, question = np.unique(replies.question, return_inverse=True)
        self.question = question.reshape(-1).astype(np.int64)
        questions = int(self.question.max(initial=-1)) + 1
        pairs = self.question * len(replies.answers) + replies.answer
        distinct, which = np.unique(pairs, return_inverse=True)
        of_question = distinct // max(1, len(replies.answers))
        slot = np.arange(len(distinct)) - np.searchsorted(of_question, of_question)
        self.slot = slot[which.reshape(-1)]  # of each reply's answer, within its question
        self.answer_of_slot = np.full((questions, SLOTS), -1, np.int64)
        self.answer_of_slot[of_question, slot] = distinct % max(1, len(replies.answers))
        self.place = self.question * count + replies.worker
        self.last = last_of(self.place)
        self.counts = np.zeros((questions, SLOTS), np.int64)
        counted = self.last[self.reply_counts[self.last]]
        np.add.at(self.counts, (self.question[counted], self.slot[counted]), 1)
        places = self.place[self.last]
        order = np.argsort(places)
        self._places, self._slots = places[order], self.slot[self.last][order]

    def of_others(self, rows: Ints) -> Ints:
        """For replies, the counts of all answers to their question but the worker's own, (replies, slots)."""
        counts = self.counts[self.question[rows]]
        mine = self._slots[np.searchsorted(self._places, self.place[rows])]
        counts[np.arange(len(rows)), mine] -= self.reply_counts[rows]
        return counts


def last_of(places: Ints) -> Ints:
    """The index of the last of equal numbers, in the order of the first of them."""
    _, first_from_end = np.unique(places[::-1], return_index=True)
    last = len(places) - 1 - first_from_end
    _, first = np.unique(places, return_index=True)
    return np.asarray(last[np.argsort(first)], np.int64)


def column_reports(results: Results, limits: Limits) -> list[WorkerReport]:
    """The reports on all workers, those with most answers first."""
    replies = read_reply_columns(results)
    excluded = set(results.db.excluded())
    given = _Given(replies, np.array([name not in excluded for name in replies.workers], np.bool_))
    paces: dict[str, list[Effort]] = defaultdict(list)
    for work in results.work():
        paces[work.worker].append(Effort(work.worker, work.seconds, work.answers))
    outcomes: dict[str, list[bool]] = defaultdict(list)
    for control in results.controls():
        if control.answer:
            outcomes[control.worker].append(control.passed)
    unread = Counter(row.worker for row in results.left_out())
    order = np.argsort(replies.worker, kind="stable")
    bounds = np.searchsorted(replies.worker[order], np.arange(len(replies.workers) + 1)).tolist()
    rows = {name: order[bounds[i] : bounds[i + 1]] for i, name in enumerate(replies.workers)}
    shown = np.bincount(replies.shown[given.reply_counts], minlength=len(replies.answers))
    made = [
        _report(
            name,
            rows.get(name, order[:0]),
            paces.get(name, ()),
            outcomes.get(name, ()),
            replies,
            given,
            shown,
            excluded=name in excluded,
            unread=unread.get(name, 0),
        )
        for name in dict.fromkeys([*replies.workers, *paces, *outcomes, *unread])
    ]
    typical = typical_agreement(made, limits)
    return sorted(
        (judged(report, typical, limits) for report in made),
        key=lambda report: (-report.answers, report.worker),
    )


def _report(
    worker: str,
    rows: Ints,
    paces: Sequence[Effort],
    outcomes: Sequence[bool],
    replies: ReplyColumns,
    given: _Given,
    shown: Ints,
    *,
    excluded: bool,
    unread: int,
) -> WorkerReport:
    mine = np.bincount(replies.shown[rows], minlength=len(replies.answers))
    names = {replies.answers[i]: int(mine[i]) for i in np.flatnonzero(mine).tolist()}
    first = {code: place for place, code in reversed(list(enumerate(replies.shown[rows].tolist())))}
    top = max(np.flatnonzero(mine).tolist(), key=lambda code: (mine[code], -first[code]), default=-1)
    agreement, chance = _agreement(rows, replies, given)
    timed = [
        effort.seconds / effort.answers for effort in paces if effort.seconds is not None and effort.answers
    ]
    return WorkerReport(
        worker=worker,
        answers=len(rows),
        assignments=len(paces),
        seconds=median(timed) if timed else nan,
        shares={name: count / len(rows) for name, count in sorted(names.items())},
        controls=Share(sum(outcomes), len(outcomes)),
        agreement=agreement,
        chance=chance,
        repeats=_repeats(rows, replies, given),
        top=replies.answers[top] if top >= 0 else "",
        expected=_expected(rows, top, replies, given, shown - (0 if excluded else mine))
        if len(rows)
        else nan,
        longest_run=_longest_run(replies.shown[rows]),
        excluded=excluded,
        unread=unread,
    )


def _agreement(rows: Ints, replies: ReplyColumns, given: _Given) -> tuple[Share, float]:
    """Agreement with the majority of the others, and how much there would be by chance."""
    real = rows[~replies.control[rows]]
    last = real[last_of(given.place[real])]
    others = given.of_others(last)
    ranked = np.sort(others, axis=1)
    decided = ranked[:, -1] > ranked[:, -2]
    wanted = given.answer_of_slot[given.question[last], others.argmax(axis=1)][decided]
    answer = replies.answer[last][decided]
    size = len(replies.answers)
    by_chance = int(np.bincount(answer, minlength=size) @ np.bincount(wanted, minlength=size))
    same = Share(int((answer == wanted).sum()), len(answer))
    return same, by_chance / len(answer) ** 2 if len(answer) else nan


def _repeats(rows: Ints, replies: ReplyColumns, given: _Given) -> Share:
    """How often a question that came again got the same answer as the time before."""
    order = rows[np.argsort(given.question[rows], kind="stable")]
    again = given.question[order][1:] == given.question[order][:-1]
    same = again & (replies.answer[order][1:] == replies.answer[order][:-1])
    return Share(int(same.sum()), int(again.sum()))


def _expected(rows: Ints, top: int, replies: ReplyColumns, given: _Given, shown: Ints) -> float:
    """How often the others, who clicked ``shown``, do as the worker: a label, to these questions; a side, anywhere."""
    rest = int(shown.sum())
    if not rest:
        return nan
    overall = int(shown[top]) / rest
    if replies.answers[top] not in Label.__members__:
        return overall
    others = given.of_others(rows)
    votes = np.where(given.answer_of_slot[given.question[rows]] == top, others, 0).sum(axis=1)
    shares = (votes + 2 * overall) / (others.sum(axis=1) + 2)
    return float(np.cumsum(shares)[-1]) / len(rows)


def _longest_run(shown: Ints) -> int:
    if not len(shown):
        return 0
    breaks = np.flatnonzero(np.append(np.append(True, shown[1:] != shown[:-1]), True))
    return int(np.diff(breaks).max())
