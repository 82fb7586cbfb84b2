"""Which scoring picks best: chosen on one half of the talks, reported on the other, both ways round.

    python bench/ted_campaign.py FOLDER CAMPAIGN
    python bench/ted_scorings.py CAMPAIGN [--max-len 4] [--splits 200]

Each scoring of a grid is compared with sentence BLEU by held-out MQM on each half (judgments of 7 random systems and
the reference, picks among the other 6). The one with the most net wins on one half is reported on the other, where
nothing was chosen, with the two controls.
"""

import argparse
from itertools import product
from pathlib import Path

import numpy as np
from tabulate import tabulate
from tqdm import tqdm

from rypt.campaign.folder import Campaign
from rypt.picks.evidence import Evidence, read_evidence
from rypt.picks.heldout import chances
from rypt.picks.metrics import parse_pick_metric
from rypt.picks.outcome import Outcome, against, compare_picks

JUDGING, REFERENCE = 7, "ref"
SCORINGS = ("half", "smoothed", "table", "tree")
PRIORS = (0, 0.1, 0.2, 0.4)
SYSTEMS = (0, 1, 2, 4)


def outcomes(evidence: Evidence, name: str, half: np.ndarray | None, splits: int) -> list[Outcome]:
    metrics = [parse_pick_metric(text) for text in (name, "bleu", "chrf")]
    divided = evidence.splits("system", splits, 1, judging=JUDGING, judged_only=[REFERENCE])
    return compare_picks(evidence.data, metrics, divided, segments=half, controls=True).outcomes


def grid_nets(evidence: Evidence, splits: int) -> dict[str, np.ndarray]:
    """Wins less losses against BLEU of each scoring of the grid, by segment; RYPT itself is computed once a split."""
    data = evidence.data
    bleu, chrf = parse_pick_metric("bleu"), parse_pick_metric("chrf")
    nets: dict[str, np.ndarray] = {}
    divided = evidence.splits("system", splits, 1, judging=JUDGING, judged_only=[REFERENCE])
    for split in tqdm(divided, "splits", splits):
        quality = split.quality[list(split.scored)]
        baseline, prior = data.picks(bleu, split), data.scores(chrf, split)
        for scoring in SCORINGS:
            own = data.scores(parse_pick_metric(f"rypt:{scoring}"), split)
            for weight, system in product(PRIORS, SYSTEMS):
                total = own + weight * prior
                total = total + system * total.mean(axis=1, keepdims=True)
                wins, losses = against(chances(total, split), baseline, quality)
                name = (
                    f"rypt:{scoring}"
                    + (f"+{weight}*chrf" if weight else "")
                    + (f"+{system}*system" if system else "")
                )
                nets[name] = nets.get(name, 0.0) + (wins - losses) / splits
    return nets


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("campaign", type=Path)
    parser.add_argument("--max-len", type=int, help="judgments on this frontier only")
    parser.add_argument("--splits", type=int, default=200)
    parser.add_argument("--choosing", type=int, default=40, help="splits to choose with")
    options = parser.parse_args()
    wanted = [parse_pick_metric(name) for name in ("rypt", "bleu", "chrf")]
    evidence = read_evidence(
        Campaign.open(options.campaign), options.campaign / "scores.jsonl", wanted, max_len=options.max_len
    )
    halves = {
        name: np.isin(evidence.segments, (options.campaign / f"half-{name}.txt").read_text().split())
        for name in "ab"
    }
    found = grid_nets(evidence, options.choosing)
    nets = {name: {half: net[mask].mean() for half, mask in halves.items()} for name, net in found.items()}
    print(
        tabulate([[n, *v.values()] for n, v in nets.items()], ["against BLEU, net", *halves], floatfmt="+.3f")
    )
    grid = list(nets)
    kinds = {
        "any": grid,
        "without systems": [n for n in grid if "system" not in n],
        "labels alone": [n for n in grid if "+" not in n],
    }
    rows = []
    for kind, names in kinds.items():
        for chosen_on, other in (("a", "b"), ("b", "a")):
            best = max(names, key=lambda name: nets[name][chosen_on])
            reported = outcomes(evidence, best, halves[other], options.splits)
            rows += [
                [kind, chosen_on, other, o.metric, o.baseline, o.net, f"[{o.low:+.3f}, {o.high:+.3f}]"]
                for o in reported
                if o.metric != "bleu"
            ]
    print(
        tabulate(
            rows,
            ["grid", "chosen on", "reported on", "picks of", "against", "net", "interval"],
            floatfmt="+.3f",
        )
    )


if __name__ == "__main__":
    main()
