"""The analysis of a campaign: redundancy of its lists, percolation against held-out judgments, agreement.

A list is of the system that its file is named after (`rypt.texts.lists`): ``out/JHU.jsonl.gz`` is of the origin
``JHU``. Origins without a list (a reference that was judged, say) give judgments and are never scored.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from tabulate import tabulate

from rypt.analysis.agreement import Agreement, agreement
from rypt.analysis.held_out import CurvePoint, HeldOutSystems, HeldOutWorkers, percolation_curve
from rypt.analysis.redundancy import PhraseReuse, Redundancy, redundancy
from rypt.arrays import Ints
from rypt.campaign.folder import Campaign
from rypt.database.votes import VoteArrays, read_votes
from rypt.options import check_held_out
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
        known: dict[str, Any] = json.loads(json.dumps(record), parse_constant=lambda _: None)
        return known

    def text(self) -> str:
        parts = [redundancy_text(self.redundancy)]
        if self.held_out:
            held = self.held_out
            parts.append(
                f"percolation: judgments of {held.judging} of {len(held.groups)} {held.way}s on the frontier of each "
                f"maxLen, checked by those of the others, {held.splits} random splits"
            )
            parts += [curve_table(self.curve), models_table(self.curve)]
        parts.append(agreement_text(self.agreement))
        return "\n\n".join([*parts, "\n".join([*self.notes, self.signature])])


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
    division, way, notes = _division(campaign.path(campaign.files.database), votes, lists, places, hold_out)
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
            table=models,
            watch=lambda divided: watch(divided, "splits", splits),
        )
        if not any(point.percolated.checked for point in curve):
            notes.append(UNCHECKED)
    notes += [simulated] if simulated else []
    signed = signature(
        "analysis",
        max_len=max_len,
        hold_out=way if held_out else None,
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
) -> tuple[HeldOutSystems | HeldOutWorkers | None, str, list[str]]:
    """How to divide the judgments, with notes; or None and a note that says why not."""
    systems = outputs_of(lists, votes.origins)
    if hold_out == "worker" or (hold_out is None and len(votes.workers) > 1):
        if len(votes.workers) < 2:
            found = len(votes.workers)
            raise RyptError(
                f"{database}: expected judgments of at least two workers to hold some out, found {found}"
            )
        candidates = [c for _, some in lists for c in some]
        distinct = {(c.segment, c.text, c.alignment): i for i, c in reversed(list(enumerate(candidates)))}
        chosen = np.array(sorted(distinct.values()), np.int64)
        return HeldOutWorkers(votes, places.take(chosen)), "worker", []
    if hold_out == "system" or len(systems) > 1:
        if len(systems) < 2:
            raise RyptError(
                f"{database}: expected judgments whose origins are systems, and for at least two of them a list named "
                f"after it (SYSTEM.jsonl), found {len(systems)}"
            )
        left = [origin for origin in votes.origins if origin not in systems]
        notes = [f"judged but without a list, so never scored: {', '.join(left[:5])}"] if left else []
        return HeldOutSystems(votes, places, systems), "system", notes
    why = (
        "all judgments are of one worker and of fewer than two systems"
        if votes.workers
        else "no judgments yet"
    )
    return None, "", [f"percolation cannot be checked against held-out judgments: {why}"]


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


def redundancy_text(counted: Redundancy) -> str:
    """A row for each list: candidates, and phrases of all constituents and of the frontier's; and their reuse."""
    frontier = f"frontier({counted.max_len})"
    names = ("list", "candidates", "new", "phrases", "new", frontier, "new", "of these labelled")
    total = counted.total
    rows = []
    for one in counted.lists if len(counted.lists) == 1 else [*counted.lists, total]:
        phrases = (
            one.everywhere.occurrences,
            one.everywhere.unique,
            one.frontier.occurrences,
            one.frontier.unique,
        )
        numbers = (one.candidates, one.new, *phrases, one.frontier.labelled)
        rows.append((one.name, *(f"{number:,}" for number in numbers)))
    table = tabulate(rows, names, disable_numparse=True, colalign=("left", *["right"] * (len(names) - 1)))
    return (
        f"{table}\n\n{total.new:,} of {total.candidates:,} candidates are different\n"
        f"all constituents: {_reuse(total.everywhere)}\nfrontier of {counted.max_len}: {_reuse(total.frontier)}"
    )


def _reuse(reuse: PhraseReuse) -> str:
    if not reuse.unique:
        return "no phrases"
    return (
        f"{reuse.occurrences:,} phrases, {reuse.unique:,} different ({reuse.unique / reuse.occurrences:.1%}), "
        f"{reuse.phrases_each:.2f} a constituent; one label serves {reuse.served:.1f} places; "
        f"{reuse.labelled:,} have a label"
    )


def curve_table(curve: Sequence[CurvePoint]) -> str:
    """Coverage and the accuracy of percolated labels for each maxLen, in per cent (Figure 3)."""
    names = ["maxLen", "before", "after", "from YES", "from NO", "accuracy", "of YES", "of NO", "always YES"]
    rows = []
    for p in curve:
        coverage = (p.before, p.after, p.from_yes, p.from_no)
        right = (p.percolated.percolation, p.yes_right, p.no_right, p.percolated.always_yes)
        rows.append((p.max_len, *coverage, *right))
    return _per_cent(names, rows)


def models_table(curve: Sequence[CurvePoint]) -> str:
    """Accuracies of percolation and of the table, on percolated labels and on all constituents without a judgment."""
    methods = ["always YES", "percolation", "table"]
    rows = []
    for point in curve:
        checks = (point.percolated, point.unlabelled)
        accuracies = [(one.checked, one.always_yes, one.percolation, one.table) for one in checks]
        rows.append((point.max_len, *accuracies[0], *accuracies[1]))
    return _per_cent(["maxLen", "percolated:", *methods, "unlabelled:", *methods], rows)


def _per_cent(names: Sequence[str], rows: Sequence[tuple[float, ...]]) -> str:
    """Shares in per cent, counts as they are, a dash for what is not known."""

    def cell(value: float) -> str:
        if isinstance(value, int):
            return f"{value:,}"
        return "-" if value != value else f"{100 * value:.1f}"

    cells = [[cell(value) for value in row] for row in rows]
    return str(tabulate(cells, names, disable_numparse=True, stralign="right"))


def agreement_text(agreed: Agreement) -> str:
    if not agreed.answers:
        return "agreement: no judgments"
    alpha, kappa = ("-" if value != value else f"{value:.3f}" for value in (agreed.alpha, agreed.kappa))
    text = f"{agreed.answers:,} answers of workers about {agreed.questions:,} keys; alpha {alpha}"
    text = f"agreement: {text}, mean pairwise kappa {kappa}"
    if agreed.same != agreed.same:
        return text
    return f"{text}, at least {agreed.at_least} of {agreed.of} agree on {agreed.same:.1%}"
