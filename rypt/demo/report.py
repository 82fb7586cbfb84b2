"""The report of a demo: one self-contained HTML page, with pictures, tables and the commands that made each part.

The text of the page is in ``templates/report.html``; this module formats the numbers of its tables.
"""

import base64
import shlex
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from hits.batch.markup import html_templates
from rypt.text import open_output

Table = Sequence[Sequence[object]]


def write_report(folder: Path, results: Mapping[str, Any]) -> Path:
    """Write the report of a demo into its folder; return its path."""
    from markupsafe import Markup

    plan, path = results["plan"], folder / "report.html"
    command = f"rypt demo {shlex.quote(results['folder'])}{' --serve' if plan['people'] else ''} --seed {plan['seed']}"
    style = (files("rypt.demo") / "report.css").read_text(encoding="utf-8")
    weights = results["weights"].values()
    page = (
        html_templates("rypt.demo")
        .get_template("report.html")
        .render(
            results,
            version=version("rypt"),
            command=command,
            place=_places(results["folder"]),
            style=Markup(style),
            careless=round(plan["spam"] * plan["workers"]),
            same_weights=all(len(values) == 3 and values[1] == values[2] for values in weights),
            pictures={name: _picture(folder / f"{name}.svg") for name in ("loop", "tree")},
            tables=_tables(results),
        )
    )
    with open_output(path) as stream:
        stream.write(page)
    return path


def _places(folder: str) -> dict[str, str]:
    """Folders of the demo, quoted for a shell."""
    names = {"market": "campaign/market", "batch": "unseen/batches/RYPT-tuned-BLEU-tuned"}
    names |= {name: name for name in ("campaign", "unseen", "texts")}
    return {name: shlex.quote(f"{folder}/{inside}") for name, inside in names.items()}


def _picture(path: Path) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(path.read_bytes()).decode()}"


def _tables(results: Mapping[str, Any]) -> dict[str, Table]:
    preferences, ranking = results["preferences"], results["ranking"]
    return {
        "iterations": [_iteration(row) for row in results["iterations"]],
        "weights": [(name, *(f"{value:+.3f}" for value in row)) for name, row in results["weights"].items()],
        "workers": [_worker(row) for row in results["workers"]],
        "accepted": [
            (name, f"{row['constituents']:.1%}", f"{row['segments']:.1%}")
            for name, row in results["accepted"].items()
        ],
        "judgments": list(preferences["judgments"].items()) if preferences else [],
        "votes": [
            (_signed(at), count) for at, count in (preferences["aggregates"].items() if preferences else [])
        ],
        "ranking": [
            (row["system"], f"{row['score']:.3f}", row["rank"], f"{row['low']}–{row['high']}")
            for row in sorted(ranking["systems"] if ranking else [], key=lambda row: row["rank"])
        ],
    }


def _iteration(row: Mapping[str, Any]) -> tuple[object, ...]:
    return (
        *(row["iteration"], row["candidates"], row["new"]),
        *("–" if row[name] is None else row[name] for name in ("labels", "reused")),
        f"${float(row['cost']):.2f}",
        *(_shown(row["after"], ".4f"), _shown(row["p"], ".3f")),
        *(_shown(row["coverage"], ".1%"), _shown(row["final"], ".4f")),
    )


def _worker(row: Mapping[str, Any]) -> tuple[object, ...]:
    return (
        *(row["name"] or row["worker"], row["answers"], f"{row['shares'].get('YES', 0):.0%}"),
        f"{row['controls'][0]} of {row['controls'][1]}",
        *(row["verdict"], "no" if row["excluded"] else "yes"),
    )


def _shown(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def _signed(difference: str) -> str:
    """A difference of votes such as +3, 0 or −1."""
    return f"{int(difference):+d}".replace("-", "−").replace("+0", "0")
