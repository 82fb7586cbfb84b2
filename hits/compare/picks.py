"""The candidates that metrics pick, where two metrics differ, and the batch that asks people which pick is better."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
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
from hits.compare.words import legend
from hits.payment import MIN_WAGE
from hits.records import Kind
from hits.results.answers import open_results
from rypt.campaign.folder import Campaign
from rypt.picks.choose import Chooser
from rypt.picks.metrics import PickMetric, parse_pick_metric, parse_pick_metrics
from rypt.records import Candidate
from rypt.scoring.percolation import NO
from rypt.scoring.phrase_keys import candidate_links
from rypt.scoring.scorer import Pick, Scorer
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


def _different(campaign: Campaign, first: Picks, second: Picks) -> Iterator[Disagreement]:
    """The segments where two metrics pick different texts, in the order of the source."""
    references = first_references(campaign) or {}
    for segment in campaign.segments:
        if segment.id in first and segment.id in second:
            a, b = first[segment.id], second[segment.id]
            if not same_text(a.candidate.text, b.candidate.text):
                yield Disagreement(segment.id, segment.text, references.get(segment.id, ""), a, b)


def _texts(picks: Picks) -> dict[str, str]:
    return {segment: pick.candidate.text for segment, pick in picks.items()}


@dataclass(frozen=True, slots=True, repr=False)
class MetricComparison:
    """The picks of several metrics among a campaign's candidates, by the metrics' names."""

    campaign: Campaign
    metrics: Sequence[PickMetric]
    picks: Mapping[str, Picks]
    chooser: Chooser
    judged_only: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"MetricComparison({', '.join(self.picks)}; {len(self.campaign.segments)} segments)"

    def disagreements(self) -> Disagreements:
        """Where the first two metrics pick different texts."""
        first, second = list(self.picks)[:2]
        segments = list(_different(self.campaign, self.picks[first], self.picks[second]))
        with self.campaign.database() as db:
            simulated = db.simulated_note()
        languages = self.campaign.settings.languages
        return Disagreements(
            first,
            second,
            segments,
            len(self.picks[first].keys() & self.picks[second].keys()) - len(segments),
            self.chooser.scorer({"unknown": "half"}),
            (languages.source or "", languages.target or ""),
            simulated,
            legend(self.metrics[:2], self.campaign.scoring),
            list(self.chooser.signatures.values()),
        )

    def ask(self, folder: PathLike | None = None, *, options: BatchOptions | None = None) -> MadeBatch:
        """Make a batch that asks people which of two picks is better; picks of the same text are left out.

        Segments with a pick that no metric decided are left out: several candidates are tied at the top, or RYPT has no
        label of the segment to choose by. A note says how many.
        """
        options = options or BatchOptions()
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
            outputs={name: _texts(chosen) for name, chosen in picks.items()},
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
        if not any(metric.uses("rypt") for metric in self.metrics):
            return tied, set()
        with self.campaign.database() as db:
            labelled = {votes.segment for votes in db.votes()}
        every = {segment for picks in self.picks.values() for segment in picks}
        return tied, every - labelled - tied

    def preferences(self, *, seed: int = 1) -> PreferenceReport:
        """What people preferred, by their answers in the campaign's database; the seed is of the intervals."""
        texts = {name: _texts(picks) for name, picks in self.picks.items()}
        with open_results(self.campaign) as results:
            pairs = [
                read_preferences(results, a, b, (texts[a], texts[b])) for a, b in combinations(self.picks, 2)
            ]
            simulated = results.db.simulated_note()
        answered = [judged for pair in pairs if (judged := [one for one in pair if one.segments])]
        if not answered:
            different = self.disagreements()
            earlier = sum(preferences.stale for pair in pairs for preferences in pair)
            stale = f"; {earlier} judgments are about earlier picks" if earlier else ""
            raise RyptError(
                f"{self.campaign.folder}: nobody has compared these picks yet ({different.first} and "
                f"{different.second} differ on {len(different.segments)} segments{stale}); rypt compare picks lists "
                "them, --batch FOLDER makes a batch that asks, rypt compare scores judges by human scores"
            )
        judgments = sum(sum(preferences.judgments) for pair in answered for preferences in pair)
        signature = f"metrics:{','.join(self.picks)}|judgments:{judgments}|seed:{seed}|v:{version('rypt')}"
        signatures = dict(self.chooser.signatures)
        lines = legend(self.metrics, self.campaign.scoring)
        return PreferenceReport(
            answered, f"compare|preferences|{signature}", signatures, simulated, seed, lines
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
    return MetricComparison(campaign, chosen, picks, chooser, tuple(judged_only))


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
