"""``rypt parse`` and ``rypt align`` as their users meet them: from plain text to a campaign."""

import importlib.util
from pathlib import Path

import pytest
from commands import run

from rypt.campaign.folder import Campaign
from rypt.text import RyptError
from rypt.texts.alignment import parse_links
from rypt.tools import aligners, parsers

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
    assert "1 candidate without links" in err
    lines = (texts / "links").read_text().splitlines()
    assert len(lines) == 4
    assert lines[2] == ""
    assert all(parse_links(line) for line in (lines[0], lines[1], lines[3]))
    made = run(
        capsys, "init", "c", "--source", "src", "--trees", "trees", "--nbest", "out", "--alignments", "links"
    )
    assert made[0] == 0, made
    code, out, _ = run(capsys, "queries", "c", "-q")
    assert code == 0
    assert out


@needs_eflomal
def test_lists_of_all_dialects_are_aligned_together(texts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line of links for each line of a list; a derivation and a trace are read as their words."""
    (texts / "moses").write_text(
        "0 ||| the house ||| LM0= -1 ||| -2\n0 ||| the |0-0| house |1-1| ||| LM0= -1 ||| -2\n"
    )
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


def test_a_folder_of_lists(
    texts: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Links in a folder, a file named like each list; nothing of it stays when the aligner fails."""
    monkeypatch.setattr(aligners, "is_installed", lambda name: True)
    (texts / "lists").mkdir()
    (texts / "lists" / "A.0.txt").write_text("0 ||| the house\n")
    (texts / "lists" / "b.jsonl").write_text('{"id": 1, "candidate": "the book"}\n')
    command = ["align", "--source", "src", "--nbest", "lists", "-o", "links"]

    def fails(*pairs: object, **options: object) -> None:
        raise RyptError("the aligner failed")

    monkeypatch.setattr(aligners, "align", fails)
    assert run(capsys, *command)[0] == 1
    assert not (texts / "links").exists()
    monkeypatch.setattr(aligners, "align", lambda pairs, **options: [((0, i),) for i, _ in enumerate(pairs)])
    assert run(capsys, *command)[0] == 0
    assert {path.name: path.read_text() for path in (texts / "links").iterdir()} == {
        "A.0.links": "0-0\n",
        "b.links": "0-1\n",
    }
    code, _, err = run(capsys, "align", "--source", "src", "--nbest", "lists")
    assert (code, err) == (1, "rypt: lists: expected a folder for the links of these lists, found -\n")
    assert run(capsys, "parse", "src", "--tool", "fallback", "-o", "trees")[0] == 0
    made = run(
        capsys,
        "init",
        "c",
        "--source",
        "src",
        "--trees",
        "trees",
        "--nbest",
        "lists",
        "--alignments",
        "links",
    )
    assert made[0] == 0, made
    assert Campaign.open("c").files.nbest == ["../lists/A.0.txt", "../lists/b.jsonl"]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--references", "rypt: none: expected 4 lines, one per segment, found 0\n"),
        ("--alignments", "rypt: none: expected an alignment for each candidate of out, found 0\n"),
    ],
)
def test_init_names_an_empty_file_without_a_line(
    texts: Path, capsys: pytest.CaptureFixture[str], option: str, message: str
) -> None:
    (texts / "none").write_text("")
    (texts / "links").write_text("\n" * 4)
    assert run(capsys, "parse", "src", "--tool", "fallback", "-o", "trees")[0] == 0
    command = ["init", "c", "--source", "src", "--trees", "trees", "--nbest", "out", option, "none"]
    code, _, err = run(capsys, *command, *(["--alignments", "links"] if option == "--references" else []))
    assert (code, err) == (1, message)
    assert not (texts / "c").exists()


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        (["-o", "links"], Path("links.cache.gz")),
        (["-o", "links", "--no-cache"], None),
        ([], None),
        (["-o", "-", "--cache", "mine"], "mine"),
        (["-o", "/dev/null"], None),
    ],
)
def test_where_links_are_kept(
    texts: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    kept: str | Path | None,
) -> None:
    caches = []
    monkeypatch.setattr(aligners, "is_installed", lambda name: True)
    monkeypatch.setattr(
        aligners, "align", lambda pairs, cache, **others: caches.append(cache) or [()] * len(pairs)
    )
    code, _, err = run(capsys, "align", "--source", "src", "--nbest", "out", *options)
    assert (code, caches) == (0, [kept]), err


def test_a_cache_and_none_exclude_each_other(texts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "align", "--source", "src", "--nbest", "out", "--cache", "x", "--no-cache")
    assert (code, "--cache and --no-cache exclude each other" in err) == (2, True)


def test_what_cannot_be_written_is_said_before_the_work(
    texts: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aligners, "is_installed", lambda name: True)
    monkeypatch.setattr(aligners, "align", lambda pairs, **options: pytest.fail("was aligned"))
    code, _, err = run(capsys, "align", "--source", "src", "--nbest", "out", "-o", "none/links", "-q")
    assert (code, err) == (1, "rypt: none/links: No such file or directory\n")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--nbest", "out", "--nbest", "out", "-o", "x"], 2, "expected an output for each list, 2, got 1"),
        (["--nbest", "far"], 1, "far:1: segment '9' is not in the source"),
        (["--nbest", "none"], 1, "none: expected candidates, found none"),
        (
            ["--nbest", "out", "--train", "src", "far"],
            1,
            "expected as many lines in src as in far, found 4 and 1",
        ),
        (["--nbest", "missing"], 1, "missing: No such file or directory"),
    ],
)
def test_align_refuses(
    texts: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: int,
    message: str,
) -> None:
    monkeypatch.setattr(aligners, "is_installed", lambda name: True)
    (texts / "far").write_text("9 ||| x ||| f= 1 ||| 2\n")
    (texts / "none").write_text("")
    got, out, err = run(capsys, "align", "--source", "src", *arguments)
    assert (got, out) == (code, "")
    assert message in err


def test_without_tools(
    texts: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aligners, "is_installed", lambda name: name == "diagonal")
    monkeypatch.setattr(parsers, "is_installed", lambda name: False)
    code, out, err = run(capsys, "align", "--source", "src", "--nbest", "out")
    assert code == 0
    assert "with diagonal" in err
    assert "0-0" in out
    code, out, err = run(
        capsys, "align", "--source", "src", "--nbest", "out", "--save-priors", "priors", "-q"
    )
    assert (code, out, err) == (2, "", "rypt: priors are for eflomal, not for the aligner diagonal\n")
    code, out, err = run(capsys, "parse", "src", "-o", "trees")
    assert (code, out) == (1, "")
    assert err.startswith("rypt: no parser is installed: pip install stanza")
    assert not (texts / "trees").exists()
