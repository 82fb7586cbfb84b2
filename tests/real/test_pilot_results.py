"""The authors' own Mechanical Turk labels as a results CSV: imported, their careless workers found and excluded."""

import csv
import gzip
import io
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from hits.results.aggregate import aggregate
from hits.results.answers import Results
from hits.results.csv_file import SITE_COLUMNS, export_results, import_results
from hits.results.quality import worker_reports
from hits.results.verdicts import Verdict
from rypt.analysis.agreement import agreement, mean_pairwise_kappa, share_agreeing
from rypt.csv_rows import neutralize
from rypt.database.judgments import JudgmentDatabase
from rypt.records import Segment

pytestmark = pytest.mark.real
CARELESS = {"w01", "w03"}


@pytest.fixture(scope="module")
def results(real_data: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The pilot, by way of a results CSV; a blank is an empty cell."""
    folder = tmp_path_factory.mktemp("pilot")
    pages: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
    with gzip.open(real_data("hmert2009") / "judgments.tsv.gz", "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            pages[row["hit"], row["worker"]].append(row)
    rows = []
    slots: dict[str, dict[tuple[str, int], int]] = defaultdict(dict)  # 35 pages show a phrase twice
    for (hit, worker), labels in pages.items():
        first = labels[0]
        row = {"HITId": hit, "AssignmentId": f"{hit}-{worker}", "WorkerId": worker, "Reward": "$0.02"}
        row |= {"AssignmentStatus": first["status"], "WorkTimeInSeconds": first["seconds"]}
        row |= {"Input.segment": first["i"], "Input.first": first["j"], "Input.last": first["k"]}
        seen: Counter[str] = Counter()
        for label in labels:
            phrase, said = label["candidate_substring"], label["label"]
            slot = slots[hit].setdefault((phrase, seen[phrase]), len(slots[hit]) + 1)
            seen[phrase] += 1
            row[f"Input.phrase_{slot}"] = phrase
            row[f"Answer.label_{slot}"] = {"NOTSURE": "NOT_SURE", "BLANK": ""}.get(said, said)
        rows.append(row)
    numbers = range(1, max(map(len, slots.values())) + 1)
    with open(folder / "results.csv", "w", encoding="utf-8") as stream:
        inputs = ["segment", "first", "last", *(f"phrase_{i}" for i in numbers)]
        answers = [f"Answer.label_{i}" for i in numbers]
        header = [*SITE_COLUMNS, *(f"Input.{name}" for name in inputs), *answers, "Approve", "Reject"]
        writer = csv.DictWriter(stream, header, "", quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: neutralize(text) for name, text in row.items()} for row in rows)
    db = JudgmentDatabase(folder / "pilot.db")
    db.add_segments([Segment(str(i), " ".join(["x"] * 80)) for i in range(2051)])
    found = Results(db)
    added = import_results(found, folder / "results.csv")
    assert (added.assignments, added.unanswered) == (len(rows), 3)
    assert db.db.execute("SELECT count(*) FROM label_answers").fetchone() == (1700,)
    stream = io.StringIO()
    export_results(found, stream)
    assert stream.getvalue() == (folder / "results.csv").read_text(encoding="utf-8")
    return found


@contextmanager
def without_the_careless(db: JudgmentDatabase) -> Iterator[None]:
    for worker in CARELESS:
        db.exclude(worker, "YES to everything")
    yield
    for worker in CARELESS:
        db.include(worker)


def test_the_two_workers_who_said_yes_to_everything_are_bad_and_no_other(results: Results) -> None:
    found = {report.worker: report for report in worker_reports(results)}
    assert {worker for worker, report in found.items() if report.verdict == Verdict.BAD} == CARELESS
    assert found["w02"].answers == 762
    assert found["w03"].shares["YES"] == pytest.approx(597 / 598)
    assert found["w03"].reasons[0].startswith("YES to 100% of 598")


def test_without_them_workers_agree(results: Results) -> None:
    db = results.db
    before = agreement(db.counted_answers(), at_least=2, of=2)
    with without_the_careless(db):
        after = agreement(db.counted_answers(), at_least=2, of=2)
    assert after.same > before.same + 0.15
    assert before.alpha < 0 < 0.25 < after.alpha
    assert mean_pairwise_kappa(db.counted_answers()) == before.kappa


def test_the_agreement_of_two_votes_is_what_the_data_says_of_itself(results: Results) -> None:
    """47 % of the keys with two votes, 71 % without the two workers and without those who were not sure."""
    votes = [
        ((segment, start, stop, phrase), (worker, number), label)
        for number, (segment, start, stop, phrase, label, worker) in enumerate(
            results.db.db.execute("""
                SELECT l.segment, l.start, l.stop, l.phrase, l.label, a.worker
                FROM label_answers AS l JOIN assignments AS a ON a.id = l.assignment
            """)
        )
    ]
    sure = [vote for vote in votes if vote[1][0] not in CARELESS and vote[2] in ("YES", "NO")]
    assert share_agreeing(votes, at_least=2, of=2) == pytest.approx(0.472, abs=0.001)
    assert share_agreeing(sure, at_least=2, of=2) == pytest.approx(0.705, abs=0.001)


def test_dawid_and_skene_see_through_them_and_the_majority_does_not(results: Results) -> None:
    def labels(method: str) -> dict[object, object]:
        return {(k.segment, k.span, k.phrase): k.label for k in aggregate(results.db, method).labels}

    weighed, voted = labels("dawid-skene"), labels("majority")
    with without_the_careless(results.db):
        careful = labels("majority")
    right = [np.mean([each[key] == careful[key] for key in careful]) for each in (weighed, voted)]
    assert right[0] > right[1] + 0.2
