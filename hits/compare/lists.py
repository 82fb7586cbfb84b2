"""Systems' outputs beside each other: scores with sacrebleu's paired bootstrap, and a page of where two differ.

    comparison = compare_systems(["systemA.txt", "systemB.jsonl"], source="dev.de", references=["dev.en"])
    print(comparison.text())
    comparison.write("compare.html")

Lists are of any form; of several candidates of a segment the first counts. The first system is the baseline that the
others are tested against (`sacrebleu.significance`). One list alone gets its scores.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from typing import Any

import numpy as np

from hits.batch.markup import highlight
from hits.compare.picks import write_page
from rypt.arrays import Ints
from rypt.campaign.folder import read_source
from rypt.metrics.expression import split_specs
from rypt.metrics.metric import Metric, Resources, counted, rated, read_metric, single_scores
from rypt.records import Candidate
from rypt.text import InputError, PathLike, RyptError, read_lines
from rypt.text import tokenize as tokens_of
from rypt.texts.lists import References, list_names, read_references
from rypt.texts.nbest import read_list

RESAMPLES = 1000
LEVEL = 0.05
DEFAULT_METRICS = "bleu,chrf,ter"


@dataclass(frozen=True, slots=True)
class SystemScore:
    """A system's score by one metric, half the width of its 95 % interval, and p of its difference to the baseline."""

    system: str
    metric: str
    score: float
    interval: float
    p: float | None = None


@dataclass(frozen=True, slots=True)
class SegmentPair:
    """The candidates of the first two systems for a segment, with the scores of each by each metric, from 0 to 1."""

    segment: str
    source: str
    references: tuple[str, ...]
    first: str
    second: str
    scores: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, repr=False)
class SystemComparison:
    """Systems, the first of them the baseline; ``different`` are the segments where the first two differ.

    The largest differences by the first metric come first. ``signatures`` are of the metrics, by their names;
    ``left_out`` counts segments that not all systems have.
    """

    systems: list[str]
    scores: list[SystemScore]
    different: list[SegmentPair]
    segments: int
    left_out: int
    signatures: Mapping[str, str]

    def __repr__(self) -> str:
        return f"SystemComparison({', '.join(self.systems)}; {self.segments} segments)"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def notes(self) -> list[str]:
        """What was compared."""
        lines = [f"{self.segments} segments, the first candidate of each, scored as one corpus"]
        if self.left_out:
            lines.append(f"segments that not all systems have, left out: {self.left_out}")
        if len(self.systems) > 1:
            lines.append(f"{self.systems[0]} and {self.systems[1]} differ in {len(self.different)} of them")
            lines.append(f"p: paired bootstrap against {self.systems[0]}; * where it is below {LEVEL}")
        return lines

    def rows(self) -> list[list[str]]:
        """For each system its scores by the metrics."""
        rows: dict[str, list[str]] = {system: [system] for system in self.systems}
        for score in self.scores:
            star = "*" if score.p is not None and score.p < LEVEL else ""
            p = "" if score.p is None else f" (p = {score.p:.3f}){star}"
            rows[score.system].append(f"{score.score:.2f} ± {score.interval:.2f}{p}")
        return list(rows.values())

    def text(self) -> str:
        """A table of the scores, what was compared, and the metrics' signatures."""
        from tabulate import tabulate

        table = str(tabulate(self.rows(), ["system", *self.signatures], disable_numparse=True))
        tables = [table, ""] if self.signatures else []
        return "\n".join([*tables, *self.notes(), *self.signatures.values()])

    def write(self, path: PathLike, limit: int | None = None) -> None:
        """Write a page with the candidates of the first two systems side by side, where they differ."""
        if len(self.systems) < 2:
            raise RyptError(f"expected two systems to show side by side, found {self.systems[0]} alone")

        def marked(text: str, other: str) -> str:
            tokens = tokens_of(text)
            return highlight(tokens, changed_words(tokens, tokens_of(other)))

        write_page(path, "lists.html", marked, comparison=self, pairs=self.different[:limit])


class _Adapted:
    """A metric as sacrebleu's tests call theirs, with candidates where those have texts."""

    references = None

    def __init__(self, name: str, metric: Metric) -> None:
        self._name, self._metric = name, metric

    def _extract_corpus_statistics(self, candidates: Sequence[Candidate], _: None) -> Ints:
        return counted(self._metric, candidates)

    def _compute_score_from_stats(self, sums: Sequence[float]) -> Any:
        from sacrebleu.metrics.base import Score

        return Score(self._name, float(rated(self._metric, np.array([sums]).round().astype(np.int64))[0]))

    def _aggregate_and_compute(self, stats: Ints) -> Any:
        return self._compute_score_from_stats(np.sum(stats, axis=0))

    def get_signature(self) -> Any:
        from sacrebleu.metrics.base import Signature

        return Signature({"num_refs": 1})  # not shown: ours is


def compare_systems(
    paths: Sequence[PathLike],
    *,
    source: PathLike | None = None,
    references: Sequence[PathLike] = (),
    metrics: str | None = None,
) -> SystemComparison:
    """Compare the first candidates of lists, each named after its file.

    ``metrics`` are separated by commas, by default BLEU (tokenized by 13a), chrF and TER where there are references.
    References are in the order of the ``source``; without one, segments are numbered from 0. Intervals and p are those
    of ``sacrebleu --paired-bs``.
    """
    segments = {} if source is None else {segment.id: segment.text for segment in read_source(source)}
    documents = read_references(references) if references else None
    if documents is not None and segments:
        if len(documents) != len(segments):
            message = f"expected {len(segments)} lines, one per segment of {source}, found {len(documents)}"
            raise InputError(documents.paths[0], None, message)
        documents = References(documents.documents, documents.paths, list(segments))
    lines = len(documents) if documents else sum(1 for _ in read_lines(paths[0]))
    order = list(segments) or [str(i) for i in range(lines)]
    firsts: list[dict[str, Candidate]] = []
    for path in paths:
        firsts.append({})
        for _, candidate in read_list(path, order):
            firsts[-1].setdefault(candidate.segment, candidate)
    known = set(order) if documents else firsts[0].keys()
    shared = [name for name in firsts[0] if name in known and all(name in each for each in firsts)]
    if not shared:
        examples = " and ".join(repr(next(iter(candidates), "none")) for candidates in firsts)
        hint = (
            "; --source FILE says which segments the references are of" if documents and not segments else ""
        )
        raise RyptError(
            f"expected lists of the same segments, found none in all: they begin with {examples}{hint}"
        )
    systems = list_names(paths)
    sides = [[candidates[name] for name in shared] for candidates in firsts]
    resources = Resources(
        documents,
        references_from="--references",
        campaign_from="a campaign, and these are lists",
        sources=(lambda: segments) if segments else None,
        lists=lambda: ((c.segment, c.text) for side in sides for c in side),
    )
    names = [] if metrics is None and documents is None else split_specs(metrics or DEFAULT_METRICS)
    chosen = {
        name: read_metric("bleu(tokenize=13a)" if name == "bleu" else name, resources)
        for name in map(str.strip, names)
    }
    pairs = zip(shared, *sides[:2], strict=True) if len(sides) > 1 else ()
    scored = [[single_scores(metric, side)[0] for side in sides[:2]] for metric in chosen.values()]
    different = [
        SegmentPair(
            name,
            segments.get(name, ""),
            tuple(documents[name]) if documents else (),
            first.text,
            second.text,
            tuple((float(one[i]), float(other[i])) for one, other in scored),
        )
        for i, (name, first, second) in enumerate(pairs)
        if first.text.split() != second.text.split()
    ]
    different.sort(key=lambda pair: -abs(pair.scores[0][1] - pair.scores[0][0]) if pair.scores else 0)
    signatures = {
        name: f"{metric.signature}|bs:{RESAMPLES}|n:{len(shared)}" for name, metric in chosen.items()
    }
    left_out = len(set().union(*firsts)) - len(shared)
    scores = _tested(systems, sides, chosen) if chosen else []
    return SystemComparison(systems, scores, different, len(shared), left_out, signatures)


def _tested(
    systems: Sequence[str], sides: Sequence[Sequence[Candidate]], metrics: Mapping[str, Metric]
) -> list[SystemScore]:
    """The scores of all systems, the later ones tested against the first by paired bootstrap."""
    from sacrebleu.significance import PairedTest

    adapted = {name: _Adapted(name, metric) for name, metric in metrics.items()}
    named: Any = list(zip(systems, sides, strict=True))
    test = PairedTest(named, adapted, None, test_type="bs", n_samples=RESAMPLES)  # type: ignore[arg-type]
    results: dict[str, list[Any]] = test()[1]
    scores = []
    for name in metrics:
        baseline = results[name][0]
        for system, result in zip(systems, results[name], strict=True):
            # of two equal scores sacrebleu says p = 0.001
            p = 1.0 if result.score == baseline.score and result is not baseline else result.p_value
            scores.append(SystemScore(system, name, result.score, float(result.ci), p))
    return scores


def changed_words(tokens: Sequence[str], others: Sequence[str]) -> list[int]:
    """The positions of tokens that the other text does not have in their place.

    >>> changed_words("the old house burns".split(), "the house is burning".split())
    [1, 3]
    """
    same = SequenceMatcher(None, list(tokens), list(others), autojunk=False).get_matching_blocks()
    kept = {block.a + i for block in same for i in range(block.size)}
    return [i for i in range(len(tokens)) if i not in kept]
