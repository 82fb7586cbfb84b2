"""Exports of campaigns: Appraise's CSV without a header, pearmut's annotations."""

import json
from pathlib import Path

import pytest

from hits.ranking.readers.files import Filters, read_parts
from rypt.text import InputError


def line(user="u1", system="x", segment="1", kind="TGT", score="90", document="d", start="1", end="2", target="hin"):
    return f"{user},{system},{segment},{kind},eng,{target},{score},{document},False,[],{start},{end}"


@pytest.fixture
def make(tmp_path: Path):
    def write(*lines: str, name: str = "wave.csv") -> Path:
        path = tmp_path / name
        path.write_text("".join(text + "\n" for text in lines), encoding="utf-8")
        return path

    return write


def table(scores) -> dict[tuple[str, str, str], float]:
    return {
        (scores.systems[i], *scores.segments[j]): value
        for i, values in enumerate(scores.table().tolist())
        for j, value in enumerate(values)
        if value == value
    }


def test_esa_as_wmts_findings_read_it(make) -> None:
    path = make(
        line(), line(score="50", end="3"), line(user="u2", score="70"), line(kind="BAD", score="5", document="d#bad"),
        line(system="ende-tutorial1", segment="9", document="ende-tutorial1"), line(score="1", document="e#incomplete"),
        line(score="1", document="e#dup"), line(system="y", score="80"), line(system="y", score="10", target="ces"),
    )  # fmt: skip
    hindi, czech = read_parts([path])
    assert (hindi.languages, hindi.data.scale) == ("eng-hin", "ESA")
    assert table(hindi.data) == {("x", "d", "1"): 60, ("y", "d", "1"): 80}  # the latest of a user, the mean of users
    assert table(czech.data) == {("y", "d", "1"): 10}
    (chosen,) = read_parts([path], filters=Filters(languages="en-cs"))
    assert chosen.data.systems == ("y",)
    (judged,) = read_parts([path], filters=Filters(languages="en-hi", judges="u2"))
    assert table(judged.data) == {("x", "d", "1"): 70}


def test_direct_assessment_without_spans(make) -> None:
    rows = [
        "u,x,1,TGT,eng,deu,90,d,False,1.0,2.0",
        "u,x,1,TGT,eng,deu,20,d,True,1.0,3.0",
        "u,y,1,TGT,eng,deu,80,d,False,1,2",
    ]
    (part,) = read_parts([make(*rows)])
    assert part.data.scale == "DA"
    assert table(part.data) == {("x", "d", "1"): 90, ("y", "d", "1"): 80}  # not the score of the whole document


def test_items_numbered_within_a_users_work_are_found_by_their_place(make) -> None:
    rows = [
        line("u1", "wmt.x", "14", document="d#x"), line("u1", "wmt.x", "15", score="50", document="d#x"),
        line("u2", "wmt.y", "100", document="d#y", score="11"), line("u2", "wmt.y", "99", document="d#y", score="10"),
        line("u3", "wmt.z", "3", document="d#z", score="1"),
    ]  # fmt: skip
    (part,) = read_parts([make(*rows)])
    assert table(part.data) == {
        ("wmt.x", "d", "1"): 90, ("wmt.x", "d", "2"): 50, ("wmt.y", "d", "1"): 10, ("wmt.y", "d", "2"): 11,
        ("wmt.z", "d", "3 of u3"): 1,
    }  # fmt: skip


def test_bad_lines_of_appraise(make) -> None:
    with pytest.raises(InputError, match=r"wave.csv:2: expected 11 or 12 fields of Appraise's export, found 3"):
        read_parts([make(line(), "a,b,c")])
    with pytest.raises(InputError, match=r"wave.csv:2: expected a score and a time, found 'high' and '2'"):
        read_parts([make(line(), line(score="high"))])
    with pytest.raises(InputError, match=r"wave.csv: expected ratings of type TGT, found none"):
        read_parts([make(line(kind="BAD"))])


ENTRY = {
    "user_id": "anna", "item_i": 0,
    "item": [{"src": "Hi", "tgt": {"x": "Ha", "y": "He"}}, {"item_id": "s2", "doc_id": "d2", "src": "No", "tgt": {}}],
    "annotation": [{"x": {"score": 80, "spans": []}, "y": {"score": 60}}, {"x": {"score": None}, "y": {"score": 9}}],
}  # fmt: skip


@pytest.mark.parametrize("shape", ["lines", "list", "campaigns", "pretty"])
def test_pearmut(make, shape: str) -> None:
    later = ENTRY | {"annotation": [{"x": {"score": 85}, "y": {"score": 60}}, None]}
    welcome = ENTRY | {"item_i": "welcome_0", "annotation": [{"x": {"score": 1}}, None]}
    entries = [ENTRY, later, welcome]
    text = {
        "lines": [json.dumps(entry) for entry in entries], "list": [json.dumps(entries)],
        "campaigns": [json.dumps({"one": entries[:1], "two": entries[1:]})],
        "pretty": json.dumps({"one": entries}, indent=1).splitlines(),
    }[shape]  # fmt: skip
    (part,) = read_parts([make(*text, name="annotations.json")])
    assert table(part.data) == {("x", "0", '"Hi"'): 85, ("y", "0", '"Hi"'): 60, ("y", "d2", "s2"): 9}
    assert part.data.raters == ("anna",)


def test_pearmut_without_scores(make) -> None:
    with pytest.raises(InputError, match="expected scores in pearmut's annotations, found none"):
        read_parts([make(json.dumps(ENTRY | {"annotation": [None, None]}), name="a.json")])
    with pytest.raises(InputError, match="expected an annotation for each of 2 items, found 1"):
        read_parts([make(json.dumps(ENTRY | {"annotation": [None]}), name="a.json")])
    with pytest.raises(InputError, match="expected pearmut's annotations"):
        read_parts([make('{"system": "x", "score": 1}', name="a.json")], format="pearmut")
