"""Constraints on weights: which are tuned, bounds, tied groups, ranges of random starts, and normalization."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Floats
from rypt.text import RyptError

Interval = tuple[float, float]
UNBOUNDED: Interval = (-np.inf, np.inf)


@dataclass(frozen=True, slots=True)
class Normalization:
    """How tuned weights are scaled, which changes no winner: ``none``, ``l1``, ``l2``, ``max``, ``min``, ``weight``.

    ``l1`` and ``l2`` make that norm ``value``, ``max`` and ``min`` the largest and smallest absolute weight, ``weight``
    the absolute weight of ``name`` (Z-MERT's LNorm, maxabsval, minabsval, absval).
    """

    kind: str = "l1"
    value: float = 1.0
    name: str | None = None

    def __str__(self) -> str:
        return f"{self.name}={self.value:g}" if self.kind == "weight" else self.kind

    def on(self, names: Sequence[str]) -> "Normalization":
        """The same with the weight that its label means, the first of several."""
        return self if self.name is None else replace(self, name=_members([self.name], names)[0])

    def apply(self, weights: Floats, names: Sequence[str]) -> Floats:
        """The scaled weights; weights whose measure is 0 stay as they are.

        >>> Normalization("max").apply(np.array([0.5, -2.0]), ("a", "b"))
        array([ 0.25, -1.  ])
        """
        if self.kind == "none":
            return weights
        size = np.abs(weights)
        if self.kind == "weight":
            size = size[[i for i, name in enumerate(names) if name == self.name]]
        measures: dict[str, Callable[[Floats], np.floating[Any]]] = {
            "l1": np.sum,
            "l2": np.linalg.norm,
            "max": np.max,
            "min": np.min,
            "weight": np.sum,
        }
        measure = float(measures[self.kind](size))
        return weights / measure * self.value if measure > 0 else weights


@dataclass(frozen=True, slots=True)
class Constraints:
    """Which weights are tuned and within which bounds; ``TM0`` means all weights TM0_0, TM0_1 …

    Only the weights in ``only`` are tuned (all if it is empty), except those in ``fixed``. ``bounds`` are hard: no
    line search leaves them. Random starts are drawn from ``ranges``. The weights of a group in ``tied`` move together
    and keep their proportions. ``normalization`` None scales to an L1 norm of 1, unless a weight is held or has a
    bound other than 0.

    >>> Constraints(fixed=("TM0",)).on(["LM0", "TM0_0", "TM0_1"]).fixed
    ('TM0_0', 'TM0_1')
    """

    only: Collection[str] = ()
    fixed: Collection[str] = ()
    bounds: Mapping[str, Interval] = field(default_factory=dict)
    ranges: Mapping[str, Interval] = field(default_factory=dict)
    tied: Sequence[Sequence[str]] = ()
    normalization: Normalization | None = None

    def on(self, names: Sequence[str], file: "Constraints | None" = None) -> "Constraints":
        """The constraints with labels replaced by these features, added to those of a file of weights."""
        file = file or Constraints()
        return Constraints(
            _members(self.only, names) or file.only,
            (*file.fixed, *_members(self.fixed, names)),
            {**file.bounds, **_by_member(self.bounds, names)},
            {**file.ranges, **_by_member(self.ranges, names)},
            (*file.tied, *(_members(group, names) for group in self.tied)),
            self.normalization.on(names) if self.normalization else file.normalization,
        )

    @property
    def signature(self) -> str:
        """What is held, bounds, ranges and ties, as a part of the signature of tuned weights.

        >>> Constraints(fixed=["LM0"], bounds={"WP": (0.0, np.inf)}).signature
        '|fix:LM0|bound:WP=0..inf'
        """
        intervals = {
            option: [f"{name}={low:g}..{high:g}" for name, (low, high) in sorted(limits.items())]
            for option, limits in (("bound", self.bounds), ("range", self.ranges))
        }
        every = {
            "tune": sorted(self.only),
            "fix": sorted(set(self.fixed)),
            **intervals,
            "tie": ["+".join(group) for group in self.tied],
        }
        return "".join(f"|{option}:{','.join(names)}" for option, names in every.items() if names)

    def check(self, names: Sequence[str], start: Floats) -> None:
        """Refuse unknown names, empty bounds, bounds that exclude the start, weights in two groups."""
        grouped = [name for group in self.tied for name in group]
        mentioned = {*self.fixed, *self.only, *self.bounds, *self.ranges, *grouped}
        if self.normalization and self.normalization.kind == "weight" and self.normalization.name:
            mentioned.add(self.normalization.name)
        unknown = sorted(mentioned - set(names))
        if unknown:
            raise RyptError(
                f"a constraint names {', '.join(unknown)}; the lists have the features {', '.join(names)}"
            )
        if len(grouped) != len(set(grouped)):
            raise RyptError("a weight is in two tied groups")
        value = dict(zip(names, start.tolist(), strict=True))
        for name, (low, high) in self.bounds.items():
            if not low < high:
                raise RyptError(f"the bounds of {name} are empty: {low:g}..{high:g}")
            if self.moves(name) and not low <= value[name] <= high:
                raise RyptError(f"the bounds {low:g}..{high:g} of {name} exclude its start {value[name]:g}")
        for name, (low, high) in self.ranges.items():
            if not -np.inf < low <= high < np.inf:
                raise RyptError(
                    f"the range of {name} for random starts is empty or infinite: {low:g}..{high:g}"
                )
            if name in self.bounds and not self.bounds[name][0] <= low <= high <= self.bounds[name][1]:
                raise RyptError(f"the range {low:g}..{high:g} of {name} for random starts leaves its bounds")

    def within(self, names: Sequence[str], known: Sequence[str]) -> "Constraints":
        """The same without features that are ``known`` but not among these names, as a list may leave them out."""
        absent = set(known) - set(names)
        return replace(
            self,
            fixed=[name for name in self.fixed if name not in absent],
            bounds={name: pair for name, pair in self.bounds.items() if name not in absent},
            ranges={name: pair for name, pair in self.ranges.items() if name not in absent},
        )

    def moves(self, name: str) -> bool:
        """Whether a weight may move."""
        return name not in self.fixed and (not self.only or name in self.only)

    def low_high(self, names: Sequence[str]) -> tuple[Floats, Floats]:
        """The bounds of all weights, (features,) each; one that is held has none."""
        bounds = [self.bounds.get(name, UNBOUNDED) if self.moves(name) else UNBOUNDED for name in names]
        pairs = np.array(bounds, dtype=np.float64).reshape(-1, 2)
        return pairs[:, 0].copy(), pairs[:, 1].copy()

    def axes(self, names: Sequence[str], start: Floats, deciding: NDArray[np.bool_]) -> Floats:
        """The directions in which weights may move, (axes, features): one for each free weight or tied group.

        A feature that never differs inside a segment (not ``deciding``) has no axis: it decides nothing.
        """
        rows = []
        group_of = {name: group for group in self.tied for name in group}
        for name in names:
            group = group_of.get(name, (name,))
            if name != group[0] or not all(self.moves(other) for other in group):
                continue
            members = [names.index(other) for other in group]
            if not deciding[members].any():
                continue
            row = np.zeros(len(names))
            row[members] = start[members] if len(group) > 1 and start[members].any() else 1.0
            rows.append(row)
        return np.array(rows).reshape(len(rows), len(names))

    def settled(self, names: Sequence[str], *, anything_held: bool) -> "Constraints":
        """The same with the default normalization decided."""
        if self.normalization is not None:
            if anything_held and self.normalization.kind != "none":
                message = (
                    "it would scale the tuned weights and not those of the sparse features that are held"
                )
                raise RyptError(f"the normalization {self.normalization} cannot be had: {message}")
            return self
        scalable = all(end in (0.0, -np.inf, np.inf) for pair in self.bounds.values() for end in pair)
        held = anything_held or any(not self.moves(name) for name in names)
        return replace(self, normalization=Normalization("l1" if scalable and not held else "none"))


def _members(labels: Iterable[str], names: Sequence[str]) -> tuple[str, ...]:
    """The features that labels mean: TM0 itself, or TM0_0, TM0_1 …"""
    found = list[str]()
    for label in labels:
        members = [name for name in names if re.fullmatch(rf"{re.escape(label)}_\d+", name)]
        if label not in names and not members:
            raise RyptError(f"{label} is not a feature; expected one of {', '.join(names)}")
        found += [label] if label in names else members
    return tuple(found)


def _by_member(intervals: Mapping[str, Interval], names: Sequence[str]) -> dict[str, Interval]:
    return {name: interval for label, interval in intervals.items() for name in _members([label], names)}


def read_normalization(text: str) -> Normalization:
    """Read ``none``, ``l1``, ``l2``, ``max`` or ``FEATURE=VALUE``."""
    if text in ("none", "l1", "l2", "max"):
        return Normalization(text)
    name, equals, value = text.partition("=")
    try:
        if not equals or not 0 < float(value) < float("inf"):
            raise ValueError
    except ValueError:
        raise RyptError(f"norm {text}: expected none, l1, l2, max, or FEATURE=VALUE above 0") from None
    return Normalization("weight", float(value), name)


def read_intervals(texts: Sequence[str], option: str) -> dict[str, Interval]:
    """Read texts such as ``LM0=0..1``; an end that is missing is infinite.

    >>> read_intervals(["LM0=0..", "TM0=-1..1"], "--bound")
    {'LM0': (0.0, inf), 'TM0': (-1.0, 1.0)}
    """
    intervals: dict[str, Interval] = {}
    for text in texts:
        match = re.fullmatch(r"(.+)=(\S*?)\.\.(\S*)", text)
        try:
            if match is None:
                raise ValueError
            intervals[match[1]] = float(match[2] or "-inf"), float(match[3] or "inf")
        except ValueError:
            raise RyptError(f"{option} {text}: expected FEATURE=LOW..HIGH") from None
    return intervals
