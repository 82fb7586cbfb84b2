"""How well two rankings of the same systems agree: metrics with people, or people with people.

pairwise accuracy       the share of pairs of systems that both order alike (Kocmi et al. 2021); a tie of only one of
                        the two is half an agreement
Kendall's tau           tau-b, which allows for ties
soft pairwise accuracy  1 − mean |p − q| over pairs, where p and q are the one-sided p that the first system of a pair
                        is better, by people and by the metric (Thompson et al. 2024): being unsure where people are
                        unsure is right

p of segment scores is by paired permutation, as in that paper; p of comparisons by resampling them, as the share of
resamples in which the system is not better.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from hits.ranking.confidence import Confidence, resampled_scores
from hits.ranking.data import Comparisons
from hits.ranking.model import read_model
from hits.ranking.readers.files import ComparisonFiles
from hits.ranking.readers.languages import pair_key
from hits.ranking.scores.data import SegmentScores
from hits.ranking.scores.paired import permutation_tests
from rypt.arrays import Floats
from rypt.text import PathLike, RyptError

PERMUTATIONS = 1000
MODEL = "expected-wins"  # of comparisons
LEVEL = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class OrderEvidence:
    """A ranking for comparing with others: scores, and p, one-sided, that each system is better than each other.

    ``p[i, j]`` is small where i is surely better than j.
    """

    systems: tuple[str, ...]
    scores: Floats  # (systems,), higher is better
    p: Floats  # (systems, systems)

    def among(self, systems: Sequence[str]) -> "OrderEvidence":
        """Only these systems, in this order."""
        places = [self.systems.index(system) for system in systems]
        return OrderEvidence(tuple(systems), self.scores[places], self.p[np.ix_(places, places)])


@dataclass(frozen=True, slots=True)
class Agreement:
    """How a ranking agrees with another on the systems that both have.

    ``significant`` is the accuracy on the pairs that differ significantly by the first ranking (p ≤ 0.05, two-sided).
    """

    name: str
    languages: str
    systems: int
    pairs: int
    accuracy: float
    significant: float | None
    significant_pairs: int
    tau: float
    soft: float


def order_evidence(
    data: Comparisons | SegmentScores, rng: np.random.Generator, permutations: int = PERMUTATIONS
) -> OrderEvidence:
    """The ranking of segment scores by mean, or of comparisons by Expected Wins, with its p."""
    if isinstance(data, SegmentScores):
        table = data.table()
        means = np.asarray(np.nanmean(table, axis=1), np.float64)
        return OrderEvidence(data.systems, means, permutation_tests(table, rng, permutations))
    model = read_model(MODEL)
    confidence = Confidence(samples=permutations, unit="row" if data.has_rows() else "comparison")
    drawn = resampled_scores(model, data, rng, confidence)
    gaps = drawn[:, :, None] - drawn[:, None, :]
    p = (gaps < 0).mean(axis=0) + (gaps == 0).mean(axis=0) / 2
    return OrderEvidence(data.systems, model.fit(data, rng).scores, np.asarray(p, np.float64))


def agreement(first: OrderEvidence, second: OrderEvidence, name: str = "", languages: str = "") -> Agreement:
    """How the second ranking agrees with the first.

    >>> flat = np.full((3, 3), 0.5)
    >>> people = OrderEvidence(("a", "b", "c"), np.array([3.0, 2.0, 1.0]), flat)
    >>> metric = OrderEvidence(("a", "b", "c"), np.array([3.0, 1.0, 2.0]), flat)
    >>> alike = agreement(people, metric)
    >>> round(alike.accuracy, 3), round(alike.tau, 3), alike.soft
    (0.667, 0.333, 1.0)
    """
    shared = [system for system in first.systems if system in second.systems]
    if len(shared) < 2:
        raise RyptError(
            f"expected two systems or more in both rankings, found {', '.join(shared) or 'none'}: one has "
            f"{', '.join(first.systems[:5])}, the other {', '.join(second.systems[:5])}"
        )
    one, two = first.among(shared), second.among(shared)
    i, j = np.triu_indices(len(shared), 1)
    signs = [np.sign(np.round(e.scores[i] - e.scores[j], 12)) for e in (one, two)]
    alike = np.where(signs[0] == signs[1], 1.0, np.where((signs[0] == 0) | (signs[1] == 0), 0.5, 0.0))
    clear = 2 * np.minimum(one.p[i, j], one.p[j, i]) <= LEVEL
    concordant = float((signs[0] * signs[1]).sum())
    untied = [float((sign != 0).sum()) for sign in signs]
    tau = concordant / sqrt(untied[0] * untied[1]) if untied[0] and untied[1] else 0.0
    return Agreement(
        name,
        languages,
        len(shared),
        len(i),
        float(alike.mean()),
        float(alike[clear].mean()) if clear.any() else None,
        int(clear.sum()),
        tau,
        float(1 - np.abs(one.p[i, j] - two.p[i, j]).mean()),
    )


def agree(
    files: ComparisonFiles, *, permutations: int = PERMUTATIONS, lower: Sequence[PathLike] = ()
) -> tuple[list[Agreement], list[str]]:
    """How the rankings of all files but the first agree with that of the first, for each language pair; and notes.

    Where there are several language pairs, a last line of each file pools all their pairs of systems. ``lower`` are
    files whose scores are better when they are lower.
    """
    if len(files.paths) < 2:
        raise RyptError("expected two files or more: a ranking, and others to compare with it")

    def evidence_of(path: PathLike) -> dict[str, tuple[str, OrderEvidence]]:
        is_lower = str(path) in map(str, lower)
        one = replace(files, paths=(path,), better="lower" if is_lower else files.better)
        return {
            pair_key(part.languages): (part.languages, order_evidence(part.data, files.rng(), permutations))
            for part in one.parts()
        }

    first = evidence_of(files.paths[0])
    agreements, notes = [], []
    for path in files.paths[1:]:
        of_file = []
        for key, (_, evidence) in evidence_of(path).items():
            languages, people = first[_matching(key, list(first), path)]
            of_file.append(agreement(people, evidence, str(path), languages))
            missing = sorted(set(people.systems) ^ set(evidence.systems))
            if missing:
                notes.append(f"{path}: left out what only one of the rankings has: {', '.join(missing)}")
        agreements += of_file
        if len(of_file) > 1:
            agreements.append(_pooled(str(path), of_file))
    return agreements, notes


def _matching(key: str, keys: Sequence[str], path: PathLike) -> str:
    """The language pair of the first file that a part of another file belongs to."""
    if key in keys:
        return key
    if len(keys) == 1 and "" in (key, keys[0]):
        return keys[0]
    raise RyptError(f"{path}: expected one of the language pairs {', '.join(keys)}, found {key or 'none'}")


def _pooled(name: str, parts: Sequence[Agreement]) -> Agreement:
    """All pairs of systems of all language pairs together; tau is the mean of the language pairs."""
    pairs, clear = sum(part.pairs for part in parts), sum(part.significant_pairs for part in parts)
    return Agreement(
        name,
        "all",
        sum(part.systems for part in parts),
        pairs,
        sum(part.accuracy * part.pairs for part in parts) / pairs,
        sum((part.significant or 0) * part.significant_pairs for part in parts) / clear if clear else None,
        clear,
        sum(part.tau for part in parts) / len(parts),
        sum(part.soft * part.pairs for part in parts) / pairs,
    )
