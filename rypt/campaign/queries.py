"""The open queries of a campaign: all of them, or the most valuable ones within a budget.

>>> LabelPrice(wage=Decimal(10), seconds=Decimal(9), assignments=3).each
Decimal('0.075')

asked = queries(campaign, select="value", budget="25.00")
asked[0].phrase, asked[0].value
asked.write("ask.csv", form="csv")           # with empty columns for label and worker
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import numpy as np

from rypt.arrays import Floats
from rypt.campaign.folder import Campaign
from rypt.csv_rows import csv_rows
from rypt.database.votes import read_votes
from rypt.options import QUERY_FORMS, SELECTIONS, check_option, money
from rypt.records import Query
from rypt.scoring.forest import Forest
from rypt.scoring.models import SeverityModel
from rypt.scoring.observations import JudgedPhrases, Places
from rypt.scoring.queries import QueryLimits, open_queries, write_queries
from rypt.scoring.value import WORTHLESS, query_rows, query_values
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
        return self.wage * self.seconds / 3600 * self.assignments


DEFAULT_PRICE = LabelPrice()


@dataclass(frozen=True, slots=True, repr=False)
class Queries:
    """The queries of a campaign within a budget, in the order in which to ask them.

    ``affordable`` are the queries themselves; ``useful`` counts those that would be asked with any budget, ``open``
    all without a label, of which some may be worth nothing for choosing candidates. ``case`` says whether labels are
    shared by phrases that differ in case alone ("lower") or not ("keep").
    """

    affordable: tuple[Query, ...]
    useful: int
    open: int
    price: LabelPrice
    case: str = "lower"

    def __len__(self) -> int:
        return len(self.affordable)

    def __iter__(self) -> Iterator[Query]:
        return iter(self.affordable)

    def __getitem__(self, index: int) -> Query:
        return self.affordable[index]

    def __repr__(self) -> str:
        segments = len({query.segment for query in self.affordable})
        asked = f"{plural(len(self), 'query', 'queries')} about {plural(segments, 'segment')}"
        return f"Queries({asked}, about ${self.cost:.2f})"

    @property
    def cost(self) -> Decimal:
        return len(self) * self.price.each

    def summary(self) -> str:
        """The number of queries, the places in candidates that the answers would serve, and the cost."""
        places = plural(sum(query.candidates for query in self.affordable), "place")
        pay = f"${self.price.wage} an hour and {self.price.seconds} seconds per label"
        lines = [
            f"{plural(len(self), 'query', 'queries')}, whose answers serve {places} in candidates",
            f"cost: about ${self.cost:.2f} at {pay}",
        ]
        if later := self.useful - len(self):
            lines.append(f"not in this selection: {later} more, about ${later * self.price.each:.2f}")
        if useless := self.open - self.useful:
            why = "because no answer to them changes which candidates are best"
            lines.append(f"not worth asking now: {useless} more, {why}")
        return "\n".join(lines)

    def sheet_note(self) -> str:
        """What a person who fills in the CSV should know of its phrases."""
        notes = ["case does not matter"] if self.case == "lower" else ["upper and lower case matter"]
        if any(GAP in query.phrase for query in self.affordable):
            notes.append(f"{GAP} stands for other words in between, which the example shows")
        return f"in phrases, {'; '.join(notes)}"

    def write(self, path: PathLike, form: str = "jsonl") -> None:
        """Write JSONL, or CSV with empty columns for label and worker.

        A sheet in which somebody filled in labels is not written over. A CSV file begins with a byte order mark;
        without it, spreadsheets show broken umlauts.
        """
        check_option("form", form, QUERY_FORMS)
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
    lines = [(number, f"{line}\n") for number, line in read_lines(path)]
    separator = max(",;\t", key=lines[0][1].count) if lines else ","
    names, *rows = [row for _, row in csv_rows(path, lines, delimiter=separator)] or [[]]
    column = names.index("label") if "label" in names else len(names)
    if any(row[column].strip() for row in rows if len(row) > column):
        found = "found labels that somebody filled in; import them with `rypt import`"
        raise InputError(path, None, f"expected a new file, {found}, and name another file")


def queries(
    campaign: Campaign,
    *,
    select: str = "frontier",
    max_len: int | None = None,
    limits: QueryLimits = DEFAULT_LIMITS,
    budget: Decimal | str | None = None,
    limit: int | None = None,
    price: LabelPrice = DEFAULT_PRICE,
    watch: Watch = unwatched,
) -> Queries:
    """The phrases of a campaign's candidates that have no judgment yet.

    ``select`` takes the constituents of the "frontier", which cover a segment once; those of them whose answers may
    change which candidates are best, the most valuable first ("value"); or "all" constituents of at most ``max_len``
    source words (by default as the settings say). Phrases beyond the ``limits`` are not asked about. With a ``budget``
    in dollars, only the first queries that it pays for at this ``price`` are returned; ``limit`` is the maximum
    number of queries.
    """
    check_option("select", select, SELECTIONS)
    if limit is not None and limit < 1:
        raise OptionError(f"limit must be at least 1, got {limit}")
    amount = None if budget is None else money(str(budget))
    if budget is not None and amount is None:
        raise OptionError(f"expected a budget in dollars such as 25.00, got {budget!r}")
    paid = None if amount is None else int(amount / price.each)
    if paid == 0:
        raise RyptError(f"a label costs ${price.each:.4f}, more than the budget of ${budget}")
    places, counts, case = _look_up(campaign)
    unjudged = open_queries(
        places,
        campaign.candidates,
        select="all" if select == "all" else "frontier",
        max_len=max_len or campaign.scoring.max_len,
        limits=limits,
        case=case,
        watch=watch,
    )
    useful = by_value(unjudged, places, counts, price.assignments) if select == "value" else unjudged
    return Queries(tuple(useful[:paid][:limit]), len(useful), len(unjudged), price, case)


def worthwhile(campaign: Campaign, unjudged: Sequence[Query], *, votes: int = 1) -> list[Query]:
    """The queries whose answers may change which candidates are best, each with its value, the highest first.

    ``votes`` is the number of workers who answer each.
    """
    places, counts, _ = _look_up(campaign)
    return by_value(unjudged, places, counts, votes)


def _look_up(campaign: Campaign) -> tuple[Places, Floats, str]:
    """The places of judged phrases in the candidates, the counts of their votes, and how case is compared."""
    with campaign.database() as db:
        counted, case = read_votes(db), db.case
    judged = JudgedPhrases(Forest(campaign.trees), counted.keys)
    return judged.look_up(campaign.candidates, case), counted.counts(), case


def by_value(unjudged: Sequence[Query], places: Places, counts: Floats, votes: int) -> list[Query]:
    """As `worthwhile`, by the severity model, whatever the campaign is scored by; ``counts`` are of judged phrases."""
    model = SeverityModel.fit(places.judged, counts)
    rows = query_rows(unjudged, places)
    values = query_values(model, places.observe(counts), rows, len(unjudged), votes=votes)
    order = np.argsort(-values, kind="stable").tolist()
    return [unjudged[i]._replace(value=float(values[i])) for i in order if values[i] > WORTHLESS]
