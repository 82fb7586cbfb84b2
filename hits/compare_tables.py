"""Comparisons of metrics as tables: text, or LaTeX to paste into a paper."""

from collections.abc import Sequence

from hits.preferences import Preferences
from rypt.picks.outcome import Comparison


def _table(rows: Sequence[Sequence[object]], names: Sequence[str], latex: bool) -> str:
    from tabulate import tabulate

    return str(tabulate(rows, names, tablefmt="latex_booktabs" if latex else "simple", disable_numparse=True,
                        colalign=["left"] + ["right"] * (len(names) - 1)))  # fmt: skip


def preference_tables(preferences: Preferences, *, latex: bool = False) -> str:
    """The paper's Table 1 (judgments) and Table 2 (segments by the difference of their votes)."""
    p = preferences
    total = sum(p.judgments)
    names = [f"first by {p.first}", f"first by {p.second}", "neither"]
    rows = [[name, count, f"{100 * count / total:.1f}"] for name, count in zip(names, p.judgments, strict=True)]
    one = _table([*rows, ["total", total, "100.0"]], ["preferred", "judgments", "%"], latex)
    segments = len(p.segments)
    grouped = [
        [_aggregate(at, p), count, f"{100 * count / segments:.1f}"] for at, count in p.aggregates.items()
    ]  # fmt: skip
    sides = [(p.first, 1), (p.second, -1)]
    either = [
        [f"{name} +any", n := sum(c for at, c in p.aggregates.items() if at * sign > 0), f"{100 * n / segments:.1f}"]
        for name, sign in sides
    ]
    two = _table([*grouped, *either, ["total", segments, "100.0"]], ["aggregate", "segments", "%"], latex)
    return f"{one}\n\n{two}"


def _aggregate(at: int, preferences: Preferences) -> str:
    return "±0" if at == 0 else f"{preferences.first if at > 0 else preferences.second} +{abs(at)}"


def preference_line(preferences: Preferences, seed: int = 1) -> str:
    """What the tables say, in a sentence; the seed is of the bootstrap."""
    p = preferences
    net, low, high = p.interval(seed)
    said = (
        f"{p.first} - {p.second}: {100 * net:+.1f} points [{100 * low:+.1f}, {100 * high:+.1f}]; sign test "
        f"p = {p.p_judgments:.3g} over judgments, {p.p_segments:.3g} over segments"
    )
    notes = [f"{p.identical} segments with the same pick are set aside"] if p.identical else []
    if p.stale:
        notes.append(f"{p.stale} judgments are about earlier picks and left out")
    return "\n".join([said, *notes])


def outcome_table(comparison: Comparison, *, latex: bool = False) -> str:
    """Wins, ties, losses and net with its interval, and the mean human score of each metric's picks."""
    rows = [
        [o.metric, o.baseline, f"{o.wins:.3f}", f"{o.equal:.3f}", f"{o.losses:.3f}", f"{o.net:+.3f}",
         f"[{o.low:+.3f}, {o.high:+.3f}]", f"{o.p:.3f}" if o.p >= 0.001 else "<0.001"]
        for o in comparison.outcomes
    ]  # fmt: skip
    names = ["picks of", "against", "better", "equal", "worse", "net", "95 % interval", "p"]
    quality = [[name, f"{value:.3f}"] for name, value in comparison.quality.items()]
    return f"{_table(rows, names, latex)}\n\n{_table(quality, ['picks of', 'human score, higher is better'], latex)}"
