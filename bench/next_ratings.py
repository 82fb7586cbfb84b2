"""How many ratings `rypt rank next` saves on MQM data, where all ratings are known.

    python bench/next_ratings.py --chance 0.05 --chance 0.1 mqm_newstest2020_ende.tsv.gz   # to choose a threshold
    python bench/next_ratings.py --sure 0.8 --sure 0.9 mqm_newstest2020_ende.tsv.gz        # the other one
    python bench/next_ratings.py mqm_newstest2021_enru.tsv.gz …                            # to report

``--chance`` is the smallest chance of a boundary that is worth a rating, ``--sure`` the chance that a difference stays,
above which its pair needs no more ratings; they are chosen on other files than they are reported on. Files of several
language pairs are taken pair by pair, and only segments that all systems have.

Every candidate of a file is rated in the end, and Wilcoxon's tests then put the systems into clusters. The boundaries
between these clusters are to be found with fewer ratings: by rating segment after segment, drawn at random, for all
systems (uniform), or by asking `hits.ranking.scores.next` for the next 2 % again and again, until it sees no boundary
worth rating for (chosen). The table has the ratings that each way needs until all boundaries are there for good, as a
share of all ratings; the ratings, the share of boundaries and the number of false ones when it ended; and the share of
pairs of systems that are told apart as with all ratings then.
"""

import argparse
from collections.abc import Iterator
from itertools import product

import numpy as np

from hits.ranking.rank import ComparisonFiles
from hits.ranking.scores.mean import clusters_by_tests
from hits.ranking.scores.next import CHANCE, FIRST, SURE, RatingPlan
from hits.ranking.scores.paired import wilcoxon_tests

LEVEL = 0.05
STEP = 0.02


def boundaries(table: np.ndarray, tests: np.ndarray) -> set[frozenset[int]]:
    """The systems above each boundary between clusters."""
    means = np.nanmean(table, axis=1)
    clusters = clusters_by_tests(means, tests, LEVEL)
    return {frozenset(np.flatnonzero(clusters <= k).tolist()) for k in range(1, clusters.max())}


def directed(table: np.ndarray, tests: np.ndarray) -> np.ndarray:
    """(systems, systems): whether the first is better, significantly."""
    means = np.nanmean(table, axis=1)
    return (tests < LEVEL) & (means[:, None] > means[None, :])


def uniform(full: np.ndarray, order: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Tables with more and more segments of all systems."""
    segments = full.shape[1]
    for count in range(FIRST, segments + 1, max(1, round(STEP * segments))):
        table = np.full(full.shape, np.nan)
        table[:, order[:count]] = full[:, order[:count]]
        yield count * len(full), table


def chosen(
    full: np.ndarray, order: np.ndarray, chance: float, sure: float
) -> Iterator[tuple[int, np.ndarray]]:
    """Tables with the ratings that are asked for."""
    table = np.full(full.shape, np.nan)
    table[:, order[:FIRST]] = full[:, order[:FIRST]]
    plan = RatingPlan(table, order, LEVEL, chance, sure)
    batch = max(1, round(STEP * full.size))
    while True:
        yield int((~np.isnan(table)).sum()), table
        asked = 0
        while asked < batch and (choice := plan.choose()) is not None:
            segment, who = choice
            table[who, segment] = full[who, segment]
            asked += len(who)
        if not asked:
            return
        plan.test()


def simulate(
    steps: Iterator[tuple[int, np.ndarray]], full: np.ndarray
) -> tuple[float, float, float, int, float]:
    """Share of ratings until all boundaries are found for good; and at the end: ratings, boundaries, false, pairs."""
    tests = wilcoxon_tests(full)
    truth, pairs = boundaries(full, tests), directed(full, tests)
    since = None
    for count, table in steps:
        tests = wilcoxon_tests(table)
        seen = boundaries(table, tests)
        if not truth <= seen:
            since = None
        elif since is None:
            since = count
    apart = (directed(table, tests) & pairs).sum() / pairs.sum()
    reached = float("nan") if since is None else since / full.size
    return reached, count / full.size, len(truth & seen) / max(1, len(truth)), len(seen - truth), apart


def report(name: str, full: np.ndarray, way: str, thresholds: tuple[float, float] | None, seeds: int) -> None:
    """A line of the table: the means over random orders of the segments."""
    orders = [np.random.default_rng(seed).permutation(full.shape[1]) for seed in range(seeds)]
    steps = [
        uniform(full, order) if thresholds is None else chosen(full, order, *thresholds) for order in orders
    ]
    results = np.array([simulate(step, full) for step in steps])
    clusters = len(boundaries(full, wilcoxon_tests(full))) + 1
    missed = int(np.isnan(results[:, 0]).sum())
    after = np.nanmean(results[:, 0]) if missed < len(results) else float("nan")
    _, ratings, share, false, apart = results.mean(axis=0)
    print(
        f"{name} | {full.shape[0]} x {full.shape[1]} | {clusters} | {way} | {after:.0%} | {missed} of {seeds} | "
        f"{ratings:.0%} | {share:.0%} | {false:.1f} | {apart:.0%}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--chance", type=float, action="append", help=f"repeatable [{CHANCE}]")
    parser.add_argument("--sure", type=float, action="append", help=f"repeatable [{SURE}]")
    arguments = parser.parse_args()
    print(
        "data | systems x segments | clusters | way | all boundaries after | not found | end: ratings | boundaries | "
        "false | pairs"
    )
    for file in arguments.files:
        for part in ComparisonFiles((file,)).parts():
            full = part.data.table()
            full = full[:, ~np.isnan(full).any(axis=0)]
            name = f"{file.rsplit('/', 1)[-1]} {part.languages}"
            report(name, full, "uniform", None, arguments.seeds)
            for chance, sure in product(arguments.chance or [CHANCE], arguments.sure or [SURE]):
                report(name, full, f"chosen, {chance:g}, {sure:g}", (chance, sure), arguments.seeds)


if __name__ == "__main__":
    main()
