"""The report of a demo: one self-contained HTML page, with plots and the commands that made each part.

The text of the page is in ``templates/report.html``; this module makes its charts and formats its numbers.
"""

import base64
import shlex
from collections.abc import Sequence
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from hits.batches.markup import html_templates
from rypt.demo.charts import Line, bar_chart, line_chart, rank_chart, share_bars, stacked_bar, vote_chart
from rypt.demo.facts import Facts
from rypt.loop.report import Row
from rypt.text import PathLike, open_output

KINDS = {"baseline": "c0", "BLEU-tuned": "c1", "RYPT-tuned": "c2", "neither": "c3"}
MOST_NAMES = 4  # iterations that have room for more than their number


def write_report(path: PathLike, facts: Facts) -> None:
    """Write the page."""
    page = as_page(facts)
    with open_output(path) as stream:
        stream.write(page)


def as_page(facts: Facts) -> str:
    """The whole page."""
    from markupsafe import Markup

    shown = {
        "tiles": _tiles(facts),
        "loop": _loop(facts),
        "money": _money(facts),
        "workers": _workers(facts),
        "weights": [(name, *(f"{value:+.3f}" for value in values)) for name, values in facts.weights.items()],
        "accepted": _accepted(facts),
        "preferences": _preferences(facts),
        "ranking": _ranking(facts),
    }
    return (
        html_templates("rypt.demo")
        .get_template("report.html")
        .render(
            facts=facts,
            version=version("rypt"),
            command=_command(facts),
            place=_places(facts),
            style=Markup((files("rypt.demo") / "report.css").read_text(encoding="utf-8")),
            same_weights=all(
                len(values) == 3 and values[1] == values[2] for values in facts.weights.values()
            ),
            careless=round(facts.plan.spam * facts.plan.workers),
            picture=base64.b64encode(facts.tree.picture.encode()).decode(),
            **shown,
        )
    )


def _chart(svg: str) -> str:
    """A chart, which escapes its own texts."""
    from markupsafe import Markup

    return Markup(svg)


def _command(facts: Facts) -> str:
    return f"rypt demo {shlex.quote(facts.folder)}{' --serve' if facts.plan.people else ''} --seed {facts.plan.seed}"


def _places(facts: Facts) -> dict[str, str]:
    """Folders of the demo, quoted for a shell."""
    folders = {
        "campaign": "campaign",
        "market": "campaign/market",
        "unseen": "unseen",
        "batch": "unseen/batches/…",
    }
    return {name: shlex.quote(f"{facts.folder}/{folder}") for name, folder in folders.items()}


def _tiles(facts: Facts) -> list[tuple[str, str]]:
    baseline, bleu, rypt = (facts.accepted[name] for name in ("baseline", "BLEU-tuned", "RYPT-tuned"))
    return [
        (f"{facts.labels}", f"labels for ${facts.spent:.2f}"),
        (f"{baseline.constituents:.1%}", "of constituents acceptable: baseline"),
        (f"{bleu.constituents:.1%}", "tuned to BLEU"),
        (f"{rypt.constituents:.1%}", "tuned to RYPT"),
    ]


def _loop(facts: Facts) -> dict[str, Any]:
    lines = [
        Line("RYPT of the decoder’s choice, by all labels", "c2", [row.final for row in facts.rows]),
        Line("RYPT of all lists, after tuning", "c4", [row.after for row in facts.rows]),
        Line("constituents with a label", "c3", [row.coverage for row in facts.rows]),
    ]
    rows = [
        (
            row.iteration,
            row.candidates,
            row.new,
            _score(row.decoded),
            _score(row.after),
            "–" if row.p is None else f"{row.p:.3f}",
            "–" if row.coverage is None else f"{row.coverage:.1%}",
            _score(row.final),
        )
        for row in facts.rows
    ]
    chart = line_chart("RYPT and coverage over the iterations", _iterations(facts.rows), lines)
    return {"chart": _chart(chart), "lines": lines, "rows": rows}


def _iterations(rows: Sequence[Row]) -> list[str]:
    """Labels below a chart, shortened if there are many."""
    return [f"iteration {row.iteration}" if len(rows) <= MOST_NAMES else str(row.iteration) for row in rows]


def _score(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _money(facts: Facts) -> dict[str, Any]:
    rows = [row for row in facts.rows if row.asked is not None]
    bars = [
        Line("labels bought", "c1", [row.labels for row in rows]),
        Line("questions with a label already", "c2", [row.reused for row in rows]),
    ]
    chart = bar_chart(
        "Labels bought and labels reused in each iteration",
        _iterations(rows),
        bars,
        [f"${row.cost:.2f}" for row in rows],
    )
    later = rows[1:]
    return {
        "chart": _chart(chart),
        "bars": bars,
        "reused": sum(row.reused or 0 for row in later),
        "questions": sum(row.questions or 0 for row in later),
    }


def _workers(facts: Facts) -> list[tuple[object, ...]]:
    return [
        (
            row["name"] or row["worker"],
            row["answers"],
            f"{row['shares'].get('YES', 0):.0%}",
            f"{row['controls'][0]} of {row['controls'][1]}",
            row["verdict"],
            "no" if row["excluded"] else "yes",
        )
        for row in facts.workers
    ]


def _accepted(facts: Facts) -> dict[str, str]:
    constituents = {name: share.constituents for name, share in facts.accepted.items()}
    segments = {name: share.segments for name, share in facts.accepted.items()}
    return {
        "constituents": _chart(share_bars("Share of acceptable constituents", constituents, KINDS)),
        "segments": _chart(share_bars("Share of acceptable segments", segments, KINDS)),
    }


def _preferences(facts: Facts) -> dict[str, Any] | None:
    if facts.preferences is None:
        return None
    first, second = str(facts.preferences["first"]), str(facts.preferences["second"])
    judgments, aggregates = facts.preferences["judgments"], facts.preferences["aggregates"]
    votes = {_signed(at): count for at, count in aggregates.items()}
    kinds = [KINDS[first] if int(at) > 0 else KINDS[second] if int(at) < 0 else "c3" for at in aggregates]
    counts = {name: judgments[name] for name in (first, "neither", second)}
    return {
        "first": first,
        "second": second,
        "excluded": sum(bool(row["excluded"]) for row in facts.judges),
        "judgments": _chart(stacked_bar(f"Judgments for {first}, for neither, for {second}", counts, KINDS)),
        "segments": _chart(
            vote_chart(f"Segments by votes for {first} minus votes for {second}", votes, kinds)
        ),
    }


def _signed(at: str) -> str:
    return "0" if int(at) == 0 else f"{int(at):+d}".replace("-", "−")


def _ranking(facts: Facts) -> dict[str, Any] | None:
    if facts.ranking is None:
        return None
    systems = sorted(facts.ranking["systems"], key=lambda system: system["rank"])
    rows = [
        (system["system"], f"{system['score']:.3f}", system["rank"], f"{system['low']}–{system['high']}")
        for system in systems
    ]
    return {"chart": _chart(rank_chart("The three systems by expected wins", systems, KINDS)), "rows": rows}
