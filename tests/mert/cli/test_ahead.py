import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from mert.cli import ahead
from rypt.demo.texts import open_demo

SEARCH = {
    "envelopes",
    "_changed_stats",
    "_running_sums",
    "choose",
    "combine",
    "winners",
    "segment_products",
    "bleu_scores",
}


@pytest.fixture
def children(monkeypatch):
    """What is done with child processes; none is started."""
    calls = []

    def start(command, **options):
        calls.append(command[-1])
        return SimpleNamespace(terminate=lambda: calls.append("terminate"), wait=lambda: calls.append("wait"))

    monkeypatch.setattr(ahead.subprocess, "Popen", start)
    monkeypatch.setattr(ahead, "_cores", lambda: 2)
    monkeypatch.setattr(ahead, "_missing", lambda: True)
    return calls


def write(path, size):
    with path.open("wb") as file:
        file.truncate(size)
    return str(path)


def test_a_child_is_started_for_large_lists_and_ended(tmp_path, children):
    large = write(tmp_path / "nbest", ahead.LARGE)
    with ahead.compiling_ahead([large]):
        assert children == [ahead.CHILD]
    assert children == [ahead.CHILD, "terminate", "wait"]


def test_it_is_ended_after_an_error_too(tmp_path, children):
    with (
        pytest.raises(ValueError, match="bad"),
        ahead.compiling_ahead([write(tmp_path / "nbest", ahead.LARGE)]),
    ):
        raise ValueError("bad")
    assert children[1:] == ["terminate", "wait"]


def test_packed_lists_and_campaigns_are_larger_than_their_files(tmp_path, children):
    write(tmp_path / "nbest.gz", ahead.LARGE // 4)
    for lists in ([str(tmp_path / "nbest.gz")], [str(tmp_path)]):
        with ahead.compiling_ahead(lists):
            pass
    assert children.count(ahead.CHILD) == 2


@pytest.mark.parametrize("why", ["small", "absent", "compiled", "one core", "no lists"])
def test_otherwise_none_is_started(tmp_path, children, monkeypatch, why):
    lists = [write(tmp_path / "nbest", 1000 if why == "small" else ahead.LARGE)]
    if why == "compiled":
        monkeypatch.setattr(ahead, "_missing", lambda: False)
    elif why == "one core":
        monkeypatch.setattr(ahead, "_cores", lambda: 1)
    elif why == "absent":
        lists = [str(tmp_path / "none")]
    with ahead.compiling_ahead([] if why == "no lists" else lists):
        pass
    assert children == []


def test_what_the_child_compiles_is_what_a_search_needs(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    subprocess.run([sys.executable, "-c", ahead.CHILD], env=environment, check=True, timeout=300)
    files = {path.name.split("-")[0].split(".")[-1] for path in (tmp_path / "cache").rglob("*.nbi")}
    assert files >= SEARCH
    open_demo(tmp_path / "small")
    command = ["tune", "small", "--metric", "bleu", "--weights", "small/weights.init", "--restarts", "1"]
    done = subprocess.run(
        [sys.executable, "-c", "from rypt.cli import main; main()", *command],
        env=environment,
        check=True,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert "compiling" not in done.stderr
