"""Batches that keep to a budget."""

from decimal import Decimal
from pathlib import Path

import pytest

from rypt.campaign.settings import LoopSettings, MarketSettings
from rypt.loop.batch import affordable_batch, discard, is_published
from rypt.text import RyptError


class Shop:
    """Stands for `hits make` and `hits price`: a question costs three cents."""

    def __init__(self, fails: str = "") -> None:
        self.calls: list[list[str]] = []
        self.fails = fails

    def __call__(self, arguments):
        self.calls.append(list(arguments))
        if arguments[1] == "price":
            questions = int((Path(arguments[2]) / "size").read_text())
            total = str(Decimal("0.03") * questions)
            return {"batch": "b", "hits": questions, "assignments": questions, "answers": questions, "total": total}
        said = dict(zip(arguments[3::2], arguments[4::2], strict=False))
        if self.fails:
            raise RyptError(self.fails)
        questions = min(int(said["--labels"]), int(Decimal(said["--budget"]) / Decimal("0.03")))
        if not questions:
            raise RyptError("the smallest batch costs $0.03")
        Path(said["-o"]).mkdir()
        (Path(said["-o"]) / "size").write_text(str(questions))
        return {}


class SmallCampaign:
    """What a batch needs of a campaign."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.settings = type("Settings", (), {"market": MarketSettings()})()
        self.scoring = type("Scoring", (), {"max_len": 4})()


def made(tmp_path, money, shop=None, told=None):
    shop = shop or Shop()
    told = [] if told is None else told
    loop = LoopSettings(labels=20)
    return affordable_batch(SmallCampaign(tmp_path), tmp_path / "1", Decimal(money), loop, 7, shop, told.append)


@pytest.mark.parametrize(("money", "questions"), [("5.00", 20), ("0.10", 3), ("0.03", 1)])
def test_it_costs_no_more_than_there_is(tmp_path, money, questions):
    told = []
    found = made(tmp_path, money, told=told)
    assert (found["hits"], found["cost"]) == (questions, str(Decimal("0.03") * questions))
    assert found["needs"] == "0"
    assert f"--budget {money} --labels 20" in told[0]
    assert "--select value" in told[0]


def test_one_question_may_be_too_dear(tmp_path):
    found = made(tmp_path, "0.02")
    assert (found["hits"], found["needs"]) == (0, "0.03")
    assert list(tmp_path.iterdir()) == []


def test_another_error_is_told(tmp_path):
    with pytest.raises(RyptError, match="the disk is full"):
        made(tmp_path, "5.00", Shop("the disk is full"))


def test_the_batch_that_is_there_is_taken_when_it_can_be_paid(tmp_path):
    first = made(tmp_path, "0.30")
    shop = Shop()
    assert made(tmp_path, "0.30", shop) == first
    assert [call[1] for call in shop.calls] == ["price"]
    assert made(tmp_path, "0.10", shop)["hits"] == 3


def test_a_batch_disappears_at_once_but_not_when_it_is_published(tmp_path):
    batch = tmp_path / "1"
    batch.mkdir()
    (batch / "batch.csv").touch()
    discard(batch)
    assert list(tmp_path.iterdir()) == []
    batch.mkdir()
    (batch / "published.local-1.jsonl").touch()
    assert is_published(batch)
    with pytest.raises(RyptError, match="is published and costs more than what is left"):
        discard(batch)
    assert batch.is_dir()
