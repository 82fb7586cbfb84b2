"""Word alignment by eflomal, where it is installed; links of any other aligner are read from files (docs/texts.md).

    align([(("das", "Haus"), ("the", "house"))])                 # links of pairs of tokens
    align_lists("dev.de", ["run7.nbest"], ["run7.links"])        # links of files of candidates

eflomal aligns tokenised pairs in both directions; `rypt.tools.symmetrization` makes one alignment of the two. Equal
pairs are aligned once, in lower case. It samples, and takes no random seed: two runs differ a little (Östling &
Tiedemann 2016, "Efficient Word Alignment with Markov Chain Monte Carlo").
"""

import importlib.util
import logging
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from rypt.campaign.folder import read_source
from rypt.options import ALIGNERS
from rypt.records import Segment
from rypt.text import (
    FormatError,
    InputError,
    OptionError,
    PathLike,
    RyptError,
    Watch,
    open_output,
    read_lines,
    tokenize,
    unwatched,
)
from rypt.texts.alignment import Lexicon, Links, check_links, format_links, parse_links
from rypt.texts.lists import expand_outputs
from rypt.texts.nbest import aligned_candidate, read_raw
from rypt.tools.symmetrization import symmetrize

LONGEST = 1023  # tokens of a sentence that eflomal reads
Pair = tuple[tuple[str, ...], tuple[str, ...]]
Directions = tuple[list[Links], list[Links]]


def is_installed(aligner: str) -> bool:
    """Whether an aligner can be called here."""
    return importlib.util.find_spec(aligner) is not None


def choose_aligner(name: str | None = None) -> str:
    """The aligner asked for, or the first one installed; when there is none, the error says what to install."""
    if name is not None and name not in ALIGNERS:
        raise RyptError(f"expected an aligner {', '.join(ALIGNERS)}, found {name!r}")
    for aligner in ALIGNERS if name is None else (name,):
        if is_installed(aligner):
            return aligner
    if name is not None:
        raise RyptError(f"{name} is not installed: pip install {name}")
    raise RyptError("no aligner is installed: pip install eflomal; --alignments of rypt init reads any aligner's links")


@dataclass(frozen=True, slots=True)
class AlignedLists:
    """What was aligned: by which aligner, how many candidates, and how many of them have no links."""

    aligner: str
    candidates: int
    without_links: int


def align_lists(
    source: PathLike,
    nbest: Sequence[PathLike],
    outputs: Sequence[PathLike],
    *,
    aligner: str | None = None,
    heuristic: str = "grow-diag-final-and",
    training: tuple[PathLike, PathLike] | None = None,
    priors: PathLike | None = None,
    watch: Watch = unwatched,
    tell: Callable[[str], None] = lambda message: None,
) -> AlignedLists:
    """Align the candidates of lists with their segments, and write a line of links for each line of a list.

    For a folder of lists the output is a folder, with links in ``LIST.links``. All lists are aligned together with the
    ``training`` text, a file of source and one of target segments, for the aligner learns from all of them. ``tell``
    is called with a message before the work begins.
    """
    if len(outputs) != len(nbest):
        raise OptionError(f"expected an output for each list, {len(nbest)}, got {len(outputs)}")
    files = expand_outputs(nbest, outputs)
    chosen = choose_aligner(aligner)
    segments = {segment.id: segment for segment in read_source(source)}
    lists = [_pairs(path, segments, watch) for path, _ in files]
    pairs = [pair for pairs_of_list in lists for pair in pairs_of_list]
    further = _training_pairs(*training) if training else []
    tell(f"aligning {len(set(pairs))} pairs of {len(pairs)} candidates with {chosen}")
    with ExitStack() as stack:  # files are opened first: one that cannot be written is an error before the work is done
        for path, output in zip(nbest, outputs, strict=True):
            if Path(path).is_dir():
                stack.enter_context(_output_folder(Path(output)))
        streams = [stack.enter_context(open_output(output)) for _, output in files]
        aligned = align(pairs, aligner=chosen, heuristic=heuristic, training=further, priors=priors)
        links = iter(aligned)
        for stream, pairs_of_list in zip(streams, lists, strict=True):
            stream.writelines(f"{format_links(next(links))}\n" for _ in pairs_of_list)
    return AlignedLists(chosen, len(pairs), aligned.count(()))


@contextmanager
def _output_folder(path: Path) -> Iterator[None]:
    """A folder to write to; a new one is removed again unless something is written to it."""
    is_new = not path.exists()
    path.mkdir(exist_ok=True)
    try:
        yield
    finally:
        with suppress(OSError):  # not empty
            if is_new:
                path.rmdir()


def _pairs(path: PathLike, segments: Mapping[str, Segment], watch: Watch) -> list[Pair]:
    """Source and candidate tokens of each line of a list."""
    pairs: list[Pair] = []
    for number, raw in read_raw(path, list(segments), watch):
        segment = segments.get(raw.segment)
        if segment is None:
            raise InputError(path, number, f"segment {raw.segment!r} is not in the source")
        try:
            candidate = aligned_candidate(replace(raw, alignment=""), segment, Lexicon())
        except FormatError as error:
            raise InputError(path, number, str(error)) from None
        pairs.append((tuple(segment.tokens), tuple(candidate.tokens)))
    if not pairs:
        raise InputError(path, None, "expected candidates, found none")
    return pairs


def _training_pairs(source: PathLike, target: PathLike) -> list[Pair]:
    sides = [[tuple(tokenize(line)) for _, line in read_lines(name)] for name in (source, target)]
    if len(sides[0]) != len(sides[1]):
        raise RyptError(f"expected as many lines in {source} as in {target}, found {len(sides[0])} and {len(sides[1])}")
    return list(zip(*sides, strict=True))


def align(
    pairs: Sequence[Pair],
    *,
    aligner: str | None = None,
    heuristic: str = "grow-diag-final-and",
    training: Sequence[Pair] = (),
    priors: PathLike | None = None,
) -> list[Links]:
    """Links of each pair of source and candidate tokens, through both directions.

    ``training`` are further pairs to learn from, ``priors`` a file of ``eflomal-makepriors``. A pair with an empty side
    has no links.
    """
    choose_aligner(aligner)
    distinct = [pair for pair in dict.fromkeys(pairs) if pair[0] and pair[1]]
    if not distinct:
        return [()] * len(pairs)
    directions = _eflomal(distinct + [pair for pair in training if pair[0] and pair[1]], priors)
    links = {}
    for pair, forward, backward in zip(distinct, *directions, strict=False):
        links[pair] = symmetrize(forward, backward, heuristic)
        check_links(links[pair], len(pair[0]), len(pair[1]))
    return [links.get(pair, ()) for pair in pairs]


def _words(tokens: Sequence[str]) -> str:
    """Tokens as a line that the aligner splits as we do: in lower case, without white space inside of them."""
    return " ".join("_".join(token.lower().replace("|||", "|").split()) or "_" for token in tokens)


def _eflomal(pairs: Sequence[Pair], priors: PathLike | None) -> Directions:
    from eflomal import Aligner

    with tempfile.TemporaryDirectory(prefix="rypt-align-") as folder, _without_messages_of("eflomal"):
        lines = [[_words(side) if max(map(len, pair)) <= LONGEST else "" for side in pair] for pair in pairs]
        forward, backward = str(Path(folder) / "forward"), str(Path(folder) / "backward")
        given = None if priors is None else [line for _, line in read_lines(priors)]
        try:
            Aligner().align(
                [line[0] for line in lines],
                [line[1] for line in lines],
                links_filename_fwd=forward,
                links_filename_rev=backward,
                priors_input=given,
            )
        except (subprocess.CalledProcessError, OSError) as error:
            raise RyptError(f"eflomal failed: {error}") from None
        except (ValueError, TypeError, IndexError) as error:
            if priors is not None:
                raise InputError(priors, None, f"expected priors as eflomal-makepriors writes them: {error}") from None
            raise RyptError(f"eflomal failed: {error}") from None
        return _read_links(forward, len(pairs)), _read_links(backward, len(pairs))


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
    except FormatError as error:
        raise RyptError(f"the aligner wrote no alignment: {error}") from None
    if len(links) != count:
        raise RyptError(f"the aligner wrote {len(links)} alignments of {count} pairs")
    return links
