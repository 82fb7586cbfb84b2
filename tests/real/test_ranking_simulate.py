"""Cumings' Table 2: how often a ranking scheme finds the true ranking of data like WMT's."""

from collections.abc import Callable
from math import sqrt
from pathlib import Path

import pytest

from hits.ranking.model import read_model
from hits.ranking.readers.files import ComparisonFiles
from hits.ranking.simulation import likeness, success

pytestmark = pytest.mark.real

ITERATIONS = 150
MODELS = ("bojar", "mfas", "winning-percentage", "testimonial")
TABLE_2 = {  # of 1,000
    "wmt12.Spanish-English": (250, 989, 988, 990),
    "wmt12.English-French": (21, 831, 825, 834),
    "wmt10.French-English": (0, 393, 358, 346),
}


@pytest.mark.parametrize("name", TABLE_2)
def test_success_rates(real_data: Callable[[str], Path], name: str) -> None:
    wins = ComparisonFiles((real_data("ranking") / name,)).read().counts()[0]
    found = success([read_model(model) for model in MODELS], likeness(wins), iterations=ITERATIONS, seed=1)
    for rate, of_1000 in zip(found, TABLE_2[name], strict=True):
        share = of_1000 / 1000
        error = sqrt(max(share * (1 - share), 0.003) * (1 / ITERATIONS + 1 / 1000))
        assert abs(rate - share) < 3 * error
