"""Verdicts on workers: the limits, and the verdict with its reasons in words.

The paper's workers took 8.4 seconds per label, and the fastest careful one of its authors' pilot 2.3. Shares are
compared by the ends of their 95 % intervals (Wilson), controls by a binomial test, so few answers are not enough.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from math import exp, isnan, log, nan, sqrt
from typing import Any, NamedTuple

from hits.kinds import answer_words
from rypt.tails import binomial_tail
from rypt.text import plural

Z = 1.959963984540054  # 95 % of a normal distribution lie within this many standard deviations
CLEAN = "nothing against it"  # the one reason of a good verdict
ANSWERS = 20  # below, shares and agreement are not judged
CONTROLS = 5  # below, controls are not judged
CONTROLS_LOOK = 0.8  # look: a smaller share is right
CONTROLS_BAD = 0.7  # bad: somebody with this share would hardly ever get so few right
CONTROLS_CHANCE = 0.01  # how improbable "hardly ever" is
SECONDS_LOOK, SECONDS_BAD = 2.0, 1.0  # the median answer takes less
SHARE_LOOK, SHARE_BAD = 0.85, 0.95  # one answer so often, and others far less on the same questions
CHANCE = 1e-6  # how improbable "far less" is if the worker is like the others
CONSTANT = 10  # the same answer to all of at least this many: look; bad if fast or with wrong controls
CONSTANT_CHANCE = 1e-3  # how improbable that is if the worker is like the others
RUN = 60  # look: this many equal answers in a row, as improbable; a page of bad ones is NO ten times
AGREEMENT_GAP = 0.1  # look: surely agrees with the others less than the median worker, by this much
REPEATS, REPEATED_ALIKE = 5, 0.7  # look: surely answers repeated questions alike less often


class Verdict(StrEnum):
    """What to do about a worker."""

    GOOD = "good"
    FEW = "too few"  # answers, to say more
    LOOK = "look"
    BAD = "bad"


class Share(NamedTuple):
    """``hits`` of ``of``, and the 95 % interval of the share behind it (Wilson 1927).

    >>> share = Share(9, 10)
    >>> share.value, round(share.low, 3), round(share.high, 3)
    (0.9, 0.596, 0.982)
    """

    hits: int
    of: int

    @property
    def value(self) -> float:
        return self.hits / self.of if self.of else nan

    @property
    def low(self) -> float:
        return self._end(-1)

    @property
    def high(self) -> float:
        return self._end(1)

    def _end(self, side: int) -> float:
        """An end of the interval, which is 0 to 1 of nothing."""
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
        """The report as ``--json`` shows it; what is not known is None."""
        unread = {"unread": self.unread} if self.unread else {}
        return {
            "worker": self.worker,
            "answers": self.answers,
            "assignments": self.assignments,
            "seconds": None if isnan(self.seconds) else round(self.seconds, 4),
            "shares": {name: round(share, 4) for name, share in self.shares.items()},
            "controls": list(self.controls),
            "agreement": list(self.agreement),
            "repeats": list(self.repeats),
            "longest_run": self.longest_run,
            "excluded": self.excluded,
            "verdict": str(self.verdict),
            "reasons": list(self.reasons),
            **unread,
        }


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


def judged(report: WorkerReport, typical: float) -> WorkerReport:
    """The report with its verdict: the worst of its reasons. ``typical`` is the median worker's agreement."""
    reasons = sorted(_reasons(report, typical), key=lambda reason: -list(Verdict).index(reason[0]))
    constant = _constant(report)
    few = [plural(report.answers, "answer")] if report.answers < ANSWERS else []
    if 0 < report.controls.of < CONTROLS and report.controls.hits < report.controls.of:
        few.append(f"{plural(report.controls.of, 'control')} ({report.controls.hits} right)")
    if reasons:
        careless = any(_speed(report)) or any(_controls(report))
        verdict = Verdict.BAD if constant and careless else reasons[0][0]
        texts = [*(text for _, text in reasons), *constant]
    elif constant and report.answers >= ANSWERS:
        verdict, texts = Verdict.LOOK, constant
    elif few:
        verdict, texts = Verdict.FEW, [f"only {' and '.join(few)}", *constant]
    else:
        verdict, texts = Verdict.GOOD, [CLEAN]
    return replace(report, verdict=verdict, reasons=tuple(texts))


Reasons = Iterator[tuple[Verdict, str]]


def _reasons(report: WorkerReport, typical: float) -> Reasons:
    yield from _controls(report)
    yield from _speed(report)
    yield from _straight_lining(report)
    repeats, agreement = report.repeats, report.agreement
    if repeats.of >= REPEATS and repeats.high < REPEATED_ALIKE:
        yield Verdict.LOOK, f"the same answer to {repeats} repeated questions only"
    if report.unread:
        unread = plural(report.unread, "unreadable assignment")
        yield Verdict.LOOK, f"{unread} left out of the results: please review"
    if agreement.of >= ANSWERS and agreement.high < typical - AGREEMENT_GAP:
        usual = f"by chance {report.chance:.0%}, the median worker {typical:.0%}"
        text = f"agrees with the others on {agreement} ({agreement.value:.0%}; {usual})"
        yield (Verdict.BAD if agreement.low <= report.chance else Verdict.LOOK), text


def _controls(report: WorkerReport) -> Reasons:
    controls = report.controls
    if controls.of < CONTROLS or controls.value >= CONTROLS_LOOK:
        return
    text = f"{controls} controls right ({controls.value:.0%})"
    chance = binomial_tail(controls.hits, controls.of, CONTROLS_BAD)
    if chance < CONTROLS_CHANCE:
        odds = "less than 0.01%" if chance < 1e-4 else f"{chance:.2%}"
        yield Verdict.BAD, f"{text}; so few have a chance of {odds} where {CONTROLS_BAD:.0%} is usual"
    else:
        yield Verdict.LOOK, text


def _speed(report: WorkerReport) -> Reasons:
    bad = report.answers >= ANSWERS and report.seconds < SECONDS_BAD
    if bad or report.seconds < SECONDS_LOOK:
        yield (Verdict.BAD if bad else Verdict.LOOK), f"{report.seconds:.1f} seconds an answer"


def _straight_lining(report: WorkerReport) -> Reasons:
    if report.answers < ANSWERS or isnan(report.expected):
        return
    share, text = _top(report)
    run, usual = report.longest_run, max(report.shares.values())
    if share.value >= SHARE_LOOK and improbability(share, report.expected) < CHANCE:
        yield (Verdict.BAD if share.value >= SHARE_BAD else Verdict.LOOK), text
    elif run >= RUN and report.answers * usual**run < CHANCE:
        yield Verdict.LOOK, f"{run} equal answers in a row"


def _top(report: WorkerReport) -> tuple[Share, str]:
    """The share of the most frequent answer, and in words what it is and how often others give it."""
    share = Share(round(report.shares[report.top] * report.answers), report.answers)
    known = answer_words().get(report.top)
    answer = known.words if known else report.top
    return share, f"{answer} to {share.value:.0%} of {share.of} (others: {report.expected:.0%} of the same)"


def _constant(report: WorkerReport) -> list[str]:
    """That all answers are the same, where `_straight_lining` gives no reason: a second reason."""
    if report.answers < CONSTANT or any(_straight_lining(report)):
        return []
    share, text = _top(report)
    unusual = improbability(share, report.expected) < CONSTANT_CHANCE
    return [text] if share.hits == share.of and unusual else []
