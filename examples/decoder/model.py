"""What the decoder reads: sentences, the phrase table, the language model and the weights."""

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

State = tuple[str, ...]
FEATURES = (
    ("Distortion0", 1),
    ("LM0", 1),
    ("WordPenalty0", 1),
    ("PhrasePenalty0", 1),
    ("TranslationModel0", 4),
    ("UnknownWordPenalty0", 1),
)
RESERVED = {"|||", "<s>", "</s>", "<unk>"}
UNKNOWN_PENALTY = -100.0
LONGEST = 12  # words of a source phrase; longer ones in a table are not used


class DecoderError(Exception):
    """A mistake in the input, described in one line."""


def display_name(path: Path) -> str:
    """The file as a message names it."""
    return "<stdin>" if str(path) == "-" else str(path)


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines of a UTF-8 file, or of standard input for ``-``, with their numbers from 1."""
    name, number = display_name(path), 0
    try:
        with sys.stdin.buffer if str(path) == "-" else path.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                yield number, line.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        raise DecoderError(f"{name}:{number}: expected UTF-8") from None
    except OSError as error:
        raise DecoderError(f"{name}: {error.strerror}") from None


def read_sentences(path: Path) -> Iterator[list[str]]:
    """The words of each line; reserved marks of the file formats are refused."""
    for number, line in numbered_lines(path):
        words = line.split()
        for word in words:
            if word in RESERVED:
                raise DecoderError(
                    f"{display_name(path)}:{number}: expected words, found the reserved mark {word}"
                )
        yield words


def read_weights(path: Path) -> list[float]:
    """The weights in the order of the features, from lines ``Name= value value …``."""
    sizes = dict(FEATURES)
    weights: dict[str, list[float]] = {}
    for number, line in numbered_lines(path):
        label, *values = line.split() or ["#"]
        if label.startswith("#"):
            continue
        name = label.removesuffix("=")
        if name == label or not values or not all(map(_is_number, values)):
            raise DecoderError(f"{path}:{number}: expected Name= value value …, found {line!r}")
        if name not in sizes:
            raise DecoderError(f"{path}:{number}: unknown weight {name}, expected one of {', '.join(sizes)}")
        if name in weights:
            raise DecoderError(f"{path}:{number}: the weights of {name} are there twice")
        if len(values) != sizes[name]:
            raise DecoderError(
                f"{path}:{number}: expected {sizes[name]} weights of {name}, found {len(values)}"
            )
        weights[name] = [float(value) for value in values]
    for name in sizes:
        if name not in weights:
            raise DecoderError(f"{path}: expected weights of {name}, found none")
    return [value for name in sizes for value in weights[name]]


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


class LanguageModel:
    """A back-off model read from an ARPA file.

    A state is the longest run of last words that some n-gram of the model goes on from: what is further back cannot
    change any later score, so candidates that differ only there are recombined.
    """

    def __init__(self, path: Path) -> None:
        self._scores: dict[State, float] = {}
        self._back_offs: dict[State, float] = {}
        self._order = 0
        for number, line in numbered_lines(path):
            if line.startswith("\\") and line.endswith("-grams:"):
                self._order = int(line[1:].partition("-")[0])
            elif self._order and line and not line.startswith("\\"):
                self._add(path, number, line.split("\t"))
        if ("<unk>",) not in self._scores or ("</s>",) not in self._scores:
            raise DecoderError(f"{path}: expected a language model in ARPA form with <unk> and </s>")

    def _add(self, path: Path, number: int, fields: list[str]) -> None:
        gram = tuple(fields[1].split(" ")) if len(fields) in (2, 3) else ()
        numbers = [fields[0], *fields[2:]]
        if len(gram) != self._order or not all(map(_is_number, numbers)):
            form = f"log10 p, tab, {self._order} words, perhaps tab and back-off"
            raise DecoderError(f"{path}:{number}: expected {form}")
        self._scores[gram] = float(numbers[0]) * math.log(10)
        if len(numbers) > 1:
            self._back_offs[gram] = float(numbers[1]) * math.log(10)

    def start(self) -> State:
        """The state at the beginning of a sentence."""
        return ("<s>",)

    def score(self, state: State, words: Iterable[str]) -> tuple[float, State]:
        """Natural log probability of the words after a state, and the state after them."""
        total = 0.0
        for word in words:
            known = word if (word,) in self._scores else "<unk>"
            gram = (*state, known)
            while gram not in self._scores:
                total += self._back_offs.get(gram[:-1], 0.0)
                gram = gram[1:]
            total += self._scores[gram]
            state = (*state, known)[-(self._order - 1) :] if self._order > 1 else ()
            while state and state not in self._back_offs:
                state = state[1:]
        return total, state


@dataclass(eq=False, slots=True)
class PhraseOption:
    """A translation of a source phrase; ``score`` is its weighted score without language model and distortion."""

    text: str
    words: tuple[str, ...]
    scores: tuple[float, ...]
    links: tuple[tuple[int, int], ...]
    unknown: bool = False
    score: float = 0.0
    estimate: float = 0.0
    after: dict[State, tuple[float, State]] = field(default_factory=dict)


def read_phrases(path: Path, wanted: set[str]) -> dict[str, list[PhraseOption]]:
    """The translations of the wanted source phrases; the rest of the table is passed over."""
    table: dict[str, list[PhraseOption]] = {}
    for number, line in numbered_lines(path):
        fields = line.split(" ||| ")
        if len(fields) != 4:
            raise DecoderError(f"{path}:{number}: expected 4 fields between |||, found {len(fields)}")
        if fields[0] in wanted:
            table.setdefault(fields[0], []).append(_parse_phrase(path, number, fields))
    return table


def _parse_phrase(path: Path, number: int, fields: Sequence[str]) -> PhraseOption:
    source, text, values, alignment = fields
    words = tuple(text.split())
    try:
        scores = tuple(math.log(float(value)) for value in values.split())
        links = tuple((int(i), int(j)) for i, j in (link.split("-") for link in alignment.split()))
    except ValueError:
        scores, links = (), ()
    size = len(source.split())
    if len(scores) != 4 or not words or not all(0 <= i < size and 0 <= j < len(words) for i, j in links):
        raise DecoderError(f"{path}:{number}: expected 4 probabilities above 0 and links inside the phrases")
    return PhraseOption(text, words, scores, links)


def unknown_phrase(word: str) -> PhraseOption:
    """A word that the table does not know is passed through."""
    return PhraseOption(word, (word,), (0.0, 0.0, 0.0, 0.0), ((0, 0),), unknown=True)
