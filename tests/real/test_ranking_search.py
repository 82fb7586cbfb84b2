"""The search models on the pairwise files of WMT10 and WMT12, against Lopez' solver and Cumings' Table 1."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hits.ranking.data import Counts
from hits.ranking.model import read_model
from hits.ranking.models.search import (
    HEURISTICS,
    costs_mfas,
    costs_testimonial,
    costs_winning_percentage,
    explore,
    find_optimum,
)
from hits.ranking.readers.files import ComparisonFiles

pytestmark = pytest.mark.real

LOPEZ = {  # systems, cost of alopez/wmt-ranking mfas_solver.py, cheapest rankings by a table of all states
    "wmt10.Czech-English": (12, 2, 1),
    "wmt10.English-Czech": (17, 43, 1),
    "wmt10.English-French": (19, 18, 5),
    "wmt10.English-German": (18, 31, 2),
    "wmt10.English-Spanish": (16, 6, 1),
    "wmt10.French-English": (24, 61, 8),
    "wmt10.German-English": (25, 55, 2),
    "wmt10.Spanish-English": (14, 10, 1),
    "wmt12.English-Czech": (13, 1, 1),
    "wmt12.English-French": (15, 2, 1),
    "wmt12.English-German": (15, 28, 1),
    "wmt12.English-Spanish": (11, 0, 1),
    "wmt12.French-English": (15, 27, 2),
    "wmt12.German-English": (16, 22, 1),
    "wmt12.Spanish-English": (12, 1, 1),
}
TABLE_1 = {"wmt10.English-German": (84609, 35297, 89), "wmt10.Czech-English": (839, 544, 13)}


def counts(folder: Path, name: str, *exclude: str) -> tuple[tuple[str, ...], Counts]:
    found = ComparisonFiles((folder / name,), exclude=exclude).read()
    return found.systems, found.counts()[0]


@pytest.mark.parametrize("name", LOPEZ)
def test_cost_and_number_of_the_cheapest_rankings(real_data: Callable[[str], Path], name: str) -> None:
    systems, wins = counts(real_data("ranking"), name, *(["_ref"] if name.startswith("wmt10") else []))
    found = find_optimum(costs_mfas(wins))
    listed = list(found.rankings())
    (cost,) = {costs_mfas(wins).total(ranking) for ranking in listed}
    assert (len(systems), cost, found.count) == LOPEZ[name]
    assert len(set(listed)) == found.count
    testimonial = find_optimum(costs_testimonial(wins))
    assert list(testimonial.rankings()) == listed  # the two costs have the same cheapest rankings


@pytest.mark.parametrize("name", TABLE_1)
def test_cumings_table_1(real_data: Callable[[str], Path], name: str) -> None:
    costs = costs_winning_percentage(counts(real_data("ranking"), name)[1])
    explored = [explore(costs, heuristic) for heuristic in HEURISTICS]
    assert tuple(found.nodes for found in explored if found) == TABLE_1[name]


def test_the_ambiguity_that_cumings_warns_of(real_data: Callable[[str], Path]) -> None:
    folder = real_data("ranking")
    given = ComparisonFiles((folder / "wmt10.French-English",), exclude=("_ref",)).read()
    extra = read_model("mfas", {"list": "3"}).fit(given, np.random.default_rng(0)).extra
    assert extra["optimal_rankings"] == 8
    assert extra["message"] == "3 of the optimal rankings listed, all: 8"
    assert extra["optimal_places"]["onlineB"] == [1, 1]
    low, high = extra["optimal_places"]["bbn-combo"]
    assert low <= 12
    assert high >= 17  # 12th and 17th in his Table 4
