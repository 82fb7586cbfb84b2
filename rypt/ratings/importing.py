"""Ratings of existing evaluation campaigns into the judgment database: which segment, which candidate, which labels.

A rating belongs to the segment whose tokens spell its source text (the id decides between equal ones, else the target)
and to the candidate of that segment whose tokens spell its target text, in the list named after the system if it is in
several (``Online-W.jsonl``, ``newstest.Online-W.txt``). What belongs nowhere is counted with the reason.

Judgments are made segment by segment while they are added, in one transaction: none is kept in memory.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import accumulate, chain
from typing import Any, Generic, NamedTuple, TextIO, TypeVar

from rypt.campaign.folder import Campaign
from rypt.database.judgments import JudgmentDatabase
from rypt.ratings.error_spans import Policy, Raters, Rating
from rypt.ratings.labels import JudgedCandidate
from rypt.ratings.repairs import Repairs
from rypt.ratings.surface import spelling, token_spelling
from rypt.records import Candidate, CandidateJudgments, Segment
from rypt.scoring.queries import candidate_links
from rypt.text import FormatError, InputError, PathLike, RyptError, open_output, plural
from rypt.texts.lists import list_system
from rypt.texts.phrases import phrase_key

T = TypeVar("T")
NO_SEGMENT = "no segment of the campaign has this source text"
TWO_SEGMENTS = "several segments have this source and target text, and none this id"
NO_CANDIDATE = "no candidate of the segment has this target text"
NOT_SPELLED = "a token ends inside a letter of the text"
NO_PARSE = "the segment has no parse"
LEFT_OUT = "by raters left out"
AGAIN = "rated again later by the same rater"


class Matched(NamedTuple):
    """A rating with the segment and the candidate it is about."""

    rating: Rating
    segment: Segment
    candidate: Candidate


@dataclass(slots=True)
class RatingImport:
    """Counts of what was imported from a file; ``scores`` is the number of scores written, if a file was given."""

    file: str = ""

    ratings: int = 0
    matched: int = 0
    judgments: int = 0
    added: int = 0
    already: int = 0
    raters: int = 0
    systems: int = 0
    left_open: int = 0
    unmatched: dict[str, int] = field(default_factory=dict)
    unknown_severities: dict[str, int] = field(default_factory=dict)
    repairs: dict[str, int] = field(default_factory=dict)
    scores: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """For JSON; repairs where there are any."""
        left_out = {"scores"} if self.scores is None else set()
        left_out |= set() if self.repairs else {"repairs"}
        return {name: value for name, value in asdict(self).items() if name not in left_out}

    def __str__(self) -> str:
        lines = [
            f"{self.file}: {plural(self.added, 'judgment')} added, {self.already} already there, from {self.matched} "
            f"of {plural(self.ratings, 'rating')} ({plural(self.raters, 'rater')}, {plural(self.systems, 'system')})"
        ]
        lines += [
            f"  {plural(count, 'rating')} not used: {reason}" for reason, count in self.unmatched.items()
        ]
        lines += [
            f"  {plural(count, 'error')} of the unknown severity {name!r}, not counted"
            for name, count in self.unknown_severities.items()
        ]
        if self.left_open:
            lines.append(f"  {plural(self.left_open, 'constituent')} left open: an error is partly inside")
        return "\n".join(lines)


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


class Listed(NamedTuple):
    """A candidate and the system whose list it stands in: another's may have the same text, aligned otherwise."""

    candidate: Candidate
    system: str | None


class CampaignTexts:
    """Finds the segments and candidates of a campaign by their texts; lists are named after ``systems``.

    What was found for one rating of an output holds for the others.
    """

    def __init__(self, campaign: Campaign, systems: Collection[str]) -> None:
        self.trees = campaign.trees
        self._segments = _TextIndex((segment, segment.tokens) for segment in campaign.segments)
        by_segment: dict[str, list[tuple[Listed, Sequence[str]]]] = {}
        for name, candidates in campaign.lists():
            system = list_system(name, systems)
            for candidate in candidates:
                listed = Listed(candidate, system)
                by_segment.setdefault(candidate.segment, []).append((listed, candidate.tokens))
        self._candidates = {segment: _TextIndex(pairs) for segment, pairs in by_segment.items()}
        self._found: dict[tuple[str, str, str, str], tuple[Segment, Candidate] | str] = {}

    def find(self, rating: Rating) -> Matched | str:
        """The segment and candidate of a rating, or why there is none."""
        output = rating.segment, rating.source, rating.target, rating.system
        if output not in self._found:
            self._found[output] = self._find(rating)
        match = self._found[output]
        return match if isinstance(match, str) else Matched(rating, *match)

    def _find(self, rating: Rating) -> tuple[Segment, Candidate] | str:
        segments = self._segments.find(rating.source)
        if not segments:
            return NO_SEGMENT
        if len(segments) > 1:
            segments = [s for s in segments if s.id == rating.segment] or segments
        holding = [
            (segment, listed) for segment in segments if (listed := self._listed(segment, rating.target))
        ]
        if len(holding) != 1:
            return TWO_SEGMENTS if holding else NO_CANDIDATE
        segment, listed = holding[0]
        if self.trees[segment.id] is None:
            return NO_PARSE
        chosen = next((item for item in listed if item.system == rating.system), listed[0])
        return segment, chosen.candidate

    def _listed(self, segment: Segment, target: str) -> list[Listed]:
        return self._candidates[segment.id].find(target) if segment.id in self._candidates else []


def match_ratings(
    campaign: Campaign, ratings: Sequence[Rating], raters: Raters, result: RatingImport
) -> list[Matched]:
    """The ratings that belong to the campaign, one for each rater and candidate of a system: the last."""
    texts = CampaignTexts(campaign, {rating.system for rating in ratings})
    reasons: Counter[str] = Counter()
    latest: dict[tuple[str, str, str], Matched] = {}
    for rating in campaign.watch(ratings, "match ratings", len(ratings)):
        result.ratings += 1
        matched = texts.find(rating) if raters.take(rating.rater) else LEFT_OUT
        if isinstance(matched, str):
            reasons[matched] += 1
            continue
        key = (matched.segment.id, rating.system, rating.rater)
        earlier = latest.get(key)
        if earlier is not None:
            reasons[AGAIN] += 1
        if earlier is None or (rating.time or 0) >= (earlier.rating.time or 0):
            latest[key] = matched
    result.unmatched = dict(reasons.most_common())
    return list(latest.values())


def import_ratings_file(
    campaign: Campaign,
    path: PathLike,
    ratings: Sequence[Rating],
    policy: Policy,
    raters: Raters | None = None,
    *,
    scores: PathLike | None = None,
    better: str = "lower",
    repairs: Repairs | None = None,
    repairs_file: PathLike | None = None,
) -> RatingImport:
    """Import the ratings of a file, and write the raters' scores to the file ``scores``, where one is given.

    ``repairs`` are those that reading the file made; they are counted, and listed in ``repairs_file``. These files are
    opened first: where one cannot be written, nothing is imported. ``better`` says whether lower or higher scores are
    better.
    """
    repairs = repairs or Repairs(path)
    with _output(scores) as stream, _output(repairs_file) as list_of_repairs:
        result, matched = import_ratings(campaign, path, ratings, policy, raters)
        result.repairs = repairs.counts
        if stream is not None:
            result.scores = write_scores(matched, stream, better=better)
        if list_of_repairs is not None:
            repairs.write(list_of_repairs)
    return result


def _output(path: PathLike | None) -> AbstractContextManager[TextIO | None]:
    return nullcontext() if path is None else open_output(path)


def import_ratings(
    campaign: Campaign,
    path: PathLike,
    ratings: Sequence[Rating],
    policy: Policy,
    raters: Raters | None = None,
) -> tuple[RatingImport, list[Matched]]:
    """Import in one transaction; refused when nothing matches, or when it contradicts an import of the same ratings."""
    result = RatingImport(str(path))
    matched = match_ratings(campaign, ratings, raters or Raters(), result)
    if not matched:
        why = ", ".join(f"{count} {reason}" for reason, count in result.unmatched.items()) or "there are none"
        raise InputError(
            path, None, f"expected ratings of this campaign's candidates: of {result.ratings}, {why}"
        )
    unspelled: set[int] = set()
    with campaign.database(readonly=False) as db:
        result.added = db.add_candidates(
            _of_one_policy(db, judged_segments(campaign, matched, policy, result, unspelled))
        )
    result.already = result.judgments - result.added
    used = [match for match in matched if id(match) not in unspelled]
    result.matched = len(used)
    result.raters, result.systems = (
        len({getattr(m.rating, name) for m in used}) for name in ("rater", "system")
    )
    unknown = Counter(e.severity for m in used for e in m.rating.errors if e.rank is None)
    result.unknown_severities = dict(unknown.most_common())
    return result, used


def judged_segments(
    campaign: Campaign, matched: Iterable[Matched], policy: Policy, result: RatingImport, unspelled: set[int]
) -> Iterator[tuple[str, list[CandidateJudgments]]]:
    """The judgments that ratings stand for, segment by segment.

    Ratings with marks that have no place among the tokens are counted, and noted by their `id` as ``unspelled``.
    """
    by_segment: dict[str, list[Matched]] = {}
    for match in matched:
        by_segment.setdefault(match.segment.id, []).append(match)
    for segment, matches in campaign.watch(by_segment.items(), "judge segments", len(by_segment)):
        tree = campaign.trees[segment]
        assert tree is not None
        judged: dict[int, JudgedCandidate] = {}
        judgments: list[CandidateJudgments] = []
        for match in matches:
            rating, _, candidate = match
            if rating.other_text:
                continue
            if id(candidate) not in judged:
                links = candidate_links(candidate, tree)
                judged[id(candidate)] = JudgedCandidate(match.segment, tree, candidate, links)
            one = judged[id(candidate)]
            try:
                labels = one.judgments(rating, policy)
            except FormatError:
                result.unmatched[NOT_SPELLED] = result.unmatched.get(NOT_SPELLED, 0) + 1
                unspelled.add(id(match))
                continue
            judgments.append(labels)
            result.left_open += len(one.constituents.spans) - len(labels)
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


def write_scores(matched: Iterable[Matched], stream: TextIO, *, better: str) -> int:
    """Write the raters' scores, a line each rating; ``better`` says whether lower or higher ones are."""
    count = 0
    for rating, segment, _ in matched:
        if rating.score is not None:
            record = {
                "segment": segment.id,
                "system": rating.system,
                "rater": rating.rater,
                "score": rating.score,
            }
            stream.write(json.dumps({**record, "better": better}, ensure_ascii=False) + "\n")
            count += 1
    return count
