"""``rypt parse`` and ``rypt align`` as their users meet them: from plain text to a campaign."""

import importlib.util
from pathlib import Path

import pytest
from commands import run

from rypt import aligners, parsers
from rypt.alignment import parse_links

SOURCE = ["das Haus ist klein .", "das Buch ist alt ( sehr alt ) .", "", "ein\u00a0Hund lacht ."]
TARGET = ["the house is small .", "the book is old ( very old ) .", "", "a\u00a0dog laughs ."]
needs_eflomal = pytest.mark.skipif(
    importlib.util.find_spec("eflomal") is None, reason="eflomal is not installed (pip install eflomal)"
)


@pytest.fixture
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").write_text("".join(f"{line}\n" for line in SOURCE), encoding="utf-8")
    (tmp_path / "out").write_text("".join(f"{line}\n" for line in TARGET), encoding="utf-8")
    return tmp_path


@needs_eflomal
def test_from_plain_text_to_a_campaign(texts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "parse", "src", "--tool", "fallback", "-o", "trees")
    assert (code, out, err) == (0, "", "4 trees by fallback\n")
    assert (texts / "trees").read_text(encoding="utf-8").splitlines()[2] == "()"
    code, out, err = run(capsys, "align", "--source", "src", "--nbest", "out", "-o", "links")
    assert (code, out) == (0, "")
    assert "aligning 4 pairs of 4 candidates with eflomal" in err
    lines = (texts / "links").read_text().splitlines()
    assert len(lines) == 4
    assert lines[2] == ""
    assert all(parse_links(line) for line in (lines[0], lines[1], lines[3]))
    made = run(capsys, "init", "c", "--source", "src", "--trees", "trees", "--nbest", "out", "--alignments", "links")
    assert made[0] == 0, made
    code, out, _ = run(capsys, "queries", "c", "-q")
    assert code == 0
    assert out


@needs_eflomal
def test_lists_of_all_dialects_are_aligned_together(texts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line of links for each line of a list; a derivation and a trace are read as their words."""
    (texts / "moses").write_text("0 ||| the house ||| LM0= -1 ||| -2\n0 ||| the |0-0| house |1-1| ||| LM0= -1 ||| -2\n")
    (texts / "joshua").write_text("0 ||| (ROOT{0-5} (S{0-5} the (X{1-2} house))) ||| f=1 ||| -2\n")
    (texts / "l.jsonl").write_text('{"id": 1, "candidate": "the book"}\n')
    lists = ["moses", "joshua", "l.jsonl", "out"]
    options = [item for name in lists for item in ("--nbest", name, "-o", f"{name}.links")]
    code, _, err = run(capsys, "align", "--source", "src", *options, "--train", "src", "out")
    assert code == 0
    assert "aligning 6 pairs of 8 candidates" in err
    counts = [len((texts / f"{name}.links").read_text().splitlines()) for name in lists]
    assert counts == [2, 1, 1, 4]
    one, two = (texts / "moses.links").read_text().splitlines()
    assert one == two == (texts / "joshua.links").read_text().strip()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--nbest", "out", "--nbest", "out", "-o", "x"], 2, "expected an --output for each --nbest, 2, found 1"),
        (["--nbest", "far"], 1, "far:1: segment '9' is not in the source"),
        (["--nbest", "none"], 1, "none: expected candidates, found none"),
        (["--nbest", "out", "--train", "src", "far"], 1, "expected as many lines in src as in far, found 4 and 1"),
        (["--nbest", "missing"], 1, "missing: No such file or directory"),
    ],
)
def test_align_refuses(
    texts: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int,
    message: str,
) -> None:  # fmt: skip
    monkeypatch.setattr(aligners, "is_installed", lambda name: True)
    (texts / "far").write_text("9 ||| x ||| f= 1 ||| 2\n")
    (texts / "none").write_text("")
    got, out, err = run(capsys, "align", "--source", "src", *arguments)
    assert (got, out) == (code, "")
    assert message in err


def test_without_tools(texts: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aligners, "is_installed", lambda name: False)
    monkeypatch.setattr(parsers, "is_installed", lambda name: False)
    code, out, err = run(capsys, "align", "--source", "src", "--nbest", "out")
    assert (code, out, err) == (1, "", "rypt: no aligner is installed; the simplest one: pip install eflomal\n")
    code, out, err = run(capsys, "parse", "src", "-o", "trees")
    assert (code, out) == (1, "")
    assert err.startswith("rypt: no parser is installed: pip install stanza")
    assert not (texts / "trees").exists()
