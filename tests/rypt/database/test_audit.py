"""What `check` finds in a judgment database, and what `summary` counts."""

from collections.abc import Callable
from pathlib import Path

import pytest

from rypt.database.audit import DatabaseProblem, check, summary
from rypt.database.judgments import DatabaseError, JudgmentDatabase
from rypt.records import Judgment, Label, Segment, Span

TREE = "(S (NP (ART der) (NN Patient)) (VAFIN wurde) (VP (VVPP isoliert)))"
SEGMENTS = [Segment("s", "der Patient wurde isoliert", TREE), Segment("bare", "ja gut")]


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


def problems(db: JudgmentDatabase, sources: list[Segment] | None = None) -> list[DatabaseProblem]:
    return list(check(db, sources))


def test_nothing_is_wrong_in_a_clean_database(db: JudgmentDatabase) -> None:
    assert problems(db) == problems(db, SEGMENTS) == []


def test_nothing_is_wrong_in_an_empty_database() -> None:
    assert problems(JudgmentDatabase(":memory:")) == []


def test_spans_that_are_no_constituents(db: JudgmentDatabase) -> None:
    db.add([judgment(Span(1, 3)), judgment(Span(1, 3), worker="v"), judgment(Span(2, 9))])
    kind = "span is not a constituent"
    assert problems(db) == [
        DatabaseProblem(kind, "segment s, span 1-3", 2),
        DatabaseProblem(kind, "segment s, span 2-9", 1),
    ]


def test_texts_that_changed_since_the_workers_saw_them(db: JudgmentDatabase) -> None:
    now = [
        Segment("s", "die Patientin wurde isoliert"),
        Segment("bare", "ja gut"),
        Segment("new", "noch einer"),
    ]
    where = "segment s was 'der Patient wurde isoliert' and is now 'die Patientin wurde isoliert'"
    assert problems(db, now) == [DatabaseProblem("segment text changed", where, 4)]


def test_spaces_that_no_token_shows_are_no_change() -> None:
    db = JudgmentDatabase(":memory:")
    db.add_segments([Segment("0", "der  Patient ")])
    assert problems(db, [Segment("0", "der Patient")]) == []


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ("(S (NP ein) (VP Wort))", "segment t: token 0 is 'kein' in the source and 'ein' in the tree"),
        ("(S kein)", "segment t: the source has 2 tokens and the tree 1"),
        ("(S (NP kein Wort)", "segment t: unbalanced brackets: 1 of 2 not closed"),
    ],
)
def test_trees_that_do_not_fit_their_text(db: JudgmentDatabase, tree: str, message: str) -> None:
    db.add_segments([Segment("t", "kein Wort", tree)])
    assert problems(db) == [DatabaseProblem("tree does not fit its text", message, 0)]
    db.add([Judgment("t", Span(0, 1), "no", Label.YES, "w")])
    assert problems(db)[1:] == [DatabaseProblem("segment without a usable parse", "segment t, span 0-1", 1)]


def test_judgments_of_a_segment_without_a_parse(db: JudgmentDatabase) -> None:
    db.add([Judgment("bare", Span(0, 1), "yes", Label.YES, worker) for worker in "vw"])
    assert problems(db) == [DatabaseProblem("segment without a usable parse", "segment bare, span 0-1", 2)]


@pytest.mark.parametrize("phrase", ["The patient", "the  patient", "the [Skip] patient", "cafe\u0301"])
def test_phrases_that_no_candidate_can_have(db: JudgmentDatabase, phrase: str) -> None:
    db.db.execute("UPDATE judgments SET phrase = ? WHERE worker = 'v'", [phrase])
    assert problems(db) == [DatabaseProblem("phrase is not in normal form", f"segment s, {phrase!r}", 1)]


def test_a_database_that_keeps_case_may_hold_capitals() -> None:
    db = JudgmentDatabase(":memory:", case="keep")
    db.add_segments(SEGMENTS)
    db.add([Judgment("s", Span(0, 2), "The Patient", Label.YES, "w")])
    assert problems(db) == []


def test_a_worker_who_said_yes_and_no_in_one_place(db: JudgmentDatabase) -> None:
    db.add([judgment(label=Label.NOT_SURE), judgment(label=Label.NO, origin="elsewhere")])
    assert problems(db) == []
    db.add([judgment(label=Label.NO)])
    where = "worker w, segment s, span 0-2, 'the patient'"
    assert problems(db) == [DatabaseProblem("worker said YES and NO in one place", where, 2)]


def test_a_severity_of_a_yes(db: JudgmentDatabase) -> None:
    db.db.execute("PRAGMA ignore_check_constraints = ON")
    db.db.execute("UPDATE judgments SET severity = 1 WHERE worker = 'w' AND stop = 2")
    assert problems(db) == [DatabaseProblem("severity of a label that is not NO", "'YES'", 1)]


def test_judgments_without_a_segment(db: JudgmentDatabase) -> None:
    db.db.execute("PRAGMA foreign_keys = OFF")
    db.db.execute("DELETE FROM segments WHERE id = 's'")
    assert DatabaseProblem("judgments without a segment", "segment s", 4) in problems(db)


def test_judgments_without_a_phrase(db: JudgmentDatabase) -> None:
    db.db.execute("DELETE FROM phrases WHERE id = (SELECT max(id) FROM phrases)")
    assert problems(db) == [DatabaseProblem("judgments without a phrase", "table judgment_rows", 1)]


def test_a_problem_says_how_many_judgments_it_touches() -> None:
    assert str(DatabaseProblem("kind", "where", 2)) == "kind: where (2 judgments)"
    assert str(DatabaseProblem("kind", "where", 0)) == "kind: where"


def overwrite(path: Path, table: str) -> None:
    """Spoil the page on which a table begins."""
    with JudgmentDatabase(path, readonly=True) as db:
        (page,) = db.db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", [table]).fetchone()
        (size,) = db.db.execute("PRAGMA page_size").fetchone()
    content = bytearray(path.read_bytes())
    content[(page - 1) * size : page * size] = b"\xff" * size
    path.write_bytes(content)


@pytest.mark.parametrize("look", [problems, summary], ids=["check", "summary"])
@pytest.mark.parametrize("table", ["segments", "spans", "phrases", "judgment_rows", "settings"])
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
    facts = summary(db)
    size = facts.pop("bytes")
    assert facts == {
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
    with JudgmentDatabase(tmp_path / "empty.db") as empty:
        facts = summary(empty)
    assert (facts["judgments"], facts["labels"], facts["bytes_per_judgment"]) == (0, {}, None)
    assert facts["bytes"] == (tmp_path / "empty.db").stat().st_size
