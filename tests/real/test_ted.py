"""Public human judgments (MQM of TED talks): coverage, percolation and models with disjoint systems.

The figures are those of a replication by other code; splits are random, so a few tenths of a point may differ.
"""

import importlib.util
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rypt.analysis import DisjointSystems
from rypt.analysis_curve import percolation_curve
from rypt.analysis_models import compare_models
from rypt.database import JudgmentDatabase

pytestmark = pytest.mark.real
SPLITS = 6


Loaded = tuple[JudgmentDatabase, DisjointSystems]


def load(folder: Path, database: Path, label: str) -> Loaded:
    path = Path(__file__).resolve().parents[2] / "bench" / "ted.py"
    spec = importlib.util.spec_from_file_location("bench_ted", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.load(folder, database, label)


@pytest.fixture(scope="module")
def any_labels(real_data: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    return load(real_data("mqm-ted-ende"), tmp_path_factory.mktemp("ted") / "ted.db", "any")


def test_judgments_are_those_of_our_own_phrases(any_labels: Loaded) -> None:
    """Every judgment of a system is found again through our trees, phrases and keys, and nothing else is."""
    db, disjoint = any_labels
    assert db.count() == 218_050
    assert sum(int(np.count_nonzero(labels >= 0)) for labels in disjoint.own.values()) == 218_050
    share = np.concatenate(list(disjoint.own.values()))
    assert (share == 1).sum() / (share >= 0).sum() == pytest.approx(0.823, abs=0.002)


def test_percolation_curve(any_labels: Loaded) -> None:
    _, disjoint = any_labels
    curve = percolation_curve(disjoint, range(1, 8), splits=SPLITS, judging=7, seed=3, ties="no", models=False)
    before = [52.8, 45.9, 39.1, 34.4, 31.0, 27.9, 25.4]
    after = [62.6, 67.9, 70.1, 70.7, 70.0, 68.5, 67.0]
    accuracy = [56.1, 76.6, 82.0, 84.3, 85.6, 86.7, 87.3]
    assert [100 * point.before for point in curve] == pytest.approx(before, abs=0.5)
    assert [100 * point.after for point in curve] == pytest.approx(after, abs=1.0)
    assert [100 * point.percolated.percolation for point in curve] == pytest.approx(accuracy, abs=2.5)
    at_4 = curve[3]
    assert 100 * at_4.yes_right == pytest.approx(91, abs=1)
    assert 100 * at_4.no_right == pytest.approx(58, abs=4)
    assert 100 * at_4.percolated.always_yes == pytest.approx(81.2, abs=1.5)


def test_percolation_of_dense_labels(real_data: Callable[[str], Path], tmp_path: Path) -> None:
    """Labels that do not percolate by construction."""
    _, disjoint = load(real_data("mqm-ted-ende"), tmp_path / "ted.db", "dens")
    (one, four) = percolation_curve(disjoint, [1, 4], splits=SPLITS, judging=7, seed=3, ties="no", models=False)
    assert 100 * one.percolated.percolation == pytest.approx(30.7, abs=3)
    assert 100 * four.percolated.percolation == pytest.approx(78.5, abs=2)


def test_models(any_labels: Loaded) -> None:
    """Both calibrated models beat the length prior, and are no worse than the replication's."""
    _, disjoint = any_labels
    measured = compare_models(disjoint, splits=4, judging=7, seed=3, ties="no")
    prior, table = measured["length prior"], measured["calibrated table"]
    tree = measured["tree model + novelty, tempered"]
    assert table.accuracy == pytest.approx(0.832, abs=0.02)
    assert table.auc >= 0.734 - 0.005
    assert table.log_loss <= 0.408 + 0.005
    assert prior.log_loss == pytest.approx(0.441, abs=0.02)
    assert table.log_loss < prior.log_loss
    assert tree.log_loss < prior.log_loss
    assert min(tree.auc, table.auc) > prior.auc + 0.05
    assert tree.auc >= 0.753 - 0.005
