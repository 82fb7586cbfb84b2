"""Bringing answers from a market into the campaign's database; run again, it adds nothing twice."""

from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path

from hits.content import Assignment
from hits.market import Market, Work
from hits.publish import published
from hits.records import Answer, Batch, Item
from hits.results import Added, Results
from hits.results_csv import batch_facts
from rypt.text import FormatError


def collect(
    batch: Batch,
    folder: Path,
    market: Market,
    results: Results,
    watch: Callable[[Iterable[Item]], Iterable[Item]] = lambda items: items,
) -> tuple[Added, list[str]]:
    """Add all submitted work of a batch, one assignment at a time; what a crash leaves out is added by the next run.

    Returns what was added, and what is wrong with assignments that cannot be understood.
    """
    hits = published(batch, folder, market)
    total, wrong = Added(), []
    for item in watch([item for item in batch.items if item.id in hits]):
        facts = batch_facts(batch, item)
        for work in market.work(hits[item.id]):
            try:
                added = results.add([Assignment(_answer(batch, item, work), item.columns, work.status, facts)])
                results.set_status(work.assignment, work.status)
            except FormatError as error:
                wrong.append(f"assignment {work.assignment} of item {item.id}: {error}")
                continue
            for field in fields(Added):
                setattr(total, field.name, getattr(total, field.name) + getattr(added, field.name))
    return total, wrong


def _answer(batch: Batch, item: Item, work: Work) -> Answer:
    return Answer(
        batch.settings.id, item.id, work.hit, work.assignment, work.worker, work.fields, work.accepted, work.submitted
    )
