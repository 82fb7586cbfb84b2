"""``rypt demo``: a complete example on bundled data, or a small campaign to look at."""

import json
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
    "--serve", is_flag=True, help="Judge about 20 pages yourself, in the browser, instead of simulated workers."
)
@click.option("--port", type=click.IntRange(1, 65535), help="With --serve: port of the market [a free one].")
@click.option(
    "--labels", type=click.IntRange(min=1), help="Maximum number of new questions per iteration [200; with --serve 20]."
)
@click.option(
    "--iterations",
    type=click.IntRange(min=1),
    help="Number of iterations of the loop and of tuning to BLEU [3; with --serve 1].",
)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True)
@click.option("--small", is_flag=True, help="Only make a small campaign with simulated judgments, and score it.")
@JSON
@QUIET
def demo(
    folder: str, serve: bool, port: int | None, labels: int | None, iterations: int | None, seed: int, small: bool,
    as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Run a complete example on bundled German-English texts, in about a minute, and write FOLDER/report.html.

    A small decoder is tuned to BLEU, and to RYPT by `rypt loop`: SIMULATED workers judge phrases on a real local
    market. They also compare both results and the baseline on segments that were not tuned on. A demo that was
    interrupted is resumed when run again. The first run after installation compiles the scorer and the tuner, which
    takes longer.
    """
    if small:
        if serve or port or labels or iterations or as_json:
            raise click.UsageError("--small cannot be combined with other options")
        return _small(folder, quiet=quiet)
    if port and not serve:
        raise click.UsageError("--port needs --serve")
    from rypt.demo.report import write_report
    from rypt.demo.story import Story
    from rypt.demo.texts import Plan

    plan = Plan(seed=seed)
    if serve:
        plan = replace(plan, people=True, labels=20, iterations=1, compared=5, judges=1)
    plan = replace(plan, labels=labels or plan.labels, iterations=iterations or plan.iterations)
    talk("the first run compiles the scorer and the tuner, which takes some 20 seconds more", quiet=quiet)
    facts = Story(Path(folder), plan, lambda text: talk(text, quiet=quiet), port=port or 0).run()
    report = Path(folder) / "report.html"
    write_report(report, facts)
    click.echo(json.dumps({**facts.as_dict(), "report": str(report)}) if as_json else _summary(facts, report))
    return None


def _summary(facts: "Facts", report: Path) -> str:
    from tabulate import tabulate

    ranked = {row["system"]: row for row in (facts.ranking or {"systems": []})["systems"]}
    lines = [
        (name, f"{100 * share.constituents:.1f}", f"{100 * share.segments:.1f}",
         *((f"{ranked[name]['score']:.3f}", ranked[name]["rank"]) if name in ranked else ("-", "-")))
        for name, share in facts.accepted.items()
    ]  # fmt: skip
    head = ("", "acceptable constituents, %", "segments, %", "expected wins", "rank")
    who = "SIMULATED workers" if facts.simulated else "you"
    return (
        f"{tabulate(lines, head, disable_numparse=True)}\n"
        f"{facts.sizes['unseen']} segments that no tuning has seen; ranks, and the {facts.labels} labels for "
        f"${facts.spent:.2f} that RYPT was tuned to, by {who}\nreport: {report}"
    )


def _small(folder: str, *, quiet: bool) -> None:
    """A small campaign with simulated judgments."""
    from rypt.campaign.scoring import explain_candidate, score
    from rypt.demo.campaign import open_demo
    from rypt.metric.explain import as_text

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
        f"\nthe tree as a picture: {picture}\nnext: rypt score {folder} --segments, rypt queries {folder}", quiet=quiet
    )
