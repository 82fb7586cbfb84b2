"""Ratings of existing evaluation campaigns into the judgment database: which segment, which candidate, which labels.

In a campaign that was made from the same ratings, segments and candidates are found by their ids. In any other, a
rating belongs to the segment whose tokens spell its source text (the id decides between equal ones, else the target)
and to the candidate of that segment whose tokens spell its target text, in the list named after the system if it is in
several (``Online-W.jsonl``, ``newstest.Online-W.txt``). Ratings without a place are counted with the reason.

Judgments are made segment by segment while they are added, in one transaction: none is in memory longer than that.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any, Generic, NamedTuple, TypeVar

from rypt.campaign.folder import Campaign
from rypt.ratings.labels import JudgedCandidate, spelling, token_spelling
from rypt.ratings.rating import Policy, Rating, Repairs
from rypt.ratings.texts import RatingTexts
from rypt.records import Candidate, Judgment, Segment
from rypt.text import FormatError, InputError, PathLike, RyptError, open_output, plural
from rypt.texts.lists import list_name, list_system

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


Find = Callable[[Rating], Place | str]  # what a rating is about, or why that is not in the campaign
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
    unmatched: dict[str, int] = field(default_factory=dict)
    unknown_severities: dict[str, int] = field(default_factory=dict)
    repairs: dict[str, int] | None = None
    scores: int | None = None

    def as_dict(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}

    def __str__(self) -> str:
        lines = [
            f"{self.file}: {plural(self.added, 'judgment')} added, {self.already} already there, from {self.matched} "
            f"of {plural(self.ratings, 'rating')} ({plural(self.raters, 'rater')}, {plural(self.systems, 'system')})"
        ]
        lines += [f"{plural(count, 'rating')} not used: {why}" for why, count in self.unmatched.items()]
        lines += [
            f"{plural(count, 'error')} of the unknown severity {name!r}, not counted"
            for name, count in self.unknown_severities.items()
        ]
        return "\n  ".join(lines)


def import_ratings(
    campaign: Campaign,
    path: PathLike,
    ratings: Sequence[Rating],
    policy: Policy | None = None,
    *,
    only_raters: Collection[str] = (),
    excluded_raters: Collection[str] = (),
    texts: RatingTexts | None = None,
    scores: PathLike | None = None,
    better: str = "lower",
    repairs: Repairs | None = None,
    repairs_file: PathLike | None = None,
) -> RatingImport:
    """Import the ratings of a file in one transaction, and write the raters' scores to the file ``scores``.

    ``texts`` are those that the campaign was made of, if it was made from these ratings. ``repairs`` are those that
    reading the file made; they are counted, and listed in ``repairs_file``. Where one of these files cannot be written,
    nothing is imported; nor where no rating matches. ``better`` says whether lower or higher scores are better.

    Ratings that were imported with another policy are refused: both labels of a constituent would be votes.
    """
    result = RatingImport(str(path), len(ratings), repairs=repairs.counts or None if repairs else None)
    with (
        nullcontext() if scores is None else open_output(scores) as stream,
        nullcontext() if repairs_file is None else open_output(repairs_file) as list_of_repairs,
    ):
        find = spelled_places(campaign, ratings) if texts is None else own_places(campaign, texts)
        chosen = [
            rating
            for rating in ratings
            if rating.rater not in excluded_raters and (not only_raters or rating.rater in only_raters)
        ]
        if len(chosen) < len(ratings):
            result.unmatched[LEFT_OUT] = len(ratings) - len(chosen)
        matched = match_ratings(campaign, chosen, find, result)
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
        unknown = Counter(error.severity for r in used for error in r.errors if error.rank is None)
        result.unknown_severities = dict(unknown.most_common())
        if stream is not None:
            lines = [line for match in matched.values() if (line := _score_line(*match, better))]
            stream.writelines(lines)
            result.scores = len(lines)
        if list_of_repairs is not None and repairs is not None:
            repairs.write(list_of_repairs)
    return result


def _score_line(rating: Rating, place: Place, better: str) -> str:
    if rating.score is None:
        return ""
    record = {"segment": place.segment.id, "system": rating.system, "rater": rating.rater}
    return json.dumps({**record, "score": rating.score, "better": better}, ensure_ascii=False) + "\n"


def match_ratings(campaign: Campaign, ratings: Sequence[Rating], find: Find, result: RatingImport) -> Matched:
    """The ratings that belong to the campaign, one for each rater and candidate of a system: the last."""
    reasons = Counter(result.unmatched)
    matched: Matched = {}
    for rating in campaign.watch(ratings, "match ratings", len(ratings)):
        place = find(rating)
        if isinstance(place, str):
            reasons[place] += 1
            continue
        key = (place.segment.id, rating.system, rating.rater)
        if key in matched:
            reasons[AGAIN] += 1
        if key not in matched or (rating.time or 0) >= (matched[key][0].time or 0):
            matched[key] = rating, place
    result.unmatched = dict(reasons.most_common())
    if not matched:
        why = ", ".join(f"{count} {reason}" for reason, count in result.unmatched.items()) or "there are none"
        problem = f"expected ratings of this campaign's candidates: of {result.ratings}, {why}"
        raise InputError(result.file, None, problem)
    return matched


def own_places(campaign: Campaign, texts: RatingTexts) -> Find:
    """Places in a campaign that was made of the texts of these ratings: by their ids."""
    segments = {segment.id: segment for segment in campaign.segments}
    outputs = {(list_name(file), c.segment): c for file, candidates in campaign.lists() for c in candidates}

    def find(rating: Rating) -> Place | str:
        segment = segments.get(texts.segment(rating))
        if segment is None:
            return NO_SEGMENT
        candidate = outputs.get((rating.system, segment.id))
        target = texts.systems.get(rating.system, {}).get(segment.id, "")
        if candidate is None or (target != rating.target and spelling(target) != spelling(rating.target)):
            return NO_CANDIDATE
        return NO_PARSE if campaign.trees[segment.id] is None else Place(segment, candidate)

    return find


class _TextIndex(Generic[T]):
    """Finds items by a text that their tokens spell: letter by letter if they can, else as `spelling` compares."""

    def __init__(self, items: Iterable[tuple[T, Sequence[str]]]) -> None:
        self._items = list(items)
        self._exact: dict[str, list[tuple[T, Sequence[str]]]] = {}
        for item, tokens in self._items:
            self._exact.setdefault(_squeezed(" ".join(tokens)), []).append((item, tokens))

    @cached_property
    def _spelled(self) -> dict[str, list[tuple[T, Sequence[str]]]]:
        spelled: dict[str, list[tuple[T, Sequence[str]]]] = {}
        for item, tokens in self._items:
            spelled.setdefault(token_spelling(tokens), []).append((item, tokens))
        return spelled

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


def spelled_places(campaign: Campaign, ratings: Iterable[Rating]) -> Find:
    """Places in any campaign, by spelled texts; other systems may have the same text, aligned otherwise."""
    systems = {rating.system for rating in ratings}
    segments = _TextIndex((segment, segment.tokens) for segment in campaign.segments)
    listed: dict[str, list[tuple[tuple[str | None, Candidate], Sequence[str]]]] = {}
    for name, candidates in campaign.lists():
        system = list_system(name, systems)
        for candidate in candidates:
            listed.setdefault(candidate.segment, []).append(((system, candidate), candidate.tokens))
    outputs = {segment: _TextIndex(pairs) for segment, pairs in listed.items()}
    places: dict[tuple[str, str, str, str], Place | str] = {}

    def search(rating: Rating) -> Place | str:
        same = segments.find(rating.source)
        if not same:
            return NO_SEGMENT
        if len(same) > 1:
            same = [segment for segment in same if segment.id == rating.segment] or same
        fits = [(s, rows) for s in same if s.id in outputs and (rows := outputs[s.id].find(rating.target))]
        if len(fits) != 1:
            return TWO_SEGMENTS if fits else NO_CANDIDATE
        segment, rows = fits[0]
        candidate = next((c for system, c in rows if system == rating.system), rows[0][1])
        return NO_PARSE if campaign.trees[segment.id] is None else Place(segment, candidate)

    def find(rating: Rating) -> Place | str:
        output = rating.segment, rating.source, rating.target, rating.system
        if output not in places:
            places[output] = search(rating)
        return places[output]

    return find


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
                result.unmatched[NOT_SPELLED] = result.unmatched.get(NOT_SPELLED, 0) + 1
                del matched[segment, rating.system, rating.rater]
                continue
            result.judgments += len(judgments)
            yield from judgments
