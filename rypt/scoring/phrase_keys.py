"""A 64-bit key for the phrase of each constituent of each candidate, so that equal phrases are equal numbers.

The key of a phrase is a polynomial in the hashes of its tokens, with the constituent as the first coefficient. One pass
over a candidate's alignment gives the keys of all its constituents; numpy looks them up, counts and groups them. Two of
ten million phrases share a key by chance with a probability of three in a million.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Ids, Ints
from rypt.compiled import plain_if_small
from rypt.records import Candidate
from rypt.scoring.forest import Forest
from rypt.text import FormatError
from rypt.texts.alignment import checked_links
from rypt.texts.nbest import links_of_candidates
from rypt.texts.phrases import GAP, linked_positions, normalize
from rypt.texts.trees import SourceTree

Keys = NDArray[np.uint64]
BASE = np.uint64(0x9E3779B97F4A7C15)
NODE = np.uint64(0xC2B2AE3D27D4EB4F)
BATCH = 2000  # texts cut into tokens at a time, which the processor's cache holds


def candidate_keys(forest: Forest, candidates: Sequence[Candidate], case: str) -> tuple[Ids, Ints, Keys]:
    """The segment of each candidate, where its keys begin, and the keys: 0 for a constituent without a phrase."""
    segments = forest.positions(candidates)
    offsets = np.append(0, np.cumsum(forest.counts[segments]))
    keys = np.zeros(int(offsets[-1]), np.uint64)
    tokens, token_offsets = token_hashes([candidate.text for candidate in candidates], case)
    parsed = forest.counts[segments] > 0
    linked = candidates
    if not parsed.all():  # a segment without a parse has no constituents for links to lead to
        linked = [
            c if has_tree else replace(c, alignment="")
            for c, has_tree in zip(candidates, parsed, strict=True)
        ]
    link_offsets, sources, targets = links_of_candidates(
        linked, forest.sizes[segments], np.diff(token_offsets)
    )
    leaves = forest.leaves[np.repeat(forest.first_leaves[segments], np.diff(link_offsets)) + sources]
    fill_keys(
        forest.firsts,
        forest.parents,
        segments,
        tokens,
        token_offsets,
        leaves,
        targets,
        link_offsets,
        token_hashes([GAP], "keep")[0][0],
        offsets,
        keys,
    )
    return segments, offsets, keys


def phrase_keys(nodes: Ints, phrases: Sequence[str]) -> Keys:
    """The keys of phrases in their normal form; ``nodes`` are their constituents in the forest."""
    tokens, offsets = token_hashes(phrases, "keep")
    lengths = np.diff(offsets)
    keys = (nodes + 1).astype(np.uint64) * NODE
    for place in range(int(lengths.max(initial=0))):
        longer = np.flatnonzero(lengths > place)
        keys[longer] = keys[longer] * BASE + tokens[offsets[longer] + place]
    return keys


def token_hashes(texts: Sequence[str], case: str) -> tuple[Keys, Ints]:
    """The hashes of the tokens of all texts, one text after the other, and where those of each begin.

    The hash of a token is a polynomial in its bytes, which is the difference of two sums over the text, stirred.
    """
    hashes, counts = [np.zeros(0, np.uint64)], [np.zeros(1, np.int64)]
    for start in range(0, len(texts), BATCH):
        some = texts[start : start + BATCH]
        lines = normalize("\n".join(["", *some, ""]), case).encode("utf-8", "surrogatepass")
        data = np.frombuffer(lines, np.uint8)
        ends = np.flatnonzero(data == ord("\n"))
        if len(ends) != len(some) + 1:
            raise FormatError("a candidate or a phrase contains a line break")
        blank = (data == ord(" ")) | (data == ord("\t")) | (data == ord("\n"))
        edges = np.flatnonzero(blank[1:] != blank[:-1]) + 1
        firsts, stops = edges[::2], edges[1::2]
        powers, inverses = _powers(len(data).bit_length())
        sums = np.cumsum(data * powers[: len(data)], dtype=np.uint64)
        values = (sums[stops - 1] - sums[firsts - 1]) * inverses[firsts]
        values = (values ^ (values >> np.uint64(32))) * NODE
        hashes.append(values ^ (values >> np.uint64(29)))
        counts.append(np.diff(np.searchsorted(firsts, ends)))
    return np.concatenate(hashes), np.cumsum(np.concatenate(counts))


@lru_cache(maxsize=2)
def _powers(bits: int) -> tuple[Keys, Keys]:
    """The powers of the base, and their inverses, from 0 to ``1 << bits``."""
    factors = np.full((2, 1 << bits), BASE)
    factors[1] = pow(int(BASE), -1, 1 << 64)
    factors[:, 0] = 1
    powers = np.multiply.accumulate(factors, axis=1)
    return powers[0], powers[1]


def candidate_links(candidate: Candidate, tree: SourceTree | None) -> list[list[int]]:
    """For each source token the candidate positions linked with it; links out of range are refused."""
    source_size = len(tree.tokens) if tree else 0
    try:
        links = checked_links(candidate.alignment or "", source_size, len(candidate.tokens))
    except FormatError as error:
        raise FormatError(
            f"segment {candidate.segment}: {error}; the candidate is {candidate.text!r}"
        ) from None
    return linked_positions(links, source_size)


@plain_if_small
def fill_keys(
    firsts: Ints,
    parents: Ids,
    segments: Ids,
    tokens: Keys,
    token_offsets: Ints,
    leaves: Ids,
    targets: Ids,
    link_offsets: Ints,
    gap: np.uint64,
    offsets: Ints,
    keys: Keys,
) -> None:
    """Write the keys of all constituents; links lead from the leaves of trees to candidates' tokens.

    From the last constituent to the first, each passes the tokens that it covers on to its parent.
    """
    longest, most = 1, 1
    for candidate in range(len(segments)):
        longest = max(longest, token_offsets[candidate + 1] - token_offsets[candidate])
        most = max(most, offsets[candidate + 1] - offsets[candidate])
    covered = np.zeros((most, longest), np.bool_)
    for candidate in range(len(segments)):
        first, first_token = firsts[segments[candidate]], token_offsets[candidate]
        for link in range(link_offsets[candidate], link_offsets[candidate + 1]):
            covered[leaves[link], targets[link]] = True
        for node in range(offsets[candidate + 1] - offsets[candidate] - 1, -1, -1):
            parent = parents[first + node]
            key, last = np.uint64(first + node + 1) * NODE, -1
            for place in range(token_offsets[candidate + 1] - first_token):
                if covered[node, place]:
                    if 0 <= last < place - 1:
                        key = key * BASE + gap
                    key = key * BASE + tokens[first_token + place]
                    last = place
                    covered[node, place] = False
                    if parent >= 0:
                        covered[parent, place] = True
            if last >= 0:
                keys[offsets[candidate] + node] = key
