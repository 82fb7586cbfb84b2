"""The candidates that metrics pick, where two metrics differ, and the batch that asks people which pick is better."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from importlib.resources import files
from itertools import combinations
from pathlib import Path

from hits.batch.make import MadeBatch, first_references, make_batch
from hits.batch.markup import highlight, html_templates, text_direction
from hits.batch.options import BatchOptions
from hits.batch.systems import same_text
from hits.compare.preferences import PreferenceReport, read_preferences
from hits.compare.report import legend
from hits.records import Kind
from hits.results.answers import open_results
from rypt.campaign.folder import Campaign
from rypt.picks.metrics import Chooser, PickMetric, parse_pick_metric, parse_pick_metrics
from rypt.ratings.rated_campaign import never_picked
from rypt.records import Candidate
from rypt.scoring.percolation import NO
from rypt.scoring.phrase_keys import candidate_links
from rypt.scoring.scorer import Pick, Scorer
from rypt.signature import signature
from rypt.text import PathLike, RyptError, open_output
from rypt.texts.phrases import phrase_of

Picks = Mapping[str, Pick]  # by segment
AnyMetrics = str | Sequence[str | PickMetric]  # "rypt,bleu", or one by one
DEFAULT_METRICS = "rypt,bleu"


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A segment for which two metrics pick different texts."""

    segment: str
    source: str
    reference: str
    first: Pick
    second: Pick


@dataclass(frozen=True, slots=True, repr=False)
class Disagreements:
    """The segments for which two metrics pick different texts; ``same`` counts the others.

    ``scorer`` knows which words people rejected; ``simulated`` says how many of the judgments no person gave.
    """

    first: str
    second: str
    segments: list[Disagreement]
    same: int
    scorer: Scorer
    languages: tuple[str, str] = ("", "")  # of source and target
    simulated: str = ""
    legend: Sequence[str] = ()
    signatures: Sequence[str] = ()

    @property
    def summary(self) -> str:
        return f"{len(self.segments)} segments with different picks, {self.same} with the same"

    def __repr__(self) -> str:
        return f"Disagreements({self.first} against {self.second}: {self.summary})"

    def text(self, limit: int | None = None, mark: Callable[[str], str] = "[{}]".format) -> str:
        """Each segment with its two picks one below the other, rejected words marked, and what the metrics are."""
        width = max(len(self.first), len(self.second), len("reference"))
        blocks = []
        for d in self.segments[:limit]:
            texts = {"source": d.source, "reference": d.reference}
            for name, pick in ((self.first, d.first), (self.second, d.second)):
                wrong = rejected_words(pick.candidate, self.scorer)
                words = [mark(word) if i in wrong else word for i, word in enumerate(pick.candidate.tokens)]
                texts[name] = " ".join(words)
            lines = [f"  {name:<{width}}  {text}" for name, text in texts.items() if text]
            blocks.append("\n".join([f"segment {d.segment}", *lines, ""]))
        return "\n".join([*blocks, self.about()])

    def about(self) -> str:
        return "\n".join(filter(None, [self.summary, *self.legend, self.simulated]))

    def write(self, path: PathLike, limit: int | None = None) -> None:
        """Write a page (.html) with both picks of each segment side by side, or of the first ``limit`` segments."""

        def marked(pick: Pick) -> str:
            return highlight(pick.candidate.tokens, rejected_words(pick.candidate, self.scorer))

        write_page(path, "picks.html", marked, found=self, segments=self.segments[:limit])


def write_page(path: PathLike, template: str, marked: Callable[..., str], **values: object) -> None:
    """Write a page that needs nothing else; ``marked`` makes HTML of a text."""
    from markupsafe import Markup

    style = (files("hits.compare") / "templates" / "picks.css").read_text(encoding="utf-8")
    page = html_templates("hits.compare").get_template(template)
    with open_output(path) as stream:
        text = page.render(
            **values,
            marked=lambda *texts: Markup(marked(*texts)),
            direction=text_direction,
            style=Markup(style),
        )
        stream.write(text)


def check_page(path: PathLike) -> None:
    """Refuse a file that cannot be written to, before anything is computed."""
    if not str(path).endswith((".html", ".htm")):
        raise RyptError(f"{path}: expected a name ending in .html")
    if not Path(path).resolve().parent.is_dir():
        raise RyptError(f"{path}: its folder does not exist")


def rejected_words(candidate: Candidate, scorer: Scorer) -> set[int]:
    """The positions of the words that people rejected: those of the smallest phrases labelled NO.

    Whatever has a wrong word in it is wrong, too; that says nothing of its other words.
    """
    tree = scorer.forest.trees[scorer.forest.index[candidate.segment]]
    if tree is None:
        return set()
    states = scorer.observe([candidate]).labels(scorer.model.ties)
    links = candidate_links(candidate, tree)
    spans = [c.span for c, state in zip(tree.constituents, states.tolist(), strict=True) if state == NO]
    wrong: set[int] = set()
    for span in spans:
        inside = [o for o in spans if span.start <= o.start and o.stop <= span.stop and o != span]
        phrase = None if inside else phrase_of(span, links, candidate.tokens)
        wrong |= set(phrase.positions) if phrase else set()
    return wrong


@dataclass(frozen=True, slots=True, repr=False)
class MetricComparison:
    """The picks of several metrics among a campaign's candidates, by the metrics' names."""

    campaign: Campaign
    metrics: Sequence[PickMetric]
    picks: Mapping[str, Picks]
    chooser: Chooser

    def __repr__(self) -> str:
        return f"MetricComparison({', '.join(self.picks)}; {len(self.campaign.segments)} segments)"

    def disagreements(self) -> Disagreements:
        """The segments for which the first two metrics pick different texts, in the order of the source."""
        first, second = list(self.picks)[:2]
        references = first_references(self.campaign) or {}
        segments, same = [], 0
        for segment in self.campaign.segments:
            picks = [self.picks[name].get(segment.id) for name in (first, second)]
            if picks[0] is None or picks[1] is None:
                continue
            if same_text(picks[0].candidate.text, picks[1].candidate.text):
                same += 1
                continue
            reference = references.get(segment.id, "")
            segments.append(Disagreement(segment.id, segment.text, reference, picks[0], picks[1]))
        with self.campaign.database() as db:
            simulated = db.simulated_note()
        languages = self.campaign.settings.languages
        return Disagreements(
            first,
            second,
            segments,
            same,
            self.chooser.scorer({"unknown": "half"}),
            (languages.source or "", languages.target or ""),
            simulated,
            legend(self.metrics[:2], self.campaign.scoring),
            list(self.chooser.signatures.values()),
        )

    def ask(self, folder: PathLike | None = None, options: BatchOptions | None = None) -> MadeBatch:
        """Make a batch that asks people which of two picks is better; picks of the same text are left out.

        Segments with a pick that no metric decided are left out: several candidates are tied at the top, or RYPT has no
        label of the segment to choose by. A note counts them.
        """
        every = {segment for picks in self.picks.values() for segment in picks}
        tied = {segment for picks in self.picks.values() for segment, pick in picks.items() if pick.tied > 1}
        unlabelled = set()
        if any(metric.uses("rypt") for metric in self.metrics):
            with self.campaign.database() as db:
                unlabelled = every - tied - {votes.segment for votes in db.votes()}
        why = f"{len(tied)} by a tie, {len(unlabelled)} for lack of labels"
        left = every - tied - unlabelled
        if not left:
            raise RyptError(
                f"{self.campaign.folder}: the picks of all segments are undecided, {why}: nothing to ask"
            )
        outputs = {
            name: {segment: pick.candidate.text for segment, pick in picks.items() if segment in left}
            for name, picks in self.picks.items()
        }
        options = replace(options or BatchOptions(), kind=Kind.COMPARISON, outputs=outputs)
        made = make_batch(self.campaign, folder, options)
        if left == every:
            return made
        note = f"{len(every - left)} segments are left out, whose picks are undecided: {why}"
        return replace(made, notes=(*made.notes, note))

    def preferences(self, *, seed: int = 1) -> PreferenceReport:
        """What people preferred, by their answers in the campaign's database; the seed is of the intervals."""
        texts = {
            name: {segment: pick.candidate.text for segment, pick in picks.items()}
            for name, picks in self.picks.items()
        }
        with open_results(self.campaign) as results:
            pairs = [
                read_preferences(results, a, b, (texts[a], texts[b])) for a, b in combinations(self.picks, 2)
            ]
            simulated = results.db.simulated_note()
        answered = [judged for pair in pairs if (judged := [one for one in pair if one.segments])]
        if not answered:
            earlier = sum(preferences.stale for pair in pairs for preferences in pair)
            stale = f"; {earlier} judgments are about earlier picks" if earlier else ""
            raise RyptError(
                f"{self.campaign.folder}: no answers about these picks yet{stale}; `rypt compare picks` lists them, "
                "`rypt hits make --kind picks` makes a batch that asks, `rypt compare scores` judges by human scores"
            )
        judgments = sum(sum(preferences.judgments) for pair in answered for preferences in pair)
        metrics, v = ",".join(self.picks), version("rypt")
        mark = signature("compare|preferences", metrics=metrics, judgments=judgments, seed=seed, v=v)
        lines = legend(self.metrics, self.campaign.scoring)
        return PreferenceReport(answered, mark, dict(self.chooser.signatures), simulated, seed, lines)


def compare_metrics(campaign: Campaign | PathLike, metrics: AnyMetrics = DEFAULT_METRICS) -> MetricComparison:
    """Rank every segment's candidates by each metric and keep the first of each.

    ``metrics`` are separated by commas (docs/metrics.md). The human translations of a campaign that was made of ratings
    are not picked from.
    """
    chosen = read_metrics(metrics)
    campaign = campaign if isinstance(campaign, Campaign) else Campaign.open(campaign)
    chooser = Chooser(campaign, judged_only=never_picked(campaign.folder))
    picks = {metric.name: chooser.picks(metric) for metric in chosen}
    return MetricComparison(campaign, chosen, picks, chooser)


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
