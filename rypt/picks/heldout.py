"""Picks of metrics judged by human scores that the metrics have not seen.

For each of many random splits, some systems' judgments are the database and the picks are made among the *other*
systems' candidates; or, in each segment, some raters give the judgments and the others the scores. How systems and
raters are divided is in `rypt.picks.splits`. Leaving out one candidate's own judgments instead is biased: it takes the
NOs away from exactly the bad candidates.

    HeldOutPicks(…)   →   picks(metric, split)   →   rypt.picks.outcome
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Codes, Floats
from rypt.campaign.scoring import ScoringChoices
from rypt.campaign.settings import Scoring
from rypt.metrics.expression import Term
from rypt.picks.grouped import Chosen, GroupedVotes, Judges, SegmentJudges
from rypt.picks.metrics import HUMAN_ELSEWHERE, PickMetric
from rypt.scoring.models import CalibratedTable, LabelModel, Percolation, SeverityModel
from rypt.scoring.observations import Observations
from rypt.text import RyptError

CONTROLS = ("coverage", "permuted")
FOLDS = 10
ALIKE = 1e-9  # scores nearer than this are tied
WAYS = ("system", "rater")


@dataclass(frozen=True, slots=True)
class PickSplit:
    """Whose judgments are known, which systems' candidates are picked from, and what human scores say of all.

    ``quality`` (systems, segments) is higher when better, nan where there is no score; so is ``human``, the mean score
    by the judging raters themselves, where raters are divided.
    """

    judges: frozenset[str] | SegmentJudges
    scored: tuple[int, ...]
    quality: Floats
    human: Floats | None = None


@dataclass(frozen=True)
class HeldOutPicks:
    """Candidates of systems with votes by group.

    ``candidates[s, i]`` is the index, among those of ``votes``, of system s's candidate for segment i, -1 for none.
    ``fixed`` holds for each candidate the terms that need no judgments (bleu, chrf, model …), by their labels.
    ``scoring`` is how RYPT scores where a term has no options.
    """

    systems: tuple[str, ...]
    candidates: NDArray[np.int64]
    votes: GroupedVotes
    fixed: Mapping[str, Floats]
    scoring: Scoring = field(default_factory=Scoring)
    _models: dict[tuple[frozenset[str] | SegmentJudges, Scoring], LabelModel] = field(default_factory=dict)

    def picks(
        self, metric: PickMetric, split: PickSplit, control: str | None = None, seed: int = 0
    ) -> Floats:
        """The chance of each candidate to be the metric's pick, (scored systems, segments): ties share it evenly."""
        return chances(self.scores(metric, split, control, seed), split)

    def scores(
        self, metric: PickMetric, split: PickSplit, control: str | None = None, seed: int = 0
    ) -> Floats:
        """The metric of each candidate that is picked from, (scored systems, segments), -inf where there is none.

        The control ``coverage`` scores by how much is labelled, not by what the labels say; ``permuted`` gives each
        verdict to another phrase of its segment.
        """
        part = self.candidates[list(split.scored)]
        present = part >= 0
        whose = np.broadcast_to(np.arange(len(part))[:, None], part.shape)[present]
        result = np.full(part.shape, -np.inf)
        result[present] = metric.scores(
            lambda term: (
                _human_scores(split)[present]
                if term.name == "human"
                else self._term(term, split, part[present], control, seed)
            ),
            whose.tolist(),
        )
        return result

    def _term(self, term: Term, split: PickSplit, chosen: Chosen, control: str | None, seed: int) -> Floats:
        if term.name != "rypt":
            return self.fixed[term.label][chosen]
        scoring = self.scoring_of(term)
        counts = self.votes.counts(split.judges)
        if control == "permuted":
            counts = self.votes.permuted(counts, np.random.default_rng(seed))
        observations = self.votes.observe(counts, chosen)
        if control == "coverage":
            yes, no, _, nodes = Percolation(ties=scoring.ties).stats(observations).T
            return np.asarray((yes + no) / np.maximum(1, nodes), np.float64)
        model = self.model(scoring, split.judges)
        return model.score(model.stats(observations))

    def scoring_of(self, term: Term) -> Scoring:
        """How a term scores; another database than the held-out judgments is refused."""
        choices = ScoringChoices.from_options(term.options, self.scoring)
        if choices.database is not None:
            raise RyptError(
                f"{term.label}: the judgments are those held out from the scores, so db cannot be given"
            )
        known = self.scoring
        return replace(
            known,
            model=choices.model or known.model,
            unknown=choices.unknown or known.unknown,
            ties=choices.ties or known.ties,
        )

    def model(self, scoring: Scoring, judges: frozenset[str] | SegmentJudges) -> LabelModel:
        """A model, fitted to what some of the judging groups say where the others are the database."""
        if any(known != judges for known, _ in self._models):
            self._models.clear()  # a split is done with
        if (judges, scoring) not in self._models:
            self._models[judges, scoring] = self._fitted(scoring, judges)
        return self._models[judges, scoring]

    def _fitted(self, scoring: Scoring, judges: frozenset[str] | SegmentJudges) -> LabelModel:
        ties = scoring.ties
        if scoring.model == "percolation":
            return Percolation(scoring.unknown, ties)
        if scoring.model == "severity":
            return SeverityModel.fit(self.votes.judged, self.votes.counts(judges), ties)
        return CalibratedTable.fit(self._held_out_labels(judges, ties), ties)

    def _held_out_labels(
        self, judges: frozenset[str] | SegmentJudges, ties: str
    ) -> Iterator[tuple[Observations, Codes]]:
        """What a part of the judgments says of candidates, and what the rest, which they were held out from, knows."""
        for fold in self._folds(judges):
            labels = self.votes.labels(fold.out, fold.candidates, ties, origins=fold.out_origins)
            yield self.votes.observe(self.votes.counts(fold.judges, fold.origins), fold.candidates), labels

    def _folds(self, judges: frozenset[str] | SegmentJudges) -> Iterator["_Fold"]:
        """Parts of the judging groups' votes, each held out once.

        Where systems judge, the parts are systems; where several raters judge a segment, one of them in each segment.
        Of a single rater in each segment nobody else can be held out: there the parts are what the rater said of some
        of the origins (systems' outputs), and the model learns how far a label holds for the same words elsewhere.
        The raters who decide are in none of it.
        """
        if not isinstance(judges, SegmentJudges):
            names = sorted(judges)
            for part in (frozenset(names[i::FOLDS]) for i in range(min(FOLDS, len(names)))):
                yield _Fold(judges - part, part, self._candidates_of(part))
        elif (raters := max(map(len, judges.names), default=0)) > 1:
            for i in range(raters):
                out = SegmentJudges(tuple(frozenset(sorted(names)[i : i + 1]) for names in judges.names))
                yield _Fold(judges.without(out), out, self._candidates_of(judges))
        else:
            origins = self.votes.origins
            for held in (frozenset(origins[i::FOLDS]) for i in range(min(FOLDS, len(origins)))):
                candidates = self._candidates_of(held if held & set(self.systems) else judges)
                yield _Fold(judges, judges, candidates, frozenset(origins) - held, held)

    def _candidates_of(self, groups: Judges) -> Chosen:
        """The candidates of these systems; all candidates where the groups are raters."""
        chosen = self.systems if isinstance(groups, SegmentJudges) else groups
        rows = self.candidates[[i for i, system in enumerate(self.systems) if system in chosen]]
        return rows[rows >= 0]


@dataclass(frozen=True, slots=True)
class _Fold:
    """Votes that are known, votes that are held out, and the candidates that both are looked up in."""

    judges: frozenset[str] | SegmentJudges
    out: frozenset[str] | SegmentJudges
    candidates: Chosen
    origins: frozenset[str] | None = None
    out_origins: frozenset[str] | None = None


def _human_scores(split: PickSplit) -> Floats:
    """What the judging raters say, (scored systems, segments); a candidate they did not score is below all others."""
    if split.human is None:
        raise RyptError(HUMAN_ELSEWHERE)
    scores = split.human[list(split.scored)]
    lowest = np.where(np.isnan(scores), np.inf, scores).min(axis=0)
    return np.where(np.isnan(scores), np.where(np.isfinite(lowest), lowest - 1, 0.0), scores)


def chances(scores: Floats, split: PickSplit) -> Floats:
    """The chance of each candidate to be picked: those with the best score that people scored share it evenly."""
    scores = np.where(np.isnan(split.quality[list(split.scored)]), -np.inf, scores)
    best = (scores >= scores.max(axis=0) - ALIKE) & np.isfinite(scores)
    return np.asarray(best / np.maximum(1, best.sum(axis=0)), np.float64)
