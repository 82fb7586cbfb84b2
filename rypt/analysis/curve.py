"""The paper's Figure 3: what percolation adds for each maxLen, and how far it can be trusted.

The judgments of some systems' candidates (or of some workers) are known, what the others said is the truth. Whole
systems or workers are held out: without one candidate's own judgments, or single judgments of a key, the remaining ones
would look better exactly for the candidates that lost a NO. For each maxLen only the judgments on its frontier are
known; percolated labels are compared with the truth. Where most labels are YES, saying YES to everything is right
often, so every accuracy is reported together with that baseline.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate

from rypt.arrays import Codes, Floats, Ints
from rypt.database.votes import VoteArrays
from rypt.scoring.models import CalibratedTable
from rypt.scoring.observations import Observations, Places
from rypt.scoring.percolation import NO, NO_UP, UNKNOWN, YES, YES_DOWN
from rypt.text import Watch, unwatched

FOLDS = 2  # of segments, for the table
BLUE, PALE, GREY, GREEN = "#1565c0", "#90caf9", "#78909c", "#2e7d32"
LIGHT, RED, ORANGE = "#81c784", "#c62828", "#ef6c00"
METHODS = ("always_yes", "percolation", "table")
Mask = NDArray[np.bool_]


class JudgmentSplit(NamedTuple):
    """Which votes are known, the candidates they are compared on, and the labels there from the other votes."""

    known: Mask
    candidates: Ints
    truth: Codes


@dataclass(frozen=True)
class HeldOut:
    """Judgments of which those of half of the ``groups``, systems or workers, are held out at random.

    ``outputs`` are each system's candidates, as indices into ``places``: the held-out systems' own judgments are the
    truth about these; those of other origins (a reference, say) are always known. Without ``outputs`` workers are held
    out, and what they said is the truth about all candidates.
    """

    votes: VoteArrays
    places: Places
    outputs: Mapping[str, Ints] | None = None

    @property
    def way(self) -> str:
        return "worker" if self.outputs is None else "system"

    @property
    def groups(self) -> list[str]:
        return self.votes.workers if self.outputs is None else sorted(self.outputs)

    @property
    def judging(self) -> int:
        """How many of the groups judge."""
        return (len(self.groups) + 1) // 2

    def splits(self, count: int, rng: np.random.Generator) -> Iterator[JudgmentSplit]:
        votes, outputs, groups = self.votes, self.outputs, self.groups
        names, whose = (votes.workers, votes.worker) if outputs is None else (votes.origins, votes.origin)
        truths = {}
        for system, candidates in (outputs or {}).items():
            said_of_it = votes.counts(votes.origin == votes.origins.index(system))
            truths[system] = self.places.take(candidates).observe(said_of_it).labels()
        for _ in range(count):
            others = [groups[i] for i in rng.permutation(len(groups))[self.judging :]]
            known = ~np.isin(whose, [i for i, name in enumerate(names) if name in others])
            if outputs is None:
                truth = self.places.observe(votes.counts(~known)).labels()
                yield JudgmentSplit(known, np.arange(len(self.places)), truth)
            else:
                candidates = np.concatenate([outputs[system] for system in others])
                yield JudgmentSplit(known, candidates, np.concatenate([truths[s] for s in others]))


@dataclass(frozen=True, slots=True)
class Accuracies:
    """Accuracies on the ``checked`` constituents; NaN where a method was not run or nothing was checked.

    Constituents without a percolated label count as YES in ``percolation``.
    """

    checked: int
    always_yes: float
    percolation: float
    table: float


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One maxLen of Figure 3, over all splits.

    ``before`` and ``after`` are coverage, ``from_yes`` and ``from_no`` what percolation adds to it. ``percolated`` are
    accuracies on the constituents that percolation labels, ``yes_right`` and ``no_right`` those of its two rules.
    ``unlabelled`` are accuracies on all constituents without a label of their own.
    """

    max_len: int
    before: float
    after: float
    from_yes: float
    from_no: float
    yes_right: float
    no_right: float
    percolated: Accuracies
    unlabelled: Accuracies


def percolation_curve(
    division: HeldOut,
    max_lens: Sequence[int],
    *,
    splits: int,
    seed: int,
    ties: str = "unknown",
    table: bool = True,
    watch: Watch = unwatched,
) -> list[CurvePoint]:
    """Coverage and accuracies for each maxLen.

    With ``table`` the calibrated table is fitted on half of the segments and asked about the other half, for every
    split and maxLen.
    """
    rng = np.random.default_rng(seed)
    votes, places = division.votes, division.places
    counts: dict[int, Counter[str]] = {max_len: Counter() for max_len in max_lens}
    frontiers = {max_len: places.judged.counted(max_len)[votes.key] for max_len in max_lens}
    for split in watch(division.splits(splits, rng), "splits", splits):
        part = places.take(split.candidates)
        for max_len, frontier in frontiers.items():
            observations = part.observe(votes.counts(split.known & frontier))
            p_yes = _table_predictions(observations, split.truth, seed, ties) if table else None
            counts[max_len].update(_counts(observations, split.truth, p_yes, ties))
    return [_point(max_len, counted) for max_len, counted in counts.items()]


def _table_predictions(observations: Observations, truth: Codes, seed: int, ties: str) -> Floats:
    """P(YES) of every constituent by tables that learned from the other half of the segments."""
    predictions = np.full(len(truth), 0.5)
    trees = len(observations.forest.trees)
    fold_of = np.random.default_rng(seed).integers(0, FOLDS, trees)[observations.segments]
    for fold in range(FOLDS):
        test = np.repeat(fold_of == fold, np.diff(observations.offsets))
        if test.any():
            train = observations.take(np.flatnonzero(fold_of != fold)), truth[~test]
            asked = observations.take(np.flatnonzero(fold_of == fold))
            predictions[test] = CalibratedTable.fit([train], ties).p_yes(asked)
    return predictions


def _counts(observations: Observations, truth: Codes, p_yes: Floats | None, ties: str) -> dict[str, int]:
    """How many constituents have each state, how many of these are checked, and how often each method is right."""
    states, _ = observations.percolated(ties)
    known, down, up = truth != UNKNOWN, states == YES_DOWN, states == NO_UP
    says_yes = {"always_yes": np.ones(len(states), np.bool_), "percolation": (states != NO) & ~up}
    if p_yes is not None:
        says_yes["table"] = p_yes >= 0.5
    masks = {"before": (states == YES) | (states == NO), "from yes": down, "from no": up}
    checked = {"yes": known & down, "no": known & up, "percolated": known & (down | up)}
    checked["unlabelled"] = known & (observations.labels(ties) == UNKNOWN)
    for where, mask in checked.items():
        masks[f"{where} checked"] = mask
        for method, yes in says_yes.items():
            masks[f"{where} {method}"] = mask & (yes == (truth == YES))
    return {"all": len(states), **{name: int(np.count_nonzero(mask)) for name, mask in masks.items()}}


def _point(max_len: int, counts: Counter[str]) -> CurvePoint:
    def share(part: str, whole: str = "all") -> float:
        return counts[part] / counts[whole] if part in counts and counts[whole] else nan

    def accuracies(where: str) -> Accuracies:
        checked = f"{where} checked"
        return Accuracies(counts[checked], *(share(f"{where} {method}", checked) for method in METHODS))

    labelled = sum(counts[name] for name in ("before", "from yes", "from no"))
    return CurvePoint(
        max_len,
        before=share("before"),
        after=labelled / counts["all"] if counts["all"] else nan,
        from_yes=share("from yes"),
        from_no=share("from no"),
        yes_right=share("yes percolation", "yes checked"),
        no_right=share("no percolation", "no checked"),
        percolated=accuracies("percolated"),
        unlabelled=accuracies("unlabelled"),
    )


def curve_tables(curve: Sequence[CurvePoint]) -> list[str]:
    """Two tables in per cent: Figure 3, and each method's accuracy on percolated labels and on all without a judgment."""
    names = ["maxLen", "before", "after", "from YES", "from NO", "accuracy", "of YES", "of NO", "always YES"]
    methods = ["always YES", "percolation", "table"]
    rows: list[tuple[float, ...]] = []
    accuracies: list[tuple[float, ...]] = []
    for p in curve:
        right = (p.percolated.percolation, p.yes_right, p.no_right, p.percolated.always_yes)
        rows.append((p.max_len, p.before, p.after, p.from_yes, p.from_no, *right))
        both = [(a.checked, a.always_yes, a.percolation, a.table) for a in (p.percolated, p.unlabelled)]
        accuracies.append((p.max_len, *both[0], *both[1]))
    return [
        _in_per_cent(names, rows),
        _in_per_cent(["maxLen", "percolated:", *methods, "unlabelled:", *methods], accuracies),
    ]


def _in_per_cent(names: Sequence[str], rows: Sequence[tuple[float, ...]]) -> str:
    """Shares in per cent, counts as they are, a dash for what is not known."""

    def cell(value: float) -> str:
        if isinstance(value, int):
            return f"{value:,}"
        return "-" if value != value else f"{100 * value:.1f}"

    cells = [[cell(value) for value in row] for row in rows]
    return str(tabulate(cells, names, disable_numparse=True, stralign="right"))


def draw_curve(panel: Any, curve: Sequence[CurvePoint]) -> None:
    """Draw Figure 3."""
    lines = {
        "accuracy of percolated labels": ([p.percolated.percolation for p in curve], "o-", BLUE),
        "always YES on the same constituents": ([p.percolated.always_yes for p in curve], "o:", GREY),
        "coverage after percolation": ([p.after for p in curve], "s-", GREEN),
        "coverage before": ([p.before for p in curve], "s--", LIGHT),
        "added by YES from above": ([p.from_yes for p in curve], "^-", ORANGE),
        "added by NO from below": ([p.from_no for p in curve], "v-", RED),
    }
    _draw_lines(panel, curve, lines)
    panel.set_title("percolation", fontsize="medium")
    panel.set_ylim(0, 100)


def draw_accuracies(panel: Any, curve: Sequence[CurvePoint]) -> None:
    """Draw the accuracies of percolation and of the table."""
    lines = {}
    for where, title, style in (("percolated", "percolated", "o-"), ("unlabelled", "all unlabelled", "s--")):
        for method, colour in (("percolation", PALE), ("table", ORANGE), ("always_yes", GREY)):
            values = [getattr(getattr(point, where), method) for point in curve]
            lines[f"{method.replace('_yes', ' YES')}, {title}"] = (values, style, colour)
    _draw_lines(panel, curve, lines)
    panel.set_title("accuracy of labels that nobody gave", fontsize="medium")


def _draw_lines(
    panel: Any, curve: Sequence[CurvePoint], lines: Mapping[str, tuple[list[float], str, str]]
) -> None:
    """Lines over maxLen, in per cent, with the legend below; those of which nothing is known are left out."""
    lengths = [point.max_len for point in curve]
    for label, (values, style, colour) in lines.items():
        if any(value == value for value in values):
            width = 4.0 if colour == PALE else 1.5  # others may lie on it
            shares = [100 * value for value in values]
            panel.plot(lengths, shares, style, color=colour, label=label, markersize=4, linewidth=width)
    panel.set(xlabel="maxLen", ylabel="%", xticks=lengths)
    panel.grid(alpha=0.3)
    if panel.lines:
        panel.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2, fontsize=8, frameon=False)
