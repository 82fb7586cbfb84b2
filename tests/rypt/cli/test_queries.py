"""``rypt queries``: in which order, and for how much."""

import json
import shutil

import pytest
from commands import run

from rypt.scoring.value import WORTHLESS


def asked(capsys, *arguments):
    code, out, err = run(capsys, "queries", *arguments)
    assert code == 0, err
    return [json.loads(line) for line in out.splitlines()], err


def key(record):
    return record["segment"], record["start"], record["stop"], record["phrase"]


def test_by_value_the_most_valuable_first_and_nothing_worthless(capsys, demo_campaign):
    every, _ = asked(capsys, demo_campaign, "--max-len", 2)
    valued, err = asked(capsys, demo_campaign, "--max-len", 2, "--select", "value")
    values = [record["value"] for record in valued]
    assert values == sorted(values, reverse=True)
    assert values[-1] > WORTHLESS
    assert 0 < len(valued) < len(every)
    assert {key(record) for record in valued} < {key(record) for record in every}
    useless = len(every) - len(valued)
    assert (
        f"not worth asking now: {useless} more, because no answer to them changes which candidates are best\n"
        in err
    )
    assert all("value" not in record for record in every)


@pytest.mark.parametrize("select", ["frontier", "value", "all"])
def test_a_budget_takes_the_first(capsys, demo_campaign, select):
    options = [demo_campaign, "--max-len", 2, "--select", select]
    every, _ = asked(capsys, *options)
    few, err = asked(capsys, *options, "--budget", "0.30", "--wage", "10", "--seconds", "9")
    assert few == every[:12]  # 2.5 cents each
    assert err.startswith("12 queries, whose answers serve ")
    assert "\ncost: about $0.30 at $10 an hour and 9 seconds per label\n" in err
    later = len(every) - 12
    assert f"\nnot in this selection: {later} more, about ${0.025 * later:.2f}\n" in err
    twice, _ = asked(
        capsys, *options, "--budget", "0.30", "--wage", "10", "--seconds", "9", "--assignments", 2
    )
    assert len(twice) == 6


def test_a_large_budget_buys_all(capsys, demo_campaign):
    every, _ = asked(capsys, demo_campaign, "--max-len", 2)
    rich, err = asked(capsys, demo_campaign, "--max-len", 2, "--budget", "1e9")
    assert rich == every
    assert "not in this selection" not in err


def test_a_budget_below_the_price_of_a_label_is_refused(capsys, demo_campaign, tmp_path):
    file = tmp_path / "ask.jsonl"
    code, out, err = run(capsys, "queries", demo_campaign, "--budget", "0.027", "-o", file)
    assert (code, out, file.exists()) == (1, "", False)
    assert err == "rypt: a label costs $0.0280, more than the budget of $0.027\n"
    assert run(capsys, "queries", demo_campaign, "--budget", "0.028", "--assignments", 2, "-o", file)[0] == 1
    assert run(capsys, "queries", demo_campaign, "--budget", "0.028", "-o", file)[0] == 0
    assert len(file.read_text().splitlines()) == 1


@pytest.mark.parametrize("option", ["--budget", "--wage", "--seconds"])
@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "ten", "1e999", "1e-999999", "sNaN", ""])
def test_what_is_no_amount(capsys, demo_campaign, option, text):
    code, out, err = run(capsys, "queries", demo_campaign, f"{option}={text}")
    assert (code, out) == (2, "")
    assert f"expected {option} as a number from 0.0001 to 1000000000" in err


def test_values_have_no_pilot_form(capsys, demo_campaign):
    code, _, err = run(capsys, "queries", demo_campaign, "--select", "value", "--format", "pilot")
    assert code == 2
    assert "has no pilot form" in err


def test_values_in_a_table(capsys, demo_campaign, tmp_path):
    options = ["--select", "value", "--max-len", 2, "--format", "csv", "-o", tmp_path / "ask.csv", "-q"]
    code, out, err = run(capsys, "queries", demo_campaign, *options)
    assert (code, out, err) == (0, "", "")
    valued, _ = asked(capsys, demo_campaign, "--max-len", 2, "--select", "value")
    lines = (tmp_path / "ask.csv").read_text().splitlines()
    assert len(lines) == len(valued) + 1
    assert lines[1].startswith(f"{valued[0]['segment']},{valued[0]['start']},")


def test_a_sheet_with_labels_is_not_written_over(capsys, demo_campaign, tmp_path):
    sheet = tmp_path / "ask.csv"
    command = ("queries", demo_campaign, "--format", "csv", "--limit", 3, "-o", sheet)
    assert run(capsys, *command)[0] == 0
    assert run(capsys, *command)[0] == 0
    head, first, *others = sheet.read_text(encoding="utf-8").splitlines()
    assert head.startswith("\ufeffsegment,")  # without the mark, spreadsheets break umlauts
    filled = "\n".join([head, f"{first.removesuffix(',')}y,Ada", *others]).replace(",", ";")
    sheet.write_text(filled, encoding="utf-8")
    code, _, err = run(capsys, *command)
    assert (code, "found labels that somebody filled in" in err) == (1, True)
    assert sheet.read_text(encoding="utf-8") == filled


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-8"])
def test_a_sheet_is_imported_with_and_without_its_mark(capsys, demo_campaign, tmp_path, encoding):
    campaign, sheet = tmp_path / "campaign", tmp_path / "ask.csv"
    shutil.copytree(demo_campaign, campaign)
    before, _ = asked(capsys, campaign)
    code, _, err = run(capsys, "queries", campaign, "--format", "csv", "--limit", 3, "-o", sheet)
    assert (code, "in phrases, case does not matter" in err) == (0, True)
    head, *rows = sheet.read_text(encoding="utf-8-sig").splitlines()
    sheet.write_text("\n".join([head, *(f"{row.removesuffix(',')}y,Ada" for row in rows)]), encoding=encoding)
    assert "3 judgments added" in run(capsys, "db", "import", campaign, sheet)[1]
    assert asked(capsys, campaign)[0] == before[3:]
