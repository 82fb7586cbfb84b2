"""Pictures of tuning: scores and weights over the iterations of a run, or of one search on lists."""

from collections.abc import Mapping, Sequence

from mert.run import Iteration
from rypt.picture import new_figure, save_picture
from rypt.text import PathLike


def plot_run(path: PathLike, iterations: Sequence[Iteration], metric: str) -> None:
    """Draw what the decoder's choices and the merged lists scored, and each weight's share, iteration by iteration."""
    numbers = [iteration.number for iteration in iterations]
    figure = new_figure(9, 8)
    scores, weights = figure.subplots(2, 1, sharex=True)
    scores.plot(numbers, [iteration.decoded for iteration in iterations], "o-", label="decoded")
    scores.plot(numbers, [iteration.before for iteration in iterations], "s:", label="all lists, before")
    scores.plot(numbers, [iteration.after for iteration in iterations], "^--", label="all lists, tuned")
    scores.set_ylabel(metric)
    for i, name in enumerate(iterations[0].used):
        shares = [
            iteration.used[name] / (sum(map(abs, iteration.used.values())) or 1.0) for iteration in iterations
        ]
        weights.plot(numbers, shares, marker=".", linestyle=("-", "--", "-.", ":")[i // 10 % 4], label=name)
    weights.set_xlabel("iteration")
    weights.set_ylabel("weight decoded with, as a share")
    weights.xaxis.get_major_locator().set_params(integer=True)
    weights.axhline(0, color="grey", linewidth=0.5)
    for panel in (scores, weights):
        panel.grid(alpha=0.3)
        panel.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    save_picture(figure, path)


def plot_search(
    path: PathLike,
    ends: Sequence[float],
    scores: tuple[float, float],
    weights: tuple[Mapping[str, float], Mapping[str, float]],
    metric: str,
) -> None:
    """Draw what each start reached, between the score before and after, and each weight before and after.

    ``scores`` and ``weights`` are those before and after; weights are drawn as shares of the sum of absolute weights.
    """
    names = list(weights[1])
    figure = new_figure(8, 3.6 + 0.34 * len(names))
    climbs, bars = figure.subplots(2, 1, height_ratios=[3, 0.6 + 0.34 * len(names)])
    climbs.plot(
        range(1, len(ends) + 1), ends, "o", markersize=4, color="#607d8b", label="reached from each start"
    )
    climbs.axhline(
        scores[0], color="#c62828", linestyle="--", linewidth=1, label=f"before tuning: {scores[0]:.4f}"
    )
    climbs.axhline(scores[1], color="#1565c0", linewidth=1, label=f"tuned: {scores[1]:.4f}")
    climbs.set(xlabel="start, in the order of the score", ylabel=metric)
    climbs.xaxis.get_major_locator().set_params(integer=True)
    for offset, values, colour, label in (
        (-0.2, weights[0], "#b0bec5", "before"),
        (0.2, weights[1], "#1565c0", "tuned"),
    ):
        total = sum(abs(values.get(name, 0.0)) for name in names) or 1.0
        places = [i + offset for i in range(len(names))]
        bars.barh(places, [values.get(name, 0.0) / total for name in names], 0.38, color=colour, label=label)
    bars.set_yticks(range(len(names)), names)
    bars.invert_yaxis()
    bars.axvline(0, color="grey", linewidth=0.5)
    bars.set_xlabel("weight, as a share")
    for panel in (climbs, bars):
        panel.grid(alpha=0.3)
        panel.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    save_picture(figure, path)
