"""The results CSV of a batch, from the market's own file: as `rypt hits export` writes it after collecting."""

import io
from collections.abc import Iterable

from hits.records import Answer, Batch, parse_annotation
from hits.results.content import Assignment
from hits.results.csv_file import batch_facts, results_row, write_rows
from hits.server.store.figures import SubmittedAnswers


def results_text(batch: Batch, answers: Iterable[SubmittedAnswers]) -> str:
    """All submitted assignments of a batch, a row each."""
    items = {item.id: item for item in batch.items}
    assignments = []
    for given in answers:
        ours = parse_annotation(given.annotation)
        item = items.get(ours[1]) if ours and ours[0] == batch.settings.id else None
        if item is not None:
            answer = Answer(
                batch.settings.id,
                item.id,
                given.hit,
                given.assignment,
                given.worker,
                given.fields,
                given.accepted,
                given.submitted,
            )
            status = given.status.capitalize()
            assignments.append(Assignment(answer, item.columns, status, batch_facts(batch, item), "local"))
    inputs = dict.fromkeys(name for each in assignments for name in each.columns)
    fields = dict.fromkeys(name for each in assignments for name in each.answer.fields)
    stream = io.StringIO()
    write_rows(stream, list(inputs), list(fields), map(results_row, assignments))
    return stream.getvalue()
