"""A picture of a loop: scores above, labels and money below, over the iterations."""

from collections.abc import Sequence
from itertools import accumulate

from rypt.loop.report import Row
from rypt.picture import new_figure, save_picture
from rypt.text import PathLike


def plot_loop(path: PathLike, rows: Sequence[Row], *, simulated: bool = False) -> None:
    """Draw RYPT of the decoder's choice and of all lists before and after tuning, coverage, and what was spent.

    ``simulated`` adds a note that the workers were simulated.
    """
    numbers = [row.iteration for row in rows]
    figure = new_figure(9, 8)
    scores, labels = figure.subplots(2, 1, sharex=True)
    for name, style, text in (
        ("decoded", "o-", "decoded"),
        ("final", "d-", "decoded, by the labels at the end"),
        ("before", "s:", "all lists, before"),
        ("after", "^--", "all lists, tuned"),
        ("coverage", "x-.", "coverage after percolation"),
    ):
        points = [(row.iteration, getattr(row, name)) for row in rows if getattr(row, name) is not None]
        scores.plot([x for x, _ in points], [y for _, y in points], style, label=text)
    scores.set_ylabel("RYPT, coverage")
    if simulated:
        figure.suptitle("SIMULATED workers: no person gave these labels")
    reused, bought = [row.reused or 0 for row in rows], [row.labels or 0 for row in rows]
    labels.bar([x - 0.2 for x in numbers], bought, 0.4, label="labels bought")
    labels.bar([x + 0.2 for x in numbers], reused, 0.4, label="questions with a label already")
    labels.set_ylabel("labels")
    labels.set_xlabel("iteration")
    labels.xaxis.get_major_locator().set_params(integer=True)
    money = labels.twinx()
    spent = [float(total) for total in accumulate(row.cost for row in rows)]
    money.plot(numbers, spent, "k.-", label="dollars spent in all")
    money.set_ylabel("dollars")
    money.set_ylim(bottom=0)
    for panel in (scores, labels):
        panel.grid(alpha=0.3)
    scores.legend(fontsize="small", frameon=False)
    handles, names = (
        a + b for a, b in zip(*(p.get_legend_handles_labels() for p in (labels, money)), strict=True)
    )
    labels.legend(  # below, where no bar is
        handles,
        names,
        fontsize="small",
        frameon=False,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.14),
        ncol=3,
    )
    save_picture(figure, path)
