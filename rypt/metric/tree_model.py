"""The tree model: each constituent's label is a hidden variable, its parent's label tells about it (paper, section 7).

P(labels, votes) = P(root) · prod P(child | parent, length) · prod P(votes | label)^temper, with exact sum-product
inference. The temper (at most 1, chosen on held-out labels) allows for votes on neighbouring constituents that are
not independent. With ``novelty``, it is evidence too that other phrases of a constituent were judged, but not this one.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Codes, Floats, Ids, Ints
from rypt.compiled import compiled_if_large
from rypt.metric.kernel import NOVEL, SILENT, UNALIGNED
from rypt.metric.model import LENGTHS, Expected, length_class
from rypt.metric.observations import CODES, Observations

TEMPERS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
PSEUDO_COUNT = 2.0


@compiled_if_large
def posteriors(
    firsts: Ints, parents: Ids, classes: Ints, segments: Ids, offsets: Ints, codes: Codes, evidence: Floats,
    root: Floats, down: Floats, out: Floats,
) -> None:  # fmt: skip
    """P(YES) of every constituent of every candidate, by one pass up and one down its tree.

    ``classes`` are those of the constituents of all trees. ``evidence`` (codes, 2) is P(votes | NO), P(votes | YES) of
    each code; ``root`` (classes) P(YES) of a root; ``down`` (child's class, parent's class, 2) P(child YES | parent
    NO), P(child YES | parent YES).
    """
    room = 1
    for segment in segments:
        room = max(room, firsts[segment + 1] - firsts[segment])
    inside, message, outside = np.zeros((room, 2)), np.zeros((room, 2)), np.zeros((room, 2))
    for candidate in range(len(segments)):
        first = firsts[segments[candidate]]
        count, at = firsts[segments[candidate] + 1] - first, offsets[candidate]
        for node in range(count):
            code = codes[at + node]
            inside[node, 0], inside[node, 1] = evidence[code, 0], evidence[code, 1]
        for node in range(count - 1, 0, -1):
            total = inside[node, 0] + inside[node, 1]
            inside[node, 0], inside[node, 1] = inside[node, 0] / total, inside[node, 1] / total
            parent = parents[first + node]
            for label in range(2):
                yes = down[classes[first + node], classes[first + parent], label]
                message[node, label] = yes * inside[node, 1] + (1 - yes) * inside[node, 0]
                inside[parent, label] *= message[node, label]
            most = max(inside[parent, 0], inside[parent, 1])
            inside[parent, 0], inside[parent, 1] = inside[parent, 0] / most, inside[parent, 1] / most
        for node in range(count):
            parent = parents[first + node]
            if parent < 0:
                outside[node, 1] = root[classes[first + node]]
                outside[node, 0] = 1 - outside[node, 1]
            else:
                above_no = outside[parent, 0] * inside[parent, 0] / message[node, 0]
                above_yes = outside[parent, 1] * inside[parent, 1] / message[node, 1]
                no = down[classes[first + node], classes[first + parent], 0]
                yes = down[classes[first + node], classes[first + parent], 1]
                yes_here = above_no * no + above_yes * yes
                no_here = above_no * (1 - no) + above_yes * (1 - yes)
                outside[node, 0] = no_here / (no_here + yes_here)
                outside[node, 1] = yes_here / (no_here + yes_here)
            belief_no, belief_yes = outside[node, 0] * inside[node, 0], outside[node, 1] * inside[node, 1]
            out[at + node] = belief_yes / (belief_no + belief_yes)


@dataclass(frozen=True, slots=True)
class TreeModel(Expected):
    """Parameters: P(YES) of a root by length class, of a child by its and its parent's, P(code | label), the temper."""

    root: Floats
    down: Floats
    emission: Floats
    temper: float = 1.0
    ties: str = "unknown"
    trained: str = "given"

    @property
    def options(self) -> str:
        """Its part of the signature."""
        return f"model:tree|temper:{self.temper:g}|ties:{self.ties}|trained:{self.trained}"

    @classmethod
    def fit(
        cls,
        observations: Observations,
        truth: Codes,
        *,
        novelty: bool = True,
        temper: float | None = None,
        ties: str = "unknown",
        trained: str = "given",
    ) -> "TreeModel":
        """Count held-out labels (1 YES, 0 NO, -1 none), alone, in pairs of parent and child, and with their votes.

        Without a temper, the one with the smallest log loss on these labels is taken.
        """
        overall = (np.count_nonzero(truth == 1) + 1) / (np.count_nonzero(truth >= 0) + 2)
        classes = length_class(observations.lengths)
        parents = observations.forest.parents[observations.nodes]
        starts = np.repeat(observations.offsets[:-1], np.diff(observations.offsets))
        above = np.where(parents >= 0, starts + parents, 0)
        parent_truth = np.where(parents >= 0, truth[above], -1)
        root = _shares(classes, len(LENGTHS), truth, (parents < 0) & (truth >= 0), overall)
        pairs = classes * len(LENGTHS) + classes[above]
        size = len(LENGTHS) ** 2
        down = np.stack(
            [
                _shares(pairs, size, truth, (parent_truth == 0) & (truth >= 0), min(overall, 0.5)),
                _shares(pairs, size, truth, (parent_truth == 1) & (truth >= 0), max(overall, 0.95)),
            ],
            axis=1,
        ).reshape(len(LENGTHS), len(LENGTHS), 2)
        emission = _emissions(observations, truth, novelty)
        tempers = TEMPERS if temper is None else (temper,)
        fits = [cls(root, down, emission, t, ties, trained) for t in tempers]
        return min(fits, key=lambda fit: log_loss(fit.p_yes(observations), truth))

    def p_yes(self, observations: Observations) -> Floats:
        """Exact posteriors."""
        out = np.empty(len(observations.codes))
        forest = observations.forest
        classes = length_class(forest.stops - forest.starts)
        posteriors(
            forest.firsts, forest.parents, classes, observations.segments, observations.offsets, observations.codes,
            self.emission**self.temper, self.root, self.down, out,
        )  # fmt: skip
        return out


def _shares(classes: NDArray[np.int64], size: int, truth: Codes, chosen: NDArray[np.bool_], prior: float) -> Floats:
    yes = np.bincount(classes[chosen], truth[chosen], minlength=size)
    total = np.bincount(classes[chosen], minlength=size)
    return (yes + PSEUDO_COUNT * prior) / (total + PSEUDO_COUNT)


def _emissions(observations: Observations, truth: Codes, novelty: bool) -> Floats:
    """P(code | label), (codes, 2): NO, YES; codes that are no evidence get 1 for both."""
    emission = np.ones((len(CODES), 2))
    quiet = [UNALIGNED, SILENT] if novelty else [UNALIGNED, SILENT, NOVEL]
    for label in range(2):
        counts = np.bincount(observations.codes[truth == label], minlength=len(CODES)).astype(np.float64)
        counts[quiet] = 0
        counts += PSEUDO_COUNT * _PRIOR_EMISSION[:, label]
        emission[:, label] = counts / counts.sum()
    emission[quiet] = 1.0
    return emission


# before anything is counted, larger majorities are right more often: columns NO, YES, in the order of CODES
_PRIOR_EMISSION = (
    np.array([[0, 0], [0, 0], [4, 2], [2, 2], [2, 2], [2, 8], [1, 8], [2, 4], [2, 3], [8, 2], [8, 1], [4, 2], [3, 2]])
    / 30
)


def log_loss(p_yes: Floats, truth: Codes) -> float:
    """The mean of -log P(label) over known labels; probabilities are kept a little away from 0 and 1."""
    known = truth >= 0
    p = np.clip(p_yes[known], 1e-6, 1 - 1e-6)
    return float(-np.mean(np.where(truth[known] == 1, np.log(p), np.log(1 - p)))) if known.any() else 0.0
