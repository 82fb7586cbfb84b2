"""``rypt rank simulate``, ``plan``, ``evaluate``: how good rankings are, what they cost, which model to trust."""

import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hits.cli.rank.shared import LEVEL, PLOT, SEED, THREADS, counter, data_options
from hits.cli.shared import MONEY
from hits.ranking.names import FORMATS, SHAPES, UNITS
from rypt.console import JSON, QUIET, progress, talk
from rypt.signature import signature

if TYPE_CHECKING:
    from hits.ranking.data import Comparisons
    from hits.ranking.evaluate import ModelEvaluation
    from hits.ranking.rank import ComparisonFiles
    from hits.ranking.simulation.plan import JudgmentPlan
    from hits.ranking.simulation.simulate import Simulated, SimulatedWorld

F = TypeVar("F", bound=Callable[..., Any])
JUDGMENTS = (10_000, 20_000, 30_000, 40_000, 50_000)
CUMINGS_MODELS = ("expected-wins", "bojar", "mfas", "winning-percentage", "testimonial")


class ShareType(click.ParamType[float]):
    """A share: 70% or 0.7."""

    name = "share"

    def convert(self, value: Any, param: Any, context: Any) -> float:
        """Read a number between 0 and 1, or with % between 0 and 100."""
        text = str(value)
        try:
            share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            share = -1.0
        if not 0 <= share <= 1:
            self.fail(f"expected a share such as 0.7 or 70%, got {value!r}", param, context)
        return share


class Numbers(click.ParamType[tuple[float, ...]]):
    """Numbers separated by commas: 100,200,400."""

    name = "numbers"

    def convert(self, value: Any, param: Any, context: Any) -> tuple[float, ...]:
        """Read them all."""
        if isinstance(value, tuple):
            return value
        try:
            numbers = tuple(float(part) for part in str(value).split(","))
        except ValueError:
            numbers = (float("nan"),)
        if not all(isfinite(number) for number in numbers):
            self.fail(f"expected numbers separated by commas, got {value!r}", param, context)
        return numbers


def world_options(command: F) -> F:
    """Options of Koehn's simulation."""
    for option in reversed(
        [
            click.option("--systems", type=click.IntRange(2, 1000), help="Number of systems [15]."),
            click.option(
                "--variance",
                type=click.FloatRange(min=0, min_open=True),
                help="Koehn's σ², 8 to 12 for WMT's data [10].",
            ),
            click.option(
                "--ways",
                type=click.IntRange(min=2),
                default=5,
                show_default=True,
                help="Number of systems in one ranking.",
            ),
            click.option(
                "--noise",
                type=click.Choice(("table", "text")),
                default="table",
                show_default=True,
                help="Take σ² as a standard deviation, as Koehn's tables do, or as a variance, as his text says.",
            ),
            click.option(
                "--sides",
                type=click.IntRange(1, 2),
                default=1,
                show_default=True,
                help="Sides of the sign test.",
            ),
            click.option(
                "--level",
                type=click.FloatRange(0, 1, min_open=True, max_open=True),
                default=0.05,
                show_default=True,
                help="Significance level of the sign test.",
            ),
        ]
    ):
        command = option(command)
    return command


@click.command()
@click.argument("files", nargs=-1, type=click.Path())
@world_options
@click.option(
    "--judgments",
    multiple=True,
    type=click.IntRange(min=1),
    help="Number of comparisons in an experiment; may be repeated [10000 … 50000].",
)
@click.option(
    "--method",
    type=click.Choice(("pairwise", "bootstrap", "both")),
    default="both",
    show_default=True,
    help="Method for rank ranges.",
)
@click.option(
    "--unit",
    type=click.Choice(UNITS),
    help="Unit that the bootstrap draws [row, as Koehn's program; his slides say comparison].",
)
@click.option(
    "--range",
    "shape",
    type=click.Choice(SHAPES),
    help="Shape of bootstrap ranges [densest, as in Koehn's program; his slides drop the ends].",
)
@click.option(
    "--experiments", type=click.IntRange(min=1), help="Number of repetitions [Koehn 200, Cumings 1000]."
)
@click.option(
    "-m",
    "--model",
    "models",
    multiple=True,
    metavar="MODEL[:NAME=VALUE,…]",
    help="Model whose ranking error is shown, or with FILES how often it finds the true ranking. Repeatable.",
)
@click.option(
    "--format", type=click.Choice(FORMATS), help="Format of the files [detected from their content]."
)
@click.option(
    "--exclude-system", "excluded", multiple=True, metavar="NAME", help="Leave out this system. Repeatable."
)
@SEED
@THREADS
@JSON
@QUIET
def simulate(
    files: tuple[str, ...],
    systems: int | None,
    variance: float | None,
    ways: int,
    noise: str,
    sides: int,
    level: float,
    judgments: tuple[int, ...],
    method: str,
    unit: str | None,
    shape: str | None,
    experiments: int | None,
    models: tuple[str, ...],
    format: str | None,
    excluded: tuple[str, ...],
    seed: int,
    threads: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Simulate judgments where the truth is known.

    Without FILES Koehn's Monte Carlo: ranking error, range size, violations, clusters for growing numbers of
    judgments; with -m the ranking error of each model. With FILES Cumings' resampling: how often each model returns the
    true ranking of data like theirs.
    """
    if files:
        from hits.ranking.rank import ComparisonFiles
        from hits.ranking.readers.files import Filters

        if any(given is not None for given in (systems, variance, unit, shape)) or judgments:
            raise click.UsageError(
                "--systems, --variance, --judgments, --unit and --range are for a simulation without files"
            )
        comparisons = ComparisonFiles(files, format, Filters(exclude=excluded), seed).read()
        _tell_success(
            comparisons, models or CUMINGS_MODELS, experiments or 1000, seed, threads, as_json=as_json
        )
        return
    if format or excluded:
        raise click.UsageError("--format and --exclude-system are for a simulation of FILES")
    from hits.ranking.simulation.simulate import SimulatedWorld
    from hits.ranking.simulation.simulate import simulate as run

    world = SimulatedWorld(systems or 15, variance or 10.0, ways, noise, level, sides)
    if models:
        if unit is not None or shape is not None:
            raise click.UsageError("--unit and --range are for ranges; --model compares ranking errors")
        sizes = list(judgments or JUDGMENTS)
        _tell_errors(world, models, sizes, experiments or 200, seed, threads, as_json=as_json, quiet=quiet)
        return
    methods = ("pairwise", "bootstrap") if method == "both" else (method,)
    tasks = [(count, how) for count in judgments or JUDGMENTS for how in methods]
    drawn, kind = unit or "row", shape or "densest"
    simulated = [
        run(
            world,
            count,
            experiments=experiments or 200,
            method=how,
            unit=drawn,
            shape=kind,
            seed=seed,
            threads=threads,
        )
        for count, how in progress(tasks, "simulations", quiet=quiet)
    ]
    _tell_simulated(simulated, f"{drawn}-{kind}", seed, as_json=as_json)


def _tell_errors(
    world: "SimulatedWorld",
    models: Sequence[str],
    sizes: Sequence[int],
    experiments: int,
    seed: int,
    threads: int,
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    """The ranking error of each model, as a share of pairs of systems."""
    from tabulate import tabulate

    from hits.ranking.evaluate import read_entrant
    from hits.ranking.simulation.simulate import ranking_errors

    fitted = [read_entrant(text).model for text in models]
    tables = [
        ranking_errors(world, fitted, size, experiments=experiments, seed=seed, threads=threads)
        for size in progress(sizes, "simulations", quiet=quiet)
    ]
    if as_json:
        rows = [
            {
                "judgments": size,
                "model": model,
                "error": float(table[:, k].mean()),
                "standard_error": float(table[:, k].std() / experiments**0.5),
            }
            for size, table in zip(sizes, tables, strict=True)
            for k, model in enumerate(models)
        ]
        click.echo(json.dumps({"seed": seed, "experiments": experiments, "errors": rows}))
        return
    lines = [
        [f"{size:,}", *(f"{table[:, k].mean():.2%}" for k in range(len(models)))]
        for size, table in zip(sizes, tables, strict=True)
    ]
    click.echo("ranking error: pairs of systems in the wrong order")
    click.echo(tabulate(lines, ["judgments", *models], disable_numparse=True, stralign="right"))
    click.echo(
        signature(
            "koehn",
            systems=world.systems,
            variance=world.variance,
            noise=world.noise,
            ways=world.ways,
            experiments=experiments,
            seed=seed,
        )
    )


def _tell_simulated(simulated: "Sequence[Simulated]", bootstrap: str, seed: int, *, as_json: bool) -> None:
    from dataclasses import asdict

    from tabulate import tabulate

    if as_json:
        facts = {"seed": seed, "bootstrap": bootstrap, "simulations": [asdict(each) for each in simulated]}
        click.echo(json.dumps(facts))
        return
    head = (
        "judgments",
        "ranges by",
        "significant",
        "ranking error",
        "range size",
        "outside",
        "clusters",
        "outside",
    )
    rows = [
        (
            f"{each.judgments:,}",
            each.method,
            f"{each.significant:.1%}",
            f"{each.error:.2%}",
            f"{each.range_size:.2f}",
            f"{each.range_violations:.2%}",
            f"{each.clusters:.2f}",
            f"{each.cluster_violations:.2%}",
        )
        for each in simulated
    ]
    click.echo(tabulate(rows, head, disable_numparse=True, stralign="right"))
    world = simulated[0].world
    click.echo(
        signature(
            "koehn",
            systems=world.systems,
            variance=world.variance,
            noise=world.noise,
            ways=world.ways,
            sides=world.sides,
            bootstrap=bootstrap,
            experiments=simulated[0].experiments,
            seed=seed,
        )
    )


def _tell_success(
    comparisons: "Comparisons",
    models: Sequence[str],
    iterations: int,
    seed: int,
    threads: int,
    *,
    as_json: bool,
) -> None:
    from tabulate import tabulate

    from hits.ranking.evaluate import read_entrant
    from hits.ranking.simulation.likeness import likeness, success

    like = likeness(comparisons.counts()[0])
    rates = success(
        [read_entrant(text).model for text in models], like, iterations=iterations, seed=seed, threads=threads
    )
    if as_json:
        facts = {
            "systems": like.systems,
            "comparisons": like.comparisons,
            "deviation": like.deviation,
            "share": like.share,
            "iterations": iterations,
            "seed": seed,
            "success": dict(zip(models, rates, strict=True)),
        }
        click.echo(json.dumps(facts))
        return
    error = [(rate * (1 - rate) / iterations) ** 0.5 for rate in rates]
    rows = [(m, f"{rate:.1%}", f"{e:.1%}") for m, rate, e in zip(models, rates, error, strict=True)]
    click.echo(tabulate(rows, ("model", "true ranking found", "±"), disable_numparse=True))
    compared = f"{like.comparisons:.1f}±{like.deviation:.1f}"
    click.echo(
        signature(
            "cumings",
            systems=like.systems,
            comparisons=compared,
            share=f"{like.share:.3f}",
            iterations=iterations,
            seed=seed,
        )
    )


@click.command("curve")
@data_options
@click.option("--sizes", type=Numbers(), help="Numbers of comparisons [all, a half, a quarter, …].")
@click.option(
    "--trials", type=click.IntRange(min=1), default=20, show_default=True, help="Draws of each size."
)
@click.option(
    "--sides", type=click.IntRange(1, 2), default=1, show_default=True, help="Sides of the sign test."
)
@click.option(
    "--variance",
    type=click.FloatRange(min=0, min_open=True),
    default=10.0,
    show_default=True,
    help="Koehn's σ² of the simulation beside.",
)
@LEVEL
@PLOT
@JSON
def curve(
    data: "ComparisonFiles",
    sizes: tuple[float, ...] | None,
    trials: int,
    sides: int,
    variance: float,
    level: float,
    plot: str | None,
    as_json: bool,
) -> None:
    """Show how many pairs of systems more and more comparisons tell apart, beside Koehn's simulation."""
    from tabulate import tabulate

    from hits.ranking.simulation.distinguish import default_sizes, told_apart_curve

    if sizes and any(size != int(size) for size in sizes):
        raise click.UsageError("--sizes: expected whole numbers from 1")
    comparisons = data.read()
    counts = [int(size) for size in sizes] if sizes else default_sizes(comparisons)
    points = told_apart_curve(
        comparisons, counts, data.rng(), trials=trials, level=level, sides=sides, variance=variance
    )
    if plot:
        from hits.ranking.plot import plot_curves

        lines = {
            "these judgments": [(point.comparisons, point.share) for point in points],
            f"simulation, σ² = {variance:g}": [
                (point.comparisons, point.simulated or 0.0) for point in points
            ],
        }
        plot_curves(plot, ["pairs told apart"], [lines], "comparisons")
        talk(f"{plot} written", quiet=False)
    if as_json:
        record = [
            {
                "comparisons": point.comparisons,
                "share": point.share,
                "spread": point.spread,
                "simulated": point.simulated,
            }
            for point in points
        ]
        click.echo(json.dumps({"seed": data.seed, "points": record}))
        return
    rows = [
        (f"{point.comparisons:,}", f"{point.share:.1%}", f"{point.spread:.1%}", f"{point.simulated or 0:.1%}")
        for point in points
    ]
    head = ("comparisons", "pairs told apart", "±", "simulated")
    click.echo(tabulate(rows, head, disable_numparse=True, stralign="right"))
    click.echo(
        signature(
            "curve",
            systems=len(comparisons.systems),
            n=len(comparisons),
            trials=trials,
            sides=sides,
            level=f"{level:g}",
            variance=f"{variance:g}",
            seed=data.seed,
        )
    )


@click.command("plan")
@world_options
@click.option(
    "--significant",
    type=ShareType(),
    default="70%",
    show_default=True,
    help="Share of pairs that should differ significantly.",
)
@click.option(
    "--ties",
    type=ShareType(),
    default="0%",
    show_default=True,
    help="Share of comparisons that will be ties.",
)
@click.option("--wage", type=MONEY, help="Wage of workers, in dollars an hour [12.00].")
@click.option(
    "--market",
    type=click.Choice(["local", "mturk"]),
    default="local",
    show_default=True,
    help="Market whose fees are included.",
)
@click.option("--experiments", type=click.IntRange(min=2), default=500, show_default=True)
@SEED
@THREADS
@JSON
def plan_(
    systems: int | None,
    variance: float | None,
    ways: int,
    noise: str,
    sides: int,
    level: float,
    significant: float,
    ties: float,
    wage: Decimal | None,
    market: str,
    experiments: int,
    seed: int,
    threads: int,
    as_json: bool,
) -> None:
    """Estimate how many judgments make a share of all pairs of systems differ significantly, and what they cost."""
    from hits.payment import MIN_WAGE, MTURK_FEES, NO_FEES
    from hits.ranking.simulation.plan import plan

    made = plan(
        systems or 15,
        variance or 10.0,
        significant,
        ways=ways,
        noise=noise,
        level=level,
        sides=sides,
        ties=ties,
        experiments=experiments,
        wage=MIN_WAGE if wage is None else wage,
        fees=MTURK_FEES if market == "mturk" else NO_FEES,
        seed=seed,
        threads=threads,
    )
    _tell_plan(made, as_json=as_json)


def _tell_plan(made: "JudgmentPlan", *, as_json: bool) -> None:
    price, world = made.price, made.world
    if as_json:
        facts = {
            "systems": world.systems,
            "variance": world.variance,
            "significant": made.significant,
            "judgments": made.judgments,
            "low": made.low,
            "high": made.high,
            "hits": made.hits,
            "rewards": str(price.rewards),
            "fees": str(price.fees),
            "total": str(price.total),
            "hours": round(float(price.hours), 2),
            "experiments": made.experiments,
            "seed": made.seed,
        }
        click.echo(json.dumps(facts))
        return
    high = "more" if made.high is None else f"{made.high:,}"
    click.echo(
        f"{made.judgments:,} judgments ({made.low:,} to {high}) tell {made.significant:.0%} of the pairs of "
        f"{world.systems} systems apart"
    )
    click.echo(
        f"{made.hits:,} hits of {world.ways} systems: rewards ${price.rewards:,.2f} + fees ${price.fees:,.2f} "
        f"= ${price.total:,.2f}; about {price.hours:,.0f} hours"
    )


@click.command()
@data_options
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
    type=Numbers(),
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
    "--radii",
    type=Numbers(),
    help="Decision radii, of which the best is chosen on the development set [0.001,0.01,0.1,0.3,0.5; "
    "without a development set 0.1].",
)
@click.option(
    "--no-development",
    is_flag=True,
    help="Keep no development set, as Hopkins & May: all but the test set is to learn from.",
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
@PLOT
@JSON
@QUIET
def evaluate(
    data: "ComparisonFiles",
    models: tuple[str, ...],
    sizes: tuple[float, ...],
    trials: int,
    radii: tuple[float, ...] | None,
    no_development: bool,
    how: str,
    least: int,
    test_judges: str,
    threads: int,
    plot: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Measure how well models predict unseen comparisons: perplexity and accuracy."""
    from hits.ranking.evaluate import ENTRANTS, RADII, evaluate_models

    if any(size != int(size) or size < 1 for size in sizes):
        raise click.UsageError("--sizes: expected whole numbers from 1")
    if how == "segments" and test_judges != "*":
        raise click.UsageError("--test-judges is for --split rows")
    if no_development and (how != "segments" or len(radii or (0.1,)) != 1):
        raise click.UsageError("--no-development needs --split segments, and one radius in --radii")
    chosen = radii or ((0.1,) if no_development else RADII)
    evaluation = evaluate_models(
        data.read(),
        models or ENTRANTS,
        data.rng(),
        split=how,
        least=least,
        test_judges=test_judges,
        development=not no_development,
        sizes=[int(size) for size in sizes],
        trials=trials,
        radii=chosen,
        threads=threads,
        after_trial=counter("trials", quiet=quiet, total=len(sizes) * trials),
    )
    if plot:
        from hits.ranking.plot import plot_evaluation

        plot_evaluation(plot, evaluation)
        talk(f"{plot} written", quiet=quiet)
    _tell_evaluation(evaluation, data.seed, as_json=as_json)


def _tell_evaluation(evaluation: "ModelEvaluation", seed: int, *, as_json: bool) -> None:
    from tabulate import tabulate

    oracle = {"accuracy": evaluation.oracle_accuracy, "perplexity": evaluation.oracle_perplexity}
    if as_json:
        click.echo(
            json.dumps({"how": evaluation.how, "seed": seed, "oracle": oracle, "rows": evaluation.records()})
        )
        return
    sizes = sorted({row.size for row in evaluation.rows})
    by_model: dict[str, dict[int, Any]] = {}
    for row in evaluation.rows:
        by_model.setdefault(row.model, {})[row.size] = row
    for measure in ("perplexity", "accuracy"):
        lines = [
            [model, *(_number(getattr(rows[size], measure)) for size in sizes)]
            for model, rows in by_model.items()
        ]
        click.echo(
            tabulate(
                [*lines, ["oracle", *[_number(oracle[measure])] * len(sizes)]],
                [measure, *sizes],
                disable_numparse=True,
            )
        )
        click.echo()
    click.echo(signature(evaluation.how, seed=seed))


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}" if isfinite(value) else "∞"
