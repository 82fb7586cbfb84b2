"""The judgment database: what it holds and counts, what check finds, and what it survives."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from sqlite_utils.cli import cli

from rypt.database.check import check, summary
from rypt.database.exchange import import_file
from rypt.database.judgments import DatabaseError, JudgmentDatabase
from rypt.database.votes import NO, read_votes
from rypt.records import Judgment, Label, Segment, Span
from rypt.text import RyptError

RYPT = [sys.executable, "-c", "from rypt.cli import main; main()"]
TREE = "(S (NP (A der) (N Patient)) (V wurde) (VP isoliert) (. .))"
SEGMENT = Segment("s", "der Patient wurde isoliert .", TREE)
NP = Span(0, 2)
NOBODY = 65534


def judgment(label=Label.YES, worker="w", phrase="the patient", span=NP, **more):
    return Judgment("s", span, phrase, label, worker, **more)


def database(path: str | Path = ":memory:", *judgments: Judgment, **options: Any) -> JudgmentDatabase:
    db = JudgmentDatabase(path, **options)
    db.add_segments([SEGMENT])
    db.add(judgments)
    return db


def counts(db: JudgmentDatabase) -> dict[str, list[float]]:
    """YES, NO and NOT_SURE of each phrase, in arrays and in the view."""
    votes = read_votes(db)
    sums = {key[3]: row[:3] for key, row in zip(votes.keys, votes.counts().tolist(), strict=True)}
    rows = db.db.view("votes").rows
    assert {row["phrase"]: [row["yes"], row["no"], row["not_sure"]] for row in rows} == sums
    return sums


def record(worker: str, phrase: str) -> str:
    return f'{{"segment": "s", "start": 0, "stop": 2, "phrase": "{phrase}", "label": "YES", "worker": "{worker}"}}\n'


def start_import(path: Path, file: str | Path) -> subprocess.Popen[str]:
    command, pipe = [*RYPT, "import", "-C", str(path), str(file)], subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, encoding="utf-8")


# What is stored


@pytest.mark.parametrize(
    ("labels", "majority"),
    [("YES YES NO", "YES"), ("NO YES", "NOT_SURE"), ("YES YES NO NO NOT_SURE", "NOT_SURE")],
)
def test_several_judgments_of_a_key_give_their_majority_and_a_tie_is_not_sure(labels, majority):
    db = database(":memory:", *(judgment(Label(name), f"w{i}") for i, name in enumerate(labels.split())))
    assert db.rows("SELECT label, judgments FROM labels") == [(majority, len(labels.split()))]
    assert db.label("s", NP, "The  Patient") == Label(majority)
    assert db.label("s", NP, "a patient") is None


def test_the_same_judgment_twice_is_one() -> None:
    db = database(":memory:", judgment(time=7, origin="h"))
    assert db.add([judgment(time=7, origin="h"), judgment(time=7, origin="h")]) == 0
    assert list(db.judgments()) == [judgment(time=7, origin="h")]
    more = [judgment(origin="h2"), judgment(Label.NO, origin="h"), judgment(worker="v", origin="h")]
    assert db.add(more) == 3


def test_the_earliest_time_the_smallest_weight_and_the_largest_severity_stay_in_any_order() -> None:
    variants = [
        judgment(Label.NO, time=None, weight=0.5, source="simulation", severity=1.0),
        judgment(Label.NO, time=9, weight=1.0, source="hit", severity=5.0),
        judgment(Label.NO, time=4, weight=0.75, source="import"),
    ]
    for order in permutations(variants):
        db = database()
        for one in order:
            db.add([one])
        assert list(db.judgments()) == [judgment(Label.NO, time=4, weight=0.5, source="hit", severity=5.0)]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (judgment(Label.YES, severity=1.0), "a severity with the label NO only, found 1.0 with YES"),
        (judgment(worker=" "), "expected a worker"),
        (judgment(weight=-1.0), "CHECK"),
        (Judgment("nowhere", NP, "x", Label.YES, "w"), "segment 'nowhere' is not in the database"),
    ],
)
def test_a_wrong_judgment_is_refused_with_all_that_came_with_it(wrong: Judgment, message: str) -> None:
    db = database()
    with pytest.raises(RyptError, match=message):
        db.add([judgment(worker="v"), wrong])
    assert (db.count(), db.rows("SELECT * FROM phrases")) == (0, [])


def test_case_is_fixed_when_the_database_is_made(tmp_path: Path) -> None:
    for case, keys in (("keep", ["The patient", "the patient"]), ("lower", ["the patient"])):
        path = tmp_path / f"{case}.db"
        database(path, judgment(phrase="The patient"), judgment(phrase="the\npatient"), case=case).close()
        with JudgmentDatabase(path, readonly=True) as db:
            assert (db.case, [j.phrase for j in db.judgments()]) == (case, keys)
        other = "lower" if case == "keep" else "keep"
        with pytest.raises(DatabaseError, match=f"case:{case}; case:{other} needs a database of its own"):
            JudgmentDatabase(path, case=other)


def test_a_segment_keeps_its_text_and_its_tree() -> None:
    db = database()
    for other in (Segment("s", "die Patientin"), Segment("s", SEGMENT.text, "(S x)")):
        with pytest.raises(DatabaseError, match=r"another (text|tree)"):
            db.add_segments([Segment("t", "neu"), other])
    db.add_segments([Segment("s", SEGMENT.text, None, "de")])
    assert db.segments() == [Segment("s", SEGMENT.text, SEGMENT.tree, "de")]


# What counts


def test_of_a_workers_answers_in_hits_the_last_counts_and_all_stay() -> None:
    given = [
        judgment(Label.YES, origin="h1", source="hit", time=5),
        judgment(Label.NO, origin="h0", source="hit", time=9),
        judgment(Label.NOT_SURE, origin="h2", source="hit", time=7),
        judgment(Label.NOT_SURE, origin="h3", source="hit", time=11, weight=0.0),  # rejected work
    ]
    for order in permutations(given):
        db = database(":memory:", *order)
        assert counts(db) == {"the patient": [0, 1, 0]}
        assert (db.label("s", NP, "the patient"), db.count()) == (Label.NO, 4)
    db.add([judgment(Label.YES, "v", origin="h1", source="hit"), judgment(Label.YES, origin="file", time=1)])
    assert counts(db) == {"the patient": [2, 1, 0]}  # another worker, and an import: both count


def test_excluded_workers_do_not_count_until_they_are_included(tmp_path: Path) -> None:
    with database(tmp_path / "j.db", judgment(worker="bad"), judgment(Label.NO, "good")) as db:
        db.add([judgment(worker="bad", phrase="a patient")])
        assert db.exclude("bad", "YES to\neverything", 7)
        assert counts(db) == {"the patient": [0, 1, 0]}
        assert (db.label("s", NP, "the patient"), db.label("s", NP, "a patient")) == (Label.NO, None)
        assert (db.count(), db.count_counted(), len(list(db.judgments()))) == (3, 1, 3)
    with JudgmentDatabase(tmp_path / "j.db", readonly=True) as db:
        assert db.excluded() == {"bad": "YES to everything"}
        with pytest.raises(DatabaseError, match="readonly"):
            db.include("bad")
    with JudgmentDatabase(tmp_path / "j.db") as db:
        assert db.include("bad")
        assert counts(db) == {"a patient": [1, 0, 0], "the patient": [1, 1, 0]}


# Reading only, and files that are no databases of ours


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
    database(public / "a?b#c%20.db", judgment()).close()
    with unwritable(public):
        with JudgmentDatabase(public / "a?b#c%20.db", readonly=True) as db:
            assert list(db.judgments()) == [judgment()]
        with pytest.raises(DatabaseError, match=r"\.db: .*(readonly|unable to open)"):
            database(public / "a?b#c%20.db")
        with pytest.raises(DatabaseError, match="unable to open"):
            database(public / "new.db")
    assert os.listdir(public) == ["a?b#c%20.db"]


@pytest.mark.slow
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


# Other processes, a kill


@pytest.mark.slow
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
from rypt.database.judgments import JudgmentDatabase, Writer
flush = Writer.flush
def flush_and_die(writer):
    flush(writer)
    writer._db.execute("PRAGMA cache_spill = ON")
    print(writer._db.execute("SELECT count(*) FROM judgment_rows").fetchone()[0], flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
Writer.flush = flush_and_die
exchange.import_file(JudgmentDatabase(sys.argv[1]), sys.argv[2])
"""


@pytest.mark.slow
def test_an_import_killed_before_its_commit_leaves_the_old_state(tmp_path: Path) -> None:
    path, count = tmp_path / "j.db", 20_000
    database(path, judgment()).close()
    (tmp_path / "lines").write_text("".join(record("v", f"p{i}") for i in range(count)))
    command = [sys.executable, "-c", KILLED_BEFORE_COMMIT, str(path), str(tmp_path / "lines")]
    died = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (died.returncode, died.stdout) == (-signal.SIGKILL, f"{count + 1}\n"), died.stderr
    with JudgmentDatabase(path) as db:
        assert list(db.judgments()) == [judgment()]
        assert db.rows("PRAGMA integrity_check") == [("ok",)]
        assert import_file(db, tmp_path / "lines").added == count


# For users of sqlite-utils


def test_the_queries_of_the_documentation(tmp_path: Path) -> None:
    page = Path(__file__).parents[3] / "docs" / "formats.md"
    commands = re.findall(
        '^sqlite-utils query judgments.db "(.*)"$', page.read_text(encoding="utf-8"), re.MULTILINE
    )
    hit = {"time": 1253553072, "source": "hit"}
    with database(
        tmp_path / "j.db", judgment(**hit), judgment(Label.NO, "v"), judgment(phrase="a patient")
    ) as db:
        db.exclude("v", "bad")
        db.add([judgment(Label.NO, "u")])
        db.add_segments([Segment("news-12", "ja")])
        db.add([Judgment("news-12", Span(0, 1), "yes", Label.YES, "w", time=1253553072)])
    results = []
    for sql in commands:
        done = CliRunner().invoke(cli, ["query", str(tmp_path / "j.db"), sql])
        results.append(json.loads(done.output))
    disputed, workers, news = results
    assert disputed == [{"segment": "s", "phrase": "the patient", "yes": 1.0, "no": 1.0}]
    assert workers[0] == {"worker": "w", "judgments": 3, "yes": 1.0, "excluded": None}
    assert {row["worker"]: row["excluded"] for row in workers} == {"w": None, "v": "bad", "u": None}
    said = {"phrase": "yes", "worker": "w", "label": "YES", "day": "2009-09-21"}
    assert news == [{"start": 0, "stop": 1, **said}]


GRADED = st.builds(
    lambda segment, start, phrase, worker, origin, graded, weight: Judgment(
        segment, Span(start, start + 1), phrase, graded[0], worker, origin, weight=weight, severity=graded[1]
    ),
    st.sampled_from(["10", "9"]),
    st.integers(0, 2),
    st.sampled_from(["b", "a"]),
    st.sampled_from(["Zoe", "Ada", "both"]),
    st.sampled_from(["", "JHU", "both"]),
    st.sampled_from([*((label, None) for label in Label), *((Label.NO, s) for s in (0.0, 0.1, 1.0, 5.0))]),
    st.sampled_from([0.0, 0.1, 0.2, 1.0]),
)


def key_of(judgment: Judgment) -> tuple[str, int, int, str]:
    return judgment.segment, *judgment.span, judgment.phrase


def sums(judgments: Sequence[Judgment]) -> Counter[tuple[Any, str]]:
    """Exact sums in tenths, which are all that occurs here."""
    total: Counter[tuple[Any, str]] = Counter()
    for j in judgments:
        weight = Fraction(round(j.weight * 10), 10)
        total[key_of(j), str(j.label)] += weight
        if j.severity is not None:
            total[key_of(j), "penalty"] += weight * Fraction(round(j.severity * 10), 10)
            total[key_of(j), "graded"] += weight
    return total


@given(st.lists(GRADED, max_size=12))
def test_counts_are_the_sums_of_what_counts(judgments: list[Judgment]) -> None:
    db = JudgmentDatabase(":memory:")
    db.add_segments([Segment("9", "a b c"), Segment("10", "a b c")])
    db.add(judgments)
    db.exclude("Zoe", "a bot")
    stored = [j for j in db.judgments() if j.weight > 0 and j.worker != "Zoe"]
    votes = read_votes(db)
    assert votes.keys == sorted({key_of(j) for j in stored})
    assert sorted(
        (votes.keys[k], votes.workers[w], votes.origins[o], weight)
        for k, w, o, weight in zip(votes.key, votes.worker, votes.origin, votes.weight, strict=True)
    ) == sorted((key_of(j), j.worker, j.origin, j.weight) for j in stored)
    assert np.isnan(votes.severity[votes.label != NO]).all()
    of_ada = np.array([votes.workers[w] == "Ada" for w in votes.worker], np.bool_)
    for mask, chosen in ((None, stored), (of_ada, [j for j in stored if j.worker == "Ada"])):
        expected = sums(chosen)
        names = ("YES", "NO", "NOT_SURE", "penalty", "graded")
        assert votes.counts(mask).tolist() == [
            [float(expected[key, name]) for name in names] for key in votes.keys
        ]


# What check finds

SEGMENTS = [SEGMENT, Segment("bare", "ja  gut ")]


@pytest.fixture
def db() -> JudgmentDatabase:
    """A database in which nothing is wrong."""
    db = JudgmentDatabase(":memory:")
    db.add_segments(SEGMENTS)
    db.add([judgment(), judgment(Label.NO, "v"), judgment(span=Span(3, 4)), judgment(span=Span(0, 5))])
    return db


def problems(db: JudgmentDatabase, sources: list[Segment] | None = None) -> list[tuple[str, int]]:
    """The kinds of problems, and how many judgments each touches."""
    return [(problem.kind, problem.judgments) for problem in check(db, sources)]


def test_nothing_is_wrong_in_a_clean_or_an_empty_database(db: JudgmentDatabase) -> None:
    now = [SEGMENT, Segment("bare", "ja gut"), Segment("new", "noch einer")]
    assert problems(db) == problems(db, now) == problems(JudgmentDatabase(":memory:")) == []


def test_what_check_finds(db: JudgmentDatabase) -> None:
    db.add([judgment(span=Span(1, 3)), judgment(span=Span(1, 3), worker="v"), judgment(span=Span(2, 9))])
    db.add([Judgment("bare", Span(0, 1), "yes", Label.YES, worker) for worker in "vw"])
    db.add_segments([Segment("t", "kein Wort", "(S (NOUN ein) (VP Wort))")])
    db.db.execute("UPDATE phrases SET phrase = 'the [Skip] patient' WHERE start = 3")
    db.add([judgment(Label.NOT_SURE), judgment(Label.NO, origin="elsewhere")])
    assert db.count_contradictions() == 0
    db.add([judgment(Label.NO)])
    assert db.count_contradictions() == 1
    assert Counter(problems(db)) == Counter(
        {
            ("span is not a constituent", 2): 1,
            ("span is not a constituent", 1): 1,
            ("segment without a usable parse", 2): 1,
            ("tree does not fit its text", 0): 1,
            ("phrase is not in normal form", 1): 1,
            ("worker said YES and NO in one place", 2): 1,
        }
    )
    texts = list(map(str, check(db, [replace(SEGMENT, text="die Patientin"), SEGMENTS[1]])))
    assert "segment text changed: segment s was 'der Patient" in texts[0]
    assert problems(db, SEGMENTS[1:])[0] == ("segment is not in the source", 10)


@pytest.mark.parametrize(("look", "table"), [(problems, "judgment_rows"), (summary, "settings")])
def test_a_damaged_file_is_an_error_that_names_it(tmp_path, look, table):
    """The page on which a table begins is overwritten."""
    path = tmp_path / "x.db"
    with database(path, judgment()) as db:
        ((page,),) = db.rows("SELECT rootpage FROM sqlite_master WHERE name = ?", table)
        ((size,),) = db.rows("PRAGMA page_size")
    content = bytearray(path.read_bytes())
    content[(page - 1) * size : page * size] = b"\xff" * size
    path.write_bytes(content)
    with pytest.raises(DatabaseError, match=r"x\.db: .*malformed"):  # noqa: SIM117
        with JudgmentDatabase(path, readonly=True) as db:
            look(db)


def test_the_summary_counts_everything(db: JudgmentDatabase) -> None:
    db.add([judgment(worker="v", span=Span(3, 4), origin="h", source="simulation")])
    db.add([judgment(Label.NOT_SURE, "u", span=Span(0, 5), origin="h")])
    numbers = summary(db)
    names = (
        "segments",
        "without_parse",
        "judgments",
        "of_these_count",
        "excluded_workers",
        "keys",
        "workers",
    )
    assert [numbers[name] for name in names] == [2, 1, 6, 6, 0, 3, 3]
    assert (numbers["keys_judged_twice_or_more"], numbers["of_these_unanimous"]) == (3, 1)
    assert numbers["labels"] == {"YES": 4, "NO": 1, "NOT_SURE": 1}
    assert numbers["sources"] == {"import": 5, "simulation": 1}
