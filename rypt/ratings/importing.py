"""Ratings of existing evaluation campaigns into the judgment database: which segment, which candidate, which labels.

In a campaign that was made from the same ratings, segments and candidates are found by their ids. In any other, a
rating belongs to the segment whose tokens spell its source text (the id decides between equal ones, else the target)
and to the candidate of that segment whose tokens spell its target text, in the list named after the system if it is in
several (``Online-W.jsonl``, ``newstest.Online-W.txt``). Ratings without a place are counted with the reason.

Judgments are made segment by segment while they are added, in one transaction: none is in memory longer than that.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import accumulate, chain
from typing import Any, Generic, NamedTuple, TypeVar

from rypt.campaign.folder import Campaign
from rypt.database.judgments import JudgmentDatabase
from rypt.ratings.labels import JudgedCandidate, spelling, token_spelling
from rypt.ratings.rating import Policy, Raters, Rating, Repairs
from rypt.ratings.texts import RatingTexts
from rypt.records import Candidate, CandidateJudgments, Segment
from rypt.text import FormatError, InputError, PathLike, RyptError, open_output, plural
from rypt.texts.lists import list_name, list_system
from rypt.texts.phrases import phrase_key

T = TypeVar("T")
NO_SEGMENT = "no segment of the campaign has this source text"
TWO_SEGMENTS = "several segments have this source and target text, and none this id"
NO_CANDIDATE = "no candidate of the segment has this target text"
NOT_SPELLED = "a token ends inside a letter of the text"
NO_PARSE = "the segment has no parse"
LEFT_OUT = "by raters left out"
AGAIN = "rated again later by the same rater"


class Place(NamedTuple):
    """The segment and the candidate that a rating is about."""

    segment: Segment
    candidate: Candidate


Find = Callable[[Rating], Place | str]  # the place of a rating, or why there is none
Matched = dict[tuple[str, str, str], tuple[Rating, Place]]  # by segment, system and rater


@dataclass(slots=True)
class RatingImport:
    """Counts of what was imported from a file; ``scores`` is the number of scores written, if a file was named."""

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
    repairs: dict[str, int] = field(default_factory=dict)
    scores: int | None = None

    def as_dict(self) -> dict[str, Any]:
        left_out = {"scores"} if self.scores is None else set()
        left_out |= set() if self.repairs else {"repairs"}
        return {name: value for name, value in asdict(self).items() if name not in left_out}

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
    raters: Raters | None = None,
    *,
    texts: RatingTexts | None = None,
    scores: PathLike | None = None,
    better: str = "lower",
    repairs: Repairs | None = None,
    repairs_file: PathLike | None = None,
) -> RatingImport:
    """Import the ratings of a file in one transaction, and write the raters' scores to the file ``scores``.

    ``texts`` are those that the campaign was made of, if it was made from these ratings. ``repairs`` are those that
    reading the file made; they are counted, and listed in ``repairs_file``. Where one of these files cannot be written,
    nothing is imported; nor where no rating matches, or where they contradict an import of the same ratings. ``better``
    says whether lower or higher scores are better.
    """
    result = RatingImport(str(path), repairs=repairs.counts if repairs else {})
    with (
        nullcontext() if scores is None else open_output(scores) as stream,
        nullcontext() if repairs_file is None else open_output(repairs_file) as list_of_repairs,
    ):
        find = spelled_places(campaign, ratings) if texts is None else own_places(campaign, texts)
        matched = match_ratings(campaign, ratings, raters or Raters(), find, result)
        judged = judge_segments(campaign, matched, policy or Policy(), result)
        with campaign.database(readonly=False) as db:
            result.added = db.add_candidates(_of_one_policy(db, judged))
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


def match_ratings(
    campaign: Campaign, ratings: Sequence[Rating], raters: Raters, find: Find, result: RatingImport
) -> Matched:
    """The ratings that belong to the campaign, one for each rater and candidate of a system: the last."""
    reasons: Counter[str] = Counter()
    matched: Matched = {}
    for rating in campaign.watch(ratings, "match ratings", len(ratings)):
        place = find(rating) if raters.take(rating.rater) else LEFT_OUT
        if isinstance(place, str):
            reasons[place] += 1
            continue
        key = (place.segment.id, rating.system, rating.rater)
        if key in matched:
            reasons[AGAIN] += 1
        if key not in matched or (rating.time or 0) >= (matched[key][0].time or 0):
            matched[key] = rating, place
    result.ratings, result.unmatched = len(ratings), dict(reasons.most_common())
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
) -> Iterator[tuple[str, list[CandidateJudgments]]]:
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
        judgments: list[CandidateJudgments] = []
        for rating, place in matches:
            if rating.other_text:
                continue
            if id(place.candidate) not in judged:
                judged[id(place.candidate)] = JudgedCandidate(place.segment, tree, place.candidate)
            try:
                judgments.append(judged[id(place.candidate)].judgments(rating, policy))
            except FormatError:
                result.unmatched[NOT_SPELLED] = result.unmatched.get(NOT_SPELLED, 0) + 1
                del matched[segment, rating.system, rating.rater]
        result.judgments += sum(map(len, judgments))
        yield segment, judgments


def _of_one_policy(
    db: JudgmentDatabase, judged: Iterable[tuple[str, list[CandidateJudgments]]]
) -> Iterator[CandidateJudgments]:
    """Pass judgments on, unless the same ratings were imported with another policy: two labels of one mark.

    Both in one database would be votes against each other. It is looked up in the transaction that adds them, so no
    other process can come between, and an error takes all of them back.
    """
    other = 0
    has_imports = bool(db.count_by_source().get("import"))
    for segment, judgments in judged:
        known = {
            (j.span, j.phrase, j.worker, j.origin): j.label
            for j in (db.judgments(segment) if has_imports else ())
            if j.source == "import"
        }
        for j in chain.from_iterable(judgments) if known else ():
            key = j.span, phrase_key(j.phrase, db.case), j.worker, j.origin
            other += known.get(key, j.label) != j.label
        yield from judgments
    if other:
        raise RyptError(
            f"{db.path}: {other} of these constituents were labelled otherwise by the same raters: the ratings were "
            "imported with other options, or changed; to import them with other options, make another campaign"
        )
