"""``rypt tune``: weights for n-best lists, or for a decoder; and ``rypt moses-tools``."""

import hashlib
import importlib
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from rypt.console import JSON, QUIET, progress, talk, watcher
from rypt.picture import check_picture
from rypt.signature import signature_name
from rypt.text import RyptError

if TYPE_CHECKING:
    from mert.cluster import Cluster
    from mert.loop import DecoderTuning, Iteration, TuningProgress
    from mert.tuning import TuningResult

AT_LEAST_0, AT_LEAST_1 = click.IntRange(min=0), click.IntRange(min=1)
SECTIONS = {
    "Goal": ("metric", "algorithm", "aim"),
    "Input": ("references", "source", "campaign", "weights", "allow_missing"),
    "Limits": ("only", "fix", "bound", "ranges", "norm"),
    "Search": ("restarts", "replicates", "seed", "threads", "dask"),
    "Decoder": ("decoder", "replay", "zmert", "folder", "max_iterations", "patience"),
    "Output": ("output", "plot", "as_json", "quiet"),
}
LOOP_ONLY = ("folder", "max_iterations", "patience")
MERT_ONLY = ("aim", "restarts", "dask")
BESIDE_ZMERT = {"zmert", "algorithm", "threads", "replicates", "folder", "output", "plot", "as_json", "quiet"}


class _Sections(click.Command):
    """A command whose help groups its options; ``sections`` are names of parameters by title."""

    def __init__(self, *args: Any, sections: Mapping[str, Sequence[str]], **options: Any) -> None:
        super().__init__(*args, **options)
        self.sections = sections

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        options = [each for each in self.get_params(context) if isinstance(each, click.Option)]
        records = {each.name: each.get_help_record(context) for each in options}
        others = [name for name in records if not any(name in names for names in self.sections.values())]
        for title, names in {**self.sections, "Help": others}.items():
            with formatter.section(title):
                formatter.write_dl([record for name in names if (record := records[name])])


@click.command(cls=_Sections, sections=SECTIONS)
@click.argument("lists", nargs=-1)
@click.option(
    "--metric",
    help="Metric to tune to: bleu, chrf, chrf++, ter, rypt, scores(FILE), column(NAME), "
    "package.module:function, or a sum such as 0.7*bleu+0.3*rypt [bleu; rypt for a campaign].",
)
@click.option(
    "--algorithm",
    type=click.Choice(["mert", "pro", "mira"]),
    default="mert",
    show_default=True,
    help="How weights are searched for.",
)
@click.option(
    "--aim",
    type=click.Choice(["unseen", "list"]),
    default="unseen",
    show_default=True,
    help=(
        "unseen: weights for segments that are not in the lists, a mean of several estimates; list: the "
        "optimum of the lists."
    ),
)
@click.option(
    "--references",
    multiple=True,
    type=click.Path(),
    help="Reference file, or the common beginning of the names of numbered reference files; may be "
    "repeated [the campaign's].",
)
@click.option(
    "--source", type=click.Path(), help="Source segments, for metrics that need them [the campaign's]."
)
@click.option(
    "--campaign", type=click.Path(file_okay=False), help="Campaign with the judgments, for the metric rypt."
)
@click.option(
    "--weights",
    type=click.Path(),
    help="File of weights to start from [all weights 1; the current ones of a campaign].",
)
@click.option(
    "--allow-missing",
    is_flag=True,
    help="Tune on LISTS that have no candidates for some segments of the references.",
)
@click.option(
    "--tune", "only", multiple=True, metavar="FEATURE", help="Tune only this feature; may be repeated."
)
@click.option("--fix", multiple=True, metavar="FEATURE", help="Hold the weight of a feature.")
@click.option(
    "--bound", multiple=True, metavar="FEATURE=LOW..HIGH", help="Keep a weight within bounds: LM0=0.."
)
@click.option(
    "--range",
    "ranges",
    multiple=True,
    metavar="FEATURE=LOW..HIGH",
    help="Draw the weight of random starts from this range.",
)
@click.option("--norm", metavar="NORM", help="Scale the result: none, l1, l2, max, or FEATURE=VALUE.")
@click.option(
    "--restarts",
    type=AT_LEAST_0,
    help="Number of random restarts [20; with --aim list 80, or 5 for each weight if there are more "
    "than 16].",
)
@click.option(
    "--replicates",
    type=AT_LEAST_1,
    default=1,
    show_default=True,
    help="Number of random seeds to tune with; mean and deviation of the scores are reported.",
)
@click.option("--seed", type=AT_LEAST_0, default=1, show_default=True, help="Random seed.")
@click.option(
    "--threads",
    type=AT_LEAST_1,
    default=lambda: os.cpu_count() or 1,
    show_default="all cores",
    help="Number of threads; the result does not depend on it.",
)
@click.option(
    "--dask",
    metavar="ADDRESS",
    help="Read, count and search on the Dask cluster with this scheduler (tcp://…), each worker its share "
    "of the segments.",
)
@click.option(
    "--decoder",
    metavar="COMMAND",
    help=(
        "Decoder to tune in a loop: a shell command with {weights} and {nbest} in it, or "
        "package.module:function."
    ),
)
@click.option(
    "--replay",
    multiple=True,
    type=click.Path(),
    metavar="LIST",
    help="Tune on the lists of an earlier run, one more in each iteration.",
)
@click.option(
    "--zmert",
    type=click.Path(),
    metavar="CONFIG",
    help="Run a configuration file of Z-MERT instead, with --aim list.",
)
@click.option(
    "--folder",
    type=click.Path(file_okay=False),
    default="rypt-tune",
    show_default=True,
    help="Folder that keeps a run with a decoder, so that it can be resumed.",
)
@click.option(
    "--max-iterations", type=AT_LEAST_1, default=25, show_default=True, help="Maximum number of iterations."
)
@click.option(
    "--patience",
    type=AT_LEAST_1,
    default=3,
    show_default=True,
    help="Stop after this number of iterations without a significant improvement of the decoder's output.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    help="Write the weights to this file, in the format in which they were read.",
)
@click.option(
    "--plot",
    type=click.Path(),
    help="Plot the result, or the iterations of a decoder, to this file (.svg, .png, .pdf).",
)
@JSON
@QUIET
def tune(
    lists: tuple[str, ...], output: str | None, plot: str | None, as_json: bool, quiet: bool, **given: Any
) -> None:
    """Find weights that rank the best candidates of n-best LISTS first, or tune a decoder in a loop.

    Uses Och's exact line search, from the given weights and from random ones. The result depends on the random seed,
    not on the number of threads. With --decoder the lists of all iterations are merged; an interrupted run is resumed.

    LISTS may be the folder of a campaign: its lists, references and current weights are used, and the metric is rypt
    unless --metric says otherwise.
    """
    _load_numpy()
    _check_options(click.get_current_context())
    with _cluster(given["dask"]) as cluster:
        result = _tuned(lists, given, cluster, _progress(quiet=quiet))
    if output:
        result.write(output)
    if plot:
        result.plot(plot)
    _print(result, aside=output == "-", as_json=as_json, quiet=quiet)


def _tuned(
    lists: Sequence[str], given: Mapping[str, Any], cluster: "Cluster | None", progress: "TuningProgress"
) -> "TuningResult | DecoderTuning":
    from mert.constraints import Constraints, read_intervals, read_normalization
    from mert.decoder import ReplayDecoder
    from mert.loop import Stopping
    from mert.search import SearchSettings
    from mert.tuning import tune as tune_lists
    from mert.tuning import tune_decoder

    search = SearchSettings(
        **{name: given[name] for name in ("algorithm", "aim", "restarts", "seed", "threads", "replicates")}
    )
    if given["zmert"] is not None:
        from mert.zmert.program import read_zmert

        folder = given["folder"] if _is_given(click.get_current_context(), "folder") else None
        now = int(time.time() * 1000)
        return read_zmert(given["zmert"], search, now=now, folder=folder).run(progress)
    common: dict[str, Any] = {
        **{name: given[name] for name in ("metric", "references", "source", "weights", "campaign")},
        "search": search,
        "constraints": Constraints(
            given["only"],
            given["fix"],
            read_intervals(given["bound"], "--bound"),
            read_intervals(given["ranges"], "--range"),
            normalization=read_normalization(given["norm"]) if given["norm"] else None,
        ),
        "cluster": cluster,
        "progress": progress,
    }
    if lists:
        if len(lists) == 1 and Path(lists[0]).is_dir():
            common["campaign"] = lists[0]
            return tune_lists(None, allow_missing=given["allow_missing"], **common)
        return tune_lists(lists, allow_missing=given["allow_missing"], **common)
    if given["weights"] is None:
        raise click.UsageError("a decoder needs --weights to start with")
    decoder = ReplayDecoder(given["replay"]) if given["decoder"] is None else given["decoder"]
    stopping = Stopping(given["max_iterations"], given["patience"])
    common["metric"] = given["metric"] or "bleu"
    return tune_decoder(decoder, folder=given["folder"], stopping=stopping, **common)


def _load_numpy() -> None:
    """Load numpy with one thread for products of matrices: these are small, and idle threads would use a core.

    The setting is taken back, because a decoder that is started later has its own needs.
    """
    if "OPENBLAS_NUM_THREADS" not in os.environ and "numpy" not in sys.modules:
        os.environ["OPENBLAS_NUM_THREADS"] = "1"
        importlib.import_module("numpy")
        del os.environ["OPENBLAS_NUM_THREADS"]


def _check_options(context: click.Context) -> None:
    """Refuse options that contradict one another or would do nothing, and places that cannot be written to."""
    given = context.params
    lists, output, plot = given["lists"], given["output"], given["plot"]
    if len(lists) == 1 and Path(lists[0]).is_dir() and given["campaign"] is not None:
        raise click.UsageError("--campaign is for n-best LISTS; here LISTS is a campaign itself")
    ways = [bool(lists), given["decoder"] is not None, bool(given["replay"]), given["zmert"] is not None]
    if sum(ways) != 1:
        raise click.UsageError("expected one of: n-best LISTS, --decoder, --replay, --zmert")
    if lists:
        _refuse(context, LOOP_ONLY, "needs --decoder, --replay or --zmert")
    else:
        _refuse(context, ("allow_missing",), "needs n-best LISTS")
    if given["algorithm"] != "mert":
        _refuse(context, MERT_ONLY, "needs --algorithm mert")
    if given["zmert"] is not None:
        names = [option.name or "" for option in context.command.params if option.name not in BESIDE_ZMERT]
        _refuse(context, names, "cannot be combined with --zmert: the configuration file decides that")
    if "-" in lists and given["dask"] is not None:
        raise click.UsageError("--dask cannot read standard input: the workers read the lists")
    if output == "-" and given["as_json"]:
        raise click.UsageError("-o - and --json both write to standard output")
    if output and not Path(output).resolve().parent.is_dir():
        raise RyptError(f"{output}: its folder does not exist")
    if plot:
        check_picture(plot)


def _refuse(context: click.Context, names: Sequence[str], why: str) -> None:
    """Refuse options that are given though they would do nothing."""
    for option in context.command.params:
        if option.name in names and _is_given(context, option.name):
            raise click.UsageError(f"{option.opts[0]} {why}")


def _is_given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) == ParameterSource.COMMANDLINE


@contextmanager
def _cluster(address: str | None) -> "Iterator[Cluster | None]":
    if address is None:
        yield None
        return
    from mert.cluster import open_cluster

    with open_cluster(address) as cluster:
        yield cluster


def _progress(*, quiet: bool) -> "TuningProgress":
    """Bars and lines on stderr while weights are tuned."""
    from mert.loop import TuningProgress

    seconds: list[float] = []

    def show(iteration: "Iteration", most: int) -> None:
        seconds.append(iteration.seconds)
        left = (most - iteration.number) * sum(seconds) / len(seconds)
        talk(
            f"iteration {iteration.number}: decoded {iteration.decoded:.4f} (p = {iteration.p:.3f}), "
            f"{iteration.new} new candidates, all lists {iteration.before:.4f} → {iteration.after:.4f}, "
            f"{iteration.seconds:.1f} s, at most {left:.0f} s left",
            quiet=quiet,
        )
        for note in iteration.notes:
            talk(f"  note: {note}", quiet=quiet)

    return TuningProgress(
        watcher(quiet=quiet),
        lambda results, total: progress(results, "climb", quiet=quiet, total=total),
        lambda text: talk(text, quiet=quiet),
        show,
    )


def _print(result: "TuningResult | DecoderTuning", *, aside: bool, as_json: bool, quiet: bool) -> None:
    """Print a result, on stderr where the weights go to standard output (``aside``)."""
    from mert.tuning import TuningResult

    if isinstance(result, TuningResult):
        if result.sparse:
            held = f"{result.sparse} sparse features are held at the given weights, else at 0 (see --tune)"
            talk(held, quiet=quiet)
    elif result.note:
        talk(f"note: {result.note}", quiet=quiet)
    if as_json:
        click.echo(json.dumps(result.summary()))
    elif isinstance(result, TuningResult):
        _print_tuning(result, aside=aside, quiet=quiet)
    else:
        _print_loop(result, aside=aside)


def _print_tuning(result: "TuningResult", *, aside: bool, quiet: bool) -> None:
    for feature, value in result.weights.items():
        click.echo(f"{feature:30} {value: .6f}", err=aside)
    gain, name = result.gain, signature_name(result.signature)
    p = "p < 0.001" if gain.p < 0.001 else f"p = {gain.p:.3f}"
    click.echo(
        f"{name} {result.start_score:.4f} → {result.score:.4f} on these lists; gain {gain.gain:.4f}, "
        f"95 % of resamples {gain.low:.4f} to {gain.high:.4f}, {p}",
        err=aside,
    )
    if result.ends and abs(result.ends[0] - result.score) > 0.00005:
        click.echo(
            f"the lists' own optimum is {result.ends[0]:.4f}; these weights are averaged to do better on other text "
            "(--aim list takes the optimum)",
            err=aside,
        )
    if len(result.scores) > 1:
        click.echo(
            f"{len(result.scores)} replicates: mean {result.mean:.4f}, deviation {result.deviation:.4f}",
            err=aside,
        )
    click.echo(result.signature, err=aside)
    for note in result.notes:
        talk(f"note: {note}", quiet=quiet)
    took = ", ".join(f"{part} {seconds:.1f}" for part, seconds in result.seconds.items())
    talk(f"seconds: {took}", quiet=quiet)


def _print_loop(result: "DecoderTuning", *, aside: bool) -> None:
    from tabulate import tabulate

    rows = [
        (
            i.number,
            f"{i.decoded:.4f}",
            f"{i.p:.3f}",
            i.new,
            i.candidates,
            f"{i.before:.4f}",
            f"{i.after:.4f}",
            f"{i.seconds:.1f}",
        )
        for i in result.iterations
    ]
    head = ("iteration", "decoded", "p", "new", "candidates", "before", "after", "seconds")
    click.echo(tabulate(rows, head, disable_numparse=True), err=aside)
    for feature, value in result.weights.items():
        click.echo(f"{feature:30} {value: .6f}", err=aside)
    click.echo(f"stopped: {result.stopped}; {result.start_score:.4f} → {result.score:.4f}", err=aside)
    click.echo(result.signature, err=aside)


@click.command("moses-tools")
@click.option("--folder", type=click.Path(file_okay=False), help="Folder for the programs.")
def moses_tools(folder: str | None) -> None:
    """Print a folder with programs for Moses: mert-moses.pl --mertdir "$(rypt moses-tools)".

    It holds extractor, mert, kbmira, evaluator and pro, which run this rypt whatever the PATH says.
    Without --folder it is in the user's data folder ($XDG_DATA_HOME, or .local/share at home).
    """
    from mert.moses.scripts import write_scripts

    click.echo(str(write_scripts(folder or _default_folder(), sys.executable)))


def _default_folder() -> Path:
    """One folder for each Python and version of rypt."""
    from importlib.metadata import version  # the programs start without it

    data = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    key = hashlib.sha256(sys.executable.encode("utf-8", "surrogateescape")).hexdigest()[:10]
    return Path(data) / "rypt" / f"moses-tools-{version('rypt')}-{key}"
