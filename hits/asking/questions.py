"""What a batch asks, a class for each kind: its options, what ``batch.toml`` keeps of them, and how items are made."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import ClassVar, Protocol

import numpy as np

from hits.asking.alternatives import read_reference_links
from hits.asking.comparisons import make_comparison_batch
from hits.asking.labels import LabelOptions, make_label_batch
from hits.asking.outputs import read_output, same_text
from hits.asking.rankings import make_ranking_batch
from hits.batches.price import fees_of
from hits.ranking.data import comparisons_of
from hits.ranking.readers.files import only_part, read_parts
from hits.ranking.scores.data import SegmentScores
from hits.ranking.select import select_matches
from hits.records import MAX_ALTERNATIVES, Batch, BatchSettings, Kind
from hits.results.opening import open_results
from rypt.campaign.folder import Campaign
from rypt.options import check_option
from rypt.text import PathLike, RyptError

SELECTIONS = ("all", "trueskill")  # of comparisons
Compared = tuple[str, str, str, int, str]  # segment, two systems, outcome, worker


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """Options that all kinds of batch share.

    ``reference`` shows the reference to workers; ``controls`` is the share of items that are controls; ``limit`` the
    maximum number of other items. ``assignments`` (how many workers answer each) and ``wage`` (dollars an hour) are by
    default the campaign's. ``market`` says whose fees are counted. ``title`` is what workers see in the list of hits,
    ``interface`` the language of the instructions.
    """

    reference: bool = True
    controls: float = 0.1
    limit: int | None = None
    assignments: int | None = None
    wage: Decimal | None = None
    market: str = "local"
    title: str | None = None
    interface: str = "en"
    seed: int = 1


class Questions(Protocol):
    """The questions of one kind of batch."""

    kind: ClassVar[Kind]

    def record(self, campaign: Campaign) -> Mapping[str, object]:
        """The options recorded under ``[made]`` in ``batch.toml``; None is left out."""

    def make(self, campaign: Campaign, settings: BatchSettings, options: BatchOptions) -> Batch:
        """Make the batch with its items and its page; all random choices depend on the seed in the settings."""


@dataclass(frozen=True, slots=True)
class LabelQuestions:
    """Whether phrases are acceptable translations: those of the frontier that have no label yet.

    ``select`` is "all", or "value" for those that may change which candidates are best, the most valuable first. With
    a ``budget`` in dollars the batch is made so small that it costs no more, fees included; ``labels`` is the most new
    questions. ``max_len``, of the frontier's nodes, is by default the campaign's; ``alternatives`` the most on a page;
    without ``punctuation`` only constituents with a letter or digit are asked about. ``reference_alignment`` is a file
    of links of source and reference, to highlight its part. With ``severity`` workers choose between "NO, slightly" and
    "NO, badly" instead of NO; by default as the campaign says. With ``blank`` workers may leave labels out, which count
    as NOT SURE, as in the paper. ``training`` is the number of controls to practise on before the first hit.
    """

    kind: ClassVar[Kind] = Kind.LABEL
    budget: Decimal | None = None
    labels: int | None = None
    select: str = "all"
    max_len: int | None = None
    alternatives: int = MAX_ALTERNATIVES
    punctuation: bool = True
    reference_alignment: PathLike | None = None
    severity: bool | None = None
    blank: bool = False
    training: int = 0

    def record(self, campaign: Campaign) -> Mapping[str, object]:
        """All options."""
        return {
            "max_len": self.max_len or campaign.scoring.max_len,
            "alternatives": self.alternatives,
            "punctuation": self.punctuation,
            "reference_alignment": None
            if self.reference_alignment is None
            else str(self.reference_alignment),
            "select": self.select,
            "labels": self.labels,
            "budget": None if self.budget is None else str(self.budget),
            "severity": self._severity(campaign) or None,
            "blank": self.blank or None,
            "training": self.training or None,
        }

    def make(self, campaign: Campaign, settings: BatchSettings, options: BatchOptions) -> Batch:
        """The label batch."""
        asked = LabelOptions(
            self.max_len or campaign.scoring.max_len,
            self.alternatives,
            options.reference,
            options.controls,
            limit=options.limit,
            labels=self.labels,
            select=self.select,
            punctuation=self.punctuation,
            severity=self._severity(campaign),
            blank=self.blank,
            training=self.training,
        )
        path = self.reference_alignment
        links = None if path is None else read_reference_links(path, campaign)
        fees = fees_of(options.market)
        return make_label_batch(
            campaign, settings, asked, reference_links=links, budget=self.budget, fees=fees
        )

    def _severity(self, campaign: Campaign) -> bool:
        return campaign.settings.market.severity if self.severity is None else self.severity


@dataclass(frozen=True, slots=True)
class ComparisonQuestions:
    """Which of two systems' candidates is better; ``outputs`` is a file for each system, one line per segment.

    Without ``outputs`` they are the campaign's lists, if each has one candidate for every segment.
    ``select`` is "all", or "trueskill" for those that TrueSkill learns most from, given the comparisons in the
    campaign's database, and those that the segment scores in the files ``scores`` make; their number is the options'
    limit.
    """

    kind: ClassVar[Kind] = Kind.COMPARISON
    outputs: Mapping[str, PathLike] = field(default_factory=dict)
    select: str = "all"
    scores: tuple[PathLike, ...] = ()

    def __post_init__(self) -> None:
        check_option("select", self.select, SELECTIONS)

    def record(self, campaign: Campaign) -> Mapping[str, object]:
        """All options."""
        scores = {"scores": [str(path) for path in self.scores]} if self.scores else {}
        return {"systems": _systems(_outputs(self.outputs, campaign)), "select": self.select} | scores

    def make(self, campaign: Campaign, settings: BatchSettings, options: BatchOptions) -> Batch:
        """The batch of comparisons; pairs with the same text are left out."""
        outputs = _read_outputs(_outputs(self.outputs, campaign), campaign)
        references = first_references(campaign) if options.reference else None
        if self.select == "trueskill":
            if options.limit is None:
                raise RyptError("expected a limit: trueskill selects that many comparisons")
            known = _compared_by_scores(self.scores, {segment.id for segment in campaign.segments})
            matches = _most_informative(campaign, outputs, options.limit, settings.seed, known)
            return make_comparison_batch(
                campaign.segments,
                outputs,
                settings,
                matches=matches,
                references=references,
                control_share=options.controls,
            )
        return make_comparison_batch(
            campaign.segments,
            outputs,
            settings,
            references=references,
            control_share=options.controls,
            limit=options.limit,
        )


@dataclass(frozen=True, slots=True)
class RankingQuestions:
    """The order of up to five systems' candidates; ``outputs`` as in `ComparisonQuestions`."""

    kind: ClassVar[Kind] = Kind.RANKING
    outputs: Mapping[str, PathLike] = field(default_factory=dict)

    def record(self, campaign: Campaign) -> Mapping[str, object]:
        """All options."""
        return {"systems": _systems(_outputs(self.outputs, campaign)), "select": "all"}

    def make(self, campaign: Campaign, settings: BatchSettings, options: BatchOptions) -> Batch:
        """The batch of rankings."""
        outputs = _read_outputs(_outputs(self.outputs, campaign), campaign)
        references = first_references(campaign) if options.reference else None
        return make_ranking_batch(
            campaign.segments,
            outputs,
            settings,
            references=references,
            control_share=options.controls,
            limit=options.limit,
        )


def first_references(campaign: Campaign) -> dict[str, str] | None:
    """The first reference of each segment, None where the campaign has none."""
    if not campaign.references:
        return None
    return {segment.id: text for segment, text in zip(campaign.segments, campaign.references[0], strict=True)}


def _outputs(given: Mapping[str, PathLike], campaign: Campaign) -> Mapping[str, PathLike]:
    """The outputs that were given, or those that the campaign has."""
    outputs = given or campaign.outputs
    if not outputs:
        lists = "the campaign's lists are none, for these have one candidate for each segment"
        raise RyptError(f"expected the outputs of at least 2 systems (--output-of SYSTEM=FILE); {lists}")
    return outputs


def _systems(outputs: Mapping[str, PathLike]) -> list[str]:
    return [f"{system}={path}" for system, path in outputs.items()]


def _read_outputs(outputs: Mapping[str, PathLike], campaign: Campaign) -> dict[str, dict[str, str]]:
    return {system: read_output(path, campaign.segments) for system, path in outputs.items()}


def _compared_by_scores(paths: Sequence[PathLike], segments: Collection[str]) -> list[Compared]:
    """The comparisons that files of segment scores make; segments have the campaign's names where it has them."""
    if not paths:
        return []
    part = only_part(read_parts(paths))
    if not isinstance(part.data, SegmentScores):
        raise RyptError(f"{', '.join(part.paths)}: expected segment scores, found comparisons")
    made = part.data.comparisons()
    names = [name if name in segments else f"{document} {name}" for document, name in part.data.segments]
    rows = zip(made.segment, made.a, made.b, made.outcome, strict=True)
    return [(names[s], made.systems[a], made.systems[b], int(outcome), "") for s, a, b, outcome in rows]


def _most_informative(
    campaign: Campaign,
    outputs: Mapping[str, Mapping[str, str]],
    count: int,
    seed: int,
    scored: Sequence[Compared],
) -> Sequence[tuple[str, str, str]]:
    """The comparisons that TrueSkill learns most from, given those in the campaign's database and those by scores."""
    better = {"A": 1, "EQUAL": 0, "B": -1}
    with open_results(campaign) as results:
        known = [
            (c.segment, c.system_a, c.system_b, better[c.choice], c.worker) for c in results.comparisons()
        ]
    known = [row for row in [*known, *scored] if row[1] in outputs and row[2] in outputs]
    matches = select_matches(
        comparisons_of(known) if known else None,
        {system: list(texts) for system, texts in outputs.items()},
        count,
        np.random.default_rng(seed),
        ask=lambda names, segment: not same_text(outputs[names[0]][segment], outputs[names[1]][segment]),
    )
    return [(match.segment, match.systems[0], match.systems[1]) for match in matches]
