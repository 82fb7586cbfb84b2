"""Train the example decoder: word alignment, phrase table and language model from a parallel corpus.

python train.py --source corpus/train.de --target corpus/train.en --output model
"""

import argparse
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from arpa import train_arpa
from model import LONGEST, DecoderError, read_sentences
from phrases import phrase_table

from rypt.texts.align import word_links


def read_corpus(source: Path, target: Path) -> tuple[list[list[str]], list[list[str]]]:
    """Both sides of the corpus, without pairs of which a side is empty."""
    sources, targets = list(read_sentences(source)), list(read_sentences(target))
    if len(sources) != len(targets):
        raise DecoderError(f"{target}: expected {len(sources)} lines as in {source}, found {len(targets)}")
    pairs = [(f, e) for f, e in zip(sources, targets, strict=True) if f and e]
    if not pairs:
        raise DecoderError(f"{source}: expected sentences, found none")
    return [f for f, _ in pairs], [e for _, e in pairs]


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write a file that appears only when it is whole."""
    partial = path.with_name(f".{path.name}.partial")
    with partial.open("w", encoding="utf-8") as stream:
        stream.writelines(f"{line}\n" for line in lines)
    os.replace(partial, path)


def train(source: Path, target: Path, output: Path, longest: int, rounds: int) -> None:
    """Write ``phrase-table`` and ``lm.arpa`` into the model folder."""
    sources, targets = read_corpus(source, target)
    links = word_links([(tuple(f), tuple(e)) for f, e in zip(sources, targets, strict=True)], rounds=rounds)
    try:
        output.mkdir(parents=True, exist_ok=True)
        write_lines(
            output / "phrase-table", phrase_table(list(zip(sources, targets, links, strict=True)), longest)
        )
        write_lines(output / "lm.arpa", train_arpa(targets))
    except OSError as error:
        raise DecoderError(f"{error.filename}: {error.strerror}") from None


def positive(text: str) -> int:
    """A whole number above 0."""
    if int(text) < 1:
        raise ValueError
    return int(text)


def main() -> int:
    """Read the command line; a mistake is one line on standard error and exit code 1."""
    parser = argparse.ArgumentParser(description="Train a phrase table and a trigram language model.")
    parser.add_argument(
        "--source", type=Path, required=True, help="source sentences, tokenised, one per line"
    )
    parser.add_argument("--target", type=Path, required=True, help="their translations, line by line")
    parser.add_argument("--output", type=Path, required=True, help="model folder to write")
    lengths = range(1, LONGEST + 1)
    parser.add_argument(
        "--max-length",
        type=int,
        default=5,
        choices=lengths,
        metavar="N",
        help="longest phrase in words, to 12 (5)",
    )
    parser.add_argument("--rounds", type=positive, default=6, help="rounds of EM of the word alignment (6)")
    options = parser.parse_args()
    try:
        train(options.source, options.target, options.output, options.max_length, options.rounds)
    except DecoderError as error:
        print(f"train.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
