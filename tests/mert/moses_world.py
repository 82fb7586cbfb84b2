"""A made-up decoder, and Moses' programs run as ``mert-moses.pl`` runs them."""

import gzip
import re
import subprocess
import sys

import numpy as np

from mert.moses.scripts import write_scripts

WORDS = ["the", "a", "cat", "dog", "house", "sees", "big", "small", "red", "runs", "to", "of", "in"]
LABELS = {"LM0": 1, "TM0": 2, "WordPenalty0": 1}
NAMES = ["LM0_0", "TM0_0", "TM0_1", "WordPenalty0_0"]
BEST_POINT = re.compile(r"Best point:\s*([\s\d\.\-e]+?)\s*=> ([\-\d\.]+)")  # as in mert-moses.pl


class World:
    """Segments with references and all candidates a decoder could give, with features that know a little."""

    def __init__(self, segments=8, candidates=12, references=1, seed=0, sparse=False):
        rng = np.random.default_rng(seed)
        self.references = [[], *([] for _ in range(references - 1))]
        self.candidates = []
        for _ in range(segments):
            words = rng.choice(WORDS, size=rng.integers(5, 11)).tolist()
            for document in self.references:
                document.append(" ".join(self.changed(words, 1, rng)))
            found = []
            for _ in range(candidates):
                edits = int(rng.integers(0, 5))
                text = self.changed(words, edits, rng) + ["of"] * int(rng.integers(0, 2))
                known = [-edits + rng.normal(scale=2), rng.normal(), edits + rng.normal(scale=3), -len(text)]
                extra = {f"pair_{rng.integers(4)}": 1.0} if sparse else {}
                found.append((" ".join(text), [round(float(value), 4) for value in known], extra))
            self.candidates.append(found)

    @staticmethod
    def changed(words, edits, rng):
        words = list(words)
        for _ in range(edits):
            words[rng.integers(len(words))] = str(rng.choice(WORDS))
        return words

    def write_references(self, folder):
        paths = [folder / f"ref{i}" for i in range(len(self.references))]
        for path, lines in zip(paths, self.references, strict=True):
            path.write_text("".join(f"{line}\n" for line in lines))
        return paths

    def lines(self, weights, size):
        """The best candidates of each segment under these weights, as an n-best list."""
        for segment, found in enumerate(self.candidates):
            order = sorted(range(len(found)), key=lambda i: -float(np.dot(found[i][1], weights)))
            for i in order[:size]:
                text, values, extra = found[i]
                named, rest = [], [f"{value:g}" for value in values]
                for label, count in LABELS.items():
                    named.append(f"{label}= {' '.join(rest[:count])}")
                    del rest[:count]
                named += [f"{name}= {value:g}" for name, value in extra.items()]
                yield f"{segment} ||| {text} ||| {' '.join(named)} ||| {float(np.dot(values, weights)):g}\n"

    def write_nbest(self, path, weights, size=100):
        with gzip.open(path, "wt", encoding="utf-8") as stream:
            stream.writelines(self.lines(weights, size))
        return path


def tools(folder):
    return write_scripts(folder, sys.executable)


def shell(folder, command, out, err):
    """Run a command as mert-moses.pl does; its exit code."""
    return subprocess.run(
        ["sh", "-c", f"{command} > {out} 2> {err}"], cwd=folder, timeout=120, check=False
    ).returncode


def best_point(log):
    """Weights and score as mert-moses.pl finds them in the log."""
    found = BEST_POINT.search(log)
    assert found, log
    return [float(word) for word in found[1].split()], float(found[2])
