"""``rypt tune``: weights for n-best lists, or for a decoder."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from rypt.console import JSON, QUIET, progress, talk, watcher
from rypt.picture import check_picture
from rypt.text import RyptError

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from mert.limits import Limits
    from mert.run import Iteration, Plan, Run
    from mert.search import Window
    from mert.solve import Recipe, Solution
    from mert.weights import WeightsFile
    from rypt.metrics.metric import Metric, Resources


def _options(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Several options as one decorator."""

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


LOOP = _options(
    click.option("--decoder", metavar="COMMAND", help="Decode and tune in turn: a shell command with {weights} and "
                 "{nbest} in it, or package.module:function."),
    click.option("--replay", multiple=True, type=click.Path(), metavar="LIST", help="Tune in turn on lists of an "
                 "earlier run, one each iteration."),
    click.option("--zmert", type=click.Path(), metavar="CONFIG", help="Run Z-MERT's configuration file instead."),
    click.option("--folder", type=click.Path(file_okay=False), default="rypt-tune", show_default=True,
                 help="Where a run with a decoder is kept, and resumed from."),
    click.option("--max-iterations", type=click.IntRange(min=1), default=25, show_default=True),
    click.option("--patience", type=click.IntRange(min=1), default=3, show_default=True,
                 help="Stop after so many iterations without a significant gain."),
    click.option("--return", "keep", type=click.Choice(["best", "last"]), default="best", show_default=True,
                 help="The weights whose own decoding scored best, or the last ones."),
    click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="Seconds a decoder may take."),
    click.option("--plot", type=click.Path(), help="Draw scores and weights of a run here (.svg, .png, .pdf)."),
)  # fmt: skip
SEARCH = _options(
    click.option("--algorithm", type=click.Choice(["mert", "pro", "mira"]), default="mert", show_default=True),
    click.option("--restarts", type=click.IntRange(min=0), default=20, show_default=True, help="Random starts too."),
    click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Of all that is random."),
    click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True, help="Starts climbed at once."),
    click.option("--dask", metavar="ADDRESS", help="Climb on the Dask cluster with this scheduler (tcp://…)."),
    click.option("--replicates", type=click.IntRange(min=1), default=1, show_default=True,
                 help="Tune with so many seeds and tell mean and spread."),
    click.option("--average", is_flag=True, help="Return the mean weights of the replicates, not the best ones."),
    click.option("--window", metavar="KIND:SIZE", help="Smooth scores over neighbouring intervals: min:3, average:3."),
)  # fmt: skip
CONSTRAINTS = _options(
    click.option("--weights", "start_file", type=click.Path(),
                 help="Where to start [all weights 1; of a campaign its last ones]."),
    click.option("--tune", "only", multiple=True, metavar="FEATURE", help="Tune only these; the others are held."),
    click.option("--fix", multiple=True, metavar="FEATURE", help="Hold a weight."),
    click.option("--bound", multiple=True, metavar="FEATURE=LOW..HIGH", help="Keep a weight in bounds: LM0=0.. "),
    click.option("--range", "ranges", multiple=True, metavar="FEATURE=LOW..HIGH", help="Draw random starts from here."),
    click.option("--tie", multiple=True, metavar="FEATURE,FEATURE", help="Weights that keep their proportions."),
    click.option("--norm", metavar="NORM", help="Scale the result: none, l1, l2, max, or FEATURE=VALUE."),
)  # fmt: skip


LOOP_ONLY = ("folder", "max_iterations", "patience", "keep", "timeout")
MERT_ONLY = ("restarts", "window", "dask")
BESIDE_ZMERT = {
    "zmert", "algorithm", "threads", "dask", "replicates", "average", "window", "folder", "timeout", "plot", "output",
    "as_json", "quiet",
}  # fmt: skip


@click.command()
@click.argument("lists", nargs=-1)
@click.option("--metric", "spec", help="What to climb: bleu, chrf, chrf++, ter, rypt, or a sum such as "
              "0.7*bleu+0.3*rypt [bleu; rypt of a campaign].")  # fmt: skip
@click.option("--references", multiple=True, type=click.Path(), help="Reference files, or what their names begin with "
              "[the campaign's].")  # fmt: skip
@click.option("--campaign", type=click.Path(file_okay=False), help="The campaign with the judgments, for rypt.")
@CONSTRAINTS
@SEARCH
@LOOP
@click.option("-o", "--output", type=click.Path(), help="Write the weights here, in the form they were read.")
@JSON
@QUIET
def tune(
    lists: tuple[str, ...], spec: str | None, references: tuple[str, ...], campaign: str | None,
    start_file: str | None, only: tuple[str, ...], fix: tuple[str, ...], bound: tuple[str, ...],
    ranges: tuple[str, ...], tie: tuple[str, ...], norm: str | None,
    algorithm: str, restarts: int, seed: int, threads: int, dask: str | None, replicates: int, average: bool,
    window: str | None,
    decoder: str | None, replay: tuple[str, ...], zmert: str | None, folder: str, max_iterations: int, patience: int,
    keep: str, timeout: float | None, plot: str | None,
    output: str | None, as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Find weights under which the best candidates of n-best LISTS win, or run a decoder in a loop.

    Och's exact line search from the given weights and random ones. The answer depends on the seed, not on the number
    of threads. With --decoder the lists of all iterations are merged; a run that was interrupted is resumed.

    In the place of LISTS one may give the folder of a campaign: its lists, references and current weights are taken,
    and the metric is rypt unless --metric says otherwise.
    """
    from mert.limits import Limits, read_window
    from mert.solve import Recipe

    earlier: list[Path] = []
    if len(lists) == 1 and Path(lists[0]).is_dir():
        if campaign is not None:
            raise click.UsageError("--campaign goes with n-best LISTS; here the campaign is given already")
        campaign, spec = lists[0], spec or "rypt"
        lists, references, start_file, earlier = _from_campaign(campaign, references, start_file)
    spec = spec or "bleu"
    ways = [bool(lists), decoder is not None, bool(replay), zmert is not None]
    if sum(ways) != 1:
        raise click.UsageError("expected one of: n-best LISTS, --decoder, --replay, --zmert")
    if average and replicates == 1:
        raise click.UsageError("--average needs --replicates of at least 2")
    if plot and lists:
        raise click.UsageError("--plot draws iterations: it needs --decoder, --replay or --zmert")
    if output and not Path(output).resolve().parent.is_dir():
        raise RyptError(f"{output}: there is no folder to write it to")
    if plot:
        check_picture(plot)
    if output == "-" and as_json:
        raise click.UsageError("-o - and --json both want standard output")
    context = click.get_current_context()
    if lists:
        _refuse(context, LOOP_ONLY, "needs --decoder, --replay or --zmert")
    if algorithm != "mert":
        _refuse(context, MERT_ONLY, "goes with --algorithm mert")
    recipe = Recipe(algorithm, restarts, seed, threads, replicates, average)
    with _executor(dask) as executor:
        if zmert is not None:
            from mert.zmert.program import read_zmert

            _refuse_beside_zmert(context)
            place = Path(folder) if context.get_parameter_source("folder") == ParameterSource.COMMANDLINE else None
            asked = read_zmert(
                zmert, recipe, now=int(time.time() * 1000), folder=place, window=read_window(window), timeout=timeout
            )
            run = _loop(asked.plan, asked.decoder, asked.folder, executor, quiet=quiet)
            asked.finish(run.weights)
            _tell_run(asked.plan, run, output, plot, as_json=as_json, quiet=quiet)
            return
        metric = _read_metric(spec, _resources(references, campaign))
        said = Limits(only, fix, bound, ranges, tie, norm)
        smoothing = read_window(window)
        if lists:
            _tune_lists(lists, metric, start_file, said, recipe, smoothing, executor, output,
                        earlier=earlier, as_json=as_json, quiet=quiet)  # fmt: skip
            return
        from mert.decoder import ReplayDecoder, read_decoder, replayed
        from mert.run import Plan

        if start_file is None:
            raise click.UsageError("a decoder needs --weights to start with")
        start = _read_start(start_file)
        names = tuple(entry.name for entry in start.entries)
        plan = Plan(metric, start, recipe, said.constraints(names, start), only or None, smoothing,
                    max_iterations, patience, keep if decoder else "last", decoder or replayed(replay))  # fmt: skip
        made = read_decoder(decoder, timeout) if decoder is not None else ReplayDecoder(replay)
        run = _loop(plan, made, Path(folder), executor, quiet=quiet)
        _tell_run(plan, run, output, plot, as_json=as_json, quiet=quiet)


def _from_campaign(
    folder: str, references: tuple[str, ...], start_file: str | None
) -> tuple[tuple[str, ...], tuple[str, ...], str | None, list[Path]]:
    """The lists, references and weights of a campaign, and the weights of iterations before those."""
    from mert.decode import current_weights, weights_before
    from rypt.campaign.folder import Campaign

    campaign = Campaign.open(folder)
    if not campaign.files.nbest:
        raise RyptError(f"{folder}: expected at least one n-best list; `rypt decode {folder}` makes one")
    current, earlier = current_weights(campaign)
    if start_file is not None:
        current, earlier = Path(start_file), weights_before(campaign, start_file)
    lists = tuple(str(campaign.path(name)) for name in campaign.files.nbest)
    references = references or tuple(str(campaign.path(name)) for name in campaign.files.references)
    return lists, references, None if current is None else str(current), earlier


def _refuse(context: click.Context, names: Sequence[str], why: str) -> None:
    """Refuse options that would do nothing."""
    for option in context.command.params:
        if option.name in names and context.get_parameter_source(option.name) == ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{option.opts[0]} {why}")


def _refuse_beside_zmert(context: click.Context) -> None:
    """Refuse options for what Z-MERT's configuration says itself."""
    for option in context.command.params:
        source = context.get_parameter_source(option.name or "")
        if source == ParameterSource.COMMANDLINE and option.name not in BESIDE_ZMERT:
            raise click.UsageError(f"{option.opts[0]} cannot be given with --zmert: the configuration decides that")


def _read_start(path: str) -> "WeightsFile":
    from mert.weights import read_weights

    return read_weights(path)


def _resources(references: Sequence[str], campaign: str | None) -> "Resources":
    from rypt.metrics.metric import Resources
    from rypt.metrics.references import read_references

    return Resources(read_references(references) if references else None, campaign)


def _read_metric(spec: str, resources: "Resources") -> "Metric":
    from rypt.metrics.metric import read_metric

    return read_metric(spec, resources)


@contextmanager
def _executor(address: str | None) -> "Iterator[Executor | None]":
    if address is None:
        yield None
        return
    from mert.cluster import dask_executor

    with dask_executor(address) as executor:
        yield executor


def _tune_lists(
    paths: tuple[str, ...], metric: "Metric", start_file: str | None, said: "Limits", recipe: "Recipe",
    window: "Window | None", executor: "Executor | None", output: str | None, *, earlier: Sequence[Path],
    as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    import numpy as np

    from mert.lists.arrays import read_lists
    from mert.optimize import make_problem
    from mert.run import check_against_references
    from mert.solve import solve
    from mert.weights import default_weights

    clock = _Clock()
    start = _read_start(start_file) if start_file else None
    lists = read_lists(paths, watcher(quiet=quiet), tune=said.only or None)
    sparse_names = lists.sparse.names if lists.sparse else ()
    if start is None:
        start = default_weights(lists.names, np.ones(len(lists.names)))
    names, weights, sparse = start.match(lists.names, sparse_names, open_ended=lists.open_ended)
    lists = replace(lists, names=names)
    for note in check_against_references(lists, metric):
        talk(note, quiet=quiet)
    clock.lap("read")
    constraints = said.constraints(names, start)
    problem = make_problem(
        lists, metric, weights, constraints, sparse_weights=sparse if lists.sparse else None, window=window
    )
    clock.lap("stats")
    total = recipe.restarts + 1
    known = [_read_start(str(path)).match(names, sparse_names, open_ended=True)[1] for path in earlier]
    solution = solve(
        problem, weights, recipe, earlier=known, executor=executor,
        watch=lambda found: progress(found, "climb", quiet=quiet, total=total),
    )  # fmt: skip
    clock.lap("optimize")
    if output:
        start.write(output, names, solution.weights)
    signature = f"{metric.signature}|{recipe}|norm:{problem.normalization}|n:{len(lists.segments)}"
    if sparse_names:
        talk(f"{len(sparse_names)} sparse features are held at the given weights, else at 0 (see --tune)", quiet=quiet)
    _tell_solution(names, solution, signature, clock.seconds, aside=output == "-", as_json=as_json, quiet=quiet)


class _Clock:
    """Seconds spent on the parts of a job."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.began = time.perf_counter()

    def lap(self, name: str) -> None:
        """A part is done."""
        now = time.perf_counter()
        self.seconds[name] = now - self.began
        self.began = now


def _tell_solution(
    names: Sequence[str], solution: "Solution", signature: str, seconds: dict[str, float], *,
    aside: bool, as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    weights = dict(zip(names, solution.weights.tolist(), strict=True))
    if as_json:
        facts = {
            "score": solution.score, "start_score": solution.start_score, "weights": weights, "signature": signature,
            "seconds": seconds, "searches": solution.searches, "gain": asdict(solution.gain),
            "replicates": {"scores": solution.scores, "mean": solution.mean, "deviation": solution.deviation},
            "notes": solution.notes,
        }  # fmt: skip
        click.echo(json.dumps(facts))
        return
    for feature, value in weights.items():
        click.echo(f"{feature:30} {value: .6f}", err=aside)
    gain = solution.gain
    click.echo(
        f"{solution.start_score:.4f} → {solution.score:.4f}; gain {gain.gain:.4f}, "
        f"95 % of resamples {gain.low:.4f} to {gain.high:.4f}, p = {gain.p:.3f}",
        err=aside,
    )
    if len(solution.scores) > 1:
        click.echo(
            f"{len(solution.scores)} replicates: mean {solution.mean:.4f}, deviation {solution.deviation:.4f}",
            err=aside,
        )
    click.echo(signature, err=aside)
    for note in solution.notes:
        talk(f"note: {note}", quiet=quiet)
    ends = ", ".join(f"{score:.4f}" for score in solution.ends[1:4])
    took = ", ".join(f"{name} {value:.1f}" for name, value in seconds.items())
    talk(f"next best starts: {ends or 'none'}; seconds: {took}", quiet=quiet)


def _loop(plan: "Plan", decoder: Any, folder: Path, executor: "Executor | None", *, quiet: bool) -> "Run":
    from mert.run import tune as run_loop

    seen: list[float] = []

    def tell(iteration: "Iteration") -> None:
        seen.append(iteration.seconds)
        left = (plan.max_iterations - iteration.number) * sum(seen) / len(seen)
        talk(
            f"iteration {iteration.number}: decoded {iteration.decoded:.4f}, {iteration.new} new candidates, "
            f"all lists {iteration.before:.4f} → {iteration.after:.4f} (p = {iteration.p:.3f}), "
            f"{iteration.seconds:.1f} s, at most {left:.0f} s left",
            quiet=quiet,
        )
        for note in iteration.notes:
            talk(f"  note: {note}", quiet=quiet)

    total = plan.recipe.restarts + 1
    return run_loop(
        plan, decoder, folder, executor=executor, tell=tell,
        watch=lambda found: progress(found, "climb", quiet=quiet, total=total),
    )  # fmt: skip


def _tell_run(plan: "Plan", run: "Run", output: str | None, plot: str | None, *, as_json: bool, quiet: bool) -> None:
    import numpy as np
    from tabulate import tabulate

    if output:
        plan.start.write(output, list(run.weights), np.array(list(run.weights.values())))
    if plot:
        from mert.plot import plot_run

        plot_run(plot, run.iterations, plan.metric.signature.partition("|")[0])
    if run.note:
        talk(f"note: {run.note}", quiet=quiet)
    signature = f"{plan.metric.signature}|{plan.recipe}|iterations:{len(run.iterations)}"
    if as_json:
        facts = {
            "score": run.score, "start_score": run.start_score, "weights": run.weights, "signature": signature,
            "stopped": run.stopped, "iterations": [asdict(iteration) for iteration in run.iterations],
            "seconds": {"total": sum(iteration.seconds for iteration in run.iterations)},
        }  # fmt: skip
        click.echo(json.dumps(facts))
        return
    rows = [
        (i.number, f"{i.decoded:.4f}", i.new, i.candidates, f"{i.before:.4f}", f"{i.after:.4f}", f"{i.p:.3f}",
         f"{i.seconds:.1f}")
        for i in run.iterations
    ]  # fmt: skip
    head = ("iteration", "decoded", "new", "candidates", "before", "after", "p", "seconds")
    aside = output == "-"
    click.echo(tabulate(rows, head, disable_numparse=True), err=aside)
    for feature, value in run.weights.items():
        click.echo(f"{feature:30} {value: .6f}", err=aside)
    click.echo(f"stopped: {run.stopped}; {run.start_score:.4f} → {run.score:.4f}", err=aside)
    click.echo(signature, err=aside)
