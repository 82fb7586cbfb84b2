"""RYPT written directly from its definitions, one candidate at a time: what the compiled scorer must equal."""

import unicodedata
from collections.abc import Sequence

from hypothesis import strategies as st

from rypt.records import Candidate, Span, Votes
from rypt.texts.trees import SourceTree


def reference_phrase(span: Span, links: Sequence[tuple[int, int]], tokens: Sequence[str]) -> str | None:
    aligned = [j for j in range(len(tokens)) if any(t == j and span.start <= s < span.stop for s, t in links)]
    if not aligned:
        return None
    words = []
    for j in range(aligned[0], aligned[-1] + 1):
        if j in aligned:
            words.append(unicodedata.normalize("NFC", tokens[j].lower()))
        elif words[-1] != "[GAP]":
            words.append("[GAP]")
    return " ".join(words)


def reference_label(votes: Votes | None) -> str | None:
    if votes is None or max(votes.yes, votes.no) <= votes.not_sure or votes.yes == votes.no:
        return None
    return "YES" if votes.yes > votes.no else "NO"


def reference_percolate(tree: SourceTree, labels: Sequence[str | None]) -> list[str | None]:
    """NO up, YES down, from the words of the rule rather than by passes."""
    nodes = tree.constituents

    def ancestors(i: int) -> list[int]:
        above = []
        while nodes[i].parent >= 0:
            i = nodes[i].parent
            above.append(i)
        return above

    inside = [[d for d in range(len(nodes)) if d == i or i in ancestors(d)] for i in range(len(nodes))]
    result = list(labels)
    for i in range(len(nodes)):
        if labels[i] is not None:
            continue
        free_nos = [
            d for d in inside[i] if labels[d] == "NO" and not any(labels[a] == "YES" for a in ancestors(d))
        ]
        if free_nos:
            result[i] = "NO"
            continue
        path = []  # from here up to the nearest label
        for a in [i, *ancestors(i)]:
            path.append(a)
            if labels[a] is not None:
                break
        reached = labels[path[-1]] == "YES"
        if reached and not any(labels[d] == "NO" for a in path[:-1] for d in inside[a]):
            result[i] = "YES"
    return result


def reference_stats(trees, votes, candidate):
    """Yes, no, unknown, nodes of one candidate."""
    tree = trees[candidate.segment]
    if tree is None:
        return 0, 0, 0, 0
    known = {(v.segment, v.span, v.phrase): v for v in votes}
    links = [(int(s), int(t)) for s, t in (link.split("-") for link in candidate.alignment.split())]
    labels = []
    for constituent in tree.constituents:
        phrase = reference_phrase(constituent.span, links, candidate.text.split(" "))
        key = (candidate.segment, constituent.span, phrase)
        labels.append(reference_label(known.get(key)) if phrase is not None else None)
    after = reference_percolate(tree, labels)
    return after.count("YES"), after.count("NO"), after.count(None), len(after)


# A tree of the shape of the paper's Figure 2: 12 words, 19 nodes, 18 distinct spans.
FIGURE_2 = (
    "(TOP (S (S-OC (NP-SB (ADJA offizielle) (NN prognosen)) (VAFIN sind) (VP (PP (APPR von) (ADV nur) (CARD 3) "
    "(NN prozent)) (VVPP ausgegangen))) ($, ,) (VVFIN sagte) (NP (NE bloomberg))) ($. .))"
)

WORDS = ["a", "b", "Ä", "a\u0308", "das", "İ", "ﬁ", "c"]


@st.composite
def trees(draw: st.DrawFn, max_size: int = 9) -> SourceTree:
    """Any tree over a few words, unary chains included."""
    size = draw(st.integers(1, max_size))

    def brackets(start: int, stop: int, depth: int) -> str:
        if depth < 4 and draw(st.integers(0, 5)) == 0:
            return f"(U {brackets(start, stop, depth + 1)})"
        if stop - start == 1:
            return f"(T w{start})"
        cuts = sorted(draw(st.sets(st.integers(start + 1, stop - 1), min_size=1, max_size=3)))
        return f"(N {' '.join(brackets(a, b, depth) for a, b in zip([start, *cuts], [*cuts, stop], strict=True))})"

    return SourceTree.from_brackets(brackets(0, size, 0))


@st.composite
def corpora(draw: st.DrawFn) -> tuple[dict[str, SourceTree | None], list[Candidate], list[Votes]]:
    """A few segments (some without a parse), their candidates, and votes on some phrases of the candidates."""
    forest: dict[str, SourceTree | None] = {
        str(i): draw(st.one_of(trees(), st.none()) if i else trees()) for i in range(draw(st.integers(1, 3)))
    }
    candidates = []
    for segment, tree in forest.items():
        for _ in range(draw(st.integers(0, 3))):
            words = draw(st.lists(st.sampled_from(WORDS), min_size=0, max_size=8))
            words *= draw(st.sampled_from([1, 1, 1, 12]))  # beyond 64 and 128 tokens now and then
            pairs = st.tuples(
                st.integers(0, len(tree.tokens) - 1 if tree else 0), st.integers(0, max(0, len(words) - 1))
            )
            links = draw(st.lists(pairs, max_size=14)) if words else []
            candidates.append(Candidate(segment, " ".join(words), " ".join(f"{s}-{t}" for s, t in links)))
    votes: dict[tuple[str, Span, str], Votes] = {}
    for candidate in candidates:
        tree = forest[candidate.segment]
        links = [(int(s), int(t)) for s, t in (link.split("-") for link in candidate.alignment.split())]
        for constituent in tree.constituents if tree else ():
            phrase = reference_phrase(constituent.span, links, candidate.text.split(" "))
            if phrase is not None and draw(st.booleans()):
                counts = draw(st.tuples(*[st.integers(0, 2)] * 3))
                key = (candidate.segment, constituent.span, phrase)
                votes[key] = Votes(*key, *map(float, counts))
    return forest, candidates, list(votes.values())
