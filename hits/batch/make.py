"""``make_batch`` and ``price``: a batch folder from a campaign, and what any batch costs before anything is sent."""

from collections.abc import Mapping
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
from hits.batch.systems import Match, Outputs, make_system_batch, read_output, same_text
from hits.payment import MIN_WAGE, Price, fair_rule, fees_of
from hits.payment import price as batch_price
from hits.ranking.data import comparisons_of
from hits.ranking.select import select_matches
from hits.records import Batch, BatchSettings, Kind
from hits.results.answers import open_results
from hits.results.numbers import seconds_seen
from hits.results.verdicts import ANSWERS, CONTROLS
from rypt.campaign.folder import Campaign
from rypt.text import PathLike, plural

DEFAULT_OPTIONS = BatchOptions()
SHARES = [n / 20 for n in range(1, 11)]  # of controls, as people write them


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
    with open_results(campaign) as results:
        seconds = seconds_seen(results, options.kind)
    timed = {} if seconds is None else {"seconds": str(seconds)}
    languages = campaign.settings.languages
    settings = new_settings(
        options.kind,
        seed=options.seed,
        now=now or datetime.now(UTC),
        source_language=languages.source or "",
        target_language=languages.target or "",
        interface=options.interface,
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
    market = options.market or "local"
    cost = batch_price(batch, fees=fees_of(market), seconds=seconds)
    values = {f.name: getattr(batch, f.name) for f in fields(Batch)}
    return MadeBatch(**values, price=cost, market=market)


def price(batch: Batch | PathLike, *, market: str = "local", min_wage: Decimal = MIN_WAGE) -> Price:
    """What a batch, or the one in a folder, costs on a market, how long it takes, and what workers earn.

    Uses the times that were measured when the batch was made, else the defaults of its kind. A wage below ``min_wage``
    dollars an hour gives a warning.
    """
    read = batch if isinstance(batch, Batch) else read_batch(batch)
    try:
        seconds = Decimal(str(read.settings.made["seconds"]))
        measured = seconds if seconds.is_finite() and seconds > 0 else None
    except (KeyError, InvalidOperation):
        measured = None
    return batch_price(read, fees=fees_of(market), seconds=measured, min_wage=min_wage)


def first_references(campaign: Campaign) -> dict[str, str] | None:
    """The first reference of each segment, None where the campaign has none."""
    if not campaign.references:
        return None
    return {segment.id: text for segment, text in zip(campaign.segments, campaign.references[0], strict=True)}


def _system_batch(campaign: Campaign, settings: BatchSettings, options: BatchOptions) -> Batch:
    """The batch of comparisons or rankings."""
    outputs = {
        system: output if isinstance(output, Mapping) else read_output(output, campaign.segments)
        for system, output in options.outputs.items()
    }
    chosen = options.select == "trueskill"
    return make_system_batch(
        campaign.segments,
        outputs,
        settings,
        matches=_most_informative(campaign, outputs, options) if chosen else None,
        references=first_references(campaign) if options.reference else None,
        control_share=options.controls,
        limit=options.limit,
    )


def _most_informative(campaign: Campaign, outputs: Outputs, options: BatchOptions) -> list[Match]:
    """The comparisons that TrueSkill learns most from after those in the campaign's database."""
    better = {"A": 1, "EQUAL": 0, "B": -1}
    with open_results(campaign) as results:
        rows = [
            (c.segment, c.system_a, c.system_b, better[c.choice], c.worker)
            for c in results.comparisons()
            if c.system_a in outputs and c.system_b in outputs
        ]
    matches = select_matches(
        comparisons_of(rows) if rows else None,
        {system: list(texts) for system, texts in outputs.items()},
        options.limit or 1,
        np.random.default_rng(options.seed),
        ask=lambda names, segment: not same_text(outputs[names[0]][segment], outputs[names[1]][segment]),
    )
    return [(match.segment, match.systems[0], match.systems[1]) for match in matches]


def verdict_notes(batch: Batch) -> list[str]:
    """Notes on a batch with fewer controls, or comparisons for a person, than verdicts on workers need.

    Nobody answers an item twice, so that a person compares at most what the batch asks. Label batches have no notes:
    their workers come back with each iteration of a loop, and verdicts are about all of their answers.
    """
    kind = batch.settings.kind
    if kind is Kind.LABEL:
        return []
    asked = [item for item in batch.items if not item.columns["control"]]
    controls = len(batch.items) - len(asked)
    notes = []
    if 0 < controls < CONTROLS:
        enough = (share for share in SHARES if control_count(len(asked), share) >= CONTROLS)
        share = next(enough, None)
        advice = f"--controls {share:g} makes enough" if share else "a larger --limit makes more"
        notes.append(
            f"{plural(controls, 'control')} cannot separate careless workers from unlucky ones; at least "
            f"{CONTROLS} are needed: {advice}"
        )
    compared = sum(1 if kind is Kind.COMPARISON else comb(item.size, 2) for item in asked)
    if compared < ANSWERS:
        notes.append(
            f"{plural(compared, 'comparison')} per worker {'is' if compared == 1 else 'are'} too few for a full "
            f"verdict on workers; {ANSWERS} are needed, without controls"
        )
    return notes
