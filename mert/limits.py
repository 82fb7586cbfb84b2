"""Constraints and smoothing as the command line writes them."""

import re
from collections.abc import Sequence
from dataclasses import replace

from mert.constraints import Constraints, Normalization
from mert.search import Window
from mert.weights import WeightsFile
from rypt.text import RyptError


class Limits:
    """The constraints of the command line; a name may stand for all values of a label."""

    def __init__(
        self, only: Sequence[str], fix: Sequence[str], bound: Sequence[str], ranges: Sequence[str],
        tie: Sequence[str], norm: str | None,
    ) -> None:  # fmt: skip
        self.only, self.fix, self.tie, self.norm = only, fix, tie, norm
        self.bound = [_read_limits(text, "--bound") for text in bound]
        self.ranges = [_read_limits(text, "--range") for text in ranges]

    def constraints(self, names: Sequence[str], start: WeightsFile | None) -> Constraints:
        """These, on top of what the file of weights says."""
        given = start.constraints if start else Constraints()
        bounds = {name: pair for label, pair in self.bound for name in _members(label, names)}
        ranges = {name: pair for label, pair in self.ranges for name in _members(label, names)}
        only = {name for label in self.only for name in _members(label, names)}
        return replace(
            given,
            only=frozenset(only) if only else given.only,
            fixed=given.fixed | {name for label in self.fix for name in _members(label, names)},
            bounds={**given.bounds, **bounds},
            ranges={**given.ranges, **ranges},
            tied=tuple(
                tuple(name for label in group.split(",") for name in _members(label.strip(), names))
                for group in self.tie
            ),
            normalization=_read_norm(self.norm, names) if self.norm else given.normalization,
        )


def _members(label: str, names: Sequence[str]) -> list[str]:
    """The features a name stands for: itself, or Name_0, Name_1 ….

    >>> _members("TM0", ["LM0", "TM0_0", "TM0_1"])
    ['TM0_0', 'TM0_1']
    """
    found = [name for name in names if name == label] or [
        name for name in names if re.fullmatch(rf"{re.escape(label)}_\d+", name)
    ]
    if not found:
        raise RyptError(f"{label} is no feature; there are {', '.join(names)}")
    return found


def _read_limits(text: str, option: str) -> tuple[str, tuple[float, float]]:
    """Read ``LM0=0..1``; an end that is missing is infinite.

    >>> _read_limits("LM0=0..", "--bound")
    ('LM0', (0.0, inf))
    """
    found = re.fullmatch(r"(.+)=(\S*?)\.\.(\S*)", text)
    try:
        if found is None:
            raise ValueError
        low, high = float(found[2] or "-inf"), float(found[3] or "inf")
    except ValueError:
        raise RyptError(f"{option} {text}: expected FEATURE=LOW..HIGH") from None
    return found[1], (low, high)


def _read_norm(text: str, names: Sequence[str]) -> Normalization:
    if text in ("none", "l1", "l2", "max"):
        return Normalization(text)
    name, equals, value = text.partition("=")
    try:
        if not equals or not 0 < float(value) < float("inf"):
            raise ValueError
    except ValueError:
        raise RyptError(f"--norm {text}: expected none, l1, l2, max, or FEATURE=VALUE above 0") from None
    (member,) = _members(name, names)[:1]
    return Normalization("weight", float(value), member)


def read_window(text: str | None) -> Window | None:
    """Read ``min:3`` or ``average:3``."""
    if text is None:
        return None
    kind, _, size = text.partition(":")
    if kind not in ("min", "average") or not size.isdecimal() or int(size) < 1:
        raise RyptError(f"--window {text}: expected min:SIZE or average:SIZE, with a SIZE from 1")
    return Window(kind, int(size))
