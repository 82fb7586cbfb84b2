"""The complete run with the example decoder: true acceptability on held-out segments, over several seeds.

    python bench/loop.py [--seeds 10] [--tune heldout] [--more 500] [--labels 6000] [--budget 250] [--weights FILE]

For each seed the decoder is tuned to BLEU (`rypt tune --decoder`) and to RYPT (`rypt loop`, with SIMULATED workers who
come to the real local market over HTTP and know the truth of the corpus, a share of them spammers), with the same
number of iterations; and to the truth itself, which says what weights can reach at all. Then baseline and all results
decode segments that the same grammar makes further on, and what is truly acceptable is counted. Without ``--weights``
the decoder starts with all weights 1, as `rypt tune` does when it is told nothing else.
"""

import argparse
import json
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tabulate import tabulate

ROOT = Path(__file__).resolve().parents[1]
DECODER = ROOT / "examples" / "decoder"
GENERATOR = ROOT / "examples" / "corpus"
UNSEEN, START = "more", "baseline.weights"
SYSTEMS = ("baseline", "BLEU", "RYPT", "truth")
RYPT = [sys.executable, "-c", "from rypt.cli import main; main()"]


def run(*arguments: object, **more) -> str:
    done = subprocess.run(
        [str(a) for a in arguments], capture_output=True, text=True, check=False, timeout=3600, **more
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, arguments))}\n{done.stdout[-500:]}\n{done.stderr[-2000:]}")
    return done.stdout


def decoding(corpus: Path, part: str, size: int) -> str:
    """The decoder as a command for `rypt`."""
    decode = f"{sys.executable} {DECODER / 'decode.py'} --model {corpus / 'model'} --input {corpus / part}.de"
    return f"{decode} --size {size} --weights {{weights}} --nbest {{nbest}}"


def accepted(corpus: Path, weights: Path, part: str, scratch: Path) -> tuple[float, float]:
    """True acceptability of the best candidates: share of constituents, share of segments."""
    nbest = scratch / f"{weights.stem}.{part}.nbest"
    run(
        sys.executable,
        DECODER / "decode.py",
        "--model",
        corpus / "model",
        "--weights",
        weights,
        "--input",
        corpus / f"{part}.de",
        "--nbest",
        nbest,
        "--size",
        1,
    )
    out = run(
        sys.executable,
        DECODER / "accept.py",
        "--trees",
        corpus / f"{part}.trees",
        "--truth",
        corpus / f"{part}.truth.jsonl",
        "--nbest",
        nbest,
    )
    _, constituents, _, segments, *_ = out.split()
    return float(constituents), float(segments)


def tune_to(
    name: str, metric: str, corpus: Path, folder: Path, seed: int, options: argparse.Namespace
) -> Path:
    """Tune to a metric that needs no people."""
    result = folder / f"{name}.weights"
    run(
        *RYPT,
        "tune",
        "--decoder",
        decoding(corpus, options.tune, options.size),
        "--metric",
        metric,
        "--references",
        corpus / f"{options.tune}.en",
        "--weights",
        corpus / START,
        "--folder",
        folder / name,
        "--max-iterations",
        options.iterations,
        "--seed",
        seed,
        "-o",
        result,
        "-q",
        cwd=DECODER,
    )
    return result


def tune_to_rypt(corpus: Path, folder: Path, seed: int, options: argparse.Namespace) -> tuple[Path, dict]:
    """Tune in a loop with people, who are simulated."""
    campaign, result = folder / "campaign", folder / "rypt.weights"
    run(
        *RYPT,
        "init",
        campaign,
        "--source",
        corpus / f"{options.tune}.de",
        "--trees",
        corpus / f"{options.tune}.trees",
        "--references",
        corpus / f"{options.tune}.en",
        "--languages",
        "de-en",
        "--weights",
        corpus / START,
        "--decoder",
        decoding(corpus, options.tune, options.size),
        "--budget",
        options.budget,
        "--labels",
        options.labels,
        "-q",
    )
    settings = campaign / "rypt.toml"
    text = settings.read_text().replace("seed = 1\n", f"seed = {1000 * seed}\n")
    text = text.replace('model = "percolation"', f'model = "{options.model}"')
    text = text.replace('select = "value"', f'select = "{options.select}"')
    settings.write_text(text.replace("patience = 2\n", f"patience = {options.iterations}\n"))
    log = (folder / "loop.log").open("w")
    loop = subprocess.Popen(
        [
            *RYPT,
            "loop",
            campaign,
            "--serve",
            "--port",
            "0",
            "--yes",
            "--poll",
            "1",
            "--max-iterations",
            str(options.iterations),
            "-o",
            result,
            "--json",
        ],
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
    )
    workers = None
    try:
        while not (campaign / "market").exists() and loop.poll() is None:
            try:
                loop.wait(0.2)
            except subprocess.TimeoutExpired:
                continue
        workers = subprocess.Popen(
            [
                *RYPT,
                "simulate",
                "--at",
                campaign / "market",
                "--truth",
                corpus / f"{options.tune}.truth.jsonl",
                "--workers",
                str(options.workers),
                "--accuracy",
                str(options.accuracy),
                "--spam",
                str(options.spam),
                "--seed",
                str(seed),
                "--watch",
                "-q",
            ],
            stdout=subprocess.DEVNULL,
            stderr=log,
        )
        out, _ = loop.communicate(timeout=3600)
    finally:
        for process in (loop, workers):
            if process is not None and process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait(30)
    if loop.returncode:
        raise RuntimeError((folder / "loop.log").read_text()[-2000:])
    return result, json.loads(out)


def one_seed(corpus: Path, seed: int, options: argparse.Namespace) -> dict:
    folder = Path(options.keep or corpus).resolve() / f"seed{seed}"
    folder.mkdir(parents=True)
    truth = f"acceptability:Acceptability(part={corpus / options.tune})"
    weights = {
        "BLEU": tune_to("BLEU", "bleu", corpus, folder, seed, options),
        "truth": tune_to("truth", truth, corpus, folder, seed, options),
    }
    weights["RYPT"], told = tune_to_rypt(corpus, folder, seed, options)
    found = {"seed": seed, "loop": told}
    for name, each in weights.items():
        found[name] = {part: accepted(corpus, each, part, folder) for part in (options.tune, UNSEEN)}
    print(json.dumps(found), file=sys.stderr, flush=True)
    if not options.keep:
        shutil.rmtree(folder)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--tune", default="heldout")
    parser.add_argument("--more", type=int, default=500, help="segments to test on")
    parser.add_argument("--weights", type=Path, help="to start with [all 1]")
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
        corpus = Path(scratch)
        run(sys.executable, GENERATOR / "make_corpus.py", "--output", corpus, "--more", options.more)
        run(
            sys.executable,
            DECODER / "train.py",
            "--source",
            corpus / "train.de",
            "--target",
            corpus / "train.en",
            "--output",
            corpus / "model",
        )
        ones = re.sub(r" -?[\d.]+", " 1", (DECODER / "weights.init").read_text())
        (corpus / START).write_text(options.weights.read_text() if options.weights else ones)
        baseline = {part: accepted(corpus, corpus / START, part, corpus) for part in (options.tune, UNSEEN)}
        seeds = range(options.first, options.first + options.seeds)
        rows = [
            {"baseline": baseline, **row} for row in pool.map(lambda s: one_seed(corpus, s, options), seeds)
        ]
    report(rows, options)


def report(rows: list[dict], options: argparse.Namespace) -> None:
    """Means and spreads over seeds, and how often RYPT's weights are better than BLEU's."""
    table = []
    for part, where in ((options.tune, "tuned on"), (UNSEEN, f"{options.more} unseen")):
        for at, what in enumerate(("constituents", "segments")):
            values = {name: [100 * row[name][part][at] for row in rows] for name in SYSTEMS}
            better = sum(a > b for a, b in zip(values["RYPT"], values["BLEU"], strict=True))
            table.append([where, what, *map(mean_and_spread, values.values()), f"{better} of {len(rows)}"])
    print(tabulate(table, ["", "acceptable, %", *SYSTEMS, "RYPT > BLEU"]))
    per_iteration = []
    for number in range(options.iterations):
        told = [row["loop"]["iterations"][number] for row in rows if len(row["loop"]["iterations"]) > number]
        told = [
            iteration for iteration in told if iteration["after"] is not None
        ]  # the last one is only decoded
        if told:
            means = {
                name: statistics.mean(float(t[name]) for t in told)
                for name in ("labels", "reused", "questions", "cost", "before", "after")
            }
            per_iteration.append([number + 1, len(told), *means.values()])
    names = [
        "iteration",
        "runs",
        "labels bought",
        "reused",
        "of questions",
        "cost, $",
        "RYPT before",
        "after",
    ]
    print("\n" + tabulate(per_iteration, names, floatfmt=("", "", ".0f", ".0f", ".0f", ".2f", ".4f", ".4f")))
    spent = [float(row["loop"]["spent"]) for row in rows]
    print(f"\nspent ${statistics.mean(spent):.2f} a run; workers and their labels are SIMULATED")


def mean_and_spread(values: list[float]) -> str:
    """Mean ± standard deviation."""
    return f"{statistics.mean(values):.1f} ± {statistics.stdev(values) if len(values) > 1 else 0:.1f}"


if __name__ == "__main__":
    main()
