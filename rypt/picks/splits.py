"""Who judges and who decides: random divisions of systems, and rotations of raters within each segment.

split_systems(systems, origins, quality, 200, rng)        judgments of some systems, picks among the others
rotate_raters(raters, workers, [0, 1, 2], 200, rng)       in each segment one rater judges, the others' scores decide
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Floats
from rypt.text import RyptError, plural

NO_SCORES = "no rater scored two of the candidates to pick from"
ONE_RATER = (
    "this file has one rater a segment, and --hold-out rater needs two, one who judges and one who decides: use "
    "--hold-out system"
)
Table = NDArray[np.bool_]  # (names, segments)


@dataclass(frozen=True, slots=True, eq=False)
class PickSplit:
    """Whose judgments are known, which systems' candidates are picked from, and what human scores say of all.

    ``judges`` has a row for each origin or worker of the judgments. ``quality`` (systems, segments) is higher when
    better, nan where there is no score; so is ``human``, the mean score by the judging raters, where raters are divided.
    """

    judges: Table
    scored: tuple[int, ...]
    quality: Floats
    human: Floats | None = None


def split_systems(
    systems: Sequence[str],
    origins: Sequence[str],
    quality: Floats,
    count: int,
    rng: np.random.Generator,
    *,
    judging: int | None = None,
    judged_only: Collection[str] = (),
) -> list[PickSplit]:
    """The judgments of ``judging`` random systems (by default half), and of those only judged, are known."""
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
        known = {systems[i] for i in order[:judging]} | set(judged_only)
        judges = np.array([origin in known for origin in origins], np.bool_)
        table = np.broadcast_to(judges[:, None], (len(origins), quality.shape[1]))
        splits.append(PickSplit(table, tuple(order[judging:]), quality))
    return splits


def rotate_raters(
    raters: Mapping[str, Floats],
    workers: Sequence[str],
    systems: Sequence[int],
    count: int,
    rng: np.random.Generator,
    *,
    judging: int = 1,
) -> tuple[list[PickSplit], list[str]]:
    """In each segment every choice of ``judging`` of its raters judges in one split; the others' mean score decides.

    ``raters`` holds each rater's scores, (all systems, segments), nan where there is none; a segment's raters are those
    who scored at least two of the ``systems`` to pick from. Who comes first is random, segment by segment. Where there
    are more than ``count`` choices, ``count`` random ones are taken. A segment with fewer choices than others decides
    nothing in the splits that are left; what its raters said there is known, for models to learn from. Only ``workers``
    can judge: who gave no judgments can only decide. Notes say how many segments take part.
    """
    if len(systems) < 2:
        raise RyptError(f"expected at least 2 systems to pick from, found {len(systems)}")
    if judging < 1:
        raise RyptError(f"expected at least 1 judging rater, found {judging}")
    names = sorted(raters)
    scores = np.stack([raters[name] for name in names])  # (raters, systems, segments)
    seen = (~np.isnan(scores[:, list(systems)])).sum(axis=1)
    choices: list[list[tuple[int, ...]]] = []  # for each segment the ways to choose who judges
    left_out: Counter[str] = Counter()
    for column in seen.T:
        scoring = [int(i) for i in rng.permutation(len(names)) if column[i] >= 2]
        able = [i for i in scoring if names[i] in workers]
        reason = _why_not(len(scoring), len(able), judging)
        if reason:
            left_out[reason] += 1
        choices.append([] if reason else _choices(able, judging, count, rng))
    if not any(choices):
        if judging == 1 and int((seen >= 2).sum(axis=0).max(initial=0)) == 1:
            raise RyptError(ONE_RATER)
        why = "; ".join(f"{plural(number, 'segment')}: {reason}" for reason, number in left_out.items())
        raise RyptError(
            f"no segment has {judging} judging and 1 deciding raters: {why or 'there are no segments'}"
        )
    rows = [names.index(worker) if worker in raters else -1 for worker in workers]
    splits = []
    for number in range(max(map(len, choices))):
        known = np.zeros((len(names), len(choices)), np.bool_)
        for segment, ways in enumerate(choices):
            if ways:
                known[list(ways[number % len(ways)]), segment] = True
        decided = np.array([number < len(ways) for ways in choices], np.bool_)
        quality = np.where(decided, _mean_where(scores, ~known), np.nan)
        judges = np.vstack([known, np.zeros(len(choices), np.bool_)])[rows]
        splits.append(PickSplit(judges, tuple(systems), quality, _mean_where(scores, known)))
    notes = [f"{sum(map(bool, choices))} of {len(choices)} segments take part"]
    notes += [f"{number} left out: {reason}" for reason, number in left_out.most_common()]
    return splits, notes


def _why_not(raters: int, able: int, judging: int) -> str:
    """Why a segment with these raters, some of whom are able to judge, does not take part; empty if it does."""
    if not raters:
        return NO_SCORES
    if raters <= judging:
        return f"only {plural(raters, 'rater')} scored two of the candidates to pick from"
    return f"only {able} of the raters gave judgments" if able < judging else ""


def _choices(
    raters: Sequence[int], judging: int, most: int, rng: np.random.Generator
) -> list[tuple[int, ...]]:
    """All ways to choose who judges, or ``most`` different random ones."""
    if comb(len(raters), judging) <= most:
        return list(combinations(raters, judging))
    chosen: dict[tuple[int, ...], None] = {}
    while len(chosen) < most:
        chosen.setdefault(tuple(sorted(rng.choice(raters, judging, replace=False).tolist())))
    return list(chosen)


def _mean_where(scores: Floats, chosen: Table) -> Floats:
    """The mean over the raters who are chosen in each segment, (systems, segments)."""
    return mean_scores(np.where(chosen[:, None, :], scores, np.nan))


def mean_scores(raters: Collection[Floats] | Floats) -> Floats:
    """The mean over raters, of those who gave a score; nan where nobody did."""
    scores = np.stack(list(raters))
    known = ~np.isnan(scores)
    total = np.where(known, scores, 0.0).sum(axis=0)
    means = np.where(known.any(axis=0), total / np.maximum(1, known.sum(axis=0)), np.nan)
    return np.asarray(means, np.float64)
