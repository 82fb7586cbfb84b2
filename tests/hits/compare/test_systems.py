"""Preferences between two systems, against counting by hand; and ``rypt rank pairs --systems``."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from hits.cli.rank.group import rank
from hits.compare.systems import preferences_between
from hits.ranking.data import comparisons_of
from hits.records import Assignment
from hits.results.answers import Results
from rypt.database.judgments import JudgmentDatabase
from rypt.text import RyptError

NAMES = ("a", "b", "c")
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["s1", "s2", "s3"]),
        st.permutations(NAMES),
        st.sampled_from([1, 0, -1]),
        st.sampled_from(["w1", "ASIMULATED2"]),
    ),
    max_size=30,
)


@given(ROWS)
def test_votes_are_counted_by_segment(rows) -> None:
    records = [(segment, order[0], order[1], outcome, worker) for segment, order, outcome, worker in rows]
    expected: dict[str, Counter[str]] = {}
    for segment, first, second, outcome, _ in records:
        if {first, second} != {"a", "b"}:
            continue
        winner = "neither" if outcome == 0 else first if outcome == 1 else second
        expected.setdefault(segment, Counter())[winner] += 1
    comparisons = comparisons_of(records, NAMES)
    if not expected:
        with pytest.raises(RyptError, match="a and b were never compared with each other"):
            preferences_between(comparisons, "a", "b")
        return
    found = preferences_between(comparisons, "a", "b")
    assert found.segments == {s: (votes["a"], votes["b"], votes["neither"]) for s, votes in expected.items()}
    assert found.simulated == sum(
        worker.startswith("AS") and {*pair} == {"a", "b"} for _, *pair, _, worker in records
    )
    other = preferences_between(comparisons, "b", "a")
    assert other.segments == {s: (votes["b"], votes["a"], votes["neither"]) for s, votes in expected.items()}


def test_excluded_workers_are_named(tmp_path: Path) -> None:
    path = tmp_path / "judgments.db"
    with JudgmentDatabase(path) as db:
        for worker, system in (("Ada", "y"), ("Bob", "y"), ("Eli", "y"), ("Fay", "z"), ("Ada", "z")):
            answer = Assignment(
                batch="b",
                item="i1",
                hit=f"h-{system}",
                id=f"a-{worker}-{system}",
                worker=worker,
                fields={"choice": "B"},
            )
            Results(db).add([replace(answer, columns={"segment": "1", "system_a": "x", "system_b": system})])
        for worker in ("Eli", "Fay"):
            db.exclude(worker, "clicks")
    arguments = ["pairs", str(path), "--systems", "x,y"]
    out = CliRunner().invoke(rank, arguments, catch_exceptions=False).stdout.splitlines()
    assert out[0].startswith(
        "People prefer y to x: +100.0 points (95 % interval +100.0 to +100.0), % of the judgments "
    )
    assert out[1] == "without Eli (excluded)"  # Fay never compared these two
    record = json.loads(CliRunner().invoke(rank, [*arguments, "--json"], catch_exceptions=False).stdout)
    assert (record["net"], record["judgments"]) == (-1.0, {"x": 0, "y": 2, "neither": 0})


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    path = tmp_path / "judged"
    rows = ["1,x,y,A", "1,y,x,B", "1,x,y,A", "2,x,y,B", "2,x,y,tie", "3,y,z,A"]
    path.write_text("\n".join(["segment,a,b,winner", *rows, ""]))
    return path


def test_tables(judged: Path) -> None:
    def printed(*options: str) -> str:
        arguments = ["pairs", str(judged), "--systems", "x,y", *options]
        return CliRunner().invoke(rank, arguments, catch_exceptions=False).stdout

    out = [line.split() for line in printed().splitlines()]
    assert out[4:8] == [
        ["x", "3", "60.0"],
        ["y", "1", "20.0"],
        ["neither", "1", "20.0"],
        ["total", "5", "100.0"],
    ]
    assert [(row[:-2], row[-2]) for row in out[11:21] if row[-2] != "0"] == [
        (["x", "+3"], "1"),
        (["y", "+1"], "1"),
        (["x", "+any"], "1"),
        (["y", "+any"], "1"),
        (["total"], "2"),
    ]
    assert printed().startswith("No significant preference for x or y: +40.0 points (")  # 60 % - 20 %
    found = json.loads(printed("--json"))
    assert found["judgments"] == {"x": 3, "y": 1, "neither": 1}
    assert found["aggregates"] == {"+3": 1, "-1": 1}
    latex = printed("--table", "latex")
    assert latex.count(r"\begin{tabular}") == 2
    assert latex.startswith("% No significant preference")


@pytest.mark.parametrize(
    ("pair", "reason"), [("x,nobody", "'nobody'"), ("x,x", "twice"), ("x,z", "never compared")]
)
def test_systems_that_cannot_be_compared(judged: Path, pair: str, reason: str) -> None:
    with pytest.raises(RyptError, match=reason):
        CliRunner().invoke(rank, ["pairs", str(judged), "--systems", pair], catch_exceptions=False)
