"""How the time of commands grows with the size of a campaign: CPU seconds at three sizes, and the exponent.

    python bench/growth.py [--segments 2000] [--candidates 100] [--runs 3] [--only queries …]

Campaigns are made up as in ``bench/scorer.py``, with the given size, a half and a quarter of its segments: trees, lists
with links and 14 features, two thirds of the frontier's phrases judged. Commands run as processes of their own, one
after the other, compiled code on the disk; of several runs the one with the least CPU seconds counts. The exponent is
that between the two larger sizes: 1 is linear, and below 1 where the start of the program still counts.
"""

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).parent))
from scorer import make

RYPT = [sys.executable, "-c", "from rypt.cli import main; main()"]
FEATURES = [f"F{i}" for i in range(14)]


def write_texts(folder: Path, segments: int, candidates: int, seed: int) -> None:
    """Source, trees, a list with links and features, references, weights, and judgments as JSONL."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(seed)
    trees, made, votes = make(segments, candidates, seed)
    with open(folder / "source", "w") as source, open(folder / "trees", "w") as brackets:
        for tree in trees.values():
            assert tree is not None
            source.write(" ".join(tree.tokens) + "\n")
            brackets.write(f"{tree}\n")
    with open(folder / "nbest", "w") as file:
        for candidate in made:
            values = " ".join(
                f"{name}= {value:.4f}" for name, value in zip(FEATURES, rng.normal(0, 1, 14), strict=True)
            )
            file.write(
                f"{candidate.segment} ||| {candidate.text} ||| {values} ||| 0 ||| {candidate.alignment}\n"
            )
    with open(folder / "ref", "w") as file:
        for i in range(segments):
            file.write(made[i * candidates + candidates // 2].text + "\n")
    (folder / "weights").write_text("".join(f"{name}= 0.1\n" for name in FEATURES))
    with open(folder / "judgments.jsonl", "w") as file:
        for vote in votes:
            record = {
                "segment": vote.segment,
                "start": vote.span.start,
                "stop": vote.span.stop,
                "phrase": vote.phrase,
                "label": "YES" if vote.yes else "NO",
                "worker": f"A{rng.integers(0, 40)}",
                "source": "import",
            }
            file.write(json.dumps(record) + "\n")


def cpu_seconds(command: str, folder: Path) -> float:
    """CPU seconds of a process and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([*RYPT, *command.split()], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"rypt {command}: {done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def nothing(folder: Path) -> None:
    """Leave everything as it is."""


STEPS: dict[str, tuple[str, Callable[[Path], None]]] = {  # command, and what is done before it
    "init": ("init c --source source --trees trees --nbest nbest --references ref -q", nothing),
    "db import": ("db import c judgments.jsonl -q", nothing),
    "status": ("status c -q --json", nothing),
    "queries": ("queries c -q -o queries.jsonl", nothing),
    "queries --select value": ("queries c --select value -q -o value.jsonl", nothing),
    "explain": ("explain 7 3 -C c", nothing),
    "explain, severity": ("explain 7 3 -C c --model severity", nothing),
    "score": ("score c -q", nothing),
    "score --pick best": ("score c --pick best -q", nothing),
    "tune, BLEU": ("tune nbest --references ref --weights weights --threads 1 -q -o tuned", nothing),
    "tune, RYPT": ("tune c --metric rypt --weights weights --threads 1 -q -o tuned", nothing),
}
ONCE = ("init", "db import")  # what a second run could not do again


def main() -> None:
    """Time all commands and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--segments", type=int, default=2000)
    parser.add_argument("--candidates", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--only", nargs="*", help="names of commands; init and db import always run")
    parser.add_argument(
        "--keep", type=Path, help="make texts and campaigns in this folder and leave them there"
    )
    options = parser.parse_args()
    sizes = [options.segments // 4, options.segments // 2, options.segments]
    with tempfile.TemporaryDirectory() as scratch:
        folders = [Path(options.keep or scratch, str(size)) for size in sizes]
        for folder, size in zip(folders, sizes, strict=True):
            if not folder.exists():
                write_texts(folder, size, options.candidates, options.seed)
        print(
            f"{'CPU seconds':26}"
            + "".join(f"{f'{size} x {options.candidates}':>13}" for size in sizes)
            + "   exponent"
        )
        for name, (command, prepare) in STEPS.items():
            if options.only and name not in (*options.only, *ONCE):
                continue
            seconds = []
            for folder in folders:
                runs = []
                for _ in range(1 if name in ONCE else options.runs):
                    prepare(folder)
                    runs.append(cpu_seconds(command, folder))
                seconds.append(min(runs))
            exponent = math.log2(seconds[2] / seconds[1])
            print(
                f"{name:26}" + "".join(f"{each:13.2f}" for each in seconds) + f"{exponent:11.2f}", flush=True
            )


if __name__ == "__main__":
    main()
