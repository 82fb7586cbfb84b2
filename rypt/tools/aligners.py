"""Word aligners that people use: eflomal, fast_align, simalign; called when they are installed.

Each aligns tokenised pairs in both directions; `rypt.tools.symmetrization` makes one alignment of the two. Equal pairs
are aligned once. Words are lower-cased for the statistical aligners.

eflomal: Östling & Tiedemann 2016, "Efficient Word Alignment with Markov Chain Monte Carlo". It samples, and takes no
seed: two runs differ a little. fast_align: Dyer, Chahuneau & Smith 2013. simalign: Jalili Sabet et al. 2020.
"""

import importlib.util
import logging
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rypt.text import FormatError, InputError, PathLike, RyptError, read_lines
from rypt.texts.alignment import Links, check_links, parse_links
from rypt.tools.symmetrization import symmetrize

ALIGNERS = ("eflomal", "fast_align", "simalign")
INSTALL = {
    "eflomal": "pip install eflomal",
    "fast_align": "build it from github.com/clab/fast_align and put it on the PATH",
    "simalign": "pip install simalign",
}
LONGEST = 1023  # tokens of a sentence that eflomal reads
Pair = tuple[tuple[str, ...], tuple[str, ...]]
Directions = tuple[list[Links], list[Links]]


def is_installed(aligner: str) -> bool:
    """Whether an aligner can be called here."""
    if aligner == "fast_align":
        return shutil.which("fast_align") is not None
    return importlib.util.find_spec(aligner) is not None


def choose_aligner(name: str | None = None) -> str:
    """The aligner asked for, or the first one installed; when there is none, the error says what to install."""
    if name is not None and name not in ALIGNERS:
        raise RyptError(f"expected an aligner {', '.join(ALIGNERS)}, found {name!r}")
    for aligner in ALIGNERS if name is None else (name,):
        if is_installed(aligner):
            return aligner
    if name is not None:
        raise RyptError(f"{name} is not installed: {INSTALL[name]}")
    raise RyptError(f"no aligner is installed; the simplest one: {INSTALL['eflomal']}")


def align(
    pairs: Sequence[Pair],
    *,
    aligner: str | None = None,
    heuristic: str = "grow-diag-final-and",
    training: Sequence[Pair] = (),
    priors: PathLike | None = None,
    model: str | None = None,
) -> list[Links]:
    """Links of each pair of source and candidate tokens, through both directions.

    ``training`` are further pairs that statistical aligners learn from, ``priors`` a file of ``eflomal-makepriors``,
    ``model`` the language model of simalign. A pair with an empty side has no links.
    """
    chosen = choose_aligner(aligner)
    if priors is not None and chosen != "eflomal":
        raise RyptError(f"priors are eflomal's; {chosen} takes none")
    if chosen == "simalign" and training:
        raise RyptError("simalign is not trained; training pairs are for eflomal and fast_align")
    if model is not None and chosen != "simalign":
        raise RyptError(f"{chosen} has no language model; a model goes with simalign")
    distinct = [pair for pair in dict.fromkeys(pairs) if pair[0] and pair[1]]
    wanted = distinct + [pair for pair in training if pair[0] and pair[1]]
    if not distinct:
        return [()] * len(pairs)
    if chosen == "eflomal":
        directions = _eflomal(wanted, priors)
    elif chosen == "fast_align":
        directions = _fast_align(wanted)
    else:
        directions = _simalign(wanted, model)
    links = {}
    for pair, forward, backward in zip(distinct, *directions, strict=False):
        links[pair] = symmetrize(forward, backward, heuristic)
        check_links(links[pair], len(pair[0]), len(pair[1]))
    return [links.get(pair, ()) for pair in pairs]


def _words(tokens: Sequence[str]) -> str:
    """Tokens as a line that every aligner splits as we do: in lower case, without white space inside of them."""
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
    """Keep a logger that nobody listens to from standard error while the block runs: errors say the same."""
    logger, handler = logging.getLogger(name), logging.NullHandler()
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def _fast_align(pairs: Sequence[Pair]) -> Directions:
    with tempfile.TemporaryDirectory(prefix="rypt-align-") as folder:
        corpus = Path(folder) / "corpus"
        corpus.write_text("".join(f"{_words(s)} ||| {_words(t)}\n" for s, t in pairs), encoding="utf-8")
        results = []
        for reverse in ([], ["-r"]):
            command = ["fast_align", "-i", str(corpus), "-d", "-o", "-v", *reverse]
            target = Path(folder) / "links"
            try:
                with open(target, "wb") as out:
                    subprocess.run(command, check=True, stdout=out, stderr=subprocess.PIPE)
            except (subprocess.CalledProcessError, OSError) as error:
                said = (getattr(error, "stderr", None) or b"").decode(errors="replace").strip().splitlines()[-1:]
                raise RyptError(f"fast_align failed: {said[0] if said else error}") from None
            results.append(_read_links(str(target), len(pairs)))
    return results[0], results[1]


def _simalign(pairs: Sequence[Pair], model: str | None) -> Directions:
    from simalign import SentenceAligner

    try:
        aligner = SentenceAligner(model=model or "bert", token_type="bpe", matching_methods="fr")
    except (OSError, ValueError) as error:
        first = str(error).splitlines()[0]
        raise RyptError(f"simalign cannot load its language model {model or 'bert'}: {first}") from None
    forward, backward = [], []
    for source, target in pairs:
        found = aligner.get_word_aligns(list(source), list(target))
        forward.append(tuple(found["fwd"]))
        backward.append(tuple(found["rev"]))
    return forward, backward


def _read_links(path: str, count: int) -> list[Links]:
    try:
        links = [parse_links(line) for _, line in read_lines(path)]
    except FormatError as error:
        raise RyptError(f"the aligner wrote what is no alignment: {error}") from None
    if len(links) != count:
        raise RyptError(f"the aligner wrote {len(links)} alignments of {count} pairs")
    return links
