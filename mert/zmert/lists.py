"""Z-MERT's n-best lists, ``i ||| words ||| v1 v2 … vm``, and its normalisation of texts (``-txtNrm``)."""

import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from rypt.text import FormatError, InputError, PathLike, read_bytes, read_lines

ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"), ("&apos;", "'"))
SYMBOLS = re.compile(r"""([!"#$%&()*+/:;<=>?@\[\\\]^_`{|}~])""")
SPACE = re.compile(r"[ \t\n\x0b\f\r]+")
MARKS = re.compile(r"(?<![0-9])[.,]|[.,](?![0-9])|(?<=[0-9])-")  # not in 1,000.5
CLITICS = (" i 'm ", " we 're ", " 's ", " 've ", " 'll ", " 'd ", " n't ")
DASH = re.compile(r"(?<=(\S)) - (?=(\S))")
EDGES = "".join(map(chr, range(33)))


def normalize(text: str, method: int) -> str:
    """Text as Z-MERT compares it: 0 as it is, 1 in tokens as NIST's, 2 dashes rejoined, 3 ASCII only, 4 all of these.

    >>> normalize("It 's 1,000.5 km-long (a well - known road), is n't it?", 1)
    "It's 1,000.5 km-long ( a well - known road ) , isn't it ?"
    >>> normalize("a well - known caf\\u00e9 &amp; bar", 4)
    'a well-known caf & bar'
    """
    if method == 0:
        return text
    for entity, character in ENTITIES:
        text = text.replace(entity, character)
    text = SPACE.sub(" ", " " + SYMBOLS.sub(r" \1 ", text) + " ")
    text = SPACE.sub(" ", " " + MARKS.sub(r" \g<0> ", text) + " ")
    for clitic in CLITICS:
        text = text.replace(clitic, _rejoined(clitic))
    if method in (2, 4):
        text = DASH.sub(lambda dash: "-" if dash[1].isalpha() and dash[2].isalpha() else dash[0], text)
    if method in (3, 4):
        text = "".join(character for character in text if character.isascii())
    return SPACE.sub(" ", text).strip(EDGES)


def _rejoined(clitic: str) -> str:
    """A clitic at the word before it.

    >>> _rejoined(" i 'm "), _rejoined(" n't ")
    (" i'm ", "n't ")
    """
    word, _, rest = clitic.rpartition(" ")[0].rpartition(" ")
    return f"{word}{rest} "


@dataclass(frozen=True, slots=True)
class ListRules:
    """What a list must be: the features, at most ``size`` candidates per segment, candidates of all ``segments``.

    ``segments`` is None where their number is not known. ``extras`` keeps what follows the features.
    """

    features: int
    size: int
    segments: int | None
    method: int = 0
    extras: bool = False

    def read(self, path: PathLike) -> str:
        """A list in the form of this package: texts normalized, one number for each feature, every segment there."""
        if not read_bytes(path).endswith(b"\n"):
            raise InputError(
                path, None, "expected a list whose last line ends: the decoder did not finish it"
            )
        texts: dict[str, str] = {}
        counts: Counter[int] = Counter()
        lines = []

        def text_of(text: str) -> str:
            if text not in texts:
                texts[text] = normalize(text, self.method)
            return texts[text]

        for number, line in read_lines(path):
            if not line.strip():
                continue
            try:
                segment, rest = self._read_line(line, text_of)
                counts[segment] += 1
                if counts[segment] > self.size:
                    raise FormatError(
                        f"expected at most {self.size} candidates of a segment (-N), found more"
                    )
            except FormatError as error:
                raise InputError(path, number, str(error)) from None
            lines.append(f"{segment} ||| {rest}\n")
        missing = [i for i in range(self.segments or 0) if not counts[i]]
        if missing:
            message = (
                f"expected candidates of all {self.segments} segments, found none of segment {missing[0]}"
            )
            raise InputError(path, None, message)
        return "".join(lines)

    def _read_line(self, line: str, text_of: Callable[[str], str]) -> tuple[int, str]:
        fields = [field.strip() for field in line.split("|||", 3)]
        if len(fields) < 3:
            raise FormatError(f"expected i ||| words ||| numbers, found {len(fields)} fields")
        segment = int(fields[0]) if re.fullmatch("[0-9]{1,9}", fields[0]) else -1
        if segment < 0 or (self.segments is not None and segment >= self.segments):
            expected = (
                "a number from 0"
                if self.segments is None
                else f"one of the segments 0 to {self.segments - 1}"
            )
            raise FormatError(f"expected {expected}, found {fields[0]!r}")
        kept = [text_of(fields[1]), self._read_features(fields[2]), *fields[3 : 4 if self.extras else 3]]
        return segment, " ||| ".join(kept)

    def _read_features(self, field: str) -> str:
        """The first numbers of a field, or all of it where the features have names."""
        words = field.split()
        if words and "=" in words[0]:
            return field
        words = words[: self.features]
        try:
            if len(words) < self.features:
                raise FormatError(f"expected {self.features} numbers, one per parameter, found {len(words)}")
            if not all(map(math.isfinite, map(float, words))) or "_" in "".join(words):
                raise ValueError
        except ValueError:
            raise FormatError(f"expected finite numbers, found {field!r}") from None
        return " ".join(words)
