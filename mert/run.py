"""The tuning loop: decode, merge with all earlier lists, optimise, again; kept in a folder, and resumed from it.

The folder holds for each iteration n ``runN.weights`` (decoded with), ``runN.nbest.gz``, ``runN.log`` (what the
decoder printed) and ``runN.json`` (scores and new weights). A step whose file exists is not done again, so a run that
was killed anywhere goes on where it was, to the same result.
"""

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from mert.cluster import Cluster
from mert.constraints import Constraints
from mert.decoder import Decoder, NoMoreListsError
from mert.folder import TuningFolder
from mert.lists import NBest, check_against_references, read_lists
from mert.problem import Lists, make_problem
from mert.search import Climb, SearchSettings, solve
from mert.weights import WeightsFile
from rypt.arrays import Floats
from rypt.metrics.metric import Metric, references_of
from rypt.text import InputError, PathLike, RyptError, Watch, open_output, unwatched

SIGNIFICANT = 0.05
RESTING = 1e-12  # a smaller movement of a weight is rounding
KEEP = ("best", "last")


@dataclass(frozen=True, slots=True)
class Stillness:
    """Stop when weights come to rest: when none moves in an iteration, or when for ``iterations`` in a row none moves
    by more than ``movement``, from iteration ``earliest`` on. Without a movement only the first counts.
    """

    movement: float | None
    iterations: int = 3
    earliest: int = 5

    def reason(self, done: "Sequence[Iteration]") -> str | None:
        """Why to stop after these iterations; None where there is no reason."""
        if _movement(done[-1]) <= RESTING:
            return "no weight changed"
        if self.movement is None or len(done) < max(self.earliest, self.iterations):
            return None
        if any(_movement(iteration) > self.movement for iteration in done[-self.iterations :]):
            return None
        return f"no weight moved by more than {self.movement:g} in {self.iterations} iterations"


def _movement(iteration: "Iteration") -> float:
    return max(abs(value - iteration.used[name]) for name, value in iteration.weights.items())


@dataclass(frozen=True, slots=True)
class Stopping:
    """When a loop stops, besides when no candidate is new, and which weights it returns.

    It stops after ``max_iterations``, after ``patience`` iterations without a significant gain, or by ``still``. It
    returns the weights whose own decoding scored ``best``, or the ``last`` ones.
    """

    max_iterations: int = 25
    patience: int = 3
    keep: str = "best"
    still: Stillness | None = None

    def __post_init__(self) -> None:
        for name in ("max_iterations", "patience"):
            if getattr(self, name) < 1:
                raise RyptError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.keep not in KEEP:
            raise RyptError(f"keep must be one of {', '.join(KEEP)}, got {self.keep!r}")

    def reason(self, done: "Sequence[Iteration]") -> str | None:
        """Why to stop after these iterations; None where there is no reason."""
        if done[-1].new == 0:
            return "no candidate is new"
        if self.still and (reason := self.still.reason(done)):
            return reason
        if len(done) > self.patience and all(
            iteration.p > SIGNIFICANT for iteration in done[-self.patience :]
        ):
            return f"no significant gain in {self.patience} iterations"
        return None


@dataclass(frozen=True, slots=True)
class LoopPlan:
    """What a tuning loop does; a folder belongs to one plan.

    ``tune`` names sparse features that are tuned too, ``decoder`` what tells one decoder from another, ``previous`` how
    many earlier lists are merged with the latest one (None: all).
    """

    metric: Metric
    start: WeightsFile
    search: SearchSettings
    constraints: Constraints = field(default_factory=Constraints)
    tune: tuple[str, ...] | None = None
    stopping: Stopping = field(default_factory=Stopping)
    decoder: str = ""
    previous: int | None = None

    def fixed_settings(self) -> dict[str, Any]:
        """What must be the same for a run to be resumed."""
        only = None if self.constraints.only is None else sorted(self.constraints.only)
        return {
            "metric": self.metric.signature,
            "references": _digest(self.metric),
            "start": self.start.values,
            "recipe": {
                "restarts": self.search.climbs,
                **{name: getattr(self.search, name) for name in ("algorithm", "aim", "seed", "replicates")},
            },
            "constraints": {
                "fixed": sorted(self.constraints.fixed),
                "only": only,
                "tied": self.constraints.tied,
                "bounds": dict(self.constraints.bounds),
                "ranges": dict(self.constraints.ranges),
                "normalization": str(self.constraints.normalization),
            },
            "tune": self.tune,
            "decoder": self.decoder,
            "previous": self.previous,
        }


@dataclass(frozen=True, slots=True)
class Iteration:
    """What came of one iteration; scores are the metric's own.

    ``decoded`` is the score of what the decoder chose, ``before`` and ``after`` are those on all lists so far, with the
    weights decoded with and with the new ones, ``weights``.
    """

    number: int
    candidates: int
    new: int
    decoded: float
    before: float
    after: float
    p: float
    used: dict[str, float]
    weights: dict[str, float]
    notes: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class TuningProgress:
    """Functions that are called while weights are tuned; by default nothing is shown.

    ``read`` passes on the lines of lists, ``climb`` the results of the starts, of which it gets the number; ``note`` is
    called with remarks on the lists, ``iteration`` after each iteration of a loop, with the maximum number of them.
    """

    read: Watch = unwatched
    climb: Callable[[Iterable[Climb], int], Iterable[Climb]] = lambda results, total: results
    note: Callable[[str], None] = lambda text: None
    iteration: Callable[[Iteration, int], None] = lambda iteration, most: None


@dataclass(frozen=True, slots=True, repr=False)
class DecoderTuning:
    """A finished tuning loop: its iterations, the weights it came to, and why it stopped.

    ``score`` and ``start_score`` are those of what the decoder chose with ``weights`` and with the first ones.
    ``start`` is the file that the loop started from, in whose form the weights are written.
    """

    iterations: tuple[Iteration, ...]
    weights: dict[str, float]
    score: float
    start_score: float
    stopped: str
    note: str
    signature: str
    start: WeightsFile

    def write(self, path: PathLike) -> None:
        """Write the weights in the form of the file that the loop started from."""
        self.start.write(path, list(self.weights), np.array(list(self.weights.values())))

    def plot(self, path: PathLike) -> None:
        """Draw scores and weights over the iterations (.svg, .png, .pdf)."""
        from mert.plot import plot_run

        plot_run(path, self.iterations, self.signature.partition("|")[0])

    def summary(self) -> dict[str, Any]:
        """The numbers as plain values, for JSON."""
        return {
            "score": self.score,
            "start_score": self.start_score,
            "weights": self.weights,
            "signature": self.signature,
            "stopped": self.stopped,
            "iterations": [asdict(iteration) for iteration in self.iterations],
            "seconds": {"total": sum(iteration.seconds for iteration in self.iterations)},
        }

    def __repr__(self) -> str:
        return (
            f"DecoderTuning({self.start_score:.4f} → {self.score:.4f}, {len(self.iterations)} iterations, "
            f"stopped: {self.stopped}, {self.signature})"
        )


def run_loop(
    plan: LoopPlan,
    decoder: Decoder,
    folder: Path,
    *,
    cluster: Cluster | None = None,
    progress: TuningProgress | None = None,
) -> DecoderTuning:
    """Tune until no candidate is new, nothing changes significantly any more, or the iterations are used up.

    On a ``cluster`` the lists of all iterations are read and searched in shares.
    """
    progress = progress or TuningProgress()
    kept = TuningFolder.of_run(folder)
    kept.make()
    with kept.locked():
        _check_plan(plan, kept)
        done: list[Iteration] = []
        stopped = f"{plan.stopping.max_iterations} iterations are done"
        for number in range(1, plan.stopping.max_iterations + 1):
            iteration = _read_iteration(kept.record_file(number))
            if iteration is None:
                try:
                    iteration = _iterate(plan, decoder, kept, number, done, cluster, progress)
                except NoMoreListsError:
                    stopped = f"there are {number - 1} lists to replay"
                    break
            done.append(iteration)
            progress.iteration(iteration, plan.stopping.max_iterations)
            if reason := plan.stopping.reason(done):
                stopped = reason
                break
        if not done:
            raise RyptError("expected at least one list to tune on")
        return _finish(plan, done, stopped)


def _iterate(
    plan: LoopPlan,
    decoder: Decoder,
    folder: TuningFolder,
    number: int,
    done: list[Iteration],
    cluster: Cluster | None,
    progress: TuningProgress,
) -> Iteration:
    began = time.perf_counter()
    used = done[-1].weights if done else plan.start.values
    if not folder.list_file(number).exists():
        plan.start.write(folder.weights_file(number), list(used), np.array(list(used.values())))
        folder.decode(number, decoder, lambda nbest: _check_list(plan, folder, number, nbest))
    latest = read_lists([folder.list_file(number)], tune=plan.tune)
    first = 1 if plan.previous is None else max(1, number - plan.previous)
    lists = [folder.list_file(n) for n in range(first, number + 1)]
    shared = None if cluster is None else cluster.read_lists(lists, progress.read, tune=plan.tune)
    everything: Lists = shared or read_lists(lists, progress.read, tune=plan.tune)
    held = everything.sparse_names
    names, start, sparse = plan.start.match(everything.names, held, open_ended=everything.open_ended)
    start = np.array([used.get(name, value) for name, value in zip(names, start, strict=True)])
    decoded = _decoded_score(plan, latest, used)
    bounded = Constraints() if held else plan.constraints  # what is held does not scale with the rest
    inside = _inside(bounded, names, start)
    constraints = plan.constraints.within(names, [entry.name for entry in plan.start.entries])
    problem = make_problem(everything, plan.metric, inside, constraints, names=names, sparse_weights=sparse)
    candidates = sum(int(sizes.sum()) for sizes in problem.sizes)
    known = done[-1].candidates if done else 0
    if first > 1:  # lists were left behind, so the last count is of others
        known = len(read_lists(lists[:-1], tune=plan.tune).candidates) if lists[:-1] else 0
    new = candidates - known
    earlier = [
        _inside(bounded, names, np.array([iteration.used.get(name, 0.0) for name in names]))
        for iteration in done
    ]
    search = replace(plan.search.settled(len(problem.axes)), seed=plan.search.seed + 1000 * number)
    solution = solve(
        problem,
        inside,
        search if new else None,  # the last step has found what there is
        earlier=earlier,
        pool=cluster,
        watch=lambda results: progress.climb(results, search.climbs + 1),
    )
    notes = (*solution.notes, *check_against_references(latest, plan.metric))
    iteration = Iteration(
        number,
        candidates,
        new,
        decoded,
        solution.start_score,
        solution.score,
        solution.gain.p,
        dict(zip(names, start.tolist(), strict=True)),
        dict(zip(names, solution.weights.tolist(), strict=True)),
        notes,
        time.perf_counter() - began,
    )
    with open_output(folder.record_file(number)) as stream:
        json.dump(asdict(iteration), stream, indent=1)
    return iteration


def _check_list(plan: LoopPlan, folder: TuningFolder, number: int, nbest: Path) -> None:
    """Refuse a list that does not fit the weights and references, or lacks segments that earlier lists have."""
    lists = read_lists([nbest], tune=plan.tune)
    plan.start.match(lists.names, lists.sparse_names, open_ended=lists.open_ended)
    check_against_references(lists, plan.metric)
    if number > 1:
        check_features_and_segments(lists, read_lists([folder.list_file(1)], tune=plan.tune), nbest)


def check_features_and_segments(lists: NBest, first: NBest, path: Path) -> None:
    """Refuse a list that lacks segments, or features that every line must have, of the first."""
    missing = sorted(set(first.segments) - set(lists.segments), key=first.segments.index)
    if missing:
        some = ", ".join(missing[:5]) + (" …" if len(missing) > 5 else "")
        raise InputError(
            path, None, f"expected the segments of the first list, {len(missing)} are missing: {some}"
        )
    if not first.open_ended and lists.names != first.names:
        names = ", ".join(lists.names)
        raise InputError(
            path, 1, f"expected the features of the first list, {', '.join(first.names)}, found {names}"
        )


def _inside(constraints: Constraints, names: Sequence[str], weights: Floats) -> Floats:
    """Weights that normalization took out of their bounds, scaled back into them, which changes no winner."""
    if constraints.normalization is None or constraints.normalization.kind == "none":
        return weights
    low, high = constraints.low_high(names)
    least, most = 0.0, np.inf
    for weight, lower, upper in zip(weights.tolist(), low.tolist(), high.tolist(), strict=True):
        if weight != 0.0:
            ends = sorted((lower / weight, upper / weight))
            least, most = max(least, ends[0]), min(most, ends[1])
    factor = min(max(1.0, least), most)
    if factor == 1.0 or not 0.0 < factor < np.inf or least > most:
        return weights
    return np.clip(weights * factor, low, high)


def _decoded_score(plan: LoopPlan, lists: NBest, used: Mapping[str, float]) -> float:
    """The score of what the weights decoded with choose of their list, held sparse features included."""
    names, start, sparse = plan.start.match(lists.names, lists.sparse_names, open_ended=lists.open_ended)
    weights = np.array([used.get(name, value) for name, value in zip(names, start, strict=True)])
    stats = plan.metric.stats([lists.candidates[int(i)] for i in lists.best(weights, sparse)])
    return float(plan.metric.score(stats.sum(axis=0, keepdims=True))[0])


def _finish(plan: LoopPlan, done: list[Iteration], stopped: str) -> DecoderTuning:
    """The weights whose own decoding scored best, or the last ones.

    A single iteration has decoded with nothing but the start, so its result is the weights it found.
    """
    sign = 1.0 if plan.metric.maximize else -1.0
    best, last = max(done, key=lambda iteration: sign * iteration.decoded), done[-1]
    fresh = last.weights != last.used
    if plan.stopping.keep == "last" or len(done) == 1:
        weights, score = last.weights, last.after
        note = "the weights were not decoded with yet; the score is that on the lists" if fresh else ""
    else:
        weights, score = best.used, best.decoded
        note = (
            "the last weights found were not decoded with, and are not the answer (--return last)"
            if fresh
            else ""
        )
    signature = f"{plan.metric.signature}|{plan.search}{plan.constraints.signature}|iterations:{len(done)}"
    return DecoderTuning(tuple(done), weights, score, done[0].decoded, stopped, note, signature, plan.start)


def _read_iteration(path: Path) -> Iteration | None:
    if not path.exists():
        return None
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        return Iteration(**{**record, "notes": tuple(record["notes"])})
    except (ValueError, TypeError, KeyError) as error:
        raise RyptError(f"{path}: expected the record of an iteration: {error}") from None


def _digest(metric: Metric) -> str | None:
    """A digest of the references, if the metric uses any."""
    references = references_of(metric)
    return None if references is None else sha256(json.dumps(references.documents).encode()).hexdigest()


def _check_plan(plan: LoopPlan, folder: TuningFolder) -> None:
    """Write down the plan, or refuse a folder that belongs to another."""
    path = folder.plan_file
    settings = json.loads(json.dumps(plan.fixed_settings()))
    if not folder.list_files():  # nothing was decoded under another plan
        with open_output(path) as stream:
            json.dump(settings, stream, indent=1)
        return
    try:
        earlier = json.loads(path.read_text(encoding="utf-8"))
        earlier.get("recipe", {}).setdefault("aim", plan.search.aim)  # version 0.1.0 knew of none
        other = [name for name in settings if earlier.get(name) != settings[name]]
    except (OSError, ValueError, AttributeError) as error:
        raise RyptError(f"{path}: expected the plan of the run that is kept here: {error}") from None
    if other:
        raise RyptError(
            f"{folder.lists} holds a run with another {other[0]}: give another --folder, or remove this one"
        )
