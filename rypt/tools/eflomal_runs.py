"""eflomal's links of pairs in both directions, with progress, and priors learned from links.

eflomal samples the links of all pairs again and again (Östling & Tiedemann 2016, "Efficient Word Alignment with Markov
Chain Monte Carlo"), by default 1.5 · 5000/√pairs times. A round takes time in proportion to the products of the pairs'
lengths. Three things save time (docs/texts.md has what they change, bench/align.py measures it):

1. paragraphs are cut into pairs of sentences where that is safe (`rypt.tools.sentence_pairs`), and equal ones aligned
   once;
2. a first run does half of the rounds;
3. its links, both directions combined, are weak priors of a second run, which does a tenth of the rounds.

With priors at hand one run does a quarter of the rounds. eflomal has no random seed: its state is from the system.
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
from rypt.tools.symmetrization import symmetrize

LONGEST = 1023  # tokens of a sentence that eflomal reads
SAMPLERS = 3  # of each direction, eflomal's default
FIRST, SECOND = 0.5, 0.1  # the share of eflomal's rounds in a run without priors, and in the one that follows
WITH_PRIORS = 0.25  # the share where priors are given
PRIOR_WEIGHT = 0.2  # of a link found before in the run that learns from it
SECONDS = 1.3e-8  # for two words, one sampler and one round; to say how long it will take
Directions = tuple[list[Links], list[Links]]


def eflomal_version() -> str:
    """Name and version of the aligner and of the way it is called, which the links depend on."""
    return f"eflomal {version('eflomal')}, sentences, rounds {FIRST} {SECOND} {WITH_PRIORS}, weight {PRIOR_WEIGHT}"


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
            pieces = [
                (source[one.start : one.stop], target[other.start : other.stop]) for one, other in spans
            ]
            starts = [(one.start, other.start) for one, other in spans]
            where = [numbers.setdefault(piece, len(numbers)) for piece in pieces]
            places.append([(number, *start) for number, start in zip(where, starts, strict=True)])
        return cls(list(numbers), places)

    def seconds(self, share: float = FIRST + SECOND) -> float:
        """An estimate of the processor's time that eflomal takes for a share of its rounds."""
        rounds = share * 1.5 * 5000 / math.sqrt(max(1, len(self.pieces))) + 3
        return (
            SECONDS * 2 * SAMPLERS * rounds * sum(len(source) * len(target) for source, target in self.pieces)
        )

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
    if priors is not None:
        return _run(work, WITH_PRIORS, priors, watch)
    first = _run(work, FIRST, None, watch)
    links = [symmetrize(one, other, "grow-diag-final-and") for one, other in zip(*first, strict=True)]
    return _run(work, SECOND, _prior_lines(work.pieces, (links, links), PRIOR_WEIGHT), watch)


def _run(work: Work, share: float, priors: Sequence[str] | None, watch: Watch) -> Directions:
    """One run of eflomal, with a share of the rounds that it does by default."""
    with tempfile.TemporaryDirectory(prefix="rypt-align-") as folder, _without_messages_of("eflomal"):
        forward, backward = str(Path(folder) / "forward"), str(Path(folder) / "backward")
        with ThreadPoolExecutor(max_workers=1) as thread:
            running = thread.submit(_call, work.pieces, forward, backward, share, priors)
            for _ in watch(_seconds(running), "align (seconds)", total=math.ceil(work.seconds(share) / 2)):
                pass  # both directions are aligned at the same time
            running.result()
        return _read_links(forward, len(work.pieces)), _read_links(backward, len(work.pieces))


def _seconds(running: "Future[None]") -> Iterator[int]:
    """A number each second until a call has ended."""
    second = 0
    while not wait([running], timeout=1).done:
        yield second
        second += 1


def _call(
    pairs: Sequence[Pair], forward: str, backward: str, share: float, priors: Sequence[str] | None
) -> None:
    from eflomal import Aligner

    lines = [_line(pair) for pair in pairs]
    try:
        Aligner(n_samplers=SAMPLERS, rel_iterations=share).align(
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


def learned_priors(links: Mapping[Pair, tuple[Links, Links]], weight: float = 1.0) -> list[str]:
    """The lines of a file of priors, from the links of pairs in both directions: how often words were linked."""
    work = Work.of(links)
    forward, backward = (work.split([both[way] for both in links.values()]) for way in (0, 1))
    return _prior_lines(work.pieces, (forward, backward), weight)


def _prior_lines(pieces: Sequence[Pair], directions: Directions, weight: float) -> list[str]:
    """How often words, jumps and fertilities occur in links, times a weight, as eflomal reads it."""
    from eflomal import calculate_priors, write_priors

    sources, targets = ([_words(piece[side]) for piece in pieces] for side in (0, 1))
    counts = calculate_priors(sources, targets, *(map(format_links, links) for links in directions))
    stream = StringIO()
    write_priors(stream, *({key: weight * count for key, count in counter.items()} for counter in counts))
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
