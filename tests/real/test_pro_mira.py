"""Tuning real n-best lists to BLEU by pairwise ranking and by batch MIRA; BLEU is counted here, in plain Python."""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from mert.mira import mira
from mert.pro import pro
from rypt.nbest import read_raw

pytestmark = pytest.mark.real


def ngrams(words):
    return Counter(tuple(words[i : i + n]) for n in range(1, 5) for i in range(len(words) - n + 1))


def row(text, references, allowed):
    """Lengths of candidate and closest reference, four matches, four totals."""
    words = text.split()
    matches = [0] * 4
    for gram, count in ngrams(words).items():
        matches[len(gram) - 1] += min(count, allowed[gram])
    closest = min(references, key=lambda reference: (abs(len(reference) - len(words)), len(reference)))
    return [len(words), len(closest), *matches, *(max(0, len(words) - n) for n in range(4))]


def read(folder):
    """The offsets, features and statistics of a list, and the weights that made it."""
    documents = [path.read_text(encoding="utf-8").splitlines() for path in sorted(folder.glob("ref.*"))]
    sizes, features, stats, segment = [], [], [], None
    for _, raw in read_raw(folder / "nbest.gz"):
        if raw.segment != segment:
            segment = raw.segment
            references = [document[int(segment)].split() for document in documents]
            allowed = Counter()
            for reference in references:
                allowed |= ngrams(reference)
            sizes.append(0)
        sizes[-1] += 1
        features.append(list(raw.features.values()))
        stats.append(row(raw.text, references, allowed))
    start = np.array([float(x) for x in (folder / "init.opt").read_text().splitlines()[0].split()])
    return np.append(0, np.cumsum(sizes)), np.asfortranarray(features), np.array(stats), start


def bleu(sums, more=0):
    """BLEU from 0 to 100; ``more`` is added to matches and totals of all orders but the first (BLEU+1)."""
    added = np.array([0, more, more, more])
    precisions = (sums[:, 2:6] + added) / np.maximum(sums[:, 6:10] + added, 1)
    penalty = np.minimum(0, 1 - sums[:, 1] / np.maximum(sums[:, 0], 1))
    return 100 * np.exp(penalty) * precisions.prod(axis=1) ** 0.25


@pytest.mark.parametrize(
    ("name", "before", "ranked", "margined"), [("fren", 21.92, 22.4, 22.5), ("uren", 15.09, 15.3, 16.1)]
)
def test_bleu_rises(real_data: Callable[[str], Path], name: str, before: float, ranked: float, margined: float) -> None:
    """MERT reaches 22.9 and 16.6 on these lists, the score it looks at; the others should come near."""
    offsets, features, stats, start = read(real_data("mert") / name)

    def reached(weights):
        model = features @ weights
        best = [a + int(model[a:b].argmax()) for a, b in pairwise(offsets)]
        return bleu(stats[best].sum(axis=0, keepdims=True))[0]

    assert reached(start) == pytest.approx(before, abs=0.006)
    free = np.ones(len(start), bool)
    lists = offsets, features, stats, bleu, start, free
    by_pairs = pro(*lists, np.random.default_rng(1), scale=100.0, sentence_score=lambda rows: bleu(rows, more=1))
    assert reached(by_pairs) > ranked
    by_margins = mira(*lists, np.random.default_rng(1), scale=100.0, passes=20)
    assert reached(by_margins) > margined
