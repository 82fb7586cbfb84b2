"""Our aligner: model 1 and grow-diag-final-and against second implementations, and by hand."""

import math
import random
from collections import defaultdict
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rypt.records import Segment
from rypt.text import InputError
from rypt.texts import align as module
from rypt.texts.align import (
    DIAGONAL,
    NOWHERE,
    Pair,
    _Translations,
    align,
    align_lists,
    attach_unaligned,
    symmetrize,
)
from rypt.texts.alignment import Links

SIZE = 6
LINKS = st.sets(st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1)), max_size=14)


def by_matrix(forward: set[tuple[int, int]], backward: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """The same heuristic on matrices of booleans, as its authors describe it: rows, then columns."""
    a = np.array([[(i, j) in forward & backward for j in range(SIZE)] for i in range(SIZE)])
    added = True
    while added:
        added = False
        for i, j in product(range(SIZE), repeat=2):
            for down, right in (
                ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)) if a[i, j] else ()
            ):
                x, y = i + down, j + right
                if (x, y) in forward | backward and not a[x, y] and not (a[x].any() and a[:, y].any()):
                    a[x, y] = added = True
    for links in (forward, backward):
        for i, j in sorted(links):
            if not a[i].any() and not a[:, j].any():
                a[i, j] = True
    return {(i, j) for i, j in product(range(SIZE), repeat=2) if a[i, j]}


@given(LINKS, LINKS)
def test_symmetrized_like_a_second_implementation(forward, backward):
    links = symmetrize(forward, backward)
    assert list(links) == sorted(by_matrix(forward, backward))
    assert forward & backward <= set(links) <= forward | backward


@given(st.sets(st.tuples(st.integers(0, 3), st.integers(0, 5))), st.integers(6, 8))
def test_words_without_links_get_those_of_the_next_word(links: set[tuple[int, int]], size: int) -> None:
    attached = attach_unaligned(tuple(sorted(links)), size)
    aligned = sorted({j for _, j in links})
    for target in range(size):
        partner = next((j for j in aligned if j >= target), aligned[-1] if aligned else -1)
        assert {i for i, j in attached if j == target} == {i for i, j in links if j == partner}


def shares_by_definition(pairs: list[Pair], rounds: int) -> list[list[list[float]]]:
    """For each target word how likely no word and each source word became it, by sums over dictionaries."""
    t: dict[tuple[str, str], float] = defaultdict(lambda: 1.0)

    def weights(source: tuple[str, ...], target: tuple[str, ...], j: int) -> list[float]:
        along = (j + 0.5) / len(target)
        near = [math.exp(-DIAGONAL * abs((i + 0.5) / len(source) - along)) for i in range(len(source))]
        shares = [NOWHERE, *((1 - NOWHERE) * share / sum(near) for share in near)]
        return [share * t[word, target[j]] for word, share in zip(("", *source), shares, strict=True)]

    for _ in range(rounds):
        counts: dict[tuple[str, str], float] = defaultdict(float)
        for source, target in pairs:
            for j, word in enumerate(target):
                each = weights(source, target, j)
                for other, share in zip(("", *source), each, strict=True):
                    counts[other, word] += share / sum(each)
        totals: dict[str, float] = defaultdict(float)
        for (other, _), count in counts.items():
            totals[other] += count
        t.update({(other, word): count / totals[other] for (other, word), count in counts.items()})
    return [[weights(source, target, j) for j in range(len(target))] for source, target in pairs]


SIDES = st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map(tuple)


@settings(deadline=None)
@given(
    st.lists(st.tuples(SIDES, SIDES.map(lambda words: tuple(map(str.upper, words)))), min_size=1, max_size=6)
)
def test_model_1_by_its_definition(pairs: list[Pair]) -> None:
    ours = _Translations.learn(pairs, 3).partners(pairs)
    for partners, rows in zip(ours, shares_by_definition(pairs, 3), strict=True):
        for partner, shares in zip(partners, rows, strict=True):
            assert shares[partner + 1] >= max(shares) * (1 - 1e-9)  # of two equally likely ones, either


def word_for_word(count: int = 400) -> tuple[list[Pair], list[Links]]:
    """Random words, translated one by one; two neighbours change places, so that order alone does not tell."""
    rng = random.Random(5)
    words = {f"q{i}x": f"{i}w" for i in range(40)}
    pairs, links = [], []
    for _ in range(count):
        source = tuple(rng.sample(sorted(words), rng.randint(4, 7)))
        order = list(range(len(source)))
        swap = rng.randrange(len(source) - 1)
        order[swap], order[swap + 1] = order[swap + 1], order[swap]
        pairs.append((tuple(word.upper() for word in source), tuple(words[source[i]] for i in order)))
        links.append(tuple(sorted((i, j) for j, i in enumerate(order))))
    return pairs, links


def agreement(links: list[Links], wanted: list[Links]) -> float:
    both = sum(len(set(a) & set(b)) for a, b in zip(links, wanted, strict=True))
    return 2 * both / sum(len(a) + len(b) for a, b in zip(links, wanted, strict=True))


def test_what_belongs_together_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs, wanted = word_for_word()
    odd: list[Pair] = [
        ((), ("the",)),
        (("das",), ()),
        (("das",) * 300, ("the",)),
        (("5\u00a0%",), ("|||", ".")),
    ]
    links = align([*odd, *pairs, pairs[0]])
    assert links[:2] == [(), ()]
    assert links[3] == ((0, 0), (0, 1))
    assert links[4] == links[-1]
    assert agreement(links[4:-1], wanted) > 0.95
    assert agreement(align(pairs[:5], training=pairs[5:]), wanted[:5]) > 0.95
    monkeypatch.setattr(
        module, "MOST_CELLS", 4000
    )  # a part of the pairs is learned from, new words are looked up
    assert agreement(align(pairs), wanted) > 0.9
    assert align(pairs) == align(pairs)


def test_lists_of_all_formats_are_aligned_together(tmp_path: Path) -> None:
    """A line of links for each candidate; a derivation and a trace are read as their words."""
    segments = {"0": Segment("0", "das Haus ist klein ."), "1": Segment("1", "das Buch ist alt .")}
    texts = {
        "moses": "0 ||| the house ||| LM0= -1 ||| -2\n0 ||| the |0-0| house |1-1| ||| LM0= -1 ||| -2\n",
        "joshua": "0 ||| (ROOT{0-5} (S{0-5} the (X{1-2} house))) ||| f=1 ||| -2\n",
        "jsonl": '{"id": 1, "candidate": "the book"}\n',
        "plain": "the house is small .\nthe book is old .\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    outputs = [tmp_path / f"{name}.links" for name in texts]
    assert align_lists(segments, [tmp_path / name for name in texts], outputs) == 6
    links = [path.read_text().splitlines() for path in outputs]
    assert [len(lines) for lines in links] == [2, 1, 1, 2]
    assert links[0][0] == links[0][1] == links[1][0]
    (tmp_path / "plain").write_text("9 ||| x\n")
    with pytest.raises(InputError, match="plain:1: segment '9' is not in the source"):
        align_lists(segments, [tmp_path / "plain"], outputs[:1])
