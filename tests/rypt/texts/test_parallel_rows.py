"""Rows of parallel corpora are refused with the command that writes what they hold."""

import json
import re

import pytest
from commands import run

from rypt.texts.parallel_rows import describe_row, json_row

ROWS = [{"translation": {"de": "Das Haus brennt.", "en": "The house burns."}}] * 2
EN, DE = (
    rf"a row with the languages de and en: jq -r .translation.{code} FILE > FILE.{code}"
    for code in ("en", "de")
)


@pytest.fixture
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (tmp_path / "dev.de").write_text("Das Haus brennt.\nDas Haus brennt.\n")
    (tmp_path / "out.en").write_text("The house burns.\nThe house burns.\n")
    return tmp_path


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            "init c --source rows.jsonl --nbest out.en",
            f"source as plain text or JSON with id and text, found {DE}",
        ),
        (
            "init c --source dev.de --nbest rows.jsonl",
            f"candidate with the text that a system wrote, found {EN}",
        ),
        (
            "init c --source dev.de --nbest out.en --references rows.jsonl",
            f"text, a line per segment, found {EN}",
        ),
        ("compare out.en --references rows.jsonl", f"plain text, a line per segment, found {EN}"),
    ],
)
def test_a_row_with_two_languages_is_refused_everywhere(capsys, rows, command, message):
    code, out, err = run(capsys, *command.split(), "-q")
    assert (code, out) == (1, "")
    assert re.search(rf"rows.jsonl:1: expected .*{message}", err)
    assert not (rows / "c").exists()


def test_what_is_no_row():
    assert describe_row(["a"]) is describe_row({"n": 1}) is describe_row({"translation": {"de": 1}}) is None
    assert json_row('"{text}"') is json_row("{text") is json_row("plain") is None
    assert "jq -r '.translation[\"zh-Hans\"]' FILE > FILE.zh-Hans" in describe_row(
        {"translation": {"zh-Hans": "x"}}
    )
