"""Controls: items whose answer is known, mixed in to detect careless work.

Three kinds. *Repeats* are labels on which workers agreed before. *Identical* texts are equal; a phrase that candidate
and reference share is an acceptable translation if a person verified it, and so is a name or number that is the same in
source, candidate and reference. *Damaged* candidates have words of another segment put in, the way WMT's direct
assessments make bad references, so that a reader sees that they are no translation.

Of the controls of label batches half expect YES and half NO, so that constant answers fail.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hits.records import ControlKind
from rypt.campaign.folder import Campaign
from rypt.records import Candidate, Label, Query, Span, Votes
from rypt.scoring.queries import Key, queries
from rypt.strict import SyntaxFormatError, parse_json
from rypt.text import (
    FormatError,
    InputError,
    PathLike,
    RyptError,
    Watch,
    plural,
    read_lines,
    tokenize,
    unwatched,
)
from rypt.texts.alignment import Links, checked_links
from rypt.texts.phrases import linked_positions, normalize, phrase_key

TRIES = 50
CONFIDENT = 2  # the weight of votes that agree, from which a label is repeated as a control
LENDERS = 20  # candidates of a segment that lend words: enough to choose from, however long the lists are
CONTROLS = "controls.jsonl"
Place = tuple[str, Span]  # a constituent: segment and span


@dataclass(frozen=True, slots=True)
class Alternative:
    """One phrase to be judged inside a candidate; a control has the label that is expected."""

    phrase: str
    candidate: str
    positions: tuple[int, ...]
    expected: Label | None = None
    kind: ControlKind | None = None


Page = tuple[Place, list[Alternative]]


def control_count(asked: int, share: float) -> int:
    """The number of controls that make up this share of all items; at least one if the share is above 0.

    >>> control_count(90, 0.1), control_count(2, 0.1), control_count(90, 0)
    (10, 1, 0)
    """
    if not 0 <= share <= 0.5:
        raise RyptError(f"expected a share of controls between 0 and 0.5, found {share}")
    return max(1, round(asked * share / (1 - share))) if share and asked else 0


def content_words(texts: Mapping[str, Iterable[Sequence[str]]]) -> set[str]:
    """The words, in lower case, that carry a segment's meaning: in texts of few segments, and not short.

    Few are one, or two in a hundred; a word with a digit may be short. So function words are left out, in any language.

    >>> texts = {"1": ["the house was old".split()], "2": ["the 7 dogs".split()], "3": ["a dog was here".split()]}
    >>> sorted(content_words(texts))
    ['7', 'dog', 'dogs', 'here', 'house', 'old']
    """
    segments: dict[str, set[str]] = {}
    for segment, candidates in texts.items():
        for word in {word.casefold() for tokens in candidates for word in tokens}:
            if any(map(str.isalnum, word)):
                segments.setdefault(word, set()).add(segment)
    least = float(np.median([len(word) for word in segments])) if segments else 0.0
    few = max(1, len(texts) // 50)
    return {
        word
        for word, where in segments.items()
        if len(where) <= few and (len(word) >= least or any(map(str.isdigit, word)))
    }


class Donors:
    """Candidates of all segments, to take words from that are out of place in another segment."""

    def __init__(self, candidates: Mapping[str, Iterable[Sequence[str]]]) -> None:
        texts = {
            segment: [[word for word in tokens if any(map(str.isalnum, word))] for tokens in candidates]
            for segment, candidates in candidates.items()
        }
        self.candidates = {segment: list(filter(None, words)) for segment, words in texts.items()}
        self.content = content_words(self.candidates)
        self.segments = [segment for segment, words in self.candidates.items() if words]

    def words(
        self, size: int, segment: str, avoid: Iterable[str], rng: np.random.Generator
    ) -> tuple[str, ...] | None:
        """Consecutive words of another segment without punctuation, up to ``size`` of them; None if none fits.

        At least half of them, and one that carries meaning, are none of those to be avoided.
        """
        shunned = {word.casefold() for word in avoid}
        for _ in range(TRIES if self.segments else 0):
            other = self.segments[int(rng.integers(len(self.segments)))]
            if other == segment:
                continue
            texts = self.candidates[other]
            donor = texts[int(rng.integers(len(texts)))]
            length = min(size, len(donor))
            start = int(rng.integers(len(donor) - length + 1))
            words = donor[start : start + length]
            strange = [folded for word in words if (folded := word.casefold()) not in shunned]
            if 2 * len(strange) >= length and not self.content.isdisjoint(strange):
                return tuple(words)
        return None


def damage(segment: str, text: str, donors: Donors, rng: np.random.Generator) -> str | None:
    """A candidate with a run of its words replaced by words of another segment; None when no donor fits.

    All words of a short candidate are replaced, a quarter of a long one; final punctuation stays.
    """
    tokens = tokenize(text)
    size = len(tokens)
    while size > 1 and not any(map(str.isalnum, tokens[size - 1])):
        size -= 1
    length = max(min(size, 2), math.ceil(size / 4), min(size // 2, 3))
    words = donors.words(length, segment, tokens, rng) if tokens else None
    if words is None:
        return None
    start = int(rng.integers(size - length + 1))
    return " ".join([*tokens[:start], *words, *tokens[start + length :]])


class ReferenceParts:
    """The first reference of each segment, and which of its tokens are aligned with a constituent."""

    def __init__(self, campaign: Campaign, links: Sequence[Links] | None = None) -> None:
        names = [segment.id for segment in campaign.segments]
        texts = campaign.references[0] if campaign.references else []
        self.texts = dict(zip(names, texts, strict=False))
        self.links = dict(zip(names, links, strict=True)) if links is not None and texts else {}
        self.sizes = {segment.id: len(segment.tokens) for segment in campaign.segments}

    def positions(self, segment: str, span: Span) -> list[int]:
        """The tokens aligned with a constituent; none when there are no links."""
        linked = linked_positions(self.links.get(segment, ()), self.sizes[segment])
        return sorted({target for source in range(span.start, span.stop) for target in linked[source]})

    def clean(self, segment: str, span: Span) -> list[int]:
        """The same if they can be trusted to be the constituent's translation, else nothing.

        All words of the constituent must be linked, their words in the reference must be consecutive, and none of
        those may be linked with a word outside (the condition under which phrase pairs are extracted).
        """
        links, positions = self.links.get(segment, ()), self.positions(segment, span)
        linked = linked_positions(links, self.sizes[segment])
        consecutive = bool(positions) and positions[-1] - positions[0] + 1 == len(positions)
        inside = all(span.start <= source < span.stop for source, target in links if target in positions)
        return positions if consecutive and inside and all(linked[i] for i in range(*span)) else []


def read_reference_links(path: PathLike, campaign: Campaign) -> list[Links]:
    """Pharaoh links between source and first reference, one line per segment."""
    if not campaign.references:
        raise InputError(path, None, "expected a campaign with a reference to go with these links")
    lines = list(read_lines(path))
    if len(lines) != len(campaign.segments):
        message = f"expected {len(campaign.segments)} lines, one per segment, found {len(lines)}"
        raise InputError(path, len(lines), message)
    all_links = []
    for (number, line), segment, text in zip(lines, campaign.segments, campaign.references[0], strict=True):
        try:
            links = checked_links(line, len(segment.tokens), len(tokenize(text)))
        except FormatError as error:
            raise InputError(path, number, str(error).replace("candidate", "reference")) from None
        all_links.append(links)
    return all_links


def align_references(campaign: Campaign, watch: Watch = unwatched) -> list[Links]:
    """Links between each segment and its first reference, by our own aligner, trained on the candidates, too."""
    from rypt.texts.align import align

    if not campaign.references:
        raise RyptError(f"{campaign.folder}: expected a campaign with references, of which controls are made")
    sources = {segment.id: tuple(segment.tokens) for segment in campaign.segments}
    texts = zip(campaign.segments, campaign.references[0], strict=True)
    pairs = [(tuple(segment.tokens), tuple(tokenize(text))) for segment, text in texts]
    training = [(sources[candidate.segment], tuple(candidate.tokens)) for candidate in campaign.candidates]
    return align(pairs, training=training, watch=watch)


def by_place(frontier: Iterable[Query]) -> dict[Place, list[Query]]:
    """Queries by constituent, ordered by value or, without values, by the number of candidates they serve."""
    places: dict[Place, list[Query]] = {}
    for query in frontier:
        places.setdefault((query.segment, query.span), []).append(query)
    for group in places.values():
        group.sort(key=lambda query: (-(query.value or 0.0), -query.candidates, query.phrase))
    return places


class LabelControls:
    """Finds controls for the constituents of a batch and puts them on its pages.

    ``frontier`` are all phrases of the frontier, labelled or not; ``votes`` those on the labelled ones; ``verified``
    the decisions of a person on parts of references (`read_verified`).
    """

    def __init__(
        self,
        frontier: Sequence[Query],
        candidates: Iterable[Candidate],
        votes: Mapping[Key, Votes],
        references: ReferenceParts,
        verified: Mapping[Key, Label],
        case: str,
    ) -> None:
        self.places, self.votes, self.references, self.case = by_place(frontier), votes, references, case
        self.accepted: dict[Place, list[str]] = {}
        for (segment, span, phrase), label in verified.items():
            if label is Label.YES:
                self.accepted.setdefault((segment, span), []).append(phrase)
        texts: dict[str, list[list[str]]] = {}
        for candidate in candidates:
            lent = texts.setdefault(candidate.segment, [])
            if len(lent) < LENDERS:
                lent.append(candidate.tokens)
        self.donors = Donors(texts)
        self.judged: dict[Place, set[str]] = {}
        for segment, span, phrase in votes:
            self.judged.setdefault((segment, span), set()).add(phrase)

    def add(self, pages: list[Page], count: int, room: int, rng: np.random.Generator) -> list[str]:
        """Put ``count`` controls on pages, of at most ``room`` alternatives, or on pages of their own.

        The notes say what could not be done.
        """
        wanted = {Label.YES: count // 2, Label.NO: count - count // 2}
        mixed = [pages[i] for i in rng.permutation(len(pages))]
        notes = []
        for label, number in wanted.items():
            made = self._on_pages(mixed, number, room, [label], rng)
            made += self._on_own_pages(pages, number - made, room, label, rng)
            wanted[label] -= made
            if number and 2 * made < number:
                advice = (
                    "; `rypt hits controls` lets you verify some in a minute" if label is Label.YES else ""
                )
                notes.append(
                    f"{made} of {plural(number, 'control')} that expect {label} could be made{advice}"
                )
        missing = sum(wanted.values())
        missing -= self._on_pages(mixed, missing, room, list(wanted), rng)
        if missing:
            notes.append(f"only {count - missing} of {plural(count, 'control')} could be made")
        return notes

    def _on_pages(
        self, pages: Sequence[Page], count: int, room: int, labels: Sequence[Label], rng: np.random.Generator
    ) -> int:
        """Add controls that expect one of these labels, one per page in each round; return their number."""
        added, before = 0, -1
        while added < count and added > before:
            before = added
            for place, page in pages:
                control = (
                    self._control(place, page, labels, rng) if added < count and len(page) < room else None
                )
                if control:
                    page.append(control)
                    added += 1
        return added

    def _control(
        self, place: Place, page: Sequence[Alternative], labels: Sequence[Label], rng: np.random.Generator
    ) -> Alternative | None:
        """A control for a page, of a random kind among the possible ones."""
        shown = {alternative.phrase for alternative in page}
        possible = [*self._repeats(place), *self._identical(place)]
        if Label.NO in labels and (damaged := self._damaged(place, page, rng)):
            possible.append(damaged)
        possible = [
            control for control in possible if control.expected in labels and control.phrase not in shown
        ]
        kinds = sorted({str(control.kind) for control in possible})
        if not kinds:
            return None
        kind = kinds[int(rng.integers(len(kinds)))]
        choices = [control for control in possible if control.kind == kind]
        return choices[int(rng.integers(len(choices)))]

    def _on_own_pages(
        self, pages: list[Page], count: int, room: int, label: Label, rng: np.random.Generator
    ) -> int:
        """Add pages of controls alone: repeats of constituents that nothing else is asked about, else references."""
        taken = {place for place, _ in pages}
        places = list(self.places) if count > 0 else []
        added = 0
        for i in rng.permutation(len(places)):
            place = places[i]
            controls = [] if place in taken else [r for r in self._repeats(place) if r.expected is label]
            if label is Label.YES and not controls:
                controls = self._identical(place)
            controls = controls[: min(count - added, room)]
            if controls:
                pages.append((place, controls))
                added += len(controls)
        return added

    def _repeats(self, place: Place) -> list[Alternative]:
        """Phrases of a constituent on which workers agreed."""
        repeats = []
        for query in self.places.get(place, []):
            votes = self.votes.get((*place, query.phrase))
            if votes and (label := confident_label(votes)):
                repeats.append(
                    Alternative(query.phrase, query.example, query.positions, label, ControlKind.REPEAT)
                )
        return repeats

    def _identical(self, place: Place) -> list[Alternative]:
        """A phrase that is right without a label, if there is one: a verified part of the reference, or a name.

        An alignment alone never decides. A phrase that somebody did not label YES is left alone.
        """
        text = self.references.texts.get(place[0], "")
        tokens = tokenize(text)
        for phrase in self.accepted.get(place, []):
            if (positions := find_phrase(tokens, phrase, self.case)) and self._undisputed(place, phrase):
                return [Alternative(phrase, text, positions, Label.YES, ControlKind.IDENTICAL)]
        words = {normalize(word, self.case) for word in tokens}
        for query in self.places.get(place, []):
            parts = tokenize(query.phrase)
            if (
                query.phrase == normalize(query.source_phrase, self.case)
                and words.issuperset(parts)
                and not self.donors.content.isdisjoint(map(str.casefold, parts))
                and self._undisputed(place, query.phrase)
            ):
                return [
                    Alternative(
                        query.phrase, query.example, query.positions, Label.YES, ControlKind.IDENTICAL
                    )
                ]
        return []

    def _undisputed(self, place: Place, phrase: str) -> bool:
        votes = self.votes.get((*place, phrase))
        return not (votes and (votes.no or votes.not_sure))

    def _damaged(
        self, place: Place, page: Sequence[Alternative], rng: np.random.Generator
    ) -> Alternative | None:
        """A candidate in which words of another segment took the place of the phrase."""
        hosts = [
            a
            for a in page
            if a.expected is None
            and a.positions[-1] - a.positions[0] + 1 == len(a.positions)
            and any(map(str.isalnum, a.phrase))
        ]
        if not hosts:
            return None
        host = hosts[int(rng.integers(len(hosts)))]
        tokens = tokenize(host.candidate)
        phrases = {query.phrase for query in self.places.get(place, [])} | self.judged.get(place, set())
        phrases |= {alternative.phrase for alternative in page}
        avoid = {word for phrase in phrases for word in tokenize(phrase)}
        avoid |= {*tokens, *tokenize(self.references.texts.get(place[0], ""))}
        words = self.donors.words(len(host.positions), place[0], avoid, rng)
        if words is None:
            return None
        start = host.positions[0]
        text = " ".join([*tokens[:start], *words, *tokens[start + len(host.positions) :]])
        where = tuple(range(start, start + len(words)))
        return Alternative(phrase_key(" ".join(words), self.case), text, where, Label.NO, ControlKind.DAMAGED)


def confident_label(votes: Votes) -> Label | None:
    """YES or NO when all who judged said so and their weights add up to `CONFIDENT`, else None."""
    if votes.not_sure or (votes.yes and votes.no) or votes.yes + votes.no < CONFIDENT:
        return None
    return Label.YES if votes.yes else Label.NO if votes.no else None


def find_phrase(tokens: Sequence[str], phrase: str, case: str) -> tuple[int, ...]:
    """The positions of the first consecutive occurrence of a phrase in a text; none where it does not occur.

    >>> find_phrase("He saw the Red House .".split(), "the red house", "lower")
    (2, 3, 4)
    """
    size = len(tokenize(phrase))
    for at in range(len(tokens) - size + 1) if size else ():
        if phrase_key(" ".join(tokens[at : at + size]), case) == phrase:
            return tuple(range(at, at + size))
    return ()


@dataclass(frozen=True, slots=True)
class ControlCandidate:
    """A part of a reference that seems to translate a constituent, for a person to verify."""

    query: Query
    reference: str
    positions: tuple[int, ...]
    phrase: str

    @property
    def key(self) -> Key:
        return self.query.segment, self.query.span, self.phrase


def control_candidates(campaign: Campaign, links: Sequence[Links]) -> list[ControlCandidate]:
    """The parts of references that could become controls, in the order of the segments; those decided are left out.

    Only parts with a word that carries meaning: a control must not be a matter of taste.
    """
    with campaign.database() as db:
        case = db.case
    references = ReferenceParts(campaign, links)
    decided = read_verified(campaign)
    frontier = queries(campaign.trees, campaign.candidates, max_len=campaign.scoring.max_len, case=case)
    content = content_words({segment: [tokenize(text)] for segment, text in references.texts.items()})
    candidates = []
    for place, (query, *_) in by_place(frontier).items():
        positions = references.clean(*place)
        words = tokenize(references.texts.get(place[0], ""))
        part = [words[i] for i in positions]
        phrase = phrase_key(" ".join(part), case) if part else ""
        if not content.isdisjoint(map(str.casefold, part)) and (*place, phrase) not in decided:
            candidates.append(ControlCandidate(query, references.texts[place[0]], tuple(positions), phrase))
    return candidates


def mixed(candidates: Sequence[ControlCandidate], seed: int) -> Iterator[ControlCandidate]:
    """The candidates in a random order, so that a few of them come from all segments."""
    order = np.random.default_rng(seed).permutation(len(candidates))
    return (candidates[int(i)] for i in order)


def read_verified(campaign: Campaign) -> dict[Key, Label]:
    """All decisions in a campaign's folder; the last one on a phrase counts."""
    path = campaign.path(CONTROLS)
    decisions: dict[Key, Label] = {}
    for number, line in read_lines(path) if path.exists() else ():
        if line.strip():
            try:
                record = parse_json(line)
                span = Span(int(record["start"]), int(record["stop"]))
                label = Label.parse(str(record["label"]))
                decisions[str(record["segment"]), span, str(record["phrase"])] = label
            except (SyntaxFormatError, FormatError, KeyError, TypeError, ValueError) as error:
                message = f"expected a control with segment, start, stop, phrase and label: {error}"
                raise InputError(path, number, message) from None
    return decisions


def add_verified(campaign: Campaign, key: Key, label: Label) -> None:
    """Append a decision to the campaign's file."""
    segment, span, phrase = key
    record = {
        "segment": segment,
        "start": span.start,
        "stop": span.stop,
        "phrase": phrase,
        "label": str(label),
    }
    with open(campaign.path(CONTROLS), "a", encoding="utf-8") as stream:
        stream.write(json.dumps(record, ensure_ascii=False) + "\n")
