"""Ratings of existing evaluation campaigns into the judgment database: which segment, which candidate, which labels.

A rating belongs to the segment with its id if the tokens of that spell its source text, else to the one that they do
spell (its id or its target decides between equal ones); and to the candidate whose tokens spell its target text, in
the list named after the system if it is in several (``Online-W.jsonl``, ``newstest.Online-W.txt``). Ratings without a
place are counted with the reason.

Judgments are made segment by segment while they are added, in one transaction: none is in memory longer than that.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import accumulate
from typing import Any, Generic, NamedTuple, TypeVar

from rypt.campaign.folder import Campaign
from rypt.ratings.labels import JudgedCandidate, spelling, token_spelling
from rypt.ratings.rating import Policy, Rating, Repairs
from rypt.records import Candidate, Judgment, Segment
from rypt.text import FormatError, InputError, PathLike, RyptError, open_output, plural
from rypt.texts.lists import list_system

T = TypeVar("T")
NO_SEGMENT = "no segment of the campaign has this source text"
TWO_SEGMENTS = "several segments have this source and target text, and none this id"
NO_CANDIDATE = "no candidate of the segment has this target text"
NOT_SPELLED = "a token ends inside a letter of the text"
NO_PARSE = "the segment has no parse"
LEFT_OUT = "by raters left out"
AGAIN = "rated again later by the same rater"


class Place(NamedTuple):
    segment: Segment
    candidate: Candidate


Matched = dict[tuple[str, str, str], tuple[Rating, Place]]  # by segment, system and rater


@dataclass(slots=True)
class RatingImport:
    """Counts of what was imported from a file; ``scores`` is None where no file of scores was named."""

    file: str
    ratings: int = 0
    matched: int = 0
    judgments: int = 0
    added: int = 0
    already: int = 0
    raters: int = 0
    systems: int = 0
    unmatched: Counter[str] = field(default_factory=Counter)
    unknown_severities: Counter[str] = field(default_factory=Counter)
    repairs: Repairs | None = None
    scores: int | None = None

    def as_dict(self) -> dict[str, Any]:
        counts = {each.name: getattr(self, each.name) for each in fields(self)}
        counts["repairs"] = (self.repairs and self.repairs.counts) or None
        return {name: count for name, count in counts.items() if count is not None}

    def __str__(self) -> str:
        lines = [
            f"{self.file}: {plural(self.added, 'judgment')} added, {self.already} already there, from {self.matched} "
            f"of {plural(self.ratings, 'rating')} ({plural(self.raters, 'rater')}, {plural(self.systems, 'system')})"
        ]
        lines += [f"{plural(count, 'rating')} not used: {why}" for why, count in self.unmatched.most_common()]
        lines += [
            f"{plural(count, 'error')} of the unknown severity {name!r}, not counted"
            for name, count in self.unknown_severities.most_common()
        ]
        return "\n".join(["\n  ".join(lines), *(self.repairs.summary() if self.repairs else ())])


def import_ratings(
    campaign: Campaign,
    path: PathLike,
    ratings: Sequence[Rating],
    policy: Policy | None = None,
    *,
    excluded_raters: Collection[str] = (),
    scores: PathLike | None = None,
    better: str = "lower",
    repairs: Repairs | None = None,
    repairs_file: PathLike | None = None,
) -> RatingImport:
    """Import the ratings of a file in one transaction, and write the raters' scores to the file ``scores``.

    ``repairs`` are those that reading the file made; they are counted, and listed in ``repairs_file``. Where one of
    these files cannot be written, nothing is imported; nor where no rating matches. ``better`` says whether lower or
    higher scores are better.

    Ratings that were imported with another policy are refused: both labels of a constituent would be votes.
    """
    result = RatingImport(str(path), len(ratings), repairs=repairs)
    with (
        nullcontext() if scores is None else open_output(scores) as stream,
        nullcontext() if repairs_file is None else open_output(repairs_file) as list_of_repairs,
    ):
        chosen = [rating for rating in ratings if rating.rater not in excluded_raters]
        result.unmatched += Counter({LEFT_OUT: len(ratings) - len(chosen)})
        matched = match_ratings(campaign, chosen, result)
        with campaign.database(readonly=False) as db, db.writing():
            count, contradictions = db.count(), db.count_contradictions()
            db.put(judge_segments(campaign, matched, policy or Policy(), result))
            result.added = db.count() - count
            if other := db.count_contradictions() - contradictions:
                raise RyptError(
                    f"{db.path}: {other} of these constituents were labelled otherwise by the same raters: the ratings "
                    "were imported with other options, or changed; to import them with other options, make another "
                    "campaign"
                )
        result.already = result.judgments - result.added
        used = [rating for rating, _ in matched.values()]
        result.matched = len(used)
        result.raters, result.systems = len({r.rater for r in used}), len({r.system for r in used})
        result.unknown_severities = Counter(e.severity for r in used for e in r.errors if e.rank is None)
        if stream is not None:
            result.scores = 0
            for rating, place in matched.values():
                if rating.score is not None:
                    who = {"segment": place.segment.id, "system": rating.system, "rater": rating.rater}
                    record = {**who, "score": rating.score, "better": better}
                    stream.write(json.dumps(record, ensure_ascii=False) + "\n")
                    result.scores += 1
        if list_of_repairs is not None and repairs is not None:
            repairs.write(list_of_repairs)
    return result


def match_ratings(campaign: Campaign, ratings: Sequence[Rating], result: RatingImport) -> Matched:
    """The ratings that belong to the campaign, one for each rater and candidate of a system: the last."""
    places = _Places(campaign, {rating.system for rating in ratings})
    matched: Matched = {}
    for rating in campaign.watch(ratings, "match ratings", len(ratings)):
        place = places.find(rating)
        if isinstance(place, str):
            result.unmatched[place] += 1
            continue
        key = (place.segment.id, rating.system, rating.rater)
        if key in matched:
            result.unmatched[AGAIN] += 1
        if key not in matched or (rating.time or 0) >= (matched[key][0].time or 0):
            matched[key] = rating, place
    if not matched:
        why = ", ".join(f"{count} {reason}" for reason, count in result.unmatched.most_common())
        problem = (
            f"expected ratings of this campaign's candidates: of {result.ratings}, {why or 'there are none'}"
        )
        raise InputError(result.file, None, problem)
    return matched


class _Places:
    """Finds the segment and the candidate that a rating is about."""

    def __init__(self, campaign: Campaign, systems: Collection[str]) -> None:
        self._trees = campaign.trees
        self._ids = {segment.id: segment for segment in campaign.segments}
        self._segments = _TextIndex((segment, segment.tokens) for segment in campaign.segments)
        self._listed: dict[str, list[tuple[str | None, Candidate]]] = {}
        for name, candidates in campaign.lists:
            system = list_system(name, systems)
            for candidate in candidates:
                self._listed.setdefault(candidate.segment, []).append((system, candidate))
        self._outputs: dict[str, _TextIndex[tuple[str | None, Candidate]]] = {}
        self._places: dict[tuple[str, str, str, str], Place | str] = {}

    def find(self, rating: Rating) -> Place | str:
        """The place of a rating, or why it has none."""
        output = rating.segment, rating.source, rating.target, rating.system
        if output not in self._places:
            self._places[output] = self._search(rating)
        return self._places[output]

    def _search(self, rating: Rating) -> Place | str:
        same = self._ids.get(rating.segment)
        if same is not None and _squeezed(rating.source) == _squeezed(same.text):
            segments = [same]
        else:
            segments = self._segments.find(rating.source)
            segments = [segment for segment in segments if segment.id == rating.segment] or segments
        if not segments:
            return NO_SEGMENT
        places = [
            Place(segment, found)
            for segment in segments
            if (found := self._candidate(segment.id, rating.target, rating.system))
        ]
        if len(places) != 1:
            return TWO_SEGMENTS if places else NO_CANDIDATE
        return NO_PARSE if self._trees[places[0].segment.id] is None else places[0]

    def _candidate(self, segment: str, target: str, system: str) -> Candidate | None:
        """The candidate with this text, that of the system if others have the same, aligned otherwise."""
        listed = self._listed.get(segment, [])
        if segment not in self._outputs:
            self._outputs[segment] = _TextIndex((item, item[1].tokens) for item in listed)
        found = self._outputs[segment].find(target)
        of_system = (candidate for name, candidate in found if name == system)
        return next(of_system, found[0][1] if found else None)


class _TextIndex(Generic[T]):
    """Finds items by a text that their tokens spell: letter by letter if they can, else as `spelling` compares."""

    def __init__(self, items: Iterable[tuple[T, Sequence[str]]]) -> None:
        self._items = list(items)

    @cached_property
    def _exact(self) -> dict[str, list[tuple[T, Sequence[str]]]]:
        return self._by(lambda tokens: _squeezed("".join(tokens)))

    @cached_property
    def _spelled(self) -> dict[str, list[tuple[T, Sequence[str]]]]:
        return self._by(token_spelling)

    def _by(self, text_of: Callable[[Sequence[str]], str]) -> dict[str, list[tuple[T, Sequence[str]]]]:
        index: dict[str, list[tuple[T, Sequence[str]]]] = {}
        for item, tokens in self._items:
            index.setdefault(text_of(tokens), []).append((item, tokens))
        return index

    def find(self, text: str) -> list[T]:
        """The items with this text, the one first whose tokens end where the text has white space."""
        pairs = self._exact.get(_squeezed(text)) or self._spelled.get(spelling(text)) or []
        if len(pairs) > 1:
            ends = _word_ends(text.split())
            pairs = sorted(pairs, key=lambda pair: (len(ends - _word_ends(pair[1])), len(pair[1])))
        return [item for item, _ in pairs]


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _word_ends(words: Sequence[str]) -> set[int]:
    return set(accumulate(len(_squeezed(word)) for word in words))


def judge_segments(
    campaign: Campaign, matched: Matched, policy: Policy, result: RatingImport
) -> Iterator[Judgment]:
    """The judgments that ratings imply, segment by segment.

    Ratings with marks that have no place among the tokens are counted, and removed from those that matched.
    """
    by_segment: dict[str, list[tuple[Rating, Place]]] = {}
    for (segment, _, _), match in matched.items():
        by_segment.setdefault(segment, []).append(match)
    for segment, matches in campaign.watch(by_segment.items(), "judge segments", len(by_segment)):
        tree = campaign.trees[segment]
        assert tree is not None
        judged: dict[int, JudgedCandidate] = {}
        for rating, place in matches:
            if rating.other_text:
                continue
            if id(place.candidate) not in judged:
                judged[id(place.candidate)] = JudgedCandidate(place.segment, tree, place.candidate)
            try:
                judgments = judged[id(place.candidate)].judgments(rating, policy)
            except FormatError:
                result.unmatched[NOT_SPELLED] += 1
                del matched[segment, rating.system, rating.rater]
                continue
            result.judgments += len(judgments)
            yield from judgments
