"""Replay of buying labels: how good RYPT's picks are after so many labels, by the order in which they are bought.

    python bench/ted_campaign.py FOLDER CAMPAIGN
    python bench/replay.py CAMPAIGN [--splits 10] [--rounds 8] [--plot value.svg]

For each split, the labels to be had are those of 7 random systems and the reference on the frontier phrases of the
other 6 systems' candidates; an answer is what was really said. They are bought in rounds: in the order of the text
(`frontier`), those that serve the most candidates first (`served`), at random, or by what they are worth given the
labels so far (`value`, see `rypt.scoring.value`). After each round the tree model picks among the 6 candidates of each
segment, and the held-out MQM of the pick is compared with that of sentence BLEU's.
"""

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tabulate import tabulate
from tqdm import tqdm

from rypt.arrays import Floats
from rypt.campaign.folder import Campaign
from rypt.campaign.settings import Scoring
from rypt.picks.evidence import Evidence, read_evidence
from rypt.picks.heldout import HeldOutPicks, PickSplit, chances
from rypt.picks.metrics import parse_pick_metric
from rypt.picks.outcome import against, bootstrap_interval
from rypt.scoring.observations import Observations
from rypt.scoring.value import Place, query_values

JUDGING, REFERENCE = 7, "ref"
VOTES = 3  # an answer here is the vote of several systems
STRATEGIES = {"frontier": "#78909c", "random": "#ef6c00", "served": "#2e7d32", "value": "#1565c0"}
BLEU = parse_pick_metric("bleu")
Keys = NDArray[np.int64]


class World:
    """One split: the model, the candidates to pick from, and the labels that can be bought."""

    def __init__(self, data: HeldOutPicks, split: PickSplit) -> None:
        part = data.candidates[list(split.scored)]
        self.data, self.split = data, split
        self.there, self.chosen = part >= 0, part[part >= 0]
        self.counts = data.votes.counts(split.judges)
        self.model = data.model(Scoring(model="tree", ties=data.scoring.ties), split.judges)
        self.bleu = data.picks(BLEU, split)
        self.quality = split.quality[list(split.scored)]
        self.pool = self._pool()

    def _pool(self) -> dict[int, Place]:
        """Each key that was judged and that a candidate has, in the order of the text, and where it stands."""
        places = self.data.votes.places
        judged = self.counts.sum(axis=1) > 0
        found: dict[int, tuple[int, list[int]]] = {}
        for number, candidate in enumerate(self.chosen.tolist()):
            rows = places.rows[places.offsets[candidate] : places.offsets[candidate + 1]]
            for node in np.flatnonzero((rows >= 0) & judged[np.maximum(rows, 0)]).tolist():
                found.setdefault(int(rows[node]), (node, []))[1].append(number)
        forest, segments = places.forest, places.segments[self.chosen]

        def in_text(key: int) -> tuple[int, int, int]:
            node, candidates = found[key]
            segment = int(segments[candidates[0]])
            return segment, int(forest.starts[forest.firsts[segment] + node]), key

        return {key: Place(found[key][0], np.array(found[key][1])) for key in sorted(found, key=in_text)}

    def observe(self, bought: Keys) -> Observations:
        known = np.zeros((len(self.counts), 1))
        known[bought] = 1
        return self.data.votes.observe(self.counts * known, self.chosen)

    def outcome(self, observations: Observations) -> tuple[Floats, Floats]:
        """For each segment wins less losses against BLEU's pick, and the MQM of the pick."""
        scores = np.full(self.there.shape, -np.inf)
        scores[self.there] = self.model.score(self.model.stats(observations))
        picks = chances(scores, self.split)
        wins, losses = against(picks, self.bleu, self.quality)
        return wins - losses, -(picks * np.nan_to_num(self.quality)).sum(axis=0)

    def ranked(self, strategy: str, rng: np.random.Generator) -> Keys:
        """All keys in the order of a strategy that does not look at answers."""
        keys = np.array(list(self.pool))
        if strategy == "served":
            return keys[np.argsort([-len(place.candidates) for place in self.pool.values()], kind="stable")]
        return rng.permutation(keys) if strategy == "random" else keys

    def most_valuable(self, observations: Observations, bought: Keys) -> Keys:
        """The keys still to be had, those first that are worth most now."""
        left = np.setdiff1d(np.array(list(self.pool)), bought)
        values = query_values(
            self.model, observations, [self.pool[key] for key in left.tolist()], votes=VOTES
        )
        return left[np.argsort(-values, kind="stable")]


def replay(world: World, strategy: str, rounds: int, seed: int) -> Floats:
    """(rounds + 1, 2, segments): net and MQM after 0, 1/rounds … of all labels."""
    targets = np.rint(np.linspace(0, len(world.pool), rounds + 1)).astype(int).tolist()
    order = world.ranked(strategy, np.random.default_rng(seed))
    bought = order[:0]
    found = []
    for now, then in zip(targets, [*targets[1:], targets[-1]], strict=True):
        observations = world.observe(bought)
        found.append(np.stack(world.outcome(observations)))
        more = world.most_valuable(observations, bought) if strategy == "value" else order[now:]
        bought = np.concatenate([bought, more[: then - now]])
    return np.stack(found)


def enough(curve: Floats, goal: float) -> float:
    """The share of labels at which a curve (higher is better) first reaches a goal, with straight lines between."""
    shares = np.linspace(0, 1, len(curve))
    at = int(np.argmax(curve >= goal - 1e-12))
    if at == 0:
        return 0.0
    part = (goal - curve[at - 1]) / (curve[at] - curve[at - 1])
    return float(shares[at - 1] + (shares[at] - shares[at - 1]) * min(1.0, part))


def plot(path: Path, curves: dict[str, Floats], labels: Floats) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.8), layout="constrained")
    panels = figure.subplots(1, 2)
    for row, (name, scale) in enumerate(
        [("better - worse than BLEU's pick, %", 100), ("MQM of the pick", 1)]
    ):
        panel = panels[row]
        for strategy, curve in curves.items():
            values = scale * curve[:, row].mean(axis=1)
            panel.plot(labels, values, "o-", color=STRATEGIES[strategy], label=strategy, markersize=4)
        panel.axhline(scale * curves["frontier"][-1, row].mean(), color="black", linewidth=0.6, linestyle=":")
        panel.set(xlabel="labels bought", ylabel=name)
        panel.grid(alpha=0.3)
    panels[1].invert_yaxis()
    panels[0].legend(frameon=False)
    figure.savefig(path)


def report(curves: dict[str, Floats], labels: Floats) -> None:
    full = curves["frontier"][-1]
    rows = []
    for strategy, curve in curves.items():
        for count, (net, mqm) in zip(labels, curve, strict=True):
            less = net - full[0]
            low, high = bootstrap_interval(less, np.random.default_rng(1))
            rows.append(
                [
                    strategy,
                    count,
                    100 * count / labels[-1],
                    net.mean(),
                    less.mean(),
                    f"[{low:+.3f}, {high:+.3f}]",
                    mqm.mean(),
                ]
            )
    names = [
        "strategy",
        "labels",
        "%",
        "net against BLEU",
        "less than with all",
        "95 % interval",
        "MQM of pick",
    ]
    print(tabulate(rows, names, floatfmt=("", ".0f", ".1f", "+.4f", "+.4f", "", ".3f")))
    for what, row, sign in (("net against BLEU", 0, 1), ("MQM of pick", 1, -1)):
        means = {name: sign * curve[:, row].mean(axis=1) for name, curve in curves.items()}
        nothing, everything = means["frontier"][[0, -1]].tolist()
        for part in (1.0, 0.95):
            needed = {
                name: enough(curve, nothing + part * (everything - nothing)) for name, curve in means.items()
            }
            said = ", ".join(
                f"{name} {share * labels[-1]:.0f} ({100 * share:.0f} %)" for name, share in needed.items()
            )
            print(f"labels needed for {100 * part:.0f} % of what all {labels[-1]:.0f} gain in {what}: {said}")


def replay_all(evidence: Evidence, splits: int, rounds: int, seed: int) -> tuple[dict[str, Floats], Floats]:
    """For each strategy (rounds + 1, 2, segments), the mean over splits, and the mean number of labels."""
    total: dict[str, Floats] = {}
    sizes = []
    divided = evidence.splits("system", splits, seed, judging=JUDGING, judged_only=[REFERENCE])
    for number, split in enumerate(tqdm(divided, "splits", splits)):
        world = World(evidence.data, split)
        sizes.append(len(world.pool))
        for strategy in STRATEGIES:
            found = replay(world, strategy, rounds, seed + number) / splits
            total[strategy] = total[strategy] + found if strategy in total else found
    return total, np.linspace(0, 1, rounds + 1) * float(np.mean(sizes))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("campaign", type=Path)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--max-len", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    evidence = read_evidence(
        Campaign.open(options.campaign), options.campaign / "scores.jsonl", [BLEU], max_len=options.max_len
    )
    curves, labels = replay_all(evidence, options.splits, options.rounds, options.seed)
    report(curves, labels)
    if options.plot:
        plot(options.plot, curves, labels)


if __name__ == "__main__":
    main()
