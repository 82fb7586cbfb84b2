"""The output of fairseq-generate: lines ``H-id<TAB>score<TAB>text``, with ``P-`` and ``A-`` lines after each."""

import re
from collections.abc import Iterator

from rypt.features import finite
from rypt.records import RawCandidate
from rypt.text import FormatError, InputError, NumberedLines, PathLike

_LINE = re.compile(r"([A-Z])-([0-9]+)\t(.*)")


def is_fairseq(line: str) -> bool:
    """Whether a line is one of fairseq's."""
    return _LINE.fullmatch(line) is not None


def read_fairseq(path: PathLike, lines: NumberedLines) -> Iterator[tuple[int, RawCandidate]]:
    """Read the candidates: features ``score`` and, from the scores of the tokens, ``logprob`` and ``length``.

    The text is that of the ``H-`` line, tokenised; lines of other kinds, the log among them, are passed over.
    """
    number, open_candidate = 0, None
    for at, line in lines:
        found = _LINE.fullmatch(line)
        if found is None:
            continue
        kind, segment, rest = found.groups()
        try:
            if kind == "H":
                if open_candidate is not None:
                    yield number, open_candidate
                number, open_candidate = at, _candidate(segment, rest)
            elif kind in "PA" and open_candidate is not None and open_candidate.segment == segment:
                open_candidate = _extended(open_candidate, kind, rest)
        except FormatError as error:
            raise InputError(path, at, str(error)) from None
    if open_candidate is None:
        raise InputError(path, None, "expected lines H-id<TAB>score<TAB>candidate, found none")
    yield number, open_candidate


def _candidate(segment: str, rest: str) -> RawCandidate:
    score, tab, text = rest.partition("\t")
    if not tab:
        raise FormatError(f"expected H-{segment}<TAB>score<TAB>candidate")
    return RawCandidate(segment, text.strip(), None, {"score": finite(score)}, finite(score))


def _extended(raw: RawCandidate, kind: str, rest: str) -> RawCandidate:
    """With the scores of its tokens, or with its alignment."""
    if kind == "A":
        return RawCandidate(raw.segment, raw.text, rest.strip(), raw.features, raw.score)
    scores = [finite(word) for word in rest.split()]
    more = {"logprob": sum(scores), "length": float(len(scores))}
    return RawCandidate(raw.segment, raw.text, raw.alignment, {**raw.features, **more}, raw.score)
