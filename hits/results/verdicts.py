"""Verdicts on workers: the thresholds, and the verdict with its reasons in words."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from math import exp, isnan, log, nan, sqrt
from typing import Any

from hits.kinds import answer_words
from rypt.tails import binomial_tail
from rypt.text import plural

Z = 1.959963984540054  # 95 % of a normal distribution lie within so many standard deviations

CLEAN = "nothing against it"  # the one reason of a good verdict


class Verdict(StrEnum):
    """What to do about a worker."""

    GOOD = "good"
    FEW = "too few"  # answers, to say more
    LOOK = "look"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Limits:
    """The thresholds of the verdicts.

    The paper's workers took 8.4 seconds per label, and the fastest careful one of its authors' pilot 2.3. Shares are
    compared by the ends of their 95 % intervals (Wilson), controls by a binomial test, so few answers are not enough.
    """

    answers: int = 20  # below, shares and agreement are not judged
    controls_look: float = 0.8  # look: a smaller share of at least ``controls`` is right
    controls_bad: float = 0.7  # bad: somebody who gets so many right would hardly ever do so badly
    controls: int = 5  # below, controls are not judged
    controls_chance: float = 0.01  # how improbable "hardly ever" is
    seconds_look: float = 2.0  # look: the median answer takes less
    seconds_bad: float = 1.0
    share_look: float = 0.85  # look: one answer so often, and others far less on the same questions
    share_bad: float = 0.95
    chance: float = 1e-6  # how improbable "far less" is, were the worker like the others
    constant: int = (
        10  # the same answer to all, of at least so many: look; bad if fast or with wrong controls
    )
    constant_chance: float = 1e-3  # how improbable that is, were the worker like the others
    run: int = 60  # look: so many equal answers in a row, as improbable; a page of bad ones is NO ten times
    agreement_gap: float = 0.1  # look: surely agrees with the others less than workers do on average, by this
    self_look: float = 0.7  # look: surely answers a repeated question differently more often
    repeats: int = 5


@dataclass(frozen=True, slots=True)
class Share:
    """``hits`` of ``of``, and the 95 % interval of the share behind it (Wilson 1927).

    >>> share = Share(9, 10)
    >>> share.value, round(share.low, 3), round(share.high, 3)
    (0.9, 0.596, 0.982)
    """

    hits: int
    of: int

    @property
    def value(self) -> float:
        """The share itself, NaN of nothing."""
        return self.hits / self.of if self.of else nan

    @property
    def low(self) -> float:
        """The lower end, 0 of nothing."""
        return self._end(-1)

    @property
    def high(self) -> float:
        """The upper end, 1 of nothing."""
        return self._end(1)

    def _end(self, side: int) -> float:
        if not self.of:
            return float(side > 0)
        n, p, z2 = self.of, self.hits / self.of, Z * Z
        end = (p + z2 / (2 * n) + side * Z * sqrt(p * (1 - p) / n + z2 / (4 * n * n))) / (1 + z2 / n)
        return min(1.0, max(0.0, end))

    def __str__(self) -> str:
        return f"{self.hits} of {self.of}"


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """The statistics of one worker.

    ``seconds`` is the median time of an answer. ``agreement`` is with the majority of the others, on questions where
    they have one; ``chance`` is how often that would happen by chance. ``repeats`` are questions answered again, the
    same way. ``top`` is the most frequent answer, ``expected`` how often the others give it to the same questions.
    ``unread`` counts assignments that cannot be read and are left out of the results.
    """

    worker: str
    answers: int
    assignments: int
    seconds: float
    shares: Mapping[str, float]
    controls: Share
    agreement: Share
    chance: float
    repeats: Share
    top: str
    expected: float
    longest_run: int
    excluded: bool
    unread: int = 0
    verdict: Verdict = Verdict.GOOD
    reasons: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """What ``--json`` shows of it; what is not known is None."""
        unread = {"unread": self.unread} if self.unread else {}
        return {
            "worker": self.worker,
            "answers": self.answers,
            "assignments": self.assignments,
            "seconds": _rounded(self.seconds),
            "shares": {name: _rounded(s) for name, s in self.shares.items()},
            "controls": [self.controls.hits, self.controls.of],
            "agreement": [self.agreement.hits, self.agreement.of],
            "repeats": [self.repeats.hits, self.repeats.of],
            "longest_run": self.longest_run,
            "excluded": self.excluded,
            "verdict": str(self.verdict),
            "reasons": list(self.reasons),
            **unread,
        }


def _rounded(value: float) -> float | None:
    return None if isnan(value) else round(value, 4)


def improbability(share: Share, expected: float) -> float:
    """An upper bound on the probability of a share this large where ``expected`` is usual (Chernoff).

    P(at least k of n) <= exp(-n · KL(k/n || expected)); 1 for a share that is not larger.

    >>> improbability(Share(10, 10), 0.5) == 0.5**10, improbability(Share(4, 10), 0.5)
    (True, 1.0)
    """
    p, q = share.value, expected
    if not p > q:
        return 1.0
    if q <= 0:
        return 0.0
    distance = p * log(p / q) + ((1 - p) * log((1 - p) / (1 - q)) if p < 1 else 0.0)
    return exp(-share.of * distance)


def judged(report: WorkerReport, typical: float, limits: Limits) -> WorkerReport:
    """The report with its verdict: the worst of its reasons."""
    reasons = [
        reason
        for check in (_judge_controls, _judge_speed, _judge_straight_lining, _judge_repeats, _judge_unread)
        if (reason := check(report, limits)) is not None
    ]
    if disagreement := _judge_agreement(report, typical, limits):
        reasons.append(disagreement)
    reasons.sort(key=lambda reason: list(Verdict).index(reason[0]), reverse=True)
    constant = _constant(report, limits)
    if reasons:
        careless = _judge_speed(report, limits) or _judge_controls(report, limits)
        verdict = Verdict.BAD if constant and careless else reasons[0][0]
        return replace(report, verdict=verdict, reasons=(*(text for _, text in reasons), *constant))
    if constant and report.answers >= limits.answers:
        return replace(report, verdict=Verdict.LOOK, reasons=constant)
    few = []
    if report.answers < limits.answers:
        few.append(plural(report.answers, "answer"))
    if 0 < report.controls.of < limits.controls and report.controls.hits < report.controls.of:
        few.append(f"{plural(report.controls.of, 'control')} ({report.controls.hits} right)")
    if few:
        return replace(report, verdict=Verdict.FEW, reasons=(f"only {' and '.join(few)}", *constant))
    return replace(report, reasons=(CLEAN,))


Reason = tuple[Verdict, str]


def _judge_controls(report: WorkerReport, limits: Limits) -> Reason | None:
    controls = report.controls
    if controls.of < limits.controls or controls.value >= limits.controls_look:
        return None
    text = f"{controls} controls right ({controls.value:.0%})"
    chance = binomial_tail(controls.hits, controls.of, limits.controls_bad)
    if chance < limits.controls_chance:
        odds = "less than 0.01%" if chance < 1e-4 else f"{chance:.2%}"
        return Verdict.BAD, f"{text}; so few have a chance of {odds} where {limits.controls_bad:.0%} is usual"
    return Verdict.LOOK, text


def _judge_speed(report: WorkerReport, limits: Limits) -> Reason | None:
    text = f"{report.seconds:.1f} seconds an answer"
    if report.answers >= limits.answers and report.seconds < limits.seconds_bad:
        return Verdict.BAD, text
    return (Verdict.LOOK, text) if report.seconds < limits.seconds_look else None


def _judge_straight_lining(report: WorkerReport, limits: Limits) -> Reason | None:
    if report.answers < limits.answers or isnan(report.expected):
        return None
    share = _top_share(report)
    text = _top_text(report)
    if improbability(share, report.expected) < limits.chance:
        if share.value >= limits.share_bad:
            return Verdict.BAD, text
        if share.value >= limits.share_look:
            return Verdict.LOOK, text
    run, usual = report.longest_run, max(report.shares.values())
    if run >= limits.run and report.answers * usual**run < limits.chance:
        return Verdict.LOOK, f"{run} equal answers in a row"
    return None


def _top_share(report: WorkerReport) -> Share:
    return Share(round(report.shares[report.top] * report.answers), report.answers)


def _top_text(report: WorkerReport) -> str:
    share, known = _top_share(report), answer_words().get(report.top)
    answer = known.words if known else report.top
    return f"{answer} to {share.value:.0%} of {share.of} (others: {report.expected:.0%} of the same)"


def _constant(report: WorkerReport, limits: Limits) -> tuple[str, ...]:
    """That one gives the same answer to everything, where `_judge_straight_lining` does not say so: a second reason."""
    if report.answers < limits.constant or _judge_straight_lining(report, limits) is not None:
        return ()
    share = _top_share(report)
    usual = improbability(share, report.expected) >= limits.constant_chance
    return () if share.hits < share.of or usual else (_top_text(report),)


def _judge_unread(report: WorkerReport, limits: Limits) -> Reason | None:
    if not report.unread:
        return None
    return (
        Verdict.LOOK,
        f"{plural(report.unread, 'unreadable assignment')} left out of the results: please review",
    )


def _judge_agreement(report: WorkerReport, typical: float, limits: Limits) -> Reason | None:
    agreement = report.agreement
    if agreement.of < limits.answers or not agreement.high < typical - limits.agreement_gap:
        return None
    text = f"agrees with the others on {agreement} ({agreement.value:.0%}; by chance {report.chance:.0%}, "
    text += f"the median worker {typical:.0%})"
    return (Verdict.BAD if agreement.low <= report.chance else Verdict.LOOK), text


def _judge_repeats(report: WorkerReport, limits: Limits) -> Reason | None:
    if report.repeats.of >= limits.repeats and report.repeats.high < limits.self_look:
        return Verdict.LOOK, f"the same answer to {report.repeats} repeated questions only"
    return None
