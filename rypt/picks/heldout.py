"""Picks of metrics judged by human scores that the metrics have not seen.

For each of many random splits, some systems' judgments are the database and the picks are made among the *other*
systems' candidates (or some raters give the judgments and the others the scores). Leaving out one candidate's own
judgments instead is biased: it takes the NOs away from exactly the bad candidates.

    HeldOutPicks(…)   →   picks(metric, split)   →   rypt.picks.outcome
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Codes, Floats
from rypt.campaign.settings import Scoring
from rypt.metric.calibration import concatenate
from rypt.metric.model import CalibratedTable, LabelModel, Percolation, yes_share_by_length
from rypt.metric.observations import Observations
from rypt.metric.tree_model import TreeModel
from rypt.metrics.expression import Term
from rypt.metrics.rypt import read_rypt_options
from rypt.picks.grouped import Chosen, GroupedVotes
from rypt.picks.metrics import PickMetric
from rypt.text import RyptError

CONTROLS = ("coverage", "permuted")
FOLDS = 10
ALIKE = 1e-9  # scores nearer than this are tied
WAYS = ("system", "rater")


@dataclass(frozen=True, slots=True)
class PickSplit:
    """Whose judgments are known, which systems' candidates are picked from, and what human scores say of all.

    ``quality`` (systems, segments) is higher when better, nan where there is no score.
    """

    judges: frozenset[str]
    scored: tuple[int, ...]
    quality: Floats


@dataclass(frozen=True)
class HeldOutPicks:
    """Candidates of systems with votes by group.

    ``candidates[s, i]`` is the index, among those of ``votes``, of system s's candidate for segment i, -1 for none.
    ``fixed`` holds for each candidate the terms that need no judgments (bleu, chrf, model …), by their labels.
    ``scoring`` is how RYPT scores where a term has no options; ``way`` says whether the groups of votes are systems or
    raters.
    """

    systems: tuple[str, ...]
    candidates: NDArray[np.int64]
    votes: GroupedVotes
    fixed: Mapping[str, Floats]
    scoring: Scoring = field(default_factory=Scoring)
    way: str = "system"
    _models: dict[tuple[frozenset[str], Scoring], LabelModel] = field(default_factory=dict)

    def picks(self, metric: PickMetric, split: PickSplit, control: str | None = None, seed: int = 0) -> Floats:
        """The chance of each candidate to be the metric's pick, (scored systems, segments): ties share it evenly."""
        return chances(self.scores(metric, split, control, seed), split)

    def scores(self, metric: PickMetric, split: PickSplit, control: str | None = None, seed: int = 0) -> Floats:
        """The metric of each candidate that is picked from, (scored systems, segments), -inf where there is none.

        The control ``coverage`` scores by how much is labelled, not by what the labels say; ``permuted`` gives each
        verdict to another phrase of its segment.
        """
        part = self.candidates[list(split.scored)]
        present = part >= 0
        whose = np.broadcast_to(np.arange(len(part))[:, None], part.shape)[present]
        result = np.full(part.shape, -np.inf)
        result[present] = metric.scores(
            lambda term: self._term(term, split, part[present], control, seed), whose.tolist()
        )
        return result

    def _term(self, term: Term, split: PickSplit, chosen: Chosen, control: str | None, seed: int) -> Floats:
        if term.name != "rypt":
            return self.fixed[term.label][chosen]
        scoring = self._scoring(term)
        counts = self.votes.counts(split.judges)
        if control == "permuted":
            counts = self.votes.permuted(counts, np.random.default_rng(seed))
        observations = self.votes.observe(counts, chosen)
        if control == "coverage":
            yes, no, _, nodes = Percolation(ties=scoring.ties).stats(observations).T
            return np.asarray((yes + no) / np.maximum(1, nodes), np.float64)
        model = self.model(scoring, split.judges)
        return model.score(model.stats(observations))

    def _scoring(self, term: Term) -> Scoring:
        """How a term scores; another database than the held-out judgments is refused."""
        choices = read_rypt_options(term.options, self.scoring)
        if choices.database is not None:
            raise RyptError(f"{term.label}: the judgments are those held out from the scores, so db cannot be given")
        known = self.scoring
        return replace(
            known, model=choices.model or known.model, unknown=choices.unknown or known.unknown,
            ties=choices.ties or known.ties,
        )  # fmt: skip

    def model(self, scoring: Scoring, judges: frozenset[str]) -> LabelModel:
        """A model, fitted to what each of the judging groups says where the others are the database."""
        if any(known != judges for known, _ in self._models):
            self._models.clear()  # a split is done with
        if (judges, scoring) not in self._models:
            self._models[judges, scoring] = self._fitted(scoring, judges)
        return self._models[judges, scoring]

    def _fitted(self, scoring: Scoring, judges: frozenset[str]) -> LabelModel:
        ties = scoring.ties
        if scoring.model == "percolation":
            prior = None
            if scoring.unknown in ("prior", "smoothed"):
                judged = self._candidates_of(judges)
                labels = self.votes.labels(judges, judged, ties)
                prior = yes_share_by_length(self.votes.observe(self.votes.counts(judges), judged), labels)
            return Percolation(scoring.unknown, ties, prior)
        observed, labels = self._held_out_labels(sorted(judges), ties)
        if scoring.model == "table":
            return CalibratedTable.fit(observed, labels, ties)
        return TreeModel.fit(observed, labels, ties=ties)

    def _held_out_labels(self, judges: Sequence[str], ties: str) -> tuple[Observations, Codes]:
        observed, labels = [], []
        for fold in range(min(FOLDS, len(judges))):
            out = judges[fold::FOLDS]
            judged = self._candidates_of(out)
            observed.append(self.votes.observe(self.votes.counts(set(judges) - set(out)), judged))
            labels.append(self.votes.labels(out, judged, ties))
        return concatenate(observed), np.concatenate(labels)

    def _candidates_of(self, groups: Collection[str]) -> Chosen:
        """The candidates of these systems; all candidates where the groups are raters."""
        chosen = [i for i, system in enumerate(self.systems) if self.way == "rater" or system in groups]
        rows = self.candidates[chosen]
        return rows[rows >= 0]


def chances(scores: Floats, split: PickSplit) -> Floats:
    """The chance of each candidate to be picked: those with the best score that people scored share it evenly."""
    scores = np.where(np.isnan(split.quality[list(split.scored)]), -np.inf, scores)
    best = (scores >= scores.max(axis=0) - ALIKE) & np.isfinite(scores)
    return np.asarray(best / np.maximum(1, best.sum(axis=0)), np.float64)


def split_systems(
    systems: Sequence[str], quality: Floats, count: int, rng: np.random.Generator, *,
    judging: int | None = None, judged_only: Collection[str] = (),
) -> Iterator[PickSplit]:  # fmt: skip
    """The judgments of ``judging`` random systems (by default half), and of those only judged, are the database."""
    free = [i for i, system in enumerate(systems) if system not in judged_only]
    if len(free) < 3:
        raise RyptError(f"expected at least 3 systems, one that judges and two to pick from, found {len(free)}")
    judging = min((len(free) + 1) // 2, len(free) - 2) if judging is None else judging
    if not 1 <= judging <= len(free) - 2:
        raise RyptError(f"expected 1 to {len(free) - 2} judging systems, so that two are left to pick from, of "
                        f"{len(free)}; found {judging}")  # fmt: skip
    for _ in range(count):
        order = [free[i] for i in rng.permutation(len(free))]
        judges = {systems[i] for i in order[:judging]} | set(judged_only)
        yield PickSplit(frozenset(judges), tuple(order[judging:]), quality)


def split_raters(
    raters: Mapping[str, Floats], systems: Sequence[int], count: int, rng: np.random.Generator,
    judging: int | None = None,
) -> Iterator[PickSplit]:  # fmt: skip
    """The judgments of ``judging`` random raters (by default half) are the database, the others' scores the quality.

    ``raters`` holds each rater's scores, (systems, segments), nan where there is none.
    """
    if len(systems) < 2:
        raise RyptError(f"expected at least 2 systems to pick from, found {len(systems)}")
    names = sorted(raters)
    if len(names) < 2:
        raise RyptError(
            f"expected scores by at least 2 raters, one that judges and one that scores, found {len(names)}"
        )
    judging = len(names) // 2 if judging is None else judging
    if not 1 <= judging <= len(names) - 1:
        raise RyptError(f"expected 1 to {len(names) - 1} judging raters, so that one is left, found {judging}")
    for _ in range(count):
        order = [names[i] for i in rng.permutation(len(names))]
        quality = mean_scores([raters[name] for name in order[judging:]])
        yield PickSplit(frozenset(order[:judging]), tuple(systems), quality)


def mean_scores(raters: Collection[Floats]) -> Floats:
    """The mean over raters, of those who gave a score; nan where nobody did."""
    scores = np.stack(list(raters))
    known = ~np.isnan(scores)
    total = np.where(known, scores, 0.0).sum(axis=0)
    return np.asarray(np.where(known.any(axis=0), total / np.maximum(1, known.sum(axis=0)), np.nan), np.float64)
