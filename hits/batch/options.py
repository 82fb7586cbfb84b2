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

System = (
    PathLike | Mapping[str, str]
)  # a file with a line for each segment, or a candidate for each segment's id
SELECTIONS = {Kind.LABEL: ("all", "value"), Kind.COMPARISON: ("all", "trueskill"), Kind.RANKING: ("all",)}
ONLY_LABELS = (
    "budget",
    "labels",
    "max_len",
    "alternatives",
    "punctuation",
    "reference_alignment",
    "severity",
    "blank",
    "training",
)
IN_SETTINGS = (
    "kind",
    "outputs",
    "assignments",
    "title",
    "interface",
    "seed",
)  # or recorded under another name


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions:
    """What a batch asks, how much of it, and how it is shown and paid.

    For labels, ``budget`` is the maximum cost in dollars, fees included, and ``labels`` the maximum number of new
    questions. ``select`` "value" asks those that may change which candidates are best, the most valuable first.
    ``max_len`` limits the constituents of the frontier, ``alternatives`` the phrases on a page; without ``punctuation``
    constituents need a letter or digit. ``reference_alignment`` is a file of word links between source and reference.
    With ``severity`` workers choose between "NO, slightly" and "NO, badly"; with ``blank`` they may leave labels out,
    which count as NOT SURE, as in the paper. ``training`` is the number of controls to practise on.

    Comparisons and rankings show the ``outputs`` of systems, by default the campaign's lists if each has one candidate
    for every segment. ``select`` "trueskill" asks the comparisons that TrueSkill learns most from, given those in the
    campaign's database and those that the files of segment scores in ``scores`` make.

    ``controls`` is the share of items that are controls, ``limit`` the maximum number of the others. ``market`` says
    whose fees are counted. What is None comes from the campaign or from the kind of batch.
    """

    kind: Kind = Kind.LABEL
    select: str = "all"
    budget: Decimal | str | None = None
    labels: int | None = None
    max_len: int | None = None
    alternatives: int | None = None
    punctuation: bool = True
    reference_alignment: PathLike | None = None
    severity: bool | None = None
    blank: bool = False
    training: int | None = None
    outputs: Mapping[str, System] = field(default_factory=dict)
    scores: tuple[PathLike, ...] = ()
    reference: bool = True
    controls: float = 0.1
    limit: int | None = None
    assignments: int | None = None
    wage: Decimal | None = None
    market: str = "local"
    title: str | None = None
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
        if self.scores and self.select != "trueskill":
            raise RyptError('expected scores with select "trueskill" only')
        if self.select == "trueskill" and self.limit is None:
            raise RyptError('expected a limit with select "trueskill": the number of comparisons it selects')
        for name in ("labels", "max_len", "alternatives", "limit"):
            number = getattr(self, name)
            if number is not None and number < 1:
                raise RyptError(f"expected {name} of at least 1, found {number}")
        if self.alternatives is not None and self.alternatives > MAX_ALTERNATIVES:
            raise RyptError(f"expected 1 to {MAX_ALTERNATIVES} alternatives, found {self.alternatives}")
        if self.budget is not None and money(str(self.budget)) is None:
            raise RyptError(f"expected a budget in dollars such as 25.00, found {self.budget!r}")

    def with_defaults(self, campaign: Campaign) -> "BatchOptions":
        """The options with the campaign's values, and those of the kind, for what is None."""
        market = campaign.settings.market
        wage = next(amount for amount in (self.wage, market.wage, MIN_WAGE) if amount is not None)
        if self.kind is not Kind.LABEL:
            outputs = self.outputs or campaign.outputs
            if not outputs:
                raise RyptError(
                    "expected the outputs of at least 2 systems (--output-of SYSTEM=FILE): the campaign's lists do not "
                    "have one candidate for every segment"
                )
            assignments = self.assignments or KINDS[self.kind].assignments
            return replace(self, wage=wage, assignments=assignments, outputs=outputs)
        return replace(
            self,
            wage=wage,
            assignments=self.assignments or market.assignments or KINDS[self.kind].assignments,
            budget=None if self.budget is None else money(str(self.budget)),
            max_len=self.max_len or campaign.scoring.max_len,
            alternatives=self.alternatives or MAX_ALTERNATIVES,
            severity=market.severity if self.severity is None else self.severity,
        )

    def record(self) -> dict[str, object]:
        """The options as ``[made]`` of ``batch.toml`` has them: without those that are settings, or None or empty."""
        recorded = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in IN_SETTINGS}
        systems = [
            name if isinstance(output, Mapping) else f"{name}={output}"
            for name, output in self.outputs.items()
        ]
        if self.kind is not Kind.LABEL:
            recorded = {name: value for name, value in recorded.items() if name not in ONLY_LABELS}
        recorded |= {"systems": systems, "scores": [str(path) for path in self.scores]}
        return {
            name: str(value) if isinstance(value, Decimal | PurePath) else value
            for name, value in recorded.items()
            if value is not None and value != []
        }
