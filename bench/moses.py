"""These programs beside Moses' own: CPU seconds, BLEU on the segments they tune on, and BLEU on the other half.

    python bench/moses.py [FOLDER] [--moses BIN] [--seeds 3] [--segments 400] [--candidates 100]

Without a FOLDER (``nbest`` or ``nbest.gz``, ``ref.0`` … and ``init.opt``) the list is made from a seed. Its even and odd
segments are tuned on in turn, by the command lines of mert-moses.pl: the programs of ``rypt moses-tools`` and, where
they are on the PATH or in the folder BIN, those of Moses; then by ``rypt tune``. CPU seconds are those of the programs,
with compiled code on the disk, for one seed and half; all translations are chosen and scored by the same code.
"""

import argparse
import gzip
import resource
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sacrebleu.metrics.bleu import BLEU

WORDS, FEATURES, STARTS = 400, 8, 20
RYPT = [sys.executable, "-c", "from rypt.cli import main; main()"]


@dataclass
class Half:
    """Some segments, numbered from 0, in a folder of their own."""

    folder: Path
    rows: list[tuple[int, str, list[float]]]  # segment, text, features
    references: list[list[str]]
    start: list[float]

    def write(self, labels: list[str]) -> None:
        self.folder.mkdir(parents=True)
        for i, document in enumerate(self.references):
            (self.folder / f"ref.{i}").write_text("".join(f"{line}\n" for line in document))
        lines = []
        for segment, text, values in self.rows:
            named = " ".join(f"{label}= {value:.6g}" for label, value in zip(labels, values, strict=True))
            lines.append(f"{segment} ||| {text} ||| {named} ||| 0\n")
        (self.folder / "nbest").write_text("".join(lines))
        rows = (self.start, [0.0] * len(labels), [1.0] * len(labels))
        (self.folder / "init.opt").write_text("".join(" ".join(map(str, row)) + "\n" for row in rows))
        weights = zip(labels, self.start, strict=True)
        (self.folder / "weights").write_text("".join(f"{label}= {value}\n" for label, value in weights))

    def bleu(self, weights: list[float]) -> float:
        best: dict[int, tuple[float, str]] = {}
        for segment, text, values in self.rows:
            score = float(np.dot(values, weights))
            if segment not in best or score > best[segment][0]:
                best[segment] = score, text
        texts = [best[segment][1] for segment in range(len(self.references[0]))]
        metric = BLEU(tokenize="none", smooth_method="none", force=True)
        return float(metric.corpus_score(texts, self.references).score)


def made_list(segments: int, candidates: int, seed: int) -> tuple[list, list[list[str]], list[float]]:
    """Candidates that keep some words of a reference, with features that know, noisily, how many."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=FEATURES) * (rng.random(FEATURES) < 0.6)
    rows, references = [], []
    for segment in range(segments):
        reference = rng.integers(WORDS, size=rng.integers(8, 25))
        references.append(" ".join(f"w{word}" for word in reference))
        for _ in range(candidates):
            kept = rng.random()
            words = np.where(
                rng.random(len(reference)) < kept, reference, rng.integers(WORDS, size=len(reference))
            )
            words = words[: rng.integers(len(words) - 3, len(words) + 1)]
            values = quality * kept * 2 + rng.normal(size=FEATURES)
            values[0] = -len(words)
            rows.append((segment, " ".join(f"w{word}" for word in words), values.round(4).tolist()))
    return rows, [references], [1 / FEATURES] * FEATURES


def read_list(folder: Path) -> tuple[list, list[list[str]], list[float]]:
    path = next(path for path in (folder / "nbest", folder / "nbest.gz") if path.exists())
    rows = []
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            segment, text, features = (field.strip() for field in line.split("|||")[:3])
            values = [float(word) for word in features.split() if not word.endswith("=")]
            rows.append((int(segment), text, values))
    references = [path.read_text(encoding="utf-8").splitlines() for path in sorted(folder.glob("ref.[0-9]"))]
    start = [float(word) for word in (folder / "init.opt").read_text().splitlines()[0].split()]
    return rows, references, start


def halves(
    rows: list, references: list[list[str]], start: list[float], place: Path, order: list[int] | None = None
) -> list[Half]:
    """The even and the odd segments, or the first and the second half of an order of all."""
    size = len(references[0])
    chosen = [range(0, size, 2), range(1, size, 2)] if order is None else np.array_split(order, 2)
    parts = []
    for number, segments in enumerate(sorted(each) for each in chosen):
        place_of = {segment: i for i, segment in enumerate(segments)}
        own = [(place_of[segment], text, values) for segment, text, values in rows if segment in place_of]
        documents = [[document[segment] for segment in segments] for document in references]
        parts.append(Half(place / str(number), own, documents, start))
        parts[-1].write([f"F{i}" for i in range(len(start))])
    return parts


def run(command: list[str], folder: Path) -> float:
    """CPU seconds of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def by_programs(tools: Path, half: Half, seed: int) -> tuple[float, list[float]]:
    """CPU seconds and weights of ``extractor`` and ``mert``."""
    references = ",".join(f"ref.{i}" for i in range(len(half.references)))
    files = ["--scfile", "scores.dat", "--ffile", "features.dat"]
    extractor = [str(tools / "extractor"), "--scconfig", "case:true", *files, "-r", references, "-n", "nbest"]
    mert = [str(tools / "mert"), "-d", str(len(half.start)), "--scconfig", "case:true", *files]
    mert += ["--ifile", "init.opt", "-n", str(STARTS), "-r", str(seed)]
    seconds = run(extractor, half.folder) + run(mert, half.folder)
    return seconds, [float(word) for word in (half.folder / "weights.txt").read_text().split()]


def by_tune(aim: str, half: Half, seed: int) -> tuple[float, list[float]]:
    """CPU seconds and weights of ``rypt tune``."""
    references = [word for i in range(len(half.references)) for word in ("--references", f"ref.{i}")]
    command = [*RYPT, "tune", "nbest", *references, "--weights", "weights", "-o", "tuned", "-q"]
    seconds = run([*command, "--metric", "bleu(smooth=none)", "--aim", aim, "--seed", str(seed)], half.folder)
    return seconds, [float(line.split()[1]) for line in (half.folder / "tuned").read_text().splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--moses", type=Path, metavar="BIN")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--segments", type=int, default=400)
    parser.add_argument("--candidates", type=int, default=100)
    options = parser.parse_args()
    found = options.moses or (Path(where).parent if (where := shutil.which("extractor")) else None)
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        data = (
            read_list(options.folder)
            if options.folder
            else made_list(options.segments, options.candidates, 1)
        )
        parts = halves(*data, place)
        run([*RYPT, "moses-tools", "--folder", str(place / "tools")], place)
        methods = {
            "rypt moses-tools": lambda half, seed: by_programs(place / "tools", half, seed),
            "rypt tune --aim list": lambda half, seed: by_tune("list", half, seed),
            "rypt tune": lambda half, seed: by_tune("unseen", half, seed),
        }
        if found:
            methods = {f"Moses ({found})": lambda half, seed: by_programs(found, half, seed), **methods}
        else:
            print("Moses' programs are not on the PATH: name their folder with --moses")
        print(f"{'':40} {'CPU s':>7} {'BLEU':>8} {'other half':>11}")
        given = [[part.bleu(part.start) for part in order] for order in (parts, parts[::-1])]
        print(f"{'weights to start with':40} {'':>7} {np.mean(given):8.3f} {np.mean(given):11.3f}")
        for name, method in methods.items():
            method(parts[0], 1)  # compiles
            rows = []
            for seed in range(1, options.seeds + 1):
                for half, other in (parts, parts[::-1]):
                    seconds, weights = method(half, seed)
                    rows.append((seconds, half.bleu(weights), other.bleu(weights)))
            seconds, own, others = np.mean(rows, axis=0)
            print(f"{name:40} {seconds:7.2f} {own:8.3f} {others:11.3f}", flush=True)


if __name__ == "__main__":
    main()
