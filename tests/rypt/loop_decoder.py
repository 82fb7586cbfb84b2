"""A decoder for tests of the loop: of all combinations of phrases the best few under the weights, with alignments.

Each segment has three constituents of two words; each constituent has four phrases, of which one or two are
acceptable. Features follow what is acceptable, with noise, and the weights to start with go against them.
"""

import re
from itertools import product
from pathlib import Path

import numpy as np

SEGMENTS, CONSTITUENTS, PHRASES, SIZE = 6, 3, 4, 5
SPANS = [(2 * i, 2 * i + 2) for i in range(CONSTITUENTS)]
START = "LM0= -0.4\nTM0= 0.9\nWordPenalty0= 0.1\n"


def phrase(segment, constituent, number):
    return f"w{segment}x{constituent} y{number}"


def is_acceptable(text):
    """Whether a phrase is a translation of the constituent it stands for."""
    found = re.fullmatch(r"w(\d+)x(\d+) y(\d+)", text)
    if found is None:
        return False
    segment, constituent, number = map(int, found.groups())
    return number == (segment + constituent) % PHRASES or (number == 3 and segment % 2 == 0)


def pool(segment):
    """All candidates of a segment: their phrases and features."""
    rng = np.random.default_rng(segment)
    own = rng.normal(size=(CONSTITUENTS, PHRASES, 2))
    rows = []
    for numbers in product(range(PHRASES), repeat=CONSTITUENTS):
        texts = [phrase(segment, c, n) for c, n in enumerate(numbers)]
        good = sum(map(is_acceptable, texts))
        noise = sum(own[c, n] for c, n in enumerate(numbers))
        features = [good + 0.7 * noise[0], noise[1] - 0.3 * good, -6.0 + 0.1 * (numbers[0] % 2)]
        rows.append((" ".join(texts), [round(float(value), 4) for value in features]))
    return rows


def read_weights(path):
    values = [line.split() for line in Path(path).read_text(encoding="utf-8").splitlines()]
    return np.array([float(value) for _, value in values])


def decode(iteration, weights, nbest):
    vector = read_weights(weights)
    links = " ".join(f"{i}-{i}" for i in range(2 * CONSTITUENTS))
    lines = []
    for segment in range(SEGMENTS):
        ranked = sorted(pool(segment), key=lambda row: -float(np.dot(row[1], vector)))[:SIZE]
        for text, (lm, tm, wp) in ranked:
            total = float(np.dot([lm, tm, wp], vector))
            features = f"LM0= {lm} TM0= {tm} WordPenalty0= {wp}"
            lines.append(f"{segment} ||| {text} ||| {features} ||| {total:.4f} ||| {links}\n")
    Path(nbest).write_text("".join(lines), encoding="utf-8")
