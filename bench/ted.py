"""Percolation and models on the public MQM judgments of TED talks, with judgments of disjoint systems.

    python bench/ted_campaign.py FOLDER CAMPAIGN [--label any]
    python bench/ted.py CAMPAIGN [--splits 30] [--plot figure3.svg]

Prints coverage and accuracy for max_len 1 to 7 (the paper's Figure 3) beside the always-YES baseline, and accuracy, AUC
and log loss of the models.
"""

import argparse
from pathlib import Path

from tabulate import tabulate

from rypt.analysis.curve import percolation_curve
from rypt.analysis.heldout import DisjointSystems
from rypt.analysis.models import compare_models
from rypt.analysis.plot import plot_curve
from rypt.analysis.tables import curve_table
from rypt.campaign.folder import Campaign
from rypt.database.judgments import JudgmentDatabase

REFERENCE = "ref"
JUDGING = 7


def disjoint_systems(campaign: Campaign, db: JudgmentDatabase) -> DisjointSystems:
    """The systems, whose lists have their names, and the reference, which only judges."""
    systems = {Path(name).stem: candidates for name, candidates in campaign.lists()}
    return DisjointSystems(
        campaign.trees, systems, lambda names: db.votes(origins=names), judged_only=[REFERENCE]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("campaign", type=Path)
    parser.add_argument("--splits", type=int, default=30)
    parser.add_argument("--ties", default="no", choices=["no", "unknown", "yes"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plot", type=Path, help="write the curves as a picture (.svg, .png)")
    options = parser.parse_args()
    campaign = Campaign.open(options.campaign)
    with campaign.database() as db:
        disjoint = disjoint_systems(campaign, db)
        shares = dict(db.db.execute("SELECT label, count(*) FROM judgments GROUP BY label").fetchall())
        total = sum(shares.values())
        print(f"{total} judgments, YES {shares['YES'] / total:.3f}, NO {shares['NO'] / total:.3f}")
        print(f"ties:{options.ties} splits:{options.splits} seed:{options.seed}\n")
        curve = percolation_curve(
            disjoint,
            range(1, 8),
            splits=options.splits,
            judging=JUDGING,
            seed=options.seed,
            ties=options.ties,
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


if __name__ == "__main__":
    main()
