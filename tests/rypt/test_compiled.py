"""When loops are compiled, and that this is said."""

import os
import subprocess
import sys

import numba
import numpy as np
import pytest

from rypt import compiled
from rypt.compiled import plain_if_small

SAYING = """
import logging, sys, numpy as np
from rypt.compiled import plain_if_small
from rypt.console import set_quiet
from rypt.scoring.percolation import percolate_states
logging.basicConfig(format="%(message)s")
set_quiet("-q" in sys.argv)
for size in (1, 2_000_000):
    none = np.zeros(0, np.int64)
    percolate_states(np.zeros(size, np.int64), none, none, np.zeros(1, np.int64), none, none)
    print("numba" in sys.modules)
"""


def test_a_loop_is_plain_until_it_was_given_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "SMALL", 10)
    machine = []
    monkeypatch.setattr(compiled, "compiled", lambda function: machine.append(1) or numba.njit(function))

    @plain_if_small
    def total(values: np.ndarray) -> int:
        result = 0
        for value in values:
            result += value
        return result

    assert [total(np.arange(4)) for _ in range(5)] == [6] * 5
    assert machine == [1]


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["-q"]])
def test_compiling_is_said_once_and_small_input_waits_for_nothing(options, tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    run = [sys.executable, "-c", SAYING, *options]
    for message in ("" if options else "compiling, first run only\n", ""):  # then the code is on disk
        done = subprocess.run(run, check=True, capture_output=True, text=True, env=environment)
        assert (done.stdout, done.stderr) == ("False\nTrue\n", message)
