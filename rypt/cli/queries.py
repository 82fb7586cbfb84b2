"""``rypt queries``: the phrases without a label, or the most valuable ones within a budget."""

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any, TypeVar

import click

from rypt.console import CAMPAIGN, QUIET, talk, watcher
from rypt.options import QUERY_FORMS, SELECTIONS

F = TypeVar("F", bound=Callable[..., Any])
LIMITS = (
    ("--max-gaps", 1, "Maximum number of gaps in a phrase."),
    ("--max-gap-words", 4, "Maximum number of words in the gaps of a phrase."),
    ("--max-source-words", 6, "Maximum number of source words, whatever --max-len says."),
    ("--max-phrase-words", 8, "Maximum number of words in a phrase."),
    ("--max-extent", 12, "Maximum number of words from the first to the last of a phrase, gaps included."),
)
AT_LEAST_1 = click.IntRange(min=1)
SELECT = (
    "Ask about the frontier, the constituents that cover each segment once; about those of them whose answers may "
    "change which candidates are best, most valuable first (value); or about all constituents up to --max-len."
)
BUDGET = (
    "Print only as many queries as this amount pays for; a label costs --wage for --seconds. Controls and fees are not "
    "included (`rypt hits make --budget` includes them)."
)
SECONDS = "Time that a label takes, in seconds; the default is the paper's [8.4]."
FORMAT = "JSONL, or CSV with columns for label and worker [jsonl]."
SMALLEST, LARGEST = Decimal("0.0001"), Decimal(1_000_000_000)


def _amount(context: click.Context, option: click.Parameter, value: str | None) -> Decimal | None:
    """Read a wage, a time or a budget; anything else is wrong usage."""
    if value is None:
        return None
    try:
        number = Decimal(value)
    except InvalidOperation:
        number = Decimal(0)
    if not number.is_finite() or not SMALLEST <= number <= LARGEST:
        raise click.UsageError(
            f"expected {option.opts[-1]} as a number from {SMALLEST} to {LARGEST}, got {value!r}"
        )
    return number


def phrase_limits(command: F) -> F:
    """The options that limit which phrases are asked about, named as the fields of `QueryLimits`."""
    for name, default, text in reversed(LIMITS):
        command = click.option(name, type=int, default=default, show_default=True, help=text)(command)
    return command


@click.command()
@CAMPAIGN
@click.option("--select", type=click.Choice(SELECTIONS), default="frontier", show_default=True, help=SELECT)
@click.option("--budget", callback=_amount, metavar="DOLLARS", help=BUDGET)
@click.option("--limit", type=AT_LEAST_1, help="Maximum number of queries.")
@click.option("--wage", callback=_amount, default="12.00", metavar="DOLLARS", help="Dollars an hour [12.00].")
@click.option("--seconds", callback=_amount, default="8.4", metavar="NUMBER", help=SECONDS)
@click.option("--assignments", type=AT_LEAST_1, default=1, help="Workers who answer each query [1].")
@click.option("--max-len", type=AT_LEAST_1, help="Maximum length of a constituent, in source words [4].")
@phrase_limits
@click.option("--format", "form", type=click.Choice(QUERY_FORMS), default="jsonl", help=FORMAT)
@click.option("-o", "--output", type=click.Path(), default="-", help="Write to this file instead of stdout.")
@QUIET
def queries(
    campaign: str,
    select: str,
    budget: Decimal | None,
    limit: int | None,
    wage: Decimal,
    seconds: Decimal,
    assignments: int,
    max_len: int | None,
    form: str,
    output: str,
    quiet: bool,
    **limits: int,
) -> None:
    """Print the open queries (segment, span, phrase), and how many candidates each answer would serve."""
    from rypt.campaign.folder import Campaign
    from rypt.campaign.queries import LabelPrice
    from rypt.campaign.queries import queries as campaign_queries
    from rypt.scoring.queries import QueryLimits

    asked = campaign_queries(
        Campaign.open(campaign),
        select=select,
        max_len=max_len,
        limits=QueryLimits(**limits),
        budget=budget,
        limit=limit,
        price=LabelPrice(wage, seconds, assignments),
        watch=watcher(quiet=quiet),
    )
    asked.write(output, form)
    talk(asked.summary(), quiet=quiet)
    if form == "csv" and output != "-":
        talk(asked.sheet_note(), quiet=quiet)
        filled = f"next: fill in label (y, n or ?) and worker in {output}"
        talk(f"{filled}, then rypt import {output} -C {campaign}", quiet=quiet)
