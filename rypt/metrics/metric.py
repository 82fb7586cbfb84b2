"""The metric protocol, the resources a metric may use, and how metrics are found by name.

    read_metric("0.7*bleu + 0.3*rypt", Resources(references, campaign)) → stats of candidates → score of sums
    make_metric(term, resources) → single_scores of candidates

A metric is made by a factory, ``(resources, options) -> Metric``, found in the entry-point group ``rypt.metrics`` or
named as ``package.module:Class``; or it is a function of candidates, whose mean is the score
(`rypt.metrics.mean_score`). docs/metrics.md shows how to write one.
"""

import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Floats, Ints
from rypt.metrics.expression import PICK_TERMS, Term, parse_spec
from rypt.metrics.mean_score import function_metric
from rypt.metrics.references import References
from rypt.metrics.resources import Resources
from rypt.records import RawCandidate
from rypt.signature import signature_name
from rypt.text import RyptError, one_line

__all__ = ["Metric", "Resources", "make_metric", "read_metric", "single_scores"]

GROUP = "rypt.metrics"
MEMBERS = ("maximize", "scale", "signature", "stats", "score")


class Metric(Protocol):
    """Statistics of candidates that add up, and the score of their sums.

    Two more members are optional, for metrics whose score of one candidate's statistics says little:
    ``sentence_scores(candidates) -> Floats``, the score of each candidate alone, from 0 to 1, higher is better, and
    ``sentence_signature``, what these scores depend on (see `single_scores`).
    """

    maximize: bool  # whether a higher score is a better one
    scale: float  # scores run from 0 to this

    @property
    def signature(self) -> str:
        """All that a score depends on besides the data."""

    def stats(self, candidates: Sequence[RawCandidate]) -> Ints:
        """Integers for each candidate, (candidates, columns); of no candidates (0, columns)."""

    def score(self, sums: Ints) -> Floats:
        """The score of each row of summed statistics; a line search asks for thousands of rows at once."""


def stats_by_text(
    candidates: Sequence[RawCandidate],
    rows: Callable[[str, list[str]], Iterable[Sequence[int]]],
    columns: int,
) -> Ints:
    """Statistics that depend on segment and text alone, (candidates, columns); each text is computed once per segment.

    ``rows(segment, texts)`` gives a row for each of the distinct texts of a segment, so that it can prepare the
    segment's references once. Lists repeat themselves: one text has many derivations.

    >>> raw = [RawCandidate("0", text, None, {}, None) for text in ("a b", "a", "a b")]
    >>> stats_by_text(raw, lambda segment, texts: [[len(text), 1] for text in texts], columns=2).tolist()
    [[3, 1], [1, 1], [3, 1]]
    """
    texts: dict[str, dict[str, Sequence[int]]] = {}
    for raw in candidates:
        texts.setdefault(raw.segment, {})[raw.text] = ()
    for segment, distinct in texts.items():
        texts[segment] = dict(zip(distinct, rows(segment, list(distinct)), strict=True))
    if not candidates:
        return np.zeros((0, columns), np.int64)
    return check_stats(np.array([texts[raw.segment][raw.text] for raw in candidates]), len(candidates))


def check_stats(stats: NDArray[np.generic], count: int, metric: str = "a metric") -> Ints:
    """The statistics of ``count`` candidates as 64-bit integers; other types are an error of the metric."""
    if stats.ndim != 2 or len(stats) != count or not np.issubdtype(stats.dtype, np.integer):
        expected = f"whole numbers in ({count}, columns)"
        raise RyptError(f"the stats of {metric}: expected {expected}, found {stats.dtype} in {stats.shape}")
    return stats.astype(np.int64, copy=False)


def counted(metric: Metric, candidates: Sequence[RawCandidate]) -> Ints:
    """The statistics of candidates; an exception inside a metric becomes an error that names the metric."""
    with _blamed(metric):
        stats = np.asarray(metric.stats(candidates))
    return np.ascontiguousarray(check_stats(stats, len(candidates), _name(metric)))


def rated(metric: Metric, sums: Ints) -> Floats:
    """The scores of sums; NaN is refused, because scores could not be compared with it."""
    with _blamed(metric):
        scores = np.asarray(metric.score(sums), np.float64)
    return _check_scores(metric, scores, len(sums))


def single_scores(metric: Metric, candidates: Sequence[RawCandidate]) -> tuple[Floats, str]:
    """The score of each candidate alone, higher is better, and the signature of these scores.

    A metric with ``sentence_scores`` gives them itself, from 0 to 1. Of any other metric they are score / scale of
    each candidate's own statistics, or 1 - score / scale where lower is better.
    """
    sentence_scores = getattr(metric, "sentence_scores", None)
    if sentence_scores is not None:
        with _blamed(metric):
            scores = np.asarray(sentence_scores(candidates), np.float64)
        signature = getattr(metric, "sentence_signature", metric.signature)
        return _check_scores(metric, scores, len(candidates)), str(signature)
    shares = rated(metric, counted(metric, candidates)) / metric.scale
    return (shares if metric.maximize else 1 - shares), str(metric.signature)


def _check_scores(metric: Metric, scores: Floats, count: int) -> Floats:
    if scores.shape != (count,):
        raise RyptError(f"the metric {_name(metric)}: expected {count} scores, found an array {scores.shape}")
    if not np.isfinite(scores).all():
        raise RyptError(f"the metric {_name(metric)} gave a score that is not a number")
    return scores


@contextmanager
def _blamed(metric: Metric) -> Iterator[None]:
    """Name the metric in whatever goes wrong inside it."""
    try:
        yield
    except RyptError:
        raise
    except Exception as error:
        raise RyptError(f"the metric {_name(metric)} failed: {type(error).__name__}: {error}") from error


def _name(metric: Metric) -> str:
    return signature_name(metric.signature)


def references_of(metric: Metric) -> References | None:
    """The references a metric, or a part of a sum, compares with; None for one that needs none."""
    parts = [part.metric for part in getattr(metric, "parts", ())]
    every = (getattr(part, "references", None) for part in (metric, *parts))
    return next((references for references in every if references), None)


def advice_of(metric: Metric) -> list[str]:
    """What a metric, or the parts of a sum, advise after they counted: that another way to score serves better."""
    parts = [part.metric for part in getattr(metric, "parts", ())]
    return [advice for part in (metric, *parts) if (advice := getattr(part, "advice", ""))]


def read_metric(spec: str, resources: Resources) -> Metric:
    """The metric that a text names: ``name``, ``name(option=value,…)``, or a weighted sum such as ``0.7*bleu-0.3*ter``.

    A name is one of the entry-point group ``rypt.metrics``, or ``package.module:Class``.
    """
    terms = parse_spec(spec)
    for term in terms:
        if term.name in PICK_TERMS:
            raise RyptError(
                f"the metric {spec!r}: {term.name} scores no candidate by itself, so nothing can be tuned to it; "
                "it is a term of 'rypt compare --metrics'"
            )
        if term.weight == 0:
            raise RyptError(f"the metric {spec!r}: expected weights other than 0, found 0*{term.label}")
    metrics = [make_metric(term, resources) for term in terms]
    if len(terms) == 1 and terms[0].weight == 1:
        return metrics[0]
    from rypt.metrics.mix import Mix, Part  # it needs what this file defines

    return Mix([Part(term.weight, term.name, metric) for term, metric in zip(terms, metrics, strict=True)])


def metric_names() -> list[str]:
    """The names of all metrics that this and other packages offer by entry point."""
    return sorted({entry.name for entry in entry_points(group=GROUP)})


def check_metric_name(name: str, besides: Sequence[str] = ()) -> None:
    """Refuse a name that no package offers, without loading anything; ``besides`` are names that are known, too."""
    if ":" not in name and name not in (known := [*metric_names(), *besides]):
        raise RyptError(
            f"unknown metric {name!r}, expected one of {', '.join(known)}, or package.module:name"
        )


def make_metric(term: Term, resources: Resources) -> Metric:
    """The metric that one term names, without its weight."""
    factory = _imported(term.name) if ":" in term.name else _offered(term.name)
    if _rates_candidates(factory):
        return _of_function(term, factory, resources)
    try:
        inspect.signature(factory).bind(resources, term.options)
    except (TypeError, ValueError) as error:
        message = f"expected something to call with resources and options: {error}"
        raise RyptError(f"the metric {term.name}: {message}") from None
    try:
        metric: Metric = factory(resources, term.options)
    except (RyptError, OSError):
        raise
    except Exception as error:
        raise RyptError(f"the metric {term.name} cannot be made: {type(error).__name__}: {error}") from error
    missing = [member for member in MEMBERS if not hasattr(metric, member)]
    if missing:
        raise RyptError(f"the metric {term.name} lacks {', '.join(missing)}, which every metric has")
    return metric


def _rates_candidates(factory: Callable[..., Any]) -> bool:
    """Whether this is a function of candidates, which needs one argument; what makes a metric needs two."""
    if not inspect.isroutine(factory):
        return False
    try:
        parameters = inspect.signature(factory).parameters.values()
    except ValueError:
        return False
    needed = [
        p.name
        for p in parameters
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    return len(needed) == 1 and needed[0] != "resources"


def _of_function(term: Term, function: Callable[..., Iterable[float]], resources: Resources) -> Metric:
    try:
        inspect.signature(function).bind(
            [], **{k: v for k, v in term.options.items() if k not in ("better", "scale")}
        )
    except TypeError as error:
        raise RyptError(f"the metric {term.name}: {error}") from None
    return function_metric(term.name, function, resources, term.options)


def _offered(name: str) -> Callable[..., Any]:
    """The factory of an entry point."""
    check_metric_name(name)
    entries = list({entry.value: entry for entry in entry_points(group=GROUP, name=name)}.values())
    if len(entries) > 1:
        offered = " or ".join(entry.value for entry in entries)
        raise RyptError(f"more than one package offers the metric {name}: write {offered} instead")
    return _load(entries[0])


def _imported(name: str) -> Callable[..., Any]:
    """The factory that ``package.module:Class`` names."""
    importlib.invalidate_caches()  # a module may have been written since the last import
    return _load(EntryPoint(name, name, GROUP))


def _load(entry: EntryPoint) -> Callable[..., Any]:
    try:
        factory: Callable[..., Any] = entry.load()
    except Exception as error:  # whatever a module does when it is imported
        what = f"the metric {entry.name}" + (f" ({entry.value})" if entry.value != entry.name else "")
        raise RyptError(
            f"{what} cannot be imported: {type(error).__name__}: {one_line(str(error))}"
        ) from error
    return factory
