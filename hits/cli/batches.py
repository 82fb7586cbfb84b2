"""``rypt hits make`` and ``controls``: batches of work for people."""

import sys
from collections.abc import Collection, Sequence
from typing import Any

import click

from hits.cli.shared import FOLDER, open_campaign, tell_price
from hits.records import Kind
from rypt.console import JSON, MONEY, QUIET, talk, watcher
from rypt.text import RyptError, plural, tokenize

SEED = click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Random seed.")
PICKS = "picks"  # the kind of batch that compares metrics' picks


@click.command()
@click.argument("campaign", type=FOLDER)
@click.option("-o", "--output", "folder", type=FOLDER, required=True, help="New folder for the batch.")
@click.option(
    "--kind",
    type=click.Choice([*map(str, Kind), PICKS]),
    default="label",
    show_default=True,
    help="What workers are asked: labels of phrases, to compare two systems, to rank five, or to compare the picks of "
    "metrics.",
)
@click.option(
    "--output-of",
    "outputs",
    multiple=True,
    metavar="SYSTEM=FILE",
    help="A system's output, one line per segment, for comparisons and rankings [the campaign's lists, if "
    "each has one candidate for every segment].",
)
@click.option("--metrics", help="For picks: the metrics, separated by commas [rypt,bleu].")
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
    "--limit",
    type=click.IntRange(min=1),
    help="Maximum number of questions; the most useful ones are taken, and controls are added.",
)
@click.option("--budget", type=MONEY, help="For labels: maximum cost of the batch in dollars, fees included.")
@click.option(
    "--controls",
    type=click.FloatRange(0, 0.5),
    default=0.1,
    show_default=True,
    help="Share of items that are controls.",
)
@click.option(
    "--training",
    type=click.IntRange(3, 5),
    help="For labels: number of controls that workers of your own market practise on, with explanations, before "
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
@click.option(
    "--alternatives",
    type=click.IntRange(1, 10),
    default=10,
    show_default=True,
    help="For labels: maximum number of phrases on a page.",
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
    "--no-reference", "reference", is_flag=True, flag_value=False, default=True, help="Hide the reference."
)
@click.option(
    "--reference-alignment",
    type=click.Path(dir_okay=False),
    help="For labels: word alignment of source and reference, to highlight the matching part of the reference.",
)
@click.option(
    "--interface",
    default="en",
    show_default=True,
    help="Language of the instructions, or a .toml file with instructions of your own.",
)
@SEED
@JSON
@QUIET
def make(
    campaign: str,
    folder: str,
    kind: str,
    outputs: tuple[str, ...],
    metrics: str | None,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Make a batch from a CAMPAIGN and print its price: batch.csv, template.html, batch.toml.

    A label batch asks about the phrases of the frontier that have no label yet. A comparison shows the candidates
    of two systems, a ranking those of up to five. `rypt compare preferences` shows the result of a batch of picks.
    The price includes the fees of the market in rypt.toml. The options of this command are recorded in batch.toml.
    """
    from hits.batch.make import make_batch
    from hits.batch.options import BatchOptions

    if kind != PICKS and metrics:
        raise click.UsageError("--metrics is for --kind picks")
    if kind == PICKS and outputs:
        raise click.UsageError("--output-of is for --kind comparison and ranking")
    try:
        of_kind = Kind.COMPARISON if kind == PICKS else Kind(kind)
        chosen = BatchOptions(kind=of_kind, outputs=_outputs(outputs), **options)
    except RyptError as error:
        raise click.UsageError(str(error)) from None
    if kind == PICKS:
        from hits.compare.picks import DEFAULT_METRICS, compare_metrics

        batch = compare_metrics(campaign, metrics or DEFAULT_METRICS).ask(folder, chosen)
    else:
        batch = make_batch(campaign, folder, chosen)
    for note in batch.notes:
        talk(f"note: {note}", quiet=quiet)
    tell_price(batch, as_json=as_json, what=f"{folder}: ")


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
    help="Word alignment of source and reference [made by the built-in aligner].",
)
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Maximum number of questions."
)
@SEED
@QUIET
def controls(campaign: str, reference_alignment: str | None, limit: int, seed: int, quiet: bool) -> None:
    """Verify controls for a CAMPAIGN that has no labels yet, with one key for each.

    Shows a part of the source and the part of the reference that is aligned with it. Press y if it is a good
    translation, which makes it a control that expects YES; n if not; s to skip it; q to stop. Without a terminal, the
    keys are read from stdin, one per line. `rypt hits make` uses the decisions, which are kept in controls.jsonl in
    the campaign's folder.
    """
    from itertools import islice

    from hits.batch.controls import (
        add_verified,
        align_references,
        control_candidates,
        mixed,
        read_reference_links,
    )
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
    decided = {"y": 0, "n": 0}
    for candidate in islice(mixed(candidates, seed), limit):
        click.echo(f"\n{_bracketed(candidate.query.source_text, range(*candidate.query.span))}", err=True)
        click.echo(_bracketed(candidate.reference, candidate.positions), err=True)
        key = _key()
        if key == "q":
            break
        if key in decided:
            add_verified(opened, candidate.key, Label.YES if key == "y" else Label.NO)
            decided[key] += 1
    click.echo(f"{plural(decided['y'], 'control')} verified, {decided['n']} refused")


def _bracketed(text: str, positions: Collection[int]) -> str:
    """A text with some of its tokens in brackets."""
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
