"""Comparisons of metrics as tables: text, or LaTeX to paste into a paper."""

from collections.abc import Iterable, Mapping, Sequence

from hits.compare.preferences import Preferences
from hits.records import same_text_note
from rypt.picks.outcome import Outcome, PickComparison

OUTCOME_COLUMNS = ("better %", "equal %", "worse %", "net, points", "95 % interval", "p")


def _table(rows: Sequence[Sequence[object]], names: Sequence[str], latex: bool) -> str:
    from tabulate import tabulate

    text = str(
        tabulate(
            rows,
            names,
            tablefmt="latex_booktabs" if latex else "simple",
            disable_numparse=True,
            colalign=["left"] + ["right"] * (len(names) - 1),
        )
    )
    return text.replace("±", r"$\pm$") if latex else text


def beside(lines: Iterable[str], *, latex: bool = False) -> str:
    """What stands beside tables: in LaTeX as comments, so that all of it can be pasted."""
    return "\n".join(f"% {line}" if latex else line for line in lines)


def preference_tables(
    conditions: Sequence[Preferences], *, latex: bool = False, pick: str = "first by "
) -> str:
    """The paper's Table 1 (judgments, a half for each condition) and a Table 2 for each (segments by their votes).

    All are of the same two metrics; ``pick`` stands before their names.
    """
    return "\n\n".join(
        [
            _judgments(conditions, latex, pick),
            *(_aggregates(p, latex, len(conditions) > 1) for p in conditions),
        ]
    )


def _judgments(conditions: Sequence[Preferences], latex: bool, pick: str) -> str:
    p = conditions[0]
    names = [f"{pick}{p.first}", f"{pick}{p.second}", "neither", "total"]
    halves = [(*half.judgments, sum(half.judgments)) for half in conditions]
    rows = [
        [name, *(cell for half in halves for cell in (half[at], f"{100 * half[at] / half[-1]:.1f}"))]
        for at, name in enumerate(names)
    ]
    head = [
        name for half in conditions for name in (f"judgments{_condition(half, len(conditions) > 1)}", "%")
    ]
    return _table(rows, ["preferred", *head], latex)


def _condition(preferences: Preferences, several: bool) -> str:
    return f", reference {preferences.reference}" if several else ""


def _aggregates(p: Preferences, latex: bool, several: bool) -> str:
    total = len(p.segments)
    either = {
        f"{name} +any": sum(count for at, count in p.aggregates.items() if at * sign > 0)
        for name, sign in ((p.first, 1), (p.second, -1))
    }
    named = {_aggregate(at, p): count for at, count in p.all_aggregates.items()}
    rows = [[name, count, f"{100 * count / total:.1f}"] for name, count in [*named.items(), *either.items()]]
    return _table(
        [*rows, ["total", total, "100.0"]], [f"aggregate{_condition(p, several)}", "segments", "%"], latex
    )


def _aggregate(at: int, preferences: Preferences) -> str:
    return "±0" if at == 0 else f"{preferences.first if at > 0 else preferences.second} +{abs(at)}"


def preference_line(preferences: Preferences, seed: int = 1, *, latex: bool = False) -> str:
    """The tables in a sentence; ``seed`` is the random seed of the bootstrap."""
    p = preferences
    net, low, high = p.interval(seed)
    liked, other = p.first, p.second
    if low <= 0 <= high:
        start = f"It is not shown whether people prefer {p.first} or {p.second}{_condition(p, bool(p.reference))}: "
    else:
        if net < 0:
            liked, other, net, low, high = other, liked, -net, -high, -low
        start = f"People prefer {liked} to {other}{_condition(p, bool(p.reference))}: "
    sentence = (
        f"{start}{gain(net, low, high)}, % of the judgments for {liked} - % for {other}; "
        f"sign test p = {p.p_judgments:.3g} over judgments, {p.p_segments:.3g} over segments"
    )
    notes = [same_text_note(p.identical)] if p.identical else []
    notes += [f"{p.stale} judgments are about earlier picks and left out"] if p.stale else []
    notes += [f"without {', '.join(p.excluded)} (excluded)"] if p.excluded else []
    notes += [p.simulated_note] if p.simulated else []
    return beside([sentence, *notes], latex=latex)


def outcome_table(comparison: PickComparison, *, latex: bool = False) -> str:
    """Wins, ties, losses and net with its interval, in % of the segments."""
    rows = [[o.metric, o.baseline, *_outcome_cells(o)] for o in comparison.outcomes]
    return _table(rows, ["picks of", "against", *OUTCOME_COLUMNS], latex)


def quality_table(comparison: PickComparison, *, latex: bool = False) -> str:
    """The mean human score of each metric's picks, of random ones and of the best there are."""
    rows = [[name, f"{value:.3f}"] for name, value in comparison.quality.items()]
    return _table(rows, ["picks of", "human score, higher is better"], latex)


def gain(net: float, low: float, high: float) -> str:
    """A net gain in points with its interval.

    >>> gain(0.053, 0.031, 0.076)
    '+5.3 points (95 % interval +3.1 to +7.6)'
    """
    return f"{in_points(net)} points (95 % interval {in_points(low)} to {in_points(high)})"


def in_points(share: float) -> str:
    """A difference of shares in percentage points, with its sign.

    >>> in_points(0.0534), in_points(-0.0001)
    ('+5.3', '+0.0')
    """
    return f"{round(100 * share, 1) + 0.0:+.1f}"


def _outcome_cells(o: Outcome) -> list[str]:
    shares = [f"{100 * share:.1f}" for share in (o.wins, o.equal, o.losses)]
    interval = f"[{in_points(o.low)}, {in_points(o.high)}]"
    return [*shares, in_points(o.net), interval, f"{o.p:.3f}" if o.p >= 0.001 else "<0.001"]


def pool_table(pairs: Sequence[tuple[Mapping[str, Outcome], Outcome]], *, latex: bool = False) -> str:
    """For each pair of metrics the outcome on each set, and below on all of them."""
    rows = [
        [o.metric, o.baseline, name, o.segments, *_outcome_cells(o)]
        for sets, pooled in pairs
        for name, o in [*sets.items(), ("all", pooled)]
    ]
    return _table(rows, ["picks of", "against", "set", "segments", *OUTCOME_COLUMNS], latex)
