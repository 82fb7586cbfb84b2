"""The open queries of a campaign: their order, their price, and the files they are written to."""

import json
import shutil
from decimal import Decimal
from pathlib import Path

import pytest
from commands import run

import rypt
from rypt.campaign.folder import Campaign
from rypt.campaign.queries import LabelPrice
from rypt.records import Query
from rypt.scoring.value import WORTHLESS
from rypt.text import OptionError, RyptError


@pytest.fixture(scope="module")
def campaign(demo_campaign: Path) -> Campaign:
    return rypt.Campaign.open(demo_campaign)


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_the_command_writes_the_same(campaign, tmp_path, capsys, form):
    queries = rypt.queries(campaign, max_len=2, select="all", limit=7)
    queries.write(tmp_path / "asked", form)
    options = ["--max-len", 2, "--select", "all", "--limit", 7, "--format", form]
    code, out, err = run(capsys, "queries", campaign.folder, *options)
    assert (code, out) == (0, (tmp_path / "asked").read_text(encoding="utf-8-sig"))
    assert err == f"{queries.summary()}\n"


def test_by_value_the_most_valuable_first_and_nothing_worthless(campaign: Campaign, tmp_path: Path) -> None:
    def key(query: Query) -> tuple[object, ...]:
        return query.segment, query.span, query.phrase

    every, valued = rypt.queries(campaign, max_len=2), rypt.queries(campaign, max_len=2, select="value")
    values = [query.value or 0.0 for query in valued]
    assert values == sorted(values, reverse=True)
    assert values[-1] > WORTHLESS
    assert set(map(key, valued)) < set(map(key, every))
    assert valued.useful == len(valued) < valued.open == len(every)
    assert f"not worth asking now: {len(every) - len(valued)} more" in valued.summary()
    valued.write(tmp_path / "asked.jsonl")
    first = json.loads((tmp_path / "asked.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert first["value"] == values[0]


def test_a_budget_takes_the_first(campaign: Campaign) -> None:
    price = LabelPrice(Decimal(10), Decimal(9), assignments=2)
    queries = rypt.queries(campaign, max_len=2, budget="0.30", price=price)
    assert (len(queries), queries.cost) == (6, Decimal("0.30"))
    assert list(queries) == list(rypt.queries(campaign, max_len=2))[:6]
    assert "cost: about $0.30 at $10 an hour and 9 seconds per label" in queries.summary()
    assert f"not in this selection: {queries.useful - 6} more" in queries.summary()
    assert len(rypt.queries(campaign, limit=3, budget="0.06")) == 2
    with pytest.raises(RyptError, match=r"a label costs \$0.0500, more than the budget of \$0.04"):
        rypt.queries(campaign, budget=Decimal("0.04"), price=price)


def test_wrong_choices(campaign: Campaign, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"expected a budget in dollars such as 25\.00, got 'much'"):
        rypt.queries(campaign, budget="much")
    with pytest.raises(RyptError, match="wage must be above 0, got 0"):
        LabelPrice(wage=Decimal(0))
    with pytest.raises(RyptError, match="expected form as one of jsonl, csv, found 'xml'"):
        rypt.queries(campaign).write(tmp_path / "x", "xml")
    with pytest.raises(RyptError, match="expected select as one of frontier, value, all, found 'best'"):
        rypt.queries(campaign, select="best")
    with pytest.raises(OptionError, match="limit must be at least 1, got 0"):
        rypt.queries(campaign, limit=0)
    assert not list(tmp_path.iterdir())


def test_a_sheet_with_labels_is_not_written_over(capsys, demo_campaign, tmp_path):
    sheet = tmp_path / "ask.csv"
    command = ("queries", demo_campaign, "--format", "csv", "--limit", 3, "-o", sheet)
    assert run(capsys, *command)[0] == 0
    assert run(capsys, *command)[0] == 0
    head, first, *others = sheet.read_text(encoding="utf-8").splitlines()
    assert head.startswith("\ufeffsegment,")  # without the mark, spreadsheets break umlauts
    long = "x" * 200_000  # more than csv reads by default
    filled = "\n".join([head, f"{first.removesuffix(',')}y,{long}", *others]).replace(",", ";")
    sheet.write_text(filled, encoding="utf-8")
    code, _, err = run(capsys, *command)
    assert (code, err.startswith(f"rypt: {sheet}: expected a new file, found labels")) == (1, True)
    assert sheet.read_text(encoding="utf-8") == filled
    sheet.write_text(filled.replace(";y;", ";;"), encoding="utf-8")
    assert run(capsys, *command)[0] == 0


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-8"])
def test_a_filled_sheet_is_imported(capsys, demo_campaign, tmp_path, encoding):
    folder, sheet = tmp_path / "campaign", tmp_path / "ask.csv"
    shutil.copytree(demo_campaign, folder)
    before = rypt.queries(Campaign.open(folder))
    code, _, err = run(capsys, "queries", folder, "--format", "csv", "--limit", 3, "-o", sheet)
    assert (code, "in phrases, case does not matter" in err) == (0, True)
    head, *rows = sheet.read_text(encoding="utf-8-sig").splitlines()
    sheet.write_text("\n".join([head, *(f"{row.removesuffix(',')}y,Ada" for row in rows)]), encoding=encoding)
    assert "3 judgments added" in run(capsys, "import", "-C", folder, sheet)[1]
    assert list(rypt.queries(Campaign.open(folder))) == list(before)[3:]
