"""Results CSVs of a batch that is at hand: it says what the rows mean."""

import csv
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hits.batch.folder import new_settings, read_batch, write_batch
from hits.batch.systems import make_comparison_batch
from hits.records import Batch, Kind
from hits.results.answers import Results
from hits.results.importing import import_results
from rypt.database.judgments import JudgmentDatabase
from rypt.records import Segment
from rypt.text import InputError

SEGMENTS = [Segment(str(i), f"Satz {i}") for i in range(3)]
OUTPUTS = {
    name: {s.id: f"=sentence {s.id} by {name if s.id < '2' else 'all'}" for s in SEGMENTS} for name in "xy"
}


@pytest.fixture
def batch(tmp_path: Path) -> Batch:
    settings = new_settings(
        Kind.COMPARISON, seed=1, now=datetime(2026, 1, 1, tzinfo=UTC), assignments=2, id="b7"
    )
    write_batch(tmp_path / "batch", make_comparison_batch(SEGMENTS, OUTPUTS, settings, control_share=0))
    return read_batch(tmp_path / "batch")


@pytest.fixture
def results() -> Results:
    return Results(JudgmentDatabase(":memory:"))


def write(path: Path, *rows: dict[str, str]) -> Path:
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def row(number: int, item: str, **more: str) -> dict[str, str]:
    return {
        "HITId": f"H{number}",
        "AssignmentId": f"X{number}",
        "WorkerId": "A1",
        "AssignmentStatus": "Approved",
        "AcceptTime": "10",
        "SubmitTime": "40",
        "Answer.choice": "A",
        "Input.item": item,
        **more,
    }


def test_a_batch_gives_the_columns(tmp_path: Path, batch: Batch, results: Results) -> None:
    rows = [row(i, item.id) for i, item in enumerate(batch.items)]
    added = import_results(results, write(tmp_path / "r.csv", *rows), batch=batch, market="mturk")
    assert (added.assignments, added.comparisons) == (2, 2)
    first = next(results.assignments("b7"))
    assert first.columns == batch.items[0].columns
    assert (first.facts["Title"], first.market) == (batch.settings.title, "mturk")
    assert [c for c in results.comparisons() if c.segment == "2"] == []


def test_the_annotation_names_the_item(tmp_path: Path, batch: Batch, results: Results) -> None:
    item = batch.items[1]
    given = row(1, "", RequesterAnnotation=batch.annotation(item))
    del given["Input.item"]
    assert import_results(results, write(tmp_path / "r.csv", given), batch=batch).assignments == 1
    assert next(results.assignments()).item == item.id


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"Input.item": "nothing"}, "item 'nothing' is not in the batch"),
        ({"Input.item": ""}, "expected an item, in Input.item or the annotation"),
        ({"RequesterAnnotation": "rypt:other:1-1"}, "expected a hit of the batch b7, found one of other"),
        ({"Input.system_a": "q"}, "expected Input.system_a as in the batch, .*, found 'q'"),
    ],
)
def test_rows_of_another_batch_are_refused(
    tmp_path: Path, batch: Batch, results: Results, more: dict[str, str], message: str
) -> None:
    good, item = row(1, batch.items[0].id), batch.items[1].id
    path = write(tmp_path / "r.csv", {**dict.fromkeys(more, ""), **good}, {**row(2, item), **more})
    with pytest.raises(InputError, match=rf"r\.csv:3: {message}"):
        import_results(results, path, batch=batch)
    assert list(results.assignments()) == []
    assert results.comparisons() == []


def test_what_the_file_says_of_a_hit_stands(tmp_path: Path, batch: Batch, results: Results) -> None:
    path = write(tmp_path / "r.csv", row(1, batch.items[0].id, Title="Another title", Reward="$0.99"))
    import_results(results, path, batch=batch)
    facts = next(results.assignments()).facts
    assert (facts["Title"], facts["Reward"]) == ("Another title", "$0.99")
    assert facts["MaxAssignments"] == "2"
