"""``rypt rank preferences``: two systems beside each other, judgment by judgment and segment by segment."""

import json
from typing import TYPE_CHECKING

import click

from hits.rank_shared_cli import data_options, read_data
from rypt.cli import JSON

if TYPE_CHECKING:
    from hits.preferences import Preferences


@click.command()
@data_options
@click.option("--systems", "pair", required=True, metavar="FIRST,SECOND", help="Which two.")
@click.option("--latex", is_flag=True, help="Print the tables for LaTeX.")
@JSON
def preferences(
    files: tuple[str, ...], format: str | None, languages: str | None, judges: str | None, excluded: tuple[str, ...],
    sample: int | None, not_judged: str, seed: int, pair: str, latex: bool, as_json: bool,
) -> None:  # fmt: skip
    """Say which of two systems people preferred: judgments for either, and segments by the difference of their votes.

    These are Tables 1 and 2 of the RYPT paper, with sign tests and a bootstrap interval over segments.
    """
    from hits.system_preferences import preferences_between

    names = pair.split(",")
    if len(names) != 2 or not all(names):
        raise click.UsageError(f"--systems {pair}: expected two names with a comma between")
    if latex and as_json:
        raise click.UsageError("--latex or --json, not both")
    comparisons = read_data(files, format, languages, judges, excluded, sample, not_judged, seed)
    found = preferences_between(comparisons, names[0], names[1])
    if as_json:
        click.echo(json.dumps(found.as_dict(), ensure_ascii=False))
        return
    click.echo(_tables(found, latex=latex))
    net, low, high = found.interval()
    click.echo(
        f"\n{found.first} - {found.second}: {100 * net:+.1f} points [{100 * low:+.1f}, {100 * high:+.1f}]; sign test "
        f"p = {found.p_judgments:.3g} over judgments, {found.p_segments:.3g} over segments"
    )
    if found.identical:
        click.echo(f"{found.identical} segments with the same text are set aside")


def _tables(found: "Preferences", *, latex: bool) -> str:
    from tabulate import tabulate

    look, judgments, segments = "latex_booktabs" if latex else "simple", sum(found.judgments), len(found.segments)
    sides = [found.first, found.second, "neither"]
    one = [(side, n, f"{100 * n / judgments:.1f}") for side, n in zip(sides, found.judgments, strict=True)]
    two = [
        ("±0" if at == 0 else f"{found.first if at > 0 else found.second} +{abs(at)}", n, f"{100 * n / segments:.1f}")
        for at, n in found.aggregates.items()
    ]
    return "\n\n".join(
        tabulate([*rows, ("total", total, "100.0")], head, tablefmt=look, disable_numparse=True,
                 colalign=("left", "right", "right"))
        for rows, total, head in (
            (one, judgments, ("preferred", "judgments", "%")), (two, segments, ("votes", "segments", "%")),
        )
    )  # fmt: skip
