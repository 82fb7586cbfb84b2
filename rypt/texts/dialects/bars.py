"""N-best lists with ``|||`` between fields, as Moses, Joshua, cdec and Marian write them.

Moses: ``id ||| text ||| features ||| score [||| alignment …]``. Joshua and cdec: the text may be a derivation, or carry
``|0-1|`` after each phrase (`rypt.texts.nbest` makes links of both). Marian: alignment and word scores stand before the
features. `rypt.texts.columns` reads texts and links of whole files of this dialect at once, `mert.lists.scan` features.
"""

import re

from rypt.records import Candidate, RawCandidate
from rypt.text import FormatError, PathLike, tokenize
from rypt.texts.derivation import is_derivation
from rypt.texts.dialects.dialect import Dialect
from rypt.texts.features import FeatureReader, LazyFeatures, finite

_FEATURES = FeatureReader()  # remembers where labels stand, nothing that changes what is read
_LINK = re.compile(r"[0-9]+-[0-9]+(?![^ \t])")
_LINKS = re.compile(r"\d+-\d+( |$)")
_PAIRS = re.compile(r"\d+(-\d+)?=\d+(-\d+)?( |$)")


def parse_bars(line: str) -> RawCandidate:
    """Read one line."""
    fields = [field.strip(" \t") for field in line.split("|||")]
    if not fields[0]:
        raise FormatError("expected an id before |||, found none")
    at = 2
    while at < len(fields) and _before_features(fields[at], fields[at + 1] if at + 1 < len(fields) else ""):
        at += 1
    score = finite(tokenize(fields[at + 1])[0]) if len(fields) > at + 1 and fields[at + 1] else None
    named = _FEATURES.read(fields[at]) if len(fields) > at else {}
    return RawCandidate(fields[0], fields[1], _alignment_field(fields[2:at] + fields[at + 2 :]), named, score)


def plain_candidate(line: str, path: PathLike, number: int) -> Candidate | None:
    """The candidate of a line as Moses writes most: without trace or derivation, at the end word links or nothing.

    None for every other line, with or without fault. Features are read when they are asked for. Without links the
    alignment is empty.
    """
    fields = line.split("|||")
    if (
        len(fields) < 4 or "\0" in line or line[0] == "{" or line[1] == "-"
    ):  # which may be a line of another dialect
        return None
    segment, text, features, score = (field.strip(" \t") for field in fields[:4])
    alignments = [field.strip(" \t") for field in fields[4:]]
    if not segment or not text or "|" in text or text[0] == "(" or not text[0].isprintable():
        return None
    if not features[:1].isalpha() or features.startswith("WordScores="):
        return None
    if alignments and not _LINKS.match(alignments[-1]):
        return None
    if len(alignments) > 2 or (len(alignments) == 2 and not _PAIRS.match(alignments[0])):
        return None
    try:
        total = finite(score) if score else None
    except FormatError:
        return None
    named = LazyFeatures(features, _FEATURES, path, number)
    return Candidate(segment, text, alignments[-1] if alignments else "", named, total)


def _before_features(field: str, following: str) -> bool:
    """Whether a field after the text is Marian's alignment, which may be empty, or its word scores."""
    if not field:
        return "=" in following and following[0] not in "0123456789"
    return _LINK.match(field) is not None or field.startswith("WordScores=")


def _alignment_field(fields: list[str]) -> str | None:
    """The word links, else the phrase pairs, else the derivation; an empty field is a candidate without links."""
    for form in (_LINKS, _PAIRS):
        for field in fields:
            if form.match(field):
                return field
    for field in fields:
        if is_derivation(field):
            return field
    return "" if "" in fields else None


BARS = Dialect("bars", lambda line: "|||" in line, parse_bars)
