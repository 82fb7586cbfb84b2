"""The quality of workers: each one's answers, speed and accuracy, and a verdict with its reasons.

    worker_reports("campaign")   →   [WorkerReport(worker="A1", verdict=Verdict.BAD, reasons=("YES to 99 %…",)), …]

A verdict is advice: it lists the reasons against a worker in words. All limits are in
`hits.results.verdicts.Limits`.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan
from statistics import median
from types import MappingProxyType
from typing import TYPE_CHECKING

from hits.records import Choice
from hits.results.answers import Results
from hits.results.content import ControlAnswer
from hits.results.verdicts import Limits, Share, WorkerReport, judged
from rypt.records import Label
from rypt.text import PathLike

if TYPE_CHECKING:
    from rypt.campaign.folder import Campaign


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer to one question by one worker.

    ``answer`` says what is meant (a label, the better system), ``shown`` what was clicked (a label, a side). A
    ``control`` says nothing about agreement with others, for it was made or chosen to be clear.
    """

    worker: str
    question: tuple[str, ...]
    answer: str
    shown: str
    control: bool = False


@dataclass(frozen=True, slots=True)
class Effort:
    """How long a worker took for an assignment and how many answers it has."""

    worker: str
    seconds: int | None
    answers: int


def worker_reports(
    campaign: "Campaign | PathLike | Results", limits: Limits | None = None
) -> list[WorkerReport]:
    """How each worker does: all workers of a campaign, those with most answers first.

    ``campaign`` may be its folder, or open results; ``limits`` are the thresholds of the verdicts.
    """
    if isinstance(campaign, Results):
        from hits.results.reply_columns import column_reports

        return column_reports(campaign, limits or Limits())
    from rypt.campaign.folder import Campaign

    opened = campaign if isinstance(campaign, Campaign) else Campaign.open(campaign)
    with opened.database() as db:
        return worker_reports(Results(db), limits)


def read_replies(results: Results) -> list[Reply]:
    """All answers in the order in which they came: labels (controls, too), comparisons, and judgments from files.

    Simulated judgments are left out, and so are comparisons that follow from equal texts.
    """
    labels = [*results.given_labels(), *results.imported_labels()]
    replies = [
        Reply(
            given.worker,
            (given.segment, f"{given.start}-{given.stop}", given.phrase),
            given.label,
            given.label,
            bool(given.control),
        )
        for given in labels
    ]
    for worker, segment, a, b, choice in results.given_comparisons():
        meant = {Choice.A: a, Choice.B: b}.get(Choice(choice), choice)
        replies.append(Reply(worker, (segment, *sorted((a, b))), meant, choice))
    return replies


def read_efforts(results: Results) -> list[Effort]:
    """Each assignment's time and its number of answers: labels given, candidates ranked, or one comparison."""
    return [Effort(work.worker, work.seconds, work.answers) for work in results.work()]


def reports(
    replies: Sequence[Reply],
    efforts: Iterable[Effort],
    controls: Iterable[ControlAnswer],
    excluded: Iterable[str],
    limits: Limits,
    unread: Mapping[str, int] = MappingProxyType({}),
) -> list[WorkerReport]:
    """Reports from plain records; ``unread`` counts the assignments of each worker that cannot be read.

    Excluded workers have reports, and are not among the others with whom workers are compared.
    """
    of_worker: dict[str, list[Reply]] = defaultdict(list)
    for reply in replies:
        of_worker[reply.worker].append(reply)
    paces: dict[str, list[Effort]] = defaultdict(list)
    for effort in efforts:
        paces[effort.worker].append(effort)
    outcomes: dict[str, list[bool]] = defaultdict(list)
    for control in controls:
        if control.answer:
            outcomes[control.worker].append(control.passed)
    left_out = set(excluded)
    others = Others(reply for reply in replies if reply.worker not in left_out)
    made = [
        _report(worker, of_worker[worker], paces[worker], outcomes[worker], others, worker in left_out)
        for worker in dict.fromkeys([*of_worker, *paces, *outcomes, *unread])
    ]
    made = [replace(report, unread=unread.get(report.worker, 0)) for report in made]
    typical = typical_agreement(made, limits)
    return sorted(
        (judged(report, typical, limits) for report in made),
        key=lambda report: (-report.answers, report.worker),
    )


class Others:
    """What all who count said, to be asked what all but one said. The last answer of a worker to a question counts."""

    def __init__(self, replies: Iterable[Reply]) -> None:
        self.given: dict[tuple[str, ...], dict[str, str]] = defaultdict(dict)
        self.shown: Counter[str] = Counter()
        self.shown_to: dict[str, Counter[str]] = defaultdict(Counter)
        for reply in replies:
            self.shown[reply.shown] += 1
            self.shown_to[reply.worker][reply.shown] += 1
            self.given[reply.question][reply.worker] = reply.answer

    def answers(self, question: tuple[str, ...], worker: str) -> Counter[str]:
        """The answers to a question that are not this worker's."""
        return Counter(answer for other, answer in self.given[question].items() if other != worker)

    def majority(self, question: tuple[str, ...], worker: str) -> str | None:
        """The most frequent of them; None when there is none or two are as frequent."""
        ranked = self.answers(question, worker).most_common(2)
        if not ranked or (len(ranked) > 1 and ranked[0][1] == ranked[1][1]):
            return None
        return ranked[0][0]

    def expected(self, worker: str, replies: Sequence[Reply], shown: str) -> float:
        """How often the others click ``shown``: a label, to these questions; a side, which is random, anywhere."""
        mine = self.shown_to[worker]
        rest = self.shown.total() - mine.total()
        if not rest:
            return nan
        overall = (self.shown[shown] - mine[shown]) / rest
        if shown not in Label.__members__:
            return overall
        return sum(self._share(reply, worker, shown, overall) for reply in replies) / len(replies)

    def _share(self, reply: Reply, worker: str, shown: str, overall: float) -> float:
        """The others' share on one question; with two more votes as they are everywhere, for there may be none."""
        votes = self.answers(reply.question, worker)
        return (votes[shown] + 2 * overall) / (votes.total() + 2)


def _report(
    worker: str,
    replies: Sequence[Reply],
    paces: Sequence[Effort],
    outcomes: Sequence[bool],
    others: Others,
    excluded: bool,
) -> WorkerReport:
    shown = Counter(reply.shown for reply in replies)
    top = shown.most_common(1)[0][0] if shown else ""
    agreement, chance = _agreement(worker, replies, others)
    timed = [
        effort.seconds / effort.answers for effort in paces if effort.seconds is not None and effort.answers
    ]
    return WorkerReport(
        worker=worker,
        answers=len(replies),
        assignments=len(paces),
        seconds=median(timed) if timed else nan,
        shares={name: count / len(replies) for name, count in sorted(shown.items())},
        controls=Share(sum(outcomes), len(outcomes)),
        agreement=agreement,
        chance=chance,
        repeats=_repeats(replies),
        top=top,
        expected=others.expected(worker, replies, top) if replies else nan,
        longest_run=_longest_run([reply.shown for reply in replies]),
        excluded=excluded,
    )


def _agreement(worker: str, replies: Iterable[Reply], others: Others) -> tuple[Share, float]:
    """Agreement with the majority of the others, and how much there would be by chance."""
    last = {reply.question: reply.answer for reply in replies if not reply.control}
    pairs = [
        (answer, wanted) for q, answer in last.items() if (wanted := others.majority(q, worker)) is not None
    ]
    mine, theirs = Counter(answer for answer, _ in pairs), Counter(wanted for _, wanted in pairs)
    chance = sum(count * theirs[answer] for answer, count in mine.items()) / len(pairs) ** 2 if pairs else nan
    return Share(sum(answer == wanted for answer, wanted in pairs), len(pairs)), chance


def _repeats(replies: Iterable[Reply]) -> Share:
    """How often a question that came again got the same answer as the time before."""
    before: dict[tuple[str, ...], str] = {}
    same = again = 0
    for reply in replies:
        if reply.question in before:
            again += 1
            same += before[reply.question] == reply.answer
        before[reply.question] = reply.answer
    return Share(same, again)


def _longest_run(answers: Sequence[str]) -> int:
    longest = run = 0
    for i, answer in enumerate(answers):
        run = run + 1 if i and answers[i - 1] == answer else 1
        longest = max(longest, run)
    return longest


def typical_agreement(made: Iterable[WorkerReport], limits: Limits) -> float:
    """The median worker's agreement with the others, of those who count and have enough answers, or NaN."""
    known = [r.agreement.value for r in made if r.agreement.of >= limits.answers and not r.excluded]
    return median(known) if known else nan
