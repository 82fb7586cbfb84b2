"""Reports from columns are those from single replies, to the last digit."""

from collections import Counter
from dataclasses import asdict, replace

from hypothesis import given
from hypothesis import strategies as st

from hits.records import Assignment
from hits.results.answers import Results
from hits.results.quality import read_efforts, read_replies, reports, worker_reports
from hits.results.reply_columns import read_reply_columns
from hits.results.verdicts import Limits, WorkerReport
from rypt.database.judgments import JudgmentDatabase
from rypt.records import Judgment, Label, Segment, Span

ITEM = {
    "segment": "7",
    "start": "0",
    "stop": "1",
    "phrase_4": "a",
    "control_4": "NO",
    "control_kind_4": "damaged",
}
SOURCES = st.sampled_from(["import", "simulation", "hit"])
NAMES = {"Y": "YES", "N": "NO", "?": "NOT_SURE"}
WORKERS = st.sampled_from(["A1", "A2", "A3"])
HITS = st.lists(
    st.tuples(st.sampled_from(["H1", "H2", "H3"]), WORKERS, st.text("YN?", min_size=4, max_size=4)),
    max_size=6,
    unique_by=lambda hit: hit[:2],
)
COMPARED = st.lists(
    st.tuples(st.sampled_from("789"), WORKERS, st.sampled_from(["A", "B", "EQUAL"]), st.booleans()),
    max_size=6,
    unique_by=lambda one: one[:2],
)
IMPORTED = st.lists(
    st.builds(
        Judgment,
        st.just("7"),
        st.just(Span(0, 1)),
        st.sampled_from(["a", "b", "aH1"]),
        st.sampled_from(Label),
        st.sampled_from(["A1", "A2", "F"]),
        st.sampled_from(["", "f"]),
        SOURCES,
        st.sampled_from([None, 3, 5]),
        weight=st.just(1.0),
        severity=st.none(),
    ),
    max_size=15,
)


def results_of(
    hits: list[tuple[str, str, str]], compared: list[tuple[str, str, str, bool]], imported: list[Judgment]
) -> Results:
    db = JudgmentDatabase(":memory:")
    db.add_segments([Segment("7", "der Patient")])
    results = Results(db)
    for number, (hit, worker, labels) in enumerate(hits):
        fields = {f"label_{i}": NAMES[label] for i, label in enumerate(labels, start=1)}
        answer = Assignment(
            batch="b1",
            item=hit,
            hit=hit,
            id=f"X{number}",
            worker=worker,
            fields=fields,
            accepted=number,
            submitted=number + 9 + number % 3,
        )
        phrases = {"item": hit, "phrase_1": f"a{hit}", "phrase_2": "b", "phrase_3": f"c{hit}"}
        results.add([replace(answer, columns={**ITEM, **phrases})])
    for number, (segment, worker, choice, turned) in enumerate(compared):
        systems = {"system_a": "y", "system_b": "x"} if turned else {"system_a": "x", "system_b": "y"}
        answer = Assignment(
            batch="b1",
            item="c",
            hit=f"C{number}",
            id=f"Y{number}",
            worker=worker,
            fields={"choice": choice},
            accepted=0,
            submitted=30,
        )
        results.add([replace(answer, columns={"item": "c", "segment": segment, **systems})])
    db.add(imported)
    return results


def as_text(found: list[WorkerReport]) -> list[str]:
    return [repr(asdict(report)) for report in found]


@given(HITS, COMPARED, IMPORTED)
def test_the_reports_are_the_same(
    hits: list[tuple[str, str, str]], compared: list[tuple[str, str, str, bool]], imported: list[Judgment]
) -> None:
    results = results_of(hits, compared, imported)
    if hits:
        results.db.exclude(hits[0][1], "test")
    unread = Counter(row.worker for row in results.left_out())
    single = reports(
        read_replies(results),
        read_efforts(results),
        results.controls(),
        results.db.excluded(),
        Limits(),
        unread,
    )
    assert as_text(worker_reports(results)) == as_text(single)


def test_columns_of_nothing() -> None:
    columns = read_reply_columns(results_of([], [], []))
    assert (columns.workers, len(columns.worker)) == ([], 0)
    assert worker_reports(results_of([], [], [])) == []
