"""``rypt hits make`` and ``price``: batches of work for people, and what they cost."""

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

import click

from hits.cli.shared import BATCH, FOLDER, MONEY, tell_price
from rypt.console import JSON, QUIET, talk

if TYPE_CHECKING:
    from hits.asking.make import MadeBatch

MARKET = click.option("--market", type=click.Choice(["local", "mturk"]), default="local", show_default=True,
                      help="Whose fees to count: the local market takes none.")  # fmt: skip


@click.command()
@click.argument("campaign", type=FOLDER)
@click.option("-o", "--output", "folder", type=FOLDER, required=True, help="The new folder of the batch.")
@click.option("--kind", type=click.Choice(["label", "comparison", "ranking"]), default="label", show_default=True,
              help="What workers are asked for.")  # fmt: skip
@click.option("--output-of", "systems", multiple=True, metavar="SYSTEM=FILE",
              help="A system's output, a line a segment, for comparisons and rankings.")  # fmt: skip
@click.option(
    "--select",
    "selection",
    type=click.Choice(["all", "value", "trueskill"]),
    default="all",
    show_default=True,
    help='What to ask: all; "value" (labels) those that may change which candidates are best, most valuable first; '
    '"trueskill" (comparisons) those that TrueSkill learns most from, with --limit.',
)
@click.option("--budget", type=MONEY, help="For labels: the most the batch may cost in dollars, fees included.")
@click.option("--labels", type=click.IntRange(min=1), help="For labels: maximum number of new questions.")
@click.option(
    "--max-len",
    type=click.IntRange(min=1),
    help="For labels: longest constituent of the frontier, in source words [as rypt.toml says: 4].",
)
@click.option(
    "--alternatives",
    type=click.IntRange(1, 10),
    default=10,
    show_default=True,
    help="For labels: maximum number of phrases on a page.",
)
@click.option("--no-reference", is_flag=True, help="Hide the reference.")
@click.option("--reference-alignment", type=click.Path(dir_okay=False), help="Links of source and reference, to "
              "highlight its part.")  # fmt: skip
@click.option("--controls", type=click.FloatRange(0, 0.5), default=0.1, show_default=True, help="Share of controls.")
@click.option("--limit", type=click.IntRange(min=1), help="Maximum number of items that ask something new, the most "
              "useful first; controls are added to them.")  # fmt: skip
@click.option("--no-punctuation", is_flag=True, help="Do not ask about constituents without a letter or digit, which "
              "otherwise come last.")  # fmt: skip
@click.option("--severity/--no-severity", default=None, help='For labels: ask "NO, slightly" or "NO, badly" instead of '
              "NO [as rypt.toml says: no].")  # fmt: skip
@click.option("--assignments", type=click.IntRange(1, 1000), help="Number of workers who answer each item "
              "[as rypt.toml says: 1; comparison 3].")  # fmt: skip
@click.option(
    "--wage",
    type=MONEY,
    help="Dollars an hour that rewards are made from, by the times seen so far [as rypt.toml says: 12.00].",
)
@MARKET
@click.option("--title", help="What workers see in the list of hits.")
@click.option("--interface", default="en", show_default=True, help="The language of the instructions.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Random seed.")
@JSON
@QUIET
def make(
    campaign: str, folder: str, kind: str, systems: tuple[str, ...], selection: str, budget: Decimal | None,
    labels: int | None, max_len: int | None, alternatives: int, no_reference: bool, reference_alignment: str | None,
    controls: float, limit: int | None, no_punctuation: bool, severity: bool | None, assignments: int | None,
    wage: Decimal | None, market: str, title: str | None, interface: str, seed: int, as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Make a batch from a CAMPAIGN: batch.csv, template.html, batch.toml.

    A label batch asks about the phrases of the frontier that have no label yet. A comparison shows two systems'
    candidates, a ranking five. batch.toml keeps the options of this command.
    """
    from hits.asking.make import make_batch
    from hits.asking.questions import BatchOptions, ComparisonQuestions, LabelQuestions, Questions, RankingQuestions

    _refuse_options_of_other_kinds(kind, systems, selection, limit, budget, labels)
    if severity and kind != "label":
        raise click.UsageError("--severity is for --kind label")
    questions: Questions
    if kind == "label":
        questions = LabelQuestions(
            budget=budget, labels=labels, select=selection, max_len=max_len, alternatives=alternatives,
            punctuation=not no_punctuation, reference_alignment=reference_alignment, severity=severity,
        )  # fmt: skip
    elif kind == "comparison":
        questions = ComparisonQuestions(_outputs(systems), selection)
    else:
        questions = RankingQuestions(_outputs(systems))
    options = BatchOptions(
        reference=not no_reference, controls=controls, limit=limit, assignments=assignments, wage=wage, market=market,
        title=title, interface=interface, seed=seed,
    )  # fmt: skip
    batch = make_batch(campaign, folder, questions, options=options)
    tell_notes(batch, quiet=quiet)
    if batch.identical:
        talk(f"{len(batch.identical)} pairs of the same text need nobody; they will count as ties", quiet=quiet)
    tell_price(batch, batch.price, market, as_json=as_json, what=f"{folder}: ")


def tell_notes(batch: "MadeBatch", *, quiet: bool) -> None:
    """Say what could not be done while a batch was made."""
    for note in batch.notes:
        talk(f"note: {note}", quiet=quiet)


def _refuse_options_of_other_kinds(
    kind: str, systems: Sequence[str], selection: str, limit: int | None, budget: Decimal | None, labels: int | None
) -> None:
    if kind == "label" and systems:
        raise click.UsageError("--output-of is for comparisons and rankings")
    if selection == "value" and kind != "label":
        raise click.UsageError("--select value is for labels; comparisons have --select trueskill")
    if selection == "trueskill" and (kind != "comparison" or limit is None):
        raise click.UsageError("--select trueskill needs --kind comparison and --limit")
    if kind != "label" and (budget is not None or labels is not None):
        raise click.UsageError("--budget and --labels are for --kind label; --limit is for all kinds")


def _outputs(systems: Sequence[str]) -> dict[str, str]:
    """The file of each system."""
    outputs: dict[str, str] = {}
    for text in systems:
        name, equals, path = text.partition("=")
        if not equals or not name or not path:
            raise click.UsageError(f"--output-of {text}: expected SYSTEM=FILE")
        if name in outputs:
            raise click.UsageError(f"--output-of {text}: the system {name} is given twice")
        outputs[name] = path
    return outputs


@click.command()
@BATCH
@MARKET
@click.option("--min-wage", type=MONEY, help="Warn below this wage [12.00].")
@click.option("-C", "--campaign", type=FOLDER, help="Take the times seen in this campaign.")
@JSON
def price(batch: str, market: str, min_wage: Decimal | None, campaign: str | None, as_json: bool) -> None:
    """Say what a BATCH costs before anything is sent, how long it takes, and what workers earn.

    Times are those seen in the campaign, or else those of its making, or else 8.4 seconds a label, 30 a comparison, 15
    a candidate ranked.
    """
    from hits.asking.make import price as price_batch
    from hits.batches.folder import read_batch
    from hits.batches.price import MIN_WAGE

    read = read_batch(batch)
    least = MIN_WAGE if min_wage is None else min_wage
    tell_price(read, price_batch(read, market=market, campaign=campaign, min_wage=least), market, as_json=as_json)
