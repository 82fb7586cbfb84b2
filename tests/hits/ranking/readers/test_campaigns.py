"""Exports of campaigns: Appraise's CSV, MQM, pearmut's annotations, WMT25's JSONL."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hits
from hits.ranking.readers.files import ComparisonFiles
from hits.ranking.scores.data import SegmentScores
from rypt.ratings.rated_campaign import RatingsFile, import_ratings_file
from rypt.text import InputError

Make = Callable[..., Path]


def parts(path: Path, **options: Any) -> list[tuple[str, SegmentScores]]:
    found = []
    for part in ComparisonFiles((path,), **options).parts():
        assert isinstance(part.data, SegmentScores)
        found.append((part.languages, part.data))
    return found


def scores(path: Path, **options: Any) -> SegmentScores:
    ((_, data),) = parts(path, **options)
    return data


def cells(data: SegmentScores) -> dict[tuple[str, str, str], float]:
    """The mean score by system, document and segment."""
    return {
        (data.systems[i], *data.segments[j]): value
        for i, values in enumerate(data.table().tolist())
        for j, value in enumerate(values)
        if value == value
    }


def line(
    user: str = "u1",
    system: str = "x",
    segment: str = "1",
    kind: str = "TGT",
    score: str = "90",
    document: str = "d",
    end: str = "2",
    target: str = "hin",
) -> str:
    return f"{user},{system},{segment},{kind},eng,{target},{score},{document},False,[],1,{end}"


def test_esa_as_wmts_findings_read_it(make: Make) -> None:
    """Of a user the latest rating, of users the mean; no tests of raters, tutorials and incomplete documents."""
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
    (hindi, first), (_, czech) = parts(path)
    assert (hindi, first.scale) == ("eng-hin", "ESA")
    assert cells(first) == {("x", "d", "1"): 60, ("y", "d", "1"): 80}
    assert cells(czech) == {("y", "d", "1"): 10}
    assert scores(path, languages="en-cs").systems == ("y",)
    assert cells(scores(path, languages="en-hi", judges="u2")) == {("x", "d", "1"): 70}


def test_items_numbered_within_a_users_work_are_identified_by_their_place(make: Make) -> None:
    path = make(
        line("u1", "wmt.x", "14", document="d#x"),
        line("u1", "wmt.x", "15", score="50", document="d#x"),
        line("u2", "wmt.y", "100", document="d#y", score="11"),
        line("u2", "wmt.y", "99", document="d#y", score="10"),
        line("u3", "wmt.z", "3", document="d#z", score="1"),
    )
    assert cells(scores(path)) == {
        ("wmt.x", "d", "1"): 90,
        ("wmt.x", "d", "2"): 50,
        ("wmt.y", "d", "1"): 10,
        ("wmt.y", "d", "2"): 11,
        ("wmt.z", "d", "3 of u3"): 1,
    }


WMT22 = "username,system,itemId,itemType,srcLang,trgLang,score,docId,isDocScore,timeStart,timeEnd"
WMT23 = "UserID,SystemID,SegmentID,Type,SourceLanguage,TargetLanguage,Score,DocumentID,IsDocument?,StartTime,EndTime"


WMT22_SEGMENTS = "username,system,itemId,itemType,srcLang,trgLang,score,timeStart,timeEnd"


@pytest.mark.parametrize("header", [(), (WMT22,), (WMT23,)])
def test_direct_assessment_of_documents(make: Make, header: tuple[str, ...]) -> None:
    """Not the score of the whole document."""
    rows = [
        "u,x,1,TGT,eng,deu,90,d,False,1,2",
        "u,x,1,TGT,eng,deu,70,d,False,5,6",
        "u,x,1,TGT,eng,deu,1,d,True,7,8",
        "u,x,2,BAD,eng,deu,3,d#bad,False,1,2",
        "u,y,1,TGT,eng,deu,80,d,False,1,2",
    ]
    ((languages, data),) = parts(make(*header, *rows))
    assert (languages, data.scale) == ("eng-deu", "DA")
    assert cells(data) == {("x", "d", "1"): 70, ("y", "d", "1"): 80}


@pytest.mark.parametrize("header", [(), (WMT22_SEGMENTS,)])
def test_direct_assessment_of_single_segments(make: Make, header: tuple[str, ...]) -> None:
    """WMT22's Livonian: nine columns, no documents."""
    rows = ["u,x,1,TGT,eng,liv,90,1.0,2.0", "u,x,1,TGT,eng,liv,50,1.0,3.0", "u,y,1,TGT,eng,liv,80,1.0,2.0"]
    assert cells(scores(make(*header, *rows))) == {("x", "", "1"): 50, ("y", "", "1"): 80}


def test_mqm_in_appraise_is_in_the_spans(make: Make) -> None:
    """All scores are 0 there."""
    spans = '"[{""start_i"":8,""end_i"":9,""severity"":""%s"",""error_type"":[""Accuracy"",""Omission""]}]"'
    path = make(
        line(score="0").replace("[]", spans % "major"),
        line(score="0", system="y").replace("[]", spans % "minor"),
        line(score="0", system="y", segment="2"),
        line(score="0", segment="2"),
    )
    data = scores(path)
    assert (data.scale, data.higher) == ("MQM", False)
    assert list(cells(data).values()) == [-5, 0, -1, 0]


MQM = "system\tdoc\tdocSegId\tglobalSegId\trater\tsource\ttarget\tcategory\tseverity\tmetadata"


def error_of(system: str, number: int, source: int, errors: int, document: str = "d") -> list[str]:
    """Lines of a rater's errors in a system's translation of a source."""
    words = " ".join(5 * [chr(ord("a") + source) * 4])  # no two sources are variants of one
    start = f"{system}\t{document}\t{number}\t{number}\tr1\t{words}.\tThe {system} {source}."
    kinds = ["Accuracy/Other\tMajor"] * errors or ["No-error\tNo-error"]
    return [f"{start}\t{kind}\t{{}}" for kind in kinds]


def test_mqm_segments_are_identified_by_their_source_where_ids_differ(make: Make, tmp_path: Path) -> None:
    """As of newstest2021 en-de, where two references are numbered differently: the file ranks as its campaign does."""
    rows = []
    for source in range(1, 13):
        rows += error_of("ref.A", source, source, 0) + error_of("bad", source, source, 2 + source % 2)
        rows += error_of("ref.C", 40 - source if source > 2 else source + 1, source, source % 3 == 0)
    path = make(MQM, *rows, *error_of("bad", 20, 20, 1, "canary"), name="mqm_ende.tsv")
    table = hits.rank(path)
    assert not table.notes  # all systems share segments
    assert "|segments:12|" in table.signature  # WMT's canary is no segment
    path = make(MQM, *rows, name="mqm_ende.tsv")
    import_ratings_file(RatingsFile(path, references=("ref.A",)), tmp_path / "campaign")
    campaign = hits.rank(tmp_path / "campaign")
    assert table.systems == campaign.systems
    assert [system.system for system in table.systems] == ["ref.A", "ref.C", "bad"]


PEARMUT: dict[str, Any] = {
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
def test_pearmut(make: Make, shape: str) -> None:
    later = PEARMUT | {"annotation": [{"x": {"score": 85}, "y": {"score": 60}}, None]}
    welcome = PEARMUT | {"item_i": "welcome_0", "annotation": [{"x": {"score": 1}}, None]}
    entries = [PEARMUT, later, welcome]
    text = {
        "lines": [json.dumps(entry) for entry in entries],
        "list": [json.dumps(entries)],
        "campaigns": [json.dumps({"one": entries[:1], "two": entries[1:]})],
        "pretty": json.dumps({"one": entries}, indent=1).splitlines(),
    }[shape]
    data = scores(make(*text, name="annotations.json"))
    assert cells(data) == {("x", "0", '"Hi"'): 85, ("y", "0", '"Hi"'): 60, ("y", "d2", "s2"): 9}
    assert data.raters == ("anna",)


def answer(by_system: dict[str, float | None], item: str) -> dict[str, Any]:
    spans = [{"start_i": 1, "end_i": 4, "severity": "minor"}]
    judged = {
        name: {"score": score, "error_spans": spans if name == "x" else []}
        for name, score in by_system.items()
    }
    return {"annotation": [judged], "item": [{"item_id": item, "src": "s"}], "user_id": "u", "item_i": 0}


def test_pearmuts_download_of_several_campaigns(make: Make) -> None:
    """The names of campaigns have the languages, and the ids of WMT26's items domain and document."""
    campaigns = {
        "ces_Latn---deu_Latn v3": [
            answer({"x": 90, "y": 70}, "news_###_d1_###_0"),
            answer({"x": 80, "y": 60}, "speech_###_d2_###_0"),
        ],
        "eng_Latn---jpn_Jpan": [answer({"x": 10, "y": 20}, "news_###_d1_###_0")],
    }
    (first, czech), (second, japanese) = parts(make(json.dumps(campaigns), name="annotations.json"))
    assert (first, second) == ("ces-deu", "eng-jpn")
    assert czech.domains == ("news", "speech")
    assert czech.documents()[0] == ("news_###_d1", "speech_###_d2")
    assert list(cells(japanese).values()) == [10, 20]


def test_pearmut_without_items_and_without_scores(make: Make) -> None:
    bare = {"user_id": "eve", "item_i": 3, "annotation": {"x": {"score": 92}, "y": {"score": 78}}}
    data = scores(make(json.dumps(bare), name="demo.jsonl"))
    assert cells(data) == {("x", "3", "3.0"): 92, ("y", "3", "3.0"): 78}
    marked = scores(make(json.dumps(answer({"x": None, "y": None}, "7")), name="mqm.jsonl"))
    assert (marked.scale, cells(marked)) == ("MQM", {("x", "0", "7"): -1, ("y", "0", "7"): 0})


def wmt25(
    segment: int, ratings: dict[str, Any], pair: str = "cs-de_DE", domain: str = "news"
) -> dict[str, Any]:
    place = f"{pair}_#_{domain}_#_blesk.cz.112043_#_{segment}"
    return {"scores": ratings, "src_text": "Ahoj", "doc_id": place}


def test_two_ratings_of_wmt25_are_two_waves(make: Make) -> None:
    """Made after the description of wmt-conference/wmt25-general-mt: the file itself was not at hand."""
    first = {
        "A": {"human1": 90, "annotator1": "x", "errors1": [], "human2": 70, "annotator2": "y"},
        "B": {"human1": 40, "annotator1": "x", "errors1": []},
    }
    lines = [wmt25(0, {}), wmt25(1, first), wmt25(2, {"A": {"human1": 100}, "B": {}})]
    path = make(*map(json.dumps, lines), name="wmt25.jsonl")
    data = scores(path)
    assert (data.systems, data.scale) == (("A", "B"), "ESA")
    assert [data.segments[j] for j in data.segment] == [("blesk.cz.112043", s) for s in "1112"]
    table = hits.rank(path)
    assert [(s.system, round(s.score, 4)) for s in table.systems] == [("A", 86.6667), ("B", 40.0)]
    assert any("1 segment rated in several waves" in note for note in table.notes)


def test_ratings_in_a_list_language_pairs_and_protocols(make: Make) -> None:
    """WMT25's list has NaN for what was not rated; WMT23's direct assessment in this format names its protocol."""
    ratings = {
        "A": [{"human": 90, "annotator": "x"}, {"score": float("nan"), "annotator": None}, {"human": None}],
        "B": [{"score": 50, "annotator": "y", "protocol": "DA+SQM"}],
    }
    lines = [wmt25(1, ratings), wmt25(1, ratings, "en-sr_Cyrl_RS")]
    (first, czech), (second, _) = parts(make(*map(json.dumps, lines), name="control.jsonl"))
    assert (first, second) == ("cs-de_DE", "en-sr_Cyrl_RS")
    assert (czech.scale, czech.table().tolist()) == ("DA", [[90], [50]])


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (PEARMUT | {"annotation": [None, None]}, ": expected scores in pearmut's annotations"),
        (PEARMUT | {"annotation": [None]}, ":1: expected an annotation for each of 2 items, found 1"),
        (PEARMUT | {"annotation": [{"x": {"score": "?"}}, None]}, ":1: expected a number as score"),
        (wmt25(1, {"A": {"human1": "good"}}), ":1: expected a number as score"),
        (wmt25(1, {"A": 90}), ":1: expected the ratings of a system, found 90"),
        (wmt25(1, {}), ": expected scores, found none"),
        (wmt25(1, {}) | {"doc_id": "cs-de_#_news"}, ":1: expected a doc_id"),
        (f"{line()}\na,b,c", ":2: expected 11 or 12 fields"),
        (f"{line()}\n{line(score='high')}", ":2: expected a score and a time, found 'high'"),
        (line(kind="BAD"), ": expected ratings of type TGT"),
        (line() + "\n" + line().replace("[]", '"[{"'), ":2: expected error spans as JSON"),
    ],
)
def test_bad_exports_of_campaigns(make: Make, record: str | dict[str, Any], reason: str) -> None:
    text = record if isinstance(record, str) else json.dumps(record)
    with pytest.raises(InputError) as error:
        parts(make(text, name="answers"))
    assert f"answers{reason}" in str(error.value)
