"""Tables with a header, JSON, rankings and counts: columns recognised or named, winners in all spellings, bad lines."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hits.ranking.data import Comparisons
from hits.ranking.readers.files import ComparisonFiles
from hits.ranking.readers.text_file import read_columns
from hits.ranking.scores.data import SegmentScores
from rypt.text import InputError, RyptError

Make = Callable[..., Path]
HEADER = "srclang,trglang,srcIndex,documentId,segmentId,judgeId," + ",".join(
    [f"system{k}Number,system{k}Id" for k in range(1, 6)] + [f"system{k}rank" for k in range(1, 6)]
)


def row(
    ranks: str,
    systems: str | tuple[str, ...] = "abcde",
    segment: int = 7,
    judge: str = "turker_1",
    languages: str = "French,English",
) -> str:
    cells = ",".join(f"-1,{name}" for name in systems)
    return f"{languages},{segment},-1,{segment},{judge},{cells},{','.join(ranks.split())}"


def compared(path: Path) -> Comparisons:
    return ComparisonFiles((path,)).read()


def scored(path: Path, **options: object) -> SegmentScores:
    data = ComparisonFiles((path,), **options).part().data  # type: ignore[arg-type]
    assert isinstance(data, SegmentScores)
    return data


def records(c: Comparisons) -> list[tuple[str, str, str, int, str]]:
    columns = zip(c.a, c.b, c.outcome, c.segment, c.worker, strict=True)
    return [(c.segments[s], c.systems[a], c.systems[b], int(o), c.workers[w]) for a, b, o, s, w in columns]


def outcomes(c: Comparisons) -> set[tuple[str, str, int]]:
    return {record[1:4] for record in records(c)}


@pytest.mark.parametrize(
    "lines",
    [
        ["segment,system_a,system_b,winner,annotator", "7,x,y,x,anna"],
        ["Segment ID\tSystem A\tSystem B\tChoice\tJudge", "7\tx\ty\tA\tanna"],
        ["item;model_a;model_b;Better;user", "7;x;y;A;anna"],
        ["srcIndex,left,right,verdict,rater", "7,x,y,left,anna"],
        ['{"segment": 7, "model_a": "x", "model_b": "y", "winner": "model_a", "user": "anna"}'],
        ['[{"segment": 7, "model_a": "x", "model_b": "y",', '"winner": "model_a", "user": "anna"}]'],
    ],
)
def test_columns_are_recognised_by_their_names(make: Make, lines: list[str]) -> None:
    assert records(compared(make(*lines))) == [("7", "x", "y", 1, "anna")]


@pytest.mark.parametrize(
    "winners",
    [
        ["A", "B", "tie"],
        ["a", "b", "EQUAL"],
        ["1", "2", "0"],
        ["1", "-1", "0"],
        ["left", "right", "both"],
        [">", "<", "="],
        ["x", "y", "No preference"],
        ["model_a", "model_b", "tie (bothbad)"],
    ],
)
def test_winners_in_all_spellings(make: Make, winners: list[str]) -> None:
    path = make("a,b,winner", *(f"x,y,{winner}" for winner in winners))
    assert compared(path).outcome.tolist() == [1, -1, 0]


def test_a_winner_may_be_a_system_and_a_choice_is_a_side(make: Make) -> None:
    """Of systems that are called A and B."""
    assert compared(make("a,b,winner", "B,A,A")).outcome.tolist() == [-1]
    record = {"system_a": "B", "system_b": "A", "choice": "A"}
    assert compared(make(json.dumps(record), name="c.jsonl")).outcome.tolist() == [1]


@pytest.mark.parametrize(
    ("header", "rows", "expected"),
    [
        ("system_a,system_b,score_a,score_b", ["x,y,80,70", "x,y,10,70.5", "y,x,5,5"], [1, -1, 0]),
        ("sys1;sys2;rating 1;rating 2", ["x;y;3;4", "x;y;4,5;4", "x;y;1;1"], [-1, 1, 0]),
        ("system_a,system_b,rank_a,rank_b", ["x,y,1,2", "x,y,2,1", "x,y,1,1"], [1, -1, 0]),
        (
            "model_a,model_b,winner_model_a,winner_model_b,winner_tie",
            ["x,y,1,0,0", "x,y,0,1,0", "x,y,0,0,1"],
            [1, -1, 0],
        ),
    ],
)
def test_two_scores_or_a_column_for_each_outcome(
    make: Make, header: str, rows: list[str], expected: list[int]
) -> None:
    assert compared(make(header, *rows)).outcome.tolist() == expected


def test_columns_can_be_named_and_rows_of_one_ranking_stay_together(make: Make) -> None:
    path = make("who,what1,what2,best one", "w,x,y,y")
    columns = read_columns("a=what1,b=what2,winner=best one,rater=who")
    assert records(ComparisonFiles((path,), columns).read()) == [("", "x", "y", -1, "w")]
    with pytest.raises(RyptError, match="--columns z=x: expected ROLE=COLUMN"):
        read_columns("z=x")
    with pytest.raises(InputError, match=r"data.csv:1: --columns a=nothing: .*who, what1"):
        ComparisonFiles((path,), {"a": "nothing"}).read()
    table = compared(make("ranking,a,b,winner", "1,x,y,A", "1,x,z,B", "2,y,z,A"))
    assert (table.row.tolist(), table.has_rows()) == ([0, 0, 1], True)


@pytest.mark.parametrize(
    ("lines", "place", "reason"),
    [
        (["system_a,system_b,comment", "x,y,no"], ":1:", "which of the two systems"),
        (["foo,bar", "1,2"], ":1:", "--columns a=NAME"),
        (["system,segment", "x,1"], ":1:", "a column of scores"),
        (["a,b,winner", "x,y,q"], ":2:", "found 'q'"),
        (["a,b,winner", "x,y,1", "x,y,0"], ":2:", "0 and 1 may mean either"),
        (["a,b,winner", "x,x,A"], ":2:", "x is compared with itself"),
        (["a,b,winner", "x,,A"], ":2:", "names of two systems"),
        (["a,b,winner"], ":", "only a header"),
        (["a,b,winner", "x,y"], ":2:", "expected 3 fields as in the header, found 2"),
        (["a,b,winner", 'x,y,"A'], ":2:", "expected CSV"),
        (["model_a,model_b,winner_model_a,winner_model_b", "x,y,1,1"], ":2:", "expected 1 for the system"),
        (["system,segment,score", "x,1,ninety"], ":2:", "'ninety'"),
        (["system,segment,score", "x,1,"], ":", "expected scores, found none"),
        (["system,segment,score", ",1,5"], ":2:", "name of a system"),
        (["A\t1", "B"], ":2:", "a system and its score, found 'B'"),
        (["A\tNone"], ":", "expected scores, found none"),
        (["a b c"], ":1:", "counts (sys1 sys2 better equal worse), found 'a b c'"),
        (["a b 1 2 3", "a b 1 2"], ":2:", "better, equal and worse"),
        (["a b 1 2 3", "c c 1 2 3"], ":2:", "c is compared with itself"),
        (["a b 1 2 3", "a b 1 2 3"], ":2:", "twice"),
        (["a b 1 2 3", "b a 3 2 2"], ":2:", "mirrored"),
        (["a b 1 0 0", "a c 99999999999999999999 0 0"], ":2:", "at most 100,000,000"),
        (["a b 99999999 0 0", "a c 0 99999999 0"], ":", "found 199,999,998"),
        (["a b 0 0 0"], ":", "nothing is judged"),
        (['{"system_a": "x", "system_b": "y", "choice": "A", "choice": "B"}'], ":1:", "'choice'"),
        (['{"a":' * 100_000], ":1:", "nested"),
        (['{"a": "x", "b": "y", "winner": "A", "segment": []}'], ":1:", "expected segment as a name"),
        (['{"a": "x", "b": "y", "winner": "A"}', "[]"], ":2:", "expected a JSON object"),
        ([HEADER, row("1 2 3 4 5"), row("1 2 3 4 6")], ":3:", "a rank 1 to 5, or -1 for not judged"),
        ([HEADER, row("1 2 3 4 5", "abcda")], ":2:", "a is compared with itself"),
        ([HEADER, row("1 2 3 4 5", ("a", "", "c", "d", "e"))], ":2:", "the name of a system"),
        ([HEADER, row("1 2 3 4 5"), "", row("1 2 3 4 5")[:-6]], ":4:", "expected 21 fields"),
        ([HEADER], ":", "only a header"),
        ([HEADER, row("-1 -1 -1 -1 1")], ":", "nothing is judged"),
        ([HEADER.replace("system3rank", "r3"), row("1 2 3 4 5")], ":1:", "column system3rank"),
        ([HEADER.replace("judgeId", "judge"), row("1 2 3 4 5")], ":1:", "column judgeid"),
        ([HEADER.replace("segmentId", "x").replace("srcIndex", "y")], ":1:", "segmentId or srcIndex"),
    ],
)
def test_a_bad_file_is_refused_with_its_line(make: Make, lines: list[str], place: str, reason: str) -> None:
    with pytest.raises(InputError) as error:
        compared(make(*lines))
    assert f"data.csv{place} " in str(error.value)
    assert reason in str(error.value)


def test_scores_of_a_table(make: Make) -> None:
    path = make("system,segment,document,score,rater", "x,1,d,90,r", "y,1,d,80,r", "x,2,d,,r", "x,1,d,70,s")
    scores = scored(path)
    assert (scores.systems, scores.higher) == (("x", "y"), True)
    assert scores.table()[:, 0].tolist() == [80, 80]
    assert scored(path, judges="s").table().tolist() == [[70]]
    record = '{"segment": "1", "system": "%s", "rater": "r", "score": %d, "better": "lower"}'
    scores = scored(make(record % ("x", 1), record % ("y", 3), name="scores.jsonl"))  # as rypt writes them
    assert (scores.higher, scores.table()[:, 0].tolist()) == (False, [-1, -3])


@pytest.mark.parametrize(
    ("column", "values", "higher"),
    [("mqm", (0, 5), False), ("mqm", (0, -5), True), ("score", (0, 5), True), ("penalty", (1, 2), False)],
)
def test_penalties_are_recognised_by_their_column(
    make: Make, column: str, values: tuple[int, int], higher: bool
) -> None:
    path = make(f"system,seg,{column}", f"x,1,{values[0]}", f"y,1,{values[1]}")
    assert scored(path).higher == higher
    assert scored(path, better="lower").higher is False


def test_public_tables_of_scores(make: Make) -> None:
    """WMT's direct assessment with spaces, that of WMT21 with tests of raters, Google's averages of segments."""
    spaces = scored(make("SYS SID RAW.SCR Z.SCR N", "x 1 90 0.1 2", "y 1 80 0.2 1"))
    assert spaces.table()[:, 0].tolist() == [90, 80]
    header = "HITId\tWorkerId\tInput.src\tInput.trg\tInput.item\thit\tsys_id\trid\ttype\tsid\tscore\ttime"
    rows = [
        f'NA\tw\thi\tbn\tad\tNA\t"{name}"\tNA\t{kind}\ts.1_1\t{score}\t0'
        for name, kind, score in (("G.7", "SYSTEM", 0.5), ("G.7", "REPEAT", 9), ("B.5", "SYSTEM", -1))
    ]
    part = ComparisonFiles((make(header, *rows),)).part()
    assert (part.languages, part.data.systems, part.data.score.tolist()) == (
        "hi-bn",
        ("B.5", "G.7"),
        [0.5, -1.0],
    )
    lines = ["system mqm_avg_score seg_id", "A 0.5 1", "A None 2", "B 3.0 1"]
    part = ComparisonFiles((make(*lines, name="mqm_ende.tsv"),)).part()
    assert (part.languages, part.data.scale, part.data.higher, len(part.data)) == ("en-de", "MQM", False, 2)


def test_scores_without_segments_are_identified_by_their_place(make: Make) -> None:
    """What is not rated keeps its place, so that a gap does not move the others."""
    scores = scored(make("system,score", "x,1", "x,None", "x,3", "y,4", "y,5", "y,6"))
    assert scores.segments == (("", "1"), ("", "3"), ("", "2"))
    assert np.isnan(scores.table()[0, 2])
    path = make("A\t-1.5", "A\tNone", "A\t0", "B\t-2", "B\t-3", "B\tNone", name="en-de.mqm.seg.score")
    part = ComparisonFiles((path,)).part()
    assert part.languages == "en-de"
    assert sorted(part.data.records())[:2] == [("A", "1", -1.5, *[""] * 4), ("A", "3", 0.0, *[""] * 4)]


def test_a_row_of_five_is_ten_comparisons(make: Make) -> None:
    lines = [HEADER, row("2 4 5 3 1"), row("1 1 2 2 5", "ecabd", 8, "researcher_2")]
    pairs = compared(make(*lines))
    ranks = dict(zip("abcde", (2, 4, 5, 3, 1), strict=True))
    expected = {(a, b, int(np.sign(ranks[b] - ranks[a]))) for a in "abcde" for b in "abcde" if a < b}
    assert outcomes(pairs.take(np.arange(10))) == expected
    assert {("e", "c", 0), ("a", "b", 0)} < outcomes(pairs)
    assert pairs.row.tolist() == [0] * 10 + [1] * 10
    names = [(record[0], record[4]) for record in records(pairs)]
    assert names == [("7", "turker_1")] * 10 + [("8", "researcher_2")] * 10
    two = ["SEGMENTID,judgeID,System1ID,SYSTEM1RANK,system2id,System2Rank,RankingId", "3,w,x,1,y,2,r1"]
    pairs = compared(make(*two, "3,w,x,2,z,2,r1", "4,w,y,5,z,1,r2"))
    assert outcomes(pairs) == {("x", "y", 1), ("x", "z", 0), ("y", "z", -1)}
    assert pairs.row.tolist() == [0, 0, 1]


def test_what_was_not_judged_is_left_out(make: Make) -> None:
    path = make(HEADER, row("-1 1 2 3 -1", ("", "b", "c", "d", "")))
    assert outcomes(compared(path)) == {("b", "c", 1), ("b", "d", 1), ("c", "d", 1)}


def test_counts_once_or_both_ways(make: Make) -> None:
    once, both = make("a b 3 1 2", "c a 4 0 1"), make("a b 3 1 2", "b a 2 1 3", "c a 4 0 1", name="both")
    for path in (once, both):
        wins, ties = compared(path).counts()
        assert wins.tolist() == [[0, 3, 1], [2, 0, 0], [4, 0, 0]]
        assert ties.tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
