"""A new dialect is one `Dialect` in the registry: every command that reads lists then reads it."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from commands import run

from mert.lists.arrays import read_lists
from rypt.records import Candidate
from rypt.text import FormatError, NumberedLines, PathLike, RyptError
from rypt.texts.dialects import BARS, DIALECTS, Dialect, dialect_of
from rypt.texts.features import read_features
from rypt.texts.nbest import read_raw

LISTS = {
    "tab": "@0\tthe house\tlm=-2 tm=-1\t0-0 1-1\n@0\ta ||| house\tlm=-1 tm=-3\t0-0 1-2\n@1\tyes\tlm=-1 tm=-1\t0-0\n",
    "block": "@0\nthe house\nlm=-2 tm=-1\n0-0 1-1\n@0\na ||| house\nlm=-1 tm=-3\n0-0 1-2\n@1\nyes\nlm=-1 tm=-1\n0-0\n",
}


def parse_tab(line: str) -> Candidate:
    fields = line.removeprefix("@").split("\t")
    if len(fields) != 4:
        raise FormatError(f"expected 4 fields between tabs, found {len(fields)}")
    return Candidate(fields[0], fields[1], fields[3], read_features(fields[2]), None)


def read_block(
    path: PathLike, lines: NumberedLines, order: Sequence[str] | None = None
) -> Iterator[tuple[int, Candidate]]:
    rows = list(lines)
    for i in range(0, len(rows), 4):
        yield rows[i][0], parse_tab("\t".join(line for _, line in rows[i : i + 4]))


@pytest.fixture(params=LISTS)
def new_list(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """A list of a dialect that exists only in this test: one candidate per line, or over four lines."""
    monkeypatch.chdir(tmp_path)
    name = str(request.param)
    Path("list").write_text(LISTS[name])
    Path("source").write_text("das Haus\nja\n")
    Path("trees").write_text("(NP (D das) (N Haus))\n(X ja)\n")
    Path("reference").write_text("the house\nyes\n")
    how = {"parse_line": parse_tab} if name == "tab" else {"read": read_block}
    dialect = Dialect(name, lambda line: line.startswith("@"), **how)
    DIALECTS.insert(0, dialect)
    yield name
    DIALECTS.remove(dialect)


def test_every_command_reads_a_new_dialect(new_list: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "init", "c", "--source", "source", "--trees", "trees", "--nbest", "list")
    assert (code, err.splitlines()[0]) == (0, "c: 2 segments, 3 candidates")
    code, out, _ = run(capsys, "queries", "c", "-q")
    phrases = {json.loads(line)["phrase"] for line in out.splitlines()}
    assert (code, phrases) == (0, {"the house", "a [GAP] house", "yes"})
    assert run(capsys, "score", "c", "--candidates", "list", "-b")[:2] == (0, "0.5000\n")
    code, out, err = run(
        capsys, "tune", "list", "--metric", "chrf", "--references", "reference", "--json", "-q"
    )
    assert code == 0, err
    assert set(json.loads(out)["weights"]) == {"lm", "tm"}


def test_the_tuner_sees_the_same_candidates(new_list: str) -> None:
    lists = read_lists(["list"])
    assert [(raw.segment, raw.text) for raw in lists.candidates] == [
        (raw.segment, raw.text) for _, raw in read_raw("list")
    ]
    assert lists.names == ("lm", "tm")
    assert lists.features.tolist() == [[-2, -1], [-1, -3], [-1, -1]]


def test_lines_and_their_dialects() -> None:
    lines = ["0 ||| x ||| f= 1 ||| 2", '{"id": 0, "candidate": "a ||| b"}', "H-0\t-1\ta ||| b", "the house"]
    assert [dialect.name if (dialect := dialect_of(line)) else None for line in lines] == [
        "bars",
        "jsonl",
        "fairseq",
        None,
    ]
    assert dialect_of(lines[0]) is BARS


def test_a_dialect_reads_lines_or_files() -> None:
    with pytest.raises(RyptError, match="the dialect x: expected parse_line or read"):
        Dialect("x", lambda line: True)
