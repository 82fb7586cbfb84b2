"""Public human judgments (MQM of TED talks): models of percolation with disjoint systems.

The figures are those of a replication by other code; splits are random, so a few tenths of a point may differ.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from rypt.analysis.heldout import DisjointSystems
from rypt.analysis.models import compare_models
from rypt.campaign.folder import Campaign

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def disjoint(ted: Path, bench: Callable[[str], ModuleType]) -> Iterator[DisjointSystems]:
    campaign = Campaign.open(ted)
    with campaign.database() as db:
        yield bench("ted").disjoint_systems(campaign, db)


def test_judgments_are_those_of_our_own_phrases(disjoint: DisjointSystems) -> None:
    """Every judgment of a system is found again through our trees, phrases and keys, and nothing else is."""
    assert sum(int(np.count_nonzero(labels >= 0)) for labels in disjoint.own.values()) == 218_050
    share = np.concatenate(list(disjoint.own.values()))
    assert (share == 1).sum() / (share >= 0).sum() == pytest.approx(0.823, abs=0.002)


def test_models(disjoint: DisjointSystems) -> None:
    """Both calibrated models beat the length prior, and are no worse than the replication's."""
    measured = compare_models(disjoint, splits=2, judging=7, seed=3, ties="no")
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
