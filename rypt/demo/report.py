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
PLACES = {
    "campaign": "campaign",
    "unseen": "unseen",
    "texts": "texts",
    "market": "campaign/market",
    "batch": "unseen/batches/RYPT-tuned-BLEU-tuned",
}


def write_report(folder: Path, results: Mapping[str, Any]) -> Path:
    """Write the report of a demo into its folder; return its path."""
    from markupsafe import Markup

    plan, path = results["plan"], folder / "report.html"
    command = f"rypt demo {shlex.quote(results['folder'])}{' --serve' if plan['people'] else ''} --seed {plan['seed']}"
    style = (files("rypt.demo") / "report.css").read_text(encoding="utf-8")
    weights = results["weights"].values()
    pictures = {}
    for name in ("loop", "tree"):
        data = base64.b64encode((folder / f"{name}.svg").read_bytes()).decode()
        pictures[name] = f"data:image/svg+xml;base64,{data}"
    page = (
        html_templates("rypt.demo")
        .get_template("report.html")
        .render(
            results,
            version=version("rypt"),
            command=command,
            place={name: shlex.quote(f"{results['folder']}/{inside}") for name, inside in PLACES.items()},
            style=Markup(style),
            careless=round(plan["spam"] * plan["workers"]),
            same_weights=all(len(values) == 3 and values[1] == values[2] for values in weights),
            pictures=pictures,
            tables=_tables(results),
        )
    )
    with open_output(path) as stream:
        stream.write(page)
    return path


def _tables(results: Mapping[str, Any]) -> dict[str, Table]:
    preferences = results["preferences"] or {"judgments": {}, "aggregates": {}}
    ranking = results["ranking"] or {"systems": []}
    return {
        "iterations": [_iteration(row) for row in results["iterations"]],
        "weights": [(name, *(f"{value:+.3f}" for value in row)) for name, row in results["weights"].items()],
        "workers": [
            (
                *(row["name"] or row["worker"], row["answers"], f"{row['shares'].get('YES', 0):.0%}"),
                f"{row['controls'][0]} of {row['controls'][1]}",
                *(row["verdict"], "no" if row["excluded"] else "yes"),
            )
            for row in results["workers"]
        ],
        "accepted": [
            (name, f"{row['constituents']:.1%}", f"{row['segments']:.1%}")
            for name, row in results["accepted"].items()
        ],
        "judgments": list(preferences["judgments"].items()),
        "votes": [(_signed(at), count) for at, count in preferences["aggregates"].items()],
        "ranking": [
            (row["system"], f"{row['score']:.3f}", row["rank"], f"{row['low']}–{row['high']}")
            for row in sorted(ranking["systems"], key=lambda row: row["rank"])
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


def _shown(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def _signed(difference: str) -> str:
    """A difference of votes such as +3, 0 or −1."""
    return f"{int(difference):+d}".replace("-", "−").replace("+0", "0")
