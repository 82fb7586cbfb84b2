"""The models on the judgments of WMT13 French-English, against figures that other programs gave."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hits.ranking.data import Comparisons
from hits.ranking.evaluate import evaluate, split_by_rows, split_by_segment
from hits.ranking.model import read_model
from hits.ranking.models.bradley_terry import BradleyTerry
from hits.ranking.readers.files import ComparisonFiles

pytestmark = pytest.mark.real

CHOIX = {  # choix 0.4.1, Bradley-Terry without ties
    "uedin-heafield": 0.537,
    "uedin-wmt13": 0.405,
    "online-B": 0.346,
    "LIMSI": 0.278,
    "KIT": 0.233,
    "online-A": 0.154,
    "MES": 0.050,
    "DCU": -0.055,
    "RWTH": -0.231,
    "CMU": -0.276,
    "cu-zeman": -0.306,
    "JHU": -0.424,
    "Shef": -0.712,
}


@pytest.fixture(scope="module")
def french(real_data: Callable[[str], Path]) -> Comparisons:
    return ComparisonFiles((real_data("ranking") / "wmt13.French-English.train.csv.gz",)).read()


def test_bradley_terry_is_that_of_choix(french: Comparisons) -> None:
    found = BradleyTerry("ignore").fit(french, np.random.default_rng(0))
    expected = [next(v for key, v in CHOIX.items() if key in name) for name in french.systems]
    assert found.scores == pytest.approx(expected, abs=6e-4)


def test_the_test_set_of_hopkins_and_may(french: Comparisons) -> None:
    split = split_by_segment(french)
    assert split.how == "segments:2000|k:10|development:20"
    assert (len(split.train), len(split.development), len(split.test)) == (87140, 9200, 3620)


def test_four_hundred_comparisons(french: Comparisons) -> None:
    """All models come near each other: none is 0.02 more accurate than Expected Wins, and all beat the baseline."""
    split = split_by_rows(french, np.random.default_rng(0), workers="researcher_*")
    labels = [
        "adjusted-uniform",
        "expected-wins",
        "trueskill:order=select,runs=1",
        "hopkins-may",
        "irt-gaussian",
    ]
    models = {label: read_model(label) for label in labels}
    found = evaluate(split, models, np.random.default_rng(1), sizes=(400,), trials=20, threads=2)
    accuracy = {row.model: row.accuracy for row in found.rows}
    for label in labels[1:]:
        assert abs(accuracy[label] - accuracy["expected-wins"]) < 0.02
        assert accuracy[label] > accuracy["adjusted-uniform"] + 0.04
