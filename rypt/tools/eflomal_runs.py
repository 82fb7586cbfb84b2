"""eflomal's links of pairs in both directions, with progress, and priors learned from links.

eflomal samples the links of all pairs again and again (Östling & Tiedemann 2016, "Efficient Word Alignment with Markov
Chain Monte Carlo"), about 5000/√pairs times. A round takes time in proportion to the products of the pairs' lengths,
so paragraphs are cut into pairs of sentences where that is safe (`rypt.tools.sentence_pairs`), and what is equal is
aligned once. It has no random seed: it takes its state from the system.
"""

import logging
import math
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from io import StringIO
from pathlib import Path

from rypt.text import FormatError, InputError, RyptError, Watch, read_lines, unwatched
from rypt.texts.alignment import Links, format_links, parse_links
from rypt.tools.sentence_pairs import Pair, sentence_pairs

LONGEST = 1023  # tokens of a sentence that eflomal reads
SAMPLERS = 3  # of each direction, eflomal's default
SECONDS = 1.3e-8  # for two words, one sampler and one round; to say how long it will take
Directions = tuple[list[Links], list[Links]]


def eflomal_version() -> str:
    """Name and version of the aligner and of the way it is called, which the links depend on."""
    return f"eflomal {version('eflomal')}, sentences"


@dataclass(frozen=True, slots=True)
class Work:
    """Pairs as eflomal gets them: each distinct pair of sentences once, and where it stands in the pairs.

    ``places`` has for each pair its pieces: the number of a pair of sentences, and where both sentences begin.
    """

    pieces: list[Pair]
    places: list[list[tuple[int, int, int]]]

    @classmethod
    def of(cls, pairs: Iterable[Pair]) -> "Work":
        """Cut pairs into pieces."""
        numbers: dict[Pair, int] = {}
        places = []
        for source, target in pairs:
            spans = sentence_pairs((source, target))
            pieces = [(source[one.start : one.stop], target[other.start : other.stop]) for one, other in spans]
            starts = [(one.start, other.start) for one, other in spans]
            where = [numbers.setdefault(piece, len(numbers)) for piece in pieces]
            places.append([(number, *start) for number, start in zip(where, starts, strict=True)])
        return cls(list(numbers), places)

    @property
    def seconds(self) -> float:
        """An estimate of the processor's time that eflomal takes."""
        rounds = 1.5 * max(2, 5000 / math.sqrt(max(1, len(self.pieces)))) + 1
        return SECONDS * 2 * SAMPLERS * rounds * sum(len(source) * len(target) for source, target in self.pieces)

    def joined(self, links: Sequence[Links]) -> list[Links]:
        """The links of pairs from those of their pieces."""
        return [
            tuple((i + down, j + right) for number, down, right in pieces for i, j in links[number])
            for pieces in self.places
        ]

    def split(self, links: Sequence[Links]) -> list[Links]:
        """The links of pieces from those of the pairs, the inverse of `joined`."""
        split: list[Links] = [()] * len(self.pieces)
        for pieces, links_of_pair in zip(self.places, links, strict=True):
            for number, down, right in pieces:
                source, target = map(len, self.pieces[number])
                shifted = ((i - down, j - right) for i, j in links_of_pair)
                split[number] = tuple((i, j) for i, j in shifted if 0 <= i < source and 0 <= j < target)
        return split


def eflomal_links(work: Work, priors: Sequence[str] | None, watch: Watch = unwatched) -> Directions:
    """The links of pieces from source to candidate, and from candidate to source, both as (source, candidate)."""
    with tempfile.TemporaryDirectory(prefix="rypt-align-") as folder, _without_messages_of("eflomal"):
        forward, backward = str(Path(folder) / "forward"), str(Path(folder) / "backward")
        with ThreadPoolExecutor(max_workers=1) as thread:
            running = thread.submit(_call, work.pieces, forward, backward, priors)
            for _ in watch(_seconds(running), "align (seconds)", total=math.ceil(work.seconds / 2)):
                pass  # both directions are aligned at the same time
            running.result()
        return _read_links(forward, len(work.pieces)), _read_links(backward, len(work.pieces))


def _seconds(running: "Future[None]") -> Iterator[int]:
    """A number each second until a call has ended."""
    second = 0
    while not wait([running], timeout=1).done:
        yield second
        second += 1


def _call(pairs: Sequence[Pair], forward: str, backward: str, priors: Sequence[str] | None) -> None:
    from eflomal import Aligner

    lines = [_line(pair) for pair in pairs]
    try:
        Aligner().align(
            [source for source, _ in lines],
            [target for _, target in lines],
            links_filename_fwd=forward,
            links_filename_rev=backward,
            priors_input=priors,
        )
    except (subprocess.CalledProcessError, OSError) as error:
        raise RyptError(f"eflomal failed: {error}") from None
    except (ValueError, TypeError, IndexError) as error:
        if priors is not None:
            raise FormatError(f"expected priors as eflomal-makepriors writes them: {error}") from None
        raise RyptError(f"eflomal failed: {error}") from None


def _line(pair: Pair) -> tuple[str, str]:
    """Both sides as lines, without words where one of them is too long."""
    if max(map(len, pair)) > LONGEST:
        return "", ""
    return _words(pair[0]), _words(pair[1])


def _words(tokens: Sequence[str]) -> str:
    """Tokens as a line that the aligner splits as we do: in lower case, without white space inside of them."""
    return " ".join("_".join(token.lower().replace("|||", "|").split()) or "_" for token in tokens)


def learned_priors(links: Mapping[Pair, tuple[Links, Links]]) -> list[str]:
    """The lines of a file of priors, from the links of pairs in both directions: how often words were linked."""
    from eflomal import calculate_priors, write_priors

    work = Work.of(links)
    sources, targets = ([_words(piece[side]) for piece in work.pieces] for side in (0, 1))
    forward, backward = (map(format_links, work.split([both[way] for both in links.values()])) for way in (0, 1))
    stream = StringIO()
    write_priors(stream, *calculate_priors(sources, targets, forward, backward))
    return stream.getvalue().splitlines()


@contextmanager
def _without_messages_of(name: str) -> Iterator[None]:
    """Keep a logger's messages from standard error while the block runs: the errors hold the same text."""
    logger, handler = logging.getLogger(name), logging.NullHandler()
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def _read_links(path: str, count: int) -> list[Links]:
    try:
        links = [parse_links(line) for _, line in read_lines(path)]
    except (FormatError, InputError) as error:
        raise RyptError(f"the aligner wrote no alignment: {error}") from None
    if len(links) != count:
        raise RyptError(f"the aligner wrote {len(links)} alignments of {count} pairs")
    return links
