"""The picture of a loop: scores and weights over its iterations."""

from collections.abc import Sequence

from mert.loop import Iteration
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
