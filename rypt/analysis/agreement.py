"""How far workers agree: Krippendorff's alpha, Cohen's kappa of pairs, and "at least 4 of 5 said the same".

All take *answers*: triples (question, worker, answer), in any order, with any answers missing. Where a worker answers
a question twice the last answer counts. A number that is not defined (nobody shares a question, or there is only one
answer in use, so that agreement by chance is certain) is NaN.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from itertools import combinations
from math import nan

Triple = tuple[Hashable, Hashable, Hashable]
Units = dict[Hashable, dict[Hashable, Hashable]]


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of workers; ``same`` is the share of questions on which ``at_least`` of ``of`` agree."""

    questions: int
    answers: int
    alpha: float
    kappa: float
    at_least: int
    of: int
    same: float

    def __str__(self) -> str:
        if not self.answers:
            return "no judgments"
        alpha, kappa = ("-" if value != value else f"{value:.3f}" for value in (self.alpha, self.kappa))
        text = f"{self.answers:,} answers of workers about {self.questions:,} keys; alpha {alpha}"
        text = f"{text}, mean pairwise kappa {kappa}"
        if self.same != self.same:
            return text
        return f"{text}, at least {self.at_least} of {self.of} agree on {self.same:.1%}"


def agreement(answers: Iterable[Triple], *, at_least: int = 4, of: int = 5) -> Agreement:
    triples = list(answers)
    units = by_question(triples)
    return Agreement(
        questions=len(units),
        answers=sum(map(len, units.values())),
        alpha=krippendorff_alpha(triples),
        kappa=mean_pairwise_kappa(triples),
        at_least=at_least,
        of=of,
        same=share_agreeing(triples, at_least=at_least, of=of),
    )


def by_question(answers: Iterable[Triple]) -> Units:
    """For each question the answer of each worker, the last where there are several."""
    units: Units = defaultdict(dict)
    for question, worker, answer in answers:
        units[question][worker] = answer
    return dict(units)


def krippendorff_alpha(answers: Iterable[Triple]) -> float:
    """Krippendorff's alpha for nominal data with missing values: 1 - observed / expected disagreement.

    With o(c, k) the coincidences, pairs of answers inside a question each weighted by 1 / (m - 1) where the question
    has m answers, n(c) their row sums and n their total: alpha = 1 - (n - 1) · Σ o(c, k) / Σ n(c) n(k), both sums
    over c ≠ k (Krippendorff 2011, Computing Krippendorff's Alpha-Reliability, section C).

    >>> krippendorff_alpha([(1, "x", "YES"), (1, "y", "YES"), (2, "x", "NO"), (2, "y", "NO"), (3, "x", "NO")])
    1.0
    """
    totals: Counter[Hashable] = Counter()
    disagreement = 0.0
    for unit in by_question(answers).values():
        if len(unit) > 1:
            counts = Counter(unit.values())
            totals.update(counts)
            disagreement += (len(unit) ** 2 - sum(count**2 for count in counts.values())) / (len(unit) - 1)
    total = totals.total()
    expected = total**2 - sum(count**2 for count in totals.values())
    return 1.0 - (total - 1) * disagreement / expected if expected else nan


def mean_pairwise_kappa(answers: Iterable[Triple]) -> float:
    """The mean of Cohen's kappa over all pairs of workers, each weighted by the questions they share.

    Pairs without a kappa (no question in common, or both gave one and the same answer throughout) are left out.
    """
    order: dict[Hashable, int] = {}
    pairs: dict[tuple[Hashable, Hashable], Counter[tuple[Hashable, Hashable]]] = defaultdict(Counter)
    for unit in by_question(answers).values():
        for worker in unit:
            order.setdefault(worker, len(order))
        for first, second in combinations(sorted(unit, key=order.__getitem__), 2):
            pairs[first, second][unit[first], unit[second]] += 1
    kappas = [(cohen_kappa(counts), counts.total()) for counts in pairs.values()]
    known = [(kappa, size) for kappa, size in kappas if kappa == kappa]
    return sum(kappa * size for kappa, size in known) / sum(size for _, size in known) if known else nan


def cohen_kappa(pairs: Counter[tuple[Hashable, Hashable]]) -> float:
    """Cohen's kappa (observed - chance) / (1 - chance) of two workers, from counts of their pairs of answers.

    >>> cohen_kappa(Counter({("YES", "YES"): 20, ("YES", "NO"): 5, ("NO", "YES"): 10, ("NO", "NO"): 15}))
    0.4
    """
    total = pairs.total()
    first: Counter[Hashable] = Counter()
    second: Counter[Hashable] = Counter()
    for (a, b), count in pairs.items():
        first[a] += count
        second[b] += count
    same = sum(count for (a, b), count in pairs.items() if a == b)
    chance = sum(count * second[answer] for answer, count in first.items())  # times total squared
    return (total * same - chance) / (total**2 - chance) if total**2 > chance else nan


def share_agreeing(answers: Iterable[Triple], *, at_least: int = 4, of: int = 5) -> float:
    """The share of questions with ``of`` answers on which at least ``at_least`` agree (the paper's §5.1: 68.9 %).

    >>> share_agreeing([(q, w, "YES" if w < q else "NO") for q in (2, 4) for w in range(5)])
    0.5
    """
    tops = [max(Counter(unit.values()).values()) for unit in by_question(answers).values() if len(unit) == of]
    return sum(top >= at_least for top in tops) / len(tops) if tops else nan
