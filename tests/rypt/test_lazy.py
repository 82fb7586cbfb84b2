import subprocess
import sys

import pytest

from rypt.lazy import Program, as_program, hidden

LOADING = """
import sys
from contextlib import nullcontext
from rypt.compiled import compiled
from rypt.lazy import as_program
with as_program() if sys.argv[1] == "program" else nullcontext():
    assert compiled(lambda a: a + 1)(1) == 2
print("scipy" in sys.modules, "coverage" in sys.modules)
import scipy.special  # can be imported afterwards
"""


@pytest.mark.parametrize(("kind", "loaded"), [("program", "False False"), ("library", "True True")])
def test_a_program_loads_numba_without_what_it_does_not_need(kind, loaded):
    pytest.importorskip("scipy")
    done = subprocess.run([sys.executable, "-c", LOADING, kind], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == loaded


def test_hidden_packages_come_back():
    assert "antigravity" not in sys.modules
    with hidden(["antigravity", "sys"]):
        assert sys.modules["sys"] is sys
        with pytest.raises(ImportError):
            import antigravity  # noqa: F401
    assert "antigravity" not in sys.modules


def test_a_program_runs_only_inside():
    assert not Program.running
    with as_program():
        assert Program.running
        with as_program():
            pass
        assert Program.running
    assert not Program.running
