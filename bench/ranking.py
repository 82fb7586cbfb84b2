"""Ranking: ours beside the alternative, in one run, with ratios.

    python bench/ranking.py FOLDER [--repeats 5]

FOLDER holds ``wmt13.French-English.train.csv.gz`` and the files of counts. Times are CPU seconds of one thread, warm,
the least of several repeats; compiled code is on the disk already after the first run. The package ``trueskill`` is
timed over fewer games and said as games a second.
"""

import argparse
import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import choix
import numpy as np
import trueskill

from hits.ranking.confidence import Confidence, bootstrap, ranges_of
from hits.ranking.data import Comparisons, from_counts
from hits.ranking.model import read_model
from hits.ranking.models.bradley_terry import BradleyTerry
from hits.ranking.models.hopkins_may import HopkinsMay
from hits.ranking.models.trueskill import GIVEN, TrueSkill, make_games, play_runs
from hits.ranking.models.wins import WinRatio, expected_wins
from hits.ranking.readers.files import ComparisonFiles

GAMES = 25_000
TRAIN = "wmt13.French-English.train.csv.gz"
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
)  # of linear algebra
Timer = Callable[[Callable[[], Any]], float]


def timer(repeats: int) -> Timer:
    def least(work: Callable[[], Any]) -> float:
        work()
        times = []
        for _ in range(repeats):
            start = time.process_time()
            work()
            times.append(time.process_time() - start)
        return min(times)

    return least


def tell(what: str, ours: str, other: str, ratio: float, wanted: str) -> None:
    print(f"{what:58} {ours:>16} {other:>26} {ratio:>9,.1f}x  {wanted}")


def package_rate(data: Comparisons, games: int = 3000) -> float:
    """Games a second of the package's rate_1vs1, with the settings of the WMT program."""
    world = trueskill.TrueSkill(0.0, 0.5, 0.5 * GAMES / 40, 0.0, 0.25)
    ratings = [world.create_rating() for _ in data.systems]
    triples = list(
        zip(data.a[:games].tolist(), data.b[:games].tolist(), data.outcome[:games].tolist(), strict=True)
    )
    start = time.process_time()
    for a, b, outcome in triples:
        first, second = (a, b) if outcome >= 0 else (b, a)
        ratings[first], ratings[second] = trueskill.rate_1vs1(
            ratings[first], ratings[second], drawn=outcome == 0, env=world
        )
    return games / (time.process_time() - start)


def one_pass(data: Comparisons, least: Timer) -> None:
    model = TrueSkill(variant="program")
    games, skills = make_games(data, 2), model.skills(len(data))
    seeds, means, variances = np.ones(1, np.uint64), np.empty((1, 13)), np.empty((1, 13))
    spent = least(lambda: play_runs(games, len(data), skills, seeds, GIVEN, means, variances))
    rate, theirs = len(data) / spent, package_rate(data)
    tell(
        "TrueSkill, one pass over 25k comparisons",
        f"{rate:,.0f}/s",
        f"trueskill {theirs:,.0f}/s",
        rate / theirs,
        "wanted 1,000x or more",
    )


def many_passes(data: Comparisons, reading: float, least: Timer) -> None:
    model = TrueSkill()

    def work() -> None:
        ranges_of(model.sample_scores(data, np.random.default_rng(1), 100)).clusters()

    spent = least(lambda: model.fit(data, np.random.default_rng(1)))
    tell(
        "TrueSkill, 100 shuffled passes over 25k, the mean",
        f"{spent:.3f} s",
        f"reading {reading:.3f} s",
        spent / reading,
        "",
    )
    spent = least(work)
    tell(
        "TrueSkill, 100 passes over 25k drawn anew, and clusters",
        f"{spent:.3f} s",
        f"reading {reading:.3f} s",
        spent / reading,
        "wanted 2x or less",
    )


def numpy_bootstrap(data: Comparisons, samples: int) -> None:
    rng = np.random.default_rng(1)
    scores = []
    for _ in range(samples):
        wins, _ = data.take(rng.integers(0, len(data), len(data))).counts()
        scores.append(expected_wins(wins))
    ranges_of(np.array(scores))


def bootstraps(data: Comparisons, reading: float, least: Timer) -> None:
    spent = least(lambda: bootstrap(WinRatio(), data, np.random.default_rng(1), Confidence()).clusters())
    tell(
        "Expected Wins, 1,000 resamples of 80k comparisons",
        f"{spent:.3f} s",
        f"reading {reading:.3f} s",
        spent / reading,
        "wanted 2x or less",
    )
    start = time.process_time()
    numpy_bootstrap(data, 50)
    plain = 20 * (time.process_time() - start)
    tell("  the same", f"{spent:.3f} s", f"numpy loop {plain:.2f} s", plain / spent, "")
    rows = least(
        lambda: bootstrap(WinRatio(), data, np.random.default_rng(1), Confidence(unit="row")).clusters()
    )
    tell("  by rows", f"{rows:.3f} s", f"reading {reading:.3f} s", rows / reading, "")


def plain_sampler(data: Comparisons, iterations: int) -> None:
    """The sampler of Sakaguchi et al. (2014), section 2.2, as a plain loop."""
    deviation, radius, draw = 0.5, 0.5, random.Random(1).gauss
    means = [0.0] * len(data.systems)
    triples = list(zip(data.a.tolist(), data.b.tolist(), data.outcome.tolist(), strict=True))
    for _ in range(iterations):
        sums, counts = [0.0] * len(means), [0] * len(means)
        for a, b, outcome in triples:
            first, second = draw(means[a], deviation), draw(means[b], deviation)
            gap = first - second
            if outcome > 0:
                wanted = max(gap, radius)
            elif outcome < 0:
                wanted = min(gap, -radius)
            else:
                wanted = min(max(gap, -radius), radius)
            sums[a] += first + (wanted - gap) / 2
            sums[b] += second - (wanted - gap) / 2
            counts[a] += 1
            counts[b] += 1
        means = [total / max(count, 1) for total, count in zip(sums, counts, strict=True)]


def sampler(data: Comparisons, least: Timer) -> None:
    iterations = 40
    spent = (
        least(lambda: HopkinsMay(iterations=iterations, burn_in=10).fit(data, np.random.default_rng(1)))
        / iterations
    )
    start = time.process_time()
    plain_sampler(data, 3)
    plain = (time.process_time() - start) / 3
    tell(
        f"Hopkins–May, one iteration over {len(data):,} comparisons",
        f"{1000 * spent:.2f} ms",
        f"plain loop {1000 * plain:.0f} ms",
        plain / spent,
        "wanted 50x or more",
    )


def bradley_terry(least: Timer) -> None:
    """Scores, errors and outcomes, beside the scores of choix's iterative spectral ranking, which finds the same maximum."""
    for systems, times in ((13, 1000), (50, 200), (200, 40)):
        rng = np.random.default_rng(1)
        quality = rng.normal(0, 0.7, systems)
        chances = 1 / (1 + np.exp(quality[None, :] - quality[:, None]))
        upper = np.triu(rng.binomial(times, chances), 1)
        wins = upper + np.tril(times - upper.T, -1)
        floats = wins.astype(np.float64)
        data = from_counts([f"s{k:03}" for k in range(systems)], wins, np.zeros_like(wins))
        ours = least(lambda data=data: BradleyTerry("ignore").fit(data, np.random.default_rng(1)))
        theirs = least(lambda floats=floats: choix.ilsr_pairwise_dense(floats))
        tell(
            f"Bradley–Terry, dense counts of {systems} systems",
            f"{1000 * ours:.2f} ms",
            f"choix ilsr {1000 * theirs:.2f} ms",
            theirs / ours,
            "",
        )


def solver(folder: Path, least: Timer) -> None:
    model = read_model("mfas")
    for name in ("wmt10.German-English", "wmt10.French-English"):
        data = ComparisonFiles((folder / name,)).read()
        cost = model.fit(data, np.random.default_rng(1)).extra["cost"]
        spent = least(lambda data=data: model.fit(data, np.random.default_rng(1)))
        what = f"exact ranking, {name}, {len(data.systems)} systems, cost {cost}"
        print(f"{what:58} {spent:>14.3f} s {'':>37}  wanted seconds")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    if not ONE_THREAD.items() <= os.environ.items():  # threads that wait for work would be counted, too
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | ONE_THREAD)
    least = timer(given.repeats)
    data = ComparisonFiles((given.folder / TRAIN,)).read()
    reading = least(lambda: ComparisonFiles((given.folder / TRAIN,)).read())
    rng = np.random.default_rng(1)
    part = data.take(rng.choice(len(data), GAMES, replace=False)).shuffled(rng)
    decisive = data.take(np.flatnonzero(data.outcome != 0))
    print(f"{'':58} {'ours':>16} {'other':>26} {'ratio':>10}")
    one_pass(part, least)
    many_passes(part, reading, least)
    bootstraps(decisive, reading, least)
    sampler(part, least)
    bradley_terry(least)
    solver(given.folder, least)


if __name__ == "__main__":
    main()
