"""Links that an aligner found before, so that a rerun asks it for new pairs only.

A cache is one file, by default beside the links, ``OUTPUT.cache.gz``: a line of JSON that says how its links were made,
then a line for each pair with a digest of its tokens and the links of both directions. It is read as a whole and
replaced as a whole: a process that is killed leaves the old one, and of two that end at the same time one's links are
kept. A file that cannot be read, or was made in another way, counts as empty.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from rypt.text import FormatError, InputError, PathLike, open_output, read_lines
from rypt.texts.alignment import Links, check_links, format_links, parse_links
from rypt.tools.sentence_pairs import Pair

FORM = "rypt links 1"
Known = dict[Pair, tuple[Links, Links]]


def digest(texts: Iterable[str]) -> str:
    """A short name of texts, which no other texts have."""
    hashed = hashlib.blake2b(digest_size=16)
    for text in texts:
        hashed.update(text.encode("utf-8", "surrogatepass") + b"\n")
    return hashed.hexdigest()


def digest_of_pair(pair: Pair) -> str:
    """A short name of a pair."""
    return digest("\t".join(side) for side in pair)


class LinkCache:
    """The links in one file that were made in one way: ``made_by`` names the aligner, its settings and its texts."""

    def __init__(self, path: PathLike, made_by: Mapping[str, object]) -> None:
        self.path = path
        self.made_by = json.dumps({"form": FORM, **made_by}, sort_keys=True, ensure_ascii=False)

    def links_of(self, pairs: Iterable[Pair]) -> Known:
        """The links of those pairs that are in the file, in both directions."""
        lines = self._lines()
        known: Known = {}
        for pair in pairs:
            line = lines.get(digest_of_pair(pair))
            if line is not None and (both := _both_directions(line, pair)) is not None:
                known[pair] = both
        return known

    def add(self, links: Known) -> None:
        """Keep links beside those in the file."""
        lines = self._lines()
        for pair, (forward, backward) in links.items():
            lines[digest_of_pair(pair)] = f"{format_links(forward)}\t{format_links(backward)}"
        with open_output(self.path) as stream:
            stream.write(f"{self.made_by}\n")
            stream.writelines(f"{name}\t{line}\n" for name, line in lines.items())

    def _lines(self) -> dict[str, str]:
        """What is in the file, by the digests of pairs."""
        lines: dict[str, str] = {}
        if not Path(self.path).is_file():
            return lines
        try:
            for number, line in read_lines(self.path):
                if number == 1 and line != self.made_by:
                    return {}
                name, tab, links = line.partition("\t")
                if tab:
                    lines[name] = links
        except InputError:
            return {}
        return lines


def _both_directions(line: str, pair: Pair) -> tuple[Links, Links] | None:
    """The links of a line, None where they are not links of the pair."""
    forward, _, backward = line.partition("\t")
    try:
        both = parse_links(forward), parse_links(backward)
        for links in both:
            check_links(links, len(pair[0]), len(pair[1]))
    except FormatError:
        return None
    return both
