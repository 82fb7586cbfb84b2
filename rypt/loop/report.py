"""What a loop has done, iteration by iteration: for a table, for JSON and for a picture."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from rypt.campaign.folder import Campaign
from rypt.loop.journal import Journal
from rypt.metric.report import ScoreReport
from rypt.signature import signature as sign

HEAD = (
    "iteration", "candidates", "new", "asked", "labels", "reused", "cost", "decoded", "before", "after", "p",
    "coverage", "final",
)  # fmt: skip


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


def rows(journal: Journal, scores: Mapping[int, ScoreReport] | None = None) -> list[Row]:
    """The iterations of a journal; ``scores`` are those of what each decoded by the labels there are now."""
    known = {number: report.score for number, report in (scores or {}).items()}
    return [_row(journal, number, found, known.get(number)) for number, found in journal.results("decode").items()]


def _row(journal: Journal, number: int, decoded: Mapping[str, Any], final: float | None) -> Row:
    steps = {step: journal.result(number, step) or {} for step in ("make", "publish", "workers", "score")}
    tuned = journal.result(number, "tune") or {}
    made, score = steps["make"], steps["score"]
    return Row(
        number, decoded["all_candidates"], decoded["new"], made.get("answers"),
        steps["workers"].get("labels", 0 if made else None), made.get("questions"), made.get("reused"),
        Decimal(steps["publish"].get("cost", "0")), tuple(steps["workers"].get("excluded", ())),
        score.get("decoded"), tuned.get("before"), tuned.get("after"), tuned.get("p"), score.get("coverage"), final,
    )  # fmt: skip


def simulated_labels(campaign: Campaign) -> int:
    """How many judgments of a campaign are those of simulated workers."""
    with campaign.database() as db:
        return db.count_by_source().get("simulation", 0)


def signature(journal: Journal) -> str:
    """All that the last scores depend on; empty before the first."""
    tuned = list(journal.results("tune").values())
    return sign(tuned[-1]["signature"], iterations=len(tuned)) if tuned else ""


def table(found: list[Row]) -> str:
    """The iterations for people."""
    from tabulate import tabulate

    lines = [
        (
            row.iteration, row.candidates, row.new, _shown(row.asked), _shown(row.labels),
            "-" if row.reused is None else f"{row.reused} of {row.questions}", f"${row.cost:.2f}",
            *(_score(value) for value in (row.decoded, row.before, row.after)),
            "-" if row.p is None else f"{row.p:.3f}", "-" if row.coverage is None else f"{row.coverage:.1%}",
            _score(row.final),
        )
        for row in found
    ]  # fmt: skip
    return str(tabulate(lines, HEAD, disable_numparse=True))


def _shown(number: int | None) -> str:
    return "-" if number is None else str(number)


def _score(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
