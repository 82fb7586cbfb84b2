"""Why a candidate has its score: its source tree with phrases, votes, labels and percolation."""

from collections.abc import Callable
from dataclasses import dataclass

from rypt.records import Candidate
from rypt.scoring.frontier import frontier
from rypt.scoring.models import SeverityModel, frontier_shares
from rypt.scoring.percolation import NO, NO_UP, YES, YES_DOWN
from rypt.scoring.phrase_keys import candidate_links
from rypt.scoring.scorer import Scorer
from rypt.text import OptionError, PathLike, RyptError, open_output, plural
from rypt.texts.phrases import Phrase, phrase_of
from rypt.texts.trees import Constituent, SourceTree

MADE_LABELS = frozenset(("ROOT", "S", "C", "H", "X"))  # of `rypt.texts.fallback_trees`
MADE_NAMES = (
    "the tree was made from punctuation and length, without a parser: S is a sentence, C a clause, H a part of a "
    "clause, X a word or punctuation mark"
)
COST_WORDS = (
    "penalty×share: what errors in the constituent are expected to cost, and the share of the five frontiers (of 1, 2, "
    "4 and 8 words and the whole segment) that it is on; an outvoted NO counts, too, and a phrase that is YES keeps "
    "some penalty, as a few YES do not rule an error out, so a candidate with nothing but YES stays a little below 1"
)
MARKS = {YES: "YES", NO: "NO", YES_DOWN: "yes ↓", NO_UP: "no ↑"}


@dataclass(frozen=True, slots=True)
class ExplainedNode:
    """One constituent of the tree, what the candidate makes of it, and what is known about that.

    ``votes`` are the sums of YES, NO, NOT_SURE, penalty and graded, empty where nobody judged the phrase. ``penalty`` is
    its expected penalty and ``share`` the part of it that counts in the candidate's, 0 to 1, by the model severity;
    other models have none.
    """

    constituent: Constituent
    phrase: Phrase | None
    votes: tuple[float, ...]
    state: int
    on_frontier: bool
    penalty: float | None = None
    share: float = 0.0

    @property
    def mark(self) -> str:
        """YES or NO where it was judged, ``yes ↓`` or ``no ↑`` when percolated, ``?`` unknown, ``–`` unaligned."""
        return MARKS.get(self.state, "?" if self.phrase else "–")

    @property
    def tally(self) -> str:
        """The votes in words, such as ``2 YES, 1 NO (severity 5)``; the severity is the mean of those given."""
        if not self.votes:
            return ""
        *counts, penalty, graded = self.votes
        names = ("YES", "NO", "NOT_SURE")
        tally = ", ".join(f"{weight:g} {name}" for name, weight in zip(names, counts, strict=True) if weight)
        return tally.replace("NO", f"NO (severity {penalty / graded:.3g})", 1) if graded else tally

    @property
    def cost(self) -> str:
        """The expected penalty times the share of it that counts, such as ``0.048 × 0.6``; empty without penalties."""
        return "" if self.penalty is None else f"{self.penalty:.3f} × {self.share:.1f}"


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """A candidate's whole tree and its score; ``scoring`` says in words how labels became that.

    ``name`` says which candidate of the segment it is, where it is one of several.
    """

    tree: SourceTree
    candidate: Candidate
    nodes: list[ExplainedNode]
    links: list[list[int]]
    score: float
    signature: str
    scoring: str = ""
    name: str = ""

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many constituents are YES, NO and unknown after percolation."""
        yes = sum(node.state in (YES, YES_DOWN) for node in self.nodes)
        no = sum(node.state in (NO, NO_UP) for node in self.nodes)
        return yes, no, len(self.nodes) - yes - no

    @property
    def headline(self) -> str:
        """Segment, candidate, score and counts in one line."""
        yes, no, unknown = self.counts
        counts = f"{yes} YES, {no} NO, {unknown} unknown of {len(self.nodes)} constituents"
        name = f", {self.name}" if self.name else ""
        return f"segment {self.candidate.segment}{name}: RYPT {self.score:.4f} ({counts})"

    @property
    def cost(self) -> str:
        """How the penalties of the constituents become the score, by the model severity; else empty."""
        costs = [node.penalty * node.share for node in self.nodes if node.penalty is not None]
        if not costs:
            return ""
        words = len(self.tree.tokens)
        return (
            f"penalty {sum(costs):.3f}, the sum of penalty×share; "
            f"RYPT = 1 - {sum(costs):.3f} / {plural(words, 'source word')} = {self.score:.4f}"
        )

    def __repr__(self) -> str:
        return f"Explanation({self.headline})"

    def __str__(self) -> str:
        return as_text(self)

    def write(self, path: PathLike) -> None:
        from rypt.scoring.drawing import as_svg

        if not str(path).endswith(".svg"):
            raise OptionError(f"expected a file .svg for the picture, got {path}")
        with open_output(path) as stream:
            stream.write(as_svg(self))


def explain(scorer: Scorer, candidate: Candidate, *, max_len: int = 4) -> Explanation:
    """Put together all that is known about one candidate; ``max_len`` is that of the frontier to mark."""
    tree = scorer.forest.trees[scorer.forest.position(candidate.segment)]
    if tree is None:
        raise RyptError(f"segment {candidate.segment} has no parse, so no tree to explain")
    observations = scorer.observe([candidate])
    states, _ = observations.percolated(scorer.model.ties)
    links = candidate_links(candidate, tree)
    penalties, shares = [None] * len(states), [0.0] * len(states)
    if isinstance(scorer.model, SeverityModel):
        penalties = scorer.model.penalties(observations)[0].tolist()
        shares = frontier_shares(scorer.forest)[observations.nodes].tolist()
    on_frontier = set(frontier(tree, max_len))
    nodes = [
        ExplainedNode(
            constituent=constituent,
            phrase=phrase_of(constituent.span, links, candidate.tokens),
            votes=tuple(observations.counts[row].tolist()) if row >= 0 else (),
            state=int(states[i]),
            on_frontier=i in on_frontier,
            penalty=penalties[i],
            share=shares[i],
        )
        for i, (constituent, row) in enumerate(zip(tree.constituents, observations.rows, strict=True))
    ]
    score = float(scorer.score(scorer.model.stats(observations))[0])
    return Explanation(tree, candidate, nodes, links, score, scorer.signature, scorer.words)


def as_text(explanation: Explanation, paint: Callable[[str, int], str] = lambda text, state: text) -> str:
    """The tree as an outline, a line each constituent; ``*`` marks the frontier. ``paint`` colours by state."""
    tree = explanation.tree
    labels = [f"{_branches(tree, i)}{node.constituent.label}" for i, node in enumerate(explanation.nodes)]
    sources = [_short(" ".join(tree.tokens[slice(*node.constituent.span)])) for node in explanation.nodes]
    wide, long = max(map(len, labels), default=0), max(map(len, sources), default=0)
    lines = [explanation.headline, f"  {' '.join(tree.tokens)}", f"  {explanation.candidate.text}"]
    lines.append(f"{'':8}penalty×share" if explanation.cost else "")
    for node, label, source in zip(explanation.nodes, labels, sources, strict=True):
        phrase = _short(node.phrase.text) if node.phrase else ""
        tally = f"  [{node.tally}]" if node.tally else ""
        star = "*" if node.on_frontier else " "
        mark = paint(f"{node.mark:<5}", node.state)
        cost = f"{node.cost:>13}  " if node.cost else ""
        lines.append(f"{mark} {star} {cost}{label:<{wide}}  {source:<{long}}  {phrase}{tally}".rstrip())
    return "\n".join([*lines, *(["", explanation.cost] if explanation.cost else [])])


def legend(explanation: Explanation) -> str:
    """What the score and the marks of the outline mean, a line each."""
    labels = {label for node in explanation.nodes for label in node.constituent.label.split("+")}
    names = MADE_NAMES if labels <= MADE_LABELS else "names such as NP are the parser's"
    return "\n".join(
        [
            f"RYPT, {'at most 1' if explanation.cost else 'from 0 to 1'}: {explanation.scoring}",
            "YES, NO: labels that people gave, their votes in brackets; yes ↓: below a YES; no ↑: above a NO; ?: no label; "
            "–: no words of the candidate",
            f"*: on the frontier, the constituents that people are asked about; {names}",
            *([COST_WORDS] if explanation.cost else []),
            explanation.signature,
        ]
    )


def _branches(tree: SourceTree, index: int) -> str:
    """The lines that lead to a constituent in the outline."""
    parts: list[str] = []
    parent = tree.constituents[index].parent
    child = index
    while parent >= 0:
        last = tree.children[parent][-1] == child
        parts.append(("└ " if last else "├ ") if child == index else ("  " if last else "│ "))
        child, parent = parent, tree.constituents[parent].parent
    return "".join(reversed(parts))


def _short(text: str, most: int = 44) -> str:
    """A text that fits its column, shortened in the middle.

    >>> _short("a very long constituent indeed", 16)
    'a very … indeed'
    """
    if len(text) <= most:
        return text
    half = (most - 1) // 2
    return f"{text[:half].rstrip()} … {text[len(text) - half :].lstrip()}"
