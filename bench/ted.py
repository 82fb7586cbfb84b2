"""Percolation and models on the public MQM judgments of TED talks, with judgments of disjoint systems.

    python bench/ted.py FOLDER [--splits 30] [--label any] [--plot figure3.svg]

FOLDER holds sources.jsonl.gz, candidates.jsonl.gz and judgments.tsv.gz of mqm-ted-ende. Prints coverage and accuracy
for max_len 1 to 7 (the paper's Figure 3) beside the always-YES baseline, and accuracy, AUC and log loss of the models.
"""

import argparse
import gzip
import json
import tempfile
from pathlib import Path

from tabulate import tabulate

from rypt.analysis import DisjointSystems
from rypt.analysis_curve import percolation_curve
from rypt.analysis_models import compare_models
from rypt.analysis_plot import plot_curve
from rypt.analysis_tables import curve_table
from rypt.database import JudgmentDatabase
from rypt.exchange import import_file
from rypt.records import Candidate, Segment
from rypt.treebank import parsed

RENAME = {"seg_id": "segment", "j": "first", "k": "last", "candidate_substring": "phrase", "system": "origin"}
REFERENCE = "ref"
JUDGING = 7


def read_jsonl(path: Path) -> list[dict]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def load(folder: Path, database: Path, label: str = "any") -> tuple[JudgmentDatabase, DisjointSystems]:
    """Import the judgments; origin is the system, worker the rater, the label one of any, major, dens."""
    db = JudgmentDatabase(database)
    segments = [Segment(str(s["seg_id"]), s["tokens"], s["tree"]) for s in read_jsonl(folder / "sources.jsonl.gz")]
    db.add_segments(segments)
    import_file(db, folder / "judgments.tsv.gz", rename={**RENAME, label: "label", "rater": "worker"})
    systems: dict[str, list[Candidate]] = {}
    for c in read_jsonl(folder / "candidates.jsonl.gz"):
        systems.setdefault(c["system"], []).append(Candidate(str(c["seg_id"]), c["tokens"], c["align"]))
    trees = {segment.id: parsed(segment) for segment in segments}
    return db, DisjointSystems(trees, systems, lambda names: db.votes(origins=names), judged_only=[REFERENCE])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--splits", type=int, default=30)
    parser.add_argument("--label", default="any", choices=["any", "major", "dens"])
    parser.add_argument("--ties", default="no", choices=["no", "unknown", "yes"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plot", type=Path, help="write the curves as a picture (.svg, .png)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        db, disjoint = load(options.folder, Path(scratch) / "ted.db", options.label)
        shares = dict(db.db.execute("SELECT label, count(*) FROM judgments GROUP BY label").fetchall())
        total = sum(shares.values())
        print(f"{total} judgments, YES {shares['YES'] / total:.3f}, NO {shares['NO'] / total:.3f}")
        print(f"label:{options.label} ties:{options.ties} splits:{options.splits} seed:{options.seed}\n")
        curve = percolation_curve(
            disjoint, range(1, 8), splits=options.splits, judging=JUDGING, seed=options.seed, ties=options.ties
        )
        print(curve_table(curve))
        if options.plot:
            plot_curve(options.plot, curve)
        print("\nmodels at max_len 4, fitted on four fifths of the segments, measured on the others")
        measured = compare_models(
            disjoint, splits=min(options.splits, 10), judging=JUDGING, seed=options.seed, ties=options.ties
        )
        table = [[name, q.accuracy, q.auc, q.log_loss] for name, q in measured.items()]
        print(tabulate(table, ["model", "accuracy", "AUC", "log loss"], floatfmt=".3f"))
        db.close()


if __name__ == "__main__":
    main()
