"""Picks of metrics judged by human scores that the metrics have not seen.

For each of many random splits, some systems' judgments are known and the picks are made among the *other* systems'
candidates; or, in each segment, some raters give the judgments and the others the scores. How systems and raters are
divided is in `rypt.picks.splits`. Leaving out one candidate's own judgments instead is biased: it takes the NOs away
from exactly the bad candidates.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Floats, Ints
from rypt.campaign.scoring import ScoringChoices
from rypt.campaign.settings import Scoring
from rypt.database.votes import VoteArrays
from rypt.metrics.expression import Term
from rypt.picks.metrics import HUMAN_ELSEWHERE, PickMetric
from rypt.picks.splits import PickSplit
from rypt.scoring.learning import held_out
from rypt.scoring.models import CalibratedTable, LabelModel, Percolation, SeverityModel
from rypt.scoring.observations import Places
from rypt.scoring.scorer import ALIKE
from rypt.text import RyptError

CONTROLS = ("coverage", "permuted")
FOLDS = 10
WAYS = ("system", "rater")
Fold = tuple[NDArray[np.bool_], Ints]  # votes that are held out, and the candidates whose labels they give


@dataclass(frozen=True)
class HeldOutPicks:
    """Candidates of systems with votes, which are held out by ``way``: system or rater.

    ``candidates[s, i]`` is the index, among those of ``places``, of system s's candidate for segment i, -1 for none.
    ``votes`` are those that count, on the keys that were looked up in ``places``. ``fixed`` holds for each candidate the
    terms that need no judgments (bleu, chrf, model …), by their labels. ``scoring`` is how RYPT scores where a term has
    no options.
    """

    systems: tuple[str, ...]
    candidates: NDArray[np.int64]
    votes: VoteArrays
    places: Places
    fixed: Mapping[str, Floats]
    way: str = "system"
    scoring: Scoring = field(default_factory=Scoring)

    @property
    def groups(self) -> list[str]:
        """Whose votes are held out together: origins or workers, sorted."""
        return self.votes.origins if self.way == "system" else self.votes.workers

    @cached_property
    def key_segments(self) -> Ints:
        """The segment of each key."""
        index = self.places.forest.index
        return np.array([index.get(segment, -1) for segment, *_ in self.votes.keys], np.int64)

    def known_votes(self, judges: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which votes are by these judges, (groups, segments)."""
        whose = self.votes.origin if self.way == "system" else self.votes.worker
        return np.asarray(judges[whose, self.key_segments[self.votes.key]], np.bool_)

    def scoring_of(self, term: Term) -> Scoring:
        """How a term scores; another database than the held-out judgments is refused."""
        choices = ScoringChoices.from_options(term.options, self.scoring)
        if choices.database is not None:
            problem = "the judgments are those held out from the scores, so db cannot be given"
            raise RyptError(f"{term.label}: {problem}")
        names = ("model", "unknown", "ties")
        return replace(self.scoring, **{name: value for name in names if (value := getattr(choices, name))})

    def outputs(self, systems: NDArray[np.bool_]) -> Ints:
        rows = self.candidates[systems]
        return rows[rows >= 0]


class SplitPicks:
    """The picks of metrics in one split."""

    def __init__(self, data: HeldOutPicks, split: PickSplit) -> None:
        self._data, self._split = data, split
        part = data.candidates[list(split.scored)]
        self._present = part >= 0
        self._candidates = part[self._present]
        self._places = data.places.take(self._candidates)
        self._votes = data.votes.take(data.known_votes(split.judges))
        self._counts = self._votes.counts()
        self._models: dict[Scoring, LabelModel] = {}

    def chances(self, metric: PickMetric, control: str | None = None, seed: int = 0) -> Floats:
        """The chance of each candidate to be the metric's pick, (scored systems, segments).

        Those with the best score among the candidates that people scored share it evenly.
        """
        scores = self.scores(metric, control, seed)
        scores = np.where(np.isnan(self._split.quality[list(self._split.scored)]), -np.inf, scores)
        best = (scores >= scores.max(axis=0) - ALIKE) & np.isfinite(scores)
        return np.asarray(best / np.maximum(1, best.sum(axis=0)), np.float64)

    def scores(self, metric: PickMetric, control: str | None = None, seed: int = 0) -> Floats:
        """The metric of each candidate that is picked from, (scored systems, segments), -inf where there is none.

        The control ``coverage`` scores by how much is labelled, not by what the labels say; ``permuted`` gives each
        verdict to another phrase of its segment.
        """
        result = np.full(self._present.shape, -np.inf)
        systems = np.nonzero(self._present)[0].tolist()
        result[self._present] = metric.scores(lambda term: self._term(term, control, seed), systems)
        return result

    def _term(self, term: Term, control: str | None, seed: int) -> Floats:
        if term.name == "human":
            return _human_scores(self._split)[self._present]
        if term.name != "rypt":
            return self._data.fixed[term.label][self._candidates]
        scoring = self._data.scoring_of(term)
        counts = self._counts
        if control == "permuted":
            counts = permuted(counts, self._data.key_segments, np.random.default_rng(seed))
        observations = self._places.observe(counts)
        if control == "coverage":
            yes, no, _, nodes = Percolation(ties=scoring.ties).stats(observations).T
            return np.asarray((yes + no) / np.maximum(1, nodes), np.float64)
        if scoring not in self._models:
            self._models[scoring] = self._fitted(scoring)
        model = self._models[scoring]
        return model.score(model.stats(observations))

    def _fitted(self, scoring: Scoring) -> LabelModel:
        """A model, fitted to what some of the judges say where the others are known."""
        if scoring.model == "percolation":
            return Percolation(scoring.unknown, scoring.ties)
        if scoring.model == "severity":
            return SeverityModel.fit(self._data.places.judged, self._counts, scoring.ties)
        examples = (
            example
            for out, candidates in self._folds()
            for example in held_out(self._votes, self._data.places.take(candidates), [out], scoring.ties)
        )
        return CalibratedTable.fit(examples, scoring.ties)

    def _folds(self) -> Iterator[Fold]:
        """Parts of the judges' votes, each held out once; the raters who decide are in none.

        Where systems judge, the parts are systems, with their own candidates. Where several raters judge a segment, it
        is one of them in each segment. Of a single rater in each segment nobody else can be held out: there the parts
        are what the rater said of some of the systems' outputs, and the model learns how far a label is right for the
        same words elsewhere.
        """
        judges = self._split.judges
        if self._data.way == "system":
            return self._folds_of_origins(np.flatnonzero(judges.any(axis=1)))
        if judges.sum(axis=0).max(initial=0) > 1:
            return self._folds_of_raters()
        return self._folds_of_origins(np.arange(len(self._votes.origins)))

    def _folds_of_origins(self, origins: Ints) -> Iterator[Fold]:
        data = self._data
        for i in range(min(FOLDS, len(origins))):
            part = origins[i::FOLDS]
            names = {self._votes.origins[origin] for origin in part.tolist()}
            theirs = np.array([system in names for system in data.systems], np.bool_)
            if data.way == "rater" and not theirs.any():
                theirs = np.ones(len(theirs), np.bool_)
            yield np.isin(self._votes.origin, part), data.outputs(theirs)

    def _folds_of_raters(self) -> Iterator[Fold]:
        data, judges = self._data, self._split.judges
        order = np.where(judges, np.cumsum(judges, axis=0), 0)[
            self._votes.worker, data.key_segments[self._votes.key]
        ]
        for i in range(1, int(judges.sum(axis=0).max()) + 1):
            yield order == i, data.outputs(np.ones(len(data.systems), np.bool_))


def permuted(counts: Floats, segments: Ints, rng: np.random.Generator) -> Floats:
    """The same verdicts on other phrases that were judged in the same segment: a control."""
    judged = np.flatnonzero(counts[:, :3].sum(axis=1) > 0)
    shuffled = judged[np.lexsort((rng.random(len(judged)), segments[judged]))]
    ordered = judged[np.argsort(segments[judged], kind="stable")]
    result = counts.copy()
    result[ordered] = counts[shuffled]
    return result


def _human_scores(split: PickSplit) -> Floats:
    """What the judging raters say, (scored systems, segments); a candidate they did not score is below all others."""
    if split.human is None:
        raise RyptError(HUMAN_ELSEWHERE)
    scores = split.human[list(split.scored)]
    lowest = np.where(np.isnan(scores), np.inf, scores).min(axis=0)
    return np.where(np.isnan(scores), np.where(np.isfinite(lowest), lowest - 1, 0.0), scores)
