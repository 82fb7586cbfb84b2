"""Batches made without the command line: what is made, what it costs, and what cannot be made."""

import shutil
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from hits.batch.folder import read_batch
from hits.batch.make import make_batch, price
from hits.batch.options import BatchOptions
from hits.payment import MIN_WAGE
from hits.records import Assignment, Kind
from hits.results.answers import Results
from rypt.campaign.folder import Campaign
from rypt.text import InputError, RyptError

ONLY = {
    "budget": "5",
    "alternatives": 4,
    "reference_alignment": "/no/such/file",
    "severity": True,
    "blank": True,
    "training": 3,
}.items()


@pytest.fixture
def campaign(demo_campaign, tmp_path):
    return Campaign.open(shutil.copytree(demo_campaign, tmp_path / "campaign"))


@pytest.fixture
def outputs(campaign, tmp_path):
    lines = (campaign.folder / "reference.en").read_text().splitlines()
    files = {name: tmp_path / f"{name}.txt" for name in ("one", "two", "three")}
    for i, path in enumerate(files.values()):
        path.write_text("".join(f"{line}{' indeed' * i}\n" for line in lines))
    return files


@pytest.mark.slow
def test_labels_for_a_sum_in_a_folder_of_the_campaign(campaign):
    batch = make_batch(campaign, options=BatchOptions(budget="1.00"))
    assert batch.folder == campaign.folder / "batches" / batch.settings.id
    assert batch.settings.kind is Kind.LABEL
    assert Decimal("0.8") < batch.price.total <= 1
    assert batch.price.hits == len(batch.items)
    read = read_batch(batch.folder)
    assert (read.settings, read.items, read.template) == (batch.settings, batch.items, batch.template)
    assert repr(batch) == (
        f"MadeBatch('{batch.folder}', {len(batch.items)} label hits, {batch.price.answers} answers, "
        f"${batch.price.total} on the local market)"
    )


def test_a_campaign_may_be_named_by_its_folder(campaign, tmp_path):
    now = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)
    options = BatchOptions(limit=3, interface="de", seed=9, assignments=4, wage=Decimal(18))
    batch = make_batch(campaign.folder, tmp_path / "b", options, now=now)
    settings = batch.settings
    assert (settings.interface, settings.seed, settings.assignments) == ("de", 9, 4)
    assert settings.created == "2026-05-04T03:02:01Z"
    assert settings.reward.each == Decimal("0.042")  # $18 an hour, 8.4 seconds
    assert settings.made == {
        "campaign": str(campaign.folder),
        "reference": True,
        "controls": 0.1,
        "limit": 3,
        "wage": "18",
        "alternatives": 10,
        "select": "all",
        "severity": False,
        "blank": False,
        "market": "local",
    }


def test_comparisons_and_rankings(campaign, outputs, tmp_path):
    options = BatchOptions(kind=Kind.COMPARISON, outputs=outputs, limit=5, reference=False)
    pairs = make_batch(campaign, tmp_path / "pairs", options)
    assert (pairs.settings.kind, pairs.settings.assignments, len(pairs.items)) == (Kind.COMPARISON, 3, 6)
    assert pairs.settings.made["systems"] == [f"{name}={path}" for name, path in outputs.items()]
    assert "${reference}" not in pairs.template
    fives = make_batch(
        campaign, tmp_path / "fives", BatchOptions(kind=Kind.RANKING, outputs=outputs, controls=0.3)
    )
    assert (fives.settings.kind, fives.settings.assignments) == (Kind.RANKING, 1)
    assert "${reference}" in fives.template
    some = make_batch(campaign, tmp_path / "some", replace(options, select="trueskill", controls=0))
    assert len(some.items) == 5


@pytest.mark.slow
def test_prices_are_of_a_market_and_by_the_times_seen(campaign, tmp_path):
    batch = make_batch(campaign, tmp_path / "b", options=BatchOptions(limit=8, market="mturk"))
    assert (batch.market, batch.price.fees > 0) == ("mturk", True)
    assert price(batch, market="mturk") == price(tmp_path / "b", market="mturk") == batch.price
    assert price(batch).fees == 0
    assert round(price(batch).hours * 3600, 6) == batch.price.answers * Decimal("8.4")
    assert price(batch, min_wage=MIN_WAGE * 9).warning
    assert not price(batch).warning
    with campaign.database(readonly=False) as db:
        item = {"item": "i", "segment": "0", "start": "0", "stop": "1", "phrase_1": "a", "phrase_2": "b"}
        for n in range(15):
            answer = Assignment(
                batch="b",
                item="i",
                hit=f"H{n}",
                id=f"X{n}",
                worker="A1",
                fields={"label_1": "YES", "label_2": "NO"},
                accepted=0,
                submitted=42,
            )
            Results(db).add([replace(answer, columns=item)])
    later = make_batch(campaign, tmp_path / "later", options=BatchOptions(limit=8))
    assert later.settings.made["seconds"] == "21.000"
    assert round(price(later).hours * 3600, 6) == later.price.answers * 21


@pytest.mark.slow
def test_what_cannot_be_made_leaves_nothing_behind(campaign, outputs, tmp_path):
    folder = tmp_path / "b"
    for options, message in (
        (BatchOptions(budget=Decimal("0.01")), "the smallest batch costs"),
        (BatchOptions(kind=Kind.RANKING, outputs={"one": outputs["one"]}), "at least 2 systems"),
        (BatchOptions(kind=Kind.RANKING), "expected the outputs of at least 2 systems"),
        (BatchOptions(interface="tlh"), "expected a language of the instructions"),
        (BatchOptions(controls=0.9), "expected a share of controls between 0 and 0.5"),
    ):
        with pytest.raises(RyptError, match=message):
            make_batch(campaign, folder, options)
        assert not folder.exists()
    folder.mkdir()
    (folder / "x").touch()
    with pytest.raises(InputError, match="expected a new or empty folder"):
        make_batch(campaign, folder)
    assert [path.name for path in folder.iterdir()] == ["x"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": "much"}, "expected a budget in dollars such as 25.00, found 'much'"),
        ({"budget": "-1"}, "expected a budget in dollars"),
        ({"alternatives": 0}, "alternatives"),
        ({"alternatives": 11}, "alternatives"),
        ({"limit": 0}, "limit"),
        ({"select": "best"}, "expected select for labels as one of all, value, found 'best'"),
        ({"outputs": {"x": "x.txt"}}, "outputs are an option of comparisons and rankings"),
        *(
            ({"kind": Kind.COMPARISON, name: value}, f"{name} is an option of label batches")
            for name, value in ONLY
        ),
        (
            {"kind": Kind.COMPARISON, "select": "value"},
            "expected select for comparisons as one of all, trueskill",
        ),
        ({"kind": Kind.COMPARISON, "select": "trueskill"}, "expected a limit"),
        ({"kind": Kind.RANKING, "select": "trueskill", "limit": 3}, "expected select for rankings"),
    ],
)
def test_options_that_cannot_be_right_are_refused(options, message):
    with pytest.raises(RyptError, match=message):
        BatchOptions(**options)
