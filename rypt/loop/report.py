"""What a loop has done, iteration by iteration, and which iteration's weights are best: as a table, JSON or picture."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from rypt.loop.journal import Journal
from rypt.picture import new_figure, save_picture
from rypt.scoring.report import ScoreReport
from rypt.text import PathLike, open_output, read_bytes

HEAD = (
    *("iteration", "candidates", "new", "asked", "labels", "reused", "cost"),
    *("decoded", "before", "after", "p", "coverage", "final"),
)
LINES = (  # of the picture: the number, the style, the name
    ("decoded", "o-", "decoded"),
    ("final", "d-", "decoded, by the labels at the end"),
    ("before", "s:", "all lists, before"),
    ("after", "^--", "all lists, tuned"),
    ("coverage", "x-.", "coverage after percolation"),
)


@dataclass(frozen=True, slots=True)
class Iteration:
    """One iteration; None for what was not done.

    ``asked`` are the answers bought, ``labels`` those that came, count and are no controls, ``reused`` the questions of
    the new list that had a label already, of ``questions``. ``decoded`` is RYPT of the decoder's choice, ``before`` and
    ``after`` that of all lists so far under the weights decoded with and under the new ones, all by the labels of that
    time; ``final`` is RYPT of the decoder's choice by the labels there are now. ``coverage`` is the share of
    constituents with a label after percolation.
    """

    iteration: int
    candidates: int
    new: int
    asked: int | None = None
    labels: int | None = None
    questions: int | None = None
    reused: int | None = None
    cost: Decimal = Decimal(0)
    excluded: tuple[str, ...] = ()
    decoded: float | None = None
    before: float | None = None
    after: float | None = None
    p: float | None = None
    coverage: float | None = None
    final: float | None = None

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "cost": str(self.cost)}


@dataclass(frozen=True, slots=True)
class LoopReport:
    """The result of a loop.

    ``stopped`` is the reason why it stopped, ``weights`` the file of the last weights within one standard error of the
    best, by the current labels; ``simulated`` the number of judgments of simulated workers.
    """

    stopped: str
    budget: Decimal
    spent: Decimal
    weights: Path | None
    simulated: int
    signature: str
    iterations: Sequence[Iteration]

    def write(self, path: PathLike) -> None:
        """Write the best weights to a file; write nothing if nothing was tuned yet."""
        if self.weights is not None:
            text = read_bytes(self.weights).decode()
            with open_output(path) as stream:
                stream.write(text)

    def plot(self, path: PathLike) -> None:
        """Plot RYPT and coverage over the iterations, and below them labels and money (.svg, .png, .pdf)."""
        rows = self.iterations
        figure = new_figure(9, 8)
        scores, labels = figure.subplots(2, 1, sharex=True)
        for name, style, text in LINES:
            points = [(row.iteration, getattr(row, name)) for row in rows if getattr(row, name) is not None]
            scores.plot([x for x, _ in points], [y for _, y in points], style, label=text)
        scores.set_ylabel("RYPT, coverage")
        if self.simulated:
            figure.suptitle("SIMULATED workers: no person gave these labels")
        numbers = [row.iteration for row in rows]
        labels.bar([x - 0.2 for x in numbers], [row.labels or 0 for row in rows], 0.4, label="labels bought")
        reused = [row.reused or 0 for row in rows]
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
        bars, bar_names = labels.get_legend_handles_labels()
        lines, line_names = money.get_legend_handles_labels()
        below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.14), "ncol": 3}  # where no bar is
        labels.legend(bars + lines, bar_names + line_names, fontsize="small", frameon=False, **below)
        save_picture(figure, path)

    def as_dict(self) -> dict[str, Any]:
        return {
            **asdict(self),
            "budget": str(self.budget),
            "spent": str(self.spent),
            "weights": None if self.weights is None else str(self.weights),
            "iterations": [row.as_dict() for row in self.iterations],
        }

    def __repr__(self) -> str:
        spent = f"${self.spent:.2f} of ${self.budget:.2f} spent"
        lines = [table(self.iterations), f"stopped: {self.stopped}; {spent}; best weights: {self.weights}"]
        if self.simulated:
            who = f"{self.simulated} of the judgments are of simulated workers"
            lines.append(f"SIMULATED: {who}; no person gave them")
        return "\n".join([*lines, self.signature])


def iterations(journal: Journal, scores: Mapping[int, ScoreReport] | None = None) -> list[Iteration]:
    """The iterations of a journal; ``scores`` are those of what each decoded by the labels there are now."""
    results = {
        step: journal.results(step) for step in ("decode", "make", "publish", "workers", "score", "tune")
    }
    rows = []
    for number, decoded in results["decode"].items():
        made, published, workers, score, tuned = (
            results[step].get(number, {}) for step in ("make", "publish", "workers", "score", "tune")
        )
        row = Iteration(
            iteration=number,
            candidates=decoded["all_candidates"],
            new=decoded["new"],
            asked=made.get("answers"),
            labels=workers.get("labels", 0 if made else None),
            questions=made.get("questions"),
            reused=made.get("reused"),
            cost=Decimal(published.get("cost", "0")),
            excluded=tuple(workers.get("excluded", ())),
            decoded=score.get("decoded"),
            before=tuned.get("before"),
            after=tuned.get("after"),
            p=tuned.get("p"),
            coverage=score.get("coverage"),
            final=scores[number].score if scores and number in scores else None,
        )
        rows.append(row)
    return rows


def best_iteration(scores: Mapping[int, ScoreReport]) -> int:
    """The last iteration whose score is within one standard error of the highest.

    The scores are of what each iteration decoded, by the same labels. The rule is that of Breiman et al. (1984): among
    scores that the data cannot distinguish, prefer what is better for other reasons. Here that is the later iteration,
    whose weights were tuned to more labels.
    """
    top = max(scores, key=lambda number: (scores[number].score, number))
    return max(number for number in scores if number == top or _is_close(scores[number], scores[top]))


def _is_close(one: ScoreReport, best: ScoreReport) -> bool:
    """Whether a score is below another by no more than the standard error of the difference, over segments."""
    scores = {segment.segment: segment.score for segment in one.segments}
    both = [segment for segment in best.segments if segment.segment in scores]
    gaps = np.array([segment.score - scores[segment.segment] for segment in both])
    error = gaps.std(ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else 0.0
    return bool(best.score - one.score <= error)


def table(iterations: Sequence[Iteration]) -> str:
    from tabulate import tabulate

    lines = [
        (
            *(row.iteration, row.candidates, row.new),
            *(_shown(value, "d") for value in (row.asked, row.labels)),
            "-" if row.reused is None else f"{row.reused} of {row.questions}",
            f"${row.cost:.2f}",
            *(_shown(value, ".4f") for value in (row.decoded, row.before, row.after)),
            *(_shown(row.p, ".3f"), _shown(row.coverage, ".1%"), _shown(row.final, ".4f")),
        )
        for row in iterations
    ]
    return str(tabulate(lines, HEAD, disable_numparse=True))


def _shown(number: float | None, form: str) -> str:
    return "-" if number is None else format(number, form)
