"""A ranking as WMT prints it: #, score, range, system, with a rule between clusters; also as JSON and LaTeX."""

import re
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from hits.ranking.result import Ranked, RankedGroup

LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip
LONGEST = 28  # of a system's name
HEAD = ("#", "score", "±", "range", "system")
Line = tuple[str, str, str, str, str]


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
    groups, columns = _lines(ranking), _columns(ranking)
    everything = [HEAD, *(line for group in groups for line in group)]
    widths = [max(len(line[column]) for line in everything) for column in range(len(HEAD))]
    widths[0] = max(widths[0], 2)
    rule = _row(["-" * width for width in widths], widths, columns)
    parts = [_row(HEAD, widths, columns)]
    for group in groups:
        parts += [rule, *(_row(line, widths, columns) for line in group)]
    return "\n".join(parts)


def _columns(ranking: RankedGroup) -> list[int]:
    """Which columns have something in them."""
    errors = any(system.error is not None for system in ranking.systems)
    ranged = any(system.low is not None for system in ranking.systems)
    return [0, 1, *([2] if errors else []), *([3] if ranged else []), 4]


def _row(line: Sequence[str], widths: Sequence[int], columns: Sequence[int]) -> str:
    number, score, error, ranks, system = line
    cells = [
        number.rjust(widths[0]), score.rjust(widths[1]), error.rjust(widths[2]), ranks.ljust(widths[3]), system
    ]  # fmt: skip
    return "  ".join(cells[column] for column in columns)


def _lines(ranking: RankedGroup) -> list[list[Line]]:
    """The lines of each cluster; without clusters all systems are one group, with a rank each."""
    ranked = sorted(ranking.systems, key=lambda s: (s.cluster or 0, s.rank, s.system))
    return [
        _cluster(list(members), numbered=cluster is None)
        for cluster, members in groupby(ranked, key=lambda system: system.cluster)
    ]


def _cluster(members: Sequence[Ranked], *, numbered: bool) -> list[Line]:
    first = min(system.rank for system in members)
    return [
        (
            str(system.rank) if numbered else str(first) if i == 0 else "",
            f"{system.score:.3f}", "" if system.error is None else f"{system.error:.3f}", span(system), system.system,
        )
        for i, system in enumerate(members)
    ]  # fmt: skip


def span(system: Ranked) -> str:
    """A range of ranks, one number where it is one rank.

    >>> span(Ranked("a", 0.5, 2, 2, 4, 1)), span(Ranked("a", 0.5, 2, 2, 2, 1))
    ('2-4', '2')
    """
    if system.low is None:
        return ""
    return str(system.low) if system.low == system.high else f"{system.low}-{system.high}"


def as_latex(ranking: RankedGroup) -> str:
    """A tabular with a rule between clusters, as in WMT's papers."""
    columns = _columns(ranking)
    head = (r"\#", "score", r"$\pm$", "range", "system")
    shape = "".join("rrrll"[column] for column in columns)
    lines = [r"\begin{tabular}{" + shape + "}", r"\hline", _latex(head, columns)]
    for group in _lines(ranking):
        lines.append(r"\hline")
        for number, score, error, ranks, system in group:
            cells = (number, score, error, ranks.replace("-", "--"), escape_latex(system))
            lines.append(_latex(cells, columns))
    return "\n".join([*lines, r"\hline", r"\end{tabular}", f"% {ranking.signature}"])


def _latex(cells: Sequence[str], columns: Sequence[int]) -> str:
    return " & ".join(cells[column] for column in columns) + r" \\"


def escape_latex(text: str) -> str:
    """Text in which nothing is a command.

    >>> escape_latex("DCU__primary 5%")
    'DCU\\\\_\\\\_primary 5\\\\%'
    """
    return re.sub(r"[\\&%$#_{}~^]", lambda match: LATEX[match[0]], text)


def as_json(rankings: Sequence[RankedGroup]) -> dict[str, Any]:
    """One object; groups of systems that were never compared have a number each, ``component``, from 1."""
    first = rankings[0]
    systems = [
        _record(system) | ({"component": number} if len(rankings) > 1 else {})
        for number, ranking in enumerate(rankings, start=1)
        for system in ranking.systems
    ]
    made: dict[str, Any] = {"model": first.model, "signature": first.signature, "systems": systems}
    if len(rankings) == 1:
        return made | {"clusters": first.clusters or None} | dict(first.extra)
    parts = [
        {"signature": ranking.signature, "clusters": ranking.clusters or None} | dict(ranking.extra)
        for ranking in rankings
    ]
    return made | {"components": parts}


def _record(system: Ranked) -> dict[str, Any]:
    """A system's keys; ``error`` only where the model has standard errors."""
    record = asdict(system)
    if system.error is None:
        del record["error"]
    return record


def short_names(names: Sequence[str]) -> list[str]:
    """Names that fit beside an axis or above a column: without what all begin with up to a dot, long ones shortened.

    What is left out of a long name is in its middle: the team is in front, and a number tells its systems apart.

    >>> short_names(["newstest2013.fr-en.JHU.2684", "newstest2013.fr-en.online-A"])
    ['JHU.2684', 'online-A']
    """
    rest = list(names)
    while len({name.partition(".")[0] for name in rest}) == 1 and all("." in name for name in rest):
        rest = [name.partition(".")[2] for name in rest]
    short = [name if len(name) <= LONGEST else f"{name[: LONGEST - 10]}…{name[-9:]}" for name in rest]
    return short if len(set(short)) == len(set(rest)) else rest
