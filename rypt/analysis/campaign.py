"""The analysis of a campaign: redundancy of its lists, percolation against held-out judgments, agreement.

A list is of the system that its file is named after (`rypt.texts.lists`): ``out/JHU.jsonl.gz`` is of the origin
``JHU``. Origins without a list (a reference that was judged, say) give judgments and are never scored.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rypt.analysis.agreement import Agreement, agreement
from rypt.analysis.curve import (
    CurvePoint,
    HeldOut,
    curve_tables,
    draw_accuracies,
    draw_curve,
    percolation_curve,
)
from rypt.analysis.redundancy import Redundancy, redundancy
from rypt.arrays import Ints
from rypt.campaign.folder import Campaign
from rypt.database.votes import VoteArrays, read_votes
from rypt.options import check_held_out
from rypt.picture import new_figure, save_picture
from rypt.records import Candidate
from rypt.scoring.forest import Forest
from rypt.scoring.observations import JudgedPhrases, Places
from rypt.signature import rypt_version, signature
from rypt.text import PathLike, RyptError, Watch, unwatched
from rypt.texts.lists import list_system, lists_without

Lists = Sequence[tuple[str, Sequence[Candidate]]]
WAYS = ("system", "worker")
LONGEST = 7  # as in the paper's Figure 3
UNCHECKED = (
    "no percolated label could be checked: held-out judgments are about none of the constituents that percolation "
    "labels ('rypt queries --select all' lists what to ask)"
)


@dataclass(frozen=True, slots=True)
class HeldOutGroups:
    """How judgments were divided: those of ``judging`` systems or workers are used, the others are the truth."""

    way: str
    groups: list[str]
    judging: int
    splits: int
    seed: int


@dataclass(frozen=True, slots=True)
class Analysis:
    """The result of ``rypt analyze``; ``curve`` and ``held_out`` are empty where judgments cannot be divided.

    ``simulated`` is a note with the number of simulated judgments, which is also shown in plots.
    """

    redundancy: Redundancy
    held_out: HeldOutGroups | None
    curve: list[CurvePoint]
    agreement: Agreement
    notes: list[str]
    signature: str
    simulated: str = ""

    def as_dict(self) -> dict[str, Any]:
        """All numbers, None where one is not defined (JSON has no nan)."""
        record = {**asdict(self), "redundancy": self.redundancy.as_dict()}
        without_nan: dict[str, Any] = json.loads(json.dumps(record), parse_constant=lambda _: None)
        return without_nan

    def text(self) -> str:
        parts = [self.redundancy.text()]
        if self.held_out:
            held = self.held_out
            parts.append(
                f"percolation: judgments of {held.judging} of {len(held.groups)} {held.way}s on the frontier of each "
                f"maxLen, checked by those of the others, {held.splits} random splits"
            )
            parts += curve_tables(self.curve)
        parts.append(f"agreement: {self.agreement}")
        return "\n\n".join([*parts, "\n".join([*self.notes, self.signature])])

    def plot(self, path: PathLike) -> None:
        """Draw the redundancy of the lists and, if there is a curve, Figure 3 and the table's accuracy."""
        columns = 3 if self.curve else 1
        figure = new_figure(6.0 * columns, 5.0)
        panels = figure.subplots(1, columns, squeeze=False)[0]
        if self.simulated:
            figure.suptitle(self.simulated, color="#c62828", fontsize="medium")
        self.redundancy.draw(panels[0])
        if self.curve:
            draw_curve(panels[1], self.curve)
            draw_accuracies(panels[2], self.curve)
        save_picture(figure, path)


def analyze(
    campaign: Campaign,
    *,
    longest: int = LONGEST,
    hold_out: str | None = None,
    judged_only: Collection[str] = (),
    splits: int = 10,
    seed: int = 1,
    ties: str | None = None,
    models: bool = True,
    watch: Watch = unwatched,
) -> Analysis:
    """Analyse a campaign; without ``hold_out`` workers are held out where there are two, else systems.

    The lists of ``judged_only``, a human translation among the systems, say, are left out.
    """
    if hold_out is not None:
        check_held_out(hold_out, WAYS)
    max_len, ties = campaign.scoring.max_len, ties or campaign.scoring.ties
    with campaign.database() as db:
        votes, case, simulated = read_votes(db), db.case, db.simulated_note()
        agreed = agreement(db.counted_answers())
    lists = lists_without(campaign.lists, judged_only, votes.origins)
    candidates = [candidate for _, some in lists for candidate in some]
    places = JudgedPhrases(Forest(campaign.trees), votes.keys).look_up(candidates, case)
    counted = redundancy(lists, places, max_len)
    division, notes = _division(campaign.path(campaign.files.database), votes, lists, places, hold_out)
    held_out, curve = None, []
    if division is not None:
        held_out = HeldOutGroups(division.way, division.groups, division.judging, splits, seed)
        max_lens = range(1, longest + 1)
        curve = percolation_curve(
            division, max_lens, splits=splits, seed=seed, ties=ties, table=models, watch=watch
        )
        if not any(point.percolated.checked for point in curve):
            notes.append(UNCHECKED)
    notes += [simulated] if simulated else []
    signed = signature(
        "analysis",
        max_len=max_len,
        hold_out=held_out.way if held_out else None,
        judging=f"{held_out.judging}of{len(held_out.groups)}" if held_out else None,
        splits=splits if held_out else None,
        judged_only=",".join(sorted(judged_only)) or None,
        seed=seed,
        ties=ties,
        case=case,
        n=len({candidate.segment for candidate in candidates}),
        version=rypt_version(),
    )
    return Analysis(counted, held_out, curve, agreed, notes, signed, simulated)


def _division(
    database: PathLike, votes: VoteArrays, lists: Lists, places: Places, hold_out: str | None
) -> tuple[HeldOut | None, list[str]]:
    """How to divide the judgments, with notes; or None and a note that says why not."""
    systems = outputs_of(lists, votes.origins)
    if hold_out == "worker" or (hold_out is None and len(votes.workers) > 1):
        if len(votes.workers) < 2:
            problem = (
                f"expected judgments of at least two workers to hold some out, found {len(votes.workers)}"
            )
            raise RyptError(f"{database}: {problem}")
        candidates = [c for _, some in lists for c in some]
        distinct = {(c.segment, c.text, c.alignment): i for i, c in reversed(list(enumerate(candidates)))}
        chosen = np.array(sorted(distinct.values()), np.int64)
        return HeldOut(votes, places.take(chosen)), []
    if hold_out == "system" or len(systems) > 1:
        if len(systems) < 2:
            raise RyptError(
                f"{database}: expected judgments whose origins are systems, and for at least two of them a list named "
                f"after it (SYSTEM.jsonl), found {len(systems)}"
            )
        left = [origin for origin in votes.origins if origin not in systems]
        notes = [f"judged but without a list, so never scored: {', '.join(left[:5])}"] if left else []
        return HeldOut(votes, places, systems), notes
    why = (
        "all judgments are of one worker and of fewer than two systems"
        if votes.workers
        else "no judgments yet"
    )
    return None, [f"percolation cannot be checked against held-out judgments: {why}"]


def outputs_of(lists: Lists, origins: Collection[str]) -> Mapping[str, Ints]:
    """The candidates of each origin that a list is named after, by number; if two names fit, the longer one counts.

    >>> outputs = outputs_of([("out/JHU.2.jsonl", [Candidate("1", "a", "")]), ("dev.nbest", [])], ["JHU", "JHU.2"])
    >>> {system: numbers.tolist() for system, numbers in outputs.items()}
    {'JHU.2': [0]}
    """
    outputs: dict[str, list[int]] = {}
    start = 0
    for name, candidates in lists:
        if system := list_system(name, origins):
            outputs.setdefault(system, []).extend(range(start, start + len(candidates)))
        start += len(candidates)
    return {system: np.array(numbers, np.int64) for system, numbers in outputs.items()}
