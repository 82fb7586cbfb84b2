"""Pictures: what a search reached, and the scores and weights of a loop over its iterations."""

from collections.abc import Mapping, Sequence

from mert.loop import Iteration
from rypt.picture import new_figure, save_picture
from rypt.text import PathLike


def plot_search(
    path: PathLike,
    metric: str,
    scores: tuple[float, float, Sequence[float]],
    weights: tuple[Mapping[str, float], Mapping[str, float]],
) -> None:
    """Draw the score before and after, with the optima that climbs reached, and each weight before and after."""
    (start, tuned, ends), (before, after) = scores, weights
    figure = new_figure(9, 3 + 0.25 * len(after))
    above, below = figure.subplots(2, 1, height_ratios=[2, 1 + 0.25 * len(after)])
    above.plot(
        ends, [1] * len(ends), "o", color="grey", alpha=0.5, label="optima of the list that climbs reached"
    )
    above.plot([start, tuned], [0, 0], color="tab:blue", linewidth=1)
    above.plot([start], [0], "o", color="white", markeredgecolor="tab:blue", label=f"before: {start:.4f}")
    above.plot([tuned], [0], "o", color="tab:blue", label=f"after: {tuned:.4f}")
    above.set_ylim(-0.7, 1.7)
    above.set_yticks([])
    above.set_xlabel(f"{metric} on the tuned list")
    above.grid(alpha=0.3, axis="x")
    above.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    for values, mark, name in ((before, "white", "before"), (after, "tab:blue", "after")):
        size = sum(abs(values.get(feature, 0.0)) for feature in after) or 1.0
        shares = [values.get(feature, 0.0) / size for feature in after]
        below.plot(shares, range(len(after)), "o", color=mark, markeredgecolor="tab:blue", label=name)
    below.set_yticks(range(len(after)), list(after))
    below.invert_yaxis()
    below.axvline(0, color="grey", linewidth=0.5)
    below.set_xlabel("weight, as a share of all")
    below.grid(alpha=0.3)
    save_picture(figure, path)


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
