"""A ranking as WMT prints it: #, score with its interval, range of ranks, system, with a rule between clusters.

`as_table` prints it as text, Markdown, LaTeX or HTML; `as_json` has the numbers.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from html import escape
from itertools import groupby
from typing import Any

import numpy as np

from hits.ranking.names import TABLES
from hits.ranking.result import Ranked, RankedGroup
from rypt.options import check_option
from rypt.ratings.rating import is_human

TABULATE = {"text": "simple", "markdown": "github", "latex": "latex", "html": "html"}  # its styles
FRAMES = {
    "text": ("{}", "{}", "\n"),
    "markdown": ("**{}**", "{}", "\n\n"),
    "latex": ("% {}", "% {}", "\n"),
    "html": ("<h2>{}</h2>", "<p>{}</p>", "\n"),
}  # around a title, around a line below the table, between all of them
SYMBOLS = str.maketrans({"↓": r"$\downarrow$", "…": r"\dots{}"})  # for LaTeX
INTERVAL = "95 % interval"
QUANTILE = 1.96  # of the normal distribution, for that
LONGEST = 28  # of a system's name
MOST_NAMED = 6  # systems in a sentence
MOST_GROUPS = 4  # of systems with the same number of significant wins


def as_table(ranking: RankedGroup, style: str = "text", facts: Sequence[str] = ()) -> str:
    """A table with its title, and below it ``facts``, what is significant, and the signature.

    # is the rank of the first system of a cluster; text and LaTeX also have rules between clusters.

    >>> systems = (Ranked("uedin", 0.6, 1, 1, 1, 1), Ranked("cu", 0.5, 2, 2, 3, 2), Ranked("jhu", 0.4, 3, 2, 3, 2))
    >>> print(as_table(RankedGroup("bojar", "bojar|n:9", systems)))
      #    score  range    system
    ---  -------  -------  --------
      1    0.600  1        uedin
    ---  -------  -------  --------
      2    0.500  2-3      cu
           0.400  2-3      jhu
    uedin is significantly better than all 2 other systems.
    2 clusters: every system of a cluster is significantly better than all systems of the clusters below it.
    bojar|n:9
    """
    check_option("table", style, TABLES)
    title, line, between = FRAMES[style]
    escapes: dict[str, Callable[[str], str]] = {"html": escape, "markdown": _escape_pipe}
    clean = escapes.get(style, str)
    above = [title.format(clean(ranking.title))] if ranking.title else []
    below = [line.format(clean(text)) for text in (*facts, *verdict(ranking), ranking.signature)]
    return between.join([*above, _table(ranking, style), *below])


def _escape_pipe(text: str) -> str:
    return text.replace("|", "\\|")


def _table(ranking: RankedGroup, style: str) -> str:
    from tabulate import SEPARATING_LINE, tabulate

    head, clusters = cells(ranking)
    rows: list[Any] = []
    starts = []
    for cluster in clusters:
        if rows and style == "text":
            rows.append(SEPARATING_LINE)
        starts.append(len(rows))
        rows += cluster if style != "markdown" else [list(map(_escape_pipe, row)) for row in cluster]
    sides = ["left" if name in ("range", "system") else "right" for name in head]
    text = str(tabulate(rows, head, TABULATE[style], disable_numparse=True, colalign=sides))
    if style != "latex":
        return text
    lines = text.translate(SYMBOLS).splitlines()
    for start in reversed(starts[1:]):
        lines.insert(start + 4, r"\hline")  # below the beginning, a rule, the head and another rule
    return "\n".join(lines)


def cells(ranking: RankedGroup) -> tuple[list[str], list[list[list[str]]]]:
    """The head of the table, and for each cluster its lines; columns without content are left out.

    Clusters come from the best to the worst; without clusters all systems are one group, with a rank each.
    """
    systems = table_order(ranking)
    labels = _labels(systems)
    intervals, digits = score_intervals(ranking), ranking.digits
    columns: dict[str, Callable[[Ranked], str]] = {ranking.score: lambda s: f"{s.score:.{digits}f}"}
    if intervals:
        columns[INTERVAL] = lambda s: "[{:.{d}f}, {:.{d}f}]".format(*intervals[s.system], d=digits)
    if any(system.low is not None for system in systems):
        columns["range"] = span
    columns["system"] = lambda s: labels[s.system]
    clusters = []
    for cluster, members in groupby(systems, key=lambda system: system.cluster):
        group = list(members)
        first = min(system.rank for system in group)
        numbers = [str(s.rank) if cluster is None else "" if k else str(first) for k, s in enumerate(group)]
        clusters.append(
            [
                [number, *(cell(s) for cell in columns.values())]
                for number, s in zip(numbers, group, strict=True)
            ]
        )
    return ["#", *columns], clusters


def score_intervals(ranking: RankedGroup) -> dict[str, tuple[float, float]]:
    """The 95 % interval of each system's score, by resamples or by its standard error; empty where nothing says it."""
    systems = ranking.systems
    if ranking.score_samples is not None:
        lows, highs = np.quantile(ranking.score_samples, [0.025, 0.975], axis=0)
        return {
            s.system: (float(low), float(high)) for s, low, high in zip(systems, lows, highs, strict=True)
        }
    errors = [s.error for s in systems] if ranking.score_errors is None else ranking.score_errors.tolist()
    return {
        s.system: (s.score - QUANTILE * error, s.score + QUANTILE * error)
        for s, error in zip(systems, errors, strict=True)
        if error is not None
    }


def verdict(ranking: RankedGroup) -> list[str]:
    """What is significant, in sentences; none without ranges.

    >>> a, b, c = Ranked("a", 0.6, 1, 1, 2, 1), Ranked("b", 0.5, 2, 1, 3, 1), Ranked("c", 0.4, 3, 2, 3, 1)
    >>> print("\\n".join(verdict(RankedGroup("mean", "mean|n:9", (a, b, c)))))
    a is significantly better than 1 of 2 other systems.
    All are in one cluster: nowhere in this order is every system above significantly better than every system below.
    """
    systems = table_order(ranking)
    others = len(systems) - 1
    if others < 1 or not ranking.clusters:
        return []
    labels = _labels(systems)
    groups = [
        (wins, [labels[s.system] for s in members])
        for wins, members in groupby(systems, key=lambda s: significant_wins(ranking, s))
        if wins
    ]
    if not groups:
        return ["No system is significantly better than another: their order may be chance."]
    parts: list[str] = []
    for wins, names in groups[:MOST_GROUPS]:
        if not parts:
            verb = "is" if len(names) == 1 else "are"
            total = f"all {others}" if wins == others else f"{wins} of {others}"
            parts.append(f"{enumerated(names)} {verb} significantly better than {total} other systems")
        else:
            parts.append(f"{enumerated(names)} than {wins}")
    rest = groups[MOST_GROUPS:]
    if rest:
        most = max(wins for wins, _ in rest)
        parts.append(
            f"{sum(len(names) for _, names in rest)} others than 1 to {most}" if most > 1 else "others than 1"
        )
    lines = ["; ".join(parts) + "."]
    if ranking.clusters > 1:
        lines.append(
            f"{ranking.clusters} clusters: every system of a cluster is significantly better than all systems of the "
            "clusters below it."
        )
    else:
        lines.append(
            "All are in one cluster: nowhere in this order is every system above significantly better than every "
            "system below."
        )
    machines = [system for system in systems if not is_human(system.system)]
    if len(machines) > 1 and machines[0].cluster != 1:
        best = [labels[system.system] for system in machines if system.cluster == machines[0].cluster]
        if len(best) < len(machines):
            lines.append(f"The best cluster of those that are not human: {enumerated(best)}.")
    return lines


def significant_wins(ranking: RankedGroup, system: Ranked) -> int:
    """How many systems a system is significantly better than.

    Tests say it by the worst rank; of ranges from resamples, those count that lie wholly below the system's.
    """
    if ranking.wins is not None:
        return int(ranking.wins[ranking.systems.index(system)])
    if system.high is None:
        return 0
    if ranking.rank_samples is None:
        return len(ranking.systems) - system.high
    return sum(other.low is not None and other.low > system.high for other in ranking.systems)


def enumerated(names: Sequence[str]) -> str:
    """Names in a sentence.

    >>> enumerated(["a"]), enumerated(["a", "b", "c"]), enumerated(list("abcdefgh"))
    ('a', 'a, b and c', 'a, b, c, d, e and 3 others')
    """
    if len(names) > MOST_NAMED:
        names = [*names[: MOST_NAMED - 1], f"{len(names) - MOST_NAMED + 1} others"]
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def table_order(ranking: RankedGroup) -> list[Ranked]:
    """The systems in the order of tables and plots: by cluster, then by rank, then by name."""
    return sorted(ranking.systems, key=lambda s: (s.cluster or 0, s.rank, s.system))


def span(system: Ranked) -> str:
    """A range of ranks, one number where it is one rank.

    >>> span(Ranked("a", 0.5, 2, 2, 4, 1)), span(Ranked("a", 0.5, 2, 2, 2, 1))
    ('2-4', '2')
    """
    if system.low is None:
        return ""
    return str(system.low) if system.low == system.high else f"{system.low}-{system.high}"


def html_page(table: str) -> str:
    """A page with a table."""
    head = '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>Ranking</title>'
    style = "<style>body{font-family:sans-serif}td,th{padding:.15em .7em}</style>"
    return "\n".join([head, style, "<body>", table, "</body>\n</html>"])


def as_json(rankings: Sequence[RankedGroup]) -> dict[str, Any]:
    """One object; groups of systems that were never compared have a number each, ``component``, from 1."""
    first = rankings[0]
    systems = [
        record | ({"component": number} if len(rankings) > 1 else {})
        for number, ranking in enumerate(rankings, start=1)
        for record in _records(ranking)
    ]
    record: dict[str, Any] = {"model": first.model, "signature": first.signature, "systems": systems}
    if len(rankings) == 1:
        return record | {"clusters": first.clusters or None} | dict(first.extra)
    parts = [
        {"signature": ranking.signature, "clusters": ranking.clusters or None}
        | ({"languages": ranking.title} if ranking.title else {})
        | dict(ranking.extra)
        for ranking in rankings
    ]
    return record | {"components": parts}


def _records(ranking: RankedGroup) -> Iterator[dict[str, Any]]:
    """Each system's keys; ``error`` only where the model has standard errors, ``human`` of a human translation."""
    intervals = score_intervals(ranking)
    for system in ranking.systems:
        record = asdict(system)
        if system.error is None:
            del record["error"]
        if is_human(system.system):
            record["human"] = True
        if intervals:
            record["score_low"], record["score_high"] = intervals[system.system]
        yield record | ({"languages": ranking.title} if ranking.title else {})


def _labels(systems: Sequence[Ranked]) -> dict[str, str]:
    names = [system.system for system in systems]
    return dict(zip(names, system_labels(names), strict=True))


def system_labels(names: Sequence[str]) -> list[str]:
    """Names as `short_names` has them, with human translations marked.

    >>> system_labels(["wmt23.refA", "wmt23.GPT4-5shot"])
    ['refA (human)', 'GPT4-5shot']
    """
    return [
        f"{short} (human)" if is_human(name) else short
        for name, short in zip(names, short_names(names), strict=True)
    ]


def short_names(names: Sequence[str], longest: int = LONGEST) -> list[str]:
    """Names that fit beside an axis or above a column: without what all begin with up to a dot, long ones shortened.

    What is left out of a long name is in its middle: the team is in front, and a number distinguishes its systems.
    Names that would become equal stay whole.

    >>> short_names(["newstest2013.fr-en.JHU.2684", "newstest2013.fr-en.online-A"])
    ['JHU.2684', 'online-A']
    """
    rest = list(names)
    while len(rest) > 1 and len({name.partition(".")[0] for name in rest}) == 1:
        after = [name.partition(".")[2] for name in rest]
        if not all(any(letter.isalpha() for letter in name) for name in after):
            break  # numbers alone would not be names
        rest = after
    tail = max(1, min(9, (longest - 1) // 3))
    short = [
        name if len(name) <= longest else f"{name[: longest - 1 - tail]}…{name[len(name) - tail :]}"
        for name in rest
    ]
    return short if len(set(short)) == len(set(rest)) else rest
