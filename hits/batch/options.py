"""The options of a new batch, in one record: `rypt hits make` fills it, and `[made]` in ``batch.toml`` repeats it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from pathlib import PurePath

from hits.kinds import KINDS
from hits.payment import MIN_WAGE
from hits.records import MAX_ALTERNATIVES, Kind
from rypt.campaign.folder import Campaign
from rypt.options import check_option, money
from rypt.text import PathLike, RyptError

# a file with a line for each segment, or a candidate for each segment's id
System = PathLike | Mapping[str, str]
SELECTIONS = {Kind.LABEL: ("all", "value"), Kind.COMPARISON: ("all", "trueskill"), Kind.RANKING: ("all",)}
ONLY_LABELS = ("budget", "alternatives", "reference_alignment", "severity", "blank", "training")
IN_SETTINGS = ("kind", "outputs", "assignments", "interface", "seed")  # of batch.toml


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions:
    """What a batch asks, how much of it, and how it is shown and paid.

    ``limit`` is the maximum number of questions, controls not counted. ``controls`` is the share of items that are
    controls. ``market`` says whose fees are counted, "local" (none) or "mturk". What is None comes from the campaign or
    from the kind of batch.

    For labels, ``budget`` is the maximum cost in dollars, fees included. ``select`` "value" asks the questions that may
    change which candidates are best, the most valuable first. ``alternatives`` limits the phrases on a page.
    ``reference_alignment`` is a file of word links between source and reference. With ``severity`` workers choose
    between "NO, slightly" and "NO, badly"; with ``blank`` they may leave labels out, which count as NOT SURE, as in the
    paper. ``training`` is the number of controls to practise on.

    Comparisons and rankings show the ``outputs`` of systems, by default the campaign's lists if each has one candidate
    for every segment. ``select`` "trueskill" asks the comparisons that TrueSkill learns most from after those in the
    campaign's database.
    """

    kind: Kind = Kind.LABEL
    select: str = "all"
    limit: int | None = None
    budget: Decimal | str | None = None
    alternatives: int = MAX_ALTERNATIVES
    reference_alignment: PathLike | None = None
    severity: bool | None = None
    blank: bool = False
    training: int | None = None
    outputs: Mapping[str, System] = field(default_factory=dict)
    reference: bool = True
    controls: float = 0.1
    assignments: int | None = None
    wage: Decimal | None = None
    market: str | None = None
    interface: str = "en"
    seed: int = 1

    def __post_init__(self) -> None:
        defaults = {f.name: f.default for f in fields(self)}
        if self.kind is not Kind.LABEL:
            for name in ONLY_LABELS:
                if getattr(self, name) != defaults[name]:
                    raise RyptError(f"{name} is an option of label batches, and this asks for {self.kind}s")
        elif self.outputs:
            raise RyptError("outputs are an option of comparisons and rankings, and this asks for labels")
        check_option(f"select for {self.kind}s", self.select, SELECTIONS[self.kind])
        if self.select == "trueskill" and self.limit is None:
            raise RyptError('expected a limit with select "trueskill": the number of comparisons it selects')
        if self.limit is not None and self.limit < 1:
            raise RyptError(f"expected limit of at least 1, found {self.limit}")
        if not 1 <= self.alternatives <= MAX_ALTERNATIVES:
            raise RyptError(f"expected 1 to {MAX_ALTERNATIVES} alternatives, found {self.alternatives}")
        if self.budget is not None and money(str(self.budget)) is None:
            raise RyptError(f"expected a budget in dollars such as 25.00, found {self.budget!r}")

    def with_defaults(self, campaign: Campaign) -> "BatchOptions":
        """The options with the campaign's values, and those of the kind, for what is None."""
        market = campaign.settings.market
        labels = self.kind is Kind.LABEL
        outputs = self.outputs or ({} if labels else campaign.outputs)
        if not labels and not outputs:
            raise RyptError(
                "expected the outputs of at least 2 systems (--output-of SYSTEM=FILE): the campaign's lists do not "
                "have one candidate for every segment"
            )
        severity = market.severity if labels and self.severity is None else self.severity
        return replace(
            self,
            wage=next(amount for amount in (self.wage, market.wage, MIN_WAGE) if amount is not None),
            assignments=self.assignments or (labels and market.assignments) or KINDS[self.kind].assignments,
            market=self.market or market.fees,
            outputs=outputs,
            budget=None if self.budget is None else money(str(self.budget)),
            severity=severity,
        )

    def record(self) -> dict[str, object]:
        """The options as ``[made]`` of ``batch.toml`` has them: without those that are settings, or None."""
        systems = [
            name if isinstance(output, Mapping) else f"{name}={output}"
            for name, output in self.outputs.items()
        ]
        recorded: dict[str, object] = {"systems": systems} if systems else {}
        idle = () if self.kind is Kind.LABEL else ONLY_LABELS
        for f in fields(self):
            value = getattr(self, f.name)
            if value is not None and f.name not in (*IN_SETTINGS, *idle):
                recorded[f.name] = str(value) if isinstance(value, Decimal | PurePath) else value
        return recorded
