"""``compare_by_scores``: metrics' picks judged by human scores that are held out from the judgments."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version

import numpy as np

from hits.compare.picks import DEFAULT_METRICS, AnyMetrics, read_metrics
from hits.compare.report import (
    POINTS,
    answer_line,
    answered_outcome,
    comments,
    fair_line,
    in_points,
    labels_line,
    legend,
    model_name,
    table,
)
from rypt.campaign.folder import Campaign
from rypt.campaign.settings import Scoring
from rypt.options import check_option
from rypt.picks.evidence import campaign_documents, half_of, read_evidence
from rypt.picks.metrics import PickMetric, parse_pick_metric
from rypt.picks.outcome import Outcome, PickComparison, SplitWatch, compare_picks
from rypt.signature import signature
from rypt.text import InputError, PathLike, RyptError, read_lines

COLUMNS = ("better %", "equal %", "worse %", "net, points", "95 % interval", "p")
UNITS = ("segment", "document")
CEILING = ("human", "human+0.001*chrf")
RATED_ONCE = (
    "every candidate was scored by a single rater, so nobody who judges scored a candidate that is picked from: there "
    "is no ceiling (human), and labels come from other candidates, as with --hold-out system, which uses more of them"
)


@dataclass(frozen=True, slots=True)
class HeldOutScores:
    """A file of human scores (JSONL), and how judgments are kept apart from them.

    ``way`` "system": for each of ``splits`` random divisions the judgments of ``judging`` systems (by default half of
    them) are known, and the picks are among the candidates of the others. ``way`` "rater": in each segment ``judging``
    of its raters (by default one) give the judgments and the mean score of the others decides, in all combinations (at
    most ``splits``). Systems ``judged_only`` are never picked.
    ``max_len`` takes only judgments on that frontier; ``segments`` is a file of the ids that count; ``better`` says
    whether "higher" or "lower" scores are better where the file does not. With ``controls`` the first metric is also
    tried on labels that say nothing; with ``ceiling`` (None: where raters are divided) the judging raters' own scores
    are compared, too, alone and with chrF where they are equal. ``half`` ("first", "second") counts only that half of
    the documents, ``unit`` "document" makes intervals over documents; ``documents`` is their file
    (`rypt.picks.evidence`), by default the one beside the campaign's source.
    """

    path: PathLike
    way: str = "system"
    splits: int = 200
    judging: int | None = None
    judged_only: tuple[str, ...] = ()
    max_len: int | None = None
    segments: PathLike | None = None
    better: str | None = None
    controls: bool = False
    ceiling: bool | None = None
    documents: PathLike | None = None
    half: str | None = None
    unit: str = "segment"


@dataclass(frozen=True, slots=True, repr=False)
class OutcomeReport:
    """How often each metric's pick is better, equal and worse than another's, by held-out human scores.

    ``scoring`` is how a metric ``rypt`` without options scores; ``caution`` is to be read before the numbers.
    ``only_rater`` gave all labels and all scores, where one rater did.
    """

    comparison: PickComparison
    signature: str
    signatures: list[str]
    notes: list[str]
    simulated: str = ""
    metrics: tuple[PickMetric, ...] = ()
    scoring: Scoring = field(default_factory=Scoring)
    caution: str = ""
    only_rater: str = ""

    def __repr__(self) -> str:
        nets = "; ".join(f"{o.metric} - {o.baseline}: {o.net:+.3f}" for o in self.comparison.outcomes)
        return f"OutcomeReport({nets}; {self.comparison.splits} splits)"

    def as_dict(self) -> dict[str, object]:
        compared = self.comparison
        return {
            "signature": self.signature,
            "metrics": self.signatures,
            "notes": [*filter(None, [self.caution]), *self.notes],
            "outcomes": [asdict(outcome) for outcome in compared.outcomes],
            "quality": compared.quality,
            "splits": compared.splits,
        }

    def answers(self) -> list[str]:
        """The first metric against BLEU, or against the last one, in a sentence; what labels alone gain; and what is
        left against metrics that know as much about systems.
        """
        outcomes, metrics = self.comparison.outcomes, {metric.name: metric for metric in self.metrics}
        who = "one rater" if self.only_rater else "people"
        answer = answer_line(answered_outcome(outcomes), metrics, who=who)
        return list(filter(None, [answer, labels_line(outcomes, metrics), fair_line(outcomes, metrics)]))

    def text(self, *, latex: bool = False, every: bool = True) -> str:
        """The answer in a sentence, tables of wins and of mean human scores, what the names mean, and signatures.

        Without ``every`` the table of wins has only the pairs with BLEU, if there are any.
        """
        outcomes, quality = self.comparison.outcomes, self.comparison.quality
        with_bleu = [o for o in outcomes if o.baseline == "bleu"]
        outcomes = outcomes if every or not with_bleu else with_bleu
        first = [*self.answers(), *([f"note: {self.caution}"] if self.caution else [])]
        rows = [[o.metric, o.baseline, *_cells(o)] for o in outcomes]
        scores = [[name, f"{value:.3f}"] for name, value in quality.items()]
        names = dict.fromkeys((*(outcome.metric for outcome in outcomes), *quality))
        parts = [
            comments(first, latex),
            table(rows, ["picks of", "against", *COLUMNS], latex),
            comments([POINTS, *legend(self.metrics, self.scoring, names)], latex),
            table(scores, ["picks of", "human score, higher is better"], latex),
            comments([*self.notes, self.signature, *self.signatures], latex),
        ]
        return "\n\n".join(parts)

    def plot(self, path: PathLike) -> None:
        """Draw the net wins with their intervals (.svg, .png, .pdf)."""
        from hits.compare.plot import plot_outcomes

        plot_outcomes(path, self.comparison, note=self.simulated)


def _cells(o: Outcome) -> list[str]:
    shares = [f"{100 * share:.1f}" for share in (o.wins, o.equal, o.losses)]
    interval = f"[{in_points(o.low)}, {in_points(o.high)}]"
    return [*shares, in_points(o.net), interval, f"{o.p:.3f}" if o.p >= 0.001 else "<0.001"]


def compare_by_scores(
    campaign: Campaign | PathLike,
    scores: HeldOutScores,
    metrics: AnyMetrics = DEFAULT_METRICS,
    *,
    seed: int = 1,
    watch: SplitWatch = lambda splits: splits,
) -> OutcomeReport:
    """Compare each metric's picks with those of the metrics after it; lists of the campaign are systems' outputs."""
    chosen = read_metrics(metrics)
    check_option("unit", scores.unit, UNITS)
    campaign = campaign if isinstance(campaign, Campaign) else Campaign.open(campaign)
    ceiling = _ceiling(campaign, scores, chosen)
    evidence = read_evidence(
        campaign,
        scores.path,
        [*chosen, *ceiling],
        way=scores.way,
        max_len=scores.max_len,
        better=scores.better,
    )
    splits, split_notes = evidence.splits(
        scores.splits, seed, judging=scores.judging, judged_only=scores.judged_only
    )
    caution = ""
    if scores.way == "rater" and evidence.rated_once(scores.judged_only):
        asked = "ceiling" if scores.ceiling else next((m.name for m in chosen if m.uses("human")), None)
        if asked is not None:
            raise RyptError(f"{asked} cannot be had here: {RATED_ONCE}")
        ceiling, caution = [], RATED_ONCE
    documents: list[str] = []
    if scores.half is not None or scores.unit == "document":
        why = "--half" if scores.half is not None else "--unit document"
        documents = campaign_documents(campaign, scores.documents, why)
    counted = np.ones(len(evidence.segments), np.bool_)
    if scores.segments is not None:
        counted &= np.isin(evidence.segments, _read_ids(scores.segments, evidence.segments))
    if scores.half is not None:
        counted &= np.array(half_of(documents, scores.half), np.bool_)
    comparison = compare_picks(
        evidence.data,
        chosen,
        splits,
        segments=counted,
        units=documents if scores.unit == "document" else None,
        controls=scores.controls,
        ceiling=ceiling,
        seed=seed,
        watch=watch,
    )
    notes = [*evidence.notes, *split_notes, *filter(None, [evidence.simulated])]
    if evidence.only_rater:
        notes.append(
            f"one rater ({evidence.only_rater}) gave all labels and all scores, so the same person decides"
        )
    if scores.segments is not None or scores.half is not None:
        count = f"{int(counted.sum())} of {len(counted)} segments"
        notes.append(f"only {count} are counted, those that were asked for")
    return OutcomeReport(
        comparison,
        _signature(campaign, scores, comparison, [*chosen, *ceiling], seed),
        evidence.signatures,
        notes,
        evidence.simulated,
        (*chosen, *ceiling),
        campaign.scoring,
        caution,
        evidence.only_rater,
    )


def _ceiling(campaign: Campaign, scores: HeldOutScores, metrics: Sequence[PickMetric]) -> list[PickMetric]:
    """What the judging raters' own scores would pick, where it is asked for and not among the metrics already."""
    if not (scores.way == "rater" if scores.ceiling is None else scores.ceiling):
        return []
    names = CEILING if campaign.references else CEILING[:1]
    return [parse_pick_metric(name) for name in names if name not in {metric.name for metric in metrics}]


def _signature(
    campaign: Campaign,
    scores: HeldOutScores,
    comparison: PickComparison,
    metrics: Sequence[PickMetric],
    seed: int,
) -> str:
    scoring = campaign.scoring
    models = [model_name(term, scoring) for m in metrics for term in m.all_terms if term.name == "rypt"]
    return signature(
        "compare",
        **{"hold-out": scores.way},
        splits=comparison.splits,
        judging=scores.judging or (1 if scores.way == "rater" else "half"),
        judged_only=",".join(sorted(scores.judged_only)) or None,
        max_len=scores.max_len or "all",
        half=scores.half,
        unit=scores.unit if scores.unit != "segment" else None,
        segments=comparison.outcomes[0].segments,
        rypt=",".join(dict.fromkeys(models)) or None,
        ties=scoring.ties,
        seed=seed,
        v=version("rypt"),
    )


def _read_ids(path: PathLike, known: Sequence[str]) -> list[str]:
    ids, segments = [], set(known)
    for number, line in read_lines(path):
        if line.strip() not in segments:
            raise InputError(path, number, f"expected the id of a segment of this campaign, found {line!r}")
        ids.append(line.strip())
    return ids
