"""Models by name, their options, and probabilities from Gaussians."""

import numpy as np
import pytest
from scipy.stats import norm

from hits.ranking.data import comparisons_of
from hits.ranking.model import carve, read_model
from hits.ranking.names import MODELS, RANKING_MODELS
from rypt.text import RyptError

DATA = comparisons_of(
    [
        (f"s{k}", a, b, o, "w")
        for k in range(4)
        for a, b, o in (("a", "b", 1), ("b", "c", 1), ("a", "c", 0), ("c", "b", 1))
    ]
)


@pytest.mark.parametrize("name", MODELS)
def test_every_model_can_be_made_and_fitted_by_name(name: str) -> None:
    model = read_model(name)
    assert model.name == name
    fitted = model.fit(DATA, np.random.default_rng(1))
    assert fitted.systems == DATA.systems
    assert fitted.scores.shape == (3,)
    assert np.isfinite(fitted.scores).all()
    assert fitted.signature.startswith(name)
    if fitted.outcomes is not None:
        off = ~np.eye(3, dtype=bool)
        assert fitted.outcomes.shape == (3, 3, 3)
        assert fitted.outcomes[off].sum(axis=1) == pytest.approx(1)
        if name == "students-asymmetric":
            return
        mirrored = np.swapaxes(fitted.outcomes, 0, 1)[:, :, ::-1]
        assert fitted.outcomes[off] == pytest.approx(mirrored[off])
    if name in RANKING_MODELS:
        assert fitted.systems[fitted.order()[0]] == "a"


@pytest.mark.parametrize("name", MODELS)
def test_every_model_refuses_an_option_it_does_not_have_and_too_little(name: str) -> None:
    with pytest.raises(RyptError, match=f"the model {name} has no option 'nonsense'"):
        read_model(name, {"nonsense": "1"})
    for systems, reason in (((), "found none"), (("a",), "found only a"), (("a", "b"), "found none")):
        with pytest.raises(RyptError, match=reason):
            read_model(name).fit(comparisons_of([], systems), np.random.default_rng(0))


def test_options_after_a_colon() -> None:
    assert read_model("bradley-terry:prior=2,ties=ignore") == read_model(
        "bradley-terry", {"prior": "2", "ties": "ignore"}
    )
    with pytest.raises(RyptError, match="MODEL:NAME=VALUE"):
        read_model("trueskill:select")


def test_carve_integrates_the_difference_of_two_gaussians() -> None:
    scores, variances = np.array([0.4, -0.2, 0.1]), np.array([0.2, 0.3, 0.25])
    table = carve(scores, variances, 0.3)
    gap, spread = scores[0] - scores[1], np.sqrt(0.5)
    assert table[0, 1, 0] == pytest.approx(norm.cdf(0, gap, spread))
    assert table[0, 1, 1] == pytest.approx(norm.cdf(0.3, gap, spread) - norm.cdf(0, gap, spread))
    assert table[0, 1, 2] == pytest.approx(norm.sf(0.3, gap, spread))
    assert table[1, 0].tolist() == table[0, 1, ::-1].tolist()
