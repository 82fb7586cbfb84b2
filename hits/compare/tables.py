"""Comparisons of metrics as tables: text, or LaTeX to paste into a paper."""

from collections.abc import Iterable, Mapping, Sequence

from hits.compare.preferences import Preferences
from hits.records import same_text_note
from rypt.picks.outcome import Outcome, PickComparison

OUTCOME_COLUMNS = ("better", "equal", "worse", "net", "95 % interval", "p")


def _table(rows: Sequence[Sequence[object]], names: Sequence[str], latex: bool) -> str:
    from tabulate import tabulate

    text = str(tabulate(rows, names, tablefmt="latex_booktabs" if latex else "simple", disable_numparse=True,
                        colalign=["left"] + ["right"] * (len(names) - 1)))  # fmt: skip
    return text.replace("±", r"$\pm$") if latex else text


def beside(lines: Iterable[str], *, latex: bool = False) -> str:
    """What stands beside tables: in LaTeX as comments, so that all of it can be pasted."""
    return "\n".join(f"% {line}" if latex else line for line in lines)


def preference_tables(conditions: Sequence[Preferences], *, latex: bool = False, pick: str = "first by ") -> str:
    """The paper's Table 1 (judgments, a half for each condition) and a Table 2 for each (segments by their votes).

    All are of the same two metrics; ``pick`` stands before their names.
    """
    return "\n\n".join(
        [_judgments(conditions, latex, pick), *(_aggregates(p, latex, len(conditions) > 1) for p in conditions)]
    )


def _judgments(conditions: Sequence[Preferences], latex: bool, pick: str) -> str:
    p = conditions[0]
    names = [f"{pick}{p.first}", f"{pick}{p.second}", "neither", "total"]
    halves = [(*half.judgments, sum(half.judgments)) for half in conditions]
    rows = [
        [name, *(cell for half in halves for cell in (half[at], f"{100 * half[at] / half[-1]:.1f}"))]
        for at, name in enumerate(names)
    ]
    head = [name for half in conditions for name in (f"judgments{_condition(half, len(conditions) > 1)}", "%")]
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
    return _table([*rows, ["total", total, "100.0"]], [f"aggregate{_condition(p, several)}", "segments", "%"], latex)


def _aggregate(at: int, preferences: Preferences) -> str:
    return "±0" if at == 0 else f"{preferences.first if at > 0 else preferences.second} +{abs(at)}"


def preference_line(preferences: Preferences, seed: int = 1, *, latex: bool = False) -> str:
    """The tables in a sentence; ``seed`` is the random seed of the bootstrap."""
    p = preferences
    net, low, high = p.interval(seed)
    sentence = (
        f"{p.first} - {p.second}{_condition(p, bool(p.reference))}: {100 * net:+.1f} points [{100 * low:+.1f}, "
        f"{100 * high:+.1f}]; sign test p = {p.p_judgments:.3g} over judgments, {p.p_segments:.3g} over segments"
    )
    notes = [same_text_note(p.identical)] if p.identical else []
    notes += [f"{p.stale} judgments are about earlier picks and left out"] if p.stale else []
    notes += [p.simulated_note] if p.simulated else []
    return beside([sentence, *notes], latex=latex)


def outcome_table(comparison: PickComparison, *, latex: bool = False) -> str:
    """Wins, ties, losses and net with its interval, and the mean human score of each metric's picks."""
    rows = [[o.metric, o.baseline, *_outcome_cells(o)] for o in comparison.outcomes]
    names = ["picks of", "against", *OUTCOME_COLUMNS]
    quality = [[name, f"{value:.3f}"] for name, value in comparison.quality.items()]
    return f"{_table(rows, names, latex)}\n\n{_table(quality, ['picks of', 'human score, higher is better'], latex)}"


def _outcome_cells(o: Outcome) -> list[str]:
    return [
        f"{o.wins:.3f}", f"{o.equal:.3f}", f"{o.losses:.3f}", f"{o.net:+.3f}", f"[{o.low:+.3f}, {o.high:+.3f}]",
        f"{o.p:.3f}" if o.p >= 0.001 else "<0.001",
    ]  # fmt: skip


def pool_table(pairs: Sequence[tuple[Mapping[str, Outcome], Outcome]], *, latex: bool = False) -> str:
    """For each pair of metrics the outcome on each set, and below on all of them."""
    rows = [
        [o.metric, o.baseline, name, o.segments, *_outcome_cells(o)]
        for sets, pooled in pairs
        for name, o in [*sets.items(), ("all", pooled)]
    ]
    return _table(rows, ["picks of", "against", "set", "segments", *OUTCOME_COLUMNS], latex)
