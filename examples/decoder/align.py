"""Word alignment: IBM model 1 in both directions, then one alignment from the two.

Model 1 (Brown et al. 1993) is a product of word translation probabilities t(f | e). Like Dyer et al. (2013) we let a
word prefer partners at its relative position, which settles the ties of model 1 when a word occurs twice.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Links = set[tuple[int, int]]
Sentence = NDArray[np.int64]  # numbers of words
DIAGONAL = 1.5  # how much a word prefers its relative position
NULL_SHARE = 0.02
NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def number_words(sentences: Sequence[Sequence[str]]) -> tuple[list[Sentence], int]:
    """Sentences as numbers of words from 1 (0 is the empty word), and how many numbers there are."""
    numbers: dict[str, int] = {}
    numbered = [
        np.array([numbers.setdefault(word, len(numbers) + 1) for word in words]) for words in sentences
    ]
    return numbered, len(numbers) + 1


def align_corpus(
    source: Sequence[Sequence[str]], target: Sequence[Sequence[str]], rounds: int = 6
) -> list[Links]:
    """Links (source position, target position) of each pair of sentences."""
    (sources, source_size), (targets, target_size) = number_words(source), number_words(target)
    forward = _align_one_way(sources, targets, target_size, rounds)
    backward = _align_one_way(targets, sources, source_size, rounds)
    return [
        symmetrize(
            {(j, i) for i, j in enumerate(ahead) if j >= 0}, {(i, j) for i, j in enumerate(back) if j >= 0}
        )
        for ahead, back in zip(forward, backward, strict=True)
    ]


def _align_one_way(
    sources: list[Sentence], targets: list[Sentence], target_size: int, rounds: int
) -> list[NDArray[np.int64]]:
    """For each target word the position of the source word that explains it best, -1 for the empty word.

    All cells (target word, source word or empty word) of all sentence pairs stand in flat arrays: ``pair`` is the
    number of the pair of words, ``owner`` the target token that the cell tries to explain.
    """
    prior = [_prior(len(f), len(e)) for f, e in zip(sources, targets, strict=True)]
    words = [np.concatenate(([0], f)) for f in sources]
    cells = [(f[None, :] * target_size + e[:, None]).ravel() for f, e in zip(words, targets, strict=True)]
    widths = np.concatenate([np.full(len(e), len(f)) for f, e in zip(words, targets, strict=True)])
    owner = np.repeat(np.arange(len(widths)), widths)
    pairs, pair = np.unique(np.concatenate(cells), return_inverse=True)
    conditions = pairs // target_size
    weight = np.concatenate([p.ravel() for p in prior])
    t = np.ones(len(pairs))
    for _ in range(rounds):
        joint = t[pair] * weight
        posterior = joint / np.bincount(owner, joint)[owner]
        counts = np.bincount(pair, posterior)
        t = counts / np.bincount(conditions, counts)[conditions]
    joint, best, start = t[pair] * weight, [], 0
    for p in prior:
        best.append(joint[start : start + p.size].reshape(p.shape).argmax(axis=1) - 1)
        start += p.size
    return best


def _prior(source_size: int, target_size: int) -> NDArray[np.float64]:
    """Prior of (target position, empty word and source positions); each row sums to one."""
    i = (np.arange(target_size)[:, None] + 0.5) / target_size
    j = (np.arange(source_size)[None, :] + 0.5) / source_size
    near = np.exp(-DIAGONAL * np.abs(i - j))
    near *= (1 - NULL_SHARE) / near.sum(axis=1, keepdims=True)
    return np.concatenate([np.full((target_size, 1), NULL_SHARE), near], axis=1)


def symmetrize(forward: Links, backward: Links) -> Links:
    """Grow-diag-final-and (Koehn et al. 2003): grow the intersection, then link words that are both still free."""
    links = forward & backward
    union = sorted(forward | backward)
    source, target = {i for i, _ in links}, {j for _, j in links}
    grown = True
    while grown:
        grown = False
        for i, j in union:
            near = any((i + down, j + right) in links for down, right in NEIGHBOURS)
            if near and (i, j) not in links and (i not in source or j not in target):
                links.add((i, j))
                source.add(i)
                target.add(j)
                grown = True
    for one_way in (forward, backward):
        for i, j in sorted(one_way):
            if i not in source and j not in target:
                links.add((i, j))
                source.add(i)
                target.add(j)
    return links
