"""``rypt status``: a campaign on one screen."""

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hits.cli.shared import plain
from rypt.console import CAMPAIGN, JSON, QUIET, progress, watcher

if TYPE_CHECKING:
    from rypt.loop.next_step import BatchState
    from rypt.loop.status import CampaignStatus, Compared, Labels, People


@click.command()
@CAMPAIGN
@JSON
@QUIET
def status(campaign: str, as_json: bool, quiet: bool) -> None:
    """Show the state of a CAMPAIGN: texts, labels, cost, agreement, and the next command to run.

    Where there is no campaign, it shows the command that makes one.
    """
    from rypt.campaign.folder import Campaign
    from rypt.campaign.settings import SETTINGS
    from rypt.loop.next_step import first_step
    from rypt.loop.status import campaign_status

    if not (Path(campaign) / SETTINGS).exists():
        first = first_step(campaign)
        shown = {"folder": campaign, "next": asdict(first)}
        click.echo(json.dumps(shown) if as_json else f"next: {first.command}\n      {first.why}")
        return
    opened = Campaign.open(campaign, watcher(quiet=quiet))
    status_now = campaign_status(
        opened, int(time.time()), lambda some: progress(some, "phrases", quiet=quiet)
    )
    if as_json:
        facts = asdict(status_now)
        facts["people"]["alpha"] = plain(status_now.people.alpha)
        for name in ("compared", "waiting"):  # which hits alone have
            if not facts[name]:
                del facts[name]
        facts["batches"] = [_batch_facts(batch) for batch in status_now.batches]
        click.echo(json.dumps(facts, ensure_ascii=False, default=str))
        return
    click.echo(status_text(status_now))


def _batch_facts(batch: "BatchState") -> dict[str, object]:
    facts = {**asdict(batch), "state": batch.state}
    return {name: value for name, value in facts.items() if name != "needless" or value}


def status_text(status: "CampaignStatus") -> str:
    """The status as text."""
    texts = status.texts
    unparsed = texts.segments - texts.parsed
    without = f" ({unparsed:,} without a parse)" if unparsed else ""
    rows = [
        ("campaign", status.folder),
        ("segments", f"{texts.segments:,}{without}"),
        ("candidates", f"{texts.candidates:,} in {_count(texts.lists, 'list')}"),
        ("references", str(texts.references) if texts.references else "none"),
        *([("decoder", texts.decoder)] if texts.decoder else []),
        *([("weights", texts.weights)] if texts.weights else []),
        *(_label_rows(status.labels) if _is_about_labels(status) else []),
        *(_comparison_rows(status.compared) if status.compared else []),
        *([("to review", _count(status.waiting, "assignment"))] if status.waiting else []),
        *_people_rows(status.people),
        ("cost", _cost(status)),
        *(
            (
                f"batch {batch.name}",
                f"{batch.state}: {_count(batch.hits, batch.kind + ' hit')}, {batch.published:,} published, "
                f"{batch.answered:,} of {batch.assignments:,} assignments collected",
            )
            for batch in status.batches
        ),
        *(("note", note) for note in status.notes),
    ]
    lines = [f"{name:12}{text}" for name, text in rows]
    return "\n".join(
        [*lines, "", f"next: {status.next.command or 'nothing to run'}", f"      {status.next.why}"]
    )


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _is_about_labels(status: "CampaignStatus") -> bool:
    """Whether there are labels, or people could still be asked for some: not where they only compare systems."""
    asks_else = any(batch.kind != "label" for batch in status.batches) or status.compared is not None
    return (
        bool(status.labels.judgments)
        or not asks_else
        or any(batch.kind == "label" for batch in status.batches)
    )


def _comparison_rows(compared: "Compared") -> list[tuple[str, str]]:
    played = f", {compared.simulated:,} of them SIMULATED" if compared.simulated else ""
    who = f"{_count(compared.workers, 'worker')}{played}"
    rows = [
        ("compared", f"{_count(compared.comparisons, 'comparison')} of {_names(compared.systems)}, by {who}")
    ]
    if compared.identical:
        rows.append(("left out", f"{_count(compared.identical, 'pair')} with the same text"))
    return rows


def _label_rows(labels: "Labels") -> list[tuple[str, str]]:
    given = ", ".join(
        f"{count:,} {'SIMULATED' if who == 'simulated' else who}" for who, count in labels.sources.items()
    )
    counts = f"{_count(labels.judgments, 'judgment')} of {_count(labels.keys, 'key')}"
    rows = [("labels", f"{counts}: {given}" if given else "none")]
    if labels.before is not None and labels.after is not None:
        rows.append(
            ("coverage", f"{labels.before:.1%} of constituents, {labels.after:.1%} after percolation")
        )
    return [*rows, ("to ask", f"{_count(labels.open, 'phrase')} of the frontier")]


def _people_rows(people: "People") -> list[tuple[str, str]]:
    rows = []
    if people.workers:
        alpha = (
            "no agreement known" if people.alpha != people.alpha else f"agreement alpha {people.alpha:.2f}"
        )
        who = f"{people.workers:,}" + (
            f", {people.simulated:,} of them SIMULATED" if people.simulated else ""
        )
        twice = f"; {_count(people.judged_twice, 'key')} judged twice or more, {alpha}"
        rows.append(("workers", f"{who}{twice if people.workers > 1 else ''}"))
    if people.excluded:
        rows.append(("excluded", _names(people.excluded)))
    if people.bad:
        rows.append(("look bad", f"{_names(people.bad)} (see rypt hits workers)"))
    return rows


def _names(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _cost(status: "CampaignStatus") -> str:
    spent = status.spent
    if spent is None:
        return "not known"
    parts = {"rewards": spent.rewards, "fees": spent.fees, "bonuses": spent.bonuses}
    shown = ", ".join(f"${amount:.2f} {name}" for name, amount in parts.items() if amount)
    played = f"; ${spent.simulated:.2f} of it SIMULATED" if spent.simulated else ""
    return f"${spent.total:.2f}" + (f" ({shown}{played})" if shown else "")
