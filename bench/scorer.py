"""RYPT statistics beside sacrebleu's BLEU statistics, on the same candidates, in one run, on one core.

    python bench/scorer.py [--segments 2000] [--candidates 100]

Segments, trees, candidates and votes are made up from a seed: about 22 source tokens, 40 constituents, 23 candidate
tokens, and votes on two thirds of the phrases of the candidates' frontier constituents.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

from rypt.records import Candidate, Votes
from rypt.scoring.models import SeverityModel
from rypt.scoring.queries import queries
from rypt.scoring.scorer import Scorer
from rypt.texts.trees import SourceTree


def random_tree(rng: np.random.Generator, size: int, vocabulary: list[str]) -> SourceTree:
    tokens = [vocabulary[i] for i in rng.zipf(1.3, size) % len(vocabulary)]

    def brackets(start: int, stop: int) -> str:
        if stop - start == 1:
            return f"(T {tokens[start]})"
        cuts = sorted(
            rng.choice(np.arange(start + 1, stop), min(stop - start - 1, int(rng.integers(1, 3))), False)
        )
        parts = zip([start, *cuts], [*cuts, stop], strict=True)
        return f"(N {' '.join(brackets(int(a), int(b)) for a, b in parts)})"

    return SourceTree.from_brackets(brackets(0, size))


def random_candidates(
    rng: np.random.Generator, segment: str, tree: SourceTree, count: int, vocabulary: list[str]
) -> list[Candidate]:
    """Variants of one translation: a few words replaced, dropped or moved, as in an n-best list."""
    size = len(tree.tokens)
    base = [vocabulary[i] for i in rng.zipf(1.3, size) % len(vocabulary)]
    made = []
    for _ in range(count):
        words = list(base)
        for place in rng.integers(0, size, 4):
            words[place] = base[place] + f"{rng.integers(0, 3)}"
        order = np.argsort(np.arange(size) + rng.normal(0, 0.6, size))
        text = " ".join(words[i] for i in order)
        links = " ".join(f"{source}-{target}" for target, source in enumerate(order) if rng.random() > 0.08)
        made.append(Candidate(segment, text, links))
    return made


def make(
    segments: int, candidates: int, seed: int
) -> tuple[dict[str, SourceTree | None], list[Candidate], list[Votes]]:
    rng = np.random.default_rng(seed)
    vocabulary = [f"w{i:x}" * (1 + i % 2) for i in range(20000)]
    trees: dict[str, SourceTree | None] = {
        str(i): random_tree(rng, int(rng.integers(8, 37)), vocabulary) for i in range(segments)
    }
    made = [
        candidate
        for segment, tree in trees.items()
        if tree
        for candidate in random_candidates(rng, segment, tree, candidates, vocabulary)
    ]
    votes = [
        Votes(query.segment, query.span, query.phrase, *((1, 0) if rng.random() < 0.6 else (0, 1)))
        for query in queries(trees, made)
        if rng.random() < 2 / 3
    ]
    return trees, made, votes


def stats_seconds(scorer: Scorer, candidates: list[Candidate]) -> float:
    """The statistics of all candidates, the best of three."""
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        scorer.stats(candidates)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def bleu_seconds(candidates: list[Candidate], segments: int, per_segment: int) -> float:
    """sacrebleu's own statistics with tokenize=none, the reference side cached beforehand, as a tuner would."""
    from sacrebleu.metrics.bleu import BLEU

    references = [candidates[i * per_segment].text for i in range(segments)]
    bleu = BLEU(tokenize="none", references=[references])
    columns = [[candidates[i * per_segment + k].text for i in range(segments)] for k in range(per_segment)]
    start = time.perf_counter()
    for column in columns:
        bleu._extract_corpus_statistics(column, None)
    return time.perf_counter() - start


def cold_seconds() -> float:
    """The first call of a new process that finds nothing compiled."""
    code = (
        "import time; start = time.perf_counter()\n"
        "from rypt.scoring.scorer import Scorer\nfrom rypt.records import Candidate\n"
        "from rypt.texts.trees import SourceTree\n"
        "Scorer({'1': SourceTree.from_brackets('(A a)')}, []).stats([Candidate('1', 'a', '0-0')])\n"
        "print(time.perf_counter() - start)"
    )
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        )
    return float(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--segments", type=int, default=2000)
    parser.add_argument("--candidates", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    trees, candidates, votes = make(options.segments, options.candidates, options.seed)
    nodes = sum(len(tree.constituents) for tree in trees.values() if tree)
    print(f"{len(trees)} segments, {nodes / len(trees):.1f} constituents each, {len(candidates)} candidates")
    start = time.perf_counter()
    scorer = Scorer(trees, votes)
    built = time.perf_counter() - start
    scorer.stats(candidates[:1])
    stats = scorer.stats(candidates)
    ours = stats_seconds(scorer, candidates)
    severity = Scorer(trees, votes, model=SeverityModel())
    severity.stats(candidates[:1])
    graded = stats_seconds(severity, candidates)
    print(f"{len(votes)} judged keys; table built in {built:.2f} s")
    print(f"a new process, imports and first call: {cold_seconds():.1f} s when nothing is compiled yet")
    print(f"RYPT of all candidates {scorer.score(stats.sum(axis=0))[0]:.4f}  {scorer.signature}")
    theirs = min(bleu_seconds(candidates, options.segments, options.candidates) for _ in range(2))
    each = 1e6 / len(candidates)
    print(f"RYPT statistics  {ours:7.3f} s  {ours * each:7.2f} us a candidate (best of 3)")
    print(
        f"  model severity {graded:7.3f} s  {graded * each:7.2f} us a candidate, {graded / ours:.2f} times percolation"
    )
    print(
        f"BLEU statistics  {theirs:7.3f} s  {theirs * each:7.2f} us a candidate (sacrebleu, tokenize=none, best of 2)"
    )
    print(f"ratio {theirs / ours:.1f}")


if __name__ == "__main__":
    main()
