"""``rypt queries``: the phrases without a label, or the most valuable ones within a budget."""

from decimal import Decimal, InvalidOperation

import click

from rypt.console import CAMPAIGN, QUIET, talk, watcher
from rypt.options import QUERY_FORMS, SELECTIONS

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


@click.command()
@CAMPAIGN
@click.option(
    "--select",
    type=click.Choice(SELECTIONS),
    default="frontier",
    show_default=True,
    help="Ask about the frontier, the constituents that cover each segment once; about those of "
    "them whose answers may change which candidates are best, most valuable first (value); "
    "or about all constituents up to --max-len.",
)
@click.option(
    "--budget",
    callback=_amount,
    metavar="DOLLARS",
    help="Print only as many queries as this amount pays for; a label costs --wage for --seconds. "
    "Controls and fees are not included (`rypt hits make --budget` includes them).",
)
@click.option("--limit", type=click.IntRange(min=1), help="Maximum number of queries.")
@click.option(
    "--wage",
    callback=_amount,
    default="12.00",
    show_default=True,
    metavar="DOLLARS",
    help="The wage of workers, in dollars an hour.",
)
@click.option(
    "--seconds",
    callback=_amount,
    default="8.4",
    show_default=True,
    metavar="NUMBER",
    help="Time that a label takes, in seconds; the default is the paper's.",
)
@click.option(
    "--assignments",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Number of workers who answer each query.",
)
@click.option(
    "--max-len", type=click.IntRange(min=1), help="Maximum length of a constituent, in source words [4]."
)
@click.option(
    "--max-gaps", type=int, default=1, show_default=True, help="Maximum number of gaps in a phrase."
)
@click.option(
    "--max-gap-words",
    type=int,
    default=4,
    show_default=True,
    help="Maximum number of words in the gaps of a phrase.",
)
@click.option(
    "--max-source-words",
    type=int,
    default=6,
    show_default=True,
    help="Maximum number of source words, whatever --max-len says.",
)
@click.option(
    "--max-phrase-words", type=int, default=8, show_default=True, help="Maximum number of words in a phrase."
)
@click.option(
    "--max-extent",
    type=int,
    default=12,
    show_default=True,
    help="Maximum number of words from the first to the last of a phrase, gaps included.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(QUERY_FORMS),
    default="jsonl",
    show_default=True,
    help="JSONL, or CSV with columns for label and worker.",
)
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
    max_gaps: int,
    max_gap_words: int,
    max_source_words: int,
    max_phrase_words: int,
    max_extent: int,
    form: str,
    output: str,
    quiet: bool,
) -> None:
    """Print the open queries (segment, span, phrase), and how many candidates each answer would serve."""
    from rypt.campaign.folder import Campaign
    from rypt.campaign.queries import LabelPrice
    from rypt.campaign.queries import queries as campaign_queries
    from rypt.scoring.queries import QueryLimits

    limits = QueryLimits(max_source_words, max_gaps, max_gap_words, max_phrase_words, max_extent)
    asked = campaign_queries(
        Campaign.open(campaign),
        select=select,
        max_len=max_len,
        limits=limits,
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
        talk(f"{filled}, then rypt db import {campaign} {output}", quiet=quiet)
