"""``rypt hits make`` and ``price``: batches of work for people, and what they cost."""

import sys
from collections.abc import Collection, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

import click

from hits.cli.shared import BATCH, FOLDER, MONEY, open_campaign, tell_price
from hits.records import Kind, same_text_note
from rypt.console import JSON, QUIET, talk, watcher
from rypt.text import plural

if TYPE_CHECKING:
    from hits.batch.make import MadeBatch

MARKET = click.option(
    "--market",
    type=click.Choice(["local", "mturk"]),
    default="local",
    show_default=True,
    help="Market whose fees are included; the local market has none.",
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
    "systems",
    multiple=True,
    metavar="SYSTEM=FILE",
    help="A system's output, one line per segment, for comparisons and rankings [the campaign's lists, if "
    "each has one candidate for every segment].",
)
@click.option(
    "--select",
    "selection",
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
    "--alternatives",
    type=click.IntRange(1, 10),
    default=10,
    show_default=True,
    help="For labels: maximum number of phrases on a page.",
)
@click.option("--no-reference", is_flag=True, help="Hide the reference.")
@click.option(
    "--reference-alignment",
    type=click.Path(dir_okay=False),
    help="Word alignment of source and reference, to highlight the matching part of the reference.",
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
    is_flag=True,
    help="Do not ask about constituents without a letter or digit, which otherwise come last.",
)
@click.option(
    "--severity/--no-severity",
    default=None,
    help='For labels: ask "NO, slightly" or "NO, badly" instead of NO [from rypt.toml: no].',
)
@click.option(
    "--allow-blank", is_flag=True, help="For labels: let workers leave a label out; it counts as NOT SURE."
)
@click.option(
    "--training",
    type=click.IntRange(3, 5),
    help="For labels: number of controls that workers of a local "
    "market practise on, with explanations, before their first hit [none].",
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
    systems: tuple[str, ...],
    selection: str,
    scores: tuple[str, ...],
    budget: Decimal | None,
    labels: int | None,
    max_len: int | None,
    alternatives: int,
    no_reference: bool,
    reference_alignment: str | None,
    controls: float,
    limit: int | None,
    no_punctuation: bool,
    severity: bool | None,
    allow_blank: bool,
    training: int | None,
    assignments: int | None,
    wage: Decimal | None,
    market: str,
    title: str | None,
    interface: str,
    seed: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Make a batch from a CAMPAIGN: batch.csv, template.html, batch.toml.

    A label batch asks about the phrases of the frontier that have no label yet. A comparison shows two systems'
    candidates, a ranking five. The options of this command are recorded in batch.toml.
    """
    from hits.batch.make import (
        BatchOptions,
        ComparisonQuestions,
        LabelQuestions,
        Questions,
        RankingQuestions,
        make_batch,
        verdict_notes,
    )

    _refuse_options_of_other_kinds(kind, systems, selection, limit, budget, labels)
    if scores and selection != "trueskill":
        raise click.UsageError("--scores is for --select trueskill")
    if severity and kind != "label":
        raise click.UsageError("--severity is for --kind label")
    if allow_blank and kind != "label":
        raise click.UsageError("--allow-blank is for --kind label")
    if training and kind != "label":
        raise click.UsageError("--training is for --kind label")
    questions: Questions
    if kind == "label":
        questions = LabelQuestions(
            budget=budget,
            labels=labels,
            select=selection,
            max_len=max_len,
            alternatives=alternatives,
            punctuation=not no_punctuation,
            reference_alignment=reference_alignment,
            severity=severity,
            blank=allow_blank,
            training=training or 0,
        )
    elif kind == "comparison":
        questions = ComparisonQuestions(_outputs(systems), selection, scores)
    else:
        questions = RankingQuestions(_outputs(systems))
    options = BatchOptions(
        reference=not no_reference,
        controls=controls,
        limit=limit,
        assignments=assignments,
        wage=wage,
        market=market,
        title=title,
        interface=interface,
        seed=seed,
    )
    batch = make_batch(campaign, folder, questions, options=options)
    tell_notes(batch, quiet=quiet)
    if batch.identical:
        talk(f"note: {same_text_note(len(batch.identical), _drawn(batch))}", quiet=quiet)
    for note in verdict_notes(batch):
        talk(f"note: {note}", quiet=quiet)
    tell_price(batch, batch.price, market, as_json=as_json, what=f"{folder}: ")


def tell_notes(batch: "MadeBatch", *, quiet: bool) -> None:
    """Report what could not be done while a batch was made."""
    for note in batch.notes:
        talk(f"note: {note}", quiet=quiet)


def _drawn(batch: "MadeBatch") -> int | None:
    """Of comparisons, the number of pairs that were drawn: those asked about and those with the same text."""
    if batch.settings.kind is not Kind.COMPARISON:
        return None
    return len(batch.identical) + sum(not item.columns["control"] for item in batch.items)


def _refuse_options_of_other_kinds(
    kind: str,
    systems: Sequence[str],
    selection: str,
    limit: int | None,
    budget: Decimal | None,
    labels: int | None,
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
