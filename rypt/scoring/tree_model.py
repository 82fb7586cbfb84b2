"""The tree model: each constituent's label is a hidden variable, its parent's label tells about it (paper, section 7).

P(labels, votes) = P(root) · prod P(child | parent, length) · prod P(votes | label)^temper, with exact sum-product
inference. The temper (at most 1, chosen on held-out labels) allows for votes on neighbouring constituents that are
not independent. With ``novelty``, it is evidence too that other phrases of a constituent were judged, but not this one.
"""

import math
from dataclasses import dataclass

import numpy as np

from rypt.arrays import Codes, Floats, Ids, Ints
from rypt.compiled import compiled_if_large
from rypt.scoring.kernel import NOVEL, SILENT, UNALIGNED
from rypt.scoring.model import LENGTHS, Expected, length_class
from rypt.scoring.observations import CODES, LabelledPlaces, Observations

TEMPERS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
PSEUDO_COUNT = 2.0
FEW = (
    200_000  # constituents, up to which tempers are tried one after the other, without compiling `add_losses`
)


@compiled_if_large
def posteriors(
    firsts: Ints,
    parents: Ids,
    classes: Ints,
    segments: Ids,
    offsets: Ints,
    codes: Codes,
    evidence: Floats,
    root: Floats,
    down: Floats,
    out: Floats,
) -> None:
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


def count_labels(observations: Observations, classes: Ints, truth: Codes) -> tuple[Ints, Ints, Ints, Ints]:
    """Count labels (1 YES, 0 NO, -1 none) of constituents, whose ``classes`` are those of all trees.

    Those of roots by class, (classes, 2); of others by class, parent's class and parent's label, (classes, classes,
    2, 2); by code, (codes, 2); and all, (2).
    """
    forest, size = observations.forest, len(LENGTHS)
    known = LabelledPlaces.of(observations, truth)
    labels, parents = truth[known.places].astype(np.int64), forest.parents[known.nodes]
    kinds, is_root = classes[known.nodes], parents < 0
    above = truth[np.where(is_root, known.places, known.starts + parents)].astype(np.int64)
    parent_classes = classes[
        np.where(is_root, known.nodes, known.nodes - (known.places - known.starts) + parents)
    ]
    pairs = (((kinds * size + parent_classes) * 2 + above) * 2 + labels)[~is_root & (above >= 0)]
    codes = observations.codes[known.places].astype(np.int64)
    return (
        np.bincount((kinds * 2 + labels)[is_root], minlength=2 * size).reshape(size, 2),
        np.bincount(pairs, minlength=4 * size * size).reshape(size, size, 2, 2),
        np.bincount(codes * 2 + labels, minlength=2 * len(CODES)).reshape(len(CODES), 2),
        np.bincount(labels, minlength=2),
    )


@compiled_if_large
def add_losses(
    firsts: Ints,
    parents: Ids,
    classes: Ints,
    segments: Ids,
    offsets: Ints,
    codes: Codes,
    truth: Codes,
    evidence: Floats,
    root: Floats,
    down: Floats,
    losses: Floats,
) -> None:
    """Add up -log P(label) of all known labels for several tempers at once.

    ``evidence`` (codes, tempers) is P(votes | YES) / P(votes | NO), ``root`` the odds of YES of a root by class. The
    same as `posteriors` with odds instead of probabilities: a division for each message, and all tempers side by side.
    Odds stay within 10^±150, so that no product of many overflows; probabilities are cut at 10^-6 anyway.
    """
    room, tempers = 1, len(losses)
    for segment in segments:
        room = max(room, firsts[segment + 1] - firsts[segment])
    inside, message, outside = np.empty((room, tempers)), np.empty((room, tempers)), np.empty((room, tempers))
    for candidate in range(len(segments)):
        first, at = firsts[segments[candidate]], offsets[candidate]
        count = offsets[candidate + 1] - at
        last = -1  # constituent with a label
        for node in range(count):
            if truth[at + node] >= 0:
                last = node
        if last < 0:
            continue
        for node in range(count):
            code = codes[at + node]
            for t in range(tempers):
                inside[node, t] = evidence[code, t]
        for node in range(count - 1, 0, -1):
            parent = parents[first + node]
            if parent < 0:
                continue
            no = down[classes[first + node], classes[first + parent], 0]
            yes = down[classes[first + node], classes[first + parent], 1]
            for t in range(tempers):
                odds = inside[node, t]
                message[node, t] = (yes * odds + (1 - yes)) / (no * odds + (1 - no))
                inside[parent, t] = min(1e150, max(1e-150, inside[parent, t] * message[node, t]))
        for node in range(last + 1):
            parent = parents[first + node]
            if parent < 0:
                for t in range(tempers):
                    outside[node, t] = root[classes[first + node]]
            else:
                no = down[classes[first + node], classes[first + parent], 0]
                yes = down[classes[first + node], classes[first + parent], 1]
                for t in range(tempers):
                    above = min(1e150, max(1e-150, outside[parent, t] * inside[parent, t] / message[node, t]))
                    outside[node, t] = (no + above * yes) / ((1 - no) + above * (1 - yes))
            label = truth[at + node]
            if label < 0:
                continue
            for t in range(tempers):
                odds = outside[node, t] * inside[node, t]
                p = odds / (1 + odds) if label == 1 else 1 / (1 + odds)
                losses[t] -= math.log(min(1 - 1e-6, max(1e-6, p)))


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
        forest = observations.forest
        classes = length_class(forest.stops - forest.starts)
        roots, pairs, votes, known = count_labels(observations, classes, truth)
        overall = (known[1] + 1) / (known.sum() + 2)
        down = [_shares(pairs[:, :, 0], min(overall, 0.5)), _shares(pairs[:, :, 1], max(overall, 0.95))]
        root, emission = _shares(roots, overall), _emissions(votes, novelty)
        tempers = TEMPERS if temper is None else (temper,)
        fits = [cls(root, np.stack(down, axis=-1), emission, t, ties, trained) for t in tempers]
        if len(fits) == 1:
            return fits[0]
        if len(truth) <= FEW:
            return min(fits, key=lambda fit: log_loss(fit.p_yes(observations), truth))
        losses = np.zeros(len(fits))
        ratios = np.stack([emission[:, 1] ** t / emission[:, 0] ** t for t in tempers], axis=1)
        add_losses(
            forest.firsts,
            forest.parents,
            classes,
            observations.segments,
            observations.offsets,
            observations.codes,
            truth,
            ratios,
            root / (1 - root),
            fits[0].down,
            losses,
        )
        return fits[int(np.argmin(losses))]

    def p_yes(self, observations: Observations) -> Floats:
        """Exact posteriors."""
        out = np.empty(len(observations.codes))
        forest = observations.forest
        classes = length_class(forest.stops - forest.starts)
        posteriors(
            forest.firsts,
            forest.parents,
            classes,
            observations.segments,
            observations.offsets,
            observations.codes,
            self.emission**self.temper,
            self.root,
            self.down,
            out,
        )
        return out


def _shares(counts: Ints, prior: float) -> Floats:
    """The share of YES in counts of (NO, YES), shrunk to a prior one."""
    return np.asarray(
        (counts[..., 1] + PSEUDO_COUNT * prior) / (counts.sum(axis=-1) + PSEUDO_COUNT), np.float64
    )


def _emissions(votes: Ints, novelty: bool) -> Floats:
    """P(code | label), (codes, 2): NO, YES; codes that are no evidence get 1 for both."""
    quiet = [UNALIGNED, SILENT] if novelty else [UNALIGNED, SILENT, NOVEL]
    counts = votes.astype(np.float64)
    counts[quiet] = 0
    counts += PSEUDO_COUNT * _PRIOR_EMISSION
    emission: Floats = counts / counts.sum(axis=0)
    emission[quiet] = 1.0
    return emission


# before anything is counted, larger majorities are right more often: columns NO, YES, in the order of CODES
_PRIOR_EMISSION = (
    np.array(
        [
            [0, 0],
            [0, 0],
            [4, 2],
            [2, 2],
            [2, 2],
            [2, 8],
            [1, 8],
            [2, 4],
            [2, 3],
            [8, 2],
            [8, 1],
            [4, 2],
            [3, 2],
        ]
    )
    / 30
)


def log_loss(p_yes: Floats, truth: Codes) -> float:
    """The mean of -log P(label) over known labels; probabilities are kept a little away from 0 and 1."""
    known = truth >= 0
    p = np.clip(p_yes[known], 1e-6, 1 - 1e-6)
    return float(-np.mean(np.where(truth[known] == 1, np.log(p), np.log(1 - p)))) if known.any() else 0.0
