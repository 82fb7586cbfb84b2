"""Constraints on weights: which are tuned, bounds, tied groups, ranges of random starts, and normalization."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Floats
from rypt.text import RyptError

UNBOUNDED = (-np.inf, np.inf)


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
    """Which weights may move (all, or those in ``only``, less those in ``fixed``) and how.

    ``bounds`` are hard: no line search leaves them. ``ranges`` say where random starts are drawn. The weights of a
    group in ``tied`` move together and keep their proportions. ``normalization`` None scales to an L1 norm of 1 where
    that is harmless: nothing held, no bound but 0.
    """

    fixed: frozenset[str] = frozenset()
    only: frozenset[str] | None = None
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    tied: tuple[tuple[str, ...], ...] = ()
    normalization: Normalization | None = None

    @property
    def signature(self) -> str:
        """What is held, bounds, ranges and ties, as a part of the signature of tuned weights.

        >>> Constraints(fixed=frozenset({"LM0"}), bounds={"WP": (0.0, np.inf)}).signature
        '|fix:LM0|bound:WP=0..inf'
        """
        intervals = {
            option: [f"{name}={low:g}..{high:g}" for name, (low, high) in sorted(limits.items())]
            for option, limits in (("bound", self.bounds), ("range", self.ranges))
        }
        every = {
            "tune": sorted(self.only or ()),
            "fix": sorted(self.fixed),
            **intervals,
            "tie": ["+".join(group) for group in self.tied],
        }
        return "".join(f"|{option}:{','.join(names)}" for option, names in every.items() if names)

    def check(self, names: Sequence[str], start: Floats) -> None:
        """Refuse names that are not there, empty bounds, bounds that exclude the start, weights in two groups."""
        grouped = [name for group in self.tied for name in group]
        mentioned = {*self.fixed, *(self.only or ()), *self.bounds, *self.ranges, *grouped}
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
            fixed=self.fixed - absent,
            bounds={name: pair for name, pair in self.bounds.items() if name not in absent},
            ranges={name: pair for name, pair in self.ranges.items() if name not in absent},
        )

    def moves(self, name: str) -> bool:
        """Whether a weight may move."""
        return name not in self.fixed and (self.only is None or name in self.only)

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
