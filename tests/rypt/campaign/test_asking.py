"""``rypt.queries`` without the command line; values of queries are tested in ``metric/test_value.py``."""

import json
from decimal import Decimal
from pathlib import Path

import pytest
from commands import run

import rypt
from rypt.campaign.asking import LabelPrice
from rypt.campaign.folder import Campaign
from rypt.scoring.queries import QueryLimits
from rypt.text import OptionError, RyptError


@pytest.fixture(scope="module")
def campaign(demo_campaign: Path) -> Campaign:
    return rypt.Campaign.open(demo_campaign)


@pytest.mark.parametrize("form", ["jsonl", "csv", "pilot"])
def test_the_command_writes_the_same(
    campaign: Campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    queries = rypt.queries(campaign, max_len=2, select="all", gap="words" if form == "pilot" else "mark")
    queries.write(tmp_path / "asked", form)
    options = ["--max-len", 2, "--select", "all", "--format", form]
    code, out, err = run(capsys, "queries", campaign.folder, *options)
    assert (code, out) == (0, (tmp_path / "asked").read_text(encoding="utf-8-sig"))
    assert err == f"{queries.summary()}\n"


def test_a_sequence_of_queries(campaign: Campaign) -> None:
    queries = rypt.queries(campaign, max_len=2)
    assert len(queries) == len(list(queries)) == queries.useful == queries.open
    assert queries[0] == queries[:1][0]
    assert queries.candidates == sum(query.candidates for query in queries)
    segments = len({query.segment for query in queries})
    assert (
        repr(queries)
        == f"Queries({len(queries)} queries about {segments} segments, about ${queries.cost:.2f})"
    )


def test_a_budget(campaign: Campaign) -> None:
    price = LabelPrice(Decimal(10), Decimal(9), assignments=2)
    queries = rypt.queries(campaign, max_len=2, budget=Decimal("0.30"), price=price)
    assert (len(queries), queries.cost) == (6, Decimal("0.30"))
    assert list(queries) == list(rypt.queries(campaign, max_len=2))[:6]
    with pytest.raises(RyptError, match=r"a label costs \$0.0500, more than the budget of \$0.04"):
        rypt.queries(campaign, budget=Decimal("0.04"), price=price)
    assert list(rypt.queries(campaign, max_len=2, budget="0.30", price=price)) == list(queries)
    with pytest.raises(OptionError, match=r"expected a budget in dollars such as 25\.00, got 'much'"):
        rypt.queries(campaign, budget="much")
    with pytest.raises(RyptError, match="wage must be above 0, got 0"):
        LabelPrice(wage=Decimal(0))


def test_limits(campaign: Campaign) -> None:
    short = rypt.queries(campaign, limits=QueryLimits(max_phrase_words=1))
    assert 0 < len(short) < len(rypt.queries(campaign))
    assert all(len(query.positions) == 1 for query in short)


def test_forms_that_do_not_fit(campaign: Campaign, tmp_path: Path) -> None:
    with pytest.raises(RyptError, match="expected form as one of jsonl, csv, found 'xml'"):
        rypt.queries(campaign).write(tmp_path / "x", "xml")
    with pytest.raises(RyptError, match="expected select as one of frontier, value, all, found 'best'"):
        rypt.queries(campaign, select="best")
    assert not list(tmp_path.iterdir())


def test_values_come_with_the_queries(campaign: Campaign, tmp_path: Path) -> None:
    queries = rypt.queries(campaign, max_len=2, select="value")
    values = [query.value for query in queries]
    assert values == sorted(values, reverse=True)
    assert queries.useful < queries.open
    queries.write(tmp_path / "asked.jsonl")
    first = json.loads((tmp_path / "asked.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert first["value"] == values[0]


def test_a_limit_takes_the_first_queries(campaign: Campaign, capsys: pytest.CaptureFixture[str]) -> None:
    every = rypt.queries(campaign, select="all")
    assert list(rypt.queries(campaign, select="all", limit=3)) == list(every)[:3]
    assert len(rypt.queries(campaign, select="all", limit=3, budget="0.06")) == 2
    with pytest.raises(OptionError, match="limit must be at least 1, got 0"):
        rypt.queries(campaign, limit=0)
    assert len(run(capsys, "queries", campaign.folder, "--limit", 4, "-q")[1].splitlines()) == 4
