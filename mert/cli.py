"""``rypt tune``: weights for n-best lists."""

import json
import time
from typing import TYPE_CHECKING

import click

from rypt.cli import JSON, QUIET, progress, talk, watcher
from rypt.text import RyptError

if TYPE_CHECKING:
    from mert.metric import Metric


@click.command()
@click.argument("lists", nargs=-1, required=True)
@click.option("--metric", "name", type=click.Choice(["bleu", "rypt"]), default="bleu", show_default=True,
              help="What to climb.")  # fmt: skip
@click.option("--references", multiple=True, type=click.Path(), help="Reference files, for bleu.")
@click.option("--campaign", type=click.Path(file_okay=False), help="The campaign with the judgments, for rypt.")
@click.option("--weights", "start_file", type=click.Path(), help="Where to start [all weights 1].")
@click.option("--fix", multiple=True, metavar="FEATURE", help="A weight to hold.")
@click.option("--restarts", type=click.IntRange(min=0), default=20, show_default=True, help="Random starts besides.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of the random starts and directions.")
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True, help="Starts climbed at once.")
@click.option("-o", "--output", type=click.Path(), help="Write the weights here, in the form they were read.")
@JSON
@QUIET
def tune(
    lists: tuple[str, ...], name: str, references: tuple[str, ...], campaign: str | None, start_file: str | None,
    fix: tuple[str, ...], restarts: int, seed: int, threads: int, output: str | None, as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Find weights under which the best candidates of n-best LISTS win.

    Och's exact line search, along coordinates and random directions, from the given weights and random ones. The
    answer depends on the seed, not on the number of threads.
    """
    import numpy as np

    from mert.lists import read_lists
    from mert.optimize import make_problem, optimize
    from mert.weights import read_weights, write_weights

    seconds = {}
    clock = time.perf_counter()
    given = read_lists(lists, watcher(quiet=quiet))
    for feature in fix:
        if feature not in given.names:
            raise RyptError(f"--fix {feature}: the lists have the features {', '.join(given.names)}")
    start, form = read_weights(start_file, given.names) if start_file else (np.ones(len(given.names)), "moses")
    metric = _metric(name, references, campaign)
    seconds["read"] = time.perf_counter() - clock
    clock = time.perf_counter()
    problem = make_problem(given, metric, fixed=fix)
    seconds["stats"] = time.perf_counter() - clock
    clock = time.perf_counter()
    results = optimize(
        problem, start, restarts=restarts, seed=seed, threads=threads,
        watch=lambda found: progress(found, "climb", quiet=quiet, total=restarts + 1),
    )  # fmt: skip
    seconds["optimize"] = time.perf_counter() - clock
    best, start_score = results[0], problem.score(start)
    if output:
        write_weights(output, given.names, best.weights, form)
    signature = f"{metric.signature}|restarts:{restarts}|seed:{seed}|n:{len(given.segments)}"
    weights = dict(zip(given.names, best.weights.tolist(), strict=True))
    if as_json:
        facts = {"score": best.score, "start_score": start_score, "weights": weights, "signature": signature}
        click.echo(json.dumps({**facts, "seconds": seconds}))
        return
    for feature, value in weights.items():
        click.echo(f"{feature:30} {value: .6f}")
    click.echo(f"{name.upper()} {start_score:.4f} → {best.score:.4f} on {len(given.segments)} segments")
    click.echo(signature)
    spread = ", ".join(f"{result.score:.4f}" for result in results[1:4])
    talk(f"next best starts: {spread}; seconds: {_said(seconds)}", quiet=quiet)


def _said(seconds: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.1f}" for name, value in seconds.items())


def _metric(name: str, references: tuple[str, ...], campaign: str | None) -> "Metric":
    from mert.bleu import Bleu
    from mert.metric import Rypt, read_references

    if name == "bleu":
        if not references:
            raise click.UsageError("--metric bleu needs --references")
        return Bleu(read_references(references))
    if campaign is None:
        raise click.UsageError("--metric rypt needs --campaign")
    return Rypt.from_campaign(campaign)
