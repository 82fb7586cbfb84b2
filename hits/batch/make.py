"""``make_batch`` and ``price``: a batch folder from a campaign, and what any batch costs before anything is sent."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from math import comb
from pathlib import Path

import numpy as np

from hits.batch.controls import control_count
from hits.batch.folder import new_settings, read_batch, write_batch
from hits.batch.labels import make_label_batch
from hits.batch.options import BatchOptions
from hits.batch.systems import Outputs, make_comparison_batch, make_ranking_batch, read_output, same_text
from hits.payment import MIN_WAGE, Price, fair_rule, fees_of
from hits.payment import price as batch_price
from hits.ranking.data import comparisons_of
from hits.ranking.readers.files import ComparisonFiles
from hits.ranking.scores.data import SegmentScores
from hits.ranking.select import select_matches
from hits.records import Batch, BatchSettings, Kind
from hits.results.answers import open_results
from hits.results.numbers import seconds_seen
from hits.results.verdicts import Limits
from rypt.campaign.folder import Campaign
from rypt.text import PathLike, RyptError, plural

DEFAULT_OPTIONS = BatchOptions()
SHARES = [n / 20 for n in range(1, 11)]  # of controls, as people write them
Compared = tuple[str, str, str, int, str]  # segment, two systems, outcome, worker


@dataclass(frozen=True, slots=True, repr=False)
class MadeBatch(Batch):
    """A batch that was just made and written to its ``folder``; ``notes`` say what could not be done."""

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
    options: BatchOptions = DEFAULT_OPTIONS,
    *,
    record: Mapping[str, object] | None = None,
    now: datetime | None = None,
) -> MadeBatch:
    """Make a batch from a campaign and write it to a new folder, which appears whole or not at all.

    By default it asks for the labels that the campaign lacks. Without a ``folder`` it is written to ``batches`` in the
    campaign's, under its id. ``record`` is added to the options in ``batch.toml``.
    """
    campaign = campaign if isinstance(campaign, Campaign) else Campaign.open(campaign)
    options = options.with_defaults(campaign)
    seconds = _seconds_seen(campaign, options.kind)
    timed = {} if seconds is None else {"seconds": str(seconds)}
    languages = campaign.settings.languages
    settings = new_settings(
        options.kind,
        seed=options.seed,
        now=now or datetime.now(UTC),
        source_language=languages.source or "",
        target_language=languages.target or "",
        interface=options.interface,
        title=options.title,
        assignments=options.assignments,
        reward=fair_rule(options.kind, options.wage or MIN_WAGE, seconds),
        made={"campaign": str(campaign.folder), **options.record(), **timed, **(record or {})},
    )
    if options.kind is Kind.LABEL:
        batch = make_label_batch(campaign, settings, options)
    else:
        batch = _system_batch(campaign, settings, options)
    place = campaign.path("batches") / settings.id if folder is None else Path(folder)
    write_batch(place, batch)
    batch = replace(batch, folder=place, notes=(*batch.notes, *verdict_notes(batch)))
    cost = batch_price(batch, fees=fees_of(options.market), seconds=seconds)
    values = {f.name: getattr(batch, f.name) for f in fields(Batch)}
    return MadeBatch(**values, price=cost, market=options.market)


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
        _seconds_recorded(read.settings) if campaign is None else _seconds_seen(campaign, read.settings.kind)
    )
    return batch_price(read, fees=fees_of(market), seconds=seconds, min_wage=min_wage)


def _seconds_seen(campaign: Campaign | PathLike, kind: Kind) -> Decimal | None:
    """The mean seconds per answer of this kind in a campaign, None if too few were timed."""
    with open_results(campaign) as results:
        return seconds_seen(results, kind)


def _seconds_recorded(settings: BatchSettings) -> Decimal | None:
    """The times measured when the batch was made."""
    try:
        seconds = Decimal(str(settings.made["seconds"]))
    except (KeyError, InvalidOperation):
        return None
    return seconds if seconds.is_finite() and seconds > 0 else None


def first_references(campaign: Campaign) -> dict[str, str] | None:
    """The first reference of each segment, None where the campaign has none."""
    if not campaign.references:
        return None
    return {segment.id: text for segment, text in zip(campaign.segments, campaign.references[0], strict=True)}


def _system_batch(campaign: Campaign, settings: BatchSettings, options: BatchOptions) -> Batch:
    """The batch of comparisons or rankings."""
    segments = campaign.segments
    outputs = {
        system: output if isinstance(output, Mapping) else read_output(output, segments)
        for system, output in options.outputs.items()
    }
    references = first_references(campaign) if options.reference else None
    share, limit = options.controls, options.limit
    if options.kind is Kind.RANKING:
        return make_ranking_batch(
            segments, outputs, settings, references=references, control_share=share, limit=limit
        )
    matches = None
    if options.select == "trueskill":
        matches = _most_informative(campaign, outputs, options)
        limit = None
    return make_comparison_batch(
        segments, outputs, settings, matches=matches, references=references, control_share=share, limit=limit
    )


def _most_informative(
    campaign: Campaign, outputs: Outputs, options: BatchOptions
) -> list[tuple[str, str, str]]:
    """The comparisons that TrueSkill learns most from, given those in the campaign's database and those by scores."""
    if options.limit is None:
        raise RyptError("expected a limit: trueskill selects that many comparisons")
    better = {"A": 1, "EQUAL": 0, "B": -1}
    with open_results(campaign) as results:
        rows = [
            (c.segment, c.system_a, c.system_b, better[c.choice], c.worker) for c in results.comparisons()
        ]
    rows += _compared_by_scores(options.scores, {segment.id for segment in campaign.segments})
    rows = [row for row in rows if row[1] in outputs and row[2] in outputs]
    matches = select_matches(
        comparisons_of(rows) if rows else None,
        {system: list(texts) for system, texts in outputs.items()},
        options.limit,
        np.random.default_rng(options.seed),
        ask=lambda names, segment: not same_text(outputs[names[0]][segment], outputs[names[1]][segment]),
    )
    return [(match.segment, match.systems[0], match.systems[1]) for match in matches]


def _compared_by_scores(paths: Sequence[PathLike], segments: Collection[str]) -> list[Compared]:
    """The comparisons that files of segment scores make; segments have the campaign's names where it has them."""
    if not paths:
        return []
    part = ComparisonFiles(tuple(paths)).part()
    if not isinstance(part.data, SegmentScores):
        raise RyptError(f"{', '.join(part.paths)}: expected segment scores, found comparisons")
    compared = part.data.comparisons()
    names = [name if name in segments else f"{document} {name}" for document, name in part.data.segments]
    rows = zip(compared.segment, compared.a, compared.b, compared.outcome, strict=True)
    return [
        (names[s], compared.systems[a], compared.systems[b], int(outcome), "") for s, a, b, outcome in rows
    ]


def verdict_notes(batch: Batch) -> list[str]:
    """Notes on a batch with fewer controls, or comparisons for a person, than verdicts on workers need.

    Nobody answers an item twice, so that a person compares at most what the batch asks. Label batches have no notes:
    their workers come back with each iteration of a loop, and verdicts are about all of their answers.
    """
    limits = Limits()
    kind = batch.settings.kind
    if kind is Kind.LABEL:
        return []
    controls = sum(bool(item.columns["control"]) for item in batch.items)
    asked = [item for item in batch.items if not item.columns["control"]]
    notes = []
    if 0 < controls < limits.controls:
        shares = (share for share in SHARES if control_count(len(asked), share) >= limits.controls)
        share = next(shares, None)
        advice = (
            "a larger --limit makes more"
            if share is None
            else f"--controls {share:g} makes {control_count(len(asked), share)}"
        )
        notes.append(
            f"{plural(controls, 'control')} cannot tell careless workers from unlucky ones: {limits.controls} are the "
            f"least that can; {advice}"
        )
    compared = sum(1 if kind is Kind.COMPARISON else comb(item.size, 2) for item in asked)
    if compared < limits.answers:
        notes.append(
            f"{plural(compared, 'comparison')} a person {'is' if compared == 1 else 'are'} too few for a full verdict "
            f"on workers; {limits.answers} are needed, without controls"
        )
    return notes
