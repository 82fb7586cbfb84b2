"""A 64-bit key for the phrase of each constituent of each candidate, so that equal phrases are equal numbers.

The key of a phrase is a polynomial in the hashes of its tokens, with the constituent as the first coefficient. One pass
over a candidate's alignment gives the keys of all its constituents; numpy looks them up, counts and groups them. Two of
ten million phrases share a key by chance with a probability of three in a million. Python hashes strings differently
in each process, so keys are not stored.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Bytes, Ids, Ints
from rypt.compiled import plain_if_small
from rypt.records import Candidate
from rypt.scoring.forest import Forest
from rypt.text import FormatError
from rypt.texts.alignment import check_links, parse_links
from rypt.texts.phrases import GAP, linked_positions, normalize
from rypt.texts.trees import SourceTree

Keys = NDArray[np.uint64]
BASE = np.uint64(0x9E3779B97F4A7C15)
NODE = np.uint64(0xC2B2AE3D27D4EB4F)
BATCH = 20_000  # texts cut into tokens at a time, to bound memory


def candidate_keys(forest: Forest, candidates: Sequence[Candidate], case: str) -> tuple[Ids, Ints, Keys]:
    """The segment of each candidate, where its keys begin, and the keys: 0 for a constituent without a phrase."""
    segments = forest.positions(candidates)
    offsets = np.append(0, np.cumsum(forest.counts[segments]))
    keys = np.zeros(int(offsets[-1]), np.uint64)
    tokens, token_offsets = token_hashes([candidate.text for candidate in candidates], case)
    links = [(candidate.alignment or "").encode("ascii", "replace") for candidate in candidates]
    link_offsets = np.append(0, np.cumsum([len(line) + 1 for line in links], dtype=np.int64))
    bad = fill_keys(
        forest.firsts,
        forest.parents,
        forest.first_leaves,
        forest.leaves,
        segments,
        tokens,
        token_offsets,
        np.frombuffer(b" ".join([*links, b""]), np.uint8),
        link_offsets,
        np.int64(hash(GAP)).view(np.uint64),
        offsets,
        keys,
    )
    if bad >= 0:
        candidate_links(candidates[bad], forest.trees[segments[bad]])
        raise FormatError(f"segment {candidates[bad].segment}: expected alignment links like 3-5")
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
    """The hashes of the tokens of all texts, one text after the other, and where those of each begin."""
    hashes, counts = [np.zeros(0, np.uint64)], [np.zeros(1, np.int64)]
    for start in range(0, len(texts), BATCH):
        some = texts[start : start + BATCH]
        lines = normalize("\n".join(some), case).replace("\t", " ")
        if lines.count("\n") != len(some) - 1:
            raise FormatError("a candidate or a phrase contains a line break")
        tokens = lines.replace("\n", " \n ").split(" ")
        values = np.fromiter(map(hash, tokens), np.int64, len(tokens))
        values = values[values != hash("")]
        ends = np.append(np.flatnonzero(values == hash("\n")), len(values))
        counts.append(np.diff(ends, prepend=-1) - 1)
        hashes.append(np.delete(values, ends[:-1]).view(np.uint64))
    return np.concatenate(hashes), np.cumsum(np.concatenate(counts))


def candidate_links(candidate: Candidate, tree: SourceTree | None) -> list[list[int]]:
    """For each source token the candidate positions linked with it; links out of range are refused."""
    source_size = len(tree.tokens) if tree else 0
    try:
        links = parse_links(candidate.alignment or "")
        check_links(links, source_size, len(candidate.tokens))
    except FormatError as error:
        raise FormatError(
            f"segment {candidate.segment}: {error}; the candidate is {candidate.text!r}"
        ) from None
    return linked_positions(links, source_size)


@plain_if_small
def fill_keys(
    firsts: Ints,
    parents: Ids,
    first_leaves: Ints,
    leaves: Ids,
    segments: Ids,
    tokens: Keys,
    token_offsets: Ints,
    links: Bytes,
    link_offsets: Ints,
    gap: np.uint64,
    offsets: Ints,
    keys: Keys,
) -> int:
    """Write the keys of all constituents; returns the first candidate whose links are bad, or -1.

    From the last constituent to the first, each passes the tokens that it covers on to its parent.
    """
    longest, most = 1, 1
    for candidate in range(len(segments)):
        longest = max(longest, token_offsets[candidate + 1] - token_offsets[candidate])
        most = max(most, offsets[candidate + 1] - offsets[candidate])
    covered = np.zeros((most, longest), np.bool_)
    for candidate in range(len(segments)):
        segment = segments[candidate]
        first, count = firsts[segment], firsts[segment + 1] - firsts[segment]
        if count == 0:
            continue
        first_token, first_leaf = token_offsets[candidate], first_leaves[segment]
        size, source_size = token_offsets[candidate + 1] - first_token, first_leaves[segment + 1] - first_leaf
        source, number, digits = -1, 0, 0
        for i in range(link_offsets[candidate], link_offsets[candidate + 1]):
            byte = int(links[i])
            if 48 <= byte <= 57 and digits < 6:
                number, digits = 10 * number + byte - 48, digits + 1
            elif byte == 45 and digits > 0 and source < 0:
                source, number, digits = number, 0, 0
            elif byte != 32 and byte != 9:
                return candidate
            elif source >= 0 or digits > 0:
                if source < 0 or digits == 0 or source >= source_size or number >= size:
                    return candidate
                covered[leaves[first_leaf + source], number] = True
                source, number, digits = -1, 0, 0
        for node in range(count - 1, -1, -1):
            parent = parents[first + node]
            key, last = np.uint64(first + node + 1) * NODE, -1
            for place in range(size):
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
    return -1
