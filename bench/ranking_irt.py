"""How far the scores of two seeds differ by the IRT models with their default numbers of iterations.

    python bench/ranking_irt.py FOLDER [--seeds 10]

FOLDER holds ``wmt13.French-English.train.csv.gz``, of which 300, 3,000 and 20,000 comparisons are drawn, twice each.
The spread of a system's score over seeds is divided by the posterior's standard deviation, and should be below 0.1; the
table has the mean over systems and the worst system, with the CPU seconds of one fit.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from hits.ranking.model import RankingModel, read_model
from hits.ranking.readers.files import read_comparisons, sampled

TRAIN = "wmt13.French-English.train.csv.gz"
MODELS = ("irt-gaussian", "irt-categorical")


def spread(model: RankingModel, data: object, seeds: int) -> tuple[float, float, float]:
    """Mean and largest ratio of the spread over seeds to the posterior's deviation, and the seconds of a fit."""
    model.fit(data, np.random.default_rng(0))  # compiled now
    start = time.process_time()
    fits = [model.fit(data, np.random.default_rng(seed)) for seed in range(1, seeds + 1)]
    spent = (time.process_time() - start) / seeds
    scores, variances = (np.array([getattr(fit, name) for fit in fits]) for name in ("scores", "variances"))
    ratio = scores.std(axis=0, ddof=1) / np.sqrt(variances.mean(axis=0))
    return float(ratio.mean()), float(ratio.max()), spent


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=10)
    given = parser.parse_args()
    everything = read_comparisons([given.folder / TRAIN])
    print("model | comparisons | draw | spread / posterior deviation | worst system | CPU seconds")
    for size in (300, 3000, 20_000):
        for draw in (1, 2):
            data = sampled(everything, size, np.random.default_rng(draw))
            for name in MODELS:
                mean, worst, spent = spread(read_model(name), data, given.seeds)
                print(f"{name} | {size:,} | {draw} | {mean:.3f} | {worst:.3f} | {spent:.2f}", flush=True)


if __name__ == "__main__":
    main()
