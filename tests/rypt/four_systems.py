"""Four systems' candidates of one segment, each judged everywhere: NO when a phrase holds "bad"."""

from rypt.analysis.heldout import DisjointSystems
from rypt.records import Candidate, Span, Votes
from rypt.texts.trees import SourceTree

TREES = {"1": SourceTree.from_brackets("(S (NP (A a) (B b)) (C c))")}
LINKS = "0-0 1-1 2-2"
TEXTS = {"s1": "x y z", "s2": "x y z", "s3": "bad y z", "s4": "bad y z"}
CANDIDATES = {system: [Candidate("1", text, LINKS)] for system, text in TEXTS.items()}


def votes_of(systems):
    counts: dict[tuple[Span, str], list[int]] = {}
    for system in systems:
        words = TEXTS[system].split()
        for constituent in TREES["1"].constituents:
            phrase = " ".join(words[slice(*constituent.span)])
            counts.setdefault((constituent.span, phrase), [0, 0])["bad" in phrase] += 1
    return [Votes("1", span, phrase, *c) for (span, phrase), c in counts.items()]


def disjoint():
    return DisjointSystems(TREES, CANDIDATES, votes_of)
