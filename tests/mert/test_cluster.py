"""Tuning on a real Dask cluster of four workers on this machine: the weights of one process."""

import gzip
import json
import os
import signal

import pytest
import toy
from commands import run
from large_list import write_large_list
from local_cluster import kill_worker, running_cluster

import mert
from mert.cluster import open_cluster
from rypt.text import RyptError

pytestmark = pytest.mark.slow

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
            if what.startswith(after) and left:
                os.kill(left.pop(), signal.SIGKILL)

    return mert.TuningProgress(read=watch, climb=lambda results, total: watch(results, "climb")), victim


def tuned_on(cluster, lists, folder, **more):
    with open_cluster(cluster.scheduler_address) as workers:
        return mert.tune(lists, references=[folder / "ref"], cluster=workers, **more)


def same_tuning(one, other):
    """The same weights; those of estimates are sums of real numbers, which a division may round in another way."""
    assert one.weights == pytest.approx(other.weights, rel=1e-9, abs=1e-12)
    assert (one.score, one.ends, one.searches) == (other.score, other.ends, other.searches)
    assert (one.gain, one.notes, one.signature, one.sparse) == (
        other.gain,
        other.notes,
        other.signature,
        other.sparse,
    )


def divided_list(folder, segments=12):
    """A list in two files, with held sparse features, the segments of the second file backwards."""
    rows = [(segment, *row) for segment in range(segments) for row in toy.pool(segment)[1]]
    lines = [
        f"{segment} ||| {text} ||| LM0= {a} TM0= {b} {c} WordPenalty0= {d} s_{i % 7}= {i % 3} ||| 0\n"
        for i, (segment, text, (a, b, c, d)) in enumerate(rows)
    ]
    (folder / "one").write_text("\ufeff" + "".join(lines[::2]).replace("\n", "\r\n"), newline="")
    with gzip.open(folder / "two.gz", "wt") as stream:
        stream.write("".join(sorted(lines[1::2], key=lambda line: -int(line.split()[0])))[:-1])
    (folder / "ref").write_text("".join(toy.pool(segment)[0] + "\n" for segment in range(segments)))
    return [folder / "one", folder / "two.gz"]


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"search": mert.SearchSettings(aim="list", restarts=9)},
        {"constraints": mert.Constraints(only=("LM0", "TM0", "s_1"), bounds={"LM0": (0, 1)})},
        {"weights": {"LM0": 1, "TM0_0": 1, "TM0_1": 1, "WordPenalty0": 1, "s_1": 0.3, "s_2": -2}},
        {"metric": "column(TM0_1)"},
        {"metric": "0.5*chrf-0.5*ter"},
    ],
)
def test_the_weights_are_those_of_one_process(cluster, tmp_path, more, monkeypatch):
    """Two lists, one of them gzipped, with sparse features that are held; candidates that never won are left out."""
    monkeypatch.setattr("mert.search.SMALL_LIST", 100)
    lists = divided_list(tmp_path)
    more = {"search": mert.SearchSettings(restarts=3), **more}
    same_tuning(
        tuned_on(cluster, lists, tmp_path, **more), mert.tune(lists, references=[tmp_path / "ref"], **more)
    )


def test_features_that_begin_late_have_the_columns_of_the_whole(cluster, tmp_path):
    glued = [f"{i} ||| {'a b ' * (i % 3)} ||| a={i % 3}{f' b{i}=2 c={i}' if i > 3 else ''}" for i in range(9)]
    more = [f"{i} ||| a {i} ||| c={i} a=1" for i in range(9)]
    (tmp_path / "list").write_text("".join(f"{line} ||| 0\n" for line in (*glued, *more)))
    (tmp_path / "ref").write_text("a b a\n" * 9)
    search = mert.SearchSettings(aim="list", restarts=1)
    here = mert.tune([tmp_path / "list"], references=[tmp_path / "ref"], search=search)
    there = tuned_on(cluster, [tmp_path / "list"], tmp_path, search=search)
    assert list(there.weights) == list(here.weights)
    same_tuning(there, here)


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


@pytest.mark.parametrize(
    ("last", "place"),
    [
        ("1 ||| b ||| x= one", "list:4: "),
        ("1 ||| b", "list:4: "),
        ("01 ||| b ||| x= 1", r"list:[34]: segment"),
        ("9 ||| b ||| x= 1", "list:4: segment 9"),
        ("", "list:4: "),
        (b"1 ||| \xff ||| x= 1", "list:4: expected UTF-8"),
        ("1 ||| b ||| y= 1", "list:4: "),
    ],
)
def test_mistakes_that_workers_find_have_file_and_line(cluster, tmp_path, last, place):
    (tmp_path / "ref").write_text("a\nb\n")
    last = last if isinstance(last, bytes) else last.encode()
    (tmp_path / "list").write_bytes(b"0 ||| a ||| x= 1\n0 ||| b ||| x= 3\n1 ||| c ||| x= 1\n" + last + b"\n")
    with pytest.raises(RyptError, match=place) as error:
        tuned_on(cluster, [tmp_path / "list"], tmp_path)
    assert "\n" not in str(error.value)
    (tmp_path / "none").write_text("")
    with pytest.raises(RyptError, match="expected candidates, found an empty list"):
        tuned_on(cluster, [tmp_path / "none"], tmp_path)


def test_a_scheduler_that_is_not_there():
    expected = "--dask tcp://127.0.0.1:1: no scheduler answers"
    with pytest.raises(RyptError, match=expected), open_cluster("tcp://127.0.0.1:1", timeout=1):
        pass


def test_the_command_line_tunes_on_a_cluster(capsys, cluster, demo_campaign):
    nbest, reference = demo_campaign / "nbest.en", demo_campaign / "reference.en"
    weights = demo_campaign / "weights.init"
    common = ["tune", nbest, "--references", reference, "--restarts", 4, "--json", "--weights", weights]
    there = run(capsys, *common, "--dask", cluster.scheduler_address)
    here = run(capsys, *common)
    assert there[0] == 0, there[2]
    assert json.loads(there[1])["weights"] == pytest.approx(json.loads(here[1])["weights"], rel=1e-9)


def test_a_loop_around_a_decoder(cluster, tmp_path):
    runs = []
    for name in ("here", "there"):
        made = toy.write_set(tmp_path / name)
        with open_cluster(cluster.scheduler_address) as workers:
            result = mert.tune_decoder(
                toy.decode,
                weights=made / "weights",
                references=[made / "ref"],
                folder=made / "run",
                search=mert.SearchSettings(restarts=1, aim="list"),
                stopping=mert.Stopping(max_iterations=2),
                cluster=workers if name == "there" else None,
            )
        runs.append([(each.candidates, each.weights) for each in result.iterations])
    assert runs[0] == runs[1]
    assert len(runs[0]) == 2


@pytest.mark.parametrize("after", ["read", "climb"])
def test_a_worker_that_is_killed(cluster_to_harm, tmp_path, after):
    lists = divided_list(tmp_path)
    search = mert.SearchSettings(restarts=3)
    progress, victim = killed_on_the_way(cluster_to_harm, after=after)
    there = tuned_on(cluster_to_harm, lists, tmp_path, search=search, progress=progress)
    assert victim not in cluster_to_harm.workers()
    same_tuning(there, mert.tune(lists, references=[tmp_path / "ref"], search=search))


def test_a_task_whose_workers_are_killed_again_and_again_is_tried_once_more(cluster_to_harm, tmp_path):
    """Dask gives up after four lost workers; a task that is to blame itself ends with one line."""
    mark = tmp_path / "count"
    with open_cluster(cluster_to_harm.scheduler_address) as workers:
        futures = [workers.client.submit(kill_worker, str(mark), 5, pure=False)]
        assert workers.gather(futures) == [5]
        mark.unlink()
        with pytest.raises(RyptError, match="the cluster failed: KilledWorker"):
            workers.gather([workers.client.submit(kill_worker, str(mark), 100, pure=False)])


def test_a_list_that_no_worker_can_hold(cluster_to_harm, tmp_path):
    """Each worker has some 60 MB besides what it needs itself, and one is killed in the middle of the search."""
    path = write_large_list(tmp_path, megabytes=150)
    search = mert.SearchSettings(aim="list", restarts=3)
    before = cluster_to_harm.workers()
    progress, victim = killed_on_the_way(cluster_to_harm, after="climb")
    more = {"weights": tmp_path / "weights", "search": search}
    there = tuned_on(cluster_to_harm, [path], tmp_path, progress=progress, **more)
    assert before - cluster_to_harm.workers() == {victim}
    same_tuning(there, mert.tune([path], references=[tmp_path / "ref"], **more))
