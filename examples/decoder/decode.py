"""Translate with a phrase-based model: the best candidates to standard output, n-best lists to a file.

python decode.py --model model --weights weights.init --input dev.de --nbest dev.nbest
"""

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from model import (
    FEATURES,
    LONGEST,
    UNKNOWN_PENALTY,
    DecoderError,
    LanguageModel,
    read_phrases,
    read_sentences,
    read_weights,
)
from search import BeamDecoder, DerivationStep, Settings, n_best

RECURSION = 100_000  # the n best of a segment are found from its last word back to the first


def feature_values(steps: Sequence[DerivationStep], language_model: LanguageModel) -> list[float]:
    """The features of a candidate in the order of the weights, rounded as they are printed."""
    words = [word for step in steps for word in step.phrase.words]
    ends = [0, *(step.end for step in steps)]
    distortion = -sum(abs(step.start - end) for step, end in zip(steps, ends, strict=False))
    lm = language_model.score(language_model.start(), [*words, "</s>"])[0]
    translation = [sum(step.phrase.scores[i] for step in steps) for i in range(4)]
    unknown = UNKNOWN_PENALTY * sum(step.phrase.unknown for step in steps)
    values = [distortion, lm, -len(words), len(steps), *translation, unknown]
    return [round(float(value), 6) + 0.0 for value in values]


def format_features(values: Sequence[float]) -> str:
    """``Distortion0= 0 LM0= -12.5 …``."""
    fields, position = [], 0
    for name, size in FEATURES:
        fields += [f"{name}=", *(f"{value:.10g}" for value in values[position : position + size])]
        position += size
    return " ".join(fields)


def format_alignments(steps: Sequence[DerivationStep]) -> tuple[str, str]:
    """PhraseOption alignment ``0-1=0 2=1-2`` and word alignment ``0-0 1-0 2-1``; both count from 0, ends included."""
    phrases, links, begin = [], [], 0
    for step in steps:
        end = begin + len(step.phrase.words)
        phrases.append(f"{_range(step.start, step.end)}={_range(begin, end)}")
        links += [(step.start + i, begin + j) for i, j in step.phrase.links]
        begin = end
    return " ".join(phrases), " ".join(f"{i}-{j}" for i, j in sorted(links))


def _range(start: int, end: int) -> str:
    return str(start) if end == start + 1 else f"{start}-{end - 1}"


def candidates(decoder: BeamDecoder, words: Sequence[str], size: int) -> list[tuple[float, str, str]]:
    """Total, words, and the rest of the line of each candidate, the best first."""
    ranked = []
    for steps in n_best(decoder.search(words), size):
        values = feature_values(steps, decoder.language_model)
        total = sum(weight * value for weight, value in zip(decoder.weights, values, strict=True))
        text = " ".join(step.phrase.text for step in steps)
        phrases, links = format_alignments(steps)
        ranked.append((total, text, f"{format_features(values)} ||| {total:.10g} ||| {phrases} ||| {links}"))
    return sorted(ranked, key=lambda candidate: -candidate[0])


def source_phrases(sentences: Iterable[Sequence[str]]) -> set[str]:
    """All runs of words that could be in the phrase table."""
    return {
        " ".join(words[start:end])
        for words in sentences
        for start in range(len(words))
        for end in range(start + 1, min(start + LONGEST, len(words)) + 1)
    }


def decode(options: argparse.Namespace) -> Iterator[tuple[str, list[str]]]:
    """The best candidate and the lines of the n-best list of each segment."""
    weights = read_weights(options.weights)
    language_model = LanguageModel(options.model / "lm.arpa")
    sentences = list(read_sentences(options.input))
    table = read_phrases(options.model / "phrase-table", source_phrases(sentences))
    settings = Settings(options.beam, options.table_limit, options.distortion_limit)
    decoder = BeamDecoder(language_model, table, weights, settings)
    for number, words in enumerate(sentences):
        ranked = candidates(decoder, words, options.size if options.nbest else 1)
        yield ranked[0][1], [f"{number} ||| {text} ||| {rest}\n" for _, text, rest in ranked]


def write_all(options: argparse.Namespace) -> None:
    """Print the best candidates; the n-best file appears only when it is whole."""
    if options.nbest is None:
        for best, _ in decode(options):
            print(best, flush=True)
        return
    partial = options.nbest.with_name(f".{options.nbest.name}.partial")
    try:
        with partial.open("w", encoding="utf-8") as stream:
            for best, lines in decode(options):
                print(best)
                stream.writelines(lines)
        os.replace(partial, options.nbest)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise DecoderError(f"{options.nbest}: {error.strerror}") from None
    finally:
        partial.unlink(missing_ok=True)


def positive(text: str) -> int:
    """A whole number above 0."""
    if int(text) < 1:
        raise ValueError
    return int(text)


def natural(text: str) -> int:
    """A whole number, perhaps 0."""
    if int(text) < 0:
        raise ValueError
    return int(text)


def main() -> int:
    """Read the command line; a mistake is one line on standard error and exit code 1."""
    parser = argparse.ArgumentParser(description="Translate with a phrase-based model.")
    parser.add_argument("--model", type=Path, required=True, help="folder with phrase-table and lm.arpa")
    parser.add_argument(
        "--weights", type=Path, required=True, help="weights, a line Name= value … for each group"
    )
    parser.add_argument(
        "--input", type=Path, required=True, help="tokenised segments, one per line (- for stdin)"
    )
    parser.add_argument("--nbest", type=Path, help="n-best list to write")
    parser.add_argument(
        "--size", type=positive, default=100, help="candidates per segment in the n-best list (100)"
    )
    parser.add_argument(
        "--distortion-limit", type=int, default=6, help="longest jump in words, -1 for any (6)"
    )
    parser.add_argument("--beam", type=positive, default=50, help="nodes per stack (50)")
    parser.add_argument(
        "--table-limit", type=natural, default=20, help="translations of a source phrase, 0 for all (20)"
    )
    options = parser.parse_args()
    sys.setrecursionlimit(RECURSION)
    try:
        sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
        write_all(options)
    except DecoderError as error:
        print(f"decode.py: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # nobody reads on, as in decode.py … | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
