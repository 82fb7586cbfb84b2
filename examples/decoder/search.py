"""Stack decoding: a beam search over segmentations and orders of a segment, and its exact n best candidates.

Nodes are (covered source words, end of the last phrase, state of the language model); derivations that agree in these
are recombined but all their arcs are kept, so the n best can be read off the search graph (Huang and Chiang 2005,
algorithm 3). Nodes with the same number of covered words compete in a stack, with an estimate of what is to come.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from model import UNKNOWN_PENALTY, LanguageModel, PhraseOption, State, unknown_phrase

Spans = dict[tuple[int, int], list[PhraseOption]]


class DerivationStep(NamedTuple):
    """A phrase and the source words, from start to before end, it translates."""

    start: int
    end: int
    phrase: PhraseOption


class Derivation(NamedTuple):
    """One way to a node: through which of its arcs, from which of the derivations of the node before."""

    score: float
    text: str
    arc: int
    rank: int


class Node:
    """A node of the search graph; ``derivations`` is filled as far as somebody asked."""

    __slots__ = ("arcs", "coverage", "derivations", "end", "queue", "score", "seen", "state")

    def __init__(self, coverage: int, end: int, state: State, score: float) -> None:
        self.coverage = coverage
        self.end = end
        self.state = state
        self.score = score
        self.arcs: list[tuple[float, Node, DerivationStep | None]] = []
        self.derivations: list[Derivation] = []
        self.queue: list[tuple[float, int, int]] | None = None
        self.seen: set[str] = set()


@dataclass(frozen=True)
class Settings:
    """How far the search goes: phrases per source phrase, nodes per stack, words per jump (below 0: any)."""

    beam: int = 50
    table_limit: int = 20
    distortion_limit: int = 6


@dataclass
class BeamDecoder:
    """A model with weights."""

    language_model: LanguageModel
    table: dict[str, list[PhraseOption]]
    weights: Sequence[float]
    settings: Settings = field(default_factory=Settings)
    longest: int = 0

    def __post_init__(self) -> None:
        self.longest = max((len(source.split()) for source in self.table), default=1)
        for source, phrases in self.table.items():
            self.table[source] = self._best([self._scored(phrase) for phrase in phrases])

    def _scored(self, phrase: PhraseOption) -> PhraseOption:
        """Weigh everything that does not depend on the neighbours."""
        _, lm, word, penalty, *translation, unknown = self.weights
        phrase.score = penalty - word * len(phrase.words) + unknown * UNKNOWN_PENALTY * phrase.unknown
        phrase.score += sum(weight * score for weight, score in zip(translation, phrase.scores, strict=True))
        phrase.estimate = phrase.score + lm * self.language_model.score((), phrase.words)[0]
        return phrase

    def _best(self, phrases: list[PhraseOption]) -> list[PhraseOption]:
        ordered = sorted(phrases, key=lambda phrase: (-phrase.estimate, phrase.text))
        return ordered[: self.settings.table_limit] if self.settings.table_limit else ordered

    def options(self, words: Sequence[str]) -> Spans:
        """The phrases of each span that has some; a word without any is passed through."""
        spans: Spans = {}
        for start in range(len(words)):
            for end in range(start + 1, min(start + self.longest, len(words)) + 1):
                source = " ".join(words[start:end])
                if end == start + 1 and source not in self.table:
                    self.table[source] = [self._scored(unknown_phrase(source))]
                if source in self.table:
                    spans[start, end] = self.table[source]
        return spans

    def search(self, words: Sequence[str]) -> Node:
        """The goal of the search graph of a segment."""
        size = len(words)
        spans = self.options(words)
        future = Future(spans, size)
        root = Node(0, 0, self.language_model.start(), 0.0)
        root.derivations, root.queue = [Derivation(0.0, "", -1, -1)], []
        stacks: list[dict[tuple[int, int], dict[State, Node]]] = [{} for _ in range(size + 1)]
        stacks[0][0, 0] = {root.state: root}
        for covered in range(size):
            for (coverage, end), nodes in self._pruned(stacks[covered], future).items():
                self._expand(coverage, end, nodes, spans, stacks)
        goal = Node(-1, size, (), 0.0)
        lm = self.weights[1]
        for reached in stacks[size].values():
            for node in reached.values():
                goal.arcs.append((lm * self.language_model.score(node.state, ("</s>",))[0], node, None))
        return goal

    def _pruned(
        self, stack: dict[tuple[int, int], dict[State, Node]], future: "Future"
    ) -> dict[tuple[int, int], list[Node]]:
        """The best nodes of a stack, those with the same coverage and end together."""
        ranked = []
        for (coverage, _), nodes in stack.items():
            rest = future.estimate(coverage)
            ranked += [(node.score + rest, node) for node in nodes.values()]
        ranked.sort(key=lambda pair: -pair[0])
        groups: dict[tuple[int, int], list[Node]] = {}
        for _, node in ranked[: self.settings.beam]:
            groups.setdefault((node.coverage, node.end), []).append(node)
        return groups

    def _expand(
        self,
        coverage: int,
        last_end: int,
        nodes: list[Node],
        spans: Spans,
        stacks: list[dict[tuple[int, int], dict[State, Node]]],
    ) -> None:
        """Add each phrase that may come next to nodes of one coverage and end."""
        limit = self.settings.distortion_limit
        distortion, lm = self.weights[0], self.weights[1]
        score_words = self.language_model.score
        covered = coverage.bit_count()
        for (start, end), phrases in spans.items():
            mask = (1 << end) - (1 << start)
            jump = abs(start - last_end)
            if coverage & mask or (0 <= limit < jump):
                continue
            joined = coverage | mask
            if 0 <= limit < end - first_gap(joined):
                continue
            reached = stacks[covered + end - start].setdefault((joined, end), {})
            steps = [DerivationStep(start, end, phrase) for phrase in phrases]
            for node in nodes:
                base, state = node.score, node.state
                for step in steps:
                    phrase = step.phrase
                    known = phrase.after.get(state)
                    if known is None:
                        gained, next_state = score_words(state, phrase.words)
                        phrase.after[state] = known = (phrase.score + lm * gained, next_state)
                    gain, next_state = known
                    gain -= distortion * jump
                    score = base + gain
                    earlier = reached.get(next_state)
                    if earlier is None:
                        reached[next_state] = earlier = Node(joined, end, next_state, score)
                    elif score > earlier.score:
                        earlier.score = score
                    earlier.arcs.append((gain, node, step))


def first_gap(coverage: int) -> int:
    """The first source word not covered.

    >>> first_gap(0b1011)
    2
    """
    return (~coverage & (coverage + 1)).bit_length() - 1


class Future:
    """An estimate of the best score of the words not covered: the best phrases of each gap, without distortion."""

    def __init__(self, spans: Spans, size: int) -> None:
        self._size = size
        self._known: dict[int, float] = {}
        best = [[float("-inf")] * (size + 1) for _ in range(size + 1)]
        for (start, end), phrases in spans.items():
            best[start][end] = max(phrase.estimate for phrase in phrases)
        for width in range(2, size + 1):
            for start in range(size - width + 1):
                end = start + width
                parts = (best[start][middle] + best[middle][end] for middle in range(start + 1, end))
                best[start][end] = max(best[start][end], *parts)
        self._best = best

    def estimate(self, coverage: int) -> float:
        """The sum over all gaps."""
        if coverage in self._known:
            return self._known[coverage]
        total, position = 0.0, 0
        while position < self._size:
            end = position
            while end < self._size and not coverage >> end & 1:
                end += 1
            if end > position:
                total += self._best[position][end]
            position = end + 1
        self._known[coverage] = total
        return total


def n_best(goal: Node, size: int) -> list[list[DerivationStep]]:
    """The best derivation of each of the best ``size`` distinct candidates, best first."""
    paths: list[list[DerivationStep]] = []
    while len(paths) < size and (derivation := _ranked(goal, len(paths))) is not None:
        steps, node = [], goal
        while derivation.arc >= 0:
            _, before, step = node.arcs[derivation.arc]
            if step is not None:
                steps.append(step)
            node, derivation = before, before.derivations[derivation.rank]
        paths.append(steps[::-1])
    return paths


def _ranked(node: Node, rank: int) -> Derivation | None:
    """The derivation of this rank; of derivations with the same words a node keeps the best.

    That is exact: whatever follows a node follows all its derivations, so the second of two with the same words can
    never be part of the best derivation of a candidate.
    """
    if node.queue is None:
        node.queue = []
        for arc, (gain, before, _) in enumerate(node.arcs):
            first = _ranked(before, 0)
            if first is not None:
                node.queue.append((-(first.score + gain), arc, 0))
        heapq.heapify(node.queue)
    while len(node.derivations) <= rank and node.queue:
        cost, arc, taken = heapq.heappop(node.queue)
        gain, before, step = node.arcs[arc]
        text = before.derivations[taken].text + (f" {step.phrase.text}" if step else "")
        if text not in node.seen:
            node.seen.add(text)
            node.derivations.append(Derivation(-cost, text, arc, taken))
        following = _ranked(before, taken + 1)
        if following is not None:
            heapq.heappush(node.queue, (-(following.score + gain), arc, taken + 1))
    return node.derivations[rank] if rank < len(node.derivations) else None
