"""Word alignment that is always at hand: IBM model 1 with a preference for the diagonal, in compiled code.

    diagonal_links(pairs)     # links of each pair in both directions

The model is that of Dyer, Chahuneau & Smith (2013), "A Simple, Fast, and Effective Reparameterization of IBM Model 2":
each target word comes from one source word or from none; a source word is likely where it stands as far along its
sentence as the target word does along its own. Translation probabilities are learned by variational Bayes in a few
rounds over all pairs. There is no random number in it: the same pairs give the same links.
"""

import math
from collections.abc import Sequence

import numpy as np

from rypt.arrays import Floats, Ids, Ints
from rypt.compiled import compiled
from rypt.text import Watch, unwatched
from rypt.texts.alignment import Links
from rypt.tools.sentence_pairs import Pair

ROUNDS = 5
NOWHERE = 0.08  # the probability that a word has no source word
TENSION = 4.0  # how much the diagonal is preferred
ALPHA = 0.01  # of the Dirichlet prior of translations: small, so that words have few of them
CELLS = 4_000_000  # pairs of words that are sorted at a time
VERSION = "diagonal 1"


def diagonal_links(pairs: Sequence[Pair], watch: Watch = unwatched) -> tuple[list[Links], list[Links]]:
    """The links of pairs from source to candidate, and from candidate to source, both as (source, candidate)."""
    turned = [(target, source) for source, target in pairs]
    forward, backward = (
        _one_direction(side, watch, way) for side, way in ((pairs, "forward"), (turned, "backward"))
    )
    return forward, [tuple(sorted((j, i) for i, j in links)) for links in backward]


def _one_direction(pairs: Sequence[Pair], watch: Watch, way: str) -> list[Links]:
    """For each target word the source word it comes from."""
    sources, source_starts = _numbered([source for source, _ in pairs], 1)  # 0 is no word
    targets, target_starts = _numbered([target for _, target in pairs], 0)
    firsts, seconds = _word_pairs(sources, source_starts, targets, target_starts)
    probabilities = np.full(len(seconds), 1.0 / max(1, int(targets.max(initial=0)) + 1))
    for _ in watch(range(ROUNDS), f"align {way}", ROUNDS):
        counts = np.zeros(len(seconds))
        _expect(sources, source_starts, targets, target_starts, firsts, seconds, probabilities, counts)
        _maximize(firsts, counts, probabilities)
    chosen = np.full(len(targets), -1, np.int32)
    _decide(sources, source_starts, targets, target_starts, firsts, seconds, probabilities, chosen)
    origins = chosen.tolist()
    return [
        tuple(sorted((origin, j) for j, origin in enumerate(origins[start:stop]) if origin >= 0))
        for start, stop in zip(target_starts[:-1].tolist(), target_starts[1:].tolist(), strict=True)
    ]


def _numbered(sentences: Sequence[Sequence[str]], first: int) -> tuple[Ids, Ints]:
    """Words in lower case as numbers from ``first`` on, one sentence after the other, and where each begins."""
    numbers: dict[str, int] = {}
    ids = [
        numbers.setdefault(word.lower(), len(numbers) + first) for sentence in sentences for word in sentence
    ]
    return np.array(ids, np.int32), np.cumsum([0, *map(len, sentences)], dtype=np.int64)


def _word_pairs(sources: Ids, source_starts: Ints, targets: Ids, target_starts: Ints) -> tuple[Ints, Ids]:
    """The target words that stand in a pair with each source word, sorted, and where those of each word begin."""
    keys = np.unique(targets).astype(np.int64)  # with no source word, whose number is 0
    begin, count = 0, len(source_starts) - 1
    cells = np.concatenate([[0], np.cumsum(np.diff(source_starts) * np.diff(target_starts))])
    while begin < count:
        stop = max(begin + 1, int(np.searchsorted(cells, cells[begin] + CELLS)) - 1)
        chunk = [
            (sources[source_starts[n] : source_starts[n + 1], None].astype(np.int64) << 32)
            + targets[None, target_starts[n] : target_starts[n + 1]]
            for n in range(begin, stop)
        ]
        keys = np.union1d(keys, np.concatenate([products.ravel() for products in chunk]))
        begin = stop
    words = int(sources.max(initial=0)) + 1
    firsts = np.searchsorted(keys, np.arange(words + 1, dtype=np.int64) << 32)
    return firsts.astype(np.int64), (keys & 0xFFFFFFFF).astype(np.int32)


@compiled
def _place(firsts: Ints, seconds: Ids, source: int, target: int) -> np.int64:
    """Where a pair of words stands in the table."""
    low, high = firsts[source], firsts[source + 1]
    while low + 1 < high:
        middle = (low + high) // 2
        if seconds[middle] <= target:
            low = middle
        else:
            high = middle
    return np.int64(low)


@compiled
def _shares(
    words: Ids,
    target: int,
    along: float,
    firsts: Ints,
    seconds: Ids,
    probabilities: Floats,
    places: Ints,
    out: Floats,
) -> None:
    """How likely a target word comes from each source word and, last, from none, not normalised; and their places."""
    size = len(words)
    near = 0.0
    for i in range(size):
        out[i] = math.exp(-TENSION * abs((i + 0.5) / size - along))
        near += out[i]
    for i in range(size):
        places[i] = _place(firsts, seconds, words[i], target)
        out[i] *= (1 - NOWHERE) / near * probabilities[places[i]]
    places[size] = _place(firsts, seconds, 0, target)
    out[size] = NOWHERE * probabilities[places[size]]


@compiled
def _expect(
    sources: Ids,
    source_starts: Ints,
    targets: Ids,
    target_starts: Ints,
    firsts: Ints,
    seconds: Ids,
    probabilities: Floats,
    counts: Floats,
) -> None:
    """Add to ``counts`` how often each pair of words is expected to be linked."""
    for n in range(len(source_starts) - 1):
        words = sources[source_starts[n] : source_starts[n + 1]]
        at, length = target_starts[n], target_starts[n + 1] - target_starts[n]
        places, shares = np.empty(len(words) + 1, np.int64), np.empty(len(words) + 1)
        for j in range(length):
            _shares(
                words, targets[at + j], (j + 0.5) / length, firsts, seconds, probabilities, places, shares
            )
            total = shares.sum()
            if total > 0:
                for i in range(len(places)):
                    counts[places[i]] += shares[i] / total


@compiled
def _digamma(x: float) -> float:
    """The derivative of the logarithm of the gamma function, for x > 0."""
    result = 0.0
    while x < 7:
        result -= 1 / x
        x += 1
    x -= 0.5
    inverse = 1 / (x * x)
    return result + math.log(x) + inverse / 24 - 7 * inverse * inverse / 960 + 31 * inverse**3 / 8064


@compiled
def _maximize(firsts: Ints, counts: Floats, probabilities: Floats) -> None:
    """The translation probabilities of each source word, from the expected counts."""
    for word in range(len(firsts) - 1):
        total = 0.0
        for place in range(firsts[word], firsts[word + 1]):
            total += counts[place] + ALPHA
        if total > 0:
            whole = _digamma(total)
            for place in range(firsts[word], firsts[word + 1]):
                probabilities[place] = math.exp(_digamma(counts[place] + ALPHA) - whole)


@compiled
def _decide(
    sources: Ids,
    source_starts: Ints,
    targets: Ids,
    target_starts: Ints,
    firsts: Ints,
    seconds: Ids,
    probabilities: Floats,
    chosen: Ids,
) -> None:
    """The most likely source word of each target word, -1 where that is none."""
    for n in range(len(source_starts) - 1):
        words = sources[source_starts[n] : source_starts[n + 1]]
        at, length = target_starts[n], target_starts[n + 1] - target_starts[n]
        places, shares = np.empty(len(words) + 1, np.int64), np.empty(len(words) + 1)
        for j in range(length):
            _shares(
                words, targets[at + j], (j + 0.5) / length, firsts, seconds, probabilities, places, shares
            )
            best = len(words)
            for i in range(len(words)):
                if shares[i] > shares[best]:
                    best = i
            chosen[at + j] = best if best < len(words) else -1
