"""A trigram language model with interpolated Kneser-Ney smoothing, written in ARPA form.

    p(w | h) = max(c(h w) - D, 0) / c(h) + D types(h) / c(h) · p(w | h without its first word)

Lower orders count in how many contexts a word occurs, not how often (Kneser and Ney 1995); n-grams that begin with
``<s>`` keep their counts, since nothing precedes them. Unigrams are interpolated with the uniform distribution over
all words, ``</s>`` and ``<unk>``. The discount of each order is D = n1 / (n1 + 2 n2), where n1 and n2 are the numbers
of n-grams seen once and twice.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

Gram = tuple[str, ...]
START, END, UNKNOWN = "<s>", "</s>", "<unk>"


def train_arpa(sentences: Sequence[Sequence[str]], order: int = 3) -> Iterator[str]:
    """The lines of an ARPA file."""
    counts = _counts(sentences, order)
    vocabulary = sorted({gram[0] for gram in counts[0]} | {END, UNKNOWN})
    probability: dict[Gram, float] = {}
    back_off: dict[Gram, float] = {}
    uniform = 1 / len(vocabulary)
    for n, table in enumerate(counts, start=1):
        discount = _discount(table)
        total, types = _context_sums(table)
        for context in total:
            back_off[context] = discount * types[context] / total[context]
        grams = sorted(table) if n > 1 else [(word,) for word in vocabulary]
        for gram in grams:
            context = gram[:-1]
            lower = probability[gram[1:]] if n > 1 else uniform
            kept = max(table[gram] - discount, 0.0)
            probability[gram] = kept / total[context] + back_off[context] * lower
    yield from _format(probability, back_off, order)


def _counts(sentences: Sequence[Sequence[str]], order: int) -> list[Counter[Gram]]:
    """For n = 1, 2, … the counts that stand in the formula; never of n-grams that end with ``<s>``."""
    raw: list[Counter[Gram]] = [Counter() for _ in range(order)]
    for words in sentences:
        tokens = [START, *words, END]
        for end in range(1, len(tokens)):
            for n in range(1, min(order, end + 1) + 1):
                raw[n - 1][tuple(tokens[end - n + 1 : end + 1])] += 1
    counts = [raw[-1]]
    for n in range(order - 1, 0, -1):
        continued = Counter(gram[1:] for gram in raw[n])
        counts.insert(
            0,
            Counter({gram: raw[n - 1][gram] if gram[0] == START else continued[gram] for gram in raw[n - 1]}),
        )
    return counts


def _discount(table: Counter[Gram]) -> float:
    once, twice = (sum(count == times for count in table.values()) for times in (1, 2))
    return once / (once + 2 * twice) if once and twice else 0.5


def _context_sums(table: Counter[Gram]) -> tuple[dict[Gram, int], dict[Gram, int]]:
    total: dict[Gram, int] = defaultdict(int)
    types: dict[Gram, int] = defaultdict(int)
    for gram, count in table.items():
        total[gram[:-1]] += count
        types[gram[:-1]] += 1
    return total, types


def _format(probability: dict[Gram, float], back_off: dict[Gram, float], order: int) -> Iterator[str]:
    sections: list[list[str]] = [[] for _ in range(order)]
    sections[0].append(f"-99\t{START}\t{math.log10(back_off[(START,)]):.6f}")
    for gram in sorted(probability):
        line = f"{math.log10(probability[gram]):.6f}\t{' '.join(gram)}"
        if gram in back_off:
            line += f"\t{math.log10(back_off[gram]):.6f}"
        sections[len(gram) - 1].append(line)
    yield "\\data\\"
    yield from (f"ngram {n}={len(lines)}" for n, lines in enumerate(sections, start=1))
    for n, lines in enumerate(sections, start=1):
        yield from ("", f"\\{n}-grams:", *lines)
    yield from ("", "\\end\\")
