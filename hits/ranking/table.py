"""A ranking as WMT prints it: #, score, range, system, with a rule between clusters.

`as_text`, `as_markdown`, `as_latex` and `as_html` print the same cells; `as_json` has the numbers.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from html import escape
from itertools import chain, combinations, groupby
from typing import Any

from hits.ranking.result import Ranked, RankedGroup
from rypt.ratings.rating import is_human

LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "↓": r"$\downarrow$",
    "–": "--",
    "…": r"\dots{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}
LONGEST = 28  # of a system's name
MOST_NAMED = 6  # systems of the best cluster in a sentence
LEFT = ("range", "system")  # columns that are not aligned to the right
HTML_STYLE = (
    "border-collapse:collapse;font-variant-numeric:tabular-nums",  # of the table
    "border-top:1px solid currentColor",  # of a cluster
    "padding:.15em .7em;text-align:",  # of a cell, and its side
)


def as_text(ranking: RankedGroup) -> str:
    """A table in columns; # is the rank of the first system of a cluster.

    >>> systems = (Ranked("uedin", 0.6, 1, 1, 1, 1), Ranked("cu", 0.5, 2, 2, 3, 2), Ranked("jhu", 0.4, 3, 2, 3, 2))
    >>> print(as_text(RankedGroup("bojar", "bojar|n:9", systems)))
     #  score  range  system
    --  -----  -----  ------
     1  0.600  1      uedin
    --  -----  -----  ------
     2  0.500  2-3    cu
        0.400  2-3    jhu
    """
    head, clusters = cells(ranking)
    lines = [head, *chain.from_iterable(clusters)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    widths[0] = max(widths[0], 2)

    def row(line: Sequence[str]) -> str:
        padded = [
            text.ljust(width) if name in LEFT else text.rjust(width)
            for text, width, name in zip(line, widths, head, strict=True)
        ]
        return "  ".join(padded).rstrip()

    rule = row(["-" * width for width in widths])
    parts = [*([ranking.title] if ranking.title else []), row(head)]
    for cluster in clusters:
        parts += [rule, *map(row, cluster)]
    return "\n".join(parts)


def cells(ranking: RankedGroup) -> tuple[list[str], list[list[list[str]]]]:
    """The head of the table, and for each cluster its lines; columns without content are left out.

    Clusters come from the best to the worst; without clusters all systems are one group, with a rank each.
    """
    systems = table_order(ranking)
    names = dict(zip((s.system for s in systems), system_labels([s.system for s in systems]), strict=True))
    columns: dict[str, Callable[[Ranked], str]] = {ranking.score: lambda s: f"{s.score:.{ranking.digits}f}"}
    if any(system.error is not None for system in systems):
        columns["±"] = lambda s: "" if s.error is None else f"{s.error:.{ranking.digits}f}"
    if any(system.low is not None for system in systems):
        columns["range"] = span
    columns["system"] = lambda s: names[s.system]
    clusters = []
    for cluster, members in groupby(systems, key=lambda system: system.cluster):
        group = list(members)
        first = min(system.rank for system in group)
        clusters.append(
            [
                [
                    str(s.rank) if cluster is None else "" if i else str(first),
                    *(cell(s) for cell in columns.values()),
                ]
                for i, s in enumerate(group)
            ]
        )
    return ["#", *columns], clusters


def verdict(ranking: RankedGroup) -> str:
    """The clusters in a sentence: which systems are better than others beyond chance; empty without ranges.

    In one cluster no group of systems is better than the rest, but single systems may differ: where ranges come from
    tests, if a range does not reach from the first rank to the last; where they come from resamples, if two are apart.

    >>> a, b, c = Ranked("a", 0.6, 1, 1, 2, 1), Ranked("b", 0.5, 2, 1, 2, 1), Ranked("c", 0.4, 3, 3, 3, 2)
    >>> print(verdict(RankedGroup("bojar", "bojar|n:9", (a, b, c))))
    2 clusters: a and b are significantly better than the other systems; inside a cluster no such line can be drawn.
    >>> print(verdict(RankedGroup("bojar", "bojar|n:9", (a, b))))
    No system is significantly better than another: all 2 are in one cluster, and their order may be chance.
    """
    systems = table_order(ranking)
    if len(systems) < 2 or not ranking.clusters:
        return ""
    names = dict(zip((s.system for s in systems), system_labels([s.system for s in systems]), strict=True))
    if ranking.clusters > 1:
        best = _enumerated([names[s.system] for s in systems if s.cluster == 1])
        parts = [f"{best} significantly better than the other systems", *_not_human(systems, names)]
        return f"{ranking.clusters} clusters: {'; '.join(parts)}; inside a cluster no such line can be drawn."
    apart = [(a, b) for a, b in combinations(systems, 2) if (a.high or 0) < (b.low or 0)]
    together = f"all {len(systems)} are in one cluster"
    tested = ranking.rank_samples is None and any(s.low != 1 or s.high != len(systems) for s in systems)
    if not apart and not tested:
        return f"No system is significantly better than another: {together}, and their order may be chance."
    single = "single systems may still differ"
    if apart:
        pair = max(apart, key=lambda pair: (pair[1].low or 0) - (pair[0].high or 0))
        first, second = (names[system.system] for system in pair)
        single = f"{single}, such as {first} and {second}, whose ranges do not overlap"
    return f"No group of systems is significantly better than the rest: {together}; {single}."


def _not_human(systems: Sequence[Ranked], names: Mapping[str, str]) -> list[str]:
    """Which systems are first if human translations, which are alone in the best cluster, are passed over."""
    others = [system for system in systems if not is_human(system.system)]
    if len(others) < 2 or others[0].cluster == 1:
        return []
    first = [names[system.system] for system in others if system.cluster == others[0].cluster]
    if len(first) == len(others):
        return [f"the {len(others)} that are not human are in one cluster"]
    return [f"of those that are not human, {_enumerated(first)} significantly better than the rest"]


def _enumerated(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"{names[0]} is"
    shown = (
        names
        if len(names) <= MOST_NAMED
        else [*names[: MOST_NAMED - 1], f"{len(names) - MOST_NAMED + 1} others"]
    )
    return f"{', '.join(shown[:-1])} and {shown[-1]} are"


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


def as_markdown(ranking: RankedGroup) -> str:
    """A pipe table. Markdown has no rules inside a table: a number under # begins a cluster.

    >>> print(as_markdown(RankedGroup("bojar", "bojar|n:9", (Ranked("a|b", 0.6, 1, 1, 1, 1),))))
    | # | score | range | system |
    | ---: | ---: | :--- | :--- |
    | 1 | 0.600 | 1 | a\\|b |
    <BLANKLINE>
    bojar\\|n:9
    """
    head, clusters = cells(ranking)

    def row(line: Sequence[str]) -> str:
        return f"| {' | '.join(text.replace('|', chr(92) + '|') for text in line)} |"

    sides = [":---" if name in LEFT else "---:" for name in head]
    title = [f"**{ranking.title}**", ""] if ranking.title else []
    lines = [row(head), row(sides)]
    lines += [row(line) for cluster in clusters for line in cluster]
    below = [line.replace("|", "\\|") for line in (verdict(ranking), ranking.signature) if line]
    return "\n".join([*title, *lines, "", "\n\n".join(below)])


def as_latex(ranking: RankedGroup) -> str:
    """A tabular with a rule between clusters, as in WMT's papers."""
    head, clusters = cells(ranking)

    def row(line: Sequence[str]) -> str:
        escaped = [
            text.replace("-", "--") if name == "range" else escape_latex(text)
            for text, name in zip(line, head, strict=True)
        ]
        return " & ".join(escaped) + r" \\"

    shape = "".join("l" if name in LEFT else "r" for name in head)
    title = [rf"\bigskip\noindent\textbf{{{escape_latex(ranking.title)}}}\\[2pt]"] if ranking.title else []
    lines = [*title, rf"\begin{{tabular}}{{{shape}}}", r"\hline", row(head).replace("±", r"$\pm$")]
    for cluster in clusters:
        lines += [r"\hline", *map(row, cluster)]
    below = [f"% {line}" for line in (verdict(ranking), ranking.signature) if line]
    return "\n".join([*lines, r"\hline", r"\end{tabular}", *below])


def escape_latex(text: str) -> str:
    """Text in which nothing is a command.

    >>> escape_latex("DCU__primary 5%")
    'DCU\\\\_\\\\_primary 5\\\\%'
    >>> escape_latex("a<b")
    'a\\\\textless{}b'
    """
    return re.sub(r"[\\&%$#_{}~^↓–…<>|]", lambda match: LATEX[match[0]], text)


def as_html(ranking: RankedGroup) -> str:
    """A table with a body for each cluster, and rules between them; full names are shown on hovering."""
    head, clusters = cells(ranking)
    full = iter(system.system for system in table_order(ranking))
    table, rule, cell = HTML_STYLE

    def row(line: Sequence[str], tag: str = "td", title: str = "") -> str:
        parts = []
        for text, name in zip(line, head, strict=True):
            hint = f' title="{escape(title)}"' if name == "system" and title not in ("", text) else ""
            side = "left" if name in LEFT else "right"
            shown = text.replace("-", "–") if name == "range" and tag == "td" else text
            parts.append(f'<{tag}{hint} style="{cell}{side}">{escape(shown)}</{tag}>')
        return f"<tr>{''.join(parts)}</tr>"

    title = f"<strong>{escape(ranking.title)}</strong> " if ranking.title else ""
    below = "<br/>".join(escape(line) for line in (verdict(ranking), ranking.signature) if line)
    lines = [f'<table style="{table}">', f"<caption>{title}{below}</caption>"]
    lines.append(f"<thead>{row(head, 'th')}</thead>")
    for cluster in clusters:
        body = "\n".join(row(line, title=next(full)) for line in cluster)
        lines.append(f'<tbody style="{rule}">\n{body}\n</tbody>')
    return "\n".join([*lines, "</table>"])


def html_page(tables: Sequence[str]) -> str:
    """A page with tables on it, for a file of its own."""
    head = '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>Ranking</title>'
    style = "<style>body{font-family:sans-serif}caption{text-align:left;font-size:small;caption-side:bottom}</style>"
    return "\n".join([head, style, "<body>", *tables, "</body>\n</html>"])


def as_json(rankings: Sequence[RankedGroup]) -> dict[str, Any]:
    """One object; groups of systems that were never compared have a number each, ``component``, from 1."""
    first = rankings[0]
    systems = [
        _record(system)
        | ({"languages": ranking.title} if ranking.title else {})
        | ({"component": number} if len(rankings) > 1 else {})
        for number, ranking in enumerate(rankings, start=1)
        for system in ranking.systems
    ]
    made: dict[str, Any] = {"model": first.model, "signature": first.signature, "systems": systems}
    if len(rankings) == 1:
        return made | {"clusters": first.clusters or None} | dict(first.extra)
    parts = [
        {"signature": ranking.signature, "clusters": ranking.clusters or None}
        | ({"languages": ranking.title} if ranking.title else {})
        | dict(ranking.extra)
        for ranking in rankings
    ]
    return made | {"components": parts}


def _record(system: Ranked) -> dict[str, Any]:
    """A system's keys; ``error`` only where the model has standard errors, ``human`` of a human translation."""
    record = asdict(system) | ({"human": True} if is_human(system.system) else {})
    if system.error is None:
        del record["error"]
    return record


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

    What is left out of a long name is in its middle: the team is in front, and a number tells its systems apart. Names
    that would become equal stay whole.

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
