"""``rypt parse`` and ``rypt align``: the trees and alignments that a campaign needs, by the tools people use."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rypt.console import QUIET, progress, talk, watcher
from rypt.text import InputError, RyptError, open_output, read_lines, tokenize
from rypt.tools.aligners import ALIGNERS, Pair
from rypt.tools.parsers import TOOLS
from rypt.tools.symmetrization import HEURISTICS

if TYPE_CHECKING:
    from rypt.records import Segment

INPUT = click.Path()
OUTPUT = click.Path(allow_dash=True)


@click.command()
@click.argument("source", type=INPUT)
@click.option("--tool", type=click.Choice(TOOLS), help="The parser [the first one installed].")
@click.option("--language", help="The language of the source, such as de.")
@click.option("--model", help="The model of benepar or spaCy, the package of stanza [by the language].")
@click.option("--dependencies", is_flag=True, help="Take stanza's dependencies, where it has no constituents.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, allow_dash=True), default="-",
              help="A file instead of stdout.")  # fmt: skip
@QUIET
def parse(
    source: str, tool: str | None, language: str | None, model: str | None, dependencies: bool, output: str, quiet: bool
) -> None:
    """Parse the segments of SOURCE and write Penn brackets, a line each, for `rypt init --trees`.

    SOURCE has tokens separated by spaces, a line each segment, or JSONL with id and text; tokens stay as they are. The
    tool "fallback" needs no parser: it makes trees from punctuation and length, for languages without one.
    """
    from rypt.campaign.folder import read_source
    from rypt.tools.parsers import choose_parser, parse_all

    chosen = choose_parser(tool)
    segments = read_source(source)
    shown = progress((segment.tokens for segment in segments), f"parse with {chosen}", quiet=quiet, total=len(segments))
    trees = parse_all(shown, tool=chosen, language=language, model=model, dependencies=dependencies)
    with open_output(output) as stream:
        for tree in trees:
            stream.write(f"{tree}\n")
    talk(f"{len(segments)} trees by {chosen}", quiet=quiet)


@click.command()
@click.option("--source", required=True, type=INPUT, help="Source segments: a line each, or JSONL with id and text.")
@click.option("--nbest", required=True, multiple=True, type=INPUT, help="Candidates: any list that init reads, or a "
              "folder of lists.")  # fmt: skip
@click.option("-o", "--output", "outputs", multiple=True, type=OUTPUT, help="Where to write: one file a list [stdout], "
              "for a folder of lists a folder.")  # fmt: skip
@click.option("--tool", type=click.Choice(ALIGNERS), help="The aligner [the first one installed].")
@click.option("--heuristic", type=click.Choice(HEURISTICS), default=HEURISTICS[0], show_default=True,
              help="How both directions are combined.")  # fmt: skip
@click.option("--train", nargs=2, type=INPUT, metavar="SOURCE TARGET",
              help="Further tokenised text, line by line, to learn from.")  # fmt: skip
@click.option("--priors", type=INPUT, help="Priors made by eflomal-makepriors.")
@click.option("--model", help="The language model of simalign.")
@QUIET
def align(
    source: str, nbest: tuple[str, ...], outputs: tuple[str, ...], tool: str | None, heuristic: str,
    train: tuple[str, str] | None, priors: str | None, model: str | None, quiet: bool,
) -> None:  # fmt: skip
    """Align candidates with their segments, word by word, and write links for `rypt init --alignments`.

    A line of links "source-candidate" for each line of a list; for a folder of lists in OUTPUT/LIST.links. All lists
    are aligned together, for statistical aligners learn from all of them; a few thousand pairs, or --train, are needed
    for good links.
    """
    from rypt.campaign.folder import read_source
    from rypt.texts.alignment import format_links
    from rypt.texts.lists import expand_outputs
    from rypt.tools.aligners import align as align_pairs
    from rypt.tools.aligners import choose_aligner

    outputs = outputs or ("-",)
    if len(outputs) != len(nbest):
        raise click.UsageError(f"expected an --output for each --nbest, {len(nbest)}, found {len(outputs)}")
    files = expand_outputs(nbest, outputs)
    chosen = choose_aligner(tool)
    segments = {segment.id: segment for segment in read_source(source)}
    lists = [_pairs(str(name), segments, quiet=quiet) for name, _ in files]
    pairs = [pair for own in lists for pair in own]
    training = _training(*train) if train else []
    talk(f"aligning {len(set(pairs))} pairs of {len(pairs)} candidates with {chosen}", quiet=quiet)
    with ExitStack() as stack:  # the files are opened now: what cannot be written is said before the work is done
        for name, output in zip(nbest, outputs, strict=True):
            if Path(name).is_dir():
                stack.enter_context(_folder(output))
        streams = [stack.enter_context(open_output(target)) for _, target in files]
        found = align_pairs(
            pairs, aligner=chosen, heuristic=heuristic, training=training, priors=priors, model=model
        )  # fmt: skip
        links = iter(found)
        for stream, own in zip(streams, lists, strict=True):
            stream.writelines(f"{format_links(next(links))}\n" for _ in own)
    if bare := found.count(()):
        talk(f"{bare} candidates have no links", quiet=quiet)


@contextmanager
def _folder(path: str) -> Iterator[None]:
    """A folder to write to; one that was not there stays only if something is written."""
    made = not Path(path).exists()
    Path(path).mkdir(exist_ok=True)
    try:
        yield
    finally:
        with suppress(OSError):  # not empty
            if made:
                Path(path).rmdir()


def _pairs(name: str, segments: "dict[str, Segment]", *, quiet: bool) -> list[Pair]:
    """Source and candidate tokens of each line of a list."""
    from dataclasses import replace

    from rypt.text import FormatError
    from rypt.texts.alignment import Lexicon
    from rypt.texts.nbest import aligned_candidate, read_raw

    pairs: list[Pair] = []
    for number, raw in read_raw(name, list(segments), watcher(quiet=quiet)):
        segment = segments.get(raw.segment)
        if segment is None:
            raise InputError(name, number, f"segment {raw.segment!r} is not in the source")
        try:
            candidate = aligned_candidate(replace(raw, alignment=""), segment, Lexicon())
        except FormatError as error:
            raise InputError(name, number, str(error)) from None
        pairs.append((tuple(segment.tokens), tuple(candidate.tokens)))
    if not pairs:
        raise InputError(name, None, "expected candidates, found none")
    return pairs


def _training(source: str, target: str) -> list[Pair]:
    sides = [[tuple(tokenize(line)) for _, line in read_lines(name)] for name in (source, target)]
    if len(sides[0]) != len(sides[1]):
        raise RyptError(f"expected as many lines in {source} as in {target}, found {len(sides[0])} and {len(sides[1])}")
    return list(zip(*sides, strict=True))
