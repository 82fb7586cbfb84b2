"""Plain and compiled forms of loops: when each runs, and that they agree."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mert.lists import scan
from mert.lists.line_fields import WORD_SCORES
from mert.metrics.bleu import Bleu
from rypt import compiled
from rypt.compiled import Compiled, compile_always, compiled_if_large
from rypt.scoring.buffers import line_buffer, read_links

TOKENS = st.lists(st.sampled_from(["a", "b", "haus", "\u00e4\u3000x", "1"]), max_size=8).map(" ".join)


@pytest.fixture
def adder():
    @compiled_if_large
    def add(values):
        total = 0
        for i in range(len(values)):
            total += values[i]
        return total

    return add


def test_little_work_runs_as_it_is_and_much_is_compiled(adder):
    ones = np.ones(compiled.SMALL // 2, np.int64)
    assert adder(ones) == len(ones)
    assert adder(ones) == len(ones)
    assert "machine" not in vars(adder)
    assert adder(ones) == len(ones)
    assert "machine" in vars(adder)


def test_everything_is_compiled_where_it_is_wanted(adder):
    with compile_always():
        assert adder(np.ones(1, np.int64)) == 1
    assert "machine" in vars(adder)
    assert Compiled.small == compiled.SMALL


def test_without_a_place_for_machine_code_it_is_compiled_in_memory(monkeypatch):
    """A package installed read-only, a home folder that cannot be written."""
    njit = numba.njit

    def no_cache(*functions, **options):
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return njit(*functions, **options)

    monkeypatch.setattr(numba, "njit", no_cache)
    assert compiled.compiled(lambda a: a + 1)(1) == 2


def both(function, *arguments):
    """The results of both forms, with the arrays that they fill."""
    results = []
    for form in (function.plain, function.machine):
        copies = [np.array(a) if isinstance(a, np.ndarray) else a for a in arguments]
        results.append((form(*copies), [a.tolist() for a in copies if isinstance(a, np.ndarray)]))
    return results


@given(st.text("0123456789- \tx", max_size=30))
def test_links(text):
    buffer, lines = line_buffer(text.encode(), 1)
    plain, machine = both(read_links, buffer, 0, int(lines[1]) - 1, 2, (12, 100), np.zeros(40, np.uint64))
    assert plain == machine


@settings(deadline=None)
@given(st.lists(st.text("0123456789+-.eE", min_size=1, max_size=24), min_size=1, max_size=4))
def test_numbers_of_a_list(words):
    line = f"0 ||| a b ||| x= {' '.join(words)} ||| {words[0]}\n".encode()
    buffer = np.frombuffer(line, np.uint8)
    starts, fields = np.array([0, len(line)]), [np.zeros((1, 2), np.int64) for _ in range(4)]
    plain, machine = both(scan.find_fields, buffer, starts, *fields, WORD_SCORES)
    assert plain == machine
    scan.find_fields.plain(buffer, starts, *fields, WORD_SCORES)
    room = np.full((4, scan.LABEL_FACTS), -1, np.int64), np.full(16, -1, np.int32)
    plain, machine = both(scan.read_labels, buffer, fields[2], *room, 0, 1, 0)
    assert plain[1] == machine[1]
    assert tuple(map(int, plain[0])) == tuple(map(int, machine[0]))
    labels, _, slots, bad, _ = scan.find_labels(buffer, fields[2])
    if bad < 0:
        firsts = np.where(np.arange(len(labels)) == 1, 0, 90)
        arguments = (
            buffer,
            fields[2],
            fields[3],
            labels,
            slots,
            firsts,
            np.zeros((8, 1)),
            np.zeros(2, np.int64),
            np.zeros(8, np.int32),
            np.zeros(8),
            np.zeros((16, 4), np.int64),
            np.full((len(labels), 2), -1, np.int64),
        )
        plain, machine = both(scan.fill_features, *arguments)
        assert repr(plain[1]) == repr(machine[1])
        assert tuple(map(int, plain[0])) == tuple(map(int, machine[0]))


@settings(deadline=None)
@given(st.lists(TOKENS, min_size=1, max_size=4), st.lists(TOKENS, min_size=1, max_size=3))
def test_counts_of_n_grams(texts, references):
    metric = Bleu(_references(references))
    plain = metric._rows("0", texts)
    with compile_always():
        machine = metric._rows("0", texts)
    assert plain.tolist() == machine.tolist()


def _references(texts):
    class One:
        count = len(texts)

        def __getitem__(self, segment):
            return texts

    return One()


@pytest.mark.parametrize("quiet", [False, True])
def test_a_compile_wait_is_announced_unless_quiet(tmp_path, quiet):
    code = (
        "import logging, numpy as np; from rypt.console import set_quiet; from rypt.compiled import mix;"
        f"set_quiet({quiet}); print(mix(np.uint64(5)))"
    )
    environment = {"NUMBA_CACHE_DIR": str(tmp_path), "PATH": "", "PYTHONPATH": ":".join(sys.path)}
    for expected in (
        ["compiling, first run only"] if not quiet else [],
        [],
    ):  # the second time it is on the disk
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        )
        assert done.stderr.splitlines() == expected
        assert done.stdout.strip() == "1663341876702308498"


def test_little_work_does_not_load_numba():
    code = (
        "import sys; from rypt import SourceTree, percolate; "
        "percolate(SourceTree.from_brackets('(S (A a) (B b))'), ['YES', None, None]); assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_machine_code_is_looked_for_where_numba_keeps_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from numba.core.caching import _CacheLocator

    source = Path(compiled.__file__)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    assert compiled._cache_folder(source) == source.parent / "__pycache__"
    subfolder = _CacheLocator.get_suitable_cache_subpath(str(source))
    may_write = compiled._may_write
    monkeypatch.setattr(
        compiled, "_may_write", lambda folder: folder.name != "__pycache__" and may_write(folder)
    )
    monkeypatch.setattr(compiled.sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert compiled._cache_folder(source) == tmp_path / "numba" / subfolder
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert compiled._cache_folder(source) == tmp_path / subfolder
    assert compiled.is_on_disk(compiled.compiled(lambda a: a + 1)) is False
    monkeypatch.setattr(compiled, "_may_write", lambda folder: False)
    assert compiled.is_on_disk(compiled.compiled(lambda a: a + 1)) is None


def test_little_work_in_large_tables_is_not_compiled() -> None:
    def first(table: np.ndarray, places: np.ndarray) -> int:
        return int(table[places[0]])

    loop: Any = compiled.compiled_if_much(lambda table, places: len(places))(first)
    table = np.arange(compiled.SMALL + 1)
    for _ in range(3):
        assert loop(table, np.array([7])) == 7
    assert (loop.given, loop.if_large) == (3, True)
    loop.__dict__["machine"] = first  # without waiting for the compiler
    assert loop(np.arange(1), np.zeros(compiled.SMALL, np.int64)) == 0
    assert not loop.if_large
