"""The authors' own Mechanical Turk labels as a results CSV: imported, their careless workers found and excluded."""

import csv
import gzip
import io
import json
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import run

from hits.results.aggregate import aggregate
from hits.results.answers import Results
from hits.results.csv_file import SITE_COLUMNS, export_results, import_results
from hits.results.numbers import campaign_numbers
from hits.results.quality import worker_reports
from hits.results.verdicts import Verdict
from rypt.analysis.agreement import agreement, mean_pairwise_kappa, share_agreeing
from rypt.csv_rows import neutralize
from rypt.database.judgments import JudgmentDatabase
from rypt.records import Segment

pytestmark = pytest.mark.real
CARELESS = {"w01", "w03"}


def read_pilot(path: Path) -> dict[tuple[str, str], list[dict[str, str]]]:
    """The labels of each hit and worker."""
    found: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            found[row["hit"], row["worker"]].append(row)
    return found


@pytest.fixture(scope="module")
def results(real_data: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The pilot, by way of a results CSV; a blank is an empty cell."""
    folder = tmp_path_factory.mktemp("pilot")
    rows = []
    slots: dict[str, dict[tuple[str, int], int]] = defaultdict(dict)  # 35 pages show a phrase twice
    for (hit, worker), labels in read_pilot(real_data("hmert2009") / "judgments.tsv.gz").items():
        first = labels[0]
        row = {"HITId": hit, "AssignmentId": f"{hit}-{worker}", "WorkerId": worker, "Reward": "$0.02"}
        row |= {"AssignmentStatus": first["status"], "WorkTimeInSeconds": first["seconds"]}
        row |= {"Input.segment": first["i"], "Input.first": first["j"], "Input.last": first["k"]}
        seen: Counter[str] = Counter()
        for label in labels:
            phrase = label["candidate_substring"]
            slot = slots[hit].setdefault((phrase, seen[phrase]), len(slots[hit]) + 1)
            seen[phrase] += 1
            row[f"Input.phrase_{slot}"] = phrase
            row[f"Answer.label_{slot}"] = {"NOTSURE": "NOT_SURE", "BLANK": ""}.get(
                label["label"], label["label"]
            )
        rows.append(row)
    alternatives = max(map(len, slots.values()))
    with open(folder / "results.csv", "w", encoding="utf-8") as stream:
        inputs = ["segment", "first", "last", *(f"phrase_{i}" for i in range(1, alternatives + 1))]
        answers = [f"Answer.label_{i}" for i in range(1, alternatives + 1)]
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


def test_the_two_workers_who_said_yes_to_everything_are_bad_and_no_other(results: Results) -> None:
    found = {report.worker: report for report in worker_reports(results)}
    assert {worker for worker, report in found.items() if report.verdict == Verdict.BAD} == CARELESS
    assert found["w02"].answers == 762
    assert found["w03"].shares["YES"] == pytest.approx(597 / 598)
    assert found["w03"].reasons[0].startswith("YES to 100% of 598")


def test_without_them_workers_agree(results: Results) -> None:
    db = results.db
    before = agreement(db.counted_answers(), at_least=2, of=2)
    for worker in CARELESS:
        db.exclude(worker, "YES to everything")
    after = agreement(db.counted_answers(), at_least=2, of=2)
    for worker in CARELESS:
        db.include(worker)
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
    for worker in CARELESS:
        results.db.exclude(worker, "YES to everything")
    careful = labels("majority")
    for worker in CARELESS:
        results.db.include(worker)

    def right(decided: dict[object, object]) -> float:
        return sum(decided[key] == label for key, label in careful.items()) / len(careful)

    assert right(weighed) > right(voted) + 0.2


def test_numbers(results: Results) -> None:
    numbers = campaign_numbers(results)
    assert (numbers.workers, numbers.hits) == (12, 133)
    assert numbers.yes + numbers.no + numbers.not_sure == pytest.approx(1)
    assert 300 < numbers.labels_per_hour < 2000


def test_the_commands_find_and_exclude_them(
    capsys: pytest.CaptureFixture[str], real_data: Callable[[str], Path], tmp_path: Path
) -> None:
    """The file as it is: imported, looked at, two workers excluded, and the others agree."""
    data, folder = real_data("hmert2009"), tmp_path / "campaign"
    with gzip.open(data / "sources.jsonl.gz", "rt", encoding="utf-8") as stream:
        sources = [json.loads(line) for line in stream]
    with gzip.open(data / "candidates.jsonl.gz", "rt", encoding="utf-8") as stream:
        first = json.loads(next(stream))
    (tmp_path / "source").write_text("".join(f"{s['source']}\n" for s in sources), encoding="utf-8")
    (tmp_path / "trees").write_text("".join(f"{s['tree'] or '()'}\n" for s in sources), encoding="utf-8")
    line = f"{first['i']} ||| {first['tokens']} ||| x= 1 ||| 1 ||| {first['align']}\n"
    (tmp_path / "nbest").write_text(line, encoding="utf-8")

    def said(*arguments: object) -> str:
        code, out, err = run(capsys, *arguments)
        assert code == 0, err
        return out

    texts = [part for name in ("source", "trees", "nbest") for part in (f"--{name}", tmp_path / name)]
    said("init", folder, *texts, "-q")
    renamed = ("i=segment", "j=first", "k=last", "candidate_substring=phrase", "hit=origin")
    options = [part for pair in renamed for part in ("--rename", pair)]
    assert "1700 judgments added" in said("import", "-C", folder, data / "judgments.tsv.gz", *options)

    found = {
        report["worker"]: report for report in json.loads(said("hits", "workers", "-C", folder, "--json"))
    }
    bad = {worker for worker, report in found.items() if report["verdict"] == "bad"}
    assert bad == CARELESS
    assert sum(round(found[w]["answers"] * found[w]["shares"]["YES"]) for w in bad) == 687
    assert sum(found[w]["answers"] for w in bad) == 689
    before = json.loads(said("hits", "status", "-C", folder, "--json"))["agreement"]
    said("hits", "workers", "-C", folder, *(part for worker in bad for part in ("--exclude", worker)))
    after = json.loads(said("hits", "status", "-C", folder, "--json"))["agreement"]
    assert before["alpha"] < 0 < 0.25 < after["alpha"]
    assert before["kappa"] < 0.1 < 0.2 < after["kappa"]
