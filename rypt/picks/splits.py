"""Who judges and who decides: random divisions of systems, and rotations of raters within each segment.

split_systems(systems, quality, 200, rng)        judgments of some systems, picks among the others
rotate_raters(raters, [0, 1, 2], 200, rng)       in each segment one rater judges, the other raters' scores decide
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Floats
from rypt.picks.grouped import SegmentJudges
from rypt.picks.heldout import PickSplit
from rypt.text import RyptError, plural

NO_SCORES = "no rater scored two of the candidates to pick from"
ONE_RATER = (
    "this file has one rater a segment, and --hold-out rater needs two, one who judges and one who decides: use "
    "--hold-out system"
)


@dataclass(frozen=True, slots=True)
class PickSplits:
    """Splits, and what is to be said about them."""

    splits: list[PickSplit]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.splits)

    def __iter__(self) -> Iterator[PickSplit]:
        return iter(self.splits)


def split_systems(
    systems: Sequence[str],
    quality: Floats,
    count: int,
    rng: np.random.Generator,
    *,
    judging: int | None = None,
    judged_only: Collection[str] = (),
) -> PickSplits:
    """The judgments of ``judging`` random systems (by default half), and of those only judged, are the database."""
    free = [i for i, system in enumerate(systems) if system not in judged_only]
    if len(free) < 3:
        raise RyptError(
            f"expected at least 3 systems, one that judges and two to pick from, found {len(free)}"
        )
    judging = min((len(free) + 1) // 2, len(free) - 2) if judging is None else judging
    if not 1 <= judging <= len(free) - 2:
        raise RyptError(
            f"expected 1 to {len(free) - 2} judging systems, so that two are left to pick from, of "
            f"{len(free)}; found {judging}"
        )
    splits = []
    for _ in range(count):
        order = [free[i] for i in rng.permutation(len(free))]
        judges = {systems[i] for i in order[:judging]} | set(judged_only)
        splits.append(PickSplit(frozenset(judges), tuple(order[judging:]), quality))
    return PickSplits(splits)


def rotate_raters(
    raters: Mapping[str, Floats],
    systems: Sequence[int],
    count: int,
    rng: np.random.Generator,
    *,
    judging: int = 1,
    judges: Collection[str] | None = None,
) -> PickSplits:
    """In each segment every choice of ``judging`` of its raters judges in one split; the others' mean score decides.

    ``raters`` holds each rater's scores, (all systems, segments), nan where there is none; a segment's raters are those
    who scored at least two of the ``systems`` to pick from. Who comes first is random, segment by segment. Where there
    are more than ``count`` choices, so many random ones are taken. A segment with fewer choices than others decides
    nothing in the splits that are left; what its raters said there is known, for models to learn from. Only raters in
    ``judges`` (None: all) can judge: who gave no judgments can but decide.
    """
    if len(systems) < 2:
        raise RyptError(f"expected at least 2 systems to pick from, found {len(systems)}")
    if judging < 1:
        raise RyptError(f"expected at least 1 judging rater, found {judging}")
    names = sorted(raters)
    scores = np.stack([raters[name] for name in names])  # (raters, systems, segments)
    seen = (~np.isnan(scores[:, list(systems)])).sum(axis=1)
    able = np.array([judges is None or name in judges for name in names], np.bool_)
    choices: list[list[tuple[int, ...]]] = []
    left_out: Counter[str] = Counter()
    for column in seen.T:
        order = rng.permutation(len(names))
        scoring = [int(i) for i in order if column[i] >= 2]
        reason = _why_not([names[i] for i in scoring], sum(bool(able[i]) for i in scoring), judging)
        if reason:
            left_out[reason] += 1
        choices.append([] if reason else _choices([i for i in scoring if able[i]], judging, count, rng))
    if not any(choices):
        if judging == 1 and int((seen >= 2).sum(axis=0).max(initial=0)) == 1:
            raise RyptError(ONE_RATER)
        why = "; ".join(f"{plural(number, 'segment')}: {reason}" for reason, number in left_out.items())
        raise RyptError(
            f"no segment has {judging} judging and 1 deciding raters: {why or 'there are no segments'}"
        )
    splits = [
        _rotation(names, scores, tuple(systems), choices, number) for number in range(max(map(len, choices)))
    ]
    return PickSplits(splits, _notes(choices, left_out))


def _why_not(raters: Sequence[str], able: int, judging: int) -> str:
    """Why a segment with these raters, some of whom can judge, does not take part; empty if it does."""
    if not raters:
        return NO_SCORES
    if len(raters) <= judging:
        return f"only {len(raters)} {'rater' if len(raters) == 1 else 'raters'} scored two of the candidates to pick from"
    if able < judging:
        return f"only {able} of the raters gave judgments"
    return ""


def _choices(
    raters: Sequence[int], judging: int, most: int, rng: np.random.Generator
) -> list[tuple[int, ...]]:
    """All ways to choose who judges, or so many different random ones."""
    if comb(len(raters), judging) <= most:
        return list(combinations(raters, judging))
    chosen: dict[tuple[int, ...], None] = {}
    while len(chosen) < most:
        chosen.setdefault(tuple(sorted(rng.choice(raters, judging, replace=False).tolist())))
    return list(chosen)


def _rotation(
    names: Sequence[str],
    scores: Floats,
    systems: tuple[int, ...],
    choices: Sequence[Sequence[tuple[int, ...]]],
    number: int,
) -> PickSplit:
    """The split of this number: who judges and what the others' scores say, segment by segment."""
    judging = np.zeros((len(names), len(choices)), np.bool_)
    decided = np.zeros(len(choices), np.bool_)
    for segment, ways in enumerate(choices):
        if ways:
            judging[list(ways[number % len(ways)]), segment] = True
            decided[segment] = number < len(ways)
    known = tuple(frozenset(names[i] for i in np.flatnonzero(column).tolist()) for column in judging.T)
    human = _mean_where(scores, judging)
    quality = np.where(decided, _mean_where(scores, ~judging), np.nan)
    return PickSplit(SegmentJudges(known), systems, quality, human)


def _mean_where(scores: Floats, chosen: NDArray[np.bool_]) -> Floats:
    """The mean over the raters who are chosen in each segment, (systems, segments)."""
    return mean_scores(np.where(chosen[:, None, :], scores, np.nan))


def _notes(choices: Sequence[Sequence[tuple[int, ...]]], left_out: Counter[str]) -> tuple[str, ...]:
    taking_part = sum(map(bool, choices))
    why = [f"{number} left out: {reason}" for reason, number in left_out.most_common()]
    return (f"{taking_part} of {len(choices)} segments take part", *why)


def mean_scores(raters: Collection[Floats] | Floats) -> Floats:
    """The mean over raters, of those who gave a score; nan where nobody did."""
    scores = np.stack(list(raters))
    known = ~np.isnan(scores)
    total = np.where(known, scores, 0.0).sum(axis=0)
    return np.asarray(
        np.where(known.any(axis=0), total / np.maximum(1, known.sum(axis=0)), np.nan), np.float64
    )
