"""Controls of label batches: half expect YES and half NO, so that a constant answer fails."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hits.batch.alternatives import Alternative, Page, Place, ReferenceParts, by_place
from hits.batch.controls import Donors, confident_label
from hits.records import ControlKind
from rypt.campaign.folder import Campaign
from rypt.records import Candidate, Label, Query, Span, Votes
from rypt.scoring.queries import Key, QueryLimits, queries
from rypt.strict import SyntaxFormatError, parse_json
from rypt.text import FormatError, InputError, RyptError, Watch, plural, read_lines, tokenize, unwatched
from rypt.texts.alignment import Links
from rypt.texts.phrases import normalize, phrase_key

DONORS = 20  # candidates of a segment that lend words: enough to choose from, however long the lists are


class LabelControls:
    """Finds controls for the constituents of a batch and puts them on its pages.

    ``queries`` are all phrases of the frontier, labelled or not; ``votes`` those on the labelled ones; ``verified``
    what a person said of parts of references (`hits.batch.label_controls`).
    """

    def __init__(
        self,
        queries: Sequence[Query],
        candidates: Iterable[Candidate],
        votes: Mapping[Key, Votes],
        references: ReferenceParts,
        verified: Mapping[Key, Label],
        case: str,
    ) -> None:
        self.accepted: dict[Place, list[str]] = {}
        for (segment, span, phrase), label in verified.items():
            if label is Label.YES and has_content(phrase):
                self.accepted.setdefault((segment, span), []).append(phrase)
        self.places, self.votes, self.references = by_place(queries), votes, references
        self.case = case
        texts: dict[str, list[list[str]]] = {}
        for candidate in candidates:
            lent = texts.setdefault(candidate.segment, [])
            if len(lent) < DONORS:
                lent.append(candidate.tokens)
        self.donors = Donors(texts)
        self.known: dict[Place, set[str]] = {}
        for segment, span, phrase in votes:
            self.known.setdefault((segment, span), set()).add(phrase)

    def add(self, pages: list[Page], count: int, room: int, rng: np.random.Generator) -> list[str]:
        """Put ``count`` controls on pages, of at most ``room`` alternatives, or on pages of their own.

        The notes say what could not be done.
        """
        wanted = {Label.YES: count // 2, Label.NO: count - count // 2}
        order = [int(i) for i in rng.permutation(len(pages))]
        mixed = [pages[i] for i in order]
        notes = []
        for label, number in wanted.items():
            wanted[label] -= self._on_pages(mixed, wanted[label], room, [label], rng)
            wanted[label] -= self._on_own_pages(pages, wanted[label], room, label, rng)
            made = number - wanted[label]
            if number and 2 * made < number:
                advice = (
                    "; `rypt hits controls` lets you verify some in a minute" if label is Label.YES else ""
                )
                many = f"{made} control{'s expect' if made > 1 else ' expects'} {label}, not {number}"
                what = f"only {many}" if made else f"no control expects {label}"
                notes.append(f"{what}: there was nothing to make {'more' if made else 'it'} from{advice}")
        missing = sum(wanted.values())
        missing -= self._on_pages(mixed, missing, room, list(wanted), rng)
        if missing:
            notes.append(f"only {count - missing} of {plural(count, 'control')} could be made")
        return notes

    def _on_pages(
        self, pages: Sequence[Page], count: int, room: int, labels: Sequence[Label], rng: np.random.Generator
    ) -> int:
        """Add controls that expect one of these labels, one per page in each round; how many were added."""
        added, before = 0, -1
        while added < count and added > before:
            before = added
            for place, page in pages:
                made = self._control(place, page, labels, rng) if added < count and len(page) < room else None
                if made:
                    page.append(made)
                    added += 1
        return added

    def _control(
        self, place: Place, page: Sequence[Alternative], labels: Sequence[Label], rng: np.random.Generator
    ) -> Alternative | None:
        """A control for a page, of a random kind among the possible ones."""
        shown = {alternative.phrase for alternative in page}
        reference = self._known_yes(place)
        possible = [*self._repeats(place), *([reference] if reference else [])]
        if Label.NO in labels and (damaged := self._damaged(place, page, rng)):
            possible.append(damaged)
        possible = [made for made in possible if made.expected in labels and made.phrase not in shown]
        kinds = sorted({str(made.kind) for made in possible})
        if not kinds:
            return None
        kind = kinds[int(rng.integers(len(kinds)))]
        choices = [made for made in possible if made.kind == kind]
        return choices[int(rng.integers(len(choices)))]

    def _on_own_pages(
        self, pages: list[Page], count: int, room: int, label: Label, rng: np.random.Generator
    ) -> int:
        """Pages of controls alone: repeats of constituents that nothing else is asked about, else references."""
        taken = {place for place, _ in pages}
        places = list(self.places) if count > 0 else []
        made = 0
        for i in rng.permutation(len(places)):
            place = places[i]
            controls = [] if place in taken else [r for r in self._repeats(place) if r.expected is label]
            reference = self._known_yes(place) if label is Label.YES and not controls else None
            controls = controls[: min(count - made, room)] or (
                [reference] if reference and made < count else []
            )
            if controls:
                pages.append((place, controls))
                made += len(controls)
        return made

    def _repeats(self, place: Place) -> list[Alternative]:
        """Phrases of a constituent on which workers agreed."""
        repeats = []
        for query in self.places.get(place, []):
            votes = self.votes.get((*place, query.phrase))
            label = confident_label(votes) if votes else None
            if label:
                repeats.append(
                    Alternative(query.phrase, query.example, query.positions, label, ControlKind.REPEAT)
                )
        return repeats

    def _known_yes(self, place: Place) -> Alternative | None:
        """A phrase that is right without a label: a verified part of the reference, else the source's own string.

        An alignment alone never decides. A phrase to which somebody said anything but YES is left alone.
        """
        text = self.references.texts.get(place[0], "")
        tokens = tokenize(text)
        for phrase in self.accepted.get(place, []):
            if (positions := find_phrase(tokens, phrase, self.case)) and self._undisputed(place, phrase):
                return Alternative(phrase, text, positions, Label.YES, ControlKind.IDENTICAL)
        words = {normalize(word, self.case) for word in tokens}
        for query in self.places.get(place, []):
            source = normalize(query.source_phrase, self.case)
            same = has_content(query.phrase) and query.phrase == source
            if same and words.issuperset(tokenize(query.phrase)) and self._undisputed(place, query.phrase):
                return Alternative(
                    query.phrase, query.example, query.positions, Label.YES, ControlKind.IDENTICAL
                )
        return None

    def _undisputed(self, place: Place, phrase: str) -> bool:
        votes = self.votes.get((*place, phrase))
        return not (votes and (votes.no or votes.not_sure))

    def _damaged(
        self, place: Place, page: Sequence[Alternative], rng: np.random.Generator
    ) -> Alternative | None:
        """A candidate in which words of another segment took the place of the phrase."""
        hosts = [a for a in page if a.whole and a.expected is None and any(map(str.isalnum, a.phrase))]
        if not hosts:
            return None
        host = hosts[int(rng.integers(len(hosts)))]
        tokens = tokenize(host.candidate)
        phrases = self._phrases(place) | {alternative.phrase for alternative in page}
        avoid = {word for phrase in phrases for word in tokenize(phrase)}
        avoid |= {*tokens, *tokenize(self.references.texts.get(place[0], ""))}
        words = self.donors.words(len(host.positions), place[0], avoid, rng)
        if words is None:
            return None
        start = host.positions[0]
        text = " ".join([*tokens[:start], *words, *tokens[start + len(host.positions) :]])
        where = tuple(range(start, start + len(words)))
        return Alternative(phrase_key(" ".join(words), self.case), text, where, Label.NO, ControlKind.DAMAGED)

    def _phrases(self, place: Place) -> set[str]:
        """All phrases known for a constituent, judged or not."""
        return {query.phrase for query in self.places.get(place, [])} | self.known.get(place, set())


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
