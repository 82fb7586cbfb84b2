"""``make_batch`` and ``price``: a batch folder from a campaign, and what any batch costs before anything is sent."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from math import comb
from pathlib import Path
from typing import ClassVar, Protocol

import numpy as np

from hits.batch.alternatives import read_reference_links
from hits.batch.controls import control_count
from hits.batch.folder import new_settings, read_batch, write_batch
from hits.batch.labels import LabelOptions, make_label_batch
from hits.batch.systems import make_comparison_batch, make_ranking_batch, read_output, same_text
from hits.kinds import KINDS
from hits.payment import MIN_WAGE, Price, fair_rule, fees_of
from hits.payment import price as batch_price
from hits.ranking.data import comparisons_of
from hits.ranking.readers.files import only_part, read_parts
from hits.ranking.scores.data import SegmentScores
from hits.ranking.select import select_matches
from hits.records import MAX_ALTERNATIVES, Batch, BatchSettings, Kind
from hits.results.numbers import seconds_seen
from hits.results.opening import open_results
from hits.results.verdicts import Limits
from rypt.campaign.folder import Campaign
from rypt.options import check_option, money
from rypt.text import PathLike, RyptError, plural

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


DEFAULT_OPTIONS = BatchOptions()


@dataclass(frozen=True, slots=True, repr=False)
class MadeBatch(Batch):
    """A batch that was just made and written to its ``folder``, with its price on a market.

    ``notes`` say what could not be done, ``identical`` are pairs with the same text, which are not asked about.
    """

    price: Price = field(kw_only=True)
    market: str = field(default="local", kw_only=True)

    def __repr__(self) -> str:
        kind, cost = self.settings.kind, self.price
        return (
            f"MadeBatch({str(self.folder)!r}, {cost.hits} {kind} hits, {cost.answers} answers, "
            f"${cost.total} on the {self.market} market)"
        )


def make_batch(
    campaign: Campaign | PathLike,
    folder: PathLike | None = None,
    questions: Questions | None = None,
    *,
    budget: Decimal | str | None = None,
    options: BatchOptions = DEFAULT_OPTIONS,
    now: datetime | None = None,
) -> MadeBatch:
    """Make a batch from a campaign and write it to a new folder, which appears whole or not at all.

    ``questions`` are by default the labels that the campaign lacks (`LabelQuestions`); comparisons and rankings ask
    about systems' outputs. With a ``budget`` in dollars, a label batch costs no more, fees included. Without a
    ``folder`` the batch is written to ``batches`` in the campaign's, under its id.
    """
    campaign = campaign if isinstance(campaign, Campaign) else Campaign.open(campaign)
    questions = _with_budget(LabelQuestions() if questions is None else questions, budget)
    seconds = _seconds_seen(campaign, questions.kind)
    settings = _settings(campaign, questions, options, seconds, now or datetime.now(UTC))
    batch = questions.make(campaign, settings, options)
    place = campaign.path("batches") / settings.id if folder is None else Path(folder)
    write_batch(place, batch)
    cost = batch_price(batch, fees=fees_of(options.market), seconds=seconds)
    return MadeBatch(
        batch.settings,
        batch.items,
        batch.template,
        batch.identical,
        batch.notes,
        place,
        batch.training,
        price=cost,
        market=options.market,
    )


def price(
    batch: Batch | PathLike,
    *,
    market: str = "local",
    campaign: Campaign | PathLike | None = None,
    min_wage: Decimal = MIN_WAGE,
) -> Price:
    """What a batch, or the one in a folder, costs on a market, how long it takes, and what workers earn.

    Uses the times measured in the ``campaign``, else those recorded in the batch, else the defaults of its kind. A
    wage below ``min_wage`` dollars an hour gives a warning.
    """
    read = batch if isinstance(batch, Batch) else read_batch(batch)
    seconds = (
        _seconds_of_making(read.settings) if campaign is None else _seconds_seen(campaign, read.settings.kind)
    )
    return batch_price(read, fees=fees_of(market), seconds=seconds, min_wage=min_wage)


def _with_budget(questions: Questions, budget: Decimal | str | None) -> Questions:
    if budget is None:
        return questions
    amount = money(str(budget))
    if amount is None:
        raise RyptError(f"expected an amount of dollars such as 25.00 as budget, got {budget!r}")
    if not isinstance(questions, LabelQuestions):
        raise RyptError(f"a budget is for labels; a limit makes a {questions.kind} batch smaller")
    return replace(questions, budget=amount)


def _settings(
    campaign: Campaign, questions: Questions, options: BatchOptions, seconds: Decimal | None, now: datetime
) -> BatchSettings:
    """The settings of the new batch, from the options and, by default, from the campaign."""
    kind, languages, market = questions.kind, campaign.settings.languages, campaign.settings.market
    wage = next(amount for amount in (options.wage, market.wage, MIN_WAGE) if amount is not None)
    assignments = options.assignments
    if assignments is None and KINDS[kind].campaign_assignments:
        assignments = market.assignments
    made: Mapping[str, object] = {
        "campaign": str(campaign.folder),
        "reference": options.reference,
        "controls": options.controls,
        "limit": options.limit,
        "wage": str(wage),
        "seconds": None if seconds is None else str(seconds),
        **questions.record(campaign),
    }
    return new_settings(
        kind,
        seed=options.seed,
        now=now,
        source_language=languages.source or "",
        target_language=languages.target or "",
        interface=options.interface,
        title=options.title,
        assignments=assignments,
        reward=fair_rule(kind, wage, seconds),
        made={name: value for name, value in made.items() if value is not None},
    )


def _seconds_seen(campaign: Campaign | PathLike, kind: Kind) -> Decimal | None:
    """The mean seconds per answer of this kind in a campaign, None if too few were timed."""
    with open_results(campaign) as results:
        return seconds_seen(results, kind)


def _seconds_of_making(settings: BatchSettings) -> Decimal | None:
    """The times measured when the batch was made."""
    try:
        seconds = Decimal(str(settings.made["seconds"]))
    except (KeyError, InvalidOperation):
        return None
    return seconds if seconds.is_finite() and seconds > 0 else None


SHARES = [n / 20 for n in range(1, 11)]  # of controls, as people write them


def verdict_notes(batch: Batch, limits: Limits | None = None) -> list[str]:
    """Notes on a batch with fewer controls, or comparisons for a person, than verdicts on workers need.

    Nobody answers an item twice, so that a person compares at most what the batch asks. Label batches have no notes:
    their workers come back with each iteration of a loop, and verdicts are about all of their answers.
    """
    limits = limits or Limits()
    kind = batch.settings.kind
    if kind is Kind.LABEL:
        return []
    controls = sum(bool(item.columns["control"]) for item in batch.items)
    asked = [item for item in batch.items if not item.columns["control"]]
    notes = []
    if 0 < controls < limits.controls:
        notes.append(
            f"{plural(controls, 'control')}: {limits.controls} are the least that tell who does not read from who was "
            f"unlucky; {_advice(len(asked), limits.controls)}"
        )
    compared = sum(1 if kind is Kind.COMPARISON else comb(int(item.columns["size"]), 2) for item in asked)
    if compared < limits.answers:
        notes.append(
            f"{plural(compared, 'comparison')} a person {'is' if compared == 1 else 'are'} too few for a full verdict "
            f"on workers; {limits.answers} are needed, without controls"
        )
    return notes


def _advice(asked: int, needed: int) -> str:
    """The smallest share of controls that makes enough of them, else that more has to be asked."""
    for share in SHARES:
        if (count := control_count(asked, share)) >= needed:
            return f"--controls {share:g} makes {count}"
    return "a larger --limit makes more"
