"""Held-out picks of a campaign whose lists are systems' outputs, judged by a file of human scores.

A list is of the system that its file is named after: ``out/JHU.jsonl.gz`` is of the system ``JHU``, and so is
``out/newstest.JHU.txt`` where judgments or scores are of that (`rypt.texts.lists`). A line of the file of scores is
``{"segment": …, "system": …, "rater": …, "score": …, "better": "higher" or "lower"}``; one of documents, which are
units for intervals, and halves to choose on and to report on, is ``{"id": segment, "document": name}``.
"""

import json
import random
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Floats
from rypt.campaign.folder import Campaign
from rypt.database.votes import VoteArrays, read_votes
from rypt.options import check_held_out, check_option
from rypt.picks.held_out import WAYS, HeldOutPicks
from rypt.picks.metrics import HUMAN_ELSEWHERE, PickMetric, term_scores
from rypt.picks.splits import PickSplit, mean_scores, rotate_raters, split_systems
from rypt.records import Candidate
from rypt.scoring.forest import Forest
from rypt.scoring.models import Percolation
from rypt.scoring.observations import JudgedPhrases
from rypt.scoring.report import scoring_advice
from rypt.text import InputError, PathLike, RyptError, read_lines
from rypt.texts.lists import list_name, list_system

BETTER = ("higher", "lower")
DOCUMENTS = "documents.jsonl"  # beside a campaign's source
ORDER = 7  # seed of the order in which documents are dealt to halves
HALVES = ("first", "second")


class ScoreLine(NamedTuple):
    """A line of a file of scores; a higher score is better, whatever the file says."""

    number: int
    segment: str
    system: str
    rater: str
    score: float


def read_score_lines(path: PathLike, better: str | None = None) -> list[ScoreLine]:
    """Read human scores; ``better`` is for lines that do not say it themselves."""
    scores = []
    for number, line in read_lines(path):
        try:
            record = json.loads(line)
            segment, system, rater = (
                str(record["segment"]),
                str(record["system"]),
                str(record.get("rater", "")),
            )
            score, way = float(record["score"]), record.get("better", better)
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            problem = "expected an object with segment, system, rater and score"
            raise InputError(path, number, problem) from None
        if way not in BETTER:
            problem = "expected better as higher or lower (--better says it for a whole file)"
            raise InputError(path, number, problem)
        if not np.isfinite(score):
            raise InputError(path, number, f"expected a finite number as score, found {score}")
        scores.append(ScoreLine(number, segment, system, rater, score if way == "higher" else -score))
    return scores


def place_scores(
    path: PathLike, lines: Iterable[ScoreLine], systems: Sequence[str], segments: Sequence[str]
) -> tuple[dict[str, Floats], int]:
    """For each rater the scores of these systems and segments, nan where there is none; and how many are of others."""
    columns = {segment: i for i, segment in enumerate(segments)}
    rows = {system: i for i, system in enumerate(systems)}
    raters: dict[str, Floats] = {}
    elsewhere = 0
    for number, segment, system, rater, score in lines:
        if segment not in columns or system not in rows:
            elsewhere += 1
            continue
        table = raters.setdefault(rater, np.full((len(rows), len(columns)), np.nan))
        if not np.isnan(table[rows[system], columns[segment]]):
            problem = f"a second score of {system}, segment {segment}, by rater {rater!r}"
            raise InputError(path, number, problem)
        table[rows[system], columns[segment]] = score
    if not raters:
        problem = f"no score is of a system ({', '.join(systems)}) and a segment of this campaign"
        raise InputError(path, None, problem)
    return raters, elsewhere


@dataclass(frozen=True, slots=True)
class Evidence:
    """A campaign's systems, ready to be compared with held-out scores.

    ``raters`` holds each rater's scores, (systems, segments), higher is better, nan where there is none. ``notes`` say
    what was passed over, ``simulated`` how many of the judgments no person gave; ``only_rater`` is the name of who gave
    all judgments and all scores, if one rater did.
    """

    data: HeldOutPicks
    raters: Mapping[str, Floats]
    segments: list[str]
    signatures: list[str]
    notes: list[str]
    simulated: str = ""
    only_rater: str = ""

    def splits(
        self, count: int, seed: int, *, judging: int | None = None, judged_only: Sequence[str] = ()
    ) -> tuple[list[PickSplit], list[str]]:
        """Random divisions of systems, or rotations of raters within each segment: at most ``count``; and notes.

        ``judging`` is how many judge: by default half of the systems, or one rater in each segment.
        """
        data, rng = self.data, np.random.default_rng(seed)
        unknown = [name for name in judged_only if name not in {*data.systems, *data.votes.origins}]
        if unknown:
            raise RyptError(
                f"no list and no judgment is of the system {unknown[0]!r}, which is to be judged only; "
                f"the lists are of {', '.join(data.systems)}"
            )
        if data.way == "rater":
            scored = [i for i, system in enumerate(data.systems) if system not in judged_only]
            judging = 1 if judging is None else judging
            return rotate_raters(self.raters, data.groups, scored, count, rng, judging=judging)
        mean = mean_scores(self.raters.values())
        groups = data.groups
        return (
            split_systems(data.systems, groups, mean, count, rng, judging=judging, judged_only=judged_only),
            [],
        )

    def rated_once(self, judged_only: Collection[str] = ()) -> bool:
        """Whether no candidate that can be picked was scored by two raters."""
        scored = [i for i, system in enumerate(self.data.systems) if system not in judged_only]
        ratings = sum((~np.isnan(table[scored])).astype(np.int64) for table in self.raters.values())
        return bool(np.max(ratings, initial=0) < 2)


def read_evidence(
    campaign: Campaign,
    scores: PathLike,
    metrics: Sequence[PickMetric],
    *,
    way: str = "system",
    max_len: int | None = None,
    better: str | None = None,
) -> Evidence:
    """Read a campaign's lists as systems, one candidate per segment, its judgments, and the scores.

    ``max_len`` takes only judgments on that frontier; None takes all.
    """
    check_held_out(way, WAYS)
    for metric in metrics:
        if way != "rater" and metric.uses("human"):
            raise RyptError(f"the metric {metric.name!r}: {HUMAN_ELSEWHERE}")
    segments = [segment.id for segment in campaign.segments]
    lines = read_score_lines(scores, better)
    with campaign.database() as db:
        votes, case, simulated = read_votes(db), db.case, db.simulated_note()
    known = sorted({*votes.origins, *(line.system for line in lines)})
    systems, candidates, table = _read_systems(campaign, known)
    raters, elsewhere = place_scores(scores, lines, systems, segments)
    judged = JudgedPhrases(Forest(campaign.trees), votes.keys)
    counted = votes.take(judged.counted(max_len)[votes.key])
    _check_groups(way, systems if way == "system" else sorted(raters), counted)
    fixed, signatures = _fixed_terms(campaign, metrics, candidates)
    places = judged.look_up(candidates, case)
    data = HeldOutPicks(tuple(systems), table, counted, places, fixed, way, campaign.scoring)
    mean = mean_scores(raters.values())
    unscored = [name for name, row in zip(systems, mean, strict=True) if np.isnan(row).all()]
    notes = []
    if elsewhere:
        notes.append(f"{elsewhere} of {len(lines)} scores are of other systems or segments")
    if unscored:
        notes.append(f"without a score, so never picked: {', '.join(unscored)}")
    notes += _advice(data, metrics)
    only_rater = votes.workers[0] if len(votes.workers) == 1 and list(raters) == votes.workers else ""
    return Evidence(data, raters, segments, signatures, notes, simulated, only_rater)


def _advice(data: HeldOutPicks, metrics: Sequence[PickMetric]) -> list[str]:
    """A warning where RYPT counts unknown constituents one half and many are unknown, tried on half of the groups."""
    for term in (term for metric in metrics for term in metric.all_terms if term.name == "rypt"):
        scoring = data.scoring_of(term)
        if (scoring.model, scoring.unknown) == ("percolation", "half"):
            whose = data.votes.origin if data.way == "system" else data.votes.worker
            places = data.places.take(data.candidates[data.candidates >= 0])
            advice = scoring_advice(Percolation(), places.observe(data.votes.counts(whose % 2 == 0)))
            if advice:
                return [f"{term.label}: {advice}"]
    return []


def _check_groups(way: str, names: Sequence[str], votes: VoteArrays) -> None:
    """Refuse judgments none of which is of a system with a list, or by a rater with scores."""
    groups, whose = (votes.origins, votes.origin) if way == "system" else (votes.workers, votes.worker)
    if set(names) & {groups[i] for i in np.unique(whose).tolist()}:
        return
    few = ", ".join(names[:5]) + (" …" if len(names) > 5 else "")
    if way == "system":
        raise RyptError(f"no judgment that counts here has one of the systems ({few}) as its origin")
    raise RyptError(f"no judgment that counts here is by one of the raters of the scores ({few})")


def _read_systems(
    campaign: Campaign, known: Collection[str]
) -> tuple[list[str], list[Candidate], NDArray[np.int64]]:
    """The systems, all candidates, and which is whose: (systems, segments), -1 for none."""
    places = {segment.id: i for i, segment in enumerate(campaign.segments)}
    systems: list[str] = []
    candidates: list[Candidate] = []
    table = np.full((len(campaign.files.nbest), len(places)), -1, np.int64)
    for row, (name, outputs) in enumerate(campaign.lists):
        path = campaign.path(name)
        system = list_system(path, known) or list_name(path)
        if system in systems:
            raise InputError(path, None, f"two lists are of the system {system}")
        systems.append(system)
        for candidate in outputs:
            if table[row, places[candidate.segment]] >= 0:
                problem = f"expected one candidate per segment, found a second of {candidate.segment}"
                raise InputError(path, None, problem)
            table[row, places[candidate.segment]] = len(candidates)
            candidates.append(candidate)
    return systems, candidates, table


def _fixed_terms(
    campaign: Campaign, metrics: Sequence[PickMetric], candidates: Sequence[Candidate]
) -> tuple[dict[str, Floats], list[str]]:
    """What each candidate scores by the terms that need no judgments, and the signatures of these scores."""
    every = {term.label: term for metric in metrics for term in metric.all_terms}
    fixed: dict[str, Floats] = {}
    signatures = []
    for label, term in sorted(every.items()):
        if term.name not in ("rypt", "human"):
            fixed[label], signature = term_scores(campaign, term, candidates, held_out=True)
            signatures.append(signature)
    return fixed, signatures


def campaign_documents(campaign: Campaign, path: PathLike | None, why: str) -> list[str]:
    """The document of each segment, from a file or from the one beside the source; ``why`` says what needs it."""
    beside = Path(campaign.path(campaign.files.source)).parent / DOCUMENTS
    if path is None and not beside.is_file():
        raise RyptError(
            f"{why} needs to know the documents: expected {DOCUMENTS} beside the campaign's source, or "
            '--documents FILE, with a line {"id", "document"} for each segment'
        )
    return read_documents(beside if path is None else path, [segment.id for segment in campaign.segments])


def read_documents(path: PathLike, segments: Sequence[str]) -> list[str]:
    """The document of each of these segments; lines of other segments are passed over."""
    documents: dict[str, str] = {}
    for number, line in read_lines(path):
        try:
            record = json.loads(line)
            segment, document = str(record["id"]), str(record["document"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise InputError(path, number, "expected an object with id and document") from None
        if documents.setdefault(segment, document) != document:
            raise InputError(path, number, f"segment {segment} is in two documents")
    missing = next((segment for segment in segments if segment not in documents), None)
    if missing is not None:
        raise InputError(path, None, f"expected the document of each segment, found none of {missing}")
    return [documents[segment] for segment in segments]


def half_of(documents: Sequence[str], half: str) -> list[bool]:
    """Which segments are in a half of the documents; both halves have nearly the same number of segments.

    The documents are dealt in a fixed random order, each to the half that has fewer segments.

    >>> half_of(["a", "a", "b", "c", "c", "c"], "first")
    [False, False, False, True, True, True]
    """
    check_option("half", half, HALVES)
    counts = Counter(documents)
    if len(counts) < 2:
        raise RyptError("expected at least two documents to make halves of, found one")
    order = sorted(counts)
    random.Random(ORDER).shuffle(order)
    sizes = dict.fromkeys(HALVES, 0)
    half_of_document = {}
    for document in order:
        half_of_document[document] = smaller = min(HALVES, key=sizes.__getitem__)
        sizes[smaller] += counts[document]
    return [half_of_document[document] == half for document in documents]
