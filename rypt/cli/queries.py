"""``rypt queries``: what is still to ask, all of it or what is worth most for a sum of money."""

from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

import click

from rypt.console import QUIET, progress, talk
from rypt.options import SELECTIONS
from rypt.text import RyptError, open_output

if TYPE_CHECKING:
    from rypt.campaign.folder import Campaign
    from rypt.records import Query

SECONDS = "8.4"  # a label, by the paper
WAGE = "12.00"
SMALLEST, LARGEST = Decimal("0.0001"), Decimal(1_000_000_000)


@click.command()
@click.argument("campaign", type=click.Path(file_okay=False), default=".")
@click.option("--select", type=click.Choice(SELECTIONS), default="frontier", show_default=True,
              help="Constituents that cover a segment once; the same, those first whose answers may change what is at "
              "the top; or every constituent up to --max-len.")  # fmt: skip
@click.option("--budget", metavar="DOLLARS", help="Stop there: a label costs --wage for --seconds. Controls "
              "and fees come besides: `rypt hits make --budget` counts them.")  # fmt: skip
@click.option("--wage", default=WAGE, show_default=True, metavar="DOLLARS", help="An hour's.")
@click.option("--seconds", default=SECONDS, show_default=True, help="A label takes, by the paper.")
@click.option("--assignments", type=click.IntRange(min=1), default=1, show_default=True, help="Workers a query.")
@click.option("--max-len", type=click.IntRange(min=1), help="The longest constituent, in source words [4].")
@click.option("--max-gaps", type=int, default=1, show_default=True, help="Gaps in a phrase.")
@click.option("--max-gap-words", type=int, default=4, show_default=True, help="Words in its gaps.")
@click.option("--max-source-words", type=int, default=6, show_default=True, help="Source words, whatever --max-len.")
@click.option("--max-phrase-words", type=int, default=8, show_default=True, help="Words of a phrase.")
@click.option("--max-extent", type=int, default=12, show_default=True, help="Words from first to last, with gaps.")
@click.option("--format", "form", type=click.Choice(["jsonl", "csv", "pilot"]), default="jsonl", show_default=True,
              help="JSONL, CSV with columns for label and worker, or the form of the paper's authors.")  # fmt: skip
@click.option("-o", "--output", type=click.Path(), default="-", help="A file instead of stdout.")
@QUIET
def queries(
    campaign: str, select: str, budget: str | None, wage: str, seconds: str, assignments: int, max_len: int | None,
    max_gaps: int, max_gap_words: int, max_source_words: int, max_phrase_words: int, max_extent: int, form: str,
    output: str, quiet: bool,
) -> None:  # fmt: skip
    """Print what is still to ask: (segment, span, phrase), and how many candidates each answer would serve."""
    from rypt.campaign.folder import Campaign
    from rypt.metric.queries import QueryLimits, write_queries
    from rypt.metric.queries import queries as find_queries

    if select == "value" and form == "pilot":
        raise click.UsageError("--select value has no pilot form: its phrases are keys")
    price = _number("--wage", wage) * _number("--seconds", seconds) / 3600 * assignments
    most = None if budget is None else int(_number("--budget", budget) / price)
    if most == 0:
        raise RyptError(f"a label costs ${price:.4f}, more than the budget of ${budget}")
    opened = Campaign.open(campaign)
    with opened.database() as db:
        judged = {(votes.segment, votes.span, votes.phrase) for votes in db.votes()}
        case = db.case
    everything = find_queries(
        opened.trees,
        progress(opened.candidates, "queries", quiet=quiet),
        judged=judged,
        select="all" if select == "all" else "frontier",
        max_len=max_len or opened.scoring.max_len,
        limits=QueryLimits(max_source_words, max_gaps, max_gap_words, max_phrase_words, max_extent),
        case=case,
        gap="words" if form == "pilot" else "mark",
    )
    useful = _by_value(opened, everything, assignments) if select == "value" else everything
    found = useful[:most]
    with open_output(output) as stream:
        write_queries(found, stream, form)
    served = sum(query.candidates for query in found)
    talk(f"{len(found)} queries; their answers serve {served} places in candidates", quiet=quiet)
    if len(useful) < len(everything):
        talk(f"{len(everything) - len(useful)} more would not change which candidates are best", quiet=quiet)
    talk(f"about ${len(found) * price:.2f} at ${wage} an hour and {seconds} seconds a label"
         + (f"; all would be ${len(useful) * price:.2f}" if len(found) < len(useful) else ""), quiet=quiet)  # fmt: skip


def _by_value(campaign: "Campaign", found: "list[Query]", assignments: int) -> "list[Query]":
    """Those worth asking, with their values, the highest first."""
    from rypt.campaign.asking import worthwhile

    return worthwhile(campaign, found, votes=assignments)


def _number(name: str, text: str) -> Decimal:
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal(0)
    if not number.is_finite() or not SMALLEST <= number <= LARGEST:
        raise click.UsageError(f"expected {name} as a number from {SMALLEST} to {LARGEST}, found {text!r}")
    return number
