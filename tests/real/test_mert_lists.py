"""Tuning real n-best lists to BLEU."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU

from mert.lists import read_lists
from mert.problem import make_problem
from mert.search import SearchSettings, optimize, solve
from rypt.metrics.bleu import Bleu
from rypt.texts.lists import read_references

pytestmark = pytest.mark.real


@pytest.mark.parametrize(
    ("name", "before", "after", "pro", "mira"),
    [
        ("moses-sample", 8.25, 9.833, 8, 8),
        ("uren", 15.09, 16.554, 15.3, 16.1),
        ("fren", 21.92, 22.887, 22.4, 22.5),
    ],
)
def test_final_bleu_is_at_least_that_of_moses(
    real_data: Callable[[str], Path], name: str, before: float, after: float, pro: float, mira: float
) -> None:
    """Moses' own mert, 21 starts, reaches ``after``; sacrebleu agrees with the score we report."""
    folder = real_data("mert") / name
    lists = read_lists([folder / "nbest.gz"])
    metric = Bleu(read_references([folder / "ref"]), smooth_method="none")
    start = np.array([float(x) for x in (folder / "init.opt").read_text().splitlines()[0].split()])
    problem = make_problem(lists, metric, start)
    assert problem.score(start) == pytest.approx(before, abs=0.006)
    best = optimize(problem, start, restarts=20, seed=2, threads=2)[0]
    assert best.score >= after
    texts = [lists.candidates[int(i)].text for i in lists.best(best.weights)]
    references = [
        [document[int(segment)] for segment in lists.segments] for document in metric.references.documents
    ]
    theirs = BLEU(tokenize="none", smooth_method="none", force=True).corpus_score(texts, references)
    assert best.score == pytest.approx(theirs.score, abs=1e-9)
    assert solve(problem, start, SearchSettings("pro")).score > pro
    assert solve(problem, start, SearchSettings("mira")).score > mira
