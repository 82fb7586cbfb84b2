"""The analysis of a campaign: redundancy of its lists, percolation against held-out judgments, agreement.

A list is of the system that its file is named after (`rypt.texts.lists`): ``out/JHU.jsonl.gz`` is of the origin
``JHU``. Origins without a list (a reference that was judged, say) give judgments and are never scored.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rypt.analysis.agreement import Agreement, agreement
from rypt.analysis.curve import CurvePoint, percolation_curve
from rypt.analysis.heldout import DisjointSystems, DisjointWorkers
from rypt.analysis.redundancy import ListCounts, Redundancy, redundancy
from rypt.campaign.folder import Campaign
from rypt.database.judgments import JudgmentDatabase
from rypt.database.simulation import simulated_note
from rypt.options import check_held_out
from rypt.records import Candidate
from rypt.signature import rypt_version, signature
from rypt.text import RyptError, Watch, unwatched
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
        """For JSON; numbers that are not known are null."""
        record: dict[str, Any] = json.loads(json.dumps(asdict(self)), parse_constant=lambda _: None)
        counted = record["redundancy"]
        pairs = zip(
            [counted["total"], *counted["lists"]],
            [self.redundancy.total, *self.redundancy.lists],
            strict=True,
        )
        for row, counts in pairs:
            _add_ratios(row, counts)
        return record


def _add_ratios(row: dict[str, Any], counts: ListCounts) -> None:
    for name in ("everywhere", "frontier"):
        reuse = getattr(counts, name)
        for ratio in ("served", "phrases_each"):
            value = getattr(reuse, ratio)
            row[name][ratio] = None if value != value else value


def analyze(
    campaign: Campaign,
    *,
    max_len: int | None = None,
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
    max_len, ties = max_len or campaign.scoring.max_len, ties or campaign.scoring.ties
    with campaign.database() as db:
        lists = lists_without(campaign.lists(), judged_only, db.groups("origin"))
        judged = {(votes.segment, votes.span, votes.phrase) for votes in db.votes()}
        total = len({c.segment for _, candidates in lists for c in candidates})
        counted = redundancy(
            campaign.trees,
            lists,
            max_len=max_len,
            judged=judged,
            case=db.case,
            watch=lambda segments: watch(segments, "phrases", total),
        )
        division, way, notes = _division(campaign, db, lists, hold_out)
        held_out, curve = None, []
        if division is not None:
            held_out = HeldOutGroups(way, division.groups, (len(division.groups) + 1) // 2, splits, seed)
            curve = percolation_curve(
                division,
                range(1, longest + 1),
                splits=splits,
                judging=held_out.judging,
                seed=seed,
                ties=ties,
                models=models,
                watch=lambda divided: watch(divided, "splits", splits),
            )
            if not any(point.percolated.checked for point in curve):
                notes.append(UNCHECKED)
        simulated = simulated_note(db)
        notes += [simulated] if simulated else []
        agreed = agreement(db.counted_answers())
        case = db.case
    judging = f"{held_out.judging}of{len(held_out.groups)}" if held_out else None
    signed = signature(
        "analysis",
        max_len=max_len,
        hold_out=way if held_out else None,
        judging=judging,
        splits=splits if held_out else None,
        judged_only=",".join(sorted(judged_only)) or None,
        seed=seed,
        ties=ties,
        case=case,
        n=total,
        version=rypt_version(),
    )
    return Analysis(counted, held_out, curve, agreed, notes, signed, simulated)


def _division(
    campaign: Campaign, db: JudgmentDatabase, lists: Lists, hold_out: str | None
) -> tuple[DisjointSystems | DisjointWorkers | None, str, list[str]]:
    """How to divide the judgments, or None and a note that says why not."""
    workers, origins = (db.groups(column) for column in ("worker", "origin"))
    systems = systems_of(lists, origins)
    if hold_out == "worker" or (hold_out is None and len(workers) > 1):
        if len(workers) < 2:
            raise RyptError(
                f"{db.path}: expected judgments of at least two workers to hold some out, found "
                f"{len(workers)}"
            )
        candidates = list({(c.segment, c.text, c.alignment): c for _, some in lists for c in some}.values())
        by_worker = DisjointWorkers(
            campaign.trees, candidates, workers, lambda names: db.votes(workers=names), case=db.case
        )
        return by_worker, "worker", []
    if hold_out == "system" or len(systems) > 1:
        if len(systems) < 2:
            raise RyptError(
                f"{db.path}: expected judgments whose origins are systems, and for at least two of them a list named "
                f"after it (SYSTEM.jsonl), found {len(systems)}"
            )
        left = [origin for origin in origins if origin not in systems]
        notes = [f"judged but without a list, so never scored: {', '.join(left[:5])}"] if left else []
        return _by_system(campaign, db, systems, left), "system", notes
    why = (
        "no judgments yet" if not workers else "all judgments are of one worker and of fewer than two systems"
    )
    return None, "", [f"percolation cannot be checked against held-out judgments: {why}"]


def _by_system(
    campaign: Campaign,
    db: JudgmentDatabase,
    systems: Mapping[str, Sequence[Candidate]],
    left: Collection[str],
) -> DisjointSystems:
    return DisjointSystems(
        campaign.trees, systems, lambda names: db.votes(origins=names), judged_only=left, case=db.case
    )


def systems_of(lists: Lists, origins: Collection[str]) -> dict[str, list[Candidate]]:
    """The candidates of each origin that a list is named after; if two names fit, the longer one counts.

    >>> found = systems_of([("out/JHU.2.jsonl", [Candidate("1", "a", "")]), ("out/dev.nbest", [])], ["JHU", "JHU.2"])
    >>> {system: len(candidates) for system, candidates in found.items()}
    {'JHU.2': 1}
    """
    systems: dict[str, list[Candidate]] = {}
    for name, candidates in lists:
        if system := list_system(name, origins):
            systems.setdefault(system, []).extend(candidates)
    return systems
