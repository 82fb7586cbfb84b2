"""Does tuning to people's judgments pay? Outputs of real systems reranked by weights tuned to several metrics.

    python bench/rerank.py FOLDER [--campaigns FOLDER] [--sets ted,enru,ende] [--replicates 5]

FOLDER has the public files mqm_ted_ende.tsv.gz, mqm_newstest2021_enru.tsv.gz and mqm_newstest2020_ende.tsv.gz. A list
has the outputs of all systems for a segment; human translations judge and are references, and are never candidates.
Weights are tuned on one half of the documents to an objective (BLEU, chrF, RYPT `half`, RYPT `severity`, MQM itself) and
pick on the other half, both ways round, so every segment is tested once. People's mean MQM says which pick is better:
net is the share of segments with a better pick than that of BLEU-tuned weights, minus the share with a worse one.

Decided before any result was seen:

- The comparison that counts: PRO, weights averaged over replicates, all features and the system indicators, tuned to
  `severity` against tuned to BLEU, net over the segments of all three sets, bootstrap interval of 95 % over segments.
- PRO's pairs: 100 a segment, of which the 50 with the largest differences are learned from, no other threshold. The
  usual 5,000 would, in lists of 7 to 14, repeat the single pair of the best and the worst candidate 50 times.
- Features and their settings (`rerank_features.py`) are what stood there before the first run.

Everything else is exploration, printed whole: other optimisers, features, objectives, and tuning on the test half
itself, which says what the features could do at all.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import rerank_features as features_of
from tabulate import tabulate
from tqdm import tqdm

from mert.learners.mira import mira
from mert.learners.pro import pro
from mert.lists.arrays import NBest
from mert.optimize import TuningProblem, make_problem, optimize
from mert.search import Window
from rypt.campaign.folder import Campaign
from rypt.metrics.metric import Metric, Resources, counted, read_metric
from rypt.metrics.references import References
from rypt.picks.documents import HALVES, find_documents, half_of, need_documents
from rypt.picks.evidence import place_scores, read_score_lines
from rypt.picks.outcome import against
from rypt.ratings.rated_campaign import RatingsFile, make_rated_campaign
from rypt.records import RawCandidate
from rypt.texts.lists import list_name

SETS = {
    "ted": ("mqm_ted_ende.tsv.gz", "ref"),
    "enru": ("mqm_newstest2021_enru.tsv.gz", "ref.A"),
    "ende": ("mqm_newstest2020_ende.tsv.gz", "Human-A.0"),
}  # file and reference
OBJECTIVES = {
    "bleu": "bleu",
    "chrf": "chrf",
    "half": "rypt(model=percolation,unknown=half)",
    "severity": "rypt(model=severity)",
    "severity+chrf": "rypt(model=severity)+0.2*chrf",
}
BASELINE, MAIN, CEILING = "bleu", ("all", "pro", "severity"), "mqm"
FEATURES = ("text", "all", "systems")
RESAMPLES = 2000
START = "characters as others"  # its weight is 1 at the start, that of the other features 0; first of systems' alone


class Mqm:
    """MQM as a metric to tune to: the mean penalty of a segment."""

    maximize = False
    scale = 25.0
    signature = "MQM"

    def __init__(self, penalties: dict[tuple[str, str], float]) -> None:
        self.penalties = penalties

    def stats(self, candidates: list[RawCandidate]) -> np.ndarray:
        """Thousandths of the penalty, and 1 for the segment; the system's name is where an alignment would be."""
        return np.array([[round(1000 * self.penalties[c.segment, c.alignment or ""]), 1] for c in candidates])

    def score(self, sums: np.ndarray) -> np.ndarray:
        """The mean penalty."""
        return np.asarray(sums[:, 0] / np.maximum(1, sums[:, 1]) / 1000)


@dataclass
class RatedSet:
    """Segments of which every system has an output and a score; arrays are (segments, systems, …)."""

    name: str
    systems: list[str]
    documents: list[str]
    texts: features_of.Texts
    mqm: np.ndarray
    metrics: dict[str, Metric]
    stats: dict[str, np.ndarray]

    @cached_property
    def fixed(self) -> features_of.Features:
        """The features that depend on no half."""
        return features_of.text_features(self.texts)

    def features(self, kind: str, tuning: np.ndarray) -> np.ndarray:
        """Standardised features, with models of references of the tuning half."""
        found: features_of.Features = {}
        if kind != "systems":
            found = self.fixed | features_of.reference_features(self.texts, tuning)
        if kind != "text":
            found = found | features_of.system_features(self.texts)
        self.names = tuple(found)
        return features_of.standardised(found)

    def halves(self) -> list[np.ndarray]:
        """Which segments are in each half of the documents."""
        return [np.array(half_of(self.documents, half)) for half in HALVES]


def read_set(name: str, folder: Path, campaigns: Path) -> RatedSet:
    """Make the campaign of a file, and count the statistics of its candidates for all objectives."""
    file, reference = SETS[name]
    rated = make_rated_campaign(RatingsFile(folder / file, references=(reference,)), campaigns / name, tell=print)
    campaign = rated.campaign
    ids = [segment.id for segment in campaign.segments]
    outputs = {list_name(path): {c.segment: c for c in found} for path, found in campaign.lists()}
    systems = [system for system in outputs if system not in rated.judged_only]
    mqm = -place_scores(rated.scores, read_score_lines(rated.scores), systems, ids).mean.T
    complete = [all(segment in outputs[system] for system in systems) for segment in ids]
    kept = np.flatnonzero(~np.isnan(mqm).any(axis=1) & complete)
    documents = need_documents(find_documents(campaign), "this benchmark")
    candidates = [[outputs[system][ids[i]] for system in systems] for i in kept]
    texts = features_of.Texts(
        [campaign.segments[i].tokens for i in kept],
        [[c.tokens for c in row] for row in candidates],
        [[_links(c.alignment) for c in row] for row in candidates],
        [campaign.references[0][i].split() for i in kept],
    )
    mqm = mqm[kept]
    raw = [RawCandidate(c.segment, c.text, c.alignment, {}, None) for row in candidates for c in row]
    metrics = objectives(campaign, ids)
    stats = {objective: counted(metric, raw) for objective, metric in metrics.items()}
    named = [RawCandidate(ids[i], "", system, {}, None) for i in kept for system in systems]
    metrics[CEILING] = Mqm({(c.segment, c.alignment or ""): v for c, v in zip(named, mqm.ravel(), strict=True)})
    stats[CEILING] = counted(metrics[CEILING], named)
    shaped = {objective: rows.reshape(len(kept), len(systems), -1) for objective, rows in stats.items()}
    return RatedSet(name, systems, [documents[i] for i in kept], texts, mqm, metrics, shaped)


def _links(text: str) -> list[features_of.Link]:
    return [(int(a), int(b)) for a, b in (link.split("-") for link in text.split())]


def objectives(campaign: Campaign, ids: list[str]) -> dict[str, Metric]:
    """The metrics to tune to, with all judgments of the campaign; those of a segment speak of no other segment."""
    references = References(campaign.references, segments=ids)
    resources = Resources(references, campaign.folder)
    return {name: read_metric(spec, resources) for name, spec in OBJECTIVES.items()}


@dataclass(frozen=True)
class Half:
    """What is tuned: features and statistics of the candidates of some segments."""

    names: tuple[str, ...]
    features: np.ndarray
    stats: np.ndarray
    metric: Metric

    @cached_property
    def start(self) -> np.ndarray:
        place = self.names.index(START) if START in self.names else 0
        return np.eye(len(self.names))[place]

    def problem(self, window: Window | None = None) -> TuningProblem:
        """The same for MERT."""
        rows = self.stats.reshape(-1, self.stats.shape[2])
        lists = NBest(
            [str(i) for i in range(len(self.stats))], self.offsets, [None] * len(rows), self.names,  # type: ignore
            np.asfortranarray(self.flat), None, lambda i: ("", i),
        )  # fmt: skip
        score, metric = self.metric.score, self.metric
        counted_before = SimpleNamespace(
            stats=lambda candidates: rows, score=score, maximize=metric.maximize, scale=metric.scale,
            signature=metric.signature,
        )  # fmt: skip
        return make_problem(lists, counted_before, self.start, window=window)

    @property
    def offsets(self) -> np.ndarray:
        return np.arange(len(self.stats) + 1, dtype=np.int64) * self.stats.shape[1]

    @property
    def flat(self) -> np.ndarray:
        return self.features.reshape(-1, len(self.names))

    def learn(self, learner: Callable[..., np.ndarray], seed: int, **options: float) -> np.ndarray:
        """The weights of PRO or MIRA."""
        sign = 1 if self.metric.maximize else -1
        free = np.ones(len(self.names), np.bool_)
        return learner(
            self.offsets, self.flat, self.stats.reshape(-1, self.stats.shape[2]),
            lambda sums: sign * np.asarray(self.metric.score(sums), np.float64), self.start, free,
            np.random.default_rng(seed), scale=self.metric.scale, **options,
        )  # fmt: skip


OPTIMISERS: dict[str, Callable[[Half, int], np.ndarray]] = {
    "pro": lambda half, seed: half.learn(pro, seed, samples=100, kept=50, threshold=0.0),
    "mert": lambda half, seed: optimize(half.problem(), half.start, restarts=3, seed=seed)[0].weights,
    "mira": lambda half, seed: half.learn(mira, seed, passes=10),
    "pro, usual pairs": lambda half, seed: half.learn(pro, seed),
    "pro, l2 1000": lambda half, seed: half.learn(pro, seed, samples=100, kept=50, threshold=0.0, l2=1000.0),
    "mert, window": lambda half, seed: optimize(
        half.problem(Window("average", 3)), half.start, restarts=3, seed=seed
    )[0].weights,
}
MANY = ("pro", "mert", "mira")  # tried with all features; the others with MAIN's alone


def averaged(weights: np.ndarray) -> np.ndarray:
    """The mean of the replicates' weights, each scaled to the same length first."""
    return np.asarray((weights / np.abs(weights).sum(axis=1, keepdims=True)).mean(axis=0))


def chances(values: np.ndarray) -> np.ndarray:
    """(segments, systems): the chance of each to be picked; those with the highest value share it."""
    best = values >= values.max(axis=1, keepdims=True) - 1e-9
    return np.asarray(best / best.sum(axis=1, keepdims=True))


def net(mine: np.ndarray, theirs: np.ndarray, mqm: np.ndarray) -> np.ndarray:
    """Of each segment the chance that my pick is better than theirs, less that it is worse."""
    wins, losses = against(mine.T, theirs.T, -mqm.T)
    return np.asarray(wins - losses)


@dataclass
class Cell:
    """Picks of one objective, optimiser and kind of features on the segments of a set that they were not tuned on."""

    picks: np.ndarray  # of averaged weights
    single: list[np.ndarray]  # of each replicate
    seen: np.ndarray  # of averaged weights, on the half they were tuned on


def run(data: RatedSet, kind: str, optimiser: str, objective: str, seeds: int, cache: dict) -> Cell:
    """Tune on each half, pick on the other."""
    shape = data.mqm.shape
    cell = Cell(np.zeros(shape), [np.zeros(shape) for _ in range(seeds)], np.zeros(shape))
    for number, tuning in enumerate(data.halves()):
        if (kind, number) not in cache:
            cache[kind, number] = (data.features(kind, tuning), data.names)
        features, names = cache[kind, number]
        half = Half(names, features[tuning], data.stats[objective][tuning], data.metrics[objective])
        weights = np.array([OPTIMISERS[optimiser](half, seed) for seed in range(1, seeds + 1)])
        values = features @ averaged(weights)
        cell.picks[~tuning], cell.seen[tuning] = chances(values[~tuning]), chances(values[tuning])
        for single, own in zip(cell.single, weights, strict=True):
            single[~tuning] = chances(features[~tuning] @ own)
    return cell


def cells(sets: list[RatedSet], seeds: int) -> Iterator[tuple[tuple[str, str, str], list[Cell]]]:
    """Each kind of features, optimiser and objective, on all sets."""
    wanted = [
        (kind, optimiser, objective)
        for kind in FEATURES for optimiser in OPTIMISERS for objective in (*OBJECTIVES, CEILING)
        if optimiser in MANY or kind == MAIN[0]
    ]  # fmt: skip
    caches: list[dict] = [{} for _ in sets]
    for key in tqdm(wanted, "tuned"):
        yield key, [run(data, *key, seeds, cache) for data, cache in zip(sets, caches, strict=True)]


def interval(values: np.ndarray, units: list[str] | None = None) -> str:
    """A mean in points with its bootstrap interval, over segments or over units such as documents."""
    names = np.arange(len(values)) if units is None else np.unique(units, return_inverse=True)[1]
    totals, sizes = np.bincount(names, values), np.bincount(names)
    drawn = np.random.default_rng(1).integers(len(totals), size=(RESAMPLES, len(totals)))
    low, high = np.quantile(totals[drawn].sum(axis=1) / sizes[drawn].sum(axis=1), [0.025, 0.975])
    return f"{100 * values.mean():+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"


def mean_mqm(picks: np.ndarray, data: RatedSet) -> float:
    return float((picks * data.mqm).sum(axis=1).mean())


def report(sets: list[RatedSet], found: dict[tuple[str, str, str], list[Cell]]) -> None:
    """The comparison that was decided on, then everything."""
    names = [data.name for data in sets]

    def nets(key: tuple[str, str, str], part: str = "picks") -> list[np.ndarray]:
        baseline = found[key[0], key[1], BASELINE]
        return [
            net(getattr(mine, part), getattr(theirs, part), data.mqm)
            for mine, theirs, data in zip(found[key], baseline, sets, strict=True)
        ]

    main = nets(MAIN)
    documents = [f"{data.name} {document}" for data in sets for document in data.documents]
    print(f"\nDecided on: {MAIN[1]}, {MAIN[0]} features, tuned to {MAIN[2]} against tuned to {BASELINE}, net in points")
    print(f"over segments  {interval(np.concatenate(main))}")
    print(f"over documents {interval(np.concatenate(main), documents)}\n")
    rows = []
    for key, picked in found.items():
        own = nets(key)
        moved = [np.mean([mean_mqm(s, data) for s in cell.single]) for cell, data in zip(picked, sets, strict=True)]
        spread = [np.std([mean_mqm(s, data) for s in cell.single]) for cell, data in zip(picked, sets, strict=True)]
        differs = np.mean([(s * cell.single[0]).sum(axis=1).mean() for cell in picked for s in cell.single[1:]] or [1])
        rows.append([
            *key, *(f"{100 * values.mean():+.1f}" for values in own), interval(np.concatenate(own)),
            f"{100 * np.concatenate(nets(key, 'seen')).mean():+.1f}",
            *(f"{mean_mqm(cell.picks, data):.3f}" for cell, data in zip(picked, sets, strict=True)),
            " ".join(f"{m:.2f}±{s:.2f}" for m, s in zip(moved, spread, strict=True)), f"{differs:.2f}",
        ])  # fmt: skip
    print("Net of the picks against those of BLEU-tuned weights of the same optimiser and features")
    head = ["features", "optimiser", "tuned to", *names, "all", "where tuned", *(f"MQM {name}" for name in names)]
    print(tabulate(rows, [*head, "MQM of single runs", "same picks"]))
    print("\nMQM of other picks")
    print(tabulate([[name, *(f"{v:.3f}" for v in values)] for name, values in bounds(sets).items()], ["", *names]))


def bounds(sets: list[RatedSet]) -> dict[str, list[float]]:
    """The MQM of picks that need no weights."""
    rows: dict[str, list[float]] = {}
    for data in sets:
        first, _ = data.halves()
        best = np.where(first, data.mqm[~first].mean(axis=0).argmin(), data.mqm[first].mean(axis=0).argmin())
        sentence = {
            f"best {name} of the candidate itself": metric.score(data.stats[name].reshape(data.mqm.size, -1))
            for name, metric in data.metrics.items() if name != CEILING
        }  # fmt: skip
        picks = {
            "random": np.ones(data.mqm.shape) / len(data.systems),
            "best system of the other half": np.eye(len(data.systems))[best],
            "most like the others": chances(data.fixed[START]),
            **{name: chances(np.reshape(values, data.mqm.shape)) for name, values in sentence.items()},
            "best there is": chances(-data.mqm),
        }
        for name, chosen in picks.items():
            rows.setdefault(name, []).append(mean_mqm(chosen, data))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--campaigns", type=Path, default=Path("rerank-campaigns"), help="made here, and kept")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--replicates", type=int, default=5)
    options = parser.parse_args()
    sets = []
    for name in options.sets.split(","):
        sets.append(read_set(name, options.folder, options.campaigns))
        segments, systems = sets[-1].mqm.shape
        print(f"{name}: {segments} segments, {systems} systems; {time.process_time():.0f} CPU s")
    found = dict(cells(sets, options.replicates))
    report(sets, found)
    print(f"{time.process_time():.0f} CPU s")


if __name__ == "__main__":
    main()
