"""Word alignment by eflomal, where it is installed, or by an aligner of our own (`rypt.tools.diagonal_aligner`).

Links of any other aligner are read from files (docs/texts.md).

    align([(("das", "Haus"), ("the", "house"))])                 # links of pairs of tokens
    align_lists("dev.de", ["run7.nbest"], ["run7.links"])        # links of files of candidates

An aligner aligns tokenised pairs in both directions; `rypt.tools.symmetrization` makes one alignment of the two. Equal
pairs are aligned once, in lower case. Two runs of eflomal (`rypt.tools.eflomal_runs`) differ a little, because it has
no random seed; a cache (`rypt.tools.link_cache`) keeps the links of the first.
"""

import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from rypt.campaign.folder import read_source
from rypt.options import ALIGNERS, UNALIGNED, check_option
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
from rypt.texts.alignment import Lexicon, Links, check_links, format_links
from rypt.texts.lists import expand_outputs
from rypt.texts.nbest import aligned_candidate, not_in_source, read_list
from rypt.tools.diagonal_aligner import VERSION, diagonal_links
from rypt.tools.eflomal_runs import PRIOR_WEIGHT, Work, eflomal_links, eflomal_version, learned_priors
from rypt.tools.link_cache import Known, LinkCache, digest, digest_of_pair
from rypt.tools.sentence_pairs import Pair
from rypt.tools.symmetrization import attach_unaligned, symmetrize

DIAGONAL = "diagonal"
WORTH_TELLING = 5.0  # seconds


def is_installed(aligner: str) -> bool:
    """Whether an aligner can be called here."""
    return aligner == DIAGONAL or importlib.util.find_spec(aligner) is not None


def choose_aligner(name: str | None = None) -> str:
    """The aligner asked for, or the first one installed; the last one always is."""
    if name is not None and name not in ALIGNERS:
        raise RyptError(f"expected an aligner {', '.join(ALIGNERS)}, found {name!r}")
    if name is not None and not is_installed(name):
        raise RyptError(f"{name} is not installed: pip install {name}")
    return name or next(filter(is_installed, ALIGNERS))


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
    unaligned: str = "attach",
    training: tuple[PathLike, PathLike] | None = None,
    priors: PathLike | None = None,
    save_priors: PathLike | None = None,
    cache: PathLike | bool = False,
    watch: Watch = unwatched,
    tell: Callable[[str], None] = lambda message: None,
) -> AlignedLists:
    """Align the candidates of lists with their segments, and write a line of links for each line of a list.

    For a folder of lists the output is a folder, with links in ``LIST.links``. All lists are aligned together with the
    ``training`` text, a file of source and one of target segments, for the aligner learns from all of them. A ``cache``
    keeps links for the next run (see `align`), in a file; True takes ``OUTPUT.cache.gz`` beside the first output, where
    that is a file. ``tell`` is called with messages before the work begins.
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
    with (
        ExitStack() as stack
    ):  # files are opened first: one that cannot be written is an error before the work is done
        for path, output in zip(nbest, outputs, strict=True):
            if Path(path).is_dir():
                stack.enter_context(_output_folder(Path(output)))
        streams = [stack.enter_context(open_output(output)) for _, output in files]
        aligned = align(
            pairs,
            aligner=chosen,
            heuristic=heuristic,
            unaligned=unaligned,
            training=further,
            priors=priors,
            save_priors=save_priors,
            cache=_cache_file(outputs[0]) if cache is True else cache or None,
            watch=watch,
            tell=tell,
        )
        links = iter(aligned)
        for stream, pairs_of_list in zip(streams, lists, strict=True):
            stream.writelines(f"{format_links(next(links))}\n" for _ in pairs_of_list)
    return AlignedLists(chosen, len(pairs), aligned.count(()))


def _cache_file(output: PathLike) -> Path | None:
    """Where links are kept that are written to an output; nowhere where it is no file or folder."""
    path = Path(output)
    is_device = str(output) == "-" or (path.exists() and not path.is_file() and not path.is_dir())
    return None if is_device else path.with_name(f"{path.name}.cache.gz")


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
    for number, raw in read_list(path, list(segments), watch):
        segment = segments.get(raw.segment)
        if segment is None:
            raise InputError(path, number, not_in_source(raw.segment, len(segments)))
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
        raise RyptError(
            f"expected as many lines in {source} as in {target}, found {len(sides[0])} and {len(sides[1])}"
        )
    return list(zip(*sides, strict=True))


def align(
    pairs: Sequence[Pair],
    *,
    aligner: str | None = None,
    heuristic: str = "grow-diag-final-and",
    unaligned: str = "attach",
    training: Sequence[Pair] = (),
    priors: PathLike | None = None,
    save_priors: PathLike | None = None,
    cache: PathLike | None = None,
    watch: Watch = unwatched,
    tell: Callable[[str], None] = lambda message: None,
) -> list[Links]:
    """Links of each pair of source and candidate tokens, through both directions.

    ``unaligned`` says what becomes of candidate words without a link: "attach" (`attach_unaligned`) or "leave".
    ``training`` are further pairs to learn from, ``priors`` a file of ``eflomal-makepriors`` or of ``save_priors``,
    which writes what was learned. Pairs that are in the file ``cache`` keep their links, and only new ones are aligned,
    with what the others teach; where most pairs are new, all are aligned. A pair with an empty side has no links.
    """
    chosen = choose_aligner(aligner)
    if chosen == DIAGONAL and (priors is not None or save_priors is not None):
        raise OptionError("priors are for eflomal, not for the aligner diagonal")
    check_option("unaligned", unaligned, UNALIGNED)
    distinct = [pair for pair in dict.fromkeys(pairs) if pair[0] and pair[1]]
    if not distinct:
        return [()] * len(pairs)
    further = [pair for pair in training if pair[0] and pair[1]]
    given = None if priors is None else [line for _, line in read_lines(priors)]
    store = None if cache is None else LinkCache(cache, _made_by(chosen, further, given))
    linked = {} if store is None or (save_priors is not None and further) else store.links_of(distinct)
    if 2 * len(linked) < len(distinct):
        linked = {}
    new = [pair for pair in distinct if pair not in linked]
    if linked:
        tell(f"{len(linked)} of {len(distinct)} pairs have links in {cache}")
    with nullcontext() if save_priors is None else open_output(save_priors) as stream:
        if new:
            if chosen == DIAGONAL:
                linked |= _aligned_by_us([*new, *further], list(linked), watch)
            else:
                linked |= _aligned([*new, *further], linked, given, priors, watch, tell)
        if stream is not None:
            stream.writelines(f"{line}\n" for line in learned_priors(linked))
    if store is not None and new:
        try:
            store.add({pair: linked[pair] for pair in new})
        except InputError as error:
            tell(f"links are not kept for the next run: {error}")
    links = {pair: symmetrize(*linked[pair], heuristic) for pair in distinct}
    if unaligned == "attach":
        links = {pair: attach_unaligned(both, len(pair[1])) for pair, both in links.items()}
    return [links.get(pair, ()) for pair in pairs]


def _made_by(aligner: str, training: Sequence[Pair], priors: Sequence[str] | None) -> dict[str, object]:
    """What links depend on besides their pairs."""
    return {
        "aligner": VERSION if aligner == DIAGONAL else eflomal_version(),
        "training": digest(map(digest_of_pair, training)) if training else None,
        "priors": None if priors is None else digest(priors),
    }


def _aligned_by_us(pairs: Sequence[Pair], known: Sequence[Pair], watch: Watch) -> Known:
    """Links of pairs in both directions by our own aligner, which learns from known pairs, too."""
    work = Work.of([*pairs, *known])
    forward, backward = diagonal_links(work.pieces, watch)
    directions = zip(work.joined(forward), work.joined(backward), strict=True)
    return dict(zip(pairs, directions, strict=False))


def _aligned(
    pairs: Sequence[Pair],
    known: Known,
    given: Sequence[str] | None,
    priors: PathLike | None,
    watch: Watch,
    tell: Callable[[str], None],
) -> Known:
    """Links of pairs in both directions, from given priors or those that known links teach."""
    work = Work.of(pairs)
    if work.seconds() > WORTH_TELLING:
        tell(f"about {work.seconds():.0f} seconds of the processor for {len(work.pieces)} pairs of sentences")
    lines = learned_priors(known, PRIOR_WEIGHT) if known and given is None else given
    try:
        forward, backward = eflomal_links(work, lines, watch)
    except FormatError as error:
        raise RyptError(str(error)) if priors is None else InputError(priors, None, str(error)) from None
    directions = zip(work.joined(forward), work.joined(backward), strict=True)
    linked = dict(zip(pairs, directions, strict=True))
    for pair, both in linked.items():
        for links in both:
            check_links(links, len(pair[0]), len(pair[1]))
    return linked
