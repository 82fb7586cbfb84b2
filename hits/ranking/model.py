"""One interface for all models: options by name, fitting, scores and the probabilities of outcomes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from importlib import import_module
from importlib.metadata import entry_points
from math import sqrt
from typing import Any, Protocol, cast

import numpy as np

from hits.ranking.data import Comparisons
from hits.ranking.names import GROUP, MODELS, ranking_models
from rypt.arrays import Floats
from rypt.options import Options
from rypt.signature import rypt_version, signature
from rypt.tails import normal_tail
from rypt.text import RyptError


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A fitted model: a score for each system, higher is better, and further results.

    ``outcomes[i, j]`` are the probabilities that i is worse than j, equal, better, where the model has them.
    ``variances`` say how unsure it is of the scores, where it says so. ``extra`` are further facts for ``--json``.
    """

    systems: tuple[str, ...]
    scores: Floats  # (systems,)
    signature: str
    outcomes: Floats | None = None  # (systems, systems, 3)
    variances: Floats | None = None  # (systems,)
    extra: Mapping[str, Any] = field(default_factory=dict)

    def order(self) -> list[int]:
        """The systems from best to worst; equal scores by name, so that the order never depends on chance."""
        return sorted(
            range(len(self.systems)), key=lambda i: (-round(float(self.scores[i]), 9), self.systems[i])
        )


class RankingModel(Protocol):
    """A way to rank systems."""

    @property
    def name(self) -> str:
        """What ``--model`` calls it."""
        ...

    def fit(self, comparisons: Comparisons, rng: np.random.Generator) -> Fitted:
        """Scores from comparisons. The same generator state gives the same scores for any number of threads."""
        ...


def read_model(text: str, options: Mapping[str, str] | None = None) -> RankingModel:
    """A model by its name, or ``NAME:OPTION=VALUE,…``; defaults of options are the paper's.

    >>> read_model("bradley-terry:ties=rao-kupper,prior=1")
    BradleyTerry(ties='rao-kupper', prior=1.0, name='bradley-terry')
    >>> read_model("no-such-model")
    Traceback (most recent call last):
        ...
    rypt.text.RyptError: expected a model expected-wins, bojar, wins-ties, trueskill, hopkins-may, irt-gaussian, irt-categorical, bradley-terry, thurstone, mfas, winning-percentage, testimonial, found 'no-such-model'
    """  # noqa: E501
    choices = model_options(text, options)
    model = _factory(choices.name)(choices)
    choices.done()
    return model


def model_options(text: str, more: Mapping[str, str] | None = None) -> Options:
    """What ``NAME:OPTION=VALUE,…`` says, and ``more`` options."""
    name, _, rest = text.partition(":")
    options = dict(more or {})
    for part in filter(None, rest.split(",")):
        key, equals, value = part.partition("=")
        if not equals:
            raise RyptError(f"expected MODEL:NAME=VALUE,…, found {text!r}")
        options[key] = value
    return Options(name, options, kind="model")


def _factory(name: str) -> Callable[[Options], RankingModel]:
    if name in MODELS:
        file, _, factory = MODELS[name].partition(":")
        module = import_module(f"hits.ranking.models.{file}")
        return cast(Callable[[Options], RankingModel], getattr(module, factory))
    for entry in entry_points(group=GROUP, name=name):
        return cast(Callable[[Options], RankingModel], entry.load())
    raise RyptError(f"expected a model {', '.join(ranking_models())}, found {name!r}")


def sign(model: str, comparisons: Comparisons, **facts: object) -> str:
    """The signature printed with every ranking: model, options, how much data, version.

    >>> from hits.ranking.data import comparisons_of
    >>> sign("bojar", comparisons_of([("s", "a", "b", 1, "")]), seed=1).rpartition("|")[0]
    'bojar|seed:1|systems:2|n:1'
    """
    return signature(
        model, **facts, systems=len(comparisons.systems), n=len(comparisons), rypt=rypt_version()
    )


def settings(model: Any) -> dict[str, Any]:
    """All fields of a model but its name, for its signature."""
    return {each.name: getattr(model, each.name) for each in fields(model) if each.name != "name"}


def check_fit(comparisons: Comparisons) -> None:
    """Refuse what no model can rank: fewer than two systems, or no comparison."""
    if len(comparisons.systems) < 2:
        systems = f"only {comparisons.systems[0]}" if comparisons.systems else "none"
        raise RyptError(f"expected two systems or more to rank, found {systems}")
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
                below, above = normal_tail(mean / deviation), normal_tail((radius - mean) / deviation)
                table[i, j] = below, normal_tail((mean - radius) / deviation) - below, above
                table[j, i] = table[i, j][::-1]
    return table
