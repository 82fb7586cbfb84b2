"""The quality of workers: each one's answers, speed and accuracy, and a verdict with its reasons.

    worker_reports("campaign")   →   [WorkerReport(worker="A1", verdict=Verdict.BAD, reasons=("YES to 99 %…",)), …]

A verdict is advice: it lists the reasons against a worker in words. The limits are in
`hits.results.verdicts`. Answers are columns of numbers here, for there may be millions of them.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from math import nan
from statistics import median
from types import MappingProxyType

import numpy as np

from hits.results.answers import Results, open_results
from hits.results.content import Reply
from hits.results.verdicts import ANSWERS, Share, WorkerReport, judged
from rypt.arrays import Ints
from rypt.campaign.folder import Campaign
from rypt.records import Label
from rypt.text import PathLike

Effort = tuple[str, int | None, int]  # of an assignment: worker, seconds if they are known, and answers


def worker_reports(campaign: Campaign | PathLike | Results) -> list[WorkerReport]:
    """Reports on all workers of a campaign, those with most answers first.

    ``campaign`` may be its folder, or open results.
    """
    if not isinstance(campaign, Results):
        with open_results(campaign) as results:
            return worker_reports(results)
    return reports(
        campaign.replies(),
        ((work.worker, work.seconds, work.answers) for work in campaign.work()),
        campaign.controls(),
        campaign.db.excluded(),
        Counter(a.worker for a in campaign.left_out()),
    )


def reports(
    replies: Iterable[Reply],
    efforts: Iterable[Effort],
    controls: Iterable[tuple[str, bool]],
    excluded: Collection[str],
    unread: Mapping[str, int] = MappingProxyType({}),
) -> list[WorkerReport]:
    """Reports on all workers, those with most answers first.

    ``controls`` are worker and outcome of those that were answered; ``unread`` counts the assignments of each worker
    that cannot be read. Excluded workers have reports, and are not among the others with whom workers are compared.
    """
    columns = _Replies(replies, excluded)
    assignments: Counter[str] = Counter()
    paces: dict[str, list[float]] = defaultdict(list)
    for worker, seconds, answers in efforts:
        assignments[worker] += 1
        if seconds is not None and answers:
            paces[worker].append(seconds / answers)
    outcomes: dict[str, list[bool]] = defaultdict(list)
    for worker, passed in controls:
        outcomes[worker].append(passed)
    agreement, chance, repeats = columns.agreement(), columns.chance(), columns.repeats()
    made = []
    for worker in dict.fromkeys([*columns.workers, *assignments, *outcomes, *unread]):
        rows = columns.rows.get(worker, np.empty(0, np.int64))
        shown = Counter(columns.shown[rows].tolist())
        top = max(shown, key=lambda answer: shown[answer], default=-1)
        shares = {columns.answers[answer]: count / len(rows) for answer, count in shown.items()}
        made.append(
            WorkerReport(
                worker=worker,
                answers=len(rows),
                assignments=assignments[worker],
                seconds=median(paces[worker]) if paces[worker] else nan,
                shares=dict(sorted(shares.items())),
                controls=Share(sum(outcomes[worker]), len(outcomes[worker])),
                agreement=agreement.get(worker, Share(0, 0)),
                chance=chance.get(worker, nan),
                repeats=repeats.get(worker, Share(0, 0)),
                top=columns.answers[top] if shown else "",
                expected=columns.expected(worker, rows, top) if shown else nan,
                longest_run=_longest_run(columns.shown[rows]),
                excluded=worker in excluded,
                unread=unread.get(worker, 0),
            )
        )
    enough = [r.agreement.value for r in made if r.agreement.of >= ANSWERS and not r.excluded]
    typical = median(enough) if enough else nan
    judged_reports = [judged(report, typical) for report in made]
    return sorted(judged_reports, key=lambda report: (-report.answers, report.worker))


class _Codes(dict[object, int]):
    """Numbers things in the order in which they come."""

    def __missing__(self, thing: object) -> int:
        self[thing] = number = len(self)
        return number


class _Replies:
    """Columns of replies: codes of workers, questions, what is meant and what was clicked.

    ``others`` has for each reply how many of the other workers who count gave each answer to its question, their last
    one; ``meaning`` says for each question which answers these are.
    """

    def __init__(self, replies: Iterable[Reply], excluded: Collection[str]) -> None:
        workers, questions, answers = _Codes(), _Codes(), _Codes()
        rows = [
            (workers[r.worker], questions[r.question], answers[r.answer], answers[r.shown], r.control)
            for r in replies
        ]
        table = np.array(rows, np.int64).reshape(-1, 5).T
        self.worker, self.question, self.answer, self.shown, control = table
        self.workers, self.answers = [str(name) for name in workers], [str(answer) for answer in answers]
        self.real = np.flatnonzero(control == 0)
        order = np.argsort(self.worker, kind="stable")
        bounds = np.searchsorted(self.worker[order], np.arange(1, len(workers)))
        self.rows = dict(zip(self.workers, np.split(order, bounds), strict=False))
        pairs, pair = np.unique(self.question * len(answers) + self.answer, return_inverse=True)
        of_question, answer = np.divmod(pairs, max(1, len(answers)))
        slot = np.arange(len(pairs)) - np.searchsorted(of_question, of_question)
        shape = len(questions), 2 + int(slot.max(initial=0))
        self.meaning = np.full(shape, -1)
        self.meaning[of_question, slot] = answer
        slots = slot[pair.reshape(-1)]
        self.place = self.question * len(workers) + self.worker
        last = _last(self.place)
        counts = np.array([name not in excluded for name in self.workers], np.bool_)[self.worker]
        counted = np.unique(last[counts])
        votes = np.zeros(shape, np.int64)
        np.add.at(votes, (self.question[counted], slots[counted]), 1)
        self.others = votes[self.question]
        self.others[np.arange(len(rows)), slots[last]] -= counts
        self.clicks = np.bincount(self.shown[counts], minlength=len(answers))
        self.excluded = excluded
        last = np.unique(self.real[_last(self.place[self.real])])
        ranked = np.sort(self.others[last], axis=1)
        self.compared = last[ranked[:, -1] > ranked[:, -2]]  # replies to which the others have a majority
        self.majority = self.meaning[self.question[self.compared], self.others[self.compared].argmax(axis=1)]

    def agreement(self) -> dict[str, Share]:
        """How often each worker agrees with the majority of the others."""
        same = self.answer[self.compared] == self.majority
        return self._shares(self.worker[self.compared], same)

    def chance(self) -> dict[str, float]:
        """How often each worker would agree with that majority by chance."""
        size = len(self.answers)
        mine, theirs = (
            np.bincount(
                self.worker[self.compared] * size + answers, minlength=len(self.workers) * size
            ).reshape(-1, max(1, size))
            for answers in (self.answer[self.compared], self.majority)
        )
        totals = mine.sum(axis=1).tolist()
        products = (mine * theirs).sum(axis=1).tolist()
        return {
            name: product / total**2 if total else nan
            for name, product, total in zip(self.workers, products, totals, strict=True)
        }

    def repeats(self) -> dict[str, Share]:
        """How often a question that came again got the same answer as the time before."""
        order = np.argsort(self.place, kind="stable")
        again = np.flatnonzero(self.place[order][1:] == self.place[order][:-1])
        now, before = order[again + 1], order[again]
        return self._shares(self.worker[now], self.answer[now] == self.answer[before])

    def _shares(self, workers: Ints, right: Ints) -> dict[str, Share]:
        of = np.bincount(workers, minlength=len(self.workers)).tolist()
        hits = np.bincount(workers[right], minlength=len(self.workers)).tolist()
        return {name: Share(*counts) for name, *counts in zip(self.workers, hits, of, strict=True)}

    def expected(self, worker: str, rows: Ints, top: int) -> float:
        """How often the others do as the worker does most: a label, to the same questions; a side, anywhere.

        The others' share on a question has two more votes as they are everywhere, for there may be none.
        """
        clicks = self.clicks
        if worker not in self.excluded:
            clicks = clicks - np.bincount(self.shown[rows], minlength=len(self.answers))
        if not clicks.sum():
            return nan
        overall = float(clicks[top] / clicks.sum())
        if self.answers[top] not in Label.__members__:
            return overall
        others = self.others[rows]
        votes = np.where(self.meaning[self.question[rows]] == top, others, 0).sum(axis=1)
        shares = (votes + 2 * overall) / (others.sum(axis=1) + 2)
        return float(np.cumsum(shares)[-1]) / len(rows)


def _last(places: Ints) -> Ints:
    """For each number of a row the index at which it stands last."""
    _, codes = np.unique(places, return_inverse=True)
    last = np.zeros(len(places), np.int64)
    last[codes] = np.arange(len(places))
    return last[codes]


def _longest_run(shown: Ints) -> int:
    if not len(shown):
        return 0
    breaks = np.flatnonzero(np.concatenate(([True], shown[1:] != shown[:-1], [True])))
    return int(np.diff(breaks).max())
