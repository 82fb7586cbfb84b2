"""``rypt queries``: the phrases without a label, or the most valuable ones within a budget."""

from decimal import Decimal

import click

from rypt.console import CAMPAIGN, MONEY, QUIET, talk, watcher
from rypt.options import QUERY_FORMS, SELECTIONS

SECOND = click.FloatRange(0.001, 1e6)
AT_LEAST_1 = click.IntRange(min=1)
SELECT = (
    "Ask about the frontier, the constituents that cover each segment once; about those on the frontier "
    "whose answers may change which candidates are best, most valuable first (value); or about all "
    "constituents up to --max-len."
)
BUDGET = (
    "Print only the queries that this amount pays for, at --wage and --seconds for each label. Controls "
    "and fees are not "
    "included (`rypt hits make --budget` includes them)."
)
SECONDS = "Time that a label takes, in seconds; the default is the paper's [8.4]."
FORMAT = "JSONL, or CSV with columns for label and worker [jsonl]."


@click.command()
@CAMPAIGN
@click.option("--select", type=click.Choice(SELECTIONS), default="frontier", show_default=True, help=SELECT)
@click.option("--budget", type=MONEY, help=BUDGET)
@click.option("--limit", type=AT_LEAST_1, help="Maximum number of queries.")
@click.option("--wage", type=MONEY, default="12.00", help="Dollars an hour [12.00].")
@click.option("--seconds", type=SECOND, default=8.4, help=SECONDS)
@click.option("--assignments", type=AT_LEAST_1, default=1, help="Workers who answer each query [1].")
@click.option("--max-len", type=AT_LEAST_1, help="Maximum length of a constituent, in source words [4].")
@click.option("--max-gaps", type=int, default=1, help="Maximum number of gaps in a phrase [1].")
@click.option("--max-phrase-words", type=int, default=8, help="Maximum number of words in a phrase [8].")
@click.option("--format", "form", type=click.Choice(QUERY_FORMS), default="jsonl", help=FORMAT)
@click.option("-o", "--output", type=click.Path(), default="-", help="Write to this file instead of stdout.")
@QUIET
def queries(
    campaign: str,
    select: str,
    budget: Decimal | None,
    limit: int | None,
    wage: Decimal,
    seconds: float,
    assignments: int,
    max_len: int | None,
    max_gaps: int,
    max_phrase_words: int,
    form: str,
    output: str,
    quiet: bool,
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
        limits=QueryLimits(max_gaps=max_gaps, max_phrase_words=max_phrase_words),
        budget=budget,
        limit=limit,
        price=LabelPrice(wage, Decimal(str(seconds)), assignments),
        watch=watcher(quiet=quiet),
    )
    asked.write(output, form)
    talk(asked.summary(), quiet=quiet)
    if form == "csv" and output != "-":
        talk(asked.sheet_note(), quiet=quiet)
        filled = f"next: fill in label (y, n or ?) and worker in {output}"
        talk(f"{filled}, then rypt import {output} -C {campaign}", quiet=quiet)
