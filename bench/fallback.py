"""What fallback trees lose against those of a parser, on the public MQM annotation of TED talks.

    python bench/fallback.py FOLDER [--splits 200] [--label any]

FOLDER holds sources.jsonl.gz and candidates.jsonl.gz of mqm-ted-ende. Two campaigns are made, one with the trees of the
data, one with those of `rypt parse --tool fallback`; the error spans, written as an MQM file, are imported into both by
`rypt import mqm`. With judgments of disjoint systems, it prints sizes, coverage, the accuracy of percolated labels, and
how RYPT's pick does against sentence BLEU's and against each other by held-out MQM.
"""

import argparse
import gzip
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tabulate import tabulate

from mert.metrics.bleu import Bleu
from rypt.analysis.curve import percolation_curve
from rypt.analysis.heldout import DisjointSystems
from rypt.campaign.folder import Campaign, create
from rypt.campaign.settings import Scoring
from rypt.database.vote_table import read_vote_table
from rypt.metrics.references import References
from rypt.picks.grouped import GroupedVotes
from rypt.picks.heldout import HeldOutPicks
from rypt.picks.metrics import parse_pick_metric
from rypt.picks.outcome import bootstrap_interval, compare_picks
from rypt.picks.splits import split_systems
from rypt.ratings.error_spans import Policy
from rypt.ratings.importing import import_ratings
from rypt.ratings.mqm import read_mqm
from rypt.records import Candidate, RawCandidate
from rypt.scoring.frontier import frontier
from rypt.texts.trees import SourceTree
from rypt.tools.fallback_trees import fallback_tree

REFERENCE = "ref"
JUDGING = 7
MAX_LEN = 4
COLUMNS = ("system", "doc", "doc_id", "seg_id", "rater", "source", "target", "category", "severity")


def read_jsonl(path: Path) -> list[dict]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def _marked(text: str, error: dict, side: str) -> str:
    if error.get("side") != side:
        return text
    start, stop = error["char"]
    return f"{text[:start]}<v>{text[start:stop]}</v>{text[stop:]}"


def write_mqm(folder: Path, target: Path) -> None:
    """The annotation of the data as a file like those of google/wmt-mqm-human-evaluation."""
    sources = {s["seg_id"]: s for s in read_jsonl(folder / "sources.jsonl.gz")}
    none = {"category": "No-error", "severity": "No-error"}
    with open(target, "w", encoding="utf-8") as file:
        file.write("\t".join(COLUMNS) + "\n")
        for c in read_jsonl(folder / "candidates.jsonl.gz"):
            source = sources[c["seg_id"]]
            for rating in c["ratings"]:
                for error in rating["errors"] or [none]:
                    texts = _marked(source["raw"], error, "source"), _marked(c["raw"], error, "target")
                    ids = c["system"], source["doc"], str(c["seg_id"]), str(c["seg_id"]), rating["rater"]
                    file.write("\t".join((*ids, *texts, error["category"], error["severity"])) + "\n")


def make_campaign(folder: Path, target: Path, tree_of: Callable[[dict], str]) -> Campaign:
    """A campaign of the data with a list for each system and no judgments."""
    target.mkdir(parents=True)
    sources = read_jsonl(folder / "sources.jsonl.gz")
    segments = (json.dumps({"id": str(s["seg_id"]), "text": s["tokens"]}) for s in sources)
    (target / "source.jsonl").write_text("".join(f"{line}\n" for line in segments), encoding="utf-8")
    (target / "trees").write_text("".join(f"{tree_of(s)}\n" for s in sources), encoding="utf-8")
    lists: dict[str, list[str]] = {}
    for c in read_jsonl(folder / "candidates.jsonl.gz"):
        record = {"id": str(c["seg_id"]), "candidate": c["tokens"], "alignment": c["align"]}
        lists.setdefault(c["system"], []).append(json.dumps(record) + "\n")
    for system, lines in lists.items():
        (target / f"{system}.jsonl").write_text("".join(lines), encoding="utf-8")
    nbest = [target / f"{system}.jsonl" for system in sorted(lists)]
    return create(target / "campaign", source=target / "source.jsonl", trees=target / "trees", nbest=nbest)


def parser_tree(source: dict) -> str:
    return source["tree"]


def our_tree(source: dict) -> str:
    return str(fallback_tree(source["tokens"].split(" ")))


@dataclass(frozen=True)
class Measured:
    """A campaign with judgments, ready to be measured."""

    campaign: Campaign
    disjoint: DisjointSystems
    held_out: HeldOutPicks
    quality: np.ndarray
    judgments: int

    @property
    def trees(self) -> list[SourceTree]:
        return [tree for tree in self.campaign.trees.values() if tree]


def load(folder: Path, scratch: Path, name: str, tree_of: Callable[[dict], str], label: str) -> Measured:
    campaign = make_campaign(folder, scratch / name, tree_of)
    write_mqm(folder, scratch / name / "mqm.tsv")
    path = scratch / name / "mqm.tsv"
    result, matched = import_ratings(campaign, path, read_mqm(path), Policy(label))
    segments = {segment.id: i for i, segment in enumerate(campaign.segments)}
    own: dict[str, list[Candidate]] = {}
    for m in matched:
        own.setdefault(m.rating.system, []).append(m.candidate)
    systems = tuple(sorted(own))
    everything = [m.candidate for m in matched]
    places = np.full((len(systems), len(segments)), -1, np.int64)
    quality = np.full(places.shape, np.nan)
    references = {m.segment.id: m.rating.target for m in matched if m.rating.system == REFERENCE}
    for i, m in enumerate(matched):
        at = systems.index(m.rating.system), segments[m.segment.id]
        places[at], quality[at] = i, -(m.rating.score or 0.0)
    raw = [RawCandidate(m.segment.id, m.rating.target, None, {}, None) for m in matched]
    metric = Bleu(References([list(references.values())], segments=list(references)), tokenize="13a")
    bleu = metric.sentence_scores(raw)
    db = campaign.database()
    votes = GroupedVotes(campaign.trees, read_vote_table(db), everything, max_len=MAX_LEN)
    held_out = HeldOutPicks(systems, places, votes, {"bleu": bleu}, Scoring(ties="no"))
    disjoint = DisjointSystems(
        campaign.trees, own, lambda names: db.votes(origins=names), judged_only=[REFERENCE]
    )
    return Measured(campaign, disjoint, held_out, quality, result.added)


def sizes(measured: Measured) -> list[float]:
    trees = measured.trees
    frontiers = [len(frontier(tree, MAX_LEN)) for tree in trees]
    asked = len(measured.held_out.votes)
    return [np.mean([len(tree.constituents) for tree in trees]), np.mean(frontiers), asked]


def agreement(ours: list[SourceTree], theirs: list[SourceTree]) -> tuple[float, float]:
    """Precision and recall of constituents of two words and more."""
    spans = [
        [{c.span for c in tree.constituents if len(c.span) > 1} for tree in trees] for trees in (ours, theirs)
    ]
    both = sum(len(a & b) for a, b in zip(*spans, strict=True))
    return both / sum(map(len, spans[0])), both / sum(map(len, spans[1]))


def direct(ours: Measured, theirs: Measured, splits: int, seed: int) -> tuple[float, float, float]:
    """Wins - losses of the picks with fallback trees against those with a parser's, and its 95 % interval."""
    metric = parse_pick_metric("rypt")
    rng = np.random.default_rng(seed)
    total = np.zeros(ours.quality.shape[1])
    divided = split_systems(
        ours.held_out.systems, ours.quality, splits, rng, judging=JUDGING, judged_only=[REFERENCE]
    )
    for split in divided:
        own = split.quality[list(split.scored)]
        better = np.sign(own[:, None, :] - own[None, :, :])
        a, b = (measured.held_out.picks(metric, split) for measured in (ours, theirs))
        total += (a[:, None, :] * b[None, :, :] * better).sum(axis=(0, 1))
    net = total / splits
    return float(net.mean()), *bootstrap_interval(net, np.random.default_rng(seed))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--splits", type=int, default=200)
    parser.add_argument("--label", default="any", choices=["any", "major", "dens"])
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        kinds = {"parser": parser_tree, "fallback": our_tree}
        loaded = {
            name: load(options.folder, Path(scratch), name, kind, options.label)
            for name, kind in kinds.items()
        }
        print(
            f"label:{options.label} splits:{options.splits} judging:{JUDGING} seed:{options.seed} max_len:{MAX_LEN}"
        )
        rows = []
        for name, measured in loaded.items():
            few = min(options.splits, 30)
            (point,) = percolation_curve(
                measured.disjoint,
                [MAX_LEN],
                splits=few,
                judging=JUDGING,
                seed=options.seed,
                ties="no",
                models=False,
            )
            splits = split_systems(
                measured.held_out.systems,
                measured.quality,
                options.splits,
                np.random.default_rng(options.seed),
                judging=JUDGING,
                judged_only=[REFERENCE],
            )
            compared = compare_picks(
                measured.held_out, [parse_pick_metric("rypt"), parse_pick_metric("bleu")], splits
            )
            (outcome,) = compared.outcomes
            shares = (point.before, point.after, point.percolated.percolation, point.percolated.always_yes)
            rows.append(
                [
                    name,
                    measured.judgments,
                    *sizes(measured),
                    *(100 * share for share in shares),
                    outcome.wins,
                    outcome.losses,
                    f"{outcome.net:+.3f} [{outcome.low:+.3f}, {outcome.high:+.3f}]",
                    -compared.quality["rypt"],
                ]
            )
        names = [
            "trees",
            "judgments",
            "spans",
            "frontier",
            "keys",
            "before %",
            "after %",
            "right %",
            "always YES %",
            "wins",
            "losses",
            "net against BLEU",
            "MQM of pick",
        ]
        print(
            tabulate(
                rows, names, floatfmt=(*[""] * 2, ".1f", ".1f", ".0f", *[".1f"] * 4, ".3f", ".3f", "", ".3f")
            )
        )
        precision, recall = agreement(loaded["fallback"].trees, loaded["parser"].trees)
        print(
            f"\nfallback constituents that the parser has {precision:.3f}, of the parser's found {recall:.3f}"
        )
        net, low, high = direct(loaded["fallback"], loaded["parser"], options.splits, options.seed)
        print(
            f"picks with fallback trees against picks with a parser's: net {net:+.3f} [{low:+.3f}, {high:+.3f}]"
        )


if __name__ == "__main__":
    main()
