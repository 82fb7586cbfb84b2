"""The truth about a segment: its source tree and, for each constituent, all phrases that are acceptable for it.

    python truth.py corpus/dev.de --trees corpus/dev.trees --truth corpus/dev.truth.jsonl

The truth is a line ``{"segment", "source"}`` for each segment and a line ``{"segment", "start", "stop", "patterns"}``
for each constituent; `slots` says how patterns are read. Simulated workers
answer from it, and `accept` measures a decoder's output with it.
"""

import argparse
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from chunks import Lexicon
from german import Analysis, Reader
from grammar import read_tables
from slots import pattern

from hits.simulate.truth import expand
from rypt.texts.trees import SourceTree


def truth_lines(segment: str, text: str, analysis: Analysis) -> Iterator[str]:
    """A line with the source, then one for each constituent."""
    yield json.dumps({"segment": segment, "source": text}, ensure_ascii=False)
    spans = {(c.span.start, c.span.stop) for c in SourceTree.from_brackets(analysis.tree).constituents}
    for start, stop in sorted(spans, key=lambda span: (span[0], -span[1])):  # outer before inner
        inside = frozenset(range(start, stop))
        patterns = needed({pattern(items, inside) for items in analysis.english} - {""})
        record = {"segment": segment, "start": start, "stop": stop, "patterns": patterns}
        yield json.dumps(record, ensure_ascii=False)


def needed(patterns: Iterable[str]) -> list[str]:
    """The patterns without those that add no phrase to longer ones.

    >>> needed(["(the) kids", "(the) kids (are)"])
    ['(the) kids (are)']
    """
    kept: list[str] = []
    covered: set[str] = set()
    for text in sorted(patterns, key=lambda text: (-len(text), text)):
        phrases = set(expand(text))
        if not phrases <= covered:
            covered |= phrases
            kept.append(text)
    return sorted(kept)


def reader(corpus: Path) -> Reader:
    """A reader with the words of the corpus."""
    return Reader(Lexicon(read_tables(corpus / "words.txt")))


def write_truth(texts: Iterable[str], known: Reader, trees: Path, truth: Path) -> None:
    """Write the trees and the truth of segments, which are numbered from 0."""
    found = [(text, known.read(text)) for text in texts]
    trees.write_text("".join(f"{analysis.tree}\n" for _, analysis in found), encoding="utf-8")
    lines = (
        line for number, (text, made) in enumerate(found) for line in truth_lines(str(number), text, made)
    )
    truth.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def main() -> None:
    """Write trees and truth of a file of segments."""
    parser = argparse.ArgumentParser(
        description="Write source trees and acceptable phrases of the grammar's German."
    )
    parser.add_argument("source", type=Path, help="segments, one per line")
    parser.add_argument(
        "--trees", type=Path, required=True, help="trees to write, Penn brackets, one per line"
    )
    parser.add_argument("--truth", type=Path, required=True, help="acceptable phrases to write, JSON lines")
    options = parser.parse_args()
    known = reader(Path(__file__).resolve().parent)
    write_truth(options.source.read_text(encoding="utf-8").splitlines(), known, options.trees, options.truth)


if __name__ == "__main__":
    main()
