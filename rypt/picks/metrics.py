"""What candidates of a segment are ranked by, a metric or a weighted sum of several; and what it puts first.

    rypt                         RYPT as the campaign scores it
    rypt:ignore                  percolation, with constituents without a label left out
    rypt:table+0.2*chrf          calibrated RYPT, with chrF as a prior where labels are silent
    rypt:tree+0.2*chrf+2*system  … and twice the mean of the rest over all candidates of the same system
    bleu+2*system(rypt:tree)     BLEU, and twice the mean of another metric over all candidates of the same system
    human+0.001*chrf             what the judging raters' own scores say, with chrF where they are equal

The language is that of `rypt.metrics.expression`, and any metric can be named. Here it scores single candidates
(`rypt.metrics.metric.single_scores`): all terms run from 0 to 1, higher is better, but for ``model``, the decoder's own
score, ``human``, the mean score by the raters who judge (only where other raters are held out), and ``system``, a mean
over the candidates of a system: of the other terms together, or of the metric in parentheses. A metric that is better
when lower is turned round, so its weight counts alike whether it is written with a minus, as for tuning, or without.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Floats
from rypt.campaign.folder import Campaign
from rypt.campaign.scoring import ScoringChoices, campaign_scorer
from rypt.campaign.settings import Scoring
from rypt.metrics.expression import PICK_TERMS, Term, parse_spec, split_specs
from rypt.metrics.metric import Resources, check_metric_name, make_metric, single_scores
from rypt.records import Candidate
from rypt.scoring.scorer import Pick, Scorer, best_picks
from rypt.text import RyptError
from rypt.texts.lists import References, lists_without

HUMAN_ELSEWHERE = "the term human is the judging raters' own score: it is for --scores with --hold-out rater"


@dataclass(frozen=True, slots=True)
class PickMetric:
    """A sum of terms; ``name`` is how it was written, ``system`` the weight of the term of that name.

    ``means`` are the terms ``system(METRIC)``: a weight, and the metric whose mean over a system's candidates counts.
    """

    name: str
    terms: tuple[Term, ...]
    system: float = 0.0
    means: tuple[tuple[float, "PickMetric"], ...] = ()

    @property
    def all_terms(self) -> tuple[Term, ...]:
        return (*self.terms, *(term for _, metric in self.means for term in metric.terms))

    def uses(self, name: str) -> bool:
        return any(term.name == name for term in self.all_terms)

    def scores(self, score: Callable[[Term], Floats], systems: Sequence[int] | None = None) -> Floats:
        """The sum for each candidate; ``score`` gives one term, ``systems`` says whose each candidate is."""
        total = np.asarray(sum(abs(term.weight) * score(term) for term in self.terms), np.float64)
        if not self.system and not self.means:
            return total
        if systems is None:
            raise RyptError(f"{self.name}: candidates here have no systems, so the term system means nothing")
        whose = np.asarray(systems)
        parts = [weight * _means(metric.scores(score), whose) for weight, metric in self.means]
        if self.system:
            parts.append(self.system * _means(total, whose))
        return np.asarray(total + sum(parts), np.float64)


def _means(scores: Floats, whose: NDArray[np.int64]) -> Floats:
    means = np.bincount(whose, scores) / np.maximum(1, np.bincount(whose))
    return np.asarray(means[whose], np.float64)


def parse_pick_metrics(text: str) -> list[PickMetric]:
    """Read metrics that are separated by commas.

    >>> [metric.name for metric in parse_pick_metrics("rypt, bleu(tokenize=none,lowercase=true)")]
    ['rypt', 'bleu(tokenize=none,lowercase=true)']
    """
    return [parse_pick_metric(spec) for spec in split_specs(text)]


def parse_pick_metric(text: str) -> PickMetric:
    """Read a metric as people write it; names that nobody offers are refused at once.

    >>> metric = parse_pick_metric("rypt:table + 0.2*chrf + 2*system")
    >>> metric.name, [term.label for term in metric.terms], metric.system
    ('rypt:table+0.2*chrf+2*system', ['rypt:table', 'chrf'], 2.0)
    >>> parse_pick_metric("bleu+2*system(rypt:severity)").means[0][1].name
    'rypt:severity'
    """
    terms: list[Term] = []
    means: list[tuple[float, PickMetric]] = []
    system = 0.0
    for term in parse_spec(text):
        check_metric_name(term.name, PICK_TERMS)
        if term.name == "system" and set(term.options) - {"of"}:
            example = "a metric in parentheses, such as system(rypt:severity)"
            raise RyptError(f"the metric {text!r}: expected {example}")
        if term.name in ("model", "human") and term.options:
            raise RyptError(f"the metric {text!r}: the term {term.name} has no options")
        if term.name == "rypt":
            ScoringChoices.from_options(term.options, Scoring())
        if term.name in ("rypt", *PICK_TERMS):
            _check_weight(term, text)
        if term.name == "system" and term.options:
            metric = parse_pick_metric(term.options["of"])
            if metric.system or metric.means:
                raise RyptError(f"the metric {text!r}: expected a metric without system in {term.label}")
            means.append((term.weight, metric))
        elif term.name == "system":
            system += term.weight
        else:
            terms.append(term)
    if not terms and (system or not means):
        raise RyptError(f"the metric {text!r}: expected a metric such as rypt or bleu besides system")
    return PickMetric(text.replace(" ", ""), tuple(terms), system, tuple(means))


def _check_weight(term: Term, text: str) -> None:
    if term.weight < 0:
        write = f"{-term.weight:g}*{term.label}"
        raise RyptError(f"the metric {text!r}: {term.label} is better when higher: write {write}")


def term_scores(
    campaign: Campaign, term: Term, candidates: Sequence[Candidate], *, held_out: bool = False
) -> tuple[Floats, str]:
    """The score of each candidate by a term that needs no judgments, higher is better, and their signature.

    A metric may read the campaign's folder, too, unless the judgments are ``held_out``.
    """
    if term.name == "human":
        raise RyptError(HUMAN_ELSEWHERE)
    if term.name == "model":
        if missing := next((c for c in candidates if c.score is None), None):
            raise RyptError(
                "the term model needs the decoder's score, the field score of a list; a candidate of segment "
                f"{missing.segment} has none"
            )
        return np.array([c.score for c in candidates], np.float64), "model"
    references = None
    if campaign.references:
        references = References(campaign.references, segments=[s.id for s in campaign.segments])
    resources = Resources(
        references,
        None if held_out else campaign.folder,
        references_from="references, and the campaign names none: give `rypt init` --references, or name "
        "them in rypt.toml ([files] references)",
        campaign_from="the campaign's folder, which it does not get where judgments are held out",
        sources=lambda: {segment.id: segment.text for segment in campaign.segments},
        lists=lambda: ((c.segment, c.text) for _, listed in campaign.lists for c in listed),
    )
    options = {"tokenize": "13a", **term.options} if term.name == "bleu" else term.options
    metric = make_metric(Term(term.weight, term.name, options), resources)
    if metric.maximize:
        _check_weight(term, term.label)
    return single_scores(metric, candidates)


class Chooser:
    """Picks by any metric among a campaign's candidates; each term is scored once.

    ``signatures`` has one for each term that was used, by the term's label.
    """

    def __init__(self, campaign: Campaign, *, judged_only: Collection[str] = ()) -> None:
        """The lists of ``judged_only``, a reference's, say, are not picked from."""
        self.campaign = campaign
        self.candidates = campaign.candidates
        if judged_only:
            with campaign.database() as db:
                lists = lists_without(campaign.lists, judged_only, set(db.origins()))
            pickable = {(c.segment, c.text, c.alignment) for _, candidates in lists for c in candidates}
            self.candidates = [c for c in self.candidates if (c.segment, c.text, c.alignment) in pickable]
        self.signatures: dict[str, str] = {}
        self._scores: dict[str, Floats] = {}

    def picks(self, metric: PickMetric) -> dict[str, Pick]:
        """For each segment that has candidates the pick; ties go to the higher model score, then to the first."""
        return best_picks(metric.scores(self._term), self.candidates)

    def scorer(self, options: Mapping[str, str]) -> Scorer:
        """RYPT with the options of a term; what they leave out is as the campaign's settings say."""
        return campaign_scorer(self.campaign, ScoringChoices.from_options(options, self.campaign.scoring))

    def _term(self, term: Term) -> Floats:
        if term.label not in self._scores:
            if term.name == "rypt":
                scorer = self.scorer(term.options)
                scores, signature = scorer.score(scorer.stats(self.candidates)), scorer.signature
            else:
                scores, signature = term_scores(self.campaign, term, self.candidates)
            self._scores[term.label], self.signatures[term.label] = scores, signature
        return self._scores[term.label]
