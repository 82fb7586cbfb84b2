"""``rypt simulate``: workers that nobody is, for tests and for planning."""

import json
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rypt.console import JSON, QUIET, talk

if TYPE_CHECKING:
    from hits.simulate.crowd import Simulation

SHARE = click.FloatRange(0, 1)


@click.command()
@click.option("--at", default="market", show_default=True, help="The market: its folder, or its shared link.")
@click.option("--truth", required=True, type=click.Path(dir_okay=False), help="JSON lines, or a judgment database.")
@click.option("-C", "--campaign", type=click.Path(file_okay=False), help="Where the sources are, if not in the truth.")
@click.option("--workers", type=click.IntRange(min=1), default=5, show_default=True, help="How many come.")
@click.option("--accuracy", type=SHARE, default=0.9, show_default=True, help="How often honest workers are right.")
@click.option("--spam", type=SHARE, default=0.2, show_default=True, help="The share of workers who do not read.")
@click.option("--spam-kind", type=click.Choice(["yes", "random"]), default="yes", show_default=True,
              help="What those say: always the first answer, or any.")  # fmt: skip
@click.option("--not-sure", type=SHARE, default=0.03, show_default=True, help="How often they say NOT SURE.")
@click.option("--seconds", type=click.FloatRange(min=0), default=8.4, show_default=True,
              help="How long people would take for an answer.")  # fmt: skip
@click.option("--pace", type=click.FloatRange(min=0), default=0.0, show_default=True,
              help="How much of these seconds they really wait: 0 answers at once, 1 as slowly as people.")  # fmt: skip
@click.option("--seed", type=int, default=1, show_default=True, help="Of their mistakes.")
@click.option("--watch", is_flag=True, help="Wait for the market and for more hits, until stopped or until "
              "the market is closed.")  # fmt: skip
@JSON
@QUIET
def simulate(
    at: str, truth: str, campaign: str | None, workers: int, accuracy: float, spam: float, spam_kind: str,
    not_sure: float, seconds: float, pace: float, seed: int, watch: bool, as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Let simulated workers do the hits of a local market, from known truth.

    They come in over HTTP, read the pages and send the forms as people do. They are named simulated-1, simulated-2, …;
    their ids begin with ASIMULATED and their judgments have the source simulation.
    """
    from hits.market.served import is_served
    from hits.simulate.crowd import Crew, is_link, wait_until_served
    from hits.simulate.crowd import simulate as run
    from hits.simulate.truth import read_truth

    crew = Crew(workers, accuracy, spam, spam_kind, not_sure, seconds, pace, seed)
    known = read_truth(truth, _sources(campaign) if campaign else None)
    talk("These workers are SIMULATED: what they say is nobody's judgment.", quiet=quiet)
    with _stopped_by_signals() as stop:
        if watch and not is_link(at) and not is_served(Path(at)):
            talk(f"waiting for the market in {at} to be served", quiet=quiet)
            wait_until_served(at, stop)
            if stop.is_set():
                raise click.Abort
        found = run(at, known, crew, watch=watch, stop=stop)
    click.echo(json.dumps(_facts(found)) if as_json else _summary(found))


def _sources(campaign: str) -> dict[str, str]:
    from rypt.campaign.folder import Campaign

    return {segment.id: segment.text for segment in Campaign.open(campaign).segments}


def _facts(found: "Simulation") -> dict[str, Any]:
    total = found.total
    return {
        "simulated": True,
        "hits": total.hits,
        "answers": total.answers,
        "labels": total.labels,
        "accuracy": total.right / total.known if total.known else None,
        "hours": round(found.hours, 4),
        "elapsed_hours": round(found.elapsed, 4),
        "closed": found.closed,
        "workers": [
            {
                "name": person.who.name, "id": person.id, "spam": person.who.spam, "hits": person.tally.hits,
                "answers": person.tally.answers, "labels": person.tally.labels, "right": person.tally.right,
                "known": person.tally.known,
            }
            for person in found.people
        ],
    }  # fmt: skip


def _summary(found: "Simulation") -> str:
    from tabulate import tabulate

    rows = [
        (
            person.who.name, person.id or "-", f"spam ({person.who.spam})" if person.who.spam else "honest",
            person.tally.hits, person.tally.answers, _share(person.tally.right, person.tally.known),
        )
        for person in found.people
    ]  # fmt: skip
    total = found.total
    rows.append(("all, SIMULATED", "", "", total.hits, total.answers, _share(total.right, total.known)))
    table = tabulate(rows, ("worker", "id", "is", "hits", "answers", "right"))
    return f"{table}\nPeople would work {found.hours:.1f} hours, and be done after {found.elapsed:.1f}."


def _share(right: int, known: int) -> str:
    return f"{right / known:.1%}" if known else "-"


@contextmanager
def _stopped_by_signals() -> Iterator[threading.Event]:
    """SIGTERM and ctrl-c end the simulation after the page at hand, so that the summary is still told."""
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
