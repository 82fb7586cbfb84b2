"""Where campaigns stand, from empty to answered."""

import os
import re
import shutil
import sqlite3
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from hits.batch.folder import read_batch
from hits.market.ledger import EXPIRED, Ledger
from hits.records import Assignment
from hits.results.answers import Results
from hits.results.csv_file import batch_facts
from rypt.campaign.create import create_campaign
from rypt.campaign.folder import Campaign
from rypt.cli import program as cli
from rypt.cli.status import status_text
from rypt.loop.status import Compared, Labels, Texts, campaign_status
from rypt.records import Judgment, Label, Span

NOW = 2_000_000_000


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """Two segments, one of them without a parse, and no judgments, references, hits or features."""
    (tmp_path / "source").write_text("a b c\nd\n")
    (tmp_path / "trees").write_text("(S (NP (A a) (B b)) (C c))\n()\n")
    (tmp_path / "nbest").write_text(
        "0 ||| x y z ||| ||| 0 ||| 0-0 1-1 2-2\n0 ||| x v z ||| ||| 0 ||| 0-0 1-1 2-2\n"
    )
    folder = tmp_path / "campaign"
    create_campaign(folder, source=tmp_path / "source", trees=tmp_path / "trees", nbest=[tmp_path / "nbest"])
    return folder


def status(folder: Path):
    return campaign_status(Campaign.open(folder), NOW)


def rypt(*words):
    cli.rypt.main([str(word) for word in words], standalone_mode=False)


def test_a_campaign_of_which_nothing_is_known(fresh):
    found = status(fresh)
    assert found.texts == Texts(2, 1, 1, 2, 0, None, None)
    assert found.labels == Labels(0, 0, {}, 0, 0, 1 + 1)  # on the frontier of 4 the whole segment, twice
    assert found.people.workers == 0
    assert found.spent["total"] == Decimal(0)
    assert found.batches == []
    assert found.next.command == f"rypt queries {fresh} --select value --format csv -o ask.csv"


def test_labels_by_source_coverage_and_what_is_open(fresh):
    with Campaign.open(fresh).database(readonly=False) as db:
        db.add(
            [
                Judgment("0", Span(0, 3), "x y z", Label.YES, "simulated-1", source="simulation"),
                Judgment("0", Span(0, 2), "x v", Label.NO, "ada"),
                Judgment("0", Span(0, 2), "x v", Label.NO, "bob"),
            ]
        )
        db.exclude("bob", "spam")
    found = status(fresh)
    assert found.labels.sources == {"imported": 2, "simulated": 1}
    assert (found.labels.judgments, found.labels.keys, found.labels.open) == (3, 2, 1)
    assert found.labels.before == 2 / 10
    assert found.labels.after == (5 + 2) / 10  # YES to everything below, NO to the root above
    assert (found.people.workers, found.people.simulated, found.people.excluded) == (3, 1, ["bob"])
    assert (
        found.next.command == f"rypt score {fresh} --pick best -o {fresh}/picks.txt"
    )  # there are no features to tune with


def test_a_campaign_with_a_decoder_and_nothing_else(fresh, tmp_path):
    toml = (fresh / "rypt.toml").read_text()
    lines = re.sub(r"^nbest = \[.*?\]\n", "", toml, flags=re.MULTILINE | re.DOTALL).splitlines()
    decoder = '[decoder]\ncommand = "decode {weights} {nbest}"\nweights = "start.weights"\n'
    (fresh / "rypt.toml").write_text("\n".join([*lines, decoder]))
    found = status(fresh)
    assert (found.texts.candidates, found.labels.before, found.texts.weights) == (0, None, "start.weights")
    assert found.next.command == f"rypt loop {fresh} --once"
    (fresh / "rypt.toml").write_text("\n".join([*lines, decoder, '[loop]\nbudget = "5.00"\n']))
    assert status(fresh).next.command == f"rypt loop {fresh} --serve"


@pytest.mark.slow
def test_a_batch_from_made_to_answered(demo_campaign, tmp_path):
    folder = tmp_path / "campaign"
    shutil.copytree(demo_campaign, folder)
    rypt("hits", "make", folder, "-o", folder / "batches" / "1", "--limit", "2", "--assignments", "2", "-q")
    (made,) = status(folder).batches
    assert (made.name, made.state, made.hits, made.assignments) == ("1", "made", 2, 4)
    assert status(folder).next.command == f"rypt hits serve {folder}"
    batch = read_batch(folder / "batches" / "1")
    with Ledger(folder / "batches" / "1" / "published.local.jsonl").opened() as ledger:
        for item in batch.items:
            ledger.add(item.id, f"hit-{item.id}")
    now = int((folder / "batches" / "1" / "published.local.jsonl").stat().st_mtime)
    found = campaign_status(Campaign.open(folder), now)
    assert found.batches[0].state == "published"
    assert found.next.command == f"rypt hits serve {folder}"  # nothing is there to collect from
    (folder / "batches" / "1" / EXPIRED).touch()  # as `rypt hits publish --end` does
    assert (
        campaign_status(Campaign.open(folder), now).batches[0].state == "published"
    )  # somebody may be at it
    later = now + batch.settings.duration + 60
    assert campaign_status(Campaign.open(folder), later).batches[0].state == "over"
    (folder / "batches" / "1" / EXPIRED).unlink()
    assert status(folder).batches[0].state == "over"  # NOW is years later
    answer(folder, batch, workers=("ada", "ASIMULATED1"))
    found = status(folder)
    assert found.batches[0].state == "answered"
    assert found.labels.sources["people"] > 0
    assert (
        found.spent["total"]
        == 2 * sum(batch.reward(item) for item in batch.items)
        == 2 * found.spent["simulated"]
    )
    assert found.next.command.startswith(f"rypt tune {folder} ")
    with Campaign.open(folder).database(readonly=False) as db, db.writing():
        db.db.execute("UPDATE assignments SET status = 'Rejected' WHERE worker = 'ada'")
    assert status(folder).batches[0].state == "answered"  # a rejected assignment keeps its place


def test_a_batch_whose_phrases_were_labelled_in_a_sheet(fresh, tmp_path):
    rypt("hits", "make", fresh, "-o", fresh / "batches" / "1", "--controls", "0", "-q")
    assert status(fresh).batches[0].state == "made"
    assert "delete" in status(fresh).next.why
    with Campaign.open(fresh).database(readonly=False) as db:
        db.add([Judgment("0", Span(0, 3), phrase, Label.YES, "ada") for phrase in ("x y z", "x v z")])
    labelled = status(fresh)
    assert labelled.batches[0].state == "labelled elsewhere"
    assert labelled.next.command == f"rypt score {fresh} --pick best -o {fresh}/picks.txt"


def test_a_campaign_of_comparisons_alone(tmp_path):
    """Nothing is said of labels, which nobody asks for, and the end is the answer to the question."""
    (tmp_path / "source").write_text("a b c\nd e f\ng h i\n")
    (tmp_path / "trees").write_text("(S a b c)\n(S d e f)\n(S g h i)\n")
    for name, last in (("A", "z"), ("B", "v")):
        lines = [f"{i} ||| x y {last if i < 2 else 'z'} ||| ||| 0 ||| 0-0 1-1 2-2\n" for i in range(3)]
        (tmp_path / f"{name}.nbest").write_text("".join(lines))
    folder = tmp_path / "two"
    lists = [tmp_path / "A.nbest", tmp_path / "B.nbest"]
    create_campaign(folder, source=tmp_path / "source", trees=tmp_path / "trees", nbest=lists)
    first = f"rypt hits make {folder} -o {folder}/batches/1 --kind comparison --assignments 5 --limit 20 --controls 0.2"
    assert status(folder).next.command == first
    rypt(*first.split()[1:-6], "--controls", "0", "--assignments", "2", "-q")
    assert "labels" not in status_text(status(folder))
    batch = read_batch(folder / "batches" / "1")
    answer(folder, batch, workers=("ada", "ASIMULATED1"), fields={"choice": "A"})
    with Ledger(folder / "batches" / "1" / "published.local.jsonl").opened() as ledger:
        for item in batch.items:
            ledger.add(item.id, f"hit-{item.id}")
    at_the_end = status(folder)
    assert at_the_end.compared == Compared(4, 2, 1, ["A", "B"])
    assert at_the_end.next.command == f"rypt rank pairs {folder} --systems A,B"
    lines = status_text(at_the_end).splitlines()
    assert "compared    4 comparisons of A, B, by 2 workers, 1 of them SIMULATED" in lines
    assert "to review   4 assignments" in lines
    assert "; 4 assignments to review (" in at_the_end.next.why
    assert not any(line.startswith(("labels", "coverage", "to ask")) for line in lines)


def answer(folder: Path, batch, workers, fields=None) -> None:
    """All workers give the same answers: YES to everything, if nothing else is given."""
    with Campaign.open(folder).database(readonly=False) as db:
        results = Results(db)
        for item in batch.items:
            for worker in workers:
                labels = {f"label_{n}": "YES" for n in range(1, item.size + 1)}
                given = Assignment(
                    f"{item.id}-{worker}", f"hit-{item.id}", worker, fields or labels, NOW, NOW + 60
                )
                ours = {"batch": batch.settings.id, "item": item.id, "columns": item.columns}
                results.add([replace(given, **ours, facts=batch_facts(batch, item), market="local")])


def test_a_damaged_batch_is_noted(fresh):
    broken = fresh / "batches" / "1"
    broken.mkdir(parents=True)
    (broken / "batch.toml").write_text("id = ")
    found = status(fresh)
    assert found.batches == []
    assert "batch.toml" in found.notes[0]


def test_picks_are_older_than_labels_that_another_process_has_not_written_back(fresh):
    """While a reader has the database open, new judgments are in its log, and the file stays as it is."""
    add = [Judgment("0", Span(0, 3), "x y z", Label.YES, "ada")]
    with Campaign.open(fresh).database(readonly=False) as db:
        db.add(add)
    picks = fresh / "picks.txt"
    picks.write_text("x y z\n")
    later = max(path.stat().st_mtime for path in fresh.glob("judgments.db*")) + 10
    os.utime(picks, (later, later))
    assert status(fresh).next.command == ""
    with sqlite3.connect(f"file:{fresh}/judgments.db?mode=ro", uri=True) as reader:
        reader.execute("SELECT count(*) FROM sqlite_master").fetchall()
        with Campaign.open(fresh).database(readonly=False) as db:
            db.add([Judgment("0", Span(0, 3), "x y z", Label.NO, worker) for worker in ("bob", "cem")])
        os.utime(fresh / "judgments.db-wal", (later + 10, later + 10))
        assert (fresh / "judgments.db").stat().st_mtime < later
        assert status(fresh).next.command.startswith("rypt score ")
    reader.close()


@pytest.mark.slow
def test_weights_that_were_not_decoded_with(demo_campaign, tmp_path):
    folder = tmp_path / "campaign"
    shutil.copytree(demo_campaign, folder)
    (folder / "rypt.weights").write_text("LM 1\n")
    found = status(folder)
    assert (
        found.next.command == f"rypt score {folder} --pick best -o {folder}/picks.txt"
    )  # tuned since the last judgment
    (folder / "weights").mkdir()
    for number in (2, 10):
        (folder / "weights" / f"{number}.weights").write_text("LM 1\n")
    assert status(folder).texts.weights == "weights/10.weights"
