"""Tuning real n-best lists to BLEU."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU

from mert.metrics.bleu import Bleu
from mert.lists import read_lists
from mert.metric import read_references
from mert.optimize import make_problem, optimize

pytestmark = pytest.mark.real


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [("moses-sample", 8.25, 9.833), ("uren", 15.09, 16.554)],
)
def test_final_bleu_is_at_least_that_of_moses(
    real_data: Callable[[str], Path], name: str, before: float, after: float
) -> None:
    """Moses' own mert, 21 starts, reaches ``after``; sacrebleu agrees with the score we report."""
    folder = real_data("mert") / name
    lists = read_lists([folder / "nbest.gz"])
    metric = Bleu(read_references(sorted(folder.glob("ref.*"))), smooth_method="none")
    problem = make_problem(lists, metric)
    start = np.array([float(x) for x in (folder / "init.opt").read_text().splitlines()[0].split()])
    assert problem.score(start) == pytest.approx(before, abs=0.006)
    best = optimize(problem, start, restarts=10, seed=2, threads=2)[0]
    assert best.score >= after
    texts = [lists.candidates[i].text for i in lists.best(best.weights)]
    references = [[document[int(segment)] for segment in lists.segments] for document in metric.references]
    theirs = BLEU(tokenize="none", smooth_method="none", force=True).corpus_score(texts, references)
    assert best.score == pytest.approx(theirs.score, abs=1e-9)
