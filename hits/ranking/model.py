"""One interface for all models: options by name, fitting, scores and the probabilities of outcomes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import version
from math import erfc, inf, isfinite, sqrt
from typing import Any, Protocol, cast

import numpy as np

from hits.ranking.data import Comparisons
from hits.ranking.names import MODELS, RANKING_MODELS
from rypt.arrays import Floats
from rypt.text import RyptError

Probabilities = tuple[float, float, float]  # that the first system is worse, equal, better


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """What a model found: a score for each system, higher is better, and what else it knows.

    ``outcomes[i, j]`` are the probabilities that i is worse than j, equal, better, where the model has them.
    ``variances`` say how unsure it is of the scores, where it says so. ``extra`` are further facts for ``--json``.
    """

    systems: tuple[str, ...]
    scores: Floats  # (systems,)
    signature: str
    outcomes: Floats | None = None  # (systems, systems, 3)
    variances: Floats | None = None  # (systems,)
    extra: Mapping[str, Any] = field(default_factory=dict)

    def probabilities(self, i: int, j: int) -> Probabilities | None:
        """That system i is worse than system j, equal to it, better; None where the model cannot say."""
        if self.outcomes is None:
            return None
        worse, equal, better = self.outcomes[i, j]
        return float(worse), float(equal), float(better)

    def order(self) -> list[int]:
        """The systems from best to worst; equal scores by name, so that the order never depends on chance."""
        return sorted(range(len(self.systems)), key=lambda i: (-self.scores[i], self.systems[i]))


class Model(Protocol):
    """A way to rank systems."""

    @property
    def name(self) -> str:
        """What ``--model`` calls it."""
        ...

    def fit(self, comparisons: Comparisons, rng: np.random.Generator) -> Fitted:
        """Scores from comparisons. The same generator state gives the same scores for any number of threads."""
        ...


class Options:
    """The options of one model, ``NAME=VALUE`` each: read one by one, and an unknown one is refused."""

    def __init__(self, model: str, given: Mapping[str, str]) -> None:
        self.model = model
        self._given = dict(given)
        self._known: list[str] = []

    def number(self, name: str, default: float, *, low: float = -inf, high: float = inf) -> float:
        """A number from low to high."""
        text = self._take(name)
        if text is None:
            return default
        try:
            value = float(text)
        except ValueError:
            value = inf
        if not isfinite(value) or not low <= value <= high:
            raise RyptError(f"{self.model}: expected {name} as a number{_between(low, high)}, found {text!r}")
        return value

    def positive(self, name: str, default: float) -> float:
        """A number above 0."""
        value = self.number(name, default, low=0.0)
        if value == 0.0:
            raise RyptError(f"{self.model}: expected {name} above 0, found 0")
        return value

    def integer(self, name: str, default: int, *, low: int = 0, high: int = 10**9) -> int:
        """A whole number from low to high."""
        text = self._take(name)
        if text is None:
            return default
        if not text.lstrip("-").isdecimal() or not low <= int(text) <= high:
            raise RyptError(f"{self.model}: expected {name} as a whole number{_between(low, high)}, found {text!r}")
        return int(text)

    def choice(self, name: str, default: str, allowed: Sequence[str]) -> str:
        """One of a few words."""
        text = self._take(name)
        if text is not None and text not in allowed:
            raise RyptError(f"{self.model}: expected {name} as one of {', '.join(allowed)}, found {text!r}")
        return default if text is None else text

    def finish(self) -> None:
        """Refuse what was given and never read."""
        if self._given:
            known = f"has the options {', '.join(self._known)}" if self._known else "has no options"
            raise RyptError(f"{self.model} {known}; found {', '.join(self._given)}")

    def _take(self, name: str) -> str | None:
        self._known.append(name)
        return self._given.pop(name, None)


def _between(low: float, high: float) -> str:
    words = [f" {word} {bound:g}" for word, bound in (("from", low), ("to", high)) if isfinite(bound)]
    return "".join(words)


def read_model(name: str, options: Mapping[str, str] | None = None) -> Model:
    """A model by its name, with options; their defaults are the paper's.

    >>> read_model("elo")
    Traceback (most recent call last):
        ...
    rypt.text.RyptError: expected a model expected-wins, bojar, wins-ties, trueskill, hopkins-may, irt-gaussian, irt-categorical, bradley-terry, thurstone, mfas, winning-percentage, testimonial, found 'elo'
    """  # noqa: E501
    if name not in MODELS:
        raise RyptError(f"expected a model {', '.join(RANKING_MODELS)}, found {name!r}")
    file, _, factory = MODELS[name].partition(":")
    make = cast(Callable[[Options], Model], getattr(import_module(f"hits.ranking.models.{file}"), factory))
    read = Options(name, options or {})
    model = make(read)
    read.finish()
    return model


def sign(model: str, comparisons: Comparisons, **facts: object) -> str:
    """The signature printed beside every ranking: model, options, how much data, version.

    >>> from hits.ranking.data import comparisons_of
    >>> sign("bojar", comparisons_of([("s", "a", "b", 1, "")]), seed=1).rpartition("|")[0]
    'bojar|seed:1|systems:2|n:1'
    """
    told = [f"{name}:{value:g}" if isinstance(value, float) else f"{name}:{value}" for name, value in facts.items()]
    data = [f"systems:{len(comparisons.systems)}", f"n:{len(comparisons)}", f"rypt:{version('rypt')}"]
    return "|".join([model, *told, *data])


def check_fit(comparisons: Comparisons) -> None:
    """Refuse what no model can rank: fewer than two systems, or no comparison."""
    if len(comparisons.systems) < 2:
        found = f"only {comparisons.systems[0]}" if comparisons.systems else "none"
        raise RyptError(f"expected two systems or more to rank, found {found}")
    if not len(comparisons):
        raise RyptError("expected comparisons, found none")


def carve(scores: Floats, variances: Floats, radius: float) -> Floats:
    """Probabilities of outcomes from independent Gaussian abilities (Sakaguchi et al. 2014, section 3.2).

    The difference is N(μᵢ − μⱼ, σᵢ² + σⱼ²). Seen from the system with the higher mean it is worse below 0, equal from
    0 to ``radius``, better above. Returns (systems, systems, 3); the lower of two systems has the mirrored numbers.
    """
    n = len(scores)
    table = np.full((n, n, 3), 1 / 3)
    for i in range(n):
        for j in range(n):
            if i != j and (scores[i], -i) > (scores[j], -j):
                mean, deviation = scores[i] - scores[j], sqrt(variances[i] + variances[j])
                below, above = _tail(mean / deviation), _tail((radius - mean) / deviation)
                table[i, j] = below, _tail((mean - radius) / deviation) - below, above
                table[j, i] = table[i, j][::-1]
    return table


def _tail(x: float) -> float:
    """The probability of more than x standard deviations; exact far out, where one minus the rest would be 0."""
    return erfc(x / sqrt(2)) / 2
