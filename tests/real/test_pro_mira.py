"""PRO and MIRA on real n-best lists."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mert.lists import read_lists
from mert.problem import make_problem
from mert.search import SearchSettings, solve
from rypt.metrics.bleu import Bleu
from rypt.texts.lists import read_references

pytestmark = pytest.mark.real


@pytest.mark.parametrize(
    ("name", "before", "pro", "mira"), [("fren", 21.92, 22.4, 22.5), ("uren", 15.09, 15.3, 16.1)]
)
def test_bleu_rises(
    real_data: Callable[[str], Path], name: str, before: float, pro: float, mira: float
) -> None:
    folder = real_data("mert") / name
    start = np.array([float(x) for x in (folder / "init.opt").read_text().splitlines()[0].split()])
    problem = make_problem(read_lists([folder / "nbest.gz"]), Bleu(read_references([folder / "ref"])), start)
    assert problem.score(start) == pytest.approx(before, abs=0.006)
    assert solve(problem, start, SearchSettings("pro")).score > pro
    assert solve(problem, start, SearchSettings("mira")).score > mira
