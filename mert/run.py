"""The tuning loop: decode, merge with all earlier lists, optimise, again; kept in a folder, and resumed from it.

The folder holds for each iteration n ``runN.weights`` (decoded with), ``runN.nbest.gz``, ``runN.log`` (what the
decoder said) and ``runN.json`` (what came of it). A step that is there is not done again, so a run killed anywhere goes
on where it was, to the same result.
"""

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from mert.constraints import Constraints
from mert.decoder import Decoder, NoMoreListsError, check_whole, keep_list, last_words
from mert.lists.arrays import NBest, read_lists
from mert.optimize import make_problem
from mert.search import Window
from mert.solve import HOLD, Recipe, Watcher, solve
from mert.weights import WeightsFile
from rypt.arrays import Floats
from rypt.locks import lock
from rypt.metrics.metric import Metric, references_of
from rypt.text import InputError, RyptError, open_output

SIGNIFICANT = 0.05
RESTING = 1e-12  # a smaller movement of a weight is rounding


@dataclass(frozen=True, slots=True)
class Stillness:
    """Stop when weights come to rest: when none moves in an iteration, or when for so many ``iterations`` in a row none
    moves by more than ``movement``, from iteration ``earliest`` on. Without a movement only the first counts.
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
class Plan:
    """What a tuning run does; a folder belongs to one plan."""

    metric: Metric
    start: WeightsFile
    recipe: Recipe
    constraints: Constraints = field(default_factory=Constraints)
    tune: tuple[str, ...] | None = None
    window: Window | None = None
    max_iterations: int = 25
    patience: int = 3
    keep: str = "best"  # or "last": which iteration's weights are the answer
    decoder: str = ""
    previous: int | None = None  # how many earlier lists are merged with the latest one; None: all
    still: Stillness | None = None

    def said(self) -> dict[str, Any]:
        """What must be the same for a run to be resumed."""
        only = None if self.constraints.only is None else sorted(self.constraints.only)
        return {
            "metric": self.metric.signature,
            "references": _digest(self.metric),
            "start": {entry.name: entry.value for entry in self.start.entries},
            "recipe": {name: value for name, value in asdict(self.recipe).items() if name != "threads"},
            "constraints": {
                "fixed": sorted(self.constraints.fixed), "only": only, "tied": self.constraints.tied,
                "bounds": dict(self.constraints.bounds), "ranges": dict(self.constraints.ranges),
                "normalization": str(self.constraints.normalization),
            },
            "tune": self.tune,
            "window": None if self.window is None else f"{self.window.kind} {self.window.size}",
            "decoder": self.decoder,
            "previous": self.previous,
        }  # fmt: skip


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
class Run:
    """A finished tuning run: its iterations, the answer, and why it stopped."""

    iterations: tuple[Iteration, ...]
    weights: dict[str, float]
    score: float
    start_score: float
    stopped: str
    note: str = ""


def tune(
    plan: Plan,
    decoder: Decoder,
    folder: Path,
    *,
    executor: Executor | None = None,
    watch: Watcher = lambda found: found,
    tell: Callable[[Iteration], None] = lambda iteration: None,
) -> Run:
    """Tune until no candidate is new, nothing changes significantly any more, or the iterations are used up."""
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        _check_plan(plan, folder)
        done: list[Iteration] = []
        stopped = f"{plan.max_iterations} iterations are done"
        for number in range(1, plan.max_iterations + 1):
            kept = _read_iteration(folder / f"run{number}.json")
            if kept is None:
                try:
                    kept = _iterate(plan, decoder, folder, number, done, executor, watch)
                except NoMoreListsError:
                    stopped = f"there are {number - 1} lists to replay"
                    break
            done.append(kept)
            tell(kept)
            if kept.new == 0:
                stopped = "no candidate is new"
                break
            if plan.still and (reason := plan.still.reason(done)):
                stopped = reason
                break
            still = [iteration.p > SIGNIFICANT for iteration in done[-plan.patience :]]
            if len(done) > plan.patience and all(still):
                stopped = f"no significant gain in {plan.patience} iterations"
                break
        if not done:
            raise RyptError("expected at least one list to tune on")
        return _finish(plan, done, stopped)


def _iterate(
    plan: Plan, decoder: Decoder, folder: Path, number: int, done: list[Iteration],
    executor: Executor | None, watch: Watcher,
) -> Iteration:  # fmt: skip
    began = time.perf_counter()
    kept = folder / f"run{number}.nbest.gz"
    used = done[-1].weights if done else {entry.name: entry.value for entry in plan.start.entries}
    if not kept.exists():
        _decode(plan, decoder, folder, number, used)
    latest = read_lists([kept], tune=plan.tune)
    first = 1 if plan.previous is None else max(1, number - plan.previous)
    lists = [folder / f"run{n}.nbest.gz" for n in range(first, number + 1)]
    everything = read_lists(lists, tune=plan.tune)
    sparse_names = everything.sparse.names if everything.sparse else ()
    names, start, sparse = plan.start.match(everything.names, sparse_names, open_ended=everything.open_ended)
    everything = replace(everything, names=names)
    start = np.array([used.get(name, value) for name, value in zip(names, start, strict=True)])
    decoded = _decoded_score(plan, latest, used)
    bounded = Constraints() if everything.sparse else plan.constraints  # what is held does not scale with the rest
    inside = _inside(bounded, names, start)
    problem = make_problem(
        everything, plan.metric, inside, plan.constraints.within(names, [entry.name for entry in plan.start.entries]),
        sparse_weights=sparse if everything.sparse else None, window=plan.window,
    )  # fmt: skip
    known = done[-1].candidates if done else 0
    if first > 1:  # lists were left behind, so the last count is of others
        known = len(read_lists(lists[:-1], tune=plan.tune).candidates) if lists[:-1] else 0
    new = len(everything.candidates) - known
    earlier = [
        _inside(bounded, names, np.array([iteration.used.get(name, 0.0) for name in names])) for iteration in done
    ]
    recipe = replace(plan.recipe, seed=plan.recipe.seed + 1000 * number)
    if new == 0:  # the last step has found what there is
        recipe = replace(recipe, algorithm=HOLD)
    solution = solve(problem, inside, recipe, earlier=earlier, executor=executor, watch=watch)
    notes = (*solution.notes, *check_against_references(latest, plan.metric))
    iteration = Iteration(
        number, len(everything.candidates), new, decoded, solution.start_score, solution.score, solution.gain.p,
        dict(zip(names, start.tolist(), strict=True)), dict(zip(names, solution.weights.tolist(), strict=True)),
        notes, time.perf_counter() - began,
    )  # fmt: skip
    with open_output(folder / f"run{number}.json") as stream:
        json.dump(asdict(iteration), stream, indent=1)
    return iteration


def _decode(plan: Plan, decoder: Decoder, folder: Path, number: int, used: Mapping[str, float]) -> None:
    """Decode in a folder of this attempt, out of the way of what an earlier one may have left running.

    A list is kept once it has been read, fits the weights, and has the segments that earlier lists have.
    """
    for stale in folder.glob("decoding.*"):
        shutil.rmtree(stale, ignore_errors=True)
    attempt = Path(tempfile.mkdtemp(prefix="decoding.", dir=folder))
    weights, nbest = folder / f"run{number}.weights", attempt / f"run{number}.nbest"
    plan.start.write(weights, list(used), np.array(list(used.values())))
    decoder(number, weights, nbest)
    try:
        check_whole(nbest)
        lists = read_lists([nbest], tune=plan.tune)
        plan.start.match(lists.names, lists.sparse.names if lists.sparse else (), open_ended=lists.open_ended)
        check_against_references(lists, plan.metric)
        if number > 1:
            check_features_and_segments(lists, read_lists([folder / "run1.nbest.gz"], tune=plan.tune), nbest)
    except InputError as error:
        raise RyptError(f"{error}{last_words(folder / f'run{number}.log')}") from None
    keep_list(nbest, folder / f"run{number}.nbest.gz")
    shutil.rmtree(attempt, ignore_errors=True)


def check_features_and_segments(lists: NBest, first: NBest, path: Path) -> None:
    """Refuse a list that lacks segments, or features that every line must have, of the first."""
    missing = sorted(set(first.segments) - set(lists.segments), key=first.segments.index)
    if missing:
        some = ", ".join(missing[:5]) + (" …" if len(missing) > 5 else "")
        raise InputError(path, None, f"expected the segments of the first list, {len(missing)} are missing: {some}")
    if not first.open_ended and lists.names != first.names:
        found = ", ".join(lists.names)
        raise InputError(path, 1, f"expected the features of the first list, {', '.join(first.names)}, found {found}")


def check_against_references(lists: NBest, metric: Metric) -> list[str]:
    """Refuse segments without a reference, with file and line; notes on references without a segment."""
    references = references_of(metric)
    if references is None:
        return []
    return lists.check_segments(len(references), ", ".join(map(str, references.paths)) or "the references")


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


def _decoded_score(plan: Plan, lists: NBest, used: Mapping[str, float]) -> float:
    """The score of what the weights decoded with choose of their list, held sparse features included."""
    names, start, sparse = plan.start.match(
        lists.names, lists.sparse.names if lists.sparse else (), open_ended=lists.open_ended
    )
    weights = np.array([used.get(name, value) for name, value in zip(names, start, strict=True)])
    stats = plan.metric.stats([lists.candidates[int(i)] for i in lists.best(weights, sparse)])
    return float(plan.metric.score(stats.sum(axis=0, keepdims=True))[0])


def _finish(plan: Plan, done: list[Iteration], stopped: str) -> Run:
    """The answer: the weights whose own decoding scored best, or the last ones.

    A single iteration has decoded with nothing but the start, so its answer is what it found.
    """
    sign = 1.0 if plan.metric.maximize else -1.0
    best, last = max(done, key=lambda iteration: sign * iteration.decoded), done[-1]
    if plan.keep == "last" or len(done) == 1:
        note = (
            "" if last.weights == last.used else "the weights were not decoded with yet; the score is that on the lists"
        )
        return Run(tuple(done), last.weights, last.after, done[0].decoded, stopped, note)
    fresh = last.weights != last.used
    note = "the last weights found were not decoded with, and are not the answer (--return last)" if fresh else ""
    return Run(tuple(done), best.used, best.decoded, done[0].decoded, stopped, note)


def _read_iteration(path: Path) -> Iteration | None:
    if not path.exists():
        return None
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        return Iteration(**{**record, "notes": tuple(record["notes"])})
    except (ValueError, TypeError, KeyError) as error:
        raise RyptError(f"{path}: expected the record of an iteration: {error}") from None


def _digest(metric: Metric) -> str | None:
    """What tells one set of references from another, where a metric has any."""
    references = references_of(metric)
    return None if references is None else sha256(json.dumps(references.documents).encode()).hexdigest()


def _check_plan(plan: Plan, folder: Path) -> None:
    """Remember the plan, or refuse a folder that belongs to another."""
    path = folder / "plan.json"
    said = json.loads(json.dumps(plan.said()))
    if not any(folder.glob("run*.nbest.gz")):  # nothing was decoded under another plan
        with open_output(path) as stream:
            json.dump(said, stream, indent=1)
        return
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        other = [name for name in said if kept.get(name) != said[name]]
    except (OSError, ValueError, AttributeError) as error:
        raise RyptError(f"{path}: expected the plan of the run that is kept here: {error}") from None
    if other:
        raise RyptError(f"{folder} holds a run with another {other[0]}: give another --folder, or remove this one")


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep a second run out of the folder."""
    with open(folder / "lock", "w") as file:
        if not lock(file):
            raise RyptError(f"another run is at work in {folder}")
        yield
