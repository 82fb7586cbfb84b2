"""The judgment database: what it keeps, and what it survives: other processes, a kill, a full disk, wrong files."""

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import chain, permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rypt.database.judgments
import rypt.database.writing
from rypt.database.answer_rows import AnswerRows, AssignmentRow, HitRow, IdenticalRow, LabelRow
from rypt.database.answers import AnswerTables
from rypt.database.exchange import import_file, merge
from rypt.database.judgments import DatabaseError, JudgmentDatabase
from rypt.database.schema import APPLICATION_ID, SCHEMA
from rypt.records import CandidateJudgments, CandidatePhrases, Judgment, Label, Segment, Span, Votes
from rypt.text import FormatError, RyptError

RYPT = [sys.executable, "-c", "from rypt.cli import main; main()"]
SEGMENT = Segment(
    "s", "der Patient wurde isoliert .", "(S (NP (A der) (N Patient)) (V wurde) (VP isoliert) (. .))"
)
NP = Span(0, 2)
NOBODY = 65534


def judgment(
    label: Label = Label.YES, worker: str = "w", phrase: str = "the patient", **more: Any
) -> Judgment:
    return Judgment("s", NP, phrase, label, worker, **more)


def database(path: str | Path = ":memory:", *judgments: Judgment) -> JudgmentDatabase:
    db = JudgmentDatabase(path)
    db.add_segments([SEGMENT])
    db.add(judgments)
    return db


def record(worker: str, phrase: str) -> str:
    return f'{{"segment": "s", "start": 0, "stop": 2, "phrase": "{phrase}", "label": "YES", "worker": "{worker}"}}\n'


def start_import(path: Path, file: str | Path, *options: str) -> subprocess.Popen[str]:
    command = [*RYPT, "db", "import", str(path), str(file), *options]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, encoding="utf-8")


# What is kept


@given(st.data())
def test_judgments_of_whole_candidates_are_those_of_their_phrases(data: st.DataObject) -> None:
    spans = st.sampled_from([Span(0, 1), NP, Span(2, 3), Span(0, 5)])
    keys = data.draw(
        st.lists(
            st.dictionaries(
                spans, st.sampled_from(["The patient", "the patient", "a [SKIP] [SKIP] b"]), max_size=4
            ).map(lambda phrases: CandidatePhrases(list(phrases), list(phrases.values()))),
            min_size=1,
            max_size=3,
        )
    )
    verdicts = st.sampled_from([(Label.YES, None), (Label.NO, None), (Label.NO, 0.0), (Label.NO, 5.0)])
    groups = []
    for _ in range(data.draw(st.integers(0, 6))):
        phrases = data.draw(st.sampled_from(keys))
        given_labels = [data.draw(verdicts) for _ in phrases.spans]
        groups.append(
            CandidateJudgments(
                "s",
                phrases,
                [label for label, _ in given_labels],
                [severity for _, severity in given_labels],
                data.draw(st.sampled_from(["Ada", "Bob"])),
                data.draw(st.sampled_from(["x", "y"])),
                data.draw(st.sampled_from(["import", "simulation"])),
                data.draw(st.sampled_from([None, 7, 9])),
            )
        )
    rows = data.draw(st.integers(1, 5))
    with pytest.MonkeyPatch.context() as patch, database() as together, database() as one_by_one:
        patch.setattr(rypt.database.writing, "ROWS", rows)
        added = together.add_candidates(groups)
        assert added == one_by_one.add(chain.from_iterable(groups)) == together.count()
        assert list(together.judgments()) == list(one_by_one.judgments())


def test_a_new_database_is_a_wal_database_with_foreign_keys_that_carries_our_mark(tmp_path: Path) -> None:
    with database(tmp_path / "j.db") as db:
        pragmas = {
            name: db.db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "foreign_keys")
        }
        assert pragmas == {"journal_mode": "wal", "foreign_keys": 1}
        assert db.db.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID


def test_a_judgment_of_an_unknown_segment_is_refused_with_all_that_came_with_it() -> None:
    db = database()
    with pytest.raises(DatabaseError, match="FOREIGN KEY"):
        db.add([judgment(), Judgment("nowhere", NP, "the patient", Label.YES, "w")])
    assert db.count() == 0


def test_migrations_are_applied_once(tmp_path: Path) -> None:
    for _ in range(3):
        JudgmentDatabase(tmp_path / "j.db").close()
    with JudgmentDatabase(tmp_path / "j.db") as db:
        assert SCHEMA.version(db.db) == len(SCHEMA.migrations)


@pytest.mark.parametrize(
    ("labels", "majority"),
    [
        ("YES", "YES"),
        ("YES YES NO", "YES"),
        ("NO NO YES", "NO"),
        ("NO YES", "NOT_SURE"),
        ("YES NOT_SURE", "NOT_SURE"),
        ("YES YES NO NO NOT_SURE", "NOT_SURE"),
        ("NOT_SURE NOT_SURE YES", "NOT_SURE"),
    ],
)
def test_several_judgments_of_a_key_give_their_majority_and_a_tie_is_not_sure(
    labels: str, majority: str
) -> None:
    db = database(":memory:", *(judgment(Label(name), f"w{i}") for i, name in enumerate(labels.split())))
    assert db.count() == len(labels.split())
    assert db.db.execute("SELECT label, judgments FROM labels").fetchall() == [
        (majority, len(labels.split()))
    ]
    assert db.label("s", NP, "The  Patient") == Label(majority)
    assert db.label("s", NP, "a patient") is None


def test_votes_of_a_segment_of_workers_and_of_origins() -> None:
    db = database(
        ":memory:",
        judgment(Label.YES, "w1", origin="h1"),
        judgment(Label.NO, "w2", origin="h1"),
        judgment(Label.NOT_SURE, "w2", origin="h2"),
    )
    db.add_segments([Segment("t", "ja")])
    db.add([Judgment("t", Span(0, 1), "yes", Label.YES, "w1", "h2")])

    def votes(*counts: float) -> Votes:
        return Votes("s", NP, "the patient", *counts)

    yes = Votes("t", Span(0, 1), "yes", 1, 0, 0)
    assert db.votes() == [votes(1, 1, 1), yes]
    assert db.votes("t") == [yes]
    assert db.votes(workers=["w2"]) == [votes(0, 1, 1)]
    assert db.votes("s", origins={"h1"}) == [votes(1, 1, 0)]
    assert db.votes(workers=["w1"], origins=["h2"]) == [yes]
    assert db.votes(workers=[]) == db.votes("nowhere") == []


def test_votes_by_worker_and_by_origin() -> None:
    db = database(
        ":memory:",
        judgment(Label.YES, "w1", origin="h1", weight=0.5),
        judgment(Label.NO, "w2", origin="h1"),
        judgment(Label.NOT_SURE, "w2", origin="h2"),
        judgment(Label.NO, "w3", origin="h2", weight=0.0),
    )
    key = ("s", NP, "the patient")
    by_worker = {("w1", Votes(*key, 0.5, 0, 0)), ("w2", Votes(*key, 0, 1, 1))}
    assert set(db.votes_by("worker")) == by_worker
    assert set(db.votes_by("origin")) == {("h1", Votes(*key, 0.5, 1, 0)), ("h2", Votes(*key, 0, 0, 1))}
    db.exclude("w2", "does not read")
    assert list(db.votes_by("worker")) == [("w1", Votes(*key, 0.5, 0, 0))]
    with pytest.raises(RyptError, match="expected group as one of worker, origin"):
        list(db.votes_by("segment"))


def test_weights_are_added_up_and_weight_0_does_not_count() -> None:
    db = database(
        ":memory:",
        judgment(Label.YES, "w1", weight=0.25),
        judgment(Label.YES, "w2", weight=0.5),
        judgment(Label.NO, "w3", weight=0.5),
        judgment(Label.NOT_SURE, "w4", weight=0.0),
    )
    assert db.votes() == [Votes("s", NP, "the patient", 0.75, 0.5, 0.0)]
    assert db.label("s", NP, "the patient") == Label.YES
    with pytest.raises(DatabaseError, match="CHECK"):
        db.add([judgment(weight=-1.0)])


def test_the_same_judgment_twice_is_one() -> None:
    db = database(":memory:", judgment(time=7, origin="h"))
    before = list(db.judgments())
    assert db.add([judgment(time=7, origin="h"), judgment(time=7, origin="h")]) == 0
    assert list(db.judgments()) == before
    assert (
        db.add([judgment(origin="h2"), judgment(Label.NO, origin="h"), judgment(worker="v", origin="h")]) == 3
    )


def test_the_earliest_time_and_the_smallest_weight_stay_in_any_order() -> None:
    variants = [
        judgment(time=None, weight=0.5, source="simulation"),
        judgment(time=9, weight=1.0, source="hit"),
        judgment(time=4, weight=0.75, source="import"),
    ]
    for order in permutations(variants):
        db = database()
        for one in order:
            db.add([one])
        assert list(db.judgments()) == [judgment(time=4, weight=0.5, source="hit")]


def test_severities_of_no_are_summed_by_weight() -> None:
    db = database(
        ":memory:",
        judgment(Label.NO, "w1", severity=5.0, weight=0.5),
        judgment(Label.NO, "w2", severity=0.1, origin="h"),
        judgment(Label.NO, "w3", severity=0.0),
        judgment(Label.NO, "w4"),
        judgment(Label.YES, "w5"),
        judgment(Label.NO, "w6", severity=25.0, weight=0.0),  # rejected, does not count
        judgment(phrase="a patient"),
    )
    assert db.votes() == [
        Votes("s", NP, "a patient", 1, 0),
        Votes("s", NP, "the patient", 1, 3.5, 0, 2.6, 2.5),
    ]
    assert db.votes(origins=["h"]) == [Votes("s", NP, "the patient", 0, 1, 0, 0.1, 1)]
    by_worker = {worker: (vote.penalty, vote.graded) for worker, vote in db.votes_by("worker") if vote.no}
    assert by_worker == {"w1": (2.5, 0.5), "w2": (0.1, 1), "w3": (0, 1), "w4": (0, 0)}
    assert db.db.execute("SELECT penalty, graded FROM votes WHERE phrase = 'the patient'").fetchall() == [
        (2.6, 2.5)
    ]
    assert [j.severity for j in db.judgments("s")] == [None, 5.0, 0.1, 0.0, None, None, 25.0]
    assert db.has_severities()
    db.exclude("w1", "does not read")
    assert db.votes()[1].penalty == 0.1


def test_the_largest_severity_stays_in_any_order() -> None:
    for order in permutations([None, 1.0, 5.0, 0.0]):
        db = database()
        for severity in order:
            db.add([judgment(Label.NO, severity=severity)])
        assert list(db.judgments()) == [judgment(Label.NO, severity=5.0)]


@pytest.mark.parametrize(
    ("label", "severity", "message"),
    [
        (Label.YES, 1.0, "expected a severity with the label NO only, found 1.0 with YES"),
        (Label.NOT_SURE, 0.0, "expected a severity with the label NO only, found 0.0 with NOT_SURE"),
        (Label.NO, -1.0, "expected a severity of at least 0, found -1.0"),
        (Label.NO, float("nan"), "expected a severity of at least 0, found nan"),
        (Label.NO, float("inf"), "expected a severity of at least 0, found inf"),
    ],
)
def test_a_severity_that_says_nothing_is_refused(label: Label, severity: float, message: str) -> None:
    db = database()
    with pytest.raises(FormatError, match=f"^{message}$"):
        db.add([judgment(worker="v"), judgment(label, severity=severity)])
    assert (db.count(), db.has_severities()) == (0, False)


def test_a_severity_in_a_hit_is_kept_with_the_answer() -> None:
    db = database()
    tables = AnswerTables(db)
    labels = [
        LabelRow(1, "s", 0, 2, "the patient", "NO", False, 5.0),
        LabelRow(2, "s", 0, 2, "x", "YES", True),
    ]
    work = AssignmentRow("X1", "H1", "w", "Submitted", None, 9, None, {}, {})
    with db.writing():
        answer = judgment(Label.NO, origin="H1", source="hit", severity=5.0)
        tables.put(
            HitRow("H1", "b", "7", "label", 2, {}, {}, "local"), work, AnswerRows(labels, (), (), [answer])
        )
    assert tables.answers("X1").labels == labels
    tables.set_status("X1", "Rejected", {})
    assert (db.votes(), next(db.judgments()).severity) == ([], 5.0)
    tables.set_status("X1", "Approved", {})
    assert db.votes() == [Votes("s", NP, "the patient", 0, 1, 0, 5.0, 1)]


def test_case_is_fixed_when_the_database_is_made(tmp_path: Path) -> None:
    for case, keys in (("keep", ["The patient", "the patient"]), ("lower", ["the patient"])):
        path = tmp_path / f"{case}.db"
        with JudgmentDatabase(path, case=case) as db:
            db.add_segments([SEGMENT])
            db.add([judgment(phrase="The patient"), judgment(phrase="the patient")])
        with JudgmentDatabase(path, readonly=True) as db:
            assert (db.case, [j.phrase for j in db.judgments()]) == (case, keys)
        other = "lower" if case == "keep" else "keep"
        with pytest.raises(DatabaseError, match=f"case:{case}; case:{other} needs a database of its own"):
            JudgmentDatabase(path, case=other)
    with pytest.raises(RyptError, match="expected case as one of lower, keep"):
        JudgmentDatabase(tmp_path / "upper.db", case="upper")


def test_a_segment_keeps_its_text_and_its_tree() -> None:
    db = database()
    with pytest.raises(DatabaseError, match="another text"):
        db.add_segments([Segment("t", "neu"), Segment("s", "die Patientin")])
    with pytest.raises(DatabaseError, match="another tree"):
        db.add_segments([Segment("s", SEGMENT.text, "(S x)")])
    db.add_segments([Segment("s", SEGMENT.text, None, "de")])
    assert db.segments() == [Segment("s", SEGMENT.text, SEGMENT.tree, "de")]
    db.add_segments([Segment("s", SEGMENT.text, "(S x)")], replace_trees=True)
    assert db.segments() == [Segment("s", SEGMENT.text, "(S x)", "de")]


def test_the_context_manager_closes_and_folds_the_log_into_the_file(tmp_path: Path) -> None:
    with database(tmp_path / "j.db", judgment()) as db:
        assert (tmp_path / "j.db-wal").exists()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        db.count()
    assert os.listdir(tmp_path) == ["j.db"]


def test_readonly_reads_and_does_not_write(tmp_path: Path) -> None:
    database(tmp_path / "a?b#c%20.db", judgment()).close()
    with JudgmentDatabase(tmp_path / "a?b#c%20.db", readonly=True) as db:
        assert db.count() == 1
        with pytest.raises(DatabaseError, match="readonly"):
            db.add([judgment(worker="v")])


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that other users can reach, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


@contextmanager
def unwritable(folder: Path) -> Iterator[None]:
    """Take away the right to write; root, who has all rights, acts as nobody meanwhile."""
    root = os.geteuid() == 0
    os.chmod(folder, 0o555)
    if root:
        os.seteuid(NOBODY)
    try:
        if not os.access(folder, os.R_OK | os.X_OK, effective_ids=True):
            pytest.skip(f"{folder} cannot be reached by another user")
        yield
    finally:
        if root:
            os.seteuid(0)
        os.chmod(folder, 0o755)


def test_readonly_in_a_folder_without_the_right_to_write(public: Path) -> None:
    database(public / "j.db", judgment()).close()
    with unwritable(public):
        with JudgmentDatabase(public / "j.db", readonly=True) as db:
            assert list(db.judgments()) == [judgment()]
        with pytest.raises(DatabaseError, match=r"j\.db: .*(readonly|unable to open)"):
            database(public / "j.db")
        with pytest.raises(DatabaseError, match="unable to open"):
            database(public / "new.db")
    assert os.listdir(public) == ["j.db"]


def test_readonly_never_leaves_out_the_log_of_a_killed_writer(public: Path) -> None:
    database(public / "j.db", judgment()).close()
    script = f"""if True:
        import os, signal
        from rypt.database.judgments import JudgmentDatabase, Judgment, Label, Span
        db = JudgmentDatabase({str(public / "j.db")!r})
        db.add([Judgment("s", Span(0, 2), "the patient", Label.NO, "v")])
        os.kill(os.getpid(), signal.SIGKILL)"""
    assert subprocess.run([sys.executable, "-c", script]).returncode == -signal.SIGKILL
    (public / "j.db-shm").unlink()  # as after copying the database and its log elsewhere
    with unwritable(public), pytest.raises(DatabaseError, match="wal holds changes that cannot be read here"):
        JudgmentDatabase(public / "j.db", readonly=True)


def test_writes_do_not_nest() -> None:
    db = database()
    with pytest.raises(RuntimeError, match="one write inside another"), db.writing():
        db.add([judgment()])
    assert db.count() == 0


def test_votes_of_very_many_origins() -> None:
    db = database()
    db.add([judgment(origin="h7")])
    assert len(db.votes(origins=[f"h{i}" for i in range(300_000)])) == 1


# Files that are no databases of ours


def test_a_missing_or_empty_file_is_an_error_for_readers_and_a_new_database_for_writers(
    tmp_path: Path,
) -> None:
    path = tmp_path / "x.db"
    with pytest.raises(DatabaseError, match=r"x\.db: No such file"):
        JudgmentDatabase(path, readonly=True)
    assert not path.exists()
    path.touch()
    with pytest.raises(DatabaseError, match="expected a judgment database"):
        JudgmentDatabase(path, readonly=True)
    assert path.stat().st_size == 0
    with database(path, judgment()) as db:
        assert db.count() == 1


@pytest.mark.parametrize("damage", ["DROP TABLE settings", "DELETE FROM settings"])
def test_a_database_without_its_settings_is_a_database_error(tmp_path: Path, damage: str) -> None:
    with database(tmp_path / "x.db") as db:
        db.db.execute(damage)
        db.db.commit()
    with pytest.raises(DatabaseError, match=r"x\.db: "):
        JudgmentDatabase(tmp_path / "x.db", readonly=True)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="open files are listed on Linux only")
def test_a_failed_opening_leaves_no_open_file(tmp_path: Path) -> None:
    database(tmp_path / "j.db").close()
    with pytest.raises(DatabaseError) as failure:
        JudgmentDatabase(tmp_path / "j.db", case="keep")
    opened = {os.path.realpath(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")}
    assert str(tmp_path / "j.db") not in opened, failure


# Other processes, a kill, a full disk


@pytest.mark.parametrize("moment", range(1, 11))
def test_another_process_makes_the_database_while_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: int
) -> None:
    path, statements = tmp_path / "j.db", []

    def other_process() -> None:
        with (
            pytest.MonkeyPatch.context() as patch,
            suppress(DatabaseError),
        ):  # it may find the database locked
            patch.setattr(rypt.database.judgments, "BUSY_SECONDS", 0.0)
            patch.setattr(sqlite3, "connect", connect)
            JudgmentDatabase(path).close()

    class Interrupted(sqlite3.Connection):
        def execute(self, sql: str, parameters: Any = ()) -> sqlite3.Cursor:
            cursor = super().execute(sql, parameters)
            statements.append(sql)
            if len(statements) == moment:
                rows = cursor.fetchall()
                other_process()
                return super().execute(f"SELECT {', '.join('?' * len(rows[0]))}", rows[0]) if rows else cursor
            return cursor

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", partial(connect, factory=Interrupted))
    with JudgmentDatabase(path) as db:
        db.add_segments([SEGMENT])
        assert db.add([judgment()]) == 1
    assert len(statements) >= moment


def test_processes_that_make_and_fill_one_database_at_once_lose_and_double_nothing(tmp_path: Path) -> None:
    segment = '{"id": "s", "text": "der Patient"}\n'
    for i in range(3):
        lines = [segment, *(record(f"w{i}", f"p{k}") for k in range(200))]
        (tmp_path / f"{i}.jsonl").write_text("".join(lines))
    started = [start_import(tmp_path / "j.db", tmp_path / f"{i}.jsonl") for i in (0, 1, 2, 0, 1, 2)]
    outcomes = [(*process.communicate(), process.returncode) for process in started]
    assert [(errors, code) for _, errors, code in outcomes] == [("", 0)] * 6
    with JudgmentDatabase(tmp_path / "j.db", readonly=True) as db:
        assert [(j.worker, j.phrase) for j in db.judgments()] == sorted(
            ((f"w{i}", f"p{k}") for i in range(3) for k in range(200)), key=lambda pair: pair[::-1]
        )


KILLED_BEFORE_COMMIT = """
import os, signal, sys
from rypt.database import exchange
from rypt.database.judgments import JudgmentDatabase
insert = exchange._insert_staged
def insert_and_die(db, *arguments, **options):
    insert(db, *arguments, **options)
    db.db.execute("PRAGMA cache_spill = ON")
    print(db.count(), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
exchange._insert_staged = insert_and_die
exchange.import_file(JudgmentDatabase(sys.argv[1]), sys.argv[2])
"""


def test_an_import_killed_while_it_reads_leaves_the_old_state(tmp_path: Path) -> None:
    path, count = tmp_path / "j.db", 25_000
    database(path, judgment()).close()
    lines = [f'{{"id": "n{i}", "text": "{"wort " * 20}"}}\n' for i in range(count)]
    lines += [record("v", f"p{i}") for i in range(1000)]
    process = start_import(path, "-")
    assert process.stdin is not None
    process.stdin.write("".join(lines))  # the pipe holds 64 KiB: when this is written, most of it is read
    process.stdin.flush()
    assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    with JudgmentDatabase(path) as db:
        assert (db.segments(), list(db.judgments())) == ([SEGMENT], [judgment()])
        result = import_file(db, "-", blocks=[(1, [line.encode() for line in lines])])
        assert (result.added, result.segments, db.count()) == (1000, count, 1001)


def test_an_import_killed_before_its_commit_leaves_the_old_state(tmp_path: Path) -> None:
    path, count = tmp_path / "j.db", 20_000
    database(path, judgment()).close()
    (tmp_path / "lines").write_text("".join(record("v", f"p{i}") for i in range(count)))
    command = [sys.executable, "-c", KILLED_BEFORE_COMMIT, str(path), str(tmp_path / "lines")]
    died = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (died.returncode, died.stdout) == (-signal.SIGKILL, f"{count + 1}\n"), died.stderr
    with JudgmentDatabase(path) as db:
        assert list(db.judgments()) == [judgment()]
        assert db.db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert import_file(db, tmp_path / "lines").added == count


def test_a_phrase_is_one_line_however_it_is_added() -> None:
    db = database()
    with suppress(FormatError):  # to refuse it is as good
        db.add([judgment(phrase="the\npatient\x00")])
    assert [j.phrase for j in db.judgments()] in (["the patient"], [])


# What counts


def test_of_a_workers_answers_in_hits_the_last_counts_and_all_are_kept() -> None:
    given = [
        judgment(Label.YES, origin="h1", source="hit", time=5),
        judgment(Label.NO, origin="h0", source="hit", time=9),
        judgment(Label.NOT_SURE, origin="h2", source="hit", time=7),
        judgment(
            Label.NOT_SURE, origin="h3", source="hit", time=11, weight=0.0
        ),  # rejected, replaces nothing
    ]
    for order in permutations(given):
        db = database(":memory:", *order)
        assert db.votes() == [Votes("s", NP, "the patient", 0, 1, 0)]
        assert db.db.execute("SELECT label, judgments FROM labels").fetchall() == [("NO", 1)]
        assert db.count() == 4
    db.add([judgment(Label.YES, "v", origin="h1", source="hit"), judgment(Label.YES, origin="file", time=1)])
    assert db.votes() == [Votes("s", NP, "the patient", 2, 1, 0)]  # another worker, and an import: both count


def test_excluded_workers_do_not_count_anywhere_until_they_are_included(tmp_path: Path) -> None:
    with database(tmp_path / "j.db", judgment(worker="bad"), judgment(Label.NO, "good")) as db:
        db.add([judgment(worker="bad", phrase="a patient")])
        assert db.exclude("bad", "YES to\neverything", 7)
        assert (
            db.votes()
            == db.votes("s")
            == db.votes(workers=["good", "bad"])
            == [Votes("s", NP, "the patient", 0, 1, 0)]
        )
        assert (db.label("s", NP, "the patient"), db.label("s", NP, "a patient")) == (Label.NO, None)
        assert (db.count(), len(list(db.judgments()))) == (3, 3)
    with JudgmentDatabase(tmp_path / "j.db", readonly=True) as db:
        assert (len(db.votes()), db.excluded()) == (1, {"bad": "YES to everything"})
        with pytest.raises(DatabaseError, match="readonly"):
            db.include("bad")
    with JudgmentDatabase(tmp_path / "j.db") as db:
        assert db.include("bad")
        assert (len(db.votes()), db.excluded()) == (2, {})


FIRST = "m001_segments_and_judgments"
SECOND = "m002_judgments_that_count"


def older(path: Path, seen: int, names: Sequence[str] = (), hits: str | None = None) -> None:
    """A database that has seen so many migrations, which it records as version 0.1.0 did."""
    with sqlite3.connect(path) as connection:
        for statement in chain.from_iterable(SCHEMA.migrations[:seen]):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(
            "CREATE TABLE _sqlite_migrations (id INTEGER PRIMARY KEY, migration_set TEXT, name TEXT)"
        )
        connection.executemany(
            "INSERT INTO _sqlite_migrations VALUES (NULL, 'rypt', ?)", [[name] for name in names]
        )
        connection.execute("INSERT INTO settings VALUES ('case', 'lower')")
        if hits is not None:
            connection.execute("INSERT INTO settings VALUES ('hits', ?)", [hits])
        connection.execute("INSERT INTO segments (id, text) VALUES ('s', 'der Patient wurde isoliert .')")
        columns = "segment, start, stop, phrase, worker, label, source"
        connection.execute(
            f"INSERT INTO judgments ({columns}) VALUES ('s', 0, 2, 'the patient', 'w1', 'YES', 'import')"
        )
        if seen > 2:
            market = ", 'local'" if seen > 3 else ""
            connection.execute(
                f"INSERT INTO hits VALUES (NULL, 'H1', 'b1', '7-1', 'label', 2, '{{}}', '{{}}'{market})"
            )
            work = "NULL, 'X1', 'H1', 'A1', 'Submitted', 1, 9, 8, '{}', '{}'"
            connection.execute(f"INSERT INTO assignments VALUES ({work})")
    connection.close()


@pytest.mark.parametrize(
    ("seen", "names", "hits"),
    [(1, [FIRST], None), (2, [FIRST, SECOND], None), (3, [FIRST, SECOND], "1"), (4, [FIRST, SECOND], "2")],
)
def test_a_database_of_an_older_rypt_is_read_as_it_is_and_brought_up_to_date_when_written(
    tmp_path: Path, seen: int, names: list[str], hits: str | None
) -> None:
    path = tmp_path / "j.db"
    older(path, seen, names, hits)
    votes, before = [Votes("s", Span(0, 2), "the patient", 1, 0, 0)], path.read_bytes()
    with JudgmentDatabase(path, readonly=True) as db:
        assert (db.votes(), db.excluded(), db.label("s", Span(0, 2), "the patient")) == (votes, {}, Label.YES)
        assert [hit.market for hit, _ in AnswerTables(db).assignments()] == (["local"] if hits else [])
        with pytest.raises(DatabaseError, match="readonly"):
            db.exclude("w1", "spam")
    target = JudgmentDatabase(":memory:")
    assert (merge(target, path).others, target.votes()) == (1 if hits else 0, votes)
    assert path.read_bytes() == before
    with JudgmentDatabase(path) as db:
        assert SCHEMA.is_current(db.db)
        assert db.votes() == votes
        assert [hit.market for hit, _ in AnswerTables(db).assignments()] == (["local"] if hits else [])
        assert db.exclude("w1", "spam")
        assert db.votes() == []


@pytest.mark.parametrize("seen", [3, 5])
def test_hits_of_an_older_file_keep_their_answers_and_may_be_of_any_kind(tmp_path: Path, seen: int) -> None:
    older(tmp_path / "j.db", seen, [FIRST, SECOND], str(seen - 2))
    with JudgmentDatabase(tmp_path / "j.db") as db:
        tables = AnswerTables(db)
        ((hit, work),) = tables.assignments()
        assert (hit.id, hit.batch, hit.item, hit.kind, hit.size, work.id) == (
            "H1",
            "b1",
            "7-1",
            "label",
            2,
            "X1",
        )
        with db.writing():
            other = HitRow("H2", "b1", "7-2", "transcript", 1, {"item": "7-2"}, {}, "local")
            tables.put(other, AssignmentRow("X2", "H2", "A1", "Submitted", 1, 9, 8, {}, {}), AnswerRows())
        assert [hit.kind for hit, _ in tables.assignments()] == ["label", "transcript"]
        assert db.db.execute("PRAGMA foreign_key_check").fetchall() == []
        assert db.db.execute("PRAGMA foreign_keys").fetchone() == (1,)
        with pytest.raises(DatabaseError, match="FOREIGN KEY"), db.errors():
            db.db.execute("DELETE FROM hits WHERE id = 'H1'")


def test_pairs_with_the_same_text_count_once_whatever_an_older_file_says(tmp_path: Path) -> None:
    older(tmp_path / "j.db", 4, [FIRST, SECOND], "2")
    with sqlite3.connect(tmp_path / "j.db") as connection:
        connection.execute("INSERT INTO identical VALUES ('b1', 's', 'x', 'y', 5)")
        assert connection.execute("SELECT count(*) FROM counted_comparisons").fetchone() == (5,)
    connection.close()
    for readonly in (True, False):
        with JudgmentDatabase(tmp_path / "j.db", readonly=readonly) as db:
            tables = AnswerTables(db)
            assert tables.identical() == [IdenticalRow("b1", "s", "x", "y")]
            assert (tables.count_identical(), tables.comparisons()) == (1, [])


def test_a_database_with_severities_of_the_table_before_is_brought_up_to_date(tmp_path: Path) -> None:
    older(tmp_path / "j.db", 5, [FIRST, SECOND], "3")
    added = [
        judgment(Label.NO, "w1", origin="é", severity=5.0, weight=0.5, time=9, source="hit"),
        judgment(Label.NOT_SURE, "w2", phrase="Zwei", source="simulation"),
        judgment(worker="w1", phrase="the"),
    ]
    with sqlite3.connect(tmp_path / "j.db") as connection:
        connection.execute("PRAGMA user_version = 5")
        rows = [
            (
                j.segment,
                *j.span,
                j.phrase,
                j.worker,
                j.origin,
                j.label,
                n,
                j.source,
                j.time,
                j.weight,
                j.severity,
            )
            for n, j in enumerate(added, start=1)
        ]
        connection.executemany("INSERT INTO judgments VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    connection.close()
    expected = [added[1], added[2], judgment(worker="w1"), added[0]]
    for readonly in (True, False, True):
        with JudgmentDatabase(tmp_path / "j.db", readonly=readonly) as db:
            assert list(db.judgments()) == expected
            assert [j[7] for j in db.db.execute("SELECT * FROM judgments")] == [2, 3, 1, 1]
    with JudgmentDatabase(tmp_path / "j.db") as db:
        assert (
            db.add([*expected, judgment(worker="new"), judgment(phrase="new")]) == 2 + 2
        )  # their repeat was another


KILLED_IN_MIGRATION = """
import os, signal, sqlite3, sys
from rypt.database.judgments import JudgmentDatabase
class Dying(sqlite3.Connection):
    def execute(self, sql, parameters=()):
        if "DROP TABLE judgments" in sql:
            super().execute(sql)
            super().execute("PRAGMA cache_spill = ON")
            os.kill(os.getpid(), signal.SIGKILL)
        return super().execute(sql, parameters)
connect = sqlite3.connect
sqlite3.connect = lambda *args, **options: connect(*args, factory=Dying, **options)
JudgmentDatabase(sys.argv[1])
"""


def test_a_migration_that_is_killed_leaves_the_old_state(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    older(path, 4, [FIRST, SECOND], "2")
    with sqlite3.connect(path) as connection:
        row = "'s', 0, 2, 'p' || value, 'w1', '', 'YES', 1, 'import', NULL, 1"
        connection.execute(
            f"WITH RECURSIVE n (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n LIMIT 20000)"
            f" INSERT INTO judgments SELECT {row} FROM n"
        )
    connection.close()
    died = subprocess.run(
        [sys.executable, "-c", KILLED_IN_MIGRATION, str(path)], capture_output=True, timeout=120
    )
    assert died.returncode == -signal.SIGKILL, died.stderr
    with sqlite3.connect(path) as connection:
        tables = {
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
        assert "judgment_rows" not in tables
        assert connection.execute("SELECT count(*) FROM judgments").fetchone() == (20_001,)
    connection.close()
    with JudgmentDatabase(path) as db:
        assert (db.count(), len(db.votes()), SCHEMA.is_current(db.db)) == (20_001, 20_001, True)


# SQL of users


def test_the_view_of_judgments_is_written_like_a_table() -> None:
    db = database(":memory:", judgment(Label.NO, "v", severity=1.0, origin="h"), judgment(worker="w"))
    columns = "segment, start, stop, phrase, worker, label, source"
    db.db.execute(f"INSERT INTO judgments ({columns}) VALUES ('s', 2, 3, 'was', 'new', 'YES', 'import')")
    was = Judgment("s", Span(2, 3), "was", Label.YES, "new")
    assert list(db.judgments()) == [
        judgment(Label.NO, "v", severity=1.0, origin="h"),
        judgment(worker="w"),
        was,
    ]
    db.db.execute("UPDATE judgments SET origin = 'of ' || worker, weight = 0.5 WHERE start = 0")
    db.db.execute("UPDATE judgments SET phrase = 'is', segment = 's' WHERE worker = 'new'")
    assert list(db.judgments()) == [
        judgment(Label.NO, "v", severity=1.0, origin="of v", weight=0.5),
        judgment(worker="w", origin="of w", weight=0.5),
        Judgment("s", Span(2, 3), "is", Label.YES, "new"),
    ]
    db.db.execute("DELETE FROM judgments WHERE label = 'NO'")
    assert [j.worker for j in db.judgments()] == ["w", "new"]
    for values in (
        ("t", 0, 1, "x", "w", "YES", "hit"),
        ("s", 0, 1, "x", "w", "MAYBE", "hit"),
        ("s", 0, 1, "", "w", "YES", "hit"),
        ("s", 0, 1, "x", "w", "YES", "rumour"),
    ):
        with pytest.raises(sqlite3.IntegrityError):
            db.db.execute(f"INSERT INTO judgments ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", values)
    db.db.commit()
    assert db.add([judgment(phrase="is"), judgment(phrase="another")]) == 2
    assert len({number for (number,) in db.db.execute("SELECT id FROM phrases")}) == 5


def test_numbers_that_memory_forgets_are_looked_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rypt.database.writing, "ROWS", 3)
    monkeypatch.setattr(rypt.database.writing, "REMEMBERED", 2)
    added = [
        Judgment("s", Span(i % 3, 4), f"{'P' if i % 2 else 'p'}{i % 4}", Label.YES, f"w{i % 5}", f"o{i % 7}")
        for i in range(200)
    ]
    db = database(":memory:", *added, *added)
    assert list(db.judgments()) == sorted(
        {replace(j, phrase=j.phrase.lower()) for j in added},
        key=lambda j: (*j.span, j.phrase, j.worker, j.origin),
    )


@pytest.mark.parametrize(
    ("names", "hits"), [([FIRST, SECOND, "m999_telepathy"], None), ([FIRST, SECOND], "99")]
)
def test_a_database_of_a_newer_rypt_is_refused_however_it_says_so(
    tmp_path: Path, names: list[str], hits: str | None
) -> None:
    older(tmp_path / "j.db", 4, names, hits)
    for readonly in (True, False):
        with pytest.raises(
            DatabaseError, match=r"was made by a newer rypt \((m999_telepathy|version 101)\); update rypt"
        ):
            JudgmentDatabase(tmp_path / "j.db", readonly=readonly)
