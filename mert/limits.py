"""Constraints on weights as users write them: ``TM0`` stands for ``TM0_0``, ``TM0_1`` and so on."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from mert.constraints import Constraints, Normalization
from mert.weights import WeightsFile
from rypt.text import RyptError

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class WeightLimits:
    """Which weights are tuned and how far they may go; a name may stand for all values of a label.

    Only the weights in ``only`` move (all if it is empty), less those that are ``fixed``. ``bounds`` are hard, random
    starts are drawn from ``ranges``, each group in ``tied`` keeps its proportions. ``norm`` scales the result:
    ``none``, ``l1``, ``l2``, ``max``, or ``FEATURE=VALUE``; None is ``l1`` where that is harmless.

    >>> WeightLimits(fixed=("TM0",), bounds={"LM0": (0, 1)}).constraints(["LM0", "TM0_0", "TM0_1"]).bounds
    {'LM0': (0, 1)}
    """

    only: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    bounds: Mapping[str, Interval] = field(default_factory=dict)
    ranges: Mapping[str, Interval] = field(default_factory=dict)
    tied: tuple[tuple[str, ...], ...] = ()
    norm: str | None = None

    def constraints(self, names: Sequence[str], start: WeightsFile | None = None) -> Constraints:
        """The constraints on these features, on top of those in the file of weights."""
        given = start.constraints if start else Constraints()
        only = {name for label in self.only for name in _members(label, names)}
        return replace(
            given,
            only=frozenset(only) if only else given.only,
            fixed=given.fixed | {name for label in self.fixed for name in _members(label, names)},
            bounds={**given.bounds, **_by_member(self.bounds, names)},
            ranges={**given.ranges, **_by_member(self.ranges, names)},
            tied=tuple(
                tuple(name for label in group for name in _members(label, names)) for group in self.tied
            ),
            normalization=_read_norm(self.norm, names) if self.norm else given.normalization,
        )


def _by_member(intervals: Mapping[str, Interval], names: Sequence[str]) -> dict[str, Interval]:
    return {name: interval for label, interval in intervals.items() for name in _members(label, names)}


def _members(label: str, names: Sequence[str]) -> list[str]:
    """The features a name stands for: itself, or Name_0, Name_1 ….

    >>> _members("TM0", ["LM0", "TM0_0", "TM0_1"])
    ['TM0_0', 'TM0_1']
    """
    if label in names:
        return [label]
    members = [name for name in names if re.fullmatch(rf"{re.escape(label)}_\d+", name)]
    if not members:
        raise RyptError(f"{label} is not a feature; expected one of {', '.join(names)}")
    return members


def _read_norm(text: str, names: Sequence[str]) -> Normalization:
    if text in ("none", "l1", "l2", "max"):
        return Normalization(text)
    name, equals, value = text.partition("=")
    try:
        if not equals or not 0 < float(value) < float("inf"):
            raise ValueError
    except ValueError:
        raise RyptError(f"norm {text}: expected none, l1, l2, max, or FEATURE=VALUE above 0") from None
    return Normalization("weight", float(value), _members(name, names)[0])


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


def read_groups(texts: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Read groups of names with commas between them.

    >>> read_groups(["LM0, TM0"])
    (('LM0', 'TM0'),)
    """
    return tuple(tuple(label.strip() for label in text.split(",")) for text in texts)
