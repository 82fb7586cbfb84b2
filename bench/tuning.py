"""MERT: time, BLEU, growth and memory, beside a plain numpy search in the same run and beside Moses and Z-MERT.

(It cannot be called mert.py: benchmarks import the package of that name, and their own folder comes first.)

    python bench/tuning.py FOLDER …  [--seeds 5] [--peer /path/to/mosesdecoder/bin]
    python bench/tuning.py --growth

A FOLDER holds ``nbest`` or ``nbest.gz``, ``ref.0`` … and ``init.opt`` (first line: the weights to start with). Figures
for Moses and Z-MERT are those once measured on lists of these names, CPU seconds, 21 starts; a `mert` on the PATH, or
at --peer, is timed anew. Machines differ in speed: version 0.1.0, measured beside Moses, took 4.1 s (whole process) and
2.1 s (search) on `fren` then, and 1.8 and 0.6 s on the quiet machine of the figures in docs/evidence.md. Times of ours
are CPU seconds of one thread, warm; "cold" is a process of its own without any compiled code on the disk.
"""

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np

from mert.lists.arrays import NBest, arrange, read_lists
from mert.optimize import TuningProblem, make_problem, optimize
from mert.search.lines import best_step
from mert.search.share import combine
from mert.solve import SearchSettings
from rypt.arrays import Floats
from rypt.metrics.bleu import Bleu
from rypt.records import Candidate
from rypt.texts.references import References, read_references

PEER_RESTARTS = 20
BEST = {
    "moses-sample": 9.968,
    "uren": 16.631,
    "bnen": 12.607,
    "fren": 22.983,
    "large": 26.935,
}  # of Moses' runs
MOSES = {  # extractor, mert, mean BLEU of three to six seeds
    "moses-sample": (0.10, 2.2, 9.870),
    "uren": (0.65, 17.0, 16.549),
    "fren": (0.90, 20.0, 22.921),
    "bnen": (1.1, 28.0, 12.525),
    "large": (2.6, 100.0, 26.920),
}
ZMERT = {  # statistics, optimise, BLEU of one run
    "moses-sample": (1.2, 7.1, 9.973),
    "uren": (4.7, 38.0, 16.591),
    "fren": (6.0, 52.0, 22.900),
}
PEAK = "pathlib.Path(sys.argv.pop(1)).write_text(re.search(r'VmHWM:\\s+(\\d+)', status.read_text())[1])"
MEASURED = (  # the command, which leaves its peak memory (kB) in a file; what a parent process had is not in it
    "import pathlib, re, sys\nfrom rypt.cli import main\nstatus = pathlib.Path('/proc/self/status')\n"
    f"try: main(sys.argv[2:])\nfinally: {PEAK}"
)
COMMAND = [sys.executable, "-c", "import sys; from rypt.cli import main; main(sys.argv[1:])"]


def paths(folder: Path) -> tuple[Path, list[Path], Floats]:
    nbest = next(path for path in (folder / "nbest", folder / "nbest.gz") if path.exists())
    start = np.array([float(word) for word in (folder / "init.opt").read_text().splitlines()[0].split()])
    return nbest, sorted(folder.glob("ref.[0-9]")), start


def read(folder: Path) -> tuple[NBest, Bleu, Floats]:
    nbest, references, start = paths(folder)
    return read_lists([nbest]), Bleu(read_references(references), smooth_method="none"), start


def numpy_step(problem: TuningProblem, slopes: Floats, intercepts: Floats) -> tuple[float, float]:
    """The same search in plain numpy: walk each segment's envelope with array operations, then cumulative sums."""
    changes, first = [], []
    for start, stop in pairwise(problem.whole.offsets):
        slope, height = slopes[start:stop], intercepts[start:stop]
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
    places = np.array([change[0] for change in changes])
    order = np.argsort(places)
    before, after = (np.array([change[i] for change in changes])[order] for i in (1, 2))
    deltas = problem.whole.stats[after] - problem.whole.stats[before]
    sums = np.vstack([problem.whole.stats[first].sum(axis=0), deltas]).cumsum(axis=0)
    scores = problem.rate(sums)
    return float(places[order][max(0, int(np.argmax(scores)) - 1)]), float(scores.max())


def cpu(function):
    began = time.process_time()
    value = function()
    return value, time.process_time() - began


def cold(folder: Path) -> float:
    """Wall seconds of the whole job in a new process that has to compile everything."""
    nbest = paths(folder)[0]
    with tempfile.TemporaryDirectory() as scratch:
        began = time.perf_counter()
        command = [*COMMAND, "tune", str(nbest), "--references", str(folder / "ref"), "--restarts", "0", "-q"]
        subprocess.run(
            command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "NUMBA_CACHE_DIR": scratch}
        )
        return time.perf_counter() - began


def show_whole(folder: Path, aim: str) -> None:
    """The command as a process of its own, the fastest of three: CPU, wall, parts, memory, beside Moses as measured."""
    nbest, _, start = paths(folder)
    runs = []
    with tempfile.TemporaryDirectory() as scratch:
        weights, out = Path(scratch) / "weights", Path(scratch) / "out"
        names = read_lists([nbest]).names
        weights.write_text("".join(f"{name} {value}\n" for name, value in zip(names, start, strict=True)))
        most = Path(scratch) / "peak"
        command = [
            sys.executable,
            "-c",
            MEASURED,
            str(most),
            "tune",
            str(nbest),
            "--references",
            str(folder / "ref"),
            "--weights",
            str(weights),
            "--aim",
            aim,
            "--threads",
            "1",
            "--json",
            "-q",
        ]
        for _ in range(3):
            began = time.perf_counter()
            with out.open("w") as file:
                process = subprocess.Popen(command, stdout=file)
                _, status, used = os.wait4(process.pid, 0)
            assert status == 0, command
            seconds = json.loads(out.read_text())["seconds"]
            runs.append(
                (
                    used.ru_utime + used.ru_stime,
                    time.perf_counter() - began,
                    int(most.read_text()) / 1024,
                    seconds,
                )
            )
    cpu_seconds, wall, peak_memory, parts = min(runs, key=lambda run: run[0])
    shown = ", ".join(f"{part} {parts[part + '_cpu']:.2f}" for part in ("read", "stats", "optimize"))
    print(
        f"  rypt tune --aim {aim}: {cpu_seconds:.2f} s CPU, {wall:.2f} s wall, {peak_memory:.0f} MB; CPU of {shown}"
    )
    if folder.resolve().name in MOSES:
        extractor, mert, bleu = MOSES[folder.resolve().name]
        print(
            f"    Moses, measured before: extractor {extractor} s, mert {mert} s, BLEU {bleu}; "
            f"{(extractor + mert) / cpu_seconds:.1f} times the whole process, {mert / parts['optimize_cpu']:.1f} times "
            "the search"
        )


def memory(folder: Path) -> tuple[float, float]:
    """Megabytes: how much the process grew, and the arrays themselves; in a process of its own."""
    code = (
        "import sys, pathlib; sys.path.insert(0, sys.argv[1]); import mert_bench as bench\n"
        "bench.warm_up(); before = bench.peak_now()\n"
        "lists, metric, start = bench.read(pathlib.Path(sys.argv[2]))\n"
        "problem = bench.make_problem(lists, metric, start)\n"
        "bench.optimize(problem, start, restarts=1, seed=1)\n"
        "c = lists.candidates\n"
        "arrays = [c.buffer, c.texts, c.equals, c.segments, lists.features, problem.whole.stats]\n"
        "print(bench.peak() - before, sum(a.nbytes for a in arrays))\n"
    )
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copy(__file__, Path(scratch) / "mert_bench.py")
        command = [sys.executable, "-c", code, scratch, str(folder)]
        grown, arrays = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return int(grown) / 1024, int(arrays) / 2**20


def peak() -> int:
    """The most memory this process had at once, in kB."""
    return int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1])


def peak_now() -> int:
    """Forget what the peak was before (Linux), and give what is used now."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak()


def warm_up() -> None:
    """Compile, or load, everything before the clock starts."""
    with tempfile.NamedTemporaryFile("w", suffix=".nbest") as file:
        file.write("0 ||| a b c d e ||| x= 1 2 y= 1 ||| 0\n0 ||| a b c d f ||| x= 2 1 y= 0 ||| 0\n")
        file.flush()
        lists = read_lists([file.name])
        problem = make_problem(lists, Bleu(References([["a b c d e"]]), smooth_method="none"), np.ones(3))
        optimize(problem, np.ones(3), restarts=1)


def run_folder(folder: Path, seeds: int, peer: str | None) -> None:
    name = folder.resolve().name
    (lists, metric, start), reading = min(
        (cpu(lambda: read(folder)) for _ in range(3)), key=lambda pair: pair[1]
    )
    problem, counting = min(
        (cpu(lambda: make_problem(lists, metric, start)) for _ in range(3)), key=lambda p: p[1]
    )
    size = len(lists.candidates)
    print(f"\n{name}: {size:,} candidates of {len(lists.segments):,} segments, {len(lists.names)} features")
    print(f"  read {reading:.2f} s, statistics {counting:.2f} s, together {reading + counting:.2f} s")
    restarts = SearchSettings(aim="list").settled(len(problem.axes)).climbs
    scores, seconds, searches = [], [], []
    for seed in range(1, seeds + 1):
        results, took = cpu(lambda seed=seed: optimize(problem, start, restarts=restarts, seed=seed))
        scores.append(results[0].score)
        seconds.append(took)
        searches.append(sum(result.searches for result in results))
        print(
            f"  seed {seed}: BLEU {scores[-1]:.3f}, optimise {took:.2f} s, {searches[-1]:,} line searches",
            flush=True,
        )
    print(
        f"  BLEU {problem.score(start):.3f} → mean {np.mean(scores):.3f} ({min(scores):.3f} to {max(scores):.3f}, "
        f"deviation {np.std(scores):.3f}); "
        f"optimise mean {np.mean(seconds):.2f} s CPU, {1000 * sum(seconds) / sum(searches):.2f} ms a line search"
    )
    if name in BEST:
        print(f"  the best of Moses' runs with {PEER_RESTARTS} restarts, measured before: {BEST[name]}")
    _, wall = wall_seconds(lambda: optimize(problem, start, restarts=restarts, seed=1, threads=2))
    print(f"  two threads: {wall:.2f} s wall")
    compare_with_numpy(problem, start)
    grown, arrays = memory(folder)
    print(f"  memory: grew by {grown:.0f} MB for arrays of {arrays:.0f} MB: {grown / arrays:.2f} times")
    print(f"  cold, the whole command with one start: {cold(folder):.1f} s wall")
    for aim in ("unseen", "list"):
        show_whole(folder, aim)
    if name in ZMERT:
        statistics, optimise, bleu = ZMERT[name]
        print(f"  Z-MERT, measured before: statistics {statistics} s, optimise {optimise} s, BLEU {bleu}")
    time_peer(folder, peer)


def wall_seconds(function):
    began = time.perf_counter()
    value = function()
    return value, time.perf_counter() - began


def compare_with_numpy(problem: TuningProblem, start: Floats) -> None:
    """Line searches along all axes from the start, both ways; the scores must agree."""
    values = combine(problem.whole.features, start)
    ours, theirs = [], []
    for axis in problem.axes:
        slopes = combine(problem.whole.features, axis)
        step, took = cpu(
            lambda s=slopes: best_step(problem.whole.offsets, s, values, problem.whole.stats, problem.rate)
        )
        (_, score), plain = cpu(lambda s=slopes: numpy_step(problem, s, values))
        assert abs(step.score - score) < 1e-9, (step.score, score)
        ours.append(took)
        theirs.append(plain)
    mean, other = 1000 * np.mean(ours), 1000 * np.mean(theirs)
    print(
        f"  a line search from the start: {mean:.2f} ms, plain numpy {other:.0f} ms: {other / mean:.0f} times faster"
    )


def time_peer(folder: Path, peer: str | None) -> None:
    """A user's own Moses programs on the same list."""
    mert = shutil.which("mert", path=peer) if peer else shutil.which("mert")
    if mert is None:
        print("  no `mert` of Moses on the PATH: not timed anew (--peer FOLDER)")
        return
    extractor = Path(mert).with_name("extractor")
    nbest, references, start = paths(folder)
    with tempfile.TemporaryDirectory() as scratch:
        files = ["--ffile", f"{scratch}/f", "--scfile", f"{scratch}/s"]
        both = ",".join(map(str, references))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [extractor, "--sctype", "BLEU", "-r", both, "-n", nbest, "-b", *files],
            check=True,
            cwd=scratch,
            capture_output=True,
        )
        between = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [
            mert,
            "-d",
            str(len(start)),
            "-n",
            str(PEER_RESTARTS),
            "--sctype",
            "BLEU",
            "-r",
            "1",
            *files,
            "--ifile",
            folder / "init.opt",
        ]
        done = subprocess.run(command, check=True, cwd=scratch, capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    best = next((line for line in done.stderr.splitlines() if line.startswith("Best point")), "")
    print(
        f"  {mert}: extractor {between.ru_utime - before.ru_utime:.2f} s, mert "
        f"{after.ru_utime - between.ru_utime:.2f} s; {best[-20:]}"
    )


def made_problem(segments: int, candidates: int, features: int) -> tuple[TuningProblem, Floats]:
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
            rows.append(Candidate(str(segment), " ".join(text), None, named, None))
    start = np.ones(features)
    return make_problem(arrange(rows), Bleu(References([references])), start), start


def growth() -> None:
    print("growth: 100 segments, 3 starts, CPU seconds")
    for what, sizes in (("candidates per segment", (100, 200, 400, 1000)), ("features", (14, 28, 50))):
        first = None
        for size in sizes:
            candidates, features = (size, 14) if what != "features" else (100, size)
            problem, start = made_problem(100, candidates, features)
            results, took = cpu(lambda p=problem, s=start: optimize(p, s, restarts=2, seed=1))
            searches = sum(result.searches for result in results)
            each = 1000 * took / searches
            first = first or each
            print(
                f"  {size:5} {what}: {took:.2f} s, {searches} lines, {each:.3f} ms each, {each / first:.1f} times"
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--peer", help="the folder of Moses' mert and extractor")
    parser.add_argument("--growth", action="store_true")
    arguments = parser.parse_args()
    warm_up()
    for folder in arguments.folders:
        run_folder(folder, arguments.seeds, arguments.peer)
    if arguments.growth or not arguments.folders:
        growth()


if __name__ == "__main__":
    main()
