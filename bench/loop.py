"""The complete run with the example decoder: true acceptability on held-out segments, over several seeds.

    python bench/loop.py [--seeds 10] [--tune heldout] [--test dev,test] [--labels 6000] [--budget 250]

For each seed the decoder is tuned to BLEU (`rypt tune --decoder`) and to RYPT (`rypt loop`, with SIMULATED workers who
come to the real local market over HTTP and know the truth of the corpus, a share of them spammers), with the same
number of iterations. Then baseline and both results decode the other segments, and what is truly acceptable is counted.
"""

import argparse
import json
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tabulate import tabulate

DECODER = Path(__file__).resolve().parents[1] / "examples" / "decoder"
CORPUS = DECODER / "corpus"
RYPT = [sys.executable, "-c", "from rypt.cli import main; main()"]


def run(*arguments: object, **more) -> str:
    done = subprocess.run(
        [str(a) for a in arguments], capture_output=True, text=True, check=False, timeout=3600, **more
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, arguments))}\n{done.stdout[-500:]}\n{done.stderr[-2000:]}")
    return done.stdout


def decoding(model: Path, part: str, size: int) -> str:
    """The decoder as a command for `rypt`."""
    decode = f"{sys.executable} {DECODER / 'decode.py'} --model {model} --input {CORPUS / part}.de --size {size}"
    return f"{decode} --weights {{weights}} --nbest {{nbest}}"


def accepted(model: Path, weights: Path, part: str, scratch: Path) -> tuple[float, float]:
    """True acceptability of the best candidates: share of constituents, share of segments."""
    nbest = scratch / f"{weights.stem}.{part}.nbest"
    run(sys.executable, DECODER / "decode.py", "--model", model, "--weights", weights, "--input", CORPUS / f"{part}.de",
        "--nbest", nbest, "--size", 1)  # fmt: skip
    out = run(sys.executable, DECODER / "accept.py", "--trees", CORPUS / f"{part}.trees", "--truth",
              CORPUS / f"{part}.truth.jsonl", "--nbest", nbest)  # fmt: skip
    _, constituents, _, segments, *_ = out.split()
    return float(constituents), float(segments)


def tune_to_bleu(model: Path, folder: Path, seed: int, options: argparse.Namespace) -> Path:
    result = folder / "bleu.weights"
    run(*RYPT, "tune", "--decoder", decoding(model, options.tune, options.size), "--references",
        CORPUS / f"{options.tune}.en", "--weights", DECODER / "weights.init", "--folder", folder / "bleu",
        "--max-iterations", options.iterations, "--seed", seed, "-o", result, "-q")  # fmt: skip
    return result


def tune_to_rypt(model: Path, folder: Path, seed: int, options: argparse.Namespace) -> tuple[Path, dict]:
    campaign, result = folder / "campaign", folder / "rypt.weights"
    run(*RYPT, "init", campaign, "--source", CORPUS / f"{options.tune}.de", "--trees", CORPUS / f"{options.tune}.trees",
        "--references", CORPUS / f"{options.tune}.en", "--languages", "de-en", "--weights", DECODER / "weights.init",
        "--decoder", decoding(model, options.tune, options.size), "--budget", options.budget, "--labels",
        options.labels, "-q")  # fmt: skip
    settings = campaign / "rypt.toml"
    text = settings.read_text().replace("seed = 1\n", f"seed = {1000 * seed}\n")
    text = text.replace('model = "percolation"', f'model = "{options.model}"')
    text = text.replace('select = "value"', f'select = "{options.select}"')
    settings.write_text(text.replace("patience = 2\n", f"patience = {options.iterations}\n"))
    log = (folder / "loop.log").open("w")
    loop = subprocess.Popen(
        [*RYPT, "loop", campaign, "--serve", "--port", "0", "--yes", "--poll", "1", "--max-iterations",
         str(options.iterations), "-o", result, "--json"], stdout=subprocess.PIPE, stderr=log, text=True,
    )  # fmt: skip
    workers = None
    try:
        while not (campaign / "market").exists() and loop.poll() is None:
            try:
                loop.wait(0.2)
            except subprocess.TimeoutExpired:
                continue
        workers = subprocess.Popen(
            [*RYPT, "simulate", "--at", campaign / "market", "--truth", CORPUS / f"{options.tune}.truth.jsonl",
             "--workers", str(options.workers), "--accuracy", str(options.accuracy), "--spam", str(options.spam),
             "--seed", str(seed), "--watch", "-q"], stdout=subprocess.DEVNULL, stderr=log,
        )  # fmt: skip
        out, _ = loop.communicate(timeout=3600)
    finally:
        for process in (loop, workers):
            if process is not None and process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait(30)
    if loop.returncode:
        raise RuntimeError((folder / "loop.log").read_text()[-2000:])
    return result, json.loads(out)


def one_seed(model: Path, seed: int, options: argparse.Namespace) -> dict:
    folder = Path(options.keep or tempfile.mkdtemp()) / f"seed{seed}"
    folder.mkdir(parents=True)
    bleu = tune_to_bleu(model, folder, seed, options)
    rypt, told = tune_to_rypt(model, folder, seed, options)
    found = {"seed": seed, "loop": told}
    for name, weights in (("baseline", DECODER / "weights.init"), ("BLEU", bleu), ("RYPT", rypt)):
        for part in [options.tune, *options.test.split(",")]:
            found[f"{name} {part}"] = accepted(model, weights, part, folder)
    print(json.dumps(found), file=sys.stderr, flush=True)
    if not options.keep:
        shutil.rmtree(folder.parent)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--tune", default="heldout")
    parser.add_argument("--test", default="dev,test")
    parser.add_argument("--iterations", type=int, default=3)
    parser.add_argument("--size", type=int, default=50)
    parser.add_argument("--labels", type=int, default=6000)
    parser.add_argument("--budget", default="250.00")
    parser.add_argument("--model", default="percolation")
    parser.add_argument("--select", default="all")
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--accuracy", type=float, default=0.9)
    parser.add_argument("--spam", type=float, default=0.125)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", help="a folder for everything that is made")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(options.jobs) as pool:
        model = Path(scratch) / "model"
        run(sys.executable, DECODER / "train.py", "--source", CORPUS / "train.de", "--target", CORPUS / "train.en",
            "--output", model)  # fmt: skip
        seeds = range(options.first, options.first + options.seeds)
        rows = list(pool.map(lambda seed: one_seed(model, seed, options), seeds))
    report(rows, options)


def report(rows: list[dict], options: argparse.Namespace) -> None:
    """Means and spreads over seeds, and how often RYPT's weights are better than BLEU's."""
    table = []
    for part in [options.tune, *options.test.split(",")]:
        for at, what in enumerate(("constituents", "segments")):
            cells = []
            for name in ("baseline", "BLEU", "RYPT"):
                values = [row[f"{name} {part}"][at] for row in rows]
                spread = statistics.stdev(values) if len(values) > 1 else 0.0
                cells.append(f"{100 * statistics.mean(values):.1f} ± {100 * spread:.1f}")
            better = sum(row[f"RYPT {part}"][at] > row[f"BLEU {part}"][at] for row in rows)
            table.append(
                [part + (" (tuned on)" if part == options.tune else ""), what, *cells, f"{better} of {len(rows)}"]
            )
    print(tabulate(table, ["", "acceptable, %", "baseline", "BLEU", "RYPT", "RYPT > BLEU"]))
    per_iteration = []
    for number in range(options.iterations):
        told = [row["loop"]["iterations"][number] for row in rows if len(row["loop"]["iterations"]) > number]
        if told:
            means = {
                name: statistics.mean(float(t[name]) for t in told)
                for name in ("labels", "reused", "questions", "cost", "before", "after")
            }
            per_iteration.append([number + 1, len(told), *means.values()])
    names = ["iteration", "runs", "labels bought", "reused", "of questions", "cost, $", "RYPT before", "after"]
    print("\n" + tabulate(per_iteration, names, floatfmt=("", "", ".0f", ".0f", ".0f", ".2f", ".4f", ".4f")))
    spent = [float(row["loop"]["spent"]) for row in rows]
    print(f"\nspent ${statistics.mean(spent):.2f} a run; workers and their labels are SIMULATED")


if __name__ == "__main__":
    main()
