"""What `check` finds in a judgment database, and what `summary` counts."""

from collections.abc import Callable
from pathlib import Path

import pytest

from rypt.database.check import check, summary
from rypt.database.judgments import DatabaseError, JudgmentDatabase
from rypt.records import Judgment, Label, Segment, Span

TREE = "(S (NP (ART der) (NN Patient)) (VAFIN wurde) (VP (VVPP isoliert)))"
SEGMENTS = [Segment("s", "der Patient wurde isoliert", TREE), Segment("bare", "ja  gut ")]


NP = Span(0, 2)


def judgment(span: Span = NP, label: Label = Label.YES, worker: str = "w", origin: str = "") -> Judgment:
    return Judgment("s", span, "the patient", label, worker, origin)


@pytest.fixture
def db() -> JudgmentDatabase:
    """A database in which nothing is wrong."""
    db = JudgmentDatabase(":memory:")
    db.add_segments(SEGMENTS)
    db.add([judgment(), judgment(label=Label.NO, worker="v"), judgment(Span(3, 4)), judgment(Span(0, 4))])
    return db


def problems(db: JudgmentDatabase, sources: list[Segment] | None = None) -> list[str]:
    return list(map(str, check(db, sources)))


def test_nothing_is_wrong_in_a_clean_or_an_empty_database(db: JudgmentDatabase) -> None:
    now = [SEGMENTS[0], Segment("bare", "ja gut"), Segment("new", "noch einer")]
    assert problems(db) == problems(db, now) == problems(JudgmentDatabase(":memory:")) == []


def test_spans_that_are_no_constituents_and_trees_that_cannot_be_used(db: JudgmentDatabase) -> None:
    db.add([judgment(Span(1, 3)), judgment(Span(1, 3), worker="v"), judgment(Span(2, 9))])
    db.add([Judgment("bare", Span(0, 1), "yes", Label.YES, worker) for worker in "vw"])
    db.add_segments([Segment("t", "kein Wort", "(S (NP ein) (VP Wort))")])
    assert problems(db) == [
        "span is not a constituent: segment s, span 1-3 (2 judgments)",
        "span is not a constituent: segment s, span 2-9 (1 judgment)",
        "segment without a usable parse: segment bare, span 0-1 (2 judgments)",
        "tree does not fit its text: segment t: token 0 is 'kein' in the source and 'ein' in the tree",
    ]


def test_texts_that_changed_since_the_workers_saw_them(db: JudgmentDatabase) -> None:
    where = "segment s was 'der Patient wurde isoliert' and is now 'die Patientin wurde isoliert'"
    assert problems(db, [Segment("s", "die Patientin wurde isoliert", TREE)])[0] == (
        f"segment text changed: {where} (4 judgments)"
    )
    assert problems(db, SEGMENTS[1:]) == ["segment is not in the source: segment s (4 judgments)"]


@pytest.mark.parametrize("phrase", ["The patient", "the  patient", "the [Skip] patient", "cafe\u0301"])
def test_phrases_that_no_candidate_can_have(db: JudgmentDatabase, phrase: str) -> None:
    db.db.execute("UPDATE phrases SET phrase = ? WHERE start = 3", [phrase])
    assert problems(db) == [f"phrase is not in normal form: segment s, {phrase!r} (1 judgment)"]


def test_a_worker_who_said_yes_and_no_in_one_place(db: JudgmentDatabase) -> None:
    db.add([judgment(label=Label.NOT_SURE), judgment(label=Label.NO, origin="elsewhere")])
    assert (problems(db), db.count_contradictions()) == ([], 0)
    db.add([judgment(label=Label.NO)])
    where = "worker w, segment s, span 0-2, 'the patient'"
    assert problems(db) == [f"worker said YES and NO in one place: {where} (2 judgments)"]
    assert db.count_contradictions() == 1


def test_rows_without_those_they_belong_to_and_values_that_cannot_be(db: JudgmentDatabase) -> None:
    for pragma in ("ignore_check_constraints = ON", "foreign_keys = OFF"):
        db.db.execute(f"PRAGMA {pragma}")
    db.db.execute("DELETE FROM phrases WHERE start = 3")
    db.db.execute("UPDATE judgment_rows SET severity = 1 WHERE label = 1")
    db.db.execute("PRAGMA ignore_check_constraints = OFF")
    found = problems(db)
    assert "damaged file: a row of judgment_rows without its row of phrases" in found
    assert "damaged file: CHECK constraint failed in judgment_rows" in found


def overwrite(path: Path, table: str) -> None:
    """Spoil the page on which a table begins."""
    with JudgmentDatabase(path, readonly=True) as db:
        ((page,),) = db.rows("SELECT rootpage FROM sqlite_master WHERE name = ?", table)
        ((size,),) = db.rows("PRAGMA page_size")
    content = bytearray(path.read_bytes())
    content[(page - 1) * size : page * size] = b"\xff" * size
    path.write_bytes(content)


@pytest.mark.parametrize("look", [problems, summary], ids=["check", "summary"])
@pytest.mark.parametrize("table", ["segments", "judgment_rows", "settings"])
def test_a_damaged_file_is_an_error_that_names_it(
    tmp_path: Path, look: Callable[[JudgmentDatabase], object], table: str
) -> None:
    with JudgmentDatabase(tmp_path / "x.db") as db:
        db.add_segments(SEGMENTS)
        db.add([judgment()])
    overwrite(tmp_path / "x.db", table)

    def open_and_look() -> None:
        with JudgmentDatabase(tmp_path / "x.db", readonly=True) as db:
            look(db)

    with pytest.raises(DatabaseError, match=r"x\.db: .*malformed"):
        open_and_look()


def test_the_summary_counts_everything(db: JudgmentDatabase, tmp_path: Path) -> None:
    simulated = Judgment("s", Span(3, 4), "the patient", Label.YES, "v", "h", "simulation")
    db.add([simulated, judgment(Span(0, 4), Label.NOT_SURE, "u", "h")])
    numbers = summary(db)
    size = numbers.pop("bytes")
    assert numbers == {
        "segments": 2,
        "without_parse": 1,
        "judgments": 6,
        "of_these_count": 6,
        "excluded_workers": 0,
        "keys": 3,
        "labels": {"YES": 4, "NO": 1, "NOT_SURE": 1},
        "sources": {"import": 5, "simulation": 1},
        "workers": 3,
        "keys_judged_twice_or_more": 3,
        "of_these_unanimous": 1,
        "case": "lower",
        "bytes_per_judgment": round(size / 6, 1),
    }
    assert summary(JudgmentDatabase(":memory:"))["bytes_per_judgment"] is None
