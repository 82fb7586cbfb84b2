"""Every format that can be read, and what is said of one that cannot."""

import gzip
import json
import os
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hits.ranking.readers.files import Filters, read_comparisons, sampled, write_jsonl
from rypt.text import InputError, RyptError

HEADER = "srclang,trglang,srcIndex,documentId,segmentId,judgeId," + ",".join(
    [f"system{k}Number,system{k}Id" for k in range(1, 6)] + [f"system{k}rank" for k in range(1, 6)]
)


def row(
    ranks: str,
    systems: str = "abcde",
    segment: int = 7,
    judge: str = "turker_1",
    languages: str = "French,English",
):
    cells = ",".join(f"-1,{name}" for name in systems)
    return f"{languages},{segment},-1,{segment},{judge},{cells},{','.join(ranks.split())}"


@pytest.fixture
def make(tmp_path: Path):
    def write(*lines: str, name: str = "data.csv") -> Path:
        path = tmp_path / name
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    return write


def told(comparisons) -> set[tuple[str, str, int]]:
    c = comparisons
    return {(c.systems[a], c.systems[b], int(o)) for a, b, o in zip(c.a, c.b, c.outcome, strict=True)}


def test_a_row_of_five_is_ten_comparisons(make) -> None:
    found = read_comparisons([make(HEADER, row("2 4 5 3 1"), row("1 1 2 2 5", "ecabd", 8, "researcher_2"))])
    assert len(found) == 20
    assert found.systems == ("a", "b", "c", "d", "e")
    assert told(found.take(np.arange(10))) == {
        ("a", "b", 1),
        ("a", "c", 1),
        ("a", "d", 1),
        ("a", "e", -1),
        ("b", "c", 1),
        ("b", "d", -1),
        ("b", "e", -1),
        ("c", "d", -1),
        ("c", "e", -1),
        ("d", "e", -1),
    }
    assert ("e", "c", 0) in told(found)
    assert ("a", "b", 0) in told(found)
    assert found.row.tolist() == [0] * 10 + [1] * 10
    assert [found.segments[i] for i in found.segment] == ["7"] * 10 + ["8"] * 10
    assert [found.workers[i] for i in found.worker] == ["turker_1"] * 10 + ["researcher_2"] * 10


def test_a_header_in_any_case_and_rows_of_two(make) -> None:
    path = make(
        "SEGMENTID,judgeID,System1ID,SYSTEM1RANK,system2id,System2Rank,RankingId",
        "3,w,x,1,y,2,r1",
        "3,w,x,2,z,2,r1",
        "4,w,y,5,z,1,r2",
    )
    found = read_comparisons([path])
    assert told(found) == {("x", "y", 1), ("x", "z", 0), ("y", "z", -1)}
    assert found.row.tolist() == [0, 0, 1]


def test_gz_and_standard_input(make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = make(HEADER, row("1 2 3 4 5"))
    zipped = tmp_path / "data.csv.gz"
    zipped.write_bytes(gzip.compress(plain.read_bytes()))
    assert told(read_comparisons([zipped])) == told(read_comparisons([plain]))
    with open(plain, encoding="utf-8") as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert told(read_comparisons(["-"])) == told(read_comparisons([plain]))
    both = read_comparisons([plain, zipped])
    assert len(both) == 20
    assert len(set(both.row.tolist())) == 2


def test_what_was_not_judged_takes_its_item_or_its_row(make) -> None:
    path = make(HEADER, row("-1 1 2 3 4"), row("1 2 3 4 5"))
    assert len(read_comparisons([path])) == 6 + 10
    assert len(read_comparisons([path], filters=Filters(not_judged="row"))) == 10
    empty = make(HEADER, row("-1 1 2 3 -1", ("", "b", "c", "d", "")), name="empty.csv")
    assert told(read_comparisons([empty])) == {("b", "c", 1), ("b", "d", 1), ("c", "d", 1)}


GOOD = row("1 2 3 4 5")
RANK = "expected a rank 1 to 5, or -1 for not judged, found"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([HEADER, GOOD, row("1 2 3 4 6")], f"data.csv:3: {RANK} '6'"),
        ([HEADER, row("1 2 3 4 0")], f"data.csv:2: {RANK} '0'"),
        ([HEADER, row("1 2 3 4 nan")], f"data.csv:2: {RANK} 'nan'"),
        ([HEADER, row("1 2 3 4 5", "abcda")], "data.csv:2: the system a is compared with itself"),
        ([HEADER, row("1 2 3 4 5", ("a", "", "c", "d", "e"))], "data.csv:2: expected the name of a system"),
        ([HEADER, GOOD, "", GOOD[:-6]], "data.csv:4: expected 21 fields as in the header, found 18"),
        ([HEADER, GOOD, GOOD + ',"x'], "data.csv:3: expected CSV: unexpected end of data"),
        ([HEADER], "data.csv: expected rankings, found only a header"),
        (
            [HEADER.replace("system3rank", "r3"), GOOD],
            "data.csv:1: expected a column system3rank in the header",
        ),
        ([HEADER.replace("judgeId", "judge"), GOOD], "data.csv:1: expected a column judgeid in the header"),
        (
            [HEADER, GOOD, row("1 2 3 4 5", languages="Czech,English")],
            "data.csv: expected one pair of languages, found Czech-English, French-English: choose one with --languages",
        ),
        (["a b c"], "data.csv:1: expected a WMT CSV, Appraise XML, counts"),
    ],
)
def test_a_bad_csv_is_refused_with_its_line(make, lines: list[str], said: str) -> None:
    with pytest.raises(InputError) as error:
        read_comparisons([make(*lines)])
    assert said in str(error.value)


def test_empty_and_truncated_files_are_refused(tmp_path: Path, make) -> None:
    nothing = tmp_path / "nothing.csv"
    nothing.write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="expected comparisons or scores, found an empty file"):
        read_comparisons([nothing])
    cut = tmp_path / "cut.csv.gz"
    cut.write_bytes(gzip.compress(make(HEADER, *[row("1 2 3 4 5")] * 500).read_bytes())[:-20])
    with pytest.raises(InputError, match=r"cut.csv.gz:\d+: expected a whole gzip file"):
        read_comparisons([cut])
    with pytest.raises(InputError, match="No such file"):
        read_comparisons([tmp_path / "absent.csv"])


def test_filters(make) -> None:
    path = make(
        HEADER,
        row("1 2 3 4 5"),
        row("5 4 3 2 1", judge="researcher_9"),
        row("1 1 1 1 1", judge="researcher_1", languages="Czech,English"),
    )
    french = Filters(languages="french-english")
    assert len(read_comparisons([path], filters=french)) == 20
    some = read_comparisons([path], filters=Filters(languages="French-English", judges="researcher_*"))
    assert ("a", "b", -1) in told(some)
    assert len(some) == 10
    less = read_comparisons([path], filters=Filters(languages="French-English", exclude=("a", "e")))
    assert less.systems == ("b", "c", "d")
    assert len(less) == 6
    with pytest.raises(RyptError, match=r"no judge is called x\*; there are turker_1"):
        read_comparisons([path], filters=Filters(languages="French-English", judges="x*"))
    with pytest.raises(
        InputError, match="expected rows of German-English, found Czech-English, French-English"
    ):
        read_comparisons([path], filters=Filters(languages="German-English"))
    with pytest.raises(RyptError, match="expected one of the systems a, b, c, d, e, found 'q'"):
        read_comparisons([path], filters=Filters(languages="French-English", exclude=("q",)))


def test_a_sample_depends_on_the_generator_and_drops_who_is_not_in_it(make) -> None:
    path = make(HEADER, *[row("1 2 3 4 5", segment=i) for i in range(20)])
    draws = [
        read_comparisons([path], filters=Filters(sample=30), rng=np.random.default_rng(s)) for s in (1, 1, 2)
    ]
    assert [len(draw) for draw in draws] == [30] * 3
    assert draws[0].row.tolist() == draws[1].row.tolist() != draws[2].row.tolist()
    one = read_comparisons([path], filters=Filters(sample=1), rng=np.random.default_rng(1))
    assert len(one.systems) == 2
    with pytest.raises(RyptError, match="expected a sample of at most 200 comparisons, found 201"):
        sampled(read_comparisons([path]), 201, np.random.default_rng(1))


def test_counts_once_or_mirrored(make) -> None:
    mirrored = make(
        "a b 5 2 1", "b a 1 2 5", "a c 0 1 0", "c a 0 1 0", "b c 3 0 3", "c b 3 0 3", name="counts"
    )
    once = make("a b 5 2 1", "c a 0 1 0", "b c 3 0 3", name="once")
    for path in (mirrored, once):
        found = read_comparisons([path])
        wins, ties = found.counts()
        assert found.systems == ("a", "b", "c")
        assert wins.tolist() == [[0, 5, 0], [1, 0, 3], [0, 3, 0]]
        assert ties.tolist() == [[0, 2, 1], [2, 0, 0], [1, 0, 0]]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["a b 5 2 1", "b a 1 2 4"], r"bad:2: expected what a b says mirrored \(5 2 1\)"),
        (["a b 5 2 1", "a b 5 2 1"], "bad:2: the pair a b is there twice"),
        (["a b 5 2 1", "a a 1 1 1"], "bad:2: the system a is compared with itself"),
        (["a b 5 2 1", "a c 1 1"], "bad:2: expected two systems, better, equal and worse, found 'a c 1 1'"),
        (["a b 5 2 1", "a c 1 -1 3"], "bad:2: expected two systems, better, equal and worse"),
        (["5 a b >", "4 b a <"], "bad:2: expected 5 as a b says, found 4"),
        (["5 a b >", "5 a b >"], "bad: counts or segments"),
        (["5 a b >", "5 a a <"], "bad:2: the system a is compared with itself"),
        (["5 a b >", "5 a c"], "bad:2: expected a count, two systems and < or >"),
        (["x a b =", "x a b"], "bad:2: expected segment, two systems and <, = or >"),
        (["x a b =", "x b b >"], "bad:2: the system b is compared with itself"),
        (['{"system_a": "a"}'], "bad:1: expected system_b as a name, found None"),
        (
            ['{"system_a": "a", "system_b": "b", "choice": "C"}'],
            "bad:1: expected choice as A, B or EQUAL, found 'C'",
        ),
        (
            ['{"system_a": "a", "system_b": "a", "choice": "A"}'],
            "bad:1: the system a is compared with itself",
        ),
        (['{"system_a": "a", "system_b": "b", "choice": "A"}', '{"syst'], "bad:2: expected a JSON object"),
        (["<x><ranking-item>"], "bad:1: expected XML"),
        (["<x></x>"], "bad: expected rankings, found none"),
    ],
)
def test_bad_files_of_other_formats_are_refused_with_their_line(make, lines: list[str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_comparisons([make(*lines, name="bad")])


def test_tournaments_once_or_mirrored(make) -> None:
    mirrored = make(
        "   3 a b <", "  60 a b >", "  60 b a <", "   3 b a >", "   7 a c >", "   7 c a <", name="t"
    )
    once = make("3 a b <", "60 a b >", "7 c a <", name="u")
    for path in (mirrored, once):
        wins, ties = read_comparisons([path]).counts()
        assert wins.tolist() == [[0, 60, 7], [3, 0, 0], [0, 0, 0]]
        assert not ties.any()


def test_judgments_one_a_line(make) -> None:
    found = read_comparisons([make("src1 a b >", "src2 b a =", "src2 a c <", name="j")])
    assert told(found) == {("a", "b", 1), ("b", "a", 0), ("a", "c", -1)}
    assert [found.segments[i] for i in found.segment] == ["src1", "src2", "src2"]
    numbered = make("1 a b >", "1 a b >", "2 a b <", name="k")
    assert len(read_comparisons([numbered], format="judgments")) == 3


def test_jsonl_there_and_back(make) -> None:
    lines = [
        '{"segment": "7", "system_a": "x", "system_b": "y", "choice": "B", "worker": "w"}',
        '{"segment": 8, "system_a": "y", "system_b": "z", "choice": "equal"}',
    ]
    found = read_comparisons([make(*lines, name="c.jsonl")])
    assert told(found) == {("x", "y", -1), ("y", "z", 0)}
    again = read_comparisons([make(*write_jsonl(found), name="d.jsonl")])
    assert told(again) == told(found)
    assert json.loads(next(iter(write_jsonl(found))))["worker"] == "w"


APPRAISE = """<?xml version="1.0"?>
<WMT15-results>
<HIT hit-id="h1" source-language="deu" block-id="-1" target-language="eng">
 <ranking-task id="0">
  <ranking-result duration="00:00:35" user="anna">
   <translation system="x" rank="2" />
   <translation system="y,z" rank="1" />
   <translation system="q" rank="-1" />
  </ranking-result>
 </ranking-task>
 <ranking-task id="1"><ranking-result duration="00:00:10" user="otto">
   <translation system="q" rank="1" /><translation system="x" rank="5" />
 </ranking-result></ranking-task>
</HIT>
</WMT15-results>
"""


def test_appraise_of_wmt(make) -> None:
    found = read_comparisons([make(APPRAISE, name="a.xml")])
    assert told(found) == {("x", "y", -1), ("x", "z", -1), ("y", "z", 0), ("q", "x", 1)}
    assert {found.segments[i] for i in found.segment} == {"h1/0", "h1/1"}
    assert {found.workers[i] for i in found.worker} == {"anna", "otto"}
    assert len(set(found.row.tolist())) == 2
    wrong = make(APPRAISE.replace('rank="5"', 'rank="9"'), name="b.xml")
    with pytest.raises(
        InputError, match=r"b.xml:13: expected a rank 1 to 5, or -1 for not judged, found '9'"
    ):
        read_comparisons([wrong])
    with pytest.raises(InputError, match="expected rows of fra-eng, found deu-eng"):
        read_comparisons([make(APPRAISE, name="a.xml")], filters=Filters(languages="fra-eng"))


def test_appraise_as_it_writes_it(make) -> None:
    """Skipped judgments, several judgments of a task, numbers of tasks that begin anew in each hit."""
    text = """<?xml version="1.0" encoding="UTF-8"?>
<WMT15-results>

<HIT hit-id="aa" source-language="deu" block-id="-1" target-language="eng">
<ranking-task id="0">
  <ranking-result duration="00:00:35.337000" user="u1">
    <translation system="x.1.txt" rank="2" />
    <translation system="y.2.txt,z.3.txt" rank="1" />
  </ranking-result>
  <ranking-result duration="00:00:35.337000" user="u2" skipped="true" />
</ranking-task>
<ranking-task id="1">
</ranking-task>
</HIT>

<HIT hit-id="bb" source-language="deu" block-id="-1" target-language="eng">
<ranking-task id="0">
  <ranking-result duration="00:00:05" user="u2">
    <translation system="x.1.txt" rank="-1" />
    <translation system="y.2.txt" rank="4" />
    <translation system="z.3.txt" rank="5" />
  </ranking-result>
</ranking-task>
</HIT>

</WMT15-results>
""".splitlines()
    found = read_comparisons([make(*text, name="w.xml")])
    assert found.systems == ("x.1.txt", "y.2.txt", "z.3.txt")
    said = sorted(
        (found.segments[s], found.workers[w], found.systems[a], found.systems[b], o)
        for s, w, a, b, o in zip(
            found.segment, found.worker, found.a, found.b, found.outcome.tolist(), strict=True
        )
    )
    assert said == [
        ("aa/0", "u1", "x.1.txt", "y.2.txt", -1),
        ("aa/0", "u1", "x.1.txt", "z.3.txt", -1),
        ("aa/0", "u1", "y.2.txt", "z.3.txt", 0),
        ("bb/0", "u2", "y.2.txt", "z.3.txt", 1),
    ]


def test_appraise_closes_its_results_wrongly(make) -> None:
    text = [
        "<appraise-results>",
        "",
        "",
        '<ranking-item id="1" user="u" source-language="a" target-language="b">',
        '<translation system="x" rank="1" />',
        '<translation system="y" rank="2" />',
        "</ranking-item>",
        "</appraise-result>",
    ]
    assert len(read_comparisons([make(*text, name="c.xml")])) == 1
    wrong = [*text[:5], "</translation>", *text[5:]]
    with pytest.raises(InputError) as error:
        read_comparisons([make(*wrong, name="d.xml")])
    assert str(error.value).endswith("d.xml:6: expected XML: mismatched tag")


def test_appraise_items_of_their_own(make) -> None:
    text = """<set source-language="eng" target-language="deu"><ranking-item id="12" user="u" duration="0:01">
    <source>A house</source><translation system="x" rank="1">Ein Haus</translation>
    <translation system="y" rank="3">Haus</translation></ranking-item></set>"""
    found = read_comparisons([make(text, name="c.xml")], filters=Filters(languages="eng-deu"))
    assert told(found) == {("x", "y", 1)}
    assert found.segments[found.segment[0]] == "12"


def test_a_campaigns_database(demo_campaign: Path, tmp_path: Path) -> None:
    import shutil

    from hits.results.answers import Results
    from hits.results.content import Assignment
    from rypt.campaign.folder import Campaign

    folder = tmp_path / "campaign"
    shutil.copytree(demo_campaign, folder)
    with pytest.raises(
        InputError, match=r"expected comparisons, found none in this database .*rypt hits collect"
    ):
        read_comparisons([folder])
    lines = [
        f'{{"segment": "1", "system": "{s}", "score": {i}, "better": "lower"}}\n' for i, s in enumerate("xy")
    ]
    (folder / "scores.jsonl").write_text("".join(lines), encoding="utf-8")
    assert told(read_comparisons([folder])) == {
        ("x", "y", 1)
    }  # made from ratings: scores instead of comparisons
    campaign = Campaign.open(folder)
    segment = campaign.segments[0].id
    columns = {"item": "r-1", "segment": segment, "size": "3", "control": ""}
    columns |= {f"system_{i}": f"s{i}" for i in range(1, 4)} | {
        f"candidate_{i}": f"t{i}" for i in range(1, 4)
    }
    fields = {"rank_1": "1", "rank_2": "3", "rank_3": "3"}
    with campaign.database(readonly=False) as db:
        answer = Assignment(
            batch="batch",
            item="r-1",
            hit="hit",
            id="assignment",
            worker="worker",
            fields=fields,
            accepted=1,
            submitted=2,
        )
        Results(db).add([replace(answer, columns=columns)])
        path = db.path
    for place in (folder, path):
        found = read_comparisons([place])
        assert told(found) == {("s1", "s2", 1), ("s1", "s3", 1), ("s2", "s3", 0)}
        assert set(found.row.tolist()) == {0}
        assert found.workers == ("worker",)


def test_no_name_is_no_name_in_jsonl(make) -> None:
    pair = '"system_a": "x", "system_b": "y", "choice": "A"'
    found = read_comparisons(
        [make("{" + pair + ', "segment": null, "worker": null}', "{" + pair + ', "segment": 7}')]
    )
    assert (found.segments, found.workers) == (("", "7"), ("",))
    with pytest.raises(InputError, match=r":1: expected segment as a name, found \[\]"):
        read_comparisons([make("{" + pair + ', "segment": []}')])


def test_more_comparisons_than_fit_are_refused(make) -> None:
    for lines, said in (
        (["a b 1 0 0", "a c 99999999999999999999 0 0"], ":2: expected at most 100,000,000 comparisons"),
        (
            ["a b 99999999 0 0", "a c 0 99999999 0"],
            ": expected at most 100,000,000 comparisons, found 199,999,998",
        ),
        (["1 a b >", "100000001 a c >"], ":2: expected at most 100,000,000"),
    ):
        with pytest.raises(InputError, match=said):
            read_comparisons([make(*lines)])


def test_nothing_judged_names_the_file(make) -> None:
    header = "srclang,trglang,segmentId,judgeId,system1Id,system1rank,system2Id,system2rank"
    path = make(header, "a,b,1,j,x,-1,y,2", "a,b,2,j,x,1,y,-1", name="idle.csv")
    with pytest.raises(InputError, match=r"idle.csv: expected two systems that were compared, found none"):
        read_comparisons([path])


def test_carriage_returns_alone_end_lines_too(tmp_path: Path) -> None:
    """As old spreadsheets write them; one in the midst of other lines is a mistake."""
    path = tmp_path / "mac.csv"
    path.write_bytes(f"{HEADER}\r{row('1 2 3 4 5')}\r{row('1 2 3 4 9')}\r".encode())
    with pytest.raises(InputError, match=r"mac.csv:3: "):
        read_comparisons([path])
    path.write_bytes(f"{HEADER}\r{row('1 2 3 4 5')}\r".encode())
    assert len(read_comparisons([path])) == 10
    path.write_bytes(f"{HEADER}\n{row('1 2 3 4 5')}\r{row('1 2 3 4 5')}\n".encode())
    with pytest.raises(InputError, match=r"mac.csv:2: expected lines that end with a line feed"):
        read_comparisons([path])


def test_a_pipe_is_read_from_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    text = f"{HEADER}\n{row('1 2 3 4 5')}\n"
    writer = threading.Thread(target=lambda: path.write_text(text), daemon=True)
    writer.start()
    assert len(read_comparisons([path])) == 10
    writer.join(10)


def test_names_that_stand_twice_and_deep_nesting_are_refused(make) -> None:
    twice = make('{"system_a": "x", "system_b": "y", "choice": "A", "choice": "B"}', name="twice.jsonl")
    with pytest.raises(InputError, match="'choice' stands twice"):
        read_comparisons([twice])
    with pytest.raises(InputError, match="too deeply nested"):
        read_comparisons([make('{"a":' * 100_000, name="deep.jsonl")])
