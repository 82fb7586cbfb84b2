"""The open queries of a campaign: all of them, or the most valuable ones within a budget.

>>> LabelPrice(wage=Decimal(10), seconds=Decimal(9), assignments=3).each
Decimal('0.075')

asked = queries(campaign, select="value", budget="25.00")
asked[0].phrase, asked[0].value
asked.write("ask.csv", form="csv")           # with empty columns for label and worker
"""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, overload

import numpy as np

from rypt.arrays import Floats
from rypt.campaign.folder import Campaign
from rypt.database.judgments import JudgmentDatabase
from rypt.database.vote_columns import VoteRows
from rypt.options import QUERY_FORMS, SELECTIONS, check_option, money
from rypt.records import Query
from rypt.scoring.calibration import fold_labels
from rypt.scoring.model import LabelModel
from rypt.scoring.observations import Forest, JudgedPhrases, Places
from rypt.scoring.queries import QueryLimits, write_queries
from rypt.scoring.queries import queries as find_queries
from rypt.scoring.severity_model import SeverityModel, unseen_penalty
from rypt.scoring.tree_model import TreeModel
from rypt.scoring.value import WORTHLESS, places_of, query_values
from rypt.tables import data_frame, html_table
from rypt.text import (
    InputError,
    OptionError,
    PathLike,
    RyptError,
    Watch,
    open_output,
    plural,
    read_lines,
    unwatched,
)
from rypt.texts.phrases import GAP

DEFAULT_LIMITS = QueryLimits()
BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class LabelPrice:
    """What the labels of a query cost: the wage in dollars an hour, the seconds a label takes, and the workers asked.

    The seconds are those of the paper. Controls and a market's fees are not included (`hits.price` counts them).
    """

    wage: Decimal = Decimal("12.00")
    seconds: Decimal = Decimal("8.4")
    assignments: int = 1

    def __post_init__(self) -> None:
        for name in ("wage", "seconds", "assignments"):
            if not getattr(self, name) > 0:
                raise RyptError(f"{name} must be above 0, got {getattr(self, name)}")

    @property
    def each(self) -> Decimal:
        """The price of one query in dollars."""
        return self.wage * self.seconds / 3600 * self.assignments


DEFAULT_PRICE = LabelPrice()


@dataclass(frozen=True, slots=True, repr=False)
class Queries(Sequence[Query]):
    """The queries of a campaign within a budget, in the order in which to ask them.

    ``affordable`` are the queries themselves; ``useful`` counts those that would be asked with any budget, ``open``
    all without a label, of which some may be worth nothing for choosing candidates. ``case`` says whether labels are
    shared by phrases that differ in case alone ("lower") or not ("keep").
    """

    affordable: tuple[Query, ...]
    useful: int
    open: int
    price: LabelPrice
    gap: str = "mark"
    case: str = "lower"

    def __len__(self) -> int:
        return len(self.affordable)

    def __iter__(self) -> Iterator[Query]:
        return iter(self.affordable)

    @overload
    def __getitem__(self, index: int) -> Query: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Query, ...]: ...
    def __getitem__(self, index: int | slice) -> Query | tuple[Query, ...]:
        return self.affordable[index]

    def __repr__(self) -> str:
        segments = len({query.segment for query in self.affordable})
        asked = f"{plural(len(self), 'query', 'queries')} about {plural(segments, 'segment')}"
        return f"Queries({asked}, about ${self.cost:.2f})"

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "segment": query.segment,
                "start": query.span.start,
                "stop": query.span.stop,
                "source_phrase": query.source_phrase,
                "phrase": query.phrase,
                "candidates": query.candidates,
                "example": query.example,
            }
            for query in self.affordable
        ]

    def to_pandas(self) -> Any:
        """The queries as a data frame, a row each (needs pandas)."""
        return data_frame(self._rows())

    def _repr_html_(self) -> str:
        """The queries as a table, for notebooks."""
        return html_table(self._rows(), repr(self))

    @property
    def cost(self) -> Decimal:
        """What the labels cost, in dollars."""
        return len(self) * self.price.each

    @property
    def candidates(self) -> int:
        """The number of places in candidates that the answers would serve."""
        return sum(query.candidates for query in self.affordable)

    def summary(self) -> str:
        """A summary in a few lines: the number of queries, the places they serve, their cost."""
        asked = (
            f"{plural(len(self), 'query', 'queries')}, whose answers serve {plural(self.candidates, 'place')}"
        )
        cost = (
            f"about ${self.cost:.2f} at ${self.price.wage} an hour and {self.price.seconds} seconds per label"
        )
        lines = [f"{asked} in candidates", f"cost: {cost}"]
        if later := self.useful - len(self):
            lines.append(f"not in this selection: {later} more, about ${later * self.price.each:.2f}")
        if useless := self.open - self.useful:
            lines.append(
                f"not worth asking now: {useless} more, because no answer to them changes which candidates are best"
            )
        return "\n".join(lines)

    def sheet_note(self) -> str:
        """What a person who fills in the CSV should know of its phrases."""
        notes = ["case does not matter"] if self.case == "lower" else ["upper and lower case matter"]
        if any(GAP in query.phrase for query in self.affordable):
            notes.append(f"{GAP} stands for other words in between, which the example shows")
        return f"in phrases, {'; '.join(notes)}"

    def write(self, path: PathLike, form: str = "jsonl") -> None:
        """Write JSONL, CSV with empty columns for label and worker, or the form of the paper's authors ("pilot").

        A sheet in which somebody filled in labels is not written over. A CSV file begins with a byte order mark;
        without it, spreadsheets show broken umlauts.
        """
        check_option("form", form, QUERY_FORMS)
        if (form == "pilot") != (self.gap == "words"):
            raise OptionError('the form pilot is for queries with gap="words", and only for those')
        if form == "csv":
            _refuse_filled(path)
        with open_output(path) as stream:
            if form == "csv" and str(path) != "-":
                stream.write(BYTE_ORDER_MARK)
            write_queries(self.affordable, stream, form)


def _refuse_filled(path: PathLike) -> None:
    """Refuse to write over a sheet that has labels, which may be nowhere else."""
    if str(path) == "-" or not Path(path).is_file():
        return
    lines = [line for _, line in read_lines(path)]
    separator = max(",;\t", key=lines[0].count) if lines else ","
    for row in csv.DictReader(lines, delimiter=separator):
        if (row.get("label") or "").strip():
            raise InputError(
                path,
                None,
                "expected a new file, found labels that somebody filled in; import them "
                "with `rypt db import`, and name another file",
            )


def queries(
    campaign: Campaign,
    *,
    select: str = "frontier",
    max_len: int | None = None,
    limits: QueryLimits = DEFAULT_LIMITS,
    budget: Decimal | str | None = None,
    limit: int | None = None,
    price: LabelPrice = DEFAULT_PRICE,
    gap: str = "mark",
    watch: Watch = unwatched,
) -> Queries:
    """The phrases of a campaign's candidates that have no judgment yet.

    ``select`` takes the constituents of the "frontier", which cover a segment once; those of them whose answers may
    change which candidates are best, the most valuable first ("value"); or "all" constituents of at most ``max_len``
    source words (by default as the settings say). Phrases beyond the ``limits`` are not asked about. With a ``budget``
    in dollars, only the first queries that it pays for at this ``price`` are returned; ``limit`` is the largest number.
    ``gap="words"`` distinguishes phrases by the lengths of their gaps, for the file format of the paper's authors.
    """
    check_option("select", select, SELECTIONS)
    if limit is not None and limit < 1:
        raise OptionError(f"limit must be at least 1, got {limit}")
    if select == "value" and gap == "words":
        raise OptionError("select value has no pilot form: its phrases are keys")
    amount = None if budget is None else money(str(budget))
    if budget is not None and amount is None:
        raise OptionError(f"expected a budget in dollars such as 25.00, got {budget!r}")
    paid = None if amount is None else int(amount / price.each)
    if paid == 0:
        raise RyptError(f"a label costs ${price.each:.4f}, more than the budget of ${budget}")
    with campaign.database() as db:
        case = db.case
        looked_up = LookedUp.read(campaign, db) if select == "value" else None
        judged = db.judged_keys() if looked_up is None else looked_up.places
    unjudged = find_queries(
        campaign.trees,
        campaign.candidates,
        judged=judged,
        select="all" if select == "all" else "frontier",
        max_len=max_len or campaign.scoring.max_len,
        limits=limits,
        case=case,
        gap=gap,
        watch=watch,
    )
    useful = (
        unjudged
        if looked_up is None
        else _worthwhile(unjudged, looked_up.values(unjudged, price.assignments))
    )
    return Queries(tuple(useful[:paid][:limit]), len(useful), len(unjudged), price, gap, case)


@dataclass(frozen=True, slots=True)
class LookedUp:
    """The judgments of a campaign and where their phrases stand in its candidates: read once for all that is asked."""

    campaign: Campaign
    rows: VoteRows
    judged: JudgedPhrases
    places: Places
    workers: list[str]
    case: str

    @classmethod
    def read(cls, campaign: Campaign, db: JudgmentDatabase) -> "LookedUp":
        """Read all judgments that count, and look their phrases up."""
        rows = db.vote_rows()
        judged = JudgedPhrases(Forest(campaign.trees), rows.columns())
        places = judged.rows(campaign.candidates, db.case)
        return cls(campaign, rows, judged, places, db.groups("worker"), db.case)

    def model(self) -> LabelModel:
        """The severity model where the campaign is scored by it, else the tree model."""
        judged = self.judged
        if self.campaign.scoring.model == "severity":
            return SeverityModel(unseen_penalty(judged.grades, judged.lengths))
        if len(self.workers) > 1:
            learnt = fold_labels(self.rows, judged, self.places, self.workers, "worker", "unknown")
            return TreeModel.fit(*learnt)
        return TreeModel.fit(judged.observe([], self.case), np.zeros(0, np.int8))

    def values(self, unjudged: Sequence[Query], votes: int) -> Floats:
        """The value of each query."""
        if not unjudged:
            return np.zeros(0)
        places = places_of(self.judged.forest, unjudged, self.campaign.candidates, self.case)
        return query_values(self.model(), self.judged.observe_places(self.places), places, votes=votes)


def campaign_values(campaign: Campaign, unjudged: Sequence[Query], *, votes: int = 1) -> Floats:
    """The value of each query for picking among a campaign's candidates, given its judgments so far.

    Where the campaign is scored by severities, that model says what an answer would change. Otherwise the tree model
    does: it learns from the judgments where two workers gave some, else it has the parameters that it starts with.
    """
    if not unjudged:
        return np.zeros(0)
    with campaign.database() as db:
        looked_up = LookedUp.read(campaign, db)
    return looked_up.values(unjudged, votes)


def worthwhile(campaign: Campaign, unjudged: Sequence[Query], *, votes: int = 1) -> list[Query]:
    """The queries whose answers may change which candidates are best, each with its value, the highest first."""
    return _worthwhile(unjudged, campaign_values(campaign, unjudged, votes=votes))


def _worthwhile(unjudged: Sequence[Query], values: Floats) -> list[Query]:
    useful = np.flatnonzero(values > WORTHLESS)
    order = useful[np.argsort(-values[useful], kind="stable")]
    return [
        replace(unjudged[i], value=value)
        for i, value in zip(order.tolist(), values[order].tolist(), strict=True)
    ]
