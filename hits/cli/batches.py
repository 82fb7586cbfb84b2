"""``rypt hits make`` and ``price``: batches of work for people, and what they cost."""

import sys
from collections.abc import Collection, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from hits.cli.shared import BATCH, FOLDER, MONEY, open_campaign, read_market, tell_price
from hits.records import Kind
from rypt.console import JSON, QUIET, talk, watcher
from rypt.text import RyptError, plural

if TYPE_CHECKING:
    from hits.batch.make import MadeBatch

MARKET = click.option(
    "--market",
    default="market",
    show_default=True,
    callback=lambda context, option, text: read_market(text).name,
    help="Market whose fees are included: a folder (your own, no fees), a URL, mturk, or mturk-sandbox.",
)


@click.command()
@click.argument("campaign", type=FOLDER)
@click.option("-o", "--output", "folder", type=FOLDER, required=True, help="New folder for the batch.")
@click.option(
    "--kind",
    type=click.Choice([str(kind) for kind in Kind]),
    default="label",
    show_default=True,
    help="What workers are asked.",
)
@click.option(
    "--output-of",
    "outputs",
    multiple=True,
    metavar="SYSTEM=FILE",
    help="A system's output, one line per segment, for comparisons and rankings [the campaign's lists, if "
    "each has one candidate for every segment].",
)
@click.option(
    "--select",
    type=click.Choice(["all", "value", "trueskill"]),
    default="all",
    show_default=True,
    help='Which questions to ask: "all"; "value" (for labels), those that may change which '
    'candidates are best, most valuable first; "trueskill" (for comparisons, with --limit), '
    "those from which TrueSkill learns most.",
)
@click.option(
    "--scores",
    multiple=True,
    type=click.Path(),
    help="With --select trueskill: a file of segment scores (ESA, MQM, …), which say how the systems compare "
    "so far. Repeatable.",
)
@click.option("--budget", type=MONEY, help="For labels: maximum cost of the batch in dollars, fees included.")
@click.option("--labels", type=click.IntRange(min=1), help="For labels: maximum number of new questions.")
@click.option(
    "--max-len",
    type=click.IntRange(min=1),
    help="For labels: maximum length of a constituent of the frontier, in source words [from rypt.toml: 4].",
)
@click.option(
    "--alternatives", type=click.IntRange(1, 10), help="For labels: maximum number of phrases on a page [10]."
)
@click.option(
    "--no-reference", "reference", is_flag=True, flag_value=False, default=True, help="Hide the reference."
)
@click.option(
    "--reference-alignment",
    type=click.Path(dir_okay=False),
    help="For labels: word alignment of source and reference, to highlight the matching part of the reference.",
)
@click.option(
    "--controls",
    type=click.FloatRange(0, 0.5),
    default=0.1,
    show_default=True,
    help="Share of items that are controls.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    help="Maximum number of items without controls; the most useful ones are taken, and controls are added.",
)
@click.option(
    "--no-punctuation",
    "punctuation",
    is_flag=True,
    flag_value=False,
    default=True,
    help="For labels: do not ask about constituents without a letter or digit, which otherwise come last.",
)
@click.option(
    "--severity/--no-severity",
    default=None,
    help='For labels: ask "NO, slightly" or "NO, badly" instead of NO [from rypt.toml: no].',
)
@click.option(
    "--allow-blank",
    "blank",
    is_flag=True,
    help="For labels: let workers leave a label out; it counts as NOT SURE.",
)
@click.option(
    "--training",
    type=click.IntRange(3, 5),
    help="For labels: number of controls that workers of a local market practise on, with explanations, before "
    "their first hit [none].",
)
@click.option(
    "--assignments",
    type=click.IntRange(1, 1000),
    help="Number of workers who answer each item [from rypt.toml: 1; comparison 3].",
)
@click.option(
    "--wage",
    type=MONEY,
    help="Wage in dollars an hour, from which rewards are computed by the times measured so far "
    "[from rypt.toml: 12.00].",
)
@MARKET
@click.option("--title", help="Title that workers see in the list of hits.")
@click.option(
    "--interface",
    default="en",
    show_default=True,
    help="Language of the instructions, or a .toml file with instructions of your own.",
)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Random seed.")
@JSON
@QUIET
def make(
    campaign: str,
    folder: str,
    kind: str,
    outputs: tuple[str, ...],
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Make a batch from a CAMPAIGN: batch.csv, template.html, batch.toml.

    A label batch asks about the phrases of the frontier that have no label yet. A comparison shows two systems'
    candidates, a ranking five. The options of this command are recorded in batch.toml.
    """
    from hits.batch.make import make_batch
    from hits.batch.options import BatchOptions

    try:
        asked = BatchOptions(kind=Kind(kind), outputs=_outputs(outputs), **options)
    except RyptError as error:
        raise click.UsageError(str(error)) from None
    batch = make_batch(campaign, folder, asked)
    tell_notes(batch, quiet=quiet)
    tell_price(batch, batch.price, asked.market, as_json=as_json, what=f"{folder}: ")


def tell_notes(batch: "MadeBatch", *, quiet: bool) -> None:
    """Report what could not be done while a batch was made."""
    for note in batch.notes:
        talk(f"note: {note}", quiet=quiet)


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
@click.argument("campaign", type=FOLDER)
@click.option(
    "--reference-alignment",
    type=click.Path(dir_okay=False),
    help="Word alignment of source and reference [made by the aligner that is installed].",
)
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Maximum number to look at."
)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Random seed.")
@QUIET
def controls(campaign: str, reference_alignment: str | None, limit: int, seed: int, quiet: bool) -> None:
    """Verify controls for a CAMPAIGN that has no labels yet: one key for each.

    Shows a part of the source and the part of the reference that a program aligned with it. y: it is a good
    translation, and becomes a control that expects YES; n: it is not; s: skip; q: stop. Without a terminal, the keys
    are read from stdin, one a line. The decisions are kept in controls.jsonl in the campaign's folder, where `rypt hits
    make` finds them.
    """
    from itertools import islice

    from hits.batch.alternatives import read_reference_links
    from hits.batch.label_controls import add_verified, align_references, control_candidates, mixed
    from rypt.records import Label

    opened = open_campaign(campaign)
    if reference_alignment is None:
        talk("aligning references with their segments", quiet=quiet)
        links = align_references(opened, watcher(quiet=quiet))
    else:
        links = read_reference_links(reference_alignment, opened)
    candidates = control_candidates(opened, links)
    if not candidates:
        talk("no part of a reference is left to verify", quiet=quiet)
    accepted = refused = 0
    for candidate in islice(mixed(candidates, seed), limit):
        click.echo(f"\n{_bracketed(candidate.query.source_text, range(*candidate.query.span))}", err=True)
        click.echo(_bracketed(candidate.reference, candidate.positions), err=True)
        key = _key()
        if key == "q":
            break
        if key in "yn":
            add_verified(opened, {candidate.key: Label.YES if key == "y" else Label.NO})
            accepted, refused = accepted + (key == "y"), refused + (key == "n")
    click.echo(f"{plural(accepted, 'control')} verified, {refused} refused")


def _bracketed(text: str, positions: Collection[int]) -> str:
    """A text with some of its tokens in brackets."""
    from rypt.text import tokenize

    parts = [f"[{token}]" if i in positions else token for i, token in enumerate(tokenize(text))]
    return " ".join(parts).replace("] [", " ")


def _key() -> str:
    """One of the keys y, n, s and q; the end of the input is q."""
    while True:
        click.echo("good translation? [y/n/s/q] ", err=True, nl=False)
        if sys.stdin.isatty():
            key = click.getchar().lower()
            click.echo(key, err=True)
        else:
            line = sys.stdin.readline()
            key = line.strip().lower() if line else "q"
        if key in ("y", "n", "s", "q"):
            return key


@click.command()
@BATCH
@MARKET
@click.option(
    "--min-wage", type=MONEY, help="Warn if workers earn less than this, in dollars an hour [12.00]."
)
@click.option("-C", "--campaign", type=FOLDER, help="Use the times measured in this campaign.")
@JSON
def price(batch: str, market: str, min_wage: Decimal | None, campaign: str | None, as_json: bool) -> None:
    """Estimate what a BATCH costs, how long it takes, and what workers earn; nothing is sent.

    Uses the times measured in the campaign, else those recorded when the batch was made, else 8.4 seconds per label, 30
    per comparison and 15 per ranked candidate.
    """
    from hits.batch.folder import read_batch
    from hits.batch.make import price as price_batch
    from hits.payment import MIN_WAGE

    read = read_batch(batch)
    least = MIN_WAGE if min_wage is None else min_wage
    tell_price(
        read, price_batch(read, market=market, campaign=campaign, min_wage=least), market, as_json=as_json
    )
