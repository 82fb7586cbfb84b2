"""What a metric is, and how metrics are found by name and summed.

    read_metric("0.7*bleu + 0.3*rypt", Resources(references, campaign)) → stats of candidates → score of sums
    make_metric(term, resources) → single_scores of candidates

A metric is made by ``(resources, options) -> Metric``: a factory of this package, one that another package offers in
the entry-point group ``rypt.metrics``, or a class named as ``package.module:Class``. A function, named in the same
way, scores candidates one by one, and its mean is the metric. docs/metrics.md shows how to write one.
"""

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rypt.arrays import Floats, Ints
from rypt.metrics.candidate_scores import function_metric
from rypt.metrics.expression import PICK_TERMS, Term, parse_spec
from rypt.records import Candidate
from rypt.signature import signature, signature_name
from rypt.text import PathLike, RyptError, one_line
from rypt.texts.lists import References

GROUP = "rypt.metrics"
BUNDLED = {
    "bleu": "rypt.metrics.bleu:make_bleu",
    "chrf": "rypt.metrics.chrf:make_chrf",
    "chrf++": "rypt.metrics.chrf:make_chrf_plus_plus",
    "column": "rypt.metrics.candidate_scores:make_column",
    "rypt": "rypt.metrics.campaign_rypt:make_rypt",
    "scores": "rypt.metrics.candidate_scores:make_scores",
    "ter": "rypt.metrics.ter:make_ter",
}
MEMBERS = ("maximize", "scale", "signature", "stats", "score")


@dataclass(frozen=True, slots=True)
class Resources:
    """Resources that a metric may use; ``…_from`` says in error messages how a user provides them.

    ``sources`` reads the source of each segment, ``lists`` the segment and text of each candidate in the order
    of the lists' lines.
    """

    references: References | None = None
    campaign: PathLike | None = None
    references_from: str = "--references"
    campaign_from: str = "--campaign"
    sources: Callable[[], Mapping[str, str]] | None = None
    lists: Callable[[], Iterable[tuple[str, str]]] | None = None

    def need_references(self, metric: str) -> References:
        """The references; an error that names the metric where there are none."""
        if self.references is None:
            raise RyptError(f"the metric {metric} needs {self.references_from}")
        return self.references

    def need_campaign(self, metric: str) -> PathLike:
        """The folder of the campaign; an error that names the metric where there is none."""
        if self.campaign is None:
            raise RyptError(f"the metric {metric} needs {self.campaign_from}")
        return self.campaign


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

    def stats(self, candidates: Sequence[Candidate]) -> Ints:
        """Integers for each candidate, (candidates, columns); of no candidates (0, columns)."""

    def score(self, sums: Ints) -> Floats:
        """The score of each row of summed statistics; a line search asks for thousands of rows at once."""


def segment_texts(candidates: Sequence[Candidate]) -> list[tuple[str, str]]:
    """Segment and text of each candidate; a sequence that has a method of this name need not make its candidates."""
    pairs = getattr(candidates, "segment_texts", None)
    return list(pairs()) if pairs else [(raw.segment, raw.text) for raw in candidates]


def stats_by_text(
    candidates: Sequence[Candidate],
    rows: Callable[[str, list[str]], Iterable[Sequence[int]] | Ints],
    columns: int,
) -> Ints:
    """Statistics that depend on segment and text alone, (candidates, columns), computed once for each distinct text.

    ``rows(segment, texts)`` gives a row for each distinct text of a segment, and can prepare the segment's
    references once.

    >>> raw = [Candidate("0", text, None, {}, None) for text in ("a b", "a", "a b")]
    >>> stats_by_text(raw, lambda segment, texts: [[len(text), 1] for text in texts], columns=2).tolist()
    [[3, 1], [1, 1], [3, 1]]
    """
    pairs = segment_texts(candidates)
    if not pairs:
        return np.zeros((0, columns), np.int64)
    places: dict[str, dict[str, int]] = {}
    for segment, text in pairs:
        places.setdefault(segment, {})[text] = 0
    blocks: list[Ints] = []
    count = 0
    for segment, texts in places.items():
        counts = rows(segment, list(texts))
        block = counts if isinstance(counts, np.ndarray) else np.array(list(counts))
        blocks.append(check_stats(block, len(texts)))
        places[segment] = dict(zip(texts, range(count, count + len(texts)), strict=True))
        count += len(texts)
    return np.concatenate(blocks)[[places[segment][text] for segment, text in pairs]]


def check_stats(stats: NDArray[np.generic], count: int, metric: str = "a metric") -> Ints:
    """The statistics of ``count`` candidates as 64-bit integers; any other type is an error."""
    if stats.ndim != 2 or len(stats) != count or not np.issubdtype(stats.dtype, np.integer):
        expected = f"whole numbers in ({count}, columns)"
        raise RyptError(f"the stats of {metric}: expected {expected}, found {stats.dtype} in {stats.shape}")
    return stats.astype(np.int64, copy=False)


def counted(metric: Metric, candidates: Sequence[Candidate]) -> Ints:
    """The statistics of candidates; an exception inside a metric becomes an error that names the metric."""
    with _blamed(metric):
        stats = np.asarray(metric.stats(candidates))
    return np.ascontiguousarray(check_stats(stats, len(candidates), signature_name(metric.signature)))


def rated(metric: Metric, sums: Ints) -> Floats:
    """The scores of sums; NaN is refused, because scores could not be compared with it."""
    with _blamed(metric):
        scores = np.asarray(metric.score(sums), np.float64)
    return _check_scores(metric, scores, len(sums))


def single_scores(metric: Metric, candidates: Sequence[Candidate]) -> tuple[Floats, str]:
    """The score of each candidate alone, higher is better, and the signature of these scores.

    A metric with ``sentence_scores`` gives them itself, from 0 to 1. Of any other metric they are score / scale of
    each candidate's own statistics, or 1 - score / scale where lower is better.
    """
    sentence_scores = getattr(metric, "sentence_scores", None)
    if sentence_scores is not None:
        with _blamed(metric):
            scores = np.asarray(sentence_scores(candidates), np.float64)
        signed = getattr(metric, "sentence_signature", metric.signature)
        return _check_scores(metric, scores, len(candidates)), str(signed)
    shares = rated(metric, counted(metric, candidates)) / metric.scale
    return (shares if metric.maximize else 1 - shares), str(metric.signature)


class SacrebleuMetric:
    """A metric with sacrebleu's numbers and signatures, which counts each text of a segment once.

    ``metric`` is sacrebleu's; ``single`` the one for single scores, where that has other options. ``title`` begins the
    signature, ``name`` that of single scores.
    """

    maximize = True
    scale = 100.0
    title = name = ""
    columns = 0

    def __init__(self, references: References, metric: Any, single: Any = None) -> None:
        self.references = references
        self.metric, self.single = metric, single or metric
        self.metric.num_refs = self.single.num_refs = references.count

    @property
    def signature(self) -> str:
        return signature(self.title, str(self.metric.get_signature()))

    def stats(self, candidates: Sequence[Candidate]) -> Ints:
        return stats_by_text(candidates, self.rows, self.columns)

    def rows(self, segment: str, texts: list[str]) -> Iterable[Sequence[int]] | Ints:
        """The statistics of each text of a segment."""
        raise NotImplementedError

    def score(self, sums: Ints) -> Floats:
        raise NotImplementedError

    @property
    def sentence_signature(self) -> str:
        return f"{self.name}|{self.single.get_signature()}"

    def sentence_scores(self, candidates: Sequence[Candidate]) -> Floats:
        """sacrebleu's sentence score of each candidate, from 0 to 1; where lower is better 1 minus it, at least 0."""
        pairs = segment_texts(candidates)
        scores = {
            (segment, text): float(self.single.sentence_score(text, self.references[segment]).score) / 100
            for segment, text in dict.fromkeys(pairs)
        }
        values = np.array([scores[pair] for pair in pairs], np.float64)
        return values if self.maximize else np.maximum(0.0, 1 - values)


def _check_scores(metric: Metric, scores: Floats, count: int) -> Floats:
    name = signature_name(metric.signature)
    if scores.shape != (count,):
        raise RyptError(f"the metric {name}: expected {count} scores, found an array {scores.shape}")
    if not np.isfinite(scores).all():
        raise RyptError(f"the metric {name} gave a score that is not a number")
    return scores


@contextmanager
def _blamed(metric: Metric) -> Iterator[None]:
    """Name the metric in whatever goes wrong inside it."""
    try:
        yield
    except RyptError:
        raise
    except Exception as error:
        name = signature_name(metric.signature)
        raise RyptError(f"the metric {name} failed: {type(error).__name__}: {error}") from error


class WeightedSum:
    """The sum of weight · 100 · score / scale over metrics, higher is better.

    So RYPT, from 0 to 1, and BLEU, from 0 to 100, have the same weight, and weights that sum to 1 give a score from 0
    to 100. A metric that is better when lower has a negative weight, the others a positive one.
    """

    maximize = True
    scale = 100.0

    def __init__(self, terms: Sequence[tuple[float, Metric]], names: Sequence[str]) -> None:
        for (weight, metric), name in zip(terms, names, strict=True):
            if (weight > 0) != metric.maximize:
                better = "higher" if metric.maximize else "lower"
                raise RyptError(f"{name} is better when {better}: write {-weight:g}*{name}")
        self.weights = [weight for weight, _ in terms]
        self.parts = [metric for _, metric in terms]
        self.ends = np.cumsum([counted(metric, []).shape[1] for metric in self.parts])

    @property
    def signature(self) -> str:
        terms = zip(self.weights, self.parts, strict=True)
        return "".join(f"{weight:+.15g}*[{metric.signature}]" for weight, metric in terms).removeprefix("+")

    def stats(self, candidates: Sequence[Candidate]) -> Ints:
        return np.concatenate([counted(metric, candidates) for metric in self.parts], axis=1)

    def score(self, sums: Ints) -> Floats:
        total: Floats = np.zeros(len(sums))
        blocks = np.split(sums, self.ends[:-1], axis=1)
        for weight, metric, block in zip(self.weights, self.parts, blocks, strict=True):
            total += weight * (100 / metric.scale) * metric.score(block)
        return total


def parts_of(metric: Any) -> list[Any]:
    """A metric, or the metrics of a sum."""
    return getattr(metric, "parts", [metric])


def references_of(metric: Metric) -> References | None:
    """The references that a metric, or a part of a sum, compares with; None for one that needs none."""
    every = (getattr(part, "references", None) for part in parts_of(metric))
    return next((references for references in every if references), None)


def columns_of(metric: Metric) -> list[str]:
    """The columns of the list that a metric, or the parts of a sum, take scores from."""
    return [column for part in parts_of(metric) if (column := getattr(part, "column", None))]


def read_metric(spec: str, resources: Resources) -> Metric:
    """The metric that an expression names, such as ``bleu`` or ``0.7*bleu - 0.3*ter`` (`rypt.metrics.expression`)."""
    terms = parse_spec(spec)
    for term in terms:
        if term.name in PICK_TERMS:
            raise RyptError(
                f"the metric {spec!r}: {term.name} scores no candidate by itself, so nothing can be tuned to it; "
                "it is a term of 'rypt compare scores --metrics'"
            )
        if term.weight == 0:
            raise RyptError(f"the metric {spec!r}: expected weights other than 0, found 0*{term.label}")
    metrics = [(term.weight, make_metric(term, resources)) for term in terms]
    if len(terms) == 1 and terms[0].weight == 1:
        return metrics[0][1]
    return WeightedSum(metrics, [term.name for term in terms])


def metric_names() -> list[str]:
    """The names of all metrics of this package, and of those that other packages offer by entry point."""
    return sorted({*BUNDLED, *(entry.name for entry in entry_points(group=GROUP))})


def check_metric_name(name: str, besides: Sequence[str] = ()) -> None:
    """Refuse a name that no package offers, without loading anything; ``besides`` are names that are valid, too."""
    if ":" not in name and name not in (known := [*metric_names(), *besides]):
        raise RyptError(
            f"unknown metric {name!r}, expected one of {', '.join(known)}, or package.module:name"
        )


def make_metric(term: Term, resources: Resources) -> Metric:
    """The metric that one term names, without its weight."""
    factory = _factory(term.name)
    if ":" in term.name and not isinstance(factory, type):
        return function_metric(term.name, factory, resources, term.options)
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


def _factory(name: str) -> Callable[..., Any]:
    """The class or function of a name: one of this package, that of an entry point, or ``package.module:name``."""
    check_metric_name(name)
    if ":" in name:
        importlib.invalidate_caches()  # a module may have been written since the last import
        entries = [EntryPoint(name, name, GROUP)]
    elif name in BUNDLED:
        entries = [EntryPoint(name, BUNDLED[name], GROUP)]
    else:
        entries = list({entry.value: entry for entry in entry_points(group=GROUP, name=name)}.values())
    if len(entries) > 1:
        offered = " and ".join(entry.value for entry in entries)
        raise RyptError(f"more than one package offers the metric {name}: {offered}")
    try:
        factory = entries[0].load()
    except Exception as error:  # whatever a module does when it is imported
        reason = f"{type(error).__name__}: {one_line(str(error))}"
        raise RyptError(f"the metric {name} cannot be imported: {reason}") from error
    if not callable(factory):
        raise RyptError(f"the metric {name}: expected a class or a function, found {factory!r}")
    return factory  # type: ignore[no-any-return]
