"""A decoder for tests: of a fixed pool of candidates, the ten best under the weights; the same pool as references."""

import json
import os
import signal
import sys
from pathlib import Path

import numpy as np

SEGMENTS, POOL, SIZE = 12, 60, 10
TEXT = "the a house red old cat sits on mat green is was big small dog"
WORDS = TEXT.split()
NAMES = ("LM0", "TM0_0", "TM0_1", "WordPenalty0")


def pool(segment):
    """Candidates with features that say, with noise, how much of the reference they keep."""
    rng = np.random.default_rng(segment)
    reference = rng.choice(WORDS, size=9).tolist()
    rows = []
    for _ in range(POOL):
        text = [word if rng.random() < 0.75 else str(rng.choice(WORDS)) for word in reference]
        good = sum(a == b for a, b in zip(text, reference, strict=True))
        features = [good / 3 + rng.normal() * 0.5, rng.normal(), good / 6 + rng.normal(), -len(text)]
        rows.append((" ".join(text), [round(float(value), 4) for value in features]))
    return " ".join(reference), rows


def read_weights(path):
    values = {}
    for line in Path(path).read_text().splitlines():
        name, *rest = line.split()
        values.update(
            {f"{name[:-1]}_{i}" if len(rest) > 1 else name[:-1]: float(v) for i, v in enumerate(rest)}
        )
    return np.array([values[name] for name in NAMES])


def decode(iteration, weights, nbest):
    """A decoder as `mert.decoder` calls it."""
    vector = read_weights(weights)
    lines = []
    for segment in range(SEGMENTS):
        _, rows = pool(segment)
        ranked = sorted(rows, key=lambda row: -float(np.dot(row[1], vector)))[:SIZE]
        for text, (lm, tm0, tm1, wp) in ranked:
            total = float(np.dot([lm, tm0, tm1, wp], vector))
            lines.append(
                f"{segment} ||| {text} ||| LM0= {lm} TM0= {tm0} {tm1} WordPenalty0= {wp} ||| {total:.4f}\n"
            )
    Path(nbest).write_text("".join(lines), encoding="utf-8")


def write_set(folder):
    """References and weights to start with."""
    folder.mkdir(exist_ok=True)
    (folder / "ref").write_text("".join(pool(segment)[0] + "\n" for segment in range(SEGMENTS)))
    (folder / "weights").write_text("LM0= -0.5\nTM0= 1.0 0.1\nWordPenalty0= 0.1\n")
    return folder


def tuner():
    """The process that runs the loop: the nearest ancestor that was started as one."""
    process = os.getppid()
    while b"rypt.cli" not in Path(f"/proc/{process}/cmdline").read_bytes():
        process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    return process


if (
    __name__ == "__main__"
):  # toy.py WEIGHTS NBEST ITERATION [PLAN]: the plan says what goes wrong in which iteration
    weights_path, nbest_path, number = sys.argv[1:4]
    trouble = json.loads(sys.argv[4]).get(number) if len(sys.argv) > 4 else None
    if trouble == "crash":
        print("loading the model\nsegmentation fault in phrase 7", file=sys.stderr)
        sys.exit(3)
    decode(int(number), weights_path, nbest_path)
    written = Path(nbest_path)
    if trouble == "half":
        written.write_text(written.read_text()[:-17])
    if trouble == "empty":
        written.write_text("")
    if trouble == "nothing":
        written.unlink()
    if trouble == "garbage":
        written.write_text(written.read_text() + "7 ||| x ||| LM0= many ||| 0\n")
    if trouble == "kill":  # the tuner, once, with half a list written
        mark = Path(weights_path).with_name("killed")
        if not mark.exists():
            mark.touch()
            written.write_text(written.read_text()[:100])
            os.kill(tuner(), signal.SIGKILL)
