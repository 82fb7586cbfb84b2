"""The functions for tuning: on n-best lists or a campaign (`tune`), or in a loop with a decoder (`tune_decoder`).

Both return the weights, the score before and after, and warnings about the weights.
"""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from mert.campaign import start_weights
from mert.checks import Gain
from mert.cluster import Cluster
from mert.constraints import Constraints
from mert.decoder import Decoder, DecoderFunction, FunctionDecoder, ReplayDecoder, read_decoder
from mert.lists import check_against_references, read_lists
from mert.loop import DecoderTuning, LoopPlan, Stopping, TuningProgress, run_loop
from mert.problem import Candidates, Lists, Problem, make_problem
from mert.search import SearchSettings, solve
from mert.weights import WeightsFile, default_weights, read_weights
from rypt.campaign.folder import Campaign, read_source
from rypt.metrics.metric import Metric, Resources, columns_of, parts_of, read_metric
from rypt.text import PathLike, RyptError, Watch
from rypt.texts.lists import References, read_references
from rypt.texts.nbest import read_list

Weights = PathLike | Mapping[str, float] | WeightsFile


@dataclass(frozen=True, slots=True, repr=False)
class TuningResult:
    """Tuned weights, and how much better they are on the lists they were tuned on.

    ``gain`` has the gain, its 95 % interval over resampled segments, and p, the share of resamples without a gain.
    ``notes`` are warnings about the weights: some that collapsed, one that decides almost everything, weights at the
    edge of their bounds. ``scores`` are those of the replicates, ``ends`` those of all climbs, the best first: with the
    aim ``unseen`` the best is above ``score``, that of weights meant for other segments. ``searches`` is the number of
    line searches, ``sparse`` the number of sparse features that were held, ``seconds`` the time that reading, counting
    and searching took. ``start`` is the file of weights that the search started from.
    """

    weights: dict[str, float]
    score: float
    start_score: float
    gain: Gain
    notes: tuple[str, ...]
    signature: str
    scores: tuple[float, ...]
    ends: tuple[float, ...]
    searches: int
    sparse: int
    seconds: dict[str, float]
    start: WeightsFile

    @property
    def mean(self) -> float:
        """The mean score of the replicates."""
        return float(np.mean(self.scores))

    @property
    def deviation(self) -> float:
        """The standard deviation of the replicates' scores."""
        return float(np.std(self.scores, ddof=1)) if len(self.scores) > 1 else 0.0

    def write(self, path: PathLike) -> None:
        """Write the weights in the form of the file that the search started from; everything else in it stays."""
        self.start.write(path, list(self.weights), np.array(list(self.weights.values())))

    def plot(self, path: PathLike) -> None:
        """Draw the score before and after, the optima that climbs reached, and each weight before and after."""
        from mert.plot import plot_search

        scores = (self.start_score, self.score, self.ends)
        plot_search(path, self.signature.partition("|")[0], scores, (self.start.values, self.weights))

    def summary(self) -> dict[str, Any]:
        """The numbers as plain values, for JSON."""
        return {
            "score": self.score,
            "start_score": self.start_score,
            "weights": self.weights,
            "signature": self.signature,
            "seconds": self.seconds,
            "searches": self.searches,
            "gain": asdict(self.gain),
            "replicates": {"scores": self.scores, "mean": self.mean, "deviation": self.deviation},
            "notes": self.notes,
        }

    def __repr__(self) -> str:
        weights = ", ".join(f"{name} {value:.4g}" for name, value in self.weights.items())
        return (
            f"TuningResult({self.start_score:.4f} → {self.score:.4f}, p = {self.gain.p:.3f}, {weights}, "
            f"{self.signature})"
        )


def tune(
    lists: Sequence[PathLike] | None = None,
    *,
    campaign: Campaign | PathLike | None = None,
    metric: str | Metric | None = None,
    references: Sequence[PathLike] | References = (),
    source: PathLike | None = None,
    weights: Weights | None = None,
    search: SearchSettings | None = None,
    constraints: Constraints | None = None,
    allow_missing: bool = False,
    cluster: Cluster | None = None,
    progress: TuningProgress | None = None,
) -> TuningResult:
    """Find weights that rank the best candidates of n-best lists first.

    Without ``lists`` those of the ``campaign`` are tuned on, with its references, from its current weights and with
    ``rypt`` as the metric; with ``lists`` a campaign only has the judgments for the metric ``rypt``. The metric is
    otherwise ``bleu``: a name, a weighted sum such as ``"0.7*bleu+0.3*rypt"``, or a metric object. ``source`` is the
    file of the source segments, for metrics that need it [the campaign's]. ``weights`` is where the search starts: a
    file, names with numbers, or nothing for 1 each. The random seed is in ``search``. Lists without candidates for some
    segments of the references are refused unless ``allow_missing`` is true.

    On a ``cluster`` (`mert.cluster.open_cluster`) the workers read, count and search their shares of the segments.
    """
    search, constraints, progress = (
        search or SearchSettings(),
        constraints or Constraints(),
        progress or TuningProgress(),
    )
    earlier: list[Path] = []
    if lists is None:
        if campaign is None:
            raise RyptError("expected n-best lists or a campaign to tune on")
        campaign = campaign if isinstance(campaign, Campaign) else Campaign.open(campaign)
        given = weights
        lists, references, weights, earlier = _of_campaign(campaign, references, weights)
        if given is None and weights is not None:
            progress.note(f"starting from the campaign's weights, {weights}")
        metric = metric or "rypt"
    resources = _resources(references, campaign, source, lists)
    chosen = read_metric(metric or "bleu", resources) if isinstance(metric, str | None) else metric
    return _tune_lists(lists, chosen, weights, earlier, search, constraints, allow_missing, cluster, progress)


def _of_campaign(
    campaign: Campaign, references: Sequence[PathLike] | References, weights: Weights | None
) -> tuple[list[PathLike], Sequence[PathLike] | References, Weights | None, list[Path]]:
    """The lists, references and weights of a campaign, and the weights of iterations before those."""
    if not campaign.files.nbest:
        folder = campaign.folder
        raise RyptError(f"{folder}: expected at least one n-best list; `rypt loop {folder} --once` makes one")
    earlier: list[Path] = []
    if not isinstance(weights, Mapping | WeightsFile):
        weights, earlier = start_weights(campaign, weights)
    if not references:
        references = [campaign.path(name) for name in campaign.files.references]
    return [campaign.path(name) for name in campaign.files.nbest], references, weights, earlier


def _resources(
    references: Sequence[PathLike] | References,
    campaign: Campaign | PathLike | None,
    source: PathLike | None,
    lists: Sequence[PathLike] = (),
) -> Resources:
    folder = campaign.folder if isinstance(campaign, Campaign) else campaign
    if not isinstance(references, References):
        references_read = read_references(references) if references else None
    else:
        references_read = references

    def read_sources() -> dict[str, str]:
        if source is not None:
            segments = read_source(source)
        else:
            segments = Campaign.open(folder).segments if folder is not None else []
        return {segment.id: segment.text for segment in segments}

    def candidates() -> Iterator[tuple[str, str]]:
        for path in lists:
            for _, raw in read_list(path):
                yield raw.segment, raw.text

    return Resources(references_read, folder, sources=read_sources, lists=candidates if lists else None)


def _read_start(weights: Weights) -> WeightsFile:
    if isinstance(weights, WeightsFile):
        return weights
    if isinstance(weights, Mapping):
        return default_weights(list(weights), np.array(list(weights.values()), dtype=np.float64))
    return read_weights(weights)


def _tune_lists(
    paths: Sequence[PathLike],
    metric: Metric,
    weights: Weights | None,
    earlier: Sequence[Path],
    search: SearchSettings,
    constraints: Constraints,
    allow_missing: bool,
    cluster: Cluster | None,
    progress: TuningProgress,
) -> TuningResult:
    times = [time.perf_counter()]
    start = None if weights is None else _read_start(weights)
    lists = open_lists(paths, progress.read, constraints.only or None, cluster)
    lists = _without_the_metrics_columns(lists, metric, progress)
    sparse_names = lists.sparse_names
    if start is None:
        start = default_weights(lists.names, np.ones(len(lists.names)))
    names, point, sparse = start.match(lists.names, sparse_names, open_ended=lists.open_ended)
    for note in check_against_references(lists, metric):
        if not allow_missing:
            raise RyptError(f"{note}; --allow-missing tunes on the others")
        progress.note(note)
    times.append(time.perf_counter())
    constraints = constraints.on(names, start.constraints)
    problem = make_problem(lists, metric, point, constraints, names=names, sparse_weights=sparse)
    search = search.settled(len(problem.axes))
    times.append(time.perf_counter())
    if weights is None:
        progress.note(f"no weights are given: starting from 1 for each of the {len(names)} features")
    for note in _advice(problem, lists):
        progress.note(note)
    solution = solve(
        problem,
        point,
        search,
        earlier=[read_weights(path).match(names, sparse_names, open_ended=True)[1] for path in earlier],
        pool=cluster,
        watch=lambda results: progress.climb(results, search.climbs + 1),
    )
    times.append(time.perf_counter())
    limits_and_norm = f"{constraints.signature}|norm:{problem.normalization}"
    return TuningResult(
        dict(zip(names, solution.weights.tolist(), strict=True)),
        solution.score,
        solution.start_score,
        solution.gain,
        solution.notes,
        f"{metric.signature}|{search}{limits_and_norm}|n:{len(lists.segments)}",
        solution.scores,
        solution.ends,
        solution.searches,
        len(sparse_names),
        {part: b - a for part, (a, b) in zip(("read", "stats", "optimize"), pairwise(times), strict=True)},
        start,
    )


def open_lists(
    paths: Sequence[PathLike], watch: Watch, tune: Collection[str] | None, cluster: Cluster | None
) -> Lists:
    """Lists in memory, or on a cluster if they are in a format that can be divided."""
    shared = None if cluster is None else cluster.read_lists(paths, watch, tune=tune)
    return shared or read_lists(paths, watch, tune=tune)


def _without_the_metrics_columns(lists: Lists, metric: Metric, progress: TuningProgress) -> Lists:
    """Leave out the features that are tuned to: a weight for one of them would take it all."""
    columns = [name for name in columns_of(metric) if name in lists.names]
    for name in columns:
        progress.note(f"the feature {name} is what is tuned to: it gets no weight")
    if columns and len(columns) == len(lists.names):
        raise RyptError(
            f"the lists have no feature besides {', '.join(columns)}, which is tuned to: nothing to tune"
        )
    return lists.without(columns) if columns else lists


def _advice(problem: Problem, lists: Lists) -> list[str]:
    """What the metric says of the lists, and a note where BLEU takes raw words for tokens."""
    advice = list(dict.fromkeys(chain.from_iterable(problem.parts.ask(_advice_of_metric))))
    if "tok:none" in str(problem.metric.signature) and lists.raw:
        advice.append(
            "the candidates are raw text, and BLEU takes tokens as they are: bleu(tokenize=13a) cuts them"
        )
    return advice


def _advice_of_metric(candidates: Candidates) -> list[str]:
    return [part.advice for part in parts_of(candidates.metric) if getattr(part, "advice", "")]


def tune_decoder(
    decoder: str | Decoder | DecoderFunction,
    *,
    weights: Weights,
    folder: PathLike = "rypt-tune",
    metric: str | Metric = "bleu",
    references: Sequence[PathLike] | References = (),
    source: PathLike | None = None,
    campaign: Campaign | PathLike | None = None,
    search: SearchSettings | None = None,
    constraints: Constraints | None = None,
    stopping: Stopping | None = None,
    timeout: float | None = None,
    cluster: Cluster | None = None,
    progress: TuningProgress | None = None,
) -> DecoderTuning:
    """Decode and tune in turn, on the lists of all iterations merged; a run that was interrupted is resumed.

    ``decoder`` is a shell command with ``{weights}`` (or ``{config}``) and ``{nbest}`` in it, a function of the
    iteration, the file of weights and the file for the list (or its name, ``package.module:function``), or
    `mert.decoder.ReplayDecoder` for lists of an earlier run, whose last weights are returned. ``timeout`` is how many
    seconds a command may take. Everything is kept in ``folder``, which belongs to one run. ``cluster`` is
    as in `tune`; the list of one iteration is read whole.
    """
    constraints, stopping = constraints or Constraints(), stopping or Stopping()
    resources = _resources(references, campaign, source)
    chosen = read_metric(metric, resources) if isinstance(metric, str) else metric
    start = _read_start(weights)
    if both := {entry.name for entry in start.entries}.intersection(columns_of(chosen)):
        raise RyptError(f"the feature {min(both)} is what is tuned to: it cannot have a weight")
    made = _make_decoder(decoder, timeout)
    if isinstance(made, ReplayDecoder):
        stopping = replace(stopping, keep="last")
    plan = LoopPlan(
        chosen,
        start,
        search or SearchSettings(),
        constraints.on([entry.name for entry in start.entries], start.constraints),
        tuple(constraints.only) or None,
        stopping,
        made.identity,
    )
    return run_loop(plan, made, Path(folder), cluster=cluster, progress=progress)


def _make_decoder(decoder: str | Decoder | DecoderFunction, timeout: float | None) -> Decoder:
    if isinstance(decoder, str):
        return read_decoder(decoder, timeout)
    return decoder if isinstance(decoder, Decoder) else FunctionDecoder(decoder)
