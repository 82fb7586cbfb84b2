"""Exports of campaigns: Appraise's CSV without a header, pearmut's annotations."""

import json
from pathlib import Path

import pytest

from hits.ranking.readers.files import Filters, read_parts
from rypt.text import InputError


def line(
    user="u1", system="x", segment="1", kind="TGT", score="90", document="d", start="1", end="2", target="hin"
):
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
        line(),
        line(score="50", end="3"),
        line(user="u2", score="70"),
        line(kind="BAD", score="5", document="d#bad"),
        line(system="ende-tutorial1", segment="9", document="ende-tutorial1"),
        line(score="1", document="e#incomplete"),
        line(score="1", document="e#dup"),
        line(system="y", score="80"),
        line(system="y", score="10", target="ces"),
    )
    hindi, czech = read_parts([path])
    assert (hindi.languages, hindi.data.scale) == ("eng-hin", "ESA")
    assert table(hindi.data) == {
        ("x", "d", "1"): 60,
        ("y", "d", "1"): 80,
    }  # the latest of a user, the mean of users
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
    assert table(part.data) == {
        ("x", "d", "1"): 90,
        ("y", "d", "1"): 80,
    }  # not the score of the whole document


def test_items_numbered_within_a_users_work_are_found_by_their_place(make) -> None:
    rows = [
        line("u1", "wmt.x", "14", document="d#x"),
        line("u1", "wmt.x", "15", score="50", document="d#x"),
        line("u2", "wmt.y", "100", document="d#y", score="11"),
        line("u2", "wmt.y", "99", document="d#y", score="10"),
        line("u3", "wmt.z", "3", document="d#z", score="1"),
    ]
    (part,) = read_parts([make(*rows)])
    assert table(part.data) == {
        ("wmt.x", "d", "1"): 90,
        ("wmt.x", "d", "2"): 50,
        ("wmt.y", "d", "1"): 10,
        ("wmt.y", "d", "2"): 11,
        ("wmt.z", "d", "3 of u3"): 1,
    }


def test_bad_lines_of_appraise(make) -> None:
    with pytest.raises(
        InputError, match=r"wave.csv:2: expected 11 or 12 fields of Appraise's export, found 3"
    ):
        read_parts([make(line(), "a,b,c")])
    with pytest.raises(InputError, match=r"wave.csv:2: expected a score and a time, found 'high' and '2'"):
        read_parts([make(line(), line(score="high"))])
    with pytest.raises(InputError, match=r"wave.csv: expected ratings of type TGT, found none"):
        read_parts([make(line(kind="BAD"))])


ENTRY = {
    "user_id": "anna",
    "item_i": 0,
    "item": [
        {"src": "Hi", "tgt": {"x": "Ha", "y": "He"}},
        {"item_id": "s2", "doc_id": "d2", "src": "No", "tgt": {}},
    ],
    "annotation": [
        {"x": {"score": 80, "spans": []}, "y": {"score": 60}},
        {"x": {"score": None}, "y": {"score": 9}},
    ],
}


@pytest.mark.parametrize("shape", ["lines", "list", "campaigns", "pretty"])
def test_pearmut(make, shape: str) -> None:
    later = ENTRY | {"annotation": [{"x": {"score": 85}, "y": {"score": 60}}, None]}
    welcome = ENTRY | {"item_i": "welcome_0", "annotation": [{"x": {"score": 1}}, None]}
    entries = [ENTRY, later, welcome]
    text = {
        "lines": [json.dumps(entry) for entry in entries],
        "list": [json.dumps(entries)],
        "campaigns": [json.dumps({"one": entries[:1], "two": entries[1:]})],
        "pretty": json.dumps({"one": entries}, indent=1).splitlines(),
    }[shape]
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


HEADER = (
    "username,system,itemId,itemType,srcLang,trgLang,score,docId,isDocScore,timeStart,timeEnd"  # of WMT22
)


def test_appraise_with_a_header(make) -> None:
    """A user's later rating counts, not that of the whole document, and no test of the rater."""
    rows = [
        "u,x,1,TGT,eng,deu,90,d,False,1,2",
        "u,x,1,TGT,eng,deu,70,d,False,5,6",
        "u,x,1,TGT,eng,deu,1,d,True,7,8",
        "u,x,2,BAD,eng,deu,3,d#bad,False,1,2",
        "u,y,1,TGT,eng,deu,80,d,False,1,2",
    ]
    (part,) = read_parts([make(HEADER, *rows)])
    assert (part.languages, part.data.scale) == ("eng-deu", "DA")
    assert table(part.data) == {("x", "d", "1"): 70, ("y", "d", "1"): 80}
    wmt23 = "UserID,SystemID,SegmentID,Type,SourceLanguage,TargetLanguage,Score,DocumentID,IsDocument?,StartTime,EndTime"
    (other,) = read_parts([make(wmt23, *rows)])
    assert table(other.data) == table(part.data)


def test_appraise_of_single_segments(make) -> None:
    """WMT22's Livonian: nine columns, no documents, with a header or without."""
    rows = ["u,x,1,TGT,eng,liv,90,1.0,2.0", "u,x,1,TGT,eng,liv,50,1.0,3.0", "u,y,1,TGT,eng,liv,80,1.0,2.0"]
    (part,) = read_parts([make(*rows)])
    assert table(part.data) == {("x", "", "1"): 50, ("y", "", "1"): 80}
    (other,) = read_parts(
        [make("username,system,itemId,itemType,srcLang,trgLang,score,timeStart,timeEnd", *rows)]
    )
    assert table(other.data) == table(part.data)


def test_mqm_in_appraise_is_in_the_spans(make) -> None:
    """All scores are 0 there."""
    spans = '"[{""start_i"":8,""end_i"":9,""severity"":""%s"",""error_type"":[""Accuracy"",""Omission""]}]"'
    path = make(
        line(score="0").replace("[]", spans % "major"),
        line(score="0", system="y").replace("[]", spans % "minor"),
        line(score="0", system="y", segment="2"),
        line(score="0", segment="2"),
    )
    (part,) = read_parts([path])
    assert (part.data.scale, part.data.higher) == ("MQM", False)
    assert table(part.data) == {
        ("x", "d", "1"): -5,
        ("x", "d", "2"): 0,
        ("y", "d", "1"): -1,
        ("y", "d", "2"): 0,
    }
    with pytest.raises(InputError, match=r"wave.csv:2: expected error spans as JSON"):
        read_parts([make(line(), line().replace("[]", '"[{"'))])


def answer(
    scores: dict[str, float | None], item: str = "", user: str = "u", **more: object
) -> dict[str, object]:
    spans = [{"start_i": 1, "end_i": 4, "severity": "minor"}]
    given = {
        name: {"score": score, "error_spans": spans if name == "x" else []} for name, score in scores.items()
    }
    return {
        "annotation": [given],
        "item": [{"item_id": item, "src": "s"}],
        "user_id": user,
        "item_i": 0,
    } | more


def test_pearmuts_download_of_several_campaigns(make) -> None:
    """The names of campaigns have the languages, and the ids of WMT26's items domain and document."""
    campaigns = {
        "ces_Latn---deu_Latn v3": [
            answer({"x": 90, "y": 70}, "news_###_d1_###_0"),
            answer({"x": 80, "y": 60}, "speech_###_d2_###_0"),
        ],
        "eng_Latn---jpn_Jpan": [answer({"x": 10, "y": 20}, "news_###_d1_###_0")],
    }
    czech, japanese = read_parts([make(json.dumps(campaigns), name="annotations.json")])
    assert (czech.languages, japanese.languages) == ("ces-deu", "eng-jpn")
    assert czech.data.domains == ("news", "speech")
    assert czech.data.documents()[0] == ("news_###_d1", "speech_###_d2")
    assert table(japanese.data) == {
        ("x", "news_###_d1", "news_###_d1_###_0"): 10,
        ("y", "news_###_d1", "news_###_d1_###_0"): 20,
    }


def test_pearmut_without_items_and_without_scores(make) -> None:
    bare = {"user_id": "eve", "item_i": 3, "annotation": {"x": {"score": 92}, "y": {"score": 78}}}
    (part,) = read_parts([make(json.dumps(bare), name="demo.jsonl")])
    assert table(part.data) == {("x", "3", "3.0"): 92, ("y", "3", "3.0"): 78}
    (marked,) = read_parts([make(json.dumps(answer({"x": None, "y": None}, "7")), name="mqm.jsonl")])
    assert (marked.data.scale, table(marked.data)) == ("MQM", {("x", "0", "7"): -1, ("y", "0", "7"): 0})


def test_two_columns_as_in_the_metrics_tasks_data(make) -> None:
    """System and score in the order of the segments; the name of the file has the languages."""
    path = make("A\t-1.5", "A\tNone", "A\t0", "B\t-2", "B\t-3", "B\tNone", name="en-de.mqm.seg.score")
    (part,) = read_parts([path])
    assert part.languages == "en-de"
    assert table(part.data) == {
        ("A", "", "1"): -1.5,
        ("A", "", "3"): 0,
        ("B", "", "1"): -2,
        ("B", "", "2"): -3,
    }
    with pytest.raises(InputError, match=r"x.score:2: expected a system and its score, found 'B'"):
        read_parts([make("A\t1", "B", name="x.score")])


def test_the_canary_of_wmts_files_is_no_segment(make) -> None:
    header = "system\tdoc\tdocSegId\tglobalSegId\trater\tsource\ttarget\tcategory\tseverity\tmetadata"
    rows = [
        f"{system}\t{doc}\t1\t{k}\tr1\tsource {k}\ttarget {k}\tAccuracy\tMajor\t{{}}"
        for system in "AB"
        for k, doc in enumerate(("canary", "d1"), start=1)
    ]
    (part,) = read_parts([make(header, *rows, name="mqm_generalMT2024_ende.tsv")])
    assert part.data.segments == (("d1", "2"),)
