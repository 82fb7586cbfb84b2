"""Tuning real n-best lists to BLEU."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU

from mert.lists import read_lists
from mert.problem import make_problem
from mert.search import optimize
from rypt.metrics.bleu import Bleu
from rypt.texts.lists import read_references

pytestmark = pytest.mark.real


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [("moses-sample", 8.25, 9.833), ("uren", 15.09, 16.554), ("fren", 21.92, 22.887)],
)
def test_final_bleu_is_at_least_that_of_moses(
    real_data: Callable[[str], Path], name: str, before: float, after: float
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


def test_old_labels_and_tight_bars_are_the_same_list(real_data: Callable[[str], Path]) -> None:
    folder = real_data("mert") / "moses-sample"
    new, old = (read_lists([folder / name]) for name in ("nbest.gz", "nbest.orig.gz"))
    assert old.names == new.names
    assert len(new.names) == 15
    assert (old.features == new.features).all()
    assert [old.candidates[i].text for i in range(0, 10_000, 97)] == [
        new.candidates[i].text for i in range(0, 10_000, 97)
    ]
