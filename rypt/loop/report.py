"""What a loop has done, iteration by iteration: for a table, for JSON and for a picture."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from rypt.campaign.folder import Campaign
from rypt.loop.journal import Journal
from rypt.scoring.report import ScoreReport
from rypt.signature import signature as sign
from rypt.text import PathLike, open_output, read_bytes

HEAD = (
    "iteration",
    "candidates",
    "new",
    "asked",
    "labels",
    "reused",
    "cost",
    "decoded",
    "before",
    "after",
    "p",
    "coverage",
    "final",
)


@dataclass(frozen=True, slots=True)
class Row:
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
        """For JSON; money as text."""
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
    iterations: Sequence[Row]

    def write(self, path: PathLike) -> None:
        """Write the best weights to a file; write nothing if nothing was tuned yet."""
        if self.weights is not None:
            text = read_bytes(self.weights).decode()
            with open_output(path) as stream:
                stream.write(text)

    def plot(self, path: PathLike) -> None:
        """Draw scores and spending over the iterations (.svg, .png, .pdf)."""
        from rypt.loop.plot import plot_loop

        plot_loop(path, self.iterations, simulated=self.simulated > 0)

    def as_dict(self) -> dict[str, Any]:
        """For JSON; money as text."""
        return {
            "stopped": self.stopped,
            "budget": str(self.budget),
            "spent": str(self.spent),
            "weights": None if self.weights is None else str(self.weights),
            "simulated": self.simulated,
            "signature": self.signature,
            "iterations": [row.as_dict() for row in self.iterations],
        }

    def __repr__(self) -> str:
        spent = f"${self.spent:.2f} of ${self.budget:.2f} spent"
        lines = [table(self.iterations), f"stopped: {self.stopped}; {spent}; best weights: {self.weights}"]
        if self.simulated:
            lines.append(
                f"SIMULATED: {self.simulated} of the judgments are of simulated workers; no person gave them"
            )
        return "\n".join([*lines, self.signature])


def loop_report(
    campaign: Campaign,
    journal: Journal,
    scores: Mapping[int, ScoreReport],
    *,
    stopped: str,
    budget: Decimal,
    spent: Decimal,
    weights: Path | None,
) -> LoopReport:
    """The result of a loop, by the scores of what each iteration decoded."""
    return LoopReport(
        stopped, budget, spent, weights, simulated_labels(campaign), signature(journal), rows(journal, scores)
    )


def rows(journal: Journal, scores: Mapping[int, ScoreReport] | None = None) -> list[Row]:
    """The iterations of a journal; ``scores`` are those of what each decoded by the labels there are now."""
    known = {number: report.score for number, report in (scores or {}).items()}
    return [
        _row(journal, number, decoded, known.get(number))
        for number, decoded in journal.results("decode").items()
    ]


def _row(journal: Journal, number: int, decoded: Mapping[str, Any], final: float | None) -> Row:
    steps = {step: journal.result(number, step) or {} for step in ("make", "publish", "workers", "score")}
    tuned = journal.result(number, "tune") or {}
    made, score = steps["make"], steps["score"]
    return Row(
        number,
        decoded["all_candidates"],
        decoded["new"],
        made.get("answers"),
        steps["workers"].get("labels", 0 if made else None),
        made.get("questions"),
        made.get("reused"),
        Decimal(steps["publish"].get("cost", "0")),
        tuple(steps["workers"].get("excluded", ())),
        score.get("decoded"),
        tuned.get("before"),
        tuned.get("after"),
        tuned.get("p"),
        score.get("coverage"),
        final,
    )


def simulated_labels(campaign: Campaign) -> int:
    """The number of a campaign's judgments by simulated workers."""
    with campaign.database() as db:
        return db.count_by_source().get("simulation", 0)


def signature(journal: Journal) -> str:
    """The signature of the last scores; empty before the first."""
    tuned = list(journal.results("tune").values())
    return sign(tuned[-1]["signature"], iterations=len(tuned)) if tuned else ""


def table(iterations: Sequence[Row]) -> str:
    """The iterations as a table of text."""
    from tabulate import tabulate

    lines = [
        (
            row.iteration,
            row.candidates,
            row.new,
            _shown(row.asked),
            _shown(row.labels),
            "-" if row.reused is None else f"{row.reused} of {row.questions}",
            f"${row.cost:.2f}",
            *(_score(value) for value in (row.decoded, row.before, row.after)),
            "-" if row.p is None else f"{row.p:.3f}",
            "-" if row.coverage is None else f"{row.coverage:.1%}",
            _score(row.final),
        )
        for row in iterations
    ]
    return str(tabulate(lines, HEAD, disable_numparse=True))


def _shown(number: int | None) -> str:
    return "-" if number is None else str(number)


def _score(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
