"""The search: seconds and BLEU for each aim, memory, and how time grows with the number of candidates.

    python bench/search.py [FOLDER …] [--seeds 5]

A FOLDER is as for unseen.py; without one lists are made from a seed, with more and more candidates. Times are those of
the parts of `mert.tune`, of one thread, with compiled code on the disk; compare them with another commit's on the same
machine, in the same hour.
"""

import argparse
import resource
import tempfile
from pathlib import Path

import numpy as np
from moses import Half, made_list, read_list

import mert

GROWTH = (25, 50, 100, 200, 400)  # candidates of each of 250 segments


def show(name: str, data: tuple, aim: str, seeds: int) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        whole = Half(Path(scratch) / "whole", *data)
        whole.write([f"F{i}" for i in range(len(whole.start))])
        results = [
            mert.tune(
                [whole.folder / "nbest"],
                references=[whole.folder / "ref"],
                weights=whole.folder / "weights",
                search=mert.SearchSettings(aim=aim, seed=seed),
            )
            for seed in range(seeds + 1)  # the first one compiles
        ][1:]
    scores = [result.score for result in results]
    parts = {part: np.mean([result.seconds[part] for result in results]) for part in results[0].seconds}
    took = ", ".join(f"{part} {seconds:.2f}" for part, seconds in parts.items())
    searches = np.mean([result.searches for result in results])
    print(
        f"{name:14} {aim:6} {len(whole.rows):8} candidates: {took} s; {searches:.0f} lines; "
        f"{results[0].start_score:.3f} → {np.mean(scores):.3f} (best {max(scores):.3f})",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    lists = {folder.resolve().name: read_list(folder) for folder in options.folders}
    for name, data in (lists or {f"{size} each": made_list(250, size, 1) for size in GROWTH}).items():
        for aim in ("list", "unseen"):
            show(name, data, aim, options.seeds)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")


if __name__ == "__main__":
    main()
