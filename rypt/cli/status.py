"""``rypt status``: a campaign on one screen."""

import json
import time
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rypt.console import CAMPAIGN, JSON, QUIET, watcher

if TYPE_CHECKING:
    from rypt.loop.status import CampaignStatus, Labels, People


@click.command()
@CAMPAIGN
@JSON
@QUIET
def status(campaign: str, as_json: bool, quiet: bool) -> None:
    """Show the state of a CAMPAIGN: texts, labels, cost, agreement, and the next command to run.

    If there is no campaign, it shows the command that makes one.
    """
    from rypt.campaign.folder import Campaign
    from rypt.campaign.settings import SETTINGS
    from rypt.loop.next_step import first_step
    from rypt.loop.status import campaign_status

    if not (Path(campaign) / SETTINGS).exists():
        first = first_step(campaign)
        record = {"folder": campaign, "next": asdict(first)}
        click.echo(json.dumps(record) if as_json else f"next: {first.command}\n      {first.why}")
        return
    now = campaign_status(Campaign.open(campaign, watcher(quiet=quiet)), int(time.time()))
    click.echo(json.dumps(now.as_dict(), ensure_ascii=False, default=str) if as_json else status_text(now))


def status_text(status: "CampaignStatus") -> str:
    texts, compared = status.texts, status.compared
    unparsed = (
        f" ({texts.segments - texts.parsed:,} without a parse)" if texts.parsed < texts.segments else ""
    )
    rows = [
        ("campaign", status.folder),
        ("segments", f"{texts.segments:,}{unparsed}"),
        ("candidates", f"{texts.candidates:,} in {_count(texts.lists, 'list')}"),
        ("references", str(texts.references or "none")),
        ("decoder", texts.decoder),
        ("weights", texts.weights),
        *(_label_rows(status.labels) if _is_about_labels(status) else []),
    ]
    if compared:
        who = f"{_count(compared.workers, 'worker')}{_simulated(compared.simulated)}"
        count = _count(compared.comparisons, "comparison")
        rows.append(("compared", f"{count} of {_names(compared.systems)}, by {who}"))
    rows.append(("to review", _count(status.waiting, "assignment") if status.waiting else None))
    rows += [*_people_rows(status.people), ("cost", _cost(status.spent))]
    for batch in status.batches:
        hits = f"{_count(batch.hits, batch.kind + ' hit')}, {batch.published:,} published"
        collected = f"{batch.answered:,} of {batch.assignments:,} assignments collected"
        rows.append((f"batch {batch.name}", f"{batch.state}: {hits}, {collected}"))
    rows += [("note", note) for note in status.notes]
    lines = [f"{name:12}{text}" for name, text in rows if text]
    step = status.next
    return "\n".join([*lines, "", f"next: {step.command or 'nothing to run'}", f"      {step.why}"])


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _simulated(count: int) -> str:
    return f", {count:,} of them SIMULATED" if count else ""


def _is_about_labels(status: "CampaignStatus") -> bool:
    """Whether there are labels, or people could be asked for some: not where they only compare systems."""
    kinds = {batch.kind for batch in status.batches}
    compares = status.compared is not None or kinds - {"label"}
    return bool(status.labels.judgments) or not compares or "label" in kinds


def _label_rows(labels: "Labels") -> list[tuple[str, str | None]]:
    names = {"simulated": "SIMULATED"}
    sources = ", ".join(f"{count:,} {names.get(who, who)}" for who, count in labels.sources.items())
    counts = f"{_count(labels.judgments, 'judgment')} of {_count(labels.keys, 'key')}: {sources}"
    covered = ""
    if labels.before is not None:
        covered = f"{labels.before:.1%} of constituents, {labels.after:.1%} after percolation"
    left = f"{_count(labels.open, 'phrase')} of the frontier"
    return [("labels", counts if sources else "none"), ("coverage", covered), ("to ask", left)]


def _people_rows(people: "People") -> list[tuple[str, str | None]]:
    agreement = (
        "no agreement known" if people.alpha != people.alpha else f"agreement alpha {people.alpha:.2f}"
    )
    twice = f"; {_count(people.judged_twice, 'key')} judged twice or more, {agreement}"
    who = f"{people.workers:,}{_simulated(people.simulated)}{twice if people.workers > 1 else ''}"
    return [
        ("workers", who if people.workers else None),
        ("excluded", _names(people.excluded)),
        ("look bad", f"{_names(people.bad)} (see rypt hits workers)" if people.bad else None),
    ]


def _names(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _cost(spent: dict[str, Decimal]) -> str:
    shown = ", ".join(f"${spent[name]:.2f} {name}" for name in ("rewards", "fees", "bonuses") if spent[name])
    simulated = f"; ${spent['simulated']:.2f} of it SIMULATED" if spent["simulated"] else ""
    return f"${spent['total']:.2f}" + (f" ({shown}{simulated})" if shown else "")
