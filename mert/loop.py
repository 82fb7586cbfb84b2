"""The tuning loop: decode, merge with all earlier lists, optimise, again; kept in a folder, and resumed from it.

The folder holds for each iteration n ``runN.weights`` (decoded with), ``runN.nbest.gz``, ``runN.log`` (what the
decoder printed), ``runN.npz`` (the statistics of the list, which are counted once) and ``runN.json`` (scores and new
weights). A step whose file exists is not done again, so a run that was killed anywhere is resumed where it was and
comes to the same result. A campaign has ``weights/N.weights``, ``weights/N.log`` and ``lists/N.nbest.gz`` instead.
"""

import json
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar
from zipfile import BadZipFile

import numpy as np

from mert.checks import resampled_gains
from mert.cluster import Cluster
from mert.constraints import Constraints
from mert.decoder import Decoder, NoMoreListsError, last_words
from mert.lists import NBest, check_against_references, read_lists
from mert.problem import Problem, make_problem, problem_of, rate
from mert.search import Climb, SearchSettings, Solution, solve
from mert.weights import WeightsFile
from rypt.arrays import Floats, Ints
from rypt.locked_files import lock
from rypt.metrics.metric import Metric, counted, parts_of, references_of
from rypt.text import (
    InputError,
    PathLike,
    RyptError,
    Watch,
    open_binary_output,
    open_output,
    read_bytes,
    unwatched,
)

T = TypeVar("T")
SIGNIFICANT = 0.05
RESTING = 1e-12  # a smaller movement of a weight is rounding
KEEP = ("best", "last")
PLAN = "plan.json"
ATTEMPT = "decoding."  # what the name of the folder of an unfinished decoding begins with


@dataclass(frozen=True, slots=True)
class TuningFolder:
    """Where the files of iterations are; their names begin with ``prefix`` and the number of the iteration.

    >>> TuningFolder.of_run(Path("rypt-tune")).file(3, "nbest.gz").as_posix()
    'rypt-tune/run3.nbest.gz'
    """

    lists: Path
    weights: Path
    prefix: str = ""

    @classmethod
    def of_run(cls, folder: Path) -> "TuningFolder":
        """The folder of a run that belongs to no campaign."""
        return cls(folder, folder, "run")

    def file(self, number: int, kind: str) -> Path:
        """The file of an iteration: its weights, log, nbest.gz, npz or json."""
        folder = self.weights if kind in ("weights", "log") else self.lists
        return folder / f"{self.prefix}{number}.{kind}"

    def files(self, kind: str) -> dict[int, Path]:
        """The files of all iterations, in order."""
        pattern = re.compile(rf"{self.prefix}([1-9][0-9]{{0,8}})\.{re.escape(kind)}")
        found = self.file(1, kind).parent.glob(f"{self.prefix}*.{kind}")
        names = {path: pattern.fullmatch(path.name) for path in found}
        return dict(sorted((int(match[1]), path) for path, match in names.items() if match))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Make the folders that do not exist, and keep a second run out of them."""
        for folder in (self.lists, self.weights):
            folder.mkdir(parents=True, exist_ok=True)
        with open(self.lists / "lock", "w") as file:
            if not lock(file):
                raise RyptError(f"another run is at work in {self.lists}")
            yield

    def decode(self, number: int, decoder: Decoder, check: Callable[[Path], T]) -> T:
        """Run a decoder with the weights of an iteration and keep its list, unless ``check`` refuses it.

        The decoder writes to a new folder, out of the way of what an earlier attempt may have left running.
        """
        for stale in self.lists.glob(f"{ATTEMPT}*"):
            shutil.rmtree(stale, ignore_errors=True)
        self.file(number, "npz").unlink(missing_ok=True)
        attempt = Path(tempfile.mkdtemp(prefix=ATTEMPT, dir=self.lists)).resolve()
        nbest = attempt / f"{self.prefix}{number}.nbest"
        decoder(number, self.file(number, "weights").resolve(), nbest)
        try:
            data = read_bytes(nbest) if nbest.is_file() else bytearray()
            if not data.strip():
                raise InputError(nbest, None, "the decoder wrote no candidates")
            if not data.endswith(b"\n"):
                message = "the list breaks off in the middle of a line: the decoder did not finish it"
                raise InputError(nbest, data.count(b"\n") + 1, message)
            checked = check(nbest)
        except InputError as error:
            raise RyptError(f"{error}{last_words(self.file(number, 'log'))}") from None
        with open_binary_output(self.file(number, "nbest.gz")) as stream:
            stream.write(data)
        shutil.rmtree(attempt, ignore_errors=True)
        return checked


@dataclass(frozen=True, slots=True)
class Stopping:
    """When a loop stops, apart from when no candidate is new, and which weights it returns.

    It stops after ``max_iterations``, or after ``patience`` iterations without a significant improvement of the
    decoder's output. With ``still`` = (movement, iterations, earliest), as in Z-MERT, it also stops when no weight
    moves, or none by more than the movement in this number of iterations, from the earliest iteration on. It returns
    the weights whose own decoding scored ``best``, or the ``last`` ones.
    """

    max_iterations: int = 25
    patience: int = 3
    keep: str = "best"
    still: tuple[float, int, int] | None = None

    def __post_init__(self) -> None:
        for name in ("max_iterations", "patience"):
            if getattr(self, name) < 1:
                raise RyptError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.keep not in KEEP:
            raise RyptError(f"keep must be one of {', '.join(KEEP)}, got {self.keep!r}")

    def reason(self, done: "Sequence[Iteration]") -> str | None:
        """Why to stop after these iterations; None to continue."""
        if done[-1].new == 0:
            return "no candidate is new"
        if self.still:
            movement, iterations, earliest = self.still
            moved = [
                max(abs(value - each.used[name]) for name, value in each.weights.items())
                for each in done[-iterations:]
            ]
            if moved[-1] <= RESTING:
                return "no weight changed"
            if len(done) >= max(earliest, iterations) and max(moved) <= movement:
                return f"no weight moved by more than {movement:g} in {iterations} iterations"
        if len(done) > self.patience and all(each.p > SIGNIFICANT for each in done[-self.patience :]):
            return f"no significant gain in {self.patience} iterations"
        return None


@dataclass(frozen=True, slots=True)
class LoopPlan:
    """What a tuning loop does; a folder belongs to one plan.

    ``tune`` names sparse features that are tuned too, ``decoder`` identifies the decoder, ``previous`` is how many
    earlier lists are merged with the latest one (None: all).
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
        limits, references = self.constraints, references_of(self.metric)
        digest = references and sha256(json.dumps(references.documents).encode()).hexdigest()
        settings = {
            "metric": self.metric.signature,
            "references": digest,
            "start": self.start.values,
            "search": {**asdict(replace(self.search, threads=1)), "restarts": self.search.climbs},
            "constraints": {**asdict(limits), "fixed": sorted(limits.fixed), "only": sorted(limits.only)},
            "tune": self.tune,
            "decoder": self.decoder,
            "previous": self.previous,
        }
        plain: dict[str, Any] = json.loads(json.dumps(settings))
        return plain


@dataclass(frozen=True, slots=True)
class Iteration:
    """What came of one iteration; scores are the metric's own.

    ``decoded`` is the score of what the decoder chose, ``p`` the share of resamples of the segments in which that is
    not better than what the last iteration with a significant gain decoded (1 in the first iteration). ``before`` and
    ``after`` are scores on all lists so far, with the weights decoded with, ``used``, and with the new ``weights``.
    """

    number: int
    candidates: int
    new: int
    decoded: float
    p: float
    before: float
    after: float
    used: dict[str, float]
    weights: dict[str, float]
    notes: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class TuningProgress:
    """Functions that are called while weights are tuned; by default nothing is shown.

    ``read`` passes on the lines of lists, ``climb`` the results of the starts, whose number it gets; ``note`` is
    called with remarks on the lists, ``iteration`` after each iteration of a loop with the maximum number of
    iterations.
    """

    read: Watch = unwatched
    climb: Callable[[Iterable[Climb], int], Iterable[Climb]] = lambda results, total: results
    note: Callable[[str], None] = lambda text: None
    iteration: Callable[[Iteration, int], None] = lambda iteration, most: None


@dataclass(frozen=True, slots=True, repr=False)
class DecoderTuning:
    """A finished tuning loop: its iterations, its weights, and why it stopped.

    ``score`` and ``start_score`` are those of the decoder's output with ``weights`` and with the initial weights.
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
    """Tune until no candidate is new, decoding gets no better, or the iterations are used up.

    On a ``cluster`` the lists of all iterations are read, counted and searched there.
    """
    progress = progress or TuningProgress()
    place = TuningFolder.of_run(folder)
    with place.locked():
        _check_plan(plan, place)
        if any(getattr(part, "references", None) is None for part in parts_of(plan.metric)):
            for path in place.files("npz").values():  # judgments, for example, may have been added since
                path.unlink()
        run = _Run(plan, decoder, place, cluster, progress)
        stopped = f"{plan.stopping.max_iterations} iterations are done"
        for number in range(1, plan.stopping.max_iterations + 1):
            iteration = _read_iteration(place.file(number, "json"))
            if iteration is None:
                try:
                    iteration = run.iterate(number)
                except NoMoreListsError:
                    stopped = f"there are {number - 1} lists to replay"
                    break
            run.done.append(iteration)
            progress.iteration(iteration, plan.stopping.max_iterations)
            if reason := plan.stopping.reason(run.done):
                stopped = reason
                break
        if not run.done:
            raise RyptError("expected at least one list to tune on")
        return _finish(plan, run.done, stopped)


@dataclass(frozen=True, slots=True)
class _Counted:
    """The statistics of one list, kept beside it: those of its candidates, by line, and of what was decoded."""

    names: tuple[str, ...]  # of the features that every line must have
    segments: tuple[str, ...]
    lines: Ints  # (candidates,)
    stats: Ints  # (candidates, columns)
    decoded: Ints  # (segments, columns)

    def write(self, path: Path) -> None:
        with open_binary_output(path) as stream:
            np.savez_compressed(
                stream,
                names=np.array(self.names, np.str_),
                segments=np.array(self.segments),
                lines=self.lines,
                stats=self.stats,
                decoded=self.decoded,
            )

    @classmethod
    def read(cls, path: Path) -> "_Counted | None":
        """What is kept in a file; None if there is none, or none that can be read."""
        try:
            with np.load(path) as kept:
                names, segments = tuple(kept["names"].tolist()), tuple(kept["segments"].tolist())
                return cls(names, segments, kept["lines"], kept["stats"], kept["decoded"])
        except (OSError, ValueError, KeyError, EOFError, BadZipFile):
            return None


@dataclass(slots=True)
class _Run:
    """A loop, its folder, and the iterations that are done."""

    plan: LoopPlan
    decoder: Decoder
    folder: TuningFolder
    cluster: Cluster | None
    progress: TuningProgress
    done: list[Iteration] = field(default_factory=list)

    def used(self, number: int) -> dict[str, float]:
        """The weights that an iteration decodes with."""
        return self.done[number - 2].weights if number > 1 else self.plan.start.values

    def iterate(self, number: int) -> Iteration:
        """One iteration; its record is written when all else is."""
        began = time.perf_counter()
        plan, used, lists = self.plan, self.used(number), None
        if not self.folder.file(number, "nbest.gz").exists():
            weights_file = self.folder.file(number, "weights")
            plan.start.write(weights_file, list(used), np.array(list(used.values())))
            lists = self.folder.decode(number, self.decoder, lambda nbest: self.checked(number, nbest))
        latest = self.counted(number, lists)
        problem, start, new, notes = self.merged(number)
        inside = _inside(plan.constraints, problem.names, start)
        if new:
            solution = self.solve(problem, inside, number)
            weights, before, after = solution.weights, solution.start_score, solution.score
            notes = [*solution.notes, *notes]
        else:  # the last step has found what there is
            sign = 1.0 if plan.metric.maximize else -1.0
            weights, before = problem.scaled(inside), sign * problem.score(inside)
            after = before
        iteration = Iteration(
            number,
            problem.candidates,
            new,
            float(plan.metric.score(latest.decoded.sum(axis=0, keepdims=True))[0]),
            self.p_of(latest, number),
            before,
            after,
            dict(zip(problem.names, start.tolist(), strict=True)),
            dict(zip(problem.names, weights.tolist(), strict=True)),
            tuple(notes),
            time.perf_counter() - began,
        )
        with open_output(self.folder.file(number, "json")) as stream:
            json.dump(asdict(iteration), stream, indent=1)
        return iteration

    def checked(self, number: int, nbest: Path) -> NBest:
        """A new list; refused if it does not fit the weights, the references or the first list."""
        lists = read_lists([nbest], tune=self.plan.tune)
        self.plan.start.match(lists.names, lists.sparse_names, open_ended=lists.open_ended)
        check_against_references(lists, self.plan.metric)
        if number > 1:
            first = self.counted(1)
            check_like_first(nbest, lists, first.names, first.segments)
        return lists

    def counted(self, number: int, lists: NBest | None = None) -> _Counted:
        """The statistics of a list, from their file; counted if there is none, or if the list is new."""
        path, used = self.folder.file(number, "npz"), self.used(number)
        if lists is None and (kept := _Counted.read(path)):
            return kept
        lists = lists or read_lists([self.folder.file(number, "nbest.gz")], tune=self.plan.tune)
        stats = counted(self.plan.metric, lists.candidates)
        names, start, sparse = self.plan.start.match(
            lists.names, lists.sparse_names, open_ended=lists.open_ended
        )
        weights = np.array([used.get(name, value) for name, value in zip(names, start, strict=True)])
        made = _Counted(
            () if lists.open_ended else lists.names,
            tuple(lists.segments),
            np.array([line for _, line in lists.places]),
            stats,
            stats[lists.best(weights, sparse)],
        )
        made.write(path)
        return made

    def merged(self, number: int) -> tuple[Problem, Floats, int, list[str]]:
        """What is tuned on all lists, the weights decoded with, the number of new candidates, and notes."""
        plan, used = self.plan, self.used(number)
        first = 1 if plan.previous is None else max(1, number - plan.previous)
        paths = {n: self.folder.file(n, "nbest.gz") for n in range(first, number + 1)}
        files = list(paths.values())
        shared = (
            None
            if self.cluster is None
            else self.cluster.read_lists(files, self.progress.read, tune=plan.tune)
        )
        lists = shared or read_lists(files, self.progress.read, tune=plan.tune)
        names, start, sparse = plan.start.match(lists.names, lists.sparse_names, open_ended=lists.open_ended)
        start = np.array([used.get(name, value) for name, value in zip(names, start, strict=True)])
        notes = check_against_references(lists, plan.metric)
        constraints = plan.constraints.within(names, [entry.name for entry in plan.start.entries])
        inside = _inside(plan.constraints, names, start)
        if isinstance(lists, NBest):
            stats, new = _joined(lists, {path: self.counted(n) for n, path in paths.items()})
            parts = lists.parts(plan.metric, sparse, stats)
            return problem_of(parts, names, plan.metric, inside, constraints), start, new, notes
        problem = make_problem(lists, plan.metric, inside, constraints, names=names, sparse_weights=sparse)
        return problem, start, problem.candidates - (self.done[-1].candidates if self.done else 0), notes

    def solve(self, problem: Problem, start: Floats, number: int) -> Solution:
        """Search from these weights and from those of all earlier iterations."""
        search = self.plan.search.settled(len(problem.axes))
        earlier = [np.array([each.used.get(name, 0.0) for name in problem.names]) for each in self.done]
        return solve(
            problem,
            start,
            replace(search, seed=search.seed + 1000 * number),
            earlier=[_inside(self.plan.constraints, problem.names, weights) for weights in earlier],
            pool=self.cluster,
            watch=lambda results: self.progress.climb(results, search.climbs + 1),
        )

    def p_of(self, latest: _Counted, number: int) -> float:
        """The share of resamples in which decoding is no better than it was at the last significant gain."""
        if not self.done:
            return 1.0
        before = self.counted(next((each.number for each in reversed(self.done) if each.p <= SIGNIFICANT), 1))
        place = {segment: i for i, segment in enumerate(latest.segments)}
        shared = [segment in place for segment in before.segments]
        new = latest.decoded[[place[segment] for segment in before.segments if segment in place]]
        rng = np.random.default_rng([self.plan.search.seed, number])
        return float(
            np.mean(resampled_gains(partial(rate, self.plan.metric), before.decoded[shared], new, rng) <= 0)
        )


def _joined(lists: NBest, parts: Mapping[Path, _Counted]) -> tuple[Ints, int]:
    """The statistics of merged lists, each candidate's from its own list, and how many only the last list has."""
    number_of = {path: i for i, path in enumerate(parts)}
    files = np.array([number_of[Path(path)] for path, _ in lists.places])
    lines = np.array([line for _, line in lists.places])
    stats = np.empty((len(lists.places), next(iter(parts.values())).stats.shape[1]), np.int64)
    for i, part in enumerate(parts.values()):
        order = np.argsort(part.lines)
        stats[files == i] = part.stats[order[np.searchsorted(part.lines[order], lines[files == i])]]
    return stats, int((files == len(parts) - 1).sum())


def check_like_first(path: Path, lists: NBest, names: Sequence[str], segments: Sequence[str]) -> None:
    """Refuse a list that lacks segments of the first list, or has not its features if all its lines have the same."""
    missing = [segment for segment in segments if segment not in set(lists.segments)]
    if missing:
        some = ", ".join(missing[:5]) + (" …" if len(missing) > 5 else "")
        message = f"expected the segments of the first list, {len(missing)} are missing: {some}"
        raise InputError(path, None, message)
    if names and tuple(lists.names) != tuple(names):
        message = f"expected the features of the first list, {', '.join(names)}"
        raise InputError(path, 1, f"{message}, found {', '.join(lists.names)}")


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
        note = "the last weights found were not decoded with, and are not the answer" if fresh else ""
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


def _check_plan(plan: LoopPlan, folder: TuningFolder) -> None:
    """Write down the plan, or refuse a folder that belongs to another."""
    path = folder.lists / PLAN
    settings = plan.fixed_settings()
    if not folder.files("nbest.gz"):  # nothing was decoded under another plan
        with open_output(path) as stream:
            json.dump(settings, stream, indent=1)
        return
    try:
        earlier = json.loads(path.read_text(encoding="utf-8"))
        other = [name for name in settings if earlier.get(name) != settings[name]]
    except (OSError, ValueError, AttributeError) as error:
        raise RyptError(f"{path}: expected the plan of the run that is kept here: {error}") from None
    if other:
        raise RyptError(
            f"{folder.lists} holds a run with another {other[0]}: give another --folder, or remove this one"
        )
