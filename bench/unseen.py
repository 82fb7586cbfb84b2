"""What tuned weights are worth on segments that were not tuned on: halves of lists, tuned on one, scored on the other.

    python bench/unseen.py FOLDER …  [--seeds 3] [--splits 1] [--split-seed 7]
                           [--methods unseen,list,pro]

A FOLDER holds ``nbest`` or ``nbest.gz``, ``ref.0`` … and ``init.opt`` (first line: the weights to start with). The
first split is into even and odd segments, the others are random; with --split-seed all are random, for a report on
others than those that something was chosen on. Each is used both ways. All end points are scored by the same scorer,
ties going to the first candidate. ``moses`` are the figures of Moses' mert with 20 restarts, mean of three seeds, once
measured on the even and odd halves of lists of these names.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from tuning import paths, warm_up

from mert.learners import learn
from mert.lists import read_lists
from mert.problem import InMemory, Problem, make_problem, offsets_of, problem_of
from mert.search import SearchSettings, optimize
from mert.unseen import unseen_weights
from rypt.arrays import Floats
from rypt.metrics.bleu import Bleu
from rypt.texts.references import read_references

MOSES = {"uren": (16.98, 15.21), "fren": (23.16, 21.98), "bnen": (12.77, 11.67)}
Method = Callable[[Problem, Floats, int], Floats]


def of_segments(problem: Problem, chosen: Floats, start: Floats) -> Problem:
    """The same with some of the segments only."""
    whole = problem.parts.value
    spans = [np.arange(whole.offsets[i], whole.offsets[i + 1]) for i in chosen]
    rows = np.concatenate(spans)
    part = whole._replace(
        offsets=offsets_of([len(span) for span in spans]),
        features=np.asfortranarray(whole.features[rows]),
        stats=whole.stats[rows],
    )
    return problem_of(InMemory(part), problem.names, problem.metric, start)


def halves(problem: Problem, start: Floats, splits: int, seed: int | None) -> list[tuple[Problem, Problem]]:
    size = problem.segments
    rng = np.random.default_rng(99 if seed is None else [99, seed])
    orders = [np.concatenate([np.arange(0, size, 2), np.arange(1, size, 2)])] if seed is None else []
    orders += [rng.permutation(size) for _ in range(splits - len(orders))]
    pairs = []
    for order in orders:
        one, other = (of_segments(problem, np.sort(part), start) for part in np.array_split(order, 2))
        pairs += [(one, other), (other, one)]
    return pairs


def aim_at_unseen(problem: Problem, start: Floats, seed: int) -> Floats:
    ends = optimize(problem, start, restarts=20, seed=seed, scattered=True)
    return unseen_weights(problem, start, [end.weights for end in ends], np.random.default_rng([seed, 1]))


def best_of_climbs(problem: Problem, start: Floats, seed: int) -> Floats:
    return optimize(problem, start, restarts=20, seed=seed, scattered=True)[0].weights


def default(problem: Problem) -> int:
    """The number of restarts of --aim list."""
    return SearchSettings(aim="list").settled(len(problem.axes)).climbs


METHODS: dict[str, Method] = {
    "given": lambda problem, start, seed: start,
    "unseen": aim_at_unseen,
    "list": lambda problem, start, seed: (
        optimize(problem, start, restarts=default(problem), seed=seed)[0].weights
    ),
    "best of 21": best_of_climbs,
    "list of 21": lambda problem, start, seed: optimize(problem, start, restarts=20, seed=seed)[0].weights,
    "pro": lambda problem, start, seed: learn(problem, start, "pro", np.random.default_rng(seed)),
    "mira": lambda problem, start, seed: learn(problem, start, "mira", np.random.default_rng(seed)),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--split-seed", type=int, help="draw all splits from this random seed")
    parser.add_argument("--methods", default=",".join(METHODS))
    arguments = parser.parse_args()
    warm_up()
    rows: dict[str, list[float]] = {}
    for folder in arguments.folders:
        nbest, references, start = paths(folder)
        problem = make_problem(read_lists([nbest]), Bleu(read_references(references)), start)
        pairs = halves(problem, start, arguments.splits, arguments.split_seed)
        name = folder.resolve().name
        for method in arguments.methods.split(","):
            seen, unseen, seconds = [], [], []
            for seed in range(1, arguments.seeds + 1 if method not in ("given", "mira") else 2):
                for tuned, other in pairs:
                    began = time.process_time()
                    weights = METHODS[method](tuned, start, seed)
                    seconds.append(time.process_time() - began)
                    seen.append(tuned.score(weights))
                    unseen.append(other.score(weights))
            rows.setdefault(method, []).append(float(np.mean(unseen)))
            print(
                f"{name:14} {method:12} {np.mean(seen):7.3f} → {np.mean(unseen):7.3f}  "
                f"{np.mean(seconds):5.2f} s CPU",
                flush=True,
            )
        if name in MOSES and arguments.split_seed is None:
            print(f"{name:14} {'moses':12} {MOSES[name][0]:7.3f} → {MOSES[name][1]:7.3f}  measured before")
    means = ", ".join(f"{method} {np.mean(values):.3f}" for method, values in rows.items())
    print(f"mean of all lists, other half: {means}")


if __name__ == "__main__":
    main()
