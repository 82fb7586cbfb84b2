"""What tuned weights are worth on segments that were not tuned on: halves of lists, tuned on one, scored on the other.

    python bench/unseen.py [FOLDER …] [--seeds 3] [--splits 1] [--split-seed 7] [--methods unseen,list,pro]

A FOLDER holds ``nbest`` or ``nbest.gz``, ``ref.0`` … and ``init.opt`` (first line: the weights to start with); without
one the list is made from a seed. The first split is into even and odd segments, the others are random; with
--split-seed all are random, for a report on others than those that something was chosen on. Each is used both ways.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from moses import halves, made_list, read_list

import mert

METHODS = {
    "unseen": {},
    "list": {"aim": "list"},
    "list of 21": {"aim": "list", "restarts": 20},
    "pro": {"algorithm": "pro"},
    "mira": {"algorithm": "mira"},
}


def tune(half, method: str, seed: int) -> tuple[float, list[float]]:
    """CPU seconds and weights."""
    began = time.process_time()
    result = mert.tune(
        [half.folder / "nbest"],
        references=[half.folder / "ref"],
        weights=half.folder / "weights",
        search=mert.SearchSettings(seed=seed, **METHODS[method]),
    )
    return time.process_time() - began, list(result.weights.values())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--split-seed", type=int, help="draw all splits from this random seed")
    parser.add_argument("--methods", default=",".join(METHODS))
    options = parser.parse_args()
    lists = {folder.resolve().name: read_list(folder) for folder in options.folders}
    means: dict[str, list[float]] = {}
    for name, data in (lists or {"made": made_list(400, 100, 1)}).items():
        rng = np.random.default_rng([99, options.split_seed or 0])
        orders = [rng.permutation(len(data[1][0])).tolist() for _ in range(options.splits)]
        if options.split_seed is None:
            orders[0] = None
        with tempfile.TemporaryDirectory() as scratch:
            pairs = []
            for number, order in enumerate(orders):
                one, other = halves(*data, Path(scratch) / str(number), order)
                pairs += [(one, other), (other, one)]
            given = np.mean([other.bleu(other.start) for _, other in pairs])
            print(f"{name:14} {'given':12} {given:17.3f}")
            for method in options.methods.split(","):
                rows = []
                for seed in range(1, options.seeds + 1):
                    for half, other in pairs:
                        seconds, weights = tune(half, method, seed)
                        rows.append((seconds, half.bleu(weights), other.bleu(weights)))
                seconds, own, others = np.mean(rows, axis=0)
                means.setdefault(method, []).append(others)
                print(f"{name:14} {method:12} {own:7.3f} → {others:7.3f}  {seconds:5.2f} s CPU", flush=True)
    print("mean, other half:", ", ".join(f"{method} {np.mean(each):.3f}" for method, each in means.items()))


if __name__ == "__main__":
    main()
