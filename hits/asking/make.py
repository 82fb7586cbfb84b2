"""``make_batch`` and ``price``: a batch folder from a campaign, and what any batch costs before anything is sent."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path

from hits.asking.questions import BatchOptions, LabelQuestions, Questions
from hits.batches.folder import new_settings, read_batch, write_batch
from hits.batches.kinds import KINDS
from hits.batches.price import MIN_WAGE, Price, fair_rule, fees_of
from hits.batches.price import price as batch_price
from hits.records import Batch, BatchSettings, Kind
from hits.results.numbers import seconds_seen
from hits.results.opening import open_results
from rypt.campaign.folder import Campaign
from rypt.options import money
from rypt.text import PathLike, RyptError

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
