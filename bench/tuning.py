"""MERT: CPU seconds of one thread for each part, BLEU by seed, the search beside plain numpy, and growth.

(It cannot be called mert.py: benchmarks import the package of that name, and their own folder comes first.)

    python bench/tuning.py FOLDER …  [--seeds 5]
    python bench/tuning.py --growth

A FOLDER holds ``nbest`` or ``nbest.gz``, ``ref.0`` … and ``init.opt`` (first line: the weights to start with). The whole
command runs in processes of its own, once without compiled code on the disk. bench/moses.py runs Moses' programs.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np

from mert.linesearch import changes_along, line_search
from mert.lists import arrange, read_lists
from mert.problem import Problem, make_problem, weighted_sum
from mert.search import SearchSettings, optimize
from rypt.arrays import Floats
from rypt.metrics.bleu import Bleu
from rypt.records import Candidate
from rypt.texts.references import References, read_references

COMMAND = [sys.executable, "-c", "import sys; from rypt.cli import main; main(sys.argv[1:])", "tune"]


def paths(folder: Path) -> tuple[Path, list[Path], Floats]:
    nbest = next(path for path in (folder / "nbest", folder / "nbest.gz") if path.exists())
    start = np.array([float(word) for word in (folder / "init.opt").read_text().splitlines()[0].split()])
    return nbest, sorted(folder.glob("ref.[0-9]")), start


def cpu(function):
    began = time.process_time()
    value = function()
    return value, time.process_time() - began


def numpy_step(problem: Problem, slopes: Floats, heights: Floats) -> float:
    """The same search in plain numpy: walk each segment's envelope with array operations, then cumulative sums."""
    candidates = problem.parts.value
    changes, first = [], []
    for start, stop in pairwise(candidates.offsets):
        slope, height = slopes[start:stop], heights[start:stop]
        line = int(np.lexsort((-height, slope))[0])
        first.append(start + line)
        while True:
            rise = slope - slope[line]
            with np.errstate(divide="ignore", invalid="ignore"):
                crossings = np.where(rise > 0, (height[line] - height) / rise, np.inf)
            following = int(np.argmin(crossings))
            if crossings[following] == np.inf:
                break
            changes.append((crossings[following], start + line, start + following))
            line = following
    order = np.argsort([change[0] for change in changes])
    before, after = (np.array([change[i] for change in changes])[order] for i in (1, 2))
    deltas = candidates.stats[after] - candidates.stats[before]
    sums = np.vstack([candidates.stats[first].sum(axis=0), deltas]).cumsum(axis=0)
    return float(problem.rate(sums).max())


def compare_with_numpy(problem: Problem, start: Floats) -> None:
    """Line searches along all axes from the start, both ways; the scores must agree."""
    candidates = problem.parts.value
    heights = weighted_sum(candidates.features, start)
    ours, theirs = [], []
    for axis in problem.axes:
        slopes = weighted_sum(candidates.features, axis)
        given = (candidates.offsets, slopes, heights, candidates.stats)
        step, took = cpu(lambda given=given: line_search([changes_along(*given)], problem.rate))
        score, plain = cpu(lambda slopes=slopes: numpy_step(problem, slopes, heights))
        assert abs(step.score - score) < 1e-9, (step.score, score)
        ours.append(1000 * took)
        theirs.append(1000 * plain)
    print(f"  a line search from the start: {np.mean(ours):.2f} ms, plain numpy {np.mean(theirs):.0f} ms")


def show_whole(folder: Path, aim: str) -> None:
    """The command as a process of its own, first without compiled code on the disk."""
    nbest, references, start = paths(folder)
    with tempfile.TemporaryDirectory() as scratch:
        weights = Path(scratch) / "weights"
        names = read_lists([nbest]).names
        weights.write_text("".join(f"{name} {value}\n" for name, value in zip(names, start, strict=True)))
        options = [nbest, "--weights", weights, "--aim", aim, "--threads", "1", "-q"]
        options += [word for path in references for word in ("--references", path)]
        seconds = []
        for _ in range(4):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            environment = {**os.environ, "NUMBA_CACHE_DIR": scratch}
            subprocess.run([*COMMAND, *options], check=True, stdout=subprocess.DEVNULL, env=environment)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    print(f"  rypt tune --aim {aim}: {min(seconds[1:]):.2f} s CPU, cold {seconds[0]:.2f} s")


def run_folder(folder: Path, seeds: int) -> None:
    nbest, references, start = paths(folder)
    metric = Bleu(read_references(references), smooth_method="none")
    lists, reading = min((cpu(lambda: read_lists([nbest])) for _ in range(3)), key=lambda pair: pair[1])
    problem, counting = min(
        (cpu(lambda: make_problem(lists, metric, start)) for _ in range(3)), key=lambda pair: pair[1]
    )
    size = len(lists.candidates)
    print(f"\n{folder.resolve().name}: {size:,} candidates of {problem.segments:,} segments")
    print(f"  read {reading:.2f} s, statistics {counting:.2f} s")
    restarts = SearchSettings(aim="list").settled(len(problem.axes)).climbs
    scores, seconds, searches = [], [], 0
    for seed in range(1, seeds + 1):
        ends, took = cpu(lambda seed=seed: optimize(problem, start, restarts=restarts, seed=seed))
        scores.append(ends[0].score)
        seconds.append(took)
        searches += sum(end.searches for end in ends)
    print(
        f"  BLEU {problem.score(start):.3f} → {', '.join(f'{score:.3f}' for score in scores)}; "
        f"search {np.mean(seconds):.2f} s, {1000 * sum(seconds) / searches:.2f} ms a line"
    )
    compare_with_numpy(problem, start)
    for aim in ("unseen", "list"):
        show_whole(folder, aim)


def made_problem(segments: int, candidates: int, features: int) -> tuple[Problem, Floats]:
    """A list made up of random words and features that know a little about them."""
    rng = np.random.default_rng(1)
    words = np.array([f"w{i}" for i in range(200)])
    rows, references = [], []
    for segment in range(segments):
        reference = rng.choice(words, 20)
        references.append(" ".join(reference))
        kept = rng.random((candidates, 20)) < rng.uniform(0.5, 0.9, (candidates, 1))
        texts = np.where(kept, reference, rng.choice(words, (candidates, 20)))
        signal = kept.sum(axis=1, keepdims=True) / 4
        values = signal * rng.normal(0.3, 0.3, features) + rng.normal(size=(candidates, features))
        for text, row in zip(texts, values, strict=True):
            named = {f"f{i}": float(value) for i, value in enumerate(row)}
            rows.append((("made", len(rows) + 1), Candidate(str(segment), " ".join(text), None, named)))
    start = np.ones(features)
    return make_problem(arrange(rows), Bleu(References([references])), start), start


def growth() -> None:
    print("growth: 100 segments, 3 starts, CPU")
    for what, sizes in (("candidates per segment", (100, 200, 400, 1000)), ("features", (14, 28, 50))):
        for size in sizes:
            candidates, features = (size, 14) if what != "features" else (100, size)
            problem, start = made_problem(100, candidates, features)
            ends, took = cpu(lambda p=problem, s=start: optimize(p, s, restarts=2, seed=1))
            searches = sum(end.searches for end in ends)
            print(f"  {size:5} {what}: {took:.2f} s, {searches} lines, {1000 * took / searches:.3f} ms each")


def warm_up() -> None:
    """Compile, or load, everything before the clock starts."""
    problem, start = made_problem(3, 20, 3)
    optimize(problem, start, restarts=1)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--growth", action="store_true")
    arguments = parser.parse_args()
    warm_up()
    for folder in arguments.folders:
        run_folder(folder, arguments.seeds)
    if arguments.growth or not arguments.folders:
        growth()


if __name__ == "__main__":
    main()
