"""The journal of a loop, and its report: what each iteration did, and which weights are best."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from decimal import Decimal
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rypt.locked_files import AppendOnly
from rypt.picture import new_figure, save_picture
from rypt.scoring.report import ScoreReport
from rypt.strict import parse_json
from rypt.text import InputError, PathLike, open_output, read_bytes

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


class Entry(NamedTuple):
    """A finished step of an iteration, when it ended (seconds since 1970), and its result."""

    iteration: int
    step: str
    time: int
    result: Mapping[str, Any]


class Journal:
    """One line of JSON for each finished step, on disk before the next step begins.

    While one process writes, no other can, so two loops never run on one campaign.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = AppendOnly(path, busy="another loop is at work on this campaign")
        self.entries = self._read(self._file.lines())

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Open for writing; a second process is refused."""
        with self._file.opened() as lines:
            self.entries = self._read(lines)
            yield

    def add(self, entry: Entry) -> None:
        """Record a step; it is on disk when this returns."""
        self._file.add(entry._asdict())
        self.entries.append(entry)

    def results(self, step: str) -> dict[int, Mapping[str, Any]]:
        """The results of a step by iteration."""
        return {entry.iteration: entry.result for entry in self.entries if entry.step == step}

    def time(self, iteration: int, step: str) -> int:
        """When a step was last done."""
        return max(entry.time for entry in self.entries if entry[:2] == (iteration, step))

    def _read(self, lines: Sequence[bytes]) -> list[Entry]:
        entries = []
        for number, line in enumerate(lines, start=1):
            try:
                record = parse_json(line)
            except ValueError:
                record = None
            match record:
                case {"iteration": int(n), "step": str(step), "time": int(time), "result": dict(result)}:
                    entries.append(Entry(n, step, time, result))
                case _:
                    raise InputError(self.path, number, f"expected a step with {', '.join(Entry._fields)}")
        return entries


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
        """The report as values that JSON has."""
        rows = [{**asdict(row), "cost": str(row.cost)} for row in self.iterations]
        weights = self.weights and str(self.weights)
        money = {"budget": str(self.budget), "spent": str(self.spent)}
        return {**asdict(self), **money, "weights": weights, "iterations": rows}

    def __repr__(self) -> str:
        from tabulate import tabulate

        rows = [
            (
                *(row.iteration, row.candidates, row.new),
                *(_shown(value, "d") for value in (row.asked, row.labels)),
                "-" if row.reused is None else f"{row.reused} of {row.questions}",
                f"${row.cost:.2f}",
                *(_shown(value, ".4f") for value in (row.decoded, row.before, row.after)),
                *(_shown(row.p, ".3f"), _shown(row.coverage, ".1%"), _shown(row.final, ".4f")),
            )
            for row in self.iterations
        ]
        spent = f"${self.spent:.2f} of ${self.budget:.2f} spent"
        lines = [
            tabulate(rows, HEAD, disable_numparse=True),
            f"stopped: {self.stopped}; {spent}; best weights: {self.weights}",
        ]
        if self.simulated:
            who = f"{self.simulated} of the judgments are of simulated workers"
            lines.append(f"SIMULATED: {who}; no person gave them")
        return "\n".join([*lines, self.signature])


def _shown(number: float | None, form: str) -> str:
    return "-" if number is None else format(number, form)


def iterations(journal: Journal, scores: Mapping[int, ScoreReport] | None = None) -> list[Iteration]:
    """The iterations of a journal; ``scores`` are those of what each decoded by the labels there are now."""
    steps = ("decode", "make", "publish", "workers", "score", "tune")
    results = [journal.results(step) for step in steps]
    rows = []
    for number in results[0]:
        decoded, made, published, workers, score, tuned = (result.get(number, {}) for result in results)
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
    best = scores[top]

    def is_close(report: ScoreReport) -> bool:
        by_segment = {segment.segment: segment.score for segment in report.segments}
        gaps = [s.score - by_segment[s.segment] for s in best.segments if s.segment in by_segment]
        error = np.std(gaps, ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else 0.0  # of the difference
        return bool(best.score - report.score <= error)

    return max(number for number in scores if number == top or is_close(scores[number]))
