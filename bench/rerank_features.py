"""Features of systems' outputs for `rerank.py`: what can be counted in texts and links, without any model to download.

All are arrays (segments, systems). Models of words, characters and translations are counted in the outputs of the
other segments, so nothing of a segment itself is in what judges it, and no human judgment is in any feature.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise

import numpy as np

Features = dict[str, np.ndarray]
Link = tuple[int, int]
SMOOTHING = 2.0  # how many words the shorter context is worth


@dataclass(frozen=True)
class Texts:
    """Tokens: of sources by segment, of outputs by segment and system, with their links, of references by segment."""

    sources: list[list[str]]
    outputs: list[list[list[str]]]
    links: list[list[list[Link]]]
    references: list[list[str]]

    @property
    def shape(self) -> tuple[int, int]:
        """Segments, systems."""
        return len(self.outputs), len(self.outputs[0])

    @cached_property
    def words(self) -> "NgramModel":
        """Models of word trigrams."""
        return NgramModel(self.outputs, self.references, 3)

    @cached_property
    def characters(self) -> "NgramModel":
        """Models of four characters."""
        spaced = [[list(" ".join(words)) for words in row] for row in self.outputs]
        return NgramModel(spaced, [list(" ".join(words)) for words in self.references], 4)


def standardised(features: Features) -> np.ndarray:
    """(segments, systems, features): without the segment's mean, which decides nothing, in units of what is left."""
    columns = []
    for values in features.values():
        away = values - values.mean(axis=1, keepdims=True)
        columns.append(away / (np.sqrt((away**2).mean()) or 1.0))
    return np.stack(columns, axis=2)


def text_features(texts: Texts) -> Features:
    """Everything that needs no reference."""
    surface = [
        [_surface(source, words, links) for words, links in zip(row, row_links, strict=True)]
        for source, row, row_links in zip(texts.sources, texts.outputs, texts.links, strict=True)
    ]
    found = {name: np.array([[one[name] for one in row] for row in surface]) for name in surface[0][0]}
    models = {
        "words of outputs": texts.words.of_outputs(),
        "characters of outputs": texts.characters.of_outputs(),
    }
    return found | consensus(texts) | lexicon(texts) | models


def reference_features(texts: Texts, tuning: np.ndarray) -> Features:
    """How probable outputs are for models of the references of the tuning half; a segment's own is never in them."""
    return {
        "words of references": texts.words.of_references(tuning),
        "characters of references": texts.characters.of_references(tuning),
    }


def system_features(texts: Texts) -> Features:
    """An indicator of each system."""
    segments, systems = texts.shape
    return {
        f"system {i}": np.tile(np.arange(systems) == i, (segments, 1)).astype(float) for i in range(systems)
    }


def _surface(source: list[str], words: list[str], links: list[Link]) -> dict[str, float]:
    """Lengths, links, copies, punctuation, numbers and repetitions of one output."""
    size = max(1, len(words))
    crossing = sum((a[0] - b[0]) * (a[1] - b[1]) < 0 for i, a in enumerate(links) for b in links[:i])
    pairs = list(pairwise(words))
    letters = [word for word in words if word.isalpha() and len(word) > 3]
    return {
        "words": len(words) / max(1, len(source)),
        "log characters": float(np.log(1 + sum(map(len, words)))),
        "unaligned source": 1 - len({i for i, _ in links}) / max(1, len(source)),
        "unaligned output": 1 - len({j for _, j in links}) / size,
        "crossing": crossing / max(1, len(links)),
        "fertility": len(links) / size,
        "copied": len([word for word in letters if word in source]) / max(1, len(letters)),
        "punctuation": _differences(filter(_is_punctuation, source), filter(_is_punctuation, words)) / size,
        "last mark": float(_is_punctuation(source[-1:]) == _is_punctuation(words[-1:])),
        "numbers": float(_differences(_numbers(source), _numbers(words))),
        "repeated": 1 - len(set(pairs)) / max(1, len(pairs)),
        "capitals": len([word for word in words if word[:1].isupper()]) / size,
    }


def _is_punctuation(word: Sequence[str]) -> bool:
    return bool(word) and all(unicodedata.category(character).startswith("P") for character in "".join(word))


def _numbers(words: list[str]) -> list[str]:
    return [re.sub(r"\D", "", word) for word in words if any(map(str.isdigit, word))]


def _differences(one: object, other: object) -> int:
    """How many things are in one bag only."""
    a, b = Counter(one), Counter(other)  # type: ignore[call-overload]
    return ((a - b) + (b - a)).total()


def consensus(texts: Texts) -> Features:
    """The mean F-score of character and word n-grams with the other outputs, what only this output has, its length."""
    rows = [_consensus(row) for row in texts.outputs]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _consensus(outputs: list[list[str]]) -> dict[str, np.ndarray]:
    others = max(1, len(outputs) - 1)
    joined = ["".join(words) for words in outputs]
    lengths = np.array([float(len(text)) for text in joined])
    words = _counts(outputs, 1)
    elsewhere = (words > 0).sum(axis=0) - (words > 0)
    size = np.maximum(1, words.sum(axis=1))
    return {
        "characters as others": np.mean([_mean_overlap(_counts(joined, n)) for n in range(1, 7)], axis=0),
        "words as others": np.mean([_mean_overlap(_counts(outputs, n)) for n in range(1, 5)], axis=0),
        "words alone": (words * (elsewhere == 0)).sum(axis=1) / size,
        "words missing": ((words == 0) & (elsewhere > others / 2)).sum(axis=1) / size,
        "length apart": np.abs(np.log((1 + lengths) * others / (others + lengths.sum() - lengths))),
    }


def _counts(sequences: Sequence[Sequence[str]], order: int) -> np.ndarray:
    """(sequences, different n-grams): how often each has each."""
    grams = [list(zip(*(text[i:] for i in range(order)), strict=False)) for text in sequences]
    columns = {gram: i for i, gram in enumerate(dict.fromkeys(chain.from_iterable(grams)))}
    table = np.zeros((len(sequences), len(columns)), np.int32)
    for row, found in zip(table, grams, strict=True):
        np.add.at(row, [columns[gram] for gram in found], 1)
    return table


def _mean_overlap(table: np.ndarray) -> np.ndarray:
    """The mean F1 of each row with the others, n-grams in common counted as often as both have them."""
    totals = table.sum(axis=1)
    scores = np.zeros(len(table))
    for i, row in enumerate(table):
        shared = np.minimum(row, table).sum(axis=1)
        scores[i] = np.delete(2 * shared / np.maximum(1, totals[i] + totals), i).sum() / max(
            1, len(table) - 1
        )
    return scores


def lexicon(texts: Texts) -> Features:
    """The mean log probability of linked words, each given the other, counted in the links of other segments."""
    pairs: Counter[tuple[str, str]] = Counter()
    own: list[Counter[tuple[str, str]]] = []
    for source, row, row_links in zip(texts.sources, texts.outputs, texts.links, strict=True):
        linked = zip(row, row_links, strict=True)
        own.append(
            Counter((source[i].lower(), words[j].lower()) for words, links in linked for i, j in links)
        )
        pairs.update(own[-1])
    totals = [Counter[str](), Counter[str]()]
    for pair, count in pairs.items():
        for side in (0, 1):
            totals[side][pair[side]] += count
    found: Features = {name: np.zeros(texts.shape) for name in ("output by source", "source by output")}
    for segment, (source, row, row_links) in enumerate(
        zip(texts.sources, texts.outputs, texts.links, strict=True)
    ):
        here = [Counter[str](), Counter[str]()]
        for pair, count in own[segment].items():
            for side in (0, 1):
                here[side][pair[side]] += count
        for system, (words, links) in enumerate(zip(row, row_links, strict=True)):
            linked_words = [(source[i].lower(), words[j].lower()) for i, j in links]
            for side, values in enumerate(found.values()):
                logs = [
                    np.log(
                        (pairs[pair] - own[segment][pair] + 0.1)
                        / (totals[side][pair[side]] - here[side][pair[side]] + 10)
                    )
                    for pair in linked_words
                ]
                values[segment, system] = np.mean(logs) if logs else -5.0
    return found


class NgramModel:
    """Models of n-grams of outputs or of references, each text judged by what other segments have.

    The probability of a token is (count + SMOOTHING · probability in the shorter context) / (count of the context +
    SMOOTHING). All n-grams are numbered once; counting those of some texts is then quick.
    """

    def __init__(self, outputs: list[list[list[str]]], references: list[list[str]], order: int) -> None:
        self.shape = (len(outputs), len(outputs[0]))
        sequences = [words for row in outputs for words in row] + references
        self.count = len(sequences) - len(references)
        segments = [*np.repeat(np.arange(len(outputs)), self.shape[1]), *range(len(references))]
        vocabulary = {
            token: i for i, token in enumerate(dict.fromkeys(chain.from_iterable(sequences)), start=1)
        }
        lengths = np.array([len(words) for words in sequences])
        tokens = np.array([vocabulary[token] for words in sequences for token in words], np.int64)
        self.text = np.repeat(np.arange(len(sequences)), lengths)
        self.segment = np.repeat(segments, lengths)
        self.vocabulary = len(vocabulary) + 1
        place = np.arange(len(tokens)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        self.grams: list[tuple[_Numbers, _Numbers]] = []  # contexts and n-grams of each order
        context = np.zeros(len(tokens), np.int64)
        for _ in range(order):
            _, gram = np.unique(context * self.vocabulary + tokens, return_inverse=True)
            self.grams.append((_Numbers(context, self.segment), _Numbers(gram, self.segment)))
            before = np.roll(gram, 1) + 1  # 0: the beginning of a text
            context = np.where(place == 0, 0, before)

    def of_outputs(self) -> np.ndarray:
        """The mean log probability of a token of each output, by the outputs of all segments but its own."""
        return self._scores(self.text < self.count)

    def of_references(self, chosen: np.ndarray) -> np.ndarray:
        """The same by the references of these segments but its own."""
        return self._scores((self.text >= self.count) & chosen[self.segment])

    def _scores(self, counted: np.ndarray) -> np.ndarray:
        probability = np.full(len(self.text), 1 / self.vocabulary)
        for context, gram in self.grams:
            above = gram.elsewhere(counted) + SMOOTHING * probability
            probability = above / (context.elsewhere(counted) + SMOOTHING)
        totals = np.bincount(self.text, np.log(probability), minlength=self.count)[: self.count]
        sizes = np.bincount(self.text, minlength=self.count)[: self.count]
        return (totals / np.maximum(1, sizes)).reshape(self.shape)


class _Numbers:
    """The number of the n-gram at each position, and one of the n-gram in this segment."""

    def __init__(self, numbers: np.ndarray, segment: np.ndarray) -> None:
        self.numbers = numbers
        self.local = np.unique(numbers * (segment.max(initial=0) + 1) + segment, return_inverse=True)[1]

    def elsewhere(self, counted: np.ndarray) -> np.ndarray:
        """How often each position's n-gram is counted in other segments."""
        return np.bincount(self.numbers, counted)[self.numbers] - np.bincount(self.local, counted)[self.local]
