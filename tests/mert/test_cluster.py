"""Shares and restarts on a real Dask cluster of four workers on this machine."""

import json
import os
import signal

import numpy as np
import pytest
import toy
from commands import run
from large_list import write_large_list
from local_cluster import running_cluster
from test_reading import divided_list, same_tuning

import mert
from mert.cluster import cluster_workplace
from mert.lists.arrays import arrange
from mert.optimize import make_problem, optimize
from rypt.metrics.bleu import Bleu
from rypt.records import Candidate
from rypt.text import RyptError
from rypt.texts.references import References

pytest.importorskip("distributed", reason="Dask is not installed (pip install 'rypt[cluster]')")


@pytest.fixture(scope="module")
def cluster():
    """One cluster for the tests that leave its workers alone."""
    with running_cluster() as running:
        yield running


@pytest.fixture
def cluster_to_harm():
    """A cluster of which the test may kill a worker."""
    with running_cluster() as running:
        yield running


def killed_on_the_way(cluster, *, after):
    """Functions that show progress, of which one kills a worker after this step, once; and the worker's process."""
    victim = min(cluster.workers())
    left = [victim]

    def watch(items, what, total=None):
        for item in items:
            yield item
            if what == after and left:
                os.kill(left.pop(), signal.SIGKILL)

    return mert.TuningProgress(read=watch, climb=lambda results, total: watch(results, "climb")), victim


def tuned_on(cluster, lists, folder, **more):
    with cluster_workplace(cluster.scheduler_address) as workplace:
        return mert.tune(lists, references=[folder / "ref"], workplace=workplace, **more)


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
            rows.append(Candidate(str(segment), " ".join(text), None, features, None))
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
    assert sum(count > 0 for count in busy.values()) > 1


def test_a_scheduler_that_is_not_there():
    expected = "--dask tcp://127.0.0.1:1: no scheduler answers"
    with pytest.raises(RyptError, match=expected), cluster_workplace("tcp://127.0.0.1:1", timeout=1):
        pass


def test_the_command_line_tunes_on_a_cluster(capsys, cluster, demo_campaign):
    common = [
        "tune",
        demo_campaign / "nbest.en",
        "--references",
        demo_campaign / "reference.en",
        "--restarts",
        4,
        "--json",
        "--weights",
        demo_campaign / "weights.init",
    ]
    there = run(capsys, *common, "--dask", cluster.scheduler_address)
    here = run(capsys, *common)
    assert there[0] == 0, there[2]
    assert json.loads(there[1])["weights"] == json.loads(here[1])["weights"]


def test_the_workers_read_the_lists(cluster, tmp_path):
    """Two lists, one of them gzipped, with sparse features that are held."""
    lists = divided_list(tmp_path)
    search = mert.SearchSettings(restarts=3)
    here = mert.tune(lists, references=[tmp_path / "ref"], search=search)
    same_tuning(tuned_on(cluster, lists, tmp_path, search=search), here)


def test_lists_that_cannot_be_divided_are_read_here(cluster, tmp_path):
    divided_list(tmp_path)
    records = [
        {"id": str(segment), "candidate": f"{'x ' * k}{reference}", "features": {"LM0": k % 2 - 1, "WP": -k}}
        for segment, reference in enumerate((tmp_path / "ref").read_text().splitlines())
        for k in (2, 0, 1)
    ]
    path = tmp_path / "list.jsonl"
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    search = mert.SearchSettings(restarts=3)
    here = mert.tune([path], references=[tmp_path / "ref"], search=search)
    same_tuning(tuned_on(cluster, [path], tmp_path, search=search), here)


def test_a_mistake_that_a_worker_finds(cluster, tmp_path):
    (tmp_path / "ref").write_text("a\nb\n")
    (tmp_path / "list").write_text("0 ||| a ||| x= 1\n1 ||| b ||| x= one\n")
    with pytest.raises(RyptError, match="list:2: "):
        tuned_on(cluster, [tmp_path / "list"], tmp_path)


def test_a_loop_around_a_decoder(cluster, tmp_path):
    """The shares of an iteration are made anew in the next one."""
    runs = []
    for name in ("here", "there"):
        made = toy.write_set(tmp_path / name)
        with cluster_workplace(cluster.scheduler_address) as workplace:
            result = mert.tune_decoder(
                toy.decode,
                weights=made / "weights",
                references=[made / "ref"],
                folder=made / "run",
                search=mert.SearchSettings(restarts=1),
                stopping=mert.Stopping(max_iterations=2),
                workplace=workplace if name == "there" else None,
            )
        runs.append([(each.candidates, each.weights) for each in result.iterations])
    assert runs[0] == runs[1]
    assert len(runs[0]) == 2


@pytest.mark.parametrize("after", ["index", "shares", "climb"])
def test_a_worker_that_is_killed(cluster_to_harm, tmp_path, after):
    lists = divided_list(tmp_path)
    search = mert.SearchSettings(restarts=3)
    progress, victim = killed_on_the_way(cluster_to_harm, after=after)
    there = tuned_on(cluster_to_harm, lists, tmp_path, search=search, progress=progress)
    assert victim not in cluster_to_harm.workers()
    same_tuning(there, mert.tune(lists, references=[tmp_path / "ref"], search=search))


def test_a_list_larger_than_any_worker(cluster_to_harm, tmp_path):
    """No worker has the memory for the list, and one is killed in the middle of the search."""
    path = write_large_list(tmp_path, megabytes=290)
    search = mert.SearchSettings(aim="list", restarts=3)
    before = cluster_to_harm.workers()
    progress, victim = killed_on_the_way(cluster_to_harm, after="climb")
    more = {"weights": tmp_path / "weights", "search": search}
    there = tuned_on(cluster_to_harm, [path], tmp_path, progress=progress, **more)
    assert before - cluster_to_harm.workers() == {victim}
    same_tuning(there, mert.tune([path], references=[tmp_path / "ref"], memory=600 << 20, **more))
