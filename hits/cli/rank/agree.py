"""``rypt rank agree``: whether a metric, or another campaign, orders systems as people do."""

import json
from typing import TYPE_CHECKING

import click

from hits.cli.rank.shared import data_options
from rypt.console import JSON, QUIET, talk
from rypt.signature import rypt_version, signature

if TYPE_CHECKING:
    from hits.ranking.rank import ComparisonFiles


@click.command()
@data_options
@click.option(
    "--lower",
    multiple=True,
    type=click.Path(),
    metavar="FILE",
    help="A file whose scores are better when they are lower. Repeatable.",
)
@click.option(
    "--permutations",
    type=click.IntRange(min=2),
    default=1000,
    show_default=True,
    help="Number of permutations, or of resamples of comparisons, for soft pairwise accuracy.",
)
@JSON
@QUIET
def agree(
    data: "ComparisonFiles", lower: tuple[str, ...], permutations: int, as_json: bool, quiet: bool
) -> None:
    """Compare rankings with that of the first of FILES: pairwise accuracy, Kendall's tau, soft pairwise accuracy.

    The first file has people's scores or comparisons, each other file those of a metric or of another campaign, for the
    same systems. Scores are ranked by mean, comparisons by Expected Wins. Language pairs are compared apart, and
    together in a last line.
    """
    from tabulate import tabulate

    from hits.ranking.scores.agree import agree as compare

    if len(data.paths) < 2:
        raise click.UsageError("expected two files or more: a ranking, and others to compare with it")
    for file in lower:
        if file not in data.paths:
            raise click.UsageError(
                f"--lower {file}: expected one of the files {', '.join(map(str, data.paths))}"
            )
    agreements, notes = compare(data, permutations=permutations, lower=lower)
    for note in notes:
        talk(f"note: {note}", quiet=quiet)
    signed = signature("agree", permutations=permutations, seed=data.seed, rypt=rypt_version())
    if as_json:
        record = {
            "signature": signed,
            "first": str(data.paths[0]),
            "agreements": [a.as_dict() for a in agreements],
        }
        click.echo(json.dumps(record, ensure_ascii=False))
        return
    paired = any(made.languages for made in agreements)
    head = [
        "file",
        *(["languages"] if paired else []),
        "systems",
        "pairs",
        "accuracy",
        "significant",
        "tau",
        "soft",
    ]
    rows = [
        [
            made.name,
            *([made.languages] if paired else []),
            made.systems,
            made.pairs,
            f"{made.accuracy:.3f}",
            "" if made.significant is None else f"{made.significant:.3f} of {made.significant_pairs}",
            f"{made.tau:.3f}",
            f"{made.soft:.3f}",
        ]
        for made in agreements
    ]
    click.echo(tabulate(rows, head, disable_numparse=True))
    click.echo(
        "accuracy of pairs of systems, also of those that the first file tells apart significantly; tau-b; soft "
        "pairwise accuracy"
    )
    click.echo(signed)
