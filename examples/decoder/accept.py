"""True acceptability of a decoder's output: how much of it is right, by the truth that the grammar knows.

    python accept.py --trees corpus/test.trees --truth corpus/test.truth.jsonl --nbest test.nbest [--oracle]

The first candidate of each segment counts; with ``--oracle`` the best of its list. Two numbers:

- *constituents*: the share of a segment's constituents whose phrase (the words aligned with it) is acceptable, averaged
  over segments. A constituent without any word counts as wrong, unless English needs no word for it (an article, a
  prefix, an auxiliary): then it does not count.
- *segments*: the share of segments whose whole text is an acceptable translation, whatever the alignment says.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hits.simulate.truth import expand, may_be_missing
from rypt.texts.phrases import GAP
from rypt.texts.trees import SourceTree

Span = tuple[int, int]


@dataclass(frozen=True)
class AcceptedPhrases:
    """The acceptable phrases of a constituent, and whether English may leave it out."""

    phrases: frozenset[str]
    optional: bool


@dataclass(frozen=True)
class AlignedLine:
    """One candidate: its words, and for each source word the positions linked with it."""

    words: list[str]
    links: dict[int, list[int]]


def constituents(tree: str) -> list[Span]:
    """The distinct spans of a tree in Penn brackets, outer before inner.

    >>> constituents("(S (NP (ART der) (NN hund)) (VVFIN bellt))")
    [(0, 3), (0, 2), (0, 1), (1, 2), (2, 3)]
    """
    spans = {
        (span.start, span.stop) for span in (c.span for c in SourceTree.from_brackets(tree).constituents)
    }
    return sorted(spans, key=lambda span: (span[0], -span[1]))


def read_truth(path: Path) -> dict[str, dict[Span, AcceptedPhrases]]:
    """The truth of each segment."""
    truth: dict[str, dict[Span, AcceptedPhrases]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if "patterns" not in record:
            continue
        phrases = frozenset(phrase for text in record["patterns"] for phrase in expand(text))
        missing = not record["patterns"] or any(map(may_be_missing, record["patterns"]))
        truth.setdefault(record["segment"], {})[record["start"], record["stop"]] = AcceptedPhrases(
            phrases, missing
        )
    return truth


def read_nbest(path: Path) -> dict[str, list[AlignedLine]]:
    """The candidates of each segment, best first."""
    lists: dict[str, list[AlignedLine]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        segment, text, *_, alignment = (part.strip() for part in line.split(" ||| "))
        links: dict[int, list[int]] = {}
        for link in alignment.split():
            source, _, target = link.partition("-")
            links.setdefault(int(source), []).append(int(target))
        lists.setdefault(segment, []).append(AlignedLine(text.split(), links))
    return lists


def phrase(line: AlignedLine, span: Span) -> str:
    """The words aligned with a constituent, a ``[GAP]`` for whatever stands between; empty when there are none."""
    positions = sorted({target for source in range(*span) for target in line.links.get(source, [])})
    words: list[str] = []
    for i, position in enumerate(positions):
        if i and position > positions[i - 1] + 1:
            words.append(GAP)
        words.append(line.words[position])
    return " ".join(words)


def share(line: AlignedLine, spans: Sequence[Span], truth: dict[Span, AcceptedPhrases]) -> float:
    """The share of constituents whose phrase is acceptable."""
    right = counted = 0
    for span in spans:
        words = phrase(line, span)
        if words or not truth[span].optional:
            counted += 1
            right += words in truth[span].phrases
    return right / counted if counted else 1.0


def whole(line: AlignedLine, spans: Sequence[Span], truth: dict[Span, AcceptedPhrases]) -> bool:
    """Whether the text as a whole is an acceptable translation."""
    return " ".join(line.words) in truth[spans[0]].phrases


def acceptability(
    trees: Sequence[str],
    lists: dict[str, list[AlignedLine]],
    truth: dict[str, dict[Span, AcceptedPhrases]],
    *,
    oracle: bool = False,
) -> tuple[float, float]:
    """Mean share of acceptable constituents, and share of segments that are acceptable as a whole.

    The oracle takes the best candidate of each list, by either number on its own.
    """
    shares, wholes = 0.0, 0
    for number, tree in enumerate(trees):
        spans, known = constituents(tree), truth[str(number)]
        lines = lists[str(number)] if oracle else lists[str(number)][:1]
        shares += max(share(line, spans, known) for line in lines)
        wholes += any(whole(line, spans, known) for line in lines)
    return shares / len(trees), wholes / len(trees)


def score_lines(
    trees: Sequence[str], lists: dict[str, list[AlignedLine]], truth: dict[str, dict[Span, AcceptedPhrases]]
) -> Iterator[str]:
    """For each segment a line of truth for `rypt simulate`: the share of each candidate, which says what is better."""
    for number, tree in enumerate(trees):
        segment, spans = str(number), constituents(tree)
        shares = {" ".join(line.words): share(line, spans, truth[segment]) for line in lists[segment]}
        yield json.dumps({"segment": segment, "candidates": shares}, ensure_ascii=False) + "\n"


def main() -> int:
    """Print both numbers."""
    parser = argparse.ArgumentParser(
        description="True acceptability of candidates, from the grammar's truth."
    )
    parser.add_argument("--trees", type=Path, required=True, help="source trees, one per line")
    parser.add_argument("--truth", type=Path, required=True, help="acceptable phrases, JSON lines")
    parser.add_argument("--nbest", type=Path, required=True, help="n-best list with word alignments")
    parser.add_argument("--oracle", action="store_true", help="take the best candidate of each list")
    parser.add_argument(
        "--scores", type=Path, help="also write the share of each candidate, as truth for rypt simulate"
    )
    options = parser.parse_args()
    try:
        trees = options.trees.read_text(encoding="utf-8").splitlines()
        lists, truth = read_nbest(options.nbest), read_truth(options.truth)
        if options.scores:
            options.scores.write_text("".join(score_lines(trees, lists, truth)), encoding="utf-8")
        constituents_right, segments_right = acceptability(trees, lists, truth, oracle=options.oracle)
    except (OSError, ValueError, KeyError) as error:
        print(f"accept.py: {error}", file=sys.stderr)
        return 1
    print(f"constituents {constituents_right:.4f}  segments {segments_right:.4f}  of {len(trees)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
