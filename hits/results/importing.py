"""Importing a results CSV into a campaign: all of it or nothing."""

from collections.abc import Mapping
from dataclasses import replace

from hits.records import Assignment, Batch, Item
from hits.results.answers import Added, Results
from hits.results.csv_file import NEEDED, NEEDED_OF_BATCH, batch_facts, read_assignments
from rypt.text import FormatError, InputError, PathLike


def import_results(
    results: Results,
    path: PathLike,
    *,
    rename: Mapping[str, str] | None = None,
    batch: Batch | None = None,
    market: str = "",
) -> Added:
    """Add all assignments of a file in one transaction: a row that cannot be taken stops it, and nothing is changed.

    A ``batch`` says what its rows mean: the file needs no ``Input.*`` beside ``Input.item`` or our annotation, and what
    it has of them must be the batch's.  ``market`` is
    where the work was done (see `hits.records.Assignment`).
    """
    added = Added()
    items = {item.id: item for item in batch.items} if batch else {}
    with results.db.writing():
        needed = NEEDED_OF_BATCH if batch else NEEDED
        for line, assignment in read_assignments(path, rename=rename, needed=needed):
            try:
                known = completed(assignment, batch, items) if batch else assignment
                results.put(replace(known, market=market), added)
            except FormatError as error:
                raise InputError(path, line, str(error)) from None
    return added


def completed(assignment: Assignment, batch: Batch, items: Mapping[str, Item]) -> Assignment:
    """The assignment with what its batch knows: the item's columns, title, reward and so on where the row has none."""
    a = assignment
    if a.batch not in ("", batch.settings.id):
        raise FormatError(f"expected a hit of the batch {batch.settings.id}, found one of {a.batch}")
    item = items.get(a.item)
    if item is None:
        where = (
            f"item {a.item!r} is not in the batch"
            if a.item
            else "expected an item, in Input.item or the annotation"
        )
        raise FormatError(where)
    for name, text in assignment.columns.items():
        if text and item.columns.get(name) != text:
            known = item.columns.get(name)
            raise FormatError(
                f"expected Input.{name} as in the batch, {(known or '')[:40]!r}, found {text[:40]!r}"
            )
    facts = {**batch_facts(batch, item), **assignment.facts}
    return replace(a, batch=batch.settings.id, columns=item.columns, facts=facts)
