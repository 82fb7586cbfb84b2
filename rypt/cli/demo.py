"""``rypt demo``: a complete example on bundled data, or a small campaign to look at."""

import json
import os
import sys
import webbrowser
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from rypt.console import JSON, QUIET, painter, talk


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), default="rypt-demo")
@click.option("--serve", is_flag=True, help="Judge about ten pages yourself, after simulated workers.")
@click.option("--open/--no-open", "opens", default=None, help="With --serve: open the pages in a browser.")
@click.option("--seed", type=click.IntRange(min=0), default=1, help="Random seed [1].")
@click.option("--small", is_flag=True, help="Only make and score a small campaign with simulated judgments.")
@JSON
@QUIET
def demo(
    folder: Path, serve: bool, opens: bool | None, seed: int, small: bool, as_json: bool, quiet: bool
) -> None:
    """Run a complete example on bundled German-English texts, in about a minute, and write FOLDER/report.html.

    A small decoder is tuned to BLEU, and to RYPT by `rypt loop`: SIMULATED workers judge phrases on a real local
    market. They also compare both results and the baseline on segments that were not tuned on. A demo that was
    interrupted is resumed when run again.
    """
    if small and (serve or as_json):
        raise click.UsageError("--small cannot be combined with --serve or --json")
    if opens is not None and not serve:
        raise click.UsageError("--open and --no-open need --serve")
    if small:
        _small(folder, quiet=quiet)
        return
    from rypt.demo.report import write_report
    from rypt.demo.story import Demo
    from rypt.demo.texts import Plan

    plan = Plan(seed=seed)
    if serve:
        plan = replace(plan, people=True, begun=plan.labels, labels=10, iterations=2, compared=3, judges=1)
        talk("about five minutes: two minutes of computing, and ten pages for you", quiet=quiet)
    displays = sys.platform in ("darwin", "win32") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
    browses = serve and (sys.stderr.isatty() and displays if opens is None else opens)

    def show(address: str) -> None:
        if browses:
            webbrowser.open(address)

    results = Demo(folder, plan, lambda text: talk(text, quiet=quiet), invite=show).run()
    report = write_report(folder, results)
    show(report.resolve().as_uri())
    click.echo(json.dumps({**results, "report": str(report)}) if as_json else _summary(results, report))


def _summary(results: dict[str, Any], report: Path) -> str:
    from tabulate import tabulate

    ranks = {row["system"]: row for row in (results["ranking"] or {"systems": []})["systems"]}
    lines = [
        (
            *(name, f"{100 * share['constituents']:.1f}", f"{100 * share['segments']:.1f}"),
            *((f"{ranks[name]['score']:.3f}", ranks[name]["rank"]) if name in ranks else ("-", "-")),
        )
        for name, share in results["accepted"].items()
    ]
    head = ("", "acceptable constituents, %", "segments, %", "expected wins", "rank")
    labels, yours = results["labels"], results["yours"]
    who = "SIMULATED workers" if results["simulated"] else "you"
    if yours and results["simulated"]:
        who = f"you ({yours}; {labels - yours} by SIMULATED workers)"
    return (
        f"{tabulate(lines, head, disable_numparse=True)}\n"
        f"{results['sizes']['unseen']} segments that no tuning has seen; {labels} labels for "
        f"${float(results['spent']):.2f} that RYPT was tuned to, by {who}\n"
        f"report: {report}\n"
        f"{results['conclusion']}"
    )


def _small(folder: Path, *, quiet: bool) -> None:
    from rypt.campaign.scoring import explain_candidate, score
    from rypt.demo.texts import open_demo
    from rypt.scoring.explain import as_text

    campaign = open_demo(folder)
    talk(campaign.summary(), quiet=quiet)
    talk("the judgments in this campaign are simulated: no person gave them", quiet=quiet)
    picture = folder / "figure.svg"
    explanation = explain_candidate(campaign, "3")
    explanation.write(picture)
    click.echo(f"{as_text(explanation, painter())}\n\n{score(campaign)}")
    talk(f"\nthe tree as a picture: {picture}", quiet=quiet)
    talk(f"next: rypt score {folder} --segments, rypt queries {folder}", quiet=quiet)
