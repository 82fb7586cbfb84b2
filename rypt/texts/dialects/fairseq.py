"""The output of fairseq-generate: lines ``H-id<TAB>score<TAB>text``, with ``P-`` and ``A-`` lines after each.

Where scripts have cut the scores off, ``H-id<TAB>text`` is read as well: such candidates have no features.
"""

import re
from collections.abc import Iterator, Sequence

from rypt.records import Candidate
from rypt.text import FormatError, InputError, NumberedLines, PathLike, tokenize
from rypt.texts.dialects.dialect import Dialect
from rypt.texts.features import finite

_SCORE = re.compile(r"-[0-9.]+\r?")
_LINE = re.compile(r"([A-Z])-([0-9]+)\t(.*)")


def is_fairseq(line: str) -> bool:
    """Whether a line is one of fairseq's."""
    return _LINE.fullmatch(line) is not None


def read_fairseq(
    path: PathLike, lines: NumberedLines, order: Sequence[str] | None = None
) -> Iterator[tuple[int, Candidate]]:
    """Read the candidates: features ``score`` and, from the scores of the tokens, ``logprob`` and ``length``.

    The text is that of the ``H-`` line, tokenised; lines of other kinds, the log among them, are passed over. Either
    all candidates have the scores of their tokens or none: a feature that is missing would count as 0.
    """
    number, open_candidate = 0, None
    names: list[str] | None = None
    for at, line in lines:
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        kind, segment, rest = match.groups()
        try:
            if kind == "H":
                if open_candidate is not None:
                    names = _check_features(path, number, open_candidate, names)
                    yield number, open_candidate
                number, open_candidate = at, _candidate(segment, rest)
            elif kind in "PA" and open_candidate is not None and open_candidate.segment == segment:
                open_candidate = _extended(open_candidate, kind, rest)
        except FormatError as error:
            raise InputError(path, at, str(error)) from None
    if open_candidate is None:
        raise InputError(path, None, "expected lines H-id<TAB>score<TAB>candidate, found none")
    _check_features(path, number, open_candidate, names)
    yield number, open_candidate


def _check_features(path: PathLike, number: int, raw: Candidate, names: list[str] | None) -> list[str]:
    """The names of the features, which must be those of the candidates before."""
    features = list(raw.features)
    if names is not None and features != names:
        if not (features and names):
            raise InputError(path, number, "expected H-id<TAB>score<TAB>candidate on all lines or on none")
        has, had = ("a", "none") if len(features) > len(names) else ("no", "one")
        message = f"H-{raw.segment} has {has} line P-{raw.segment}, the candidates before have {had}"
        raise InputError(
            path, number, f"expected scores of the tokens of all candidates or of none: {message}"
        )
    return features


def _candidate(segment: str, rest: str) -> Candidate:
    score, tab, text = rest.partition("\t")
    if "\0" in rest:
        raise FormatError("expected text, found a NUL character")
    if not tab and _SCORE.fullmatch(rest):
        raise FormatError(f"expected H-{segment}<TAB>score<TAB>candidate, found no candidate")
    if not tab:
        return Candidate(segment, rest.strip(" \r"), None, {}, None)
    return Candidate(segment, text.strip(" \t\r"), None, {"score": finite(score)}, finite(score))


def _extended(raw: Candidate, kind: str, rest: str) -> Candidate:
    """With the scores of its tokens, or with its alignment."""
    if kind == "A":
        return Candidate(raw.segment, raw.text, rest.strip(" \t\r"), raw.features, raw.score)
    scores = [finite(word) for word in tokenize(rest.rstrip("\r"))]
    more = {"logprob": sum(scores), "length": float(len(scores))}
    return Candidate(raw.segment, raw.text, raw.alignment, {**raw.features, **more}, raw.score)


FAIRSEQ = Dialect("fairseq", is_fairseq, read=read_fairseq, log_before=True)
