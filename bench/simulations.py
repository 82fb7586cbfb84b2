"""The simulations of the papers: how good rankings are where the truth is known (docs/ranking.md).

python bench/simulations.py koehn                        Koehn's tables: ranges and clusters by judgments
python bench/simulations.py errors bojar mfas            the ranking error of models in Koehn's simulation
python bench/simulations.py success FILE bojar mfas      how often models find the true ranking (Cumings)
python bench/simulations.py curve FILE                   pairs that differ significantly, by comparisons
"""

import argparse
from collections.abc import Sequence

import numpy as np
from tabulate import tabulate

from hits.ranking.model import read_model
from hits.ranking.readers.files import ComparisonFiles
from hits.ranking.simulation import (
    METHODS,
    SimulatedWorld,
    likeness,
    ranking_errors,
    significance_curve,
    simulate,
    success,
)

JUDGMENTS = (10_000, 20_000, 30_000, 40_000, 50_000)
Rows = list[list[object]]


def koehn(world: SimulatedWorld, experiments: int, seed: int) -> Rows:
    runs = [
        simulate(world, judgments, experiments=experiments, method=method, seed=seed)
        for judgments in JUDGMENTS
        for method in METHODS
    ]
    return [
        ["judgments", "ranges by", "significant", "error", "range", "outside", "clusters", "outside"],
        *(
            [
                run.judgments,
                run.method,
                f"{run.significant:.1%}",
                f"{run.error:.2%}",
                f"{run.range_size:.2f}",
                f"{run.range_violations:.2%}",
                f"{run.clusters:.2f}",
                f"{run.cluster_violations:.2%}",
            ]
            for run in runs
        ),
    ]


def errors(world: SimulatedWorld, models: Sequence[str], experiments: int, seed: int) -> Rows:
    fitted = [read_model(model) for model in models]
    rows: Rows = [["judgments", *models]]
    for judgments in JUDGMENTS:
        table = ranking_errors(world, fitted, judgments, experiments=experiments, seed=seed)
        rows.append([judgments, *(f"{error:.2%}" for error in np.asarray(table).mean(axis=0))])
    return rows


def find_truth(path: str, models: Sequence[str], experiments: int, seed: int) -> Rows:
    like = likeness(ComparisonFiles((path,)).read().counts()[0])
    fitted = [read_model(model) for model in models]
    rates = success(fitted, like, iterations=experiments, seed=seed)
    return [
        ["model", "true ranking"],
        *([model, f"{rate:.1%}"] for model, rate in zip(models, rates, strict=True)),
    ]


def curve(path: str, world: SimulatedWorld) -> Rows:
    files = ComparisonFiles((path,))
    points = significance_curve(files.read(), files.rng(), sides=world.sides, variance=world.variance)
    return [
        ["comparisons", "significant", "±", "simulated"],
        *([p.comparisons, f"{p.share:.1%}", f"{p.spread:.1%}", f"{p.simulated or 0:.1%}"] for p in points),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("koehn", "errors", "success", "curve"))
    parser.add_argument("names", nargs="*", help="a file, models")
    parser.add_argument("--systems", type=int, default=15)
    parser.add_argument("--variance", type=float, default=10.0)
    parser.add_argument("--experiments", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    world, runs = SimulatedWorld(options.systems, options.variance), options.experiments
    if options.what in ("success", "curve") and not options.names:
        parser.error(f"{options.what} needs a file")
    if options.what == "koehn":
        rows = koehn(world, runs, options.seed)
    elif options.what == "errors":
        rows = errors(world, options.names or ["expected-wins", "bojar", "mfas"], runs, options.seed)
    elif options.what == "success":
        rows = find_truth(options.names[0], options.names[1:] or ["bojar", "mfas"], runs, options.seed)
    else:
        rows = curve(options.names[0], world)
    print(tabulate(rows[1:], rows[0], disable_numparse=True, stralign="right"))


if __name__ == "__main__":
    main()
