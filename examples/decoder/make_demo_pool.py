"""Make the candidates that `rypt demo` ranks: lists of this decoder under several weights, merged, with their truth.

    python make_demo_pool.py --output ../../rypt/demo/data

The segments are those of ``dev`` and ``test`` (to tune on) and the first 120 of ``heldout`` (unseen). Each is decoded
with all weights 1, with ``weights.init`` and with eight random weights, 60 candidates each time. A text that several
lists have is written once. True acceptability is in the place of the score.
"""

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from accept import constituents, read_nbest, read_truth, share
from model import FEATURES

HERE = Path(__file__).resolve().parent
PARTS = {"tune": ("dev", "test"), "unseen": ("heldout",)}
SEGMENTS, RANDOM, SIZE = 120, 8, 60
SIGNED = (2, 3)  # the penalties for words and phrases, which may be rewards


def run(script: str, *arguments: object) -> None:
    """Run a script of the decoder."""
    subprocess.run(
        [sys.executable, HERE / f"{script}.py", *map(str, arguments)], check=True, stdout=subprocess.DEVNULL
    )


def weights(folder: Path) -> Iterator[Path]:
    """Files of weights to decode with."""
    rng = np.random.default_rng(1)
    size = sum(count for _, count in FEATURES)
    for number in range(RANDOM + 1):
        values = rng.dirichlet(np.ones(size)) * size if number else np.ones(size)
        for index in SIGNED if number else ():
            values[index] *= rng.choice([-1, 1])
        path, words = folder / f"{number}.weights", iter(f"{value:.4f}" for value in values)
        path.write_text(
            "".join(f"{name}= {' '.join(next(words) for _ in range(n))}\n" for name, n in FEATURES)
        )
        yield path
    yield HERE / "weights.init"


def write_texts(name: str, output: Path) -> None:
    """The segments, references, trees and truth of one part, numbered from 0."""
    for ending in ("de", "en", "trees"):
        lines = [line for part in PARTS[name] for line in corpus_lines(part, ending)[:SEGMENTS]]
        (output / f"{name}.{ending}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    truth, before = [], 0
    for part in PARTS[name]:
        count = min(SEGMENTS, len(corpus_lines(part, "de")))
        for record in map(json.loads, corpus_lines(part, "truth.jsonl")):
            if int(record["segment"]) < count:
                segment = str(before + int(record["segment"]))
                truth.append(json.dumps({**record, "segment": segment}, ensure_ascii=False))
        before += count
    write_gz(output / f"{name}.truth.jsonl.gz", truth)


def corpus_lines(part: str, ending: str) -> list[str]:
    return (HERE / "corpus" / f"{part}.{ending}").read_text(encoding="utf-8").splitlines()


def write_gz(path: Path, lines: list[str]) -> None:
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode(), 9, mtime=0))


def pool(name: str, output: Path, model: Path, lists: list[Path]) -> Iterator[str]:
    """The lines of the merged list, with rounded features and acceptability."""
    trees = (output / f"{name}.trees").read_text(encoding="utf-8").splitlines()
    scratch = model / "truth.jsonl"
    scratch.write_bytes(gzip.decompress((output / f"{name}.truth.jsonl.gz").read_bytes()))
    truth = read_truth(scratch)
    merged: dict[tuple[int, str], str] = {}
    for path in lists:
        candidates = (line for rows in read_nbest(path).values() for line in rows)
        lines = path.read_text(encoding="utf-8").splitlines()
        for line, candidate in zip(lines, candidates, strict=True):
            segment, text, features, _, _, links = line.split(" ||| ")
            values = (
                word if word.endswith("=") else f"{round(float(word), 3):.10g}" for word in features.split()
            )
            right = share(candidate, constituents(trees[int(segment)]), truth[segment])
            row = f"{segment} ||| {text} ||| {' '.join(values)} ||| {right:.3f} ||| {links}"
            merged.setdefault((int(segment), text), row)
    yield from (row for _, row in sorted(merged.items()))


def main() -> None:
    """Write the texts and lists of the demo."""
    parser = argparse.ArgumentParser(description="Make the candidates that the demo ranks.")
    parser.add_argument("--output", type=Path, required=True, help="folder for the demo's data")
    output = parser.parse_args().output
    with tempfile.TemporaryDirectory() as scratch:
        model = Path(scratch)
        run(
            "train",
            "--source",
            HERE / "corpus/train.de",
            "--target",
            HERE / "corpus/train.en",
            "--output",
            model,
        )
        for name in PARTS:
            write_texts(name, output)
            lists = []
            for number, path in enumerate(weights(model)):
                lists.append(model / f"{name}.{number}.nbest")
                texts = ["--model", model, "--weights", path, "--input", output / f"{name}.de"]
                run("decode", *texts, "--nbest", lists[-1], "--size", SIZE, "--beam", 30)
            write_gz(output / f"{name}.pool.gz", list(pool(name, output, model, lists)))


if __name__ == "__main__":
    main()
