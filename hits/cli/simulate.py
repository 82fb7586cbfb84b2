"""``rypt simulate``: simulated workers, for tests and for planning."""

import json
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from rypt.console import JSON, QUIET, talk

if TYPE_CHECKING:
    from hits.simulate.crowd import Simulation

SHARE = click.FloatRange(0, 1)


@click.command()
@click.option(
    "--market", default="market", show_default=True, help="Folder of the market, or its shared link."
)
@click.option(
    "--truth",
    required=True,
    type=click.Path(dir_okay=False),
    help="What the workers know: a file of JSON lines, or a judgment database.",
)
@click.option(
    "-C",
    "--campaign",
    type=click.Path(file_okay=False),
    help="Campaign with the source segments, if the truth lacks them.",
)
@click.option(
    "--workers", type=click.IntRange(min=1), default=5, show_default=True, help="Number of workers."
)
@click.option(
    "--accuracy", type=SHARE, default=0.9, show_default=True, help="Share of right answers of honest workers."
)
@click.option(
    "--spam", type=SHARE, default=0.2, show_default=True, help="Share of workers who answer without reading."
)
@click.option(
    "--spam-kind",
    type=click.Choice(["yes", "random"]),
    default="yes",
    show_default=True,
    help="How careless workers answer: always the first answer, or at random.",
)
@click.option(
    "--not-sure",
    type=SHARE,
    default=0.03,
    show_default=True,
    help="Share of honest workers' answers that are NOT SURE.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0),
    default=8.4,
    show_default=True,
    help="Time that people would take for an answer, in seconds.",
)
@click.option(
    "--pace",
    type=click.FloatRange(min=0),
    default=0.0,
    show_default=True,
    help="Share of --seconds that workers really wait: 0 is none, 1 is as long as people take.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Random seed of the workers' mistakes.")
@click.option(
    "--watch",
    is_flag=True,
    help="Wait for the market and for more hits, until stopped or until the market is closed.",
)
@JSON
@QUIET
def simulate(
    market: str,
    truth: str,
    campaign: str | None,
    workers: int,
    accuracy: float,
    spam: float,
    spam_kind: str,
    not_sure: float,
    seconds: float,
    pace: float,
    seed: int,
    watch: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Let simulated workers answer the hits of a local market, from a file with the right answers.

    They connect over HTTP, read the pages and send the forms as people do. They are named simulated-1, simulated-2, …;
    their ids begin with ASIMULATED and their judgments have the source simulation.
    """
    from hits.simulate.crowd import Crew
    from hits.simulate.crowd import simulate as run

    crew = Crew(workers, accuracy, spam, spam_kind, not_sure, seconds, pace, seed)
    talk("These workers are SIMULATED: their answers are not human judgments.", quiet=quiet)
    with _stopped_by_signals() as stop:
        result = run(
            market,
            truth,
            crew,
            campaign=campaign,
            watch=watch,
            stop=stop,
            waiting=lambda: talk(f"waiting for the market in {market} to be served", quiet=quiet),
        )
    if not result.people:
        raise click.Abort
    click.echo(json.dumps(_facts(result)) if as_json else _summary(result))


def _facts(result: "Simulation") -> dict[str, Any]:
    total = result.total
    people = [(person, asdict(person.tally)) for person in result.people]
    return {
        "simulated": True,
        "hits": total.hits,
        "answers": total.answers,
        "labels": total.labels,
        "accuracy": total.right / total.known if total.known else None,
        "hours": round(result.hours, 4),
        "elapsed_hours": round(result.elapsed, 4),
        "closed": result.closed,
        "workers": [{"name": p.who.name, "id": p.id, "spam": p.who.spam, **tally} for p, tally in people],
    }


def _summary(result: "Simulation") -> str:
    from tabulate import tabulate

    rows = [
        (
            person.who.name,
            person.id or "-",
            f"spam ({person.who.spam})" if person.who.spam else "honest",
            person.tally.hits,
            person.tally.answers,
            _share(person.tally.right, person.tally.known),
        )
        for person in result.people
    ]
    total = result.total
    rows.append(("all, SIMULATED", "", "", total.hits, total.answers, _share(total.right, total.known)))
    table = tabulate(rows, ("worker", "id", "is", "hits", "answers", "right"))
    return f"{table}\nPeople would work {result.hours:.1f} hours, and be done after {result.elapsed:.1f}."


def _share(right: int, known: int) -> str:
    return f"{right / known:.1%}" if known else "-"


@contextmanager
def _stopped_by_signals() -> Iterator[threading.Event]:
    """SIGTERM and ctrl-c end the simulation after the present page, so that the summary is still printed."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in numbers}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
