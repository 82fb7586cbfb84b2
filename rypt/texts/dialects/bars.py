"""N-best lists with ``|||`` between fields, as Moses, Joshua, cdec and Marian write them.

Moses: ``id ||| text ||| features ||| score [||| alignment …]``. Joshua and cdec: the text may be a derivation, or carry
``|0-1|`` after each phrase (`rypt.texts.nbest` makes links of both). Marian: alignment and word scores stand before the
features. `mert.lists.scan` reads the features
of whole files of this dialect at once.
"""

import re

from rypt.records import Candidate
from rypt.text import FormatError, tokenize
from rypt.texts.derivation import is_derivation
from rypt.texts.dialects.dialect import Dialect
from rypt.texts.features import FeatureReader, finite

_FEATURES = FeatureReader()  # remembers where labels stand, nothing that changes what is read
_LINK = re.compile(r"[0-9]+-[0-9]+(?![^ \t])")
_LINKS = re.compile(r"\d+-\d+( |$)")
_PAIRS = re.compile(r"\d+(-\d+)?=\d+(-\d+)?( |$)")


def parse_bars(line: str) -> Candidate:
    """Read one line."""
    fields = [field.strip(" \t") for field in line.split("|||")]
    if not fields[0]:
        raise FormatError("expected an id before |||, found none")
    at = 2
    while at < len(fields) and _before_features(fields[at], fields[at + 1] if at + 1 < len(fields) else ""):
        at += 1
    score = finite(tokenize(fields[at + 1])[0]) if len(fields) > at + 1 and fields[at + 1] else None
    named = _FEATURES.read(fields[at]) if len(fields) > at else {}
    return Candidate(fields[0], fields[1], _alignment_field(fields[2:at] + fields[at + 2 :]), named, score)


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
