"""``rypt rank plan`` and ``evaluate``: what a ranking costs, and which model to trust."""

import json
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING

import click

from hits.cli.rank.shared import LEVEL, SEED, THREADS, counter, reading_options
from rypt.console import JSON, MONEY, QUIET, talk
from rypt.signature import signature

if TYPE_CHECKING:
    from hits.ranking.evaluate import ModelEvaluation
    from hits.ranking.plan import JudgmentPlan
    from hits.ranking.readers.files import ComparisonFiles


def _share(context: click.Context, option: click.Parameter, value: str) -> float:
    """A share: 70% or 0.7."""
    try:
        share = float(value.removesuffix("%")) / (100 if value.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise click.BadParameter(f"expected a share such as 0.7 or 70%, got {value!r}")
    return share


def _sizes(context: click.Context, option: click.Parameter, value: str) -> list[int]:
    """Whole numbers separated by commas."""
    sizes = [part.strip() for part in value.split(",")]
    if not all(size.isdecimal() and int(size) for size in sizes):
        raise click.BadParameter(f"expected numbers from 1 separated by commas, got {value!r}")
    return [int(size) for size in sizes]


@click.command("plan")
@click.option(
    "--systems", type=click.IntRange(2, 1000), default=15, show_default=True, help="Number of systems."
)
@click.option(
    "--variance",
    type=click.FloatRange(min=0, min_open=True),
    default=10.0,
    show_default=True,
    help="Koehn's σ², 8 to 12 for WMT's data.",
)
@click.option(
    "--ways",
    type=click.IntRange(min=2),
    default=5,
    show_default=True,
    help="Number of systems in one ranking.",
)
@click.option(
    "--significant",
    callback=_share,
    metavar="SHARE",
    default="70%",
    show_default=True,
    help="Share of pairs that should differ significantly.",
)
@click.option(
    "--ties",
    callback=_share,
    metavar="SHARE",
    default="0%",
    show_default=True,
    help="Share of comparisons that will be ties.",
)
@LEVEL
@click.option("--wage", type=MONEY, help="Wage of workers, in dollars an hour [12.00].")
@click.option(
    "--market",
    type=click.Choice(["local", "mturk"]),
    default="local",
    show_default=True,
    help="Market whose fees are included.",
)
@click.option(
    "--experiments",
    type=click.IntRange(min=2),
    default=500,
    show_default=True,
    help="Number of simulated campaigns.",
)
@SEED
@JSON
def plan_(
    systems: int,
    variance: float,
    ways: int,
    significant: float,
    ties: float,
    level: float,
    wage: Decimal | None,
    market: str,
    experiments: int,
    seed: int,
    as_json: bool,
) -> None:
    """Estimate how many judgments make a share of all pairs of systems differ significantly, and what they cost."""
    from hits.payment import MIN_WAGE, MTURK_FEES, NO_FEES
    from hits.ranking.plan import plan

    planned = plan(
        systems,
        variance,
        significant,
        ways=ways,
        level=level,
        ties=ties,
        experiments=experiments,
        wage=MIN_WAGE if wage is None else wage,
        fees=MTURK_FEES if market == "mturk" else NO_FEES,
        seed=seed,
    )
    _print_plan(planned, as_json=as_json)


def _print_plan(planned: "JudgmentPlan", *, as_json: bool) -> None:
    price, world = planned.price, planned.world
    if as_json:
        facts = {
            "systems": world.systems,
            "variance": world.variance,
            "significant": planned.significant,
            "judgments": planned.judgments,
            "low": planned.low,
            "high": planned.high,
            "hits": planned.hits,
            "rewards": str(price.rewards),
            "fees": str(price.fees),
            "total": str(price.total),
            "hours": round(float(price.hours), 2),
            "experiments": planned.experiments,
            "seed": planned.seed,
        }
        click.echo(json.dumps(facts))
        return
    high = "more" if planned.high is None else f"{planned.high:,}"
    click.echo(
        f"{planned.judgments:,} judgments ({planned.low:,} to {high}) make {planned.significant:.0%} of the pairs of "
        f"{world.systems} systems differ significantly"
    )
    click.echo(
        f"{planned.hits:,} hits of {world.ways} systems: rewards ${price.rewards:,.2f} + fees ${price.fees:,.2f} "
        f"= ${price.total:,.2f}; about {price.hours:,.0f} hours"
    )


@click.command()
@reading_options
@click.option(
    "-m",
    "--model",
    "models",
    multiple=True,
    metavar="MODEL[:NAME=VALUE,…]",
    help="Model to evaluate. Repeatable [all].",
)
@click.option(
    "--sizes",
    callback=_sizes,
    default="100,200,400,800,1600,3200,6400",
    show_default=True,
    help="Numbers of comparisons to train on.",
)
@click.option(
    "--trials",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="Number of training sets of each size.",
)
@click.option(
    "--split",
    "how",
    type=click.Choice(("segments", "rows")),
    default="segments",
    show_default=True,
    help="Test on the least judged segments (Hopkins & May), or on rows drawn at random.",
)
@click.option(
    "--least",
    type=click.IntRange(min=1),
    default=2000,
    show_default=True,
    help="Minimum number of comparisons to test on.",
)
@click.option(
    "--test-judges",
    default="*",
    show_default=True,
    metavar="PATTERN",
    help="With --split rows: test on rows of judges whose names match.",
)
@THREADS
@click.option("--plot", type=click.Path(dir_okay=False), help="Write a plot to this file (.svg, .png, .pdf).")
@JSON
@QUIET
def evaluate(
    data: "ComparisonFiles",
    models: tuple[str, ...],
    sizes: list[int],
    trials: int,
    how: str,
    least: int,
    test_judges: str,
    threads: int,
    plot: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Measure how well models predict unseen comparisons: perplexity and accuracy."""
    from hits.ranking.evaluate import ENTRANTS, RADII, split_by_rows, split_by_segment
    from hits.ranking.evaluate import evaluate as evaluate_models
    from hits.ranking.model import read_model
    from rypt.picture import check_picture

    if how == "segments" and test_judges != "*":
        raise click.UsageError("--test-judges is for --split rows")
    if plot:
        check_picture(plot)
    named = {model: read_model(model) for model in models or ENTRANTS}
    comparisons, rng = data.read(), data.rng()
    if how == "segments":
        split = split_by_segment(comparisons, least)
    else:
        split = split_by_rows(comparisons, rng, least, test_judges)
    evaluation = evaluate_models(
        split,
        named,
        rng,
        sizes=sizes,
        trials=trials,
        radii=RADII,
        threads=threads,
        after_trial=counter("trials", quiet=quiet, total=len(sizes) * trials),
    )
    if plot:
        from hits.ranking.plot import plot_evaluation

        plot_evaluation(plot, evaluation)
        talk(f"{plot} written", quiet=quiet)
    _print_evaluation(evaluation, data.seed, as_json=as_json)


def _print_evaluation(evaluation: "ModelEvaluation", seed: int, *, as_json: bool) -> None:
    from tabulate import tabulate

    oracle = {"accuracy": evaluation.oracle_accuracy, "perplexity": evaluation.oracle_perplexity}
    if as_json:
        record = {"how": evaluation.how, "seed": seed, "oracle": oracle, "rows": evaluation.records()}
        click.echo(json.dumps(record))
        return
    models = list(dict.fromkeys(row.model for row in evaluation.rows))
    sizes = sorted({row.size for row in evaluation.rows})
    for measure in ("perplexity", "accuracy"):
        cells = {(row.model, row.size): _number(getattr(row, measure)) for row in evaluation.rows}
        lines = [[model, *(cells[model, size] for size in sizes)] for model in models]
        lines.append(["oracle", *[_number(oracle[measure])] * len(sizes)])
        click.echo(tabulate(lines, [measure, *sizes], disable_numparse=True) + "\n")
    click.echo(signature(evaluation.how, seed=seed))


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}" if isfinite(value) else "∞"
