"""Controls that a person verified: parts of references that translate a constituent, in ``controls.jsonl``.

    links = align_references(campaign)
    for each in mixed(control_candidates(campaign, links), seed=1): ...

A word alignment made by a program is often wrong, so a reference's part expects YES only after somebody has looked at
it: ``rypt hits controls`` shows candidates, and one key each decides. The file is in the campaign's folder:

    {"segment": "7", "start": 3, "stop": 5, "phrase": "the red house", "label": "YES"}

NO is kept as well, so that nobody is asked twice; it makes no control.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hits.asking.alternatives import Place, ReferenceParts, by_place
from rypt.campaign.folder import Campaign
from rypt.records import Label, Query, Span
from rypt.scoring.queries import Key, QueryLimits, queries
from rypt.strict import SyntaxFormatError, parse_json
from rypt.text import FormatError, InputError, RyptError, Watch, read_lines, tokenize, unwatched
from rypt.texts.alignment import Links
from rypt.texts.phrases import phrase_key

CONTROLS = "controls.jsonl"
LONG_WORD, LONE_WORD = 4, 5  # letters; shorter words are often function words, of which no control is made


@dataclass(frozen=True, slots=True)
class ControlCandidate:
    """A part of a reference that seems to translate a constituent, for a person to verify."""

    query: Query
    reference: str
    positions: tuple[int, ...]
    phrase: str

    @property
    def key(self) -> Key:
        """What a control is known by."""
        return self.query.segment, self.query.span, self.phrase


def has_content(phrase: str) -> bool:
    """Whether a phrase has a word that is no punctuation and hardly a function word: long, or with a digit.

    >>> [has_content(phrase) for phrase in ("the red house", "in", ",", "7 %", "das", "that", "house")]
    [True, False, False, True, False, False, True]
    """
    words = [word for word in tokenize(phrase) if any(map(str.isalnum, word))]
    least = LONG_WORD if len(words) > 1 else LONE_WORD
    return any(len(word) >= least or any(map(str.isdigit, word)) for word in words)


def rare_words(texts: Iterable[str]) -> set[str]:
    """The words, in lower case, that stand in one text or in few: not those that hold every sentence together.

    >>> sorted(rare_words(["There was a house", "there is a dog"]))
    ['dog', 'house', 'is', 'was']
    """
    seen = [set(tokenize(text.lower())) for text in texts]
    counts = Counter(word for words in seen for word in words)
    return {word for word, count in counts.items() if count <= max(1, len(seen) // 20)}


def reference_part(references: ReferenceParts, place: Place, case: str) -> tuple[str, list[int]]:
    """The phrase of a reference's part, where its alignment is clean, and its positions; empty where it is not."""
    positions = references.clean(*place)
    words = tokenize(references.texts.get(place[0], ""))
    return phrase_key(" ".join(words[i] for i in positions), case) if positions else "", positions


def control_candidates(
    campaign: Campaign,
    links: Sequence[Links],
    *,
    max_len: int | None = None,
    limits: QueryLimits | None = None,
) -> list[ControlCandidate]:
    """The parts of references that could become controls, in the order of the segments; those decided are left out."""
    with campaign.database() as db:
        case = db.case
    references = ReferenceParts(campaign, links)
    known = read_verified(campaign)
    asked = queries(
        campaign.trees,
        campaign.candidates,
        max_len=max_len or campaign.scoring.max_len,
        limits=limits or QueryLimits(),
        case=case,
    )
    rare = rare_words(references.texts.values())
    made = []
    for place, (query, *_) in by_place(asked).items():
        phrase, positions = reference_part(references, place, case)
        telling = has_content(query.source_phrase) and has_content(phrase)
        if telling and (len(positions) > 1 or phrase.lower() in rare) and (*place, phrase) not in known:
            made.append(ControlCandidate(query, references.texts[place[0]], tuple(positions), phrase))
    return made


def align_references(campaign: Campaign, watch: Watch = unwatched) -> list[Links]:
    """Links between each segment and its first reference, by our own aligner.

    The candidates help it to learn: a small campaign has few references. A person looks at what comes of it.
    """
    from rypt.texts.align import align

    if not campaign.references:
        raise RyptError(f"{campaign.folder}: expected a campaign with references, of which controls are made")
    sources = {segment.id: tuple(segment.tokens) for segment in campaign.segments}
    texts = zip(campaign.segments, campaign.references[0], strict=True)
    pairs = [(tuple(segment.tokens), tuple(tokenize(text))) for segment, text in texts]
    taught = [(sources[candidate.segment], tuple(candidate.tokens)) for candidate in campaign.candidates]
    return align(pairs, training=taught, watch=watch)


def find_phrase(tokens: Sequence[str], phrase: str, case: str) -> tuple[int, ...]:
    """The positions at which a phrase stands in a text in one piece, for the first time; none where it does not.

    >>> find_phrase("He saw the Red House .".split(), "the red house", "lower")
    (2, 3, 4)
    """
    size = len(tokenize(phrase))
    starts = range(len(tokens) - size + 1) if size else range(0)
    places = (at for at in starts if phrase_key(" ".join(tokens[at : at + size]), case) == phrase)
    at = next(places, None)
    return () if at is None else tuple(range(at, at + size))


def mixed(candidates: Sequence[ControlCandidate], seed: int) -> Iterator[ControlCandidate]:
    """The candidates in a random order, so that a few of them come from all segments."""
    order = np.random.default_rng(seed).permutation(len(candidates))
    return (candidates[int(i)] for i in order)


def read_verified(campaign: Campaign) -> dict[Key, Label]:
    """All decisions in a campaign's folder; the last one on a phrase counts."""
    path = campaign.path(CONTROLS)
    decisions: dict[Key, Label] = {}
    if not path.exists():
        return decisions
    for number, line in read_lines(path):
        if line.strip():
            try:
                record = parse_json(line)
                span = Span(int(record["start"]), int(record["stop"]))
                decisions[str(record["segment"]), span, str(record["phrase"])] = Label.parse(
                    str(record["label"])
                )
            except (SyntaxFormatError, FormatError, KeyError, TypeError, ValueError) as error:
                message = f"expected a control with segment, start, stop, phrase and label: {error}"
                raise InputError(path, number, message) from None
    return decisions


def add_verified(campaign: Campaign, decisions: Mapping[Key, Label]) -> None:
    """Append decisions to the file of a campaign."""
    path = campaign.path(CONTROLS)
    with open(path, "a", encoding="utf-8") as stream:
        for (segment, span, phrase), label in decisions.items():
            record = {
                "segment": segment,
                "start": span.start,
                "stop": span.stop,
                "phrase": phrase,
                "label": str(label),
            }
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")
