"""``rypt status``: a campaign on one screen."""

import json
import time
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from hits.cli.shared import plain
from rypt.console import CAMPAIGN, JSON, QUIET, progress, watcher

if TYPE_CHECKING:
    from rypt.loop.status import CampaignStatus, Labels, People


@click.command()
@CAMPAIGN
@JSON
@QUIET
def status(campaign: str, as_json: bool, quiet: bool) -> None:
    """Say where a CAMPAIGN stands: what is there, labelled, spent, agreed on, and the one next command to run."""
    from rypt.campaign.folder import Campaign
    from rypt.loop.status import campaign_status

    opened = Campaign.open(campaign, watcher(quiet=quiet))
    found = campaign_status(opened, int(time.time()), lambda some: progress(some, "phrases", quiet=quiet))
    if as_json:
        facts = asdict(found)
        facts["people"]["alpha"] = plain(found.people.alpha)
        facts["batches"] = [{**asdict(batch), "state": batch.state} for batch in found.batches]
        click.echo(json.dumps(facts, ensure_ascii=False, default=str))
        return
    click.echo(status_text(found))


def status_text(found: "CampaignStatus") -> str:
    """A status for people."""
    texts = found.texts
    unparsed = texts.segments - texts.parsed
    without = f" ({unparsed:,} without a parse)" if unparsed else ""
    rows = [
        ("campaign", found.folder),
        ("segments", f"{texts.segments:,}{without}"),
        ("candidates", f"{texts.candidates:,} in {_count(texts.lists, 'list')}"),
        ("references", str(texts.references) if texts.references else "none"),
        *([("decoder", texts.decoder)] if texts.decoder else []),
        *([("weights", texts.weights)] if texts.weights else []),
        *_label_rows(found.labels),
        *_people_rows(found.people),
        ("cost", _cost(found)),
        *(
            (
                f"batch {batch.name}",
                f"{batch.state}: {_count(batch.hits, batch.kind + ' hit')}, {batch.published:,} published, "
                f"{batch.answered:,} of {batch.assignments:,} assignments answered",
            )
            for batch in found.batches
        ),
        *(("note", note) for note in found.notes),
    ]
    lines = [f"{name:12}{text}" for name, text in rows]
    return "\n".join([*lines, "", f"next: {found.next.command or 'nothing to run'}", f"      {found.next.why}"])


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _label_rows(labels: "Labels") -> list[tuple[str, str]]:
    given = ", ".join(
        f"{count:,} {'SIMULATED' if who == 'simulated' else who}" for who, count in labels.sources.items()
    )
    said = f"{_count(labels.judgments, 'judgment')} of {_count(labels.keys, 'key')}"
    rows = [("labels", f"{said}: {given}" if given else "none")]
    if labels.before is not None and labels.after is not None:
        rows.append(("coverage", f"{labels.before:.1%} of constituents, {labels.after:.1%} after percolation"))
    return [*rows, ("to ask", f"{_count(labels.open, 'phrase')} of the frontier")]


def _people_rows(people: "People") -> list[tuple[str, str]]:
    if not people.workers:
        return []
    alpha = "no agreement known" if people.alpha != people.alpha else f"agreement alpha {people.alpha:.2f}"
    who = f"{people.workers:,}" + (f", {people.simulated:,} of them SIMULATED" if people.simulated else "")
    rows = [("workers", f"{who}; {_count(people.judged_twice, 'key')} judged twice or more, {alpha}")]
    if people.excluded:
        rows.append(("excluded", _names(people.excluded)))
    if people.bad:
        rows.append(("look bad", f"{_names(people.bad)} (see rypt hits workers)"))
    return rows


def _names(workers: list[str]) -> str:
    return ", ".join(workers[:5]) + (f" and {len(workers) - 5} more" if len(workers) > 5 else "")


def _cost(found: "CampaignStatus") -> str:
    spent = found.spent
    if spent is None:
        return "not known"
    parts = {"rewards": spent.rewards, "fees": spent.fees, "bonuses": spent.bonuses}
    shown = ", ".join(f"${amount:.2f} {name}" for name, amount in parts.items() if amount)
    played = f"; ${spent.simulated:.2f} of it SIMULATED" if spent.simulated else ""
    return f"${spent.total:.2f}" + (f" ({shown}{played})" if shown else "")
