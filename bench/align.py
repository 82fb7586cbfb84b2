"""Time and links of `rypt.tools.aligners.align` against eflomal called once on whole pairs, in one run.

    python bench/align.py FOLDER [--systems 3] [--paragraph 4]

FOLDER has texts as `rypt import mqm FILE --texts FOLDER` writes them. Segments that follow each other are joined to
paragraphs. Each way runs twice: links of two runs of one way differ, for eflomal has no seed, and that is what a
difference between both ways is to be compared with. Printed are processor seconds and overlaps of links (F1).
"""

import argparse
import resource
import tempfile
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path

from rypt.campaign.folder import read_source
from rypt.text import read_lines
from rypt.texts.alignment import Links, parse_links
from rypt.texts.lists import expand_lists
from rypt.texts.nbest import read_raw
from rypt.tools.aligners import Pair, align
from rypt.tools.symmetrization import symmetrize


def read_pairs(folder: Path, systems: int, paragraph: int) -> list[Pair]:
    """Distinct pairs of source and candidate tokens, several segments in one."""
    segments = {segment.id: segment.tokens for segment in read_source(folder / "source.jsonl")}
    pairs: dict[Pair, None] = {}
    for path in expand_lists([folder / "systems"])[0][:systems]:
        lines = [(segments[raw.segment], raw.text.split()) for _, raw in read_raw(path, list(segments))]
        for start in range(0, len(lines), paragraph):
            source, target = zip(*lines[start : start + paragraph], strict=True)
            pairs[tuple(chain.from_iterable(source)), tuple(chain.from_iterable(target))] = None
    return list(pairs)


def whole_pairs(pairs: Sequence[Pair]) -> list[Links]:
    """eflomal on the pairs as they are, both directions combined."""
    from eflomal import Aligner

    with tempfile.TemporaryDirectory() as folder:
        forward, backward = f"{folder}/forward", f"{folder}/backward"
        lines = [[" ".join(side).lower() for side in pair] for pair in pairs]
        Aligner().align(
            [s for s, _ in lines],
            [t for _, t in lines],
            links_filename_fwd=forward,
            links_filename_rev=backward,
        )
        both = ([parse_links(line) for _, line in read_lines(name)] for name in (forward, backward))
        return [symmetrize(one, other, "grow-diag-final-and") for one, other in zip(*both, strict=True)]


def processor_seconds() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def timed(way: Callable[[Sequence[Pair]], list[Links]], pairs: Sequence[Pair]) -> tuple[list[Links], float]:
    begin = processor_seconds()
    return way(pairs), processor_seconds() - begin


def overlap(one: Sequence[Links], other: Sequence[Links]) -> float:
    both = sum(len(set(a) & set(b)) for a, b in zip(one, other, strict=True))
    return 200 * both / sum(len(a) + len(b) for a, b in zip(one, other, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--systems", type=int, default=3)
    parser.add_argument("--paragraph", type=int, default=4)
    options = parser.parse_args()
    pairs = read_pairs(options.folder, options.systems, options.paragraph)
    print(f"{len(pairs)} pairs, {sum(len(s) for s, _ in pairs) / len(pairs):.0f} source tokens each")
    ways = {"eflomal, whole pairs": whole_pairs, "rypt align": align}
    runs = {name: [timed(way, pairs) for _ in range(2)] for name, way in ways.items()}
    for name, ((one, first), (other, second)) in runs.items():
        print(f"{name:22} {(first + second) / 2:7.1f} s   two runs of it {overlap(one, other):.1f} % alike")
    (old, whole), (new, ours) = runs["eflomal, whole pairs"][0], runs["rypt align"][0]
    print(f"ratio of time {whole / ours:.1f}, one and the other {overlap(old, new):.1f} % alike")
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder) / "cache.gz"
        align(pairs[: len(pairs) * 9 // 10], cache=cache)
        _, added = timed(lambda all_pairs: align(all_pairs, cache=cache), pairs)
        _, again = timed(lambda all_pairs: align(all_pairs, cache=cache), pairs)
    print(f"a tenth of the pairs new {added:.1f} s, nothing new {again:.1f} s")


if __name__ == "__main__":
    main()
