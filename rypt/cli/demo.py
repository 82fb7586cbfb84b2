"""``rypt demo``: a complete example on bundled data, or a small campaign to look at."""

import json
import os
import sys
import webbrowser
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rypt.console import JSON, QUIET, painter, talk

if TYPE_CHECKING:
    from rypt.demo.facts import Facts

FOLDER = "rypt-demo"


@click.command()
@click.argument("folder", type=click.Path(file_okay=False), default=FOLDER)
@click.option(
    "--serve",
    is_flag=True,
    help="Judge about ten pages yourself, in the browser, after simulated workers have begun.",
)
@click.option(
    "--open/--no-open",
    "opened",
    default=None,
    help="With --serve: open the pages in a browser [where there is a screen].",
)
@click.option("--port", type=click.IntRange(1, 65535), help="With --serve: port of the market [a free one].")
@click.option(
    "--labels",
    type=click.IntRange(min=1),
    help="Maximum number of new questions per iteration [200; with --serve 10 for you].",
)
@click.option(
    "--iterations",
    type=click.IntRange(min=1),
    help="Number of iterations of the loop and of tuning to BLEU [3; with --serve 2, the last is yours].",
)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True)
@click.option(
    "--small", is_flag=True, help="Only make a small campaign with simulated judgments, and score it."
)
@JSON
@QUIET
def demo(
    folder: str,
    serve: bool,
    opened: bool | None,
    port: int | None,
    labels: int | None,
    iterations: int | None,
    seed: int,
    small: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Run a complete example on bundled German-English texts, in about a minute, and write FOLDER/report.html.

    A small decoder is tuned to BLEU, and to RYPT by `rypt loop`: SIMULATED workers judge phrases on a real local
    market. They also compare both results and the baseline on segments that were not tuned on. A demo that was
    interrupted is resumed when run again. The first run after installation compiles the scorer and the tuner, which
    takes longer.
    """
    if small:
        if serve or opened is not None or port or labels or iterations or as_json:
            raise click.UsageError("--small cannot be combined with other options")
        return _small(folder, quiet=quiet)
    if port and not serve:
        raise click.UsageError("--port needs --serve")
    if opened is not None and not serve:
        raise click.UsageError("--open and --no-open need --serve")
    from rypt.demo.report import write_report
    from rypt.demo.story import Story
    from rypt.demo.texts import Plan

    plan = Plan(seed=seed)
    if serve:
        plan = replace(plan, people=True, begun=plan.labels, labels=10, iterations=2, compared=3, judges=1)
    plan = replace(plan, labels=labels or plan.labels, iterations=iterations or plan.iterations)
    talk("the first run compiles the scorer and the tuner, which takes some 20 seconds more", quiet=quiet)
    if serve:
        talk("about five minutes: two minutes of computing, and ten pages for you", quiet=quiet)
    browsing = serve and (_has_screen() if opened is None else opened)

    def show(address: str) -> None:
        if browsing:
            webbrowser.open(address)

    facts = Story(Path(folder), plan, lambda text: talk(text, quiet=quiet), port=port or 0, invite=show).run()
    report = Path(folder) / "report.html"
    write_report(report, facts)
    show(report.resolve().as_uri())
    click.echo(json.dumps({**facts.as_dict(), "report": str(report)}) if as_json else _summary(facts, report))
    return None


def _has_screen() -> bool:
    """Whether a browser would open a window, and not take over a terminal."""
    if not sys.stderr.isatty():
        return False
    return sys.platform in ("darwin", "win32") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )


def _summary(facts: "Facts", report: Path) -> str:
    from tabulate import tabulate

    ranked = {row["system"]: row for row in (facts.ranking or {"systems": []})["systems"]}
    lines = [
        (
            name,
            f"{100 * share.constituents:.1f}",
            f"{100 * share.segments:.1f}",
            *((f"{ranked[name]['score']:.3f}", ranked[name]["rank"]) if name in ranked else ("-", "-")),
        )
        for name, share in facts.accepted.items()
    ]
    head = ("", "acceptable constituents, %", "segments, %", "expected wins", "rank")
    others = f"{facts.labels - facts.yours} by SIMULATED workers"
    who = (
        (f"you ({facts.yours}; {others})" if facts.yours else "SIMULATED workers")
        if facts.simulated
        else "you"
    )
    return (
        f"{tabulate(lines, head, disable_numparse=True)}\n"
        f"{facts.sizes['unseen']} segments that no tuning has seen; {facts.labels} labels for ${facts.spent:.2f} "
        f"that RYPT was tuned to, by {who}\nreport: {report}"
    )


def _small(folder: str, *, quiet: bool) -> None:
    """A small campaign with simulated judgments."""
    from rypt.campaign.scoring import explain_candidate, score
    from rypt.demo.campaign import open_demo
    from rypt.scoring.explain import as_text

    if not Path(folder).exists():
        talk("the first run compiles the scorer, which takes some seconds", quiet=quiet)
    campaign = open_demo(Path(folder))
    talk(campaign.summary(), quiet=quiet)
    talk("the judgments in this campaign are simulated: no person gave them", quiet=quiet)
    picture = str(Path(folder) / "figure.svg")
    explanation = explain_candidate(campaign, "3")
    explanation.write(picture)
    click.echo(as_text(explanation, painter()))
    click.echo()
    click.echo(str(score(campaign)))
    talk(
        f"\nthe tree as a picture: {picture}\nnext: rypt score {folder} --segments, rypt queries {folder}",
        quiet=quiet,
    )
