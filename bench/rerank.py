"""Does tuning to people's judgments pay? Outputs of real systems reranked by weights tuned to several metrics.

    python bench/rerank.py FOLDER [--campaigns FOLDER] [--sets ted,enru,ende] [--replicates 3]

FOLDER has the public files mqm_ted_ende.tsv.gz, mqm_newstest2021_enru.tsv.gz and mqm_newstest2020_ende.tsv.gz. A list
has the outputs of all systems for a segment; human translations judge and are references, and are never candidates.
Weights are tuned on one half of the documents to an objective (BLEU, chrF, RYPT `half` and `severity`, MQM itself) and
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
import resource
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import rerank_features as features_of
from tabulate import tabulate
from tqdm import tqdm

from mert.constraints import Constraints
from mert.learners.mira import mira
from mert.learners.pro import pro
from mert.lists.arrays import NBest
from mert.metrics.rypt import Rypt
from mert.optimize import make_problem, optimize
from mert.search.lines import Window
from rypt.campaign.folder import Campaign
from rypt.metrics.metric import Resources, counted, read_metric
from rypt.metrics.references import References
from rypt.picks.documents import HALVES, find_documents, half_of, need_documents
from rypt.picks.evidence import place_scores, read_score_lines
from rypt.picks.outcome import against
from rypt.ratings.rated_campaign import RatingsFile, make_rated_campaign
from rypt.records import Candidate, RawCandidate
from rypt.texts.lists import list_name

SETS = {
    "ted": ("mqm_ted_ende.tsv.gz", "ref"),
    "enru": ("mqm_newstest2021_enru.tsv.gz", "ref.A"),
    "ende": ("mqm_newstest2020_ende.tsv.gz", "Human-A.0"),
}  # file and reference
METRICS = {
    "bleu": "bleu",
    "chrf": "chrf",
    "half": "rypt(model=percolation,unknown=half)",
    "severity": "rypt(model=severity)",
}  # what is tuned to, besides severity+0.2*chrf and MQM
Key = tuple[str, str, str]  # features, optimiser, objective
BASELINE, CEILING = "bleu", "mqm"
MAIN: Key = ("all", "pro", "severity")
EVERY = (*METRICS, "severity+chrf", CEILING)
FEW = ("bleu", "half", "severity", CEILING)
TRIED = {
    ("pro", "all"): EVERY,
    ("pro", "text"): EVERY,
    ("pro", "systems"): EVERY,
    ("mert", "all"): FEW,
    ("mira", "all"): FEW,
    ("mert, bounds", "all"): FEW,
    ("mert, window", "all"): FEW,
    ("pro, l2 1000", "all"): EVERY,
    ("pro, usual pairs", "all"): EVERY,
}  # optimisers with kinds of features, and what each is tuned to
PAIRS = {"samples": 100, "kept": 50, "threshold": 0.0}
WORST = 25.0  # MQM penalty of a segment that is no translation
RESTARTS = 2  # of MERT, besides the start
RESAMPLES = 2000
START = "characters as others"  # its weight is 1 at the start, that of other features 0


@dataclass(frozen=True)
class Objective:
    """A metric whose statistics are counted: (segments, systems, columns), and the score of sums of them."""

    stats: np.ndarray
    score: Callable[[np.ndarray], np.ndarray]  # higher is better
    scale: float

    maximize, signature = True, "counted"

    def rows(self, chosen: np.ndarray) -> np.ndarray:
        """The statistics of all candidates of some segments, one after the other."""
        return self.stats[chosen].reshape(-1, self.stats.shape[2])


def minus_mean_penalty(sums: np.ndarray) -> np.ndarray:
    """MQM to tune to; rows are thousandths of the penalty, and segments."""
    return np.asarray(-sums[:, 0] / np.maximum(1, sums[:, 1]) / 1000)


@dataclass(frozen=True)
class WeightedSum:
    """Two scores, each of the columns that are its own."""

    one: Objective
    other: Objective
    weight: float

    def __call__(self, sums: np.ndarray) -> np.ndarray:
        width = self.one.stats.shape[2]
        one, other = self.one.score(sums[:, :width]), self.other.score(sums[:, width:])
        return one / self.one.scale + self.weight * other / self.other.scale


@dataclass(frozen=True)
class RatedSet:
    """Segments of which every system has an output and a score; arrays are (segments, systems, …)."""

    name: str
    systems: list[str]
    documents: list[str]
    mqm: np.ndarray
    objectives: dict[str, Objective]
    fixed: features_of.Features
    by_half: list[features_of.Features]  # models of the references of each half
    indicators: features_of.Features

    def features(self, kind: str, half: int) -> tuple[tuple[str, ...], np.ndarray]:
        """Names and standardised features, with models of references of the tuning half."""
        texts = {} if kind == "systems" else self.fixed | self.by_half[half]
        found = texts if kind == "text" else texts | self.indicators
        return tuple(found), features_of.standardised(found)

    @property
    def halves(self) -> list[np.ndarray]:
        """Which segments are in each half of the documents."""
        return halves_of(self.documents)


def halves_of(documents: list[str]) -> list[np.ndarray]:
    """Which segments are in the first and in the second half of the documents."""
    return [np.array(half_of(documents, half)) for half in HALVES]


def read_set(name: str, folder: Path, campaigns: Path) -> RatedSet:
    """Make the campaign of a file, and count features and statistics of its candidates."""
    file, reference = SETS[name]
    rated = make_rated_campaign(
        RatingsFile(folder / file, references=(reference,)), campaigns / name, tell=print
    )
    campaign = rated.campaign
    ids = [segment.id for segment in campaign.segments]
    outputs = {list_name(path): {c.segment: c for c in found} for path, found in campaign.lists()}
    systems = [system for system in outputs if system not in rated.judged_only]
    mqm = -place_scores(rated.scores, read_score_lines(rated.scores), systems, ids).mean.T
    complete = [all(segment in outputs[system] for system in systems) for segment in ids]
    kept = np.flatnonzero(~np.isnan(mqm).any(axis=1) & complete)
    candidates = [[outputs[system][ids[i]] for system in systems] for i in kept]
    texts = features_of.Texts(
        [campaign.segments[i].tokens for i in kept],
        [[c.tokens for c in row] for row in candidates],
        [[_links(c.alignment) for c in row] for row in candidates],
        [campaign.references[0][i].split() for i in kept],
    )
    every = need_documents(find_documents(campaign), "this benchmark")
    documents = [every[i] for i in kept]
    return RatedSet(
        name,
        systems,
        documents,
        mqm[kept],
        count_objectives(campaign, candidates, mqm[kept]),
        features_of.text_features(texts),
        [features_of.reference_features(texts, half) for half in halves_of(documents)],
        features_of.system_features(texts),
    )


def _links(text: str) -> list[features_of.Link]:
    return [(int(a), int(b)) for a, b in (link.split("-") for link in text.split())]


def count_objectives(
    campaign: Campaign, candidates: list[list[Candidate]], mqm: np.ndarray
) -> dict[str, Objective]:
    """What can be tuned to, with all judgments of the campaign; those of a segment speak of no other segment."""
    references = References(campaign.references, segments=[segment.id for segment in campaign.segments])
    resources = Resources(references, campaign.folder)
    raw = [RawCandidate(c.segment, c.text, c.alignment, {}, None) for row in candidates for c in row]
    found = {}
    for name, spec in METRICS.items():
        metric = read_metric(spec, resources)
        score = metric.scorer.model.score if isinstance(metric, Rypt) else metric.score
        found[name] = Objective(counted(metric, raw).reshape(*mqm.shape, -1), score, metric.scale)
    both = np.concatenate([found["severity"].stats, found["chrf"].stats], axis=2)
    found["severity+chrf"] = Objective(both, WeightedSum(found["severity"], found["chrf"], 0.2), 1.0)
    penalties = np.stack([np.rint(1000 * mqm), np.ones(mqm.shape)], axis=2).astype(np.int64)
    return found | {CEILING: Objective(penalties, minus_mean_penalty, WORST)}


@dataclass(frozen=True)
class Tuning:
    """What is tuned: features of the candidates of some segments, and their statistics in rows."""

    names: tuple[str, ...]
    features: np.ndarray
    rows: np.ndarray
    objective: Objective

    @property
    def start(self) -> np.ndarray:
        """Where the search begins."""
        return np.eye(len(self.names))[self.names.index(START) if START in self.names else 0]

    @property
    def offsets(self) -> np.ndarray:
        """Where the candidates of each segment begin, and one more."""
        segments, systems, _ = self.features.shape
        return np.arange(segments + 1, dtype=np.int64) * systems

    def mert(self, seed: int, *, window: Window | None = None, bounded: bool = False) -> np.ndarray:
        """The weights of MERT."""
        flat = np.asfortranarray(self.features.reshape(len(self.rows), -1))
        ids = [str(i) for i in range(len(self.features))]
        nothing: list[RawCandidate] = [RawCandidate("", "", None, {}, None)] * len(self.rows)
        lists = NBest(ids, self.offsets, nothing, self.names, flat, None, lambda i: ("", i))  # type: ignore[arg-type]
        metric = SimpleNamespace(
            stats=lambda candidates: self.rows,
            score=self.objective.score,
            maximize=True,
            signature="counted",
            scale=self.objective.scale,
        )
        limits = Constraints(bounds=dict.fromkeys(self.names, (-1.0, 1.0))) if bounded else None
        problem = make_problem(lists, metric, self.start, limits, window=window)
        return optimize(problem, self.start, restarts=RESTARTS, seed=seed)[0].weights

    def learn(self, learner: Callable[..., np.ndarray], seed: int, **options: float) -> np.ndarray:
        """The weights of PRO or MIRA."""
        return learner(
            self.offsets,
            self.features.reshape(len(self.rows), -1),
            self.rows,
            self.objective.score,
            self.start,
            np.ones(len(self.names), np.bool_),
            np.random.default_rng(seed),
            scale=self.objective.scale,
            **options,
        )


def tune(tuning: Tuning, optimiser: str, seed: int) -> np.ndarray:
    """The weights of one replicate."""
    match optimiser:
        case "pro":
            return tuning.learn(pro, seed, **PAIRS)
        case "pro, l2 1000":
            return tuning.learn(pro, seed, **PAIRS, l2=1000.0)
        case "pro, usual pairs":
            return tuning.learn(pro, seed)
        case "mira":
            return tuning.learn(mira, seed, passes=10)
        case "mert, window":
            return tuning.mert(seed, window=Window("average", 3))
        case "mert, bounds":
            return tuning.mert(seed, bounded=True)
        case _:
            return tuning.mert(seed)


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


def run(data: RatedSet, kind: str, optimiser: str, objective: str, replicates: int) -> Cell:
    """Tune on each half, pick on the other."""
    shape = data.mqm.shape
    cell = Cell(np.zeros(shape), [np.zeros(shape) for _ in range(replicates)], np.zeros(shape))
    for number, half in enumerate(data.halves):
        names, features = data.features(kind, number)
        aim = data.objectives[objective]
        tuning = Tuning(names, features[half], aim.rows(half), aim)
        weights = np.array([tune(tuning, optimiser, seed) for seed in range(1, replicates + 1)])
        values = features @ averaged(weights)
        cell.picks[~half], cell.seen[half] = chances(values[~half]), chances(values[half])
        for single, own in zip(cell.single, weights, strict=True):
            single[~half] = chances(features[~half] @ own)
    return cell


def run_all(sets: list[RatedSet], replicates: int, pool: Executor) -> dict[Key, list[Cell]]:
    """Each kind of features, optimiser and objective, on all sets."""
    keys = [(kind, optimiser, objective) for (optimiser, kind), aims in TRIED.items() for objective in aims]
    jobs = {key: [pool.submit(run, data, *key, replicates) for data in sets] for key in keys}
    return {key: [job.result() for job in jobs[key]] for key in tqdm(keys, "tuned")}


def interval(values: np.ndarray, units: list[str] | None = None) -> str:
    """A mean in points with its bootstrap interval, over segments or over units such as documents."""
    names = np.arange(len(values)) if units is None else np.unique(units, return_inverse=True)[1]
    totals, sizes = np.bincount(names, values), np.bincount(names)
    drawn = np.random.default_rng(1).integers(len(totals), size=(RESAMPLES, len(totals)))
    low, high = np.quantile(totals[drawn].sum(axis=1) / sizes[drawn].sum(axis=1), [0.025, 0.975])
    return f"{100 * values.mean():+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"


def mean_mqm(picks: np.ndarray, data: RatedSet) -> float:
    return float((picks * data.mqm).sum(axis=1).mean())


def report(sets: list[RatedSet], found: dict[Key, list[Cell]]) -> None:
    """The comparison that was decided on, then everything."""
    names = [data.name for data in sets]

    def nets(key: Key, part: str = "picks") -> list[np.ndarray]:
        baseline = found[key[0], key[1], BASELINE]
        return [
            net(getattr(mine, part), getattr(theirs, part), data.mqm)
            for mine, theirs, data in zip(found[key], baseline, sets, strict=True)
        ]

    main = nets(MAIN)
    documents = [f"{data.name} {document}" for data in sets for document in data.documents]
    print(
        f"\nDecided on: {MAIN[1]}, {MAIN[0]} features, tuned to {MAIN[2]} against tuned to {BASELINE}, net in points"
    )
    print(f"over segments  {interval(np.concatenate(main))}")
    print(f"over documents {interval(np.concatenate(main), documents)}\n")
    rows = []
    for key, picked in found.items():
        own = nets(key)
        moved = [
            np.mean([mean_mqm(s, data) for s in cell.single]) for cell, data in zip(picked, sets, strict=True)
        ]
        spread = [
            np.std([mean_mqm(s, data) for s in cell.single]) for cell, data in zip(picked, sets, strict=True)
        ]
        differs = np.mean(
            [(s * cell.single[0]).sum(axis=1).mean() for cell in picked for s in cell.single[1:]] or [1]
        )
        rows.append(
            [
                *key,
                *(f"{100 * values.mean():+.1f}" for values in own),
                interval(np.concatenate(own)),
                f"{100 * np.concatenate(nets(key, 'seen')).mean():+.1f}",
                *(f"{mean_mqm(cell.picks, data):.3f}" for cell, data in zip(picked, sets, strict=True)),
                " ".join(f"{m:.2f}±{s:.2f}" for m, s in zip(moved, spread, strict=True)),
                f"{differs:.2f}",
            ]
        )
    print("Net of the picks against those of BLEU-tuned weights of the same optimiser and features")
    head = [
        "features",
        "optimiser",
        "tuned to",
        *names,
        "all",
        "where tuned",
        *(f"MQM {name}" for name in names),
    ]
    print(tabulate(rows, [*head, "MQM of single runs", "same picks"]))
    print("\nMQM of other picks")
    print(
        tabulate(
            [[name, *(f"{v:.3f}" for v in values)] for name, values in bounds(sets).items()], ["", *names]
        )
    )


def bounds(sets: list[RatedSet]) -> dict[str, list[float]]:
    """The MQM of picks that need no weights."""
    rows: dict[str, list[float]] = {}
    for data in sets:
        first, _ = data.halves
        best = np.where(first, data.mqm[~first].mean(axis=0).argmin(), data.mqm[first].mean(axis=0).argmin())
        sentence = {
            f"best {name} of the candidate itself": aim.score(aim.stats.reshape(data.mqm.size, -1))
            for name, aim in data.objectives.items()
            if name != CEILING
        }
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
    parser.add_argument(
        "--campaigns", type=Path, default=Path("rerank-campaigns"), help="made here, and kept"
    )
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--replicates", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    names = options.sets.split(",")
    with ProcessPoolExecutor(options.jobs) as pool:
        sets = list(pool.map(read_set, names, repeat(options.folder), repeat(options.campaigns)))
        for data in sets:
            print(f"{data.name}: {data.mqm.shape[0]} segments, {data.mqm.shape[1]} systems")
        report(sets, run_all(sets, options.replicates, pool))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{used.ru_utime + used.ru_stime:.0f} CPU s")


if __name__ == "__main__":
    main()
