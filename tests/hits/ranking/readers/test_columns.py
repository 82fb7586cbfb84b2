"""Tables with a header and JSON: columns guessed or named, winners in all spellings, bad lines."""

import json
from pathlib import Path

import numpy as np
import pytest
from hits.ranking.readers.columns import guess, kind_of, read_columns

from hits.ranking.data import Comparisons
from hits.ranking.readers.files import read_comparisons, read_parts
from hits.ranking.scores.data import SegmentScores
from rypt.text import InputError, RyptError


@pytest.fixture
def make(tmp_path: Path):
    def write(*lines: str, name: str = "data.csv") -> Path:
        path = tmp_path / name
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        return path

    return write


def told(c: Comparisons) -> list[tuple[str, str, str, int, str]]:
    return [
        (c.segments[s], c.systems[a], c.systems[b], int(o), c.workers[w])
        for a, b, o, s, w in zip(c.a, c.b, c.outcome, c.segment, c.worker, strict=True)
    ]


@pytest.mark.parametrize(
    "header",
    [
        "segment,system_a,system_b,winner,annotator",
        "seg_id,system1,system2,preference,worker_id",
        "Segment ID\tSystem A\tSystem B\tChoice\tJudge",
        "item;model_a;model_b;Better;user",
        "srcIndex,left,right,verdict,rater",
    ],
)
def test_columns_are_guessed_from_their_names(make, header: str) -> None:
    mark = next(mark for mark in "\t;," if mark in header)
    path = make(header, mark.join(["7", "x", "y", "x", "anna"]), mark.join(["8", "y", "z", "tie", "otto"]))
    assert told(read_comparisons([path])) == [("7", "x", "y", 1, "anna"), ("8", "y", "z", 0, "otto")]


@pytest.mark.parametrize(
    ("winners", "outcomes"),
    [
        (["A", "B", "tie"], [1, -1, 0]),
        (["a", "b", "EQUAL"], [1, -1, 0]),
        (["1", "2", "0"], [1, -1, 0]),
        (["1", "-1", "0"], [1, -1, 0]),
        (["left", "right", "both"], [1, -1, 0]),
        ([">", "<", "="], [1, -1, 0]),
        (["x", "y", "No preference"], [1, -1, 0]),
        (["model_a", "model_b", "tie (bothbad)"], [1, -1, 0]),
    ],
)
def test_winners_in_all_spellings(make, winners: list[str], outcomes: list[int]) -> None:
    path = make("a,b,winner", *(f"x,y,{winner}" for winner in winners))
    assert read_comparisons([path]).outcome.tolist() == outcomes


def test_columns_can_be_named(make) -> None:
    path = make("who,what1,what2,best one", "w,x,y,y")
    (part,) = read_parts([path], columns=read_columns("a=what1,b=what2,winner=best one,rater=who"))
    assert told(part.data) == [("", "x", "y", -1, "w")]
    with pytest.raises(
        RyptError, match=r"--columns z=x: expected ROLE=COLUMN, where the role is one of a, b, winner"
    ):
        read_columns("z=x")
    with pytest.raises(
        InputError, match=r"data.csv:1: --columns a=nothing: expected one of the columns who, what1"
    ):
        read_parts([path], columns={"a": "nothing"})


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            ["system_a,system_b,comment", "x,y,no"],
            "data.csv:1: expected a column that says which of the two systems",
        ),
        (["system_a,system_b,comment", "x,y,no"], "--columns a=NAME,b=NAME,winner=NAME"),
        (
            ["foo,bar", "1,2"],
            "data.csv:1: expected columns of two systems and a winner, or of a system and a score",
        ),
        (["system,segment", "x,1"], "data.csv:1: expected a column of scores"),
        (["a,b,winner", "x,y,q"], "data.csv:2: expected a winner that is A, B, tie, x or y, found 'q'"),
        (
            ["a,b,winner", "x,y,1", "x,y,0"],
            "data.csv:2: expected a winner that is A, B, tie or a system's name",
        ),
        (["a,b,winner", "x,x,A"], "data.csv:2: the system x is compared with itself"),
        (["a,b,winner", "x,,A"], "data.csv:2: expected the names of two systems"),
        (["a,b,winner", "x,y"], "data.csv:2: expected 3 fields as in the header, found 2"),
        (["a,b,winner"], "data.csv: expected rows, found only a header"),
        (["system,segment,score", "x,1,ninety"], "data.csv:2: expected a number as score, found 'ninety'"),
        (["system,segment,score", "x,1,"], "data.csv: expected scores, found none"),
    ],
)
def test_a_bad_table_is_refused_with_its_line(make, lines: list[str], said: str) -> None:
    with pytest.raises(InputError) as error:
        read_parts([make(*lines)])
    assert said in str(error.value)


def test_wmts_direct_assessment_is_separated_by_spaces(make) -> None:
    (part,) = read_parts([make("SYS SID RAW.SCR Z.SCR N", "x 1 90 0.1 2", "y 1 80 0.2 1")])
    assert part.data.table()[:, 0].tolist() == [90, 80]


def test_scores_of_a_table(make) -> None:
    path = make("system,segment,document,score,rater", "x,1,d,90,r", "y,1,d,80,r", "x,2,d,,r", "x,1,d,70,s")
    (part,) = read_parts([path])
    assert isinstance(part.data, SegmentScores)
    assert part.data.systems == ("x", "y")
    assert part.data.table()[:, 0].tolist() == [80, 80]
    assert part.data.higher


@pytest.mark.parametrize(
    ("column", "values", "higher"),
    [("mqm", (0, 5), False), ("mqm", (0, -5), True), ("score", (0, 5), True), ("penalty", (1, 2), False)],
)
def test_penalties_are_known_by_their_column(
    make, column: str, values: tuple[int, int], higher: bool
) -> None:
    path = make(f"system,seg,{column}", f"x,1,{values[0]}", f"y,1,{values[1]}")
    (part,) = read_parts([path])
    assert part.data.higher == higher
    assert read_parts([path], better="lower")[0].data.higher is False


def test_a_language_pair_is_a_part(make) -> None:
    path = make("source_lang,target_lang,a,b,winner", "en,cs,x,y,A", "eng,ces,x,y,B", "en,de,x,z,A")
    parts = read_parts([path])
    assert [(part.languages, len(part.data), part.data.systems) for part in parts] == [
        ("en-cs", 2, ("x", "y")),
        ("en-de", 1, ("x", "z")),
    ]
    (part,) = read_parts([path], together=True)
    assert part.data.systems == ("x", "y", "z")


@pytest.mark.parametrize(
    "lines",
    [
        ['{"segment": 7, "model_a": "x", "model_b": "y", "winner": "model_b", "user": "w"}'],
        ['[{"segment": 7, "model_a": "x", "model_b": "y",', '"winner": "model_b", "user": "w"}]'],
    ],
)
def test_json_records_have_columns_too(make, lines: list[str]) -> None:
    assert told(read_comparisons([make(*lines, name="d.json")])) == [("7", "x", "y", -1, "w")]


def test_the_scores_that_rypt_writes(make) -> None:
    """Lines of ``rypt import mqm --scores``."""
    rows = [
        {"segment": "1", "system": s, "rater": "r", "score": v, "better": "lower"}
        for s, v in (("x", 1.0), ("y", 3))
    ]
    (part,) = read_parts([make(*map(json.dumps, rows), name="scores.jsonl")])
    assert not part.data.higher
    assert part.data.table()[:, 0].tolist() == [-1, -3]


def test_rows_of_one_ranking_stay_together(make) -> None:
    made = read_comparisons([make("ranking,a,b,winner", "1,x,y,A", "1,x,z,B", "2,y,z,A")])
    assert made.row.tolist() == [0, 0, 1]
    assert made.has_rows()


def test_kinds() -> None:
    assert kind_of(guess(["System A", "System B", "Winner"])) == "pairs"
    assert kind_of(guess(["sys", "ESA"])) == "scores"
    assert kind_of(guess(["text"])) is None
    assert np.all([guess(["seg", "segment"])["segment"] == 1])  # the plainest name wins


@pytest.mark.parametrize(
    ("header", "rows", "outcomes"),
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
    make, header: str, rows: list[str], outcomes: list[int]
) -> None:
    assert read_comparisons([make(header, *rows)]).outcome.tolist() == outcomes


def test_two_winners_are_refused(make) -> None:
    path = make("model_a,model_b,winner_model_a,winner_model_b", "x,y,1,1")
    with pytest.raises(InputError, match=r"data.csv:2: expected 1 for the system that is better"):
        read_comparisons([path])


def test_what_is_not_rated_keeps_its_place(make) -> None:
    """Without a column of segments a score is known by its place, so that a gap must not move the others."""
    path = make("system,score", "x,1", "x,None", "x,3", "y,4", "y,5", "y,6")
    (part,) = read_parts([path])
    assert part.data.segments == (("", "1"), ("", "3"), ("", "2"))
    assert np.isnan(part.data.table()[0, 2])


def test_googles_average_scores_of_segments(make) -> None:
    """Penalties in one year, negative scores in another; separated by spaces."""
    (part,) = read_parts(
        [make("system mqm_avg_score seg_id", "A 0.5 1", "A None 2", "B 3.0 1", name="mqm_ende.tsv")]
    )
    assert (part.languages, part.data.scale, part.data.higher, len(part.data)) == ("en-de", "MQM", False, 2)
    (part,) = read_parts([make("system mqm_avg_score seg_id", "A -0.5 1", "B -3.0 1")])
    assert part.data.higher


def test_wmt21s_direct_assessment(make) -> None:
    """Tab-separated, with the languages of the input and the type SYSTEM."""
    header = "HITId\tWorkerId\tInput.src\tInput.trg\tInput.item\thit\tsys_id\trid\ttype\tsid\tscore\ttime"
    rows = [
        f'NA\tw\thi\tbn\tad\tNA\t"{name}"\tNA\t{kind}\ts.1_1\t{score}\t0'
        for name, kind, score in (("G.7", "SYSTEM", 0.5), ("G.7", "REPEAT", 9), ("B.5", "SYSTEM", -1))
    ]
    (part,) = read_parts([make(header, *rows)])
    assert (part.languages, part.data.systems, part.data.score.tolist()) == (
        "hi-bn",
        ("B.5", "G.7"),
        [0.5, -1.0],
    )
