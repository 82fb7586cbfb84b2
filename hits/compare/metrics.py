"""``compare_metrics``: the candidates that metrics pick, where they differ, and which people prefer."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from itertools import combinations

from hits.batch.make import MadeBatch, make_batch
from hits.batch.options import BatchOptions
from hits.compare.page import PageFacts, write_picks_page
from hits.compare.picks import Disagreement, Picks, disagreements, texts_of
from hits.compare.plot import plot_preferences
from hits.compare.preferences import Preferences, read_preferences
from hits.compare.tables import beside, preference_line, preference_tables
from hits.compare.words import legend
from hits.payment import MIN_WAGE
from hits.records import Kind
from hits.results.opening import open_results
from rypt.campaign.folder import Campaign
from rypt.campaign.settings import Scoring
from rypt.picks.choose import Chooser
from rypt.picks.metrics import PickMetric, parse_pick_metric, parse_pick_metrics
from rypt.scoring.scorer import Scorer
from rypt.text import PathLike, RyptError

AnyMetrics = str | Sequence[str | PickMetric]  # "rypt,bleu", or one by one
DEFAULT_METRICS = "rypt,bleu"
DEFAULT_OPTIONS = BatchOptions()


@dataclass(frozen=True, slots=True, repr=False)
class Disagreements:
    """The segments for which two metrics pick different texts; ``same`` counts the others.

    ``scorer`` knows which words people rejected (`hits.compare.picks.rejected_words`); ``simulated`` says how many of
    the judgments no person gave, where some are so.
    """

    facts: PageFacts
    segments: list[Disagreement]
    scorer: Scorer
    simulated: str = ""
    scoring: Scoring = field(default_factory=Scoring)

    @property
    def summary(self) -> str:
        """How many segments have different picks."""
        return f"{len(self.segments)} segments with different picks, {self.facts.same} with the same"

    def __repr__(self) -> str:
        return f"Disagreements({self.facts.first} against {self.facts.second}: {self.summary})"

    def write(self, path: PathLike, limit: int | None = None) -> None:
        """Write a page (.html) with both picks of each segment side by side, or of the first ``limit`` segments."""
        write_picks_page(path, self.facts, self.segments[:limit], self.scorer)


@dataclass(frozen=True, slots=True, repr=False)
class PreferenceReport:
    """What people preferred of the picks of metrics, two by two.

    Each pair has one or two `Preferences`: of those who saw the reference and of those who did not.
    """

    pairs: list[list[Preferences]]
    signature: str
    signatures: Mapping[str, str]
    simulated: str = ""
    seed: int = 1
    scoring: Scoring = field(default_factory=Scoring)

    @property
    def preferences(self) -> list[Preferences]:
        """Those of all pairs."""
        return [preferences for pair in self.pairs for preferences in pair]

    def __repr__(self) -> str:
        judged = "; ".join(f"{p.title}: {sum(p.judgments)} judgments" for p in self.preferences)
        return f"PreferenceReport({judged})"

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return {
            "signature": self.signature,
            "signatures": dict(self.signatures),
            "notes": [self.simulated] if self.simulated else [],
            "preferences": [preferences.as_dict(self.seed) for preferences in self.preferences],
        }

    def text(self, *, latex: bool = False) -> str:
        """Of each pair the answer in a sentence and the paper's Tables 1 and 2, then what the metrics are."""
        parts = []
        for pair in self.pairs:
            parts += [preference_line(preferences, self.seed, latex=latex) for preferences in pair]
            parts.append(preference_tables(pair, latex=latex))
        names = dict.fromkeys(name for p in self.preferences for name in (p.first, p.second))
        parts.append(beside(legend(map(parse_pick_metric, names), self.scoring), latex=latex))
        labels = [f"the labels behind the picks are {self.simulated}"] if self.simulated else []
        return "\n\n".join(
            [*parts, beside([*labels, self.signature, *self.signatures.values()], latex=latex)]
        )

    def plot(self, path: PathLike) -> None:
        """Draw the judgments and the segments' votes (.svg, .png, .pdf)."""
        plot_preferences(path, self.preferences)


@dataclass(frozen=True, slots=True, repr=False)
class MetricComparison:
    """The picks of several metrics among a campaign's candidates, by the metrics' names."""

    campaign: Campaign
    picks: Mapping[str, Picks]
    chooser: Chooser
    judged_only: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"MetricComparison({', '.join(self.picks)}; {len(self.campaign.segments)} segments)"

    def disagreements(self) -> Disagreements:
        """Where the first two metrics pick different texts."""
        first, second = list(self.picks)[:2]
        segments = disagreements(self.campaign, self.picks[first], self.picks[second])
        same = len(self.picks[first].keys() & self.picks[second].keys()) - len(segments)
        with self.campaign.database() as db:
            simulated = db.simulated_note()
        languages = self.campaign.settings.languages
        facts = PageFacts(
            first,
            second,
            same,
            len(segments),
            languages.source or "",
            languages.target or "",
            [simulated] if simulated else [],
            list(self.chooser.signatures.values()),
        )
        scorer = self.chooser.scorer({"unknown": "half"})
        return Disagreements(facts, segments, scorer, simulated, self.campaign.scoring)

    def ask(self, folder: PathLike | None = None, *, options: BatchOptions = DEFAULT_OPTIONS) -> MadeBatch:
        """Make a batch that asks people which of two picks is better; picks of the same text are left out.

        Segments with a pick that no metric decided are left out: several candidates are tied at the top, or RYPT has no
        label of the segment to choose by. A note says how many.
        """
        tied, unlabelled = self._undecided()
        picks = {
            name: {segment: pick for segment, pick in picks.items() if segment not in tied | unlabelled}
            for name, picks in self.picks.items()
        }
        why = f"{len(tied)} by a tie, {len(unlabelled)} for lack of labels"
        if not all(picks.values()):
            raise RyptError(
                f"{self.campaign.folder}: the picks of all segments are undecided, {why}: nothing to ask"
            )
        options = replace(
            options,
            kind=Kind.COMPARISON,
            outputs={name: texts_of(chosen) for name, chosen in picks.items()},
            wage=MIN_WAGE if options.wage is None else options.wage,
        )
        record = {"judged_only": list(self.judged_only)} if self.judged_only else {}
        made = make_batch(self.campaign, folder, options, record=record)
        if not tied and not unlabelled:
            return made
        note = f"{len(tied | unlabelled)} segments are left out, whose picks are undecided: {why}"
        return replace(made, notes=(*made.notes, note))

    def _undecided(self) -> tuple[set[str], set[str]]:
        """Segments in which several candidates are tied at the top, and those that RYPT chooses in without a label."""
        tied = {segment for picks in self.picks.values() for segment, pick in picks.items() if pick.tied > 1}
        if not any(parse_pick_metric(name).uses("rypt") for name in self.picks):
            return tied, set()
        with self.campaign.database() as db:
            labelled = {votes.segment for votes in db.votes()}
        every = {segment for picks in self.picks.values() for segment in picks}
        return tied, every - labelled - tied

    def preferences(self, *, seed: int = 1) -> PreferenceReport:
        """What people preferred, by their answers in the campaign's database; the seed is of the intervals."""
        with open_results(self.campaign) as results:
            texts = {name: texts_of(picks) for name, picks in self.picks.items()}
            pairs = [
                read_preferences(results, a, b, (texts[a], texts[b])) for a, b in combinations(self.picks, 2)
            ]
            simulated = results.db.simulated_note()
        answered = [
            judged
            for pair in pairs
            if (judged := [preferences for preferences in pair if preferences.segments])
        ]
        if not answered:
            raise RyptError(f"{self.campaign.folder}: {self._why_nothing(pairs)}")
        judgments = sum(sum(preferences.judgments) for pair in answered for preferences in pair)
        names = ",".join(self.picks)
        signature = (
            f"compare|preferences|metrics:{names}|judgments:{judgments}|seed:{seed}|v:{version('rypt')}"
        )
        return PreferenceReport(
            answered, signature, dict(self.chooser.signatures), simulated, seed, self.campaign.scoring
        )

    def _why_nothing(self, pairs: Sequence[Sequence[Preferences]]) -> str:
        first, second = list(self.picks)[:2]
        differ = len(disagreements(self.campaign, self.picks[first], self.picks[second]))
        earlier = sum(preferences.stale for pair in pairs for preferences in pair)
        stale = f"; {earlier} judgments are about earlier picks" if earlier else ""
        return (
            f"nobody has compared these picks yet ({first} and {second} differ on {differ} segments{stale}); "
            "--batch FOLDER makes a batch that asks, --scores FILE judges by human scores, --show lists them"
        )


def compare_metrics(
    campaign: Campaign | PathLike,
    metrics: AnyMetrics = DEFAULT_METRICS,
    *,
    tokenize: str = "13a",
    judged_only: Collection[str] = (),
) -> MetricComparison:
    """Rank every segment's candidates by each metric and keep the first of each.

    ``metrics`` are separated by commas (docs/metrics.md); ``tokenize`` is BLEU's tokenizer where a metric names none.
    The lists of the systems in ``judged_only``, a reference's, say, are not picked from.
    """
    chosen = read_metrics(metrics)
    campaign = campaign if isinstance(campaign, Campaign) else Campaign.open(campaign)
    chooser = Chooser(campaign, tokenize=tokenize, judged_only=judged_only)
    picks = {metric.name: chooser.picks(metric) for metric in chosen}
    return MetricComparison(campaign, picks, chooser, tuple(judged_only))


def read_metrics(metrics: AnyMetrics) -> list[PickMetric]:
    """At least two different metrics, as they are written."""
    if isinstance(metrics, str):
        chosen = parse_pick_metrics(metrics)
    else:
        chosen = [parse_pick_metric(metric) if isinstance(metric, str) else metric for metric in metrics]
    names = [metric.name for metric in chosen]
    if len(set(names)) < max(2, len(names)):
        raise RyptError(f"expected at least two different metrics, found {', '.join(names)}")
    return chosen
