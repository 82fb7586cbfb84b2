"""Restarts on a real Dask cluster of two workers on this machine."""

import json

import numpy as np
import pytest
from commands import run

from mert.cluster import cluster_workplace
from mert.lists.arrays import arrange
from mert.metrics.bleu import Bleu
from mert.optimize import make_problem, optimize
from rypt.metrics.references import References
from rypt.records import RawCandidate
from rypt.text import RyptError

distributed = pytest.importorskip("distributed", reason="Dask is not installed (pip install 'rypt[cluster]')")


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as local:
        yield local


def made_problem():
    rng = np.random.default_rng(3)
    words = ["a", "b", "c", "d", "e", "f", "g"]
    rows, references = [], []
    for segment in range(15):
        reference = rng.choice(words, 8)
        references.append(" ".join(reference))
        for _ in range(12):
            text = [word if rng.random() < 0.7 else rng.choice(words) for word in reference]
            good = sum(x == y for x, y in zip(text, reference, strict=True))
            features = {"x": good + float(rng.normal()), "y": float(rng.normal()), "z": float(rng.normal())}
            rows.append(RawCandidate(str(segment), " ".join(text), None, features, None))
    return make_problem(arrange(rows), Bleu(References([references])), np.ones(3))


def test_the_answer_is_the_same_as_here(cluster):
    problem = made_problem()
    here = optimize(problem, np.ones(3), restarts=5, seed=2)
    with cluster_workplace(cluster.scheduler_address) as workplace:
        executor = workplace.executor
        there = optimize(problem, np.ones(3), restarts=5, seed=2, executor=executor)
        busy = executor.client.run(lambda dask_worker: dask_worker.state.executed_count)
    assert [tuned.score for tuned in there] == [tuned.score for tuned in here]
    assert all((a.weights == b.weights).all() for a, b in zip(here, there, strict=True))
    assert len(busy) == 2
    assert all(count > 0 for count in busy.values())


def test_a_scheduler_that_is_not_there():
    expected = "--dask tcp://127.0.0.1:1: no scheduler answers"
    with pytest.raises(RyptError, match=expected), cluster_workplace("tcp://127.0.0.1:1", timeout=1):
        pass


def test_the_command_line_tunes_on_a_cluster(capsys, cluster, demo_campaign):
    common = [
        "tune", demo_campaign / "nbest.en", "--references", demo_campaign / "reference.en", "--restarts", 4, "--json",
        "--weights", demo_campaign / "weights.init",
    ]  # fmt: skip
    there = run(capsys, *common, "--dask", cluster.scheduler_address)
    here = run(capsys, *common)
    assert there[0] == 0, there[2]
    assert json.loads(there[1])["weights"] == json.loads(here[1])["weights"]
