"""Batches that keep to a budget."""

from decimal import Decimal
from pathlib import Path

import pytest

from rypt.campaign.settings import LoopSettings
from rypt.loop.batch import affordable_batch, discard
from rypt.loop.steps import BatchPrice
from rypt.text import RyptError

EACH = Decimal("0.03")


class Shop:
    """Stands for making and pricing batches: a question costs three cents."""

    def __init__(self, fails: str = "") -> None:
        self.calls: list[str] = []
        self.fails = fails

    def make(self, batch: Path, money: Decimal, loop: LoopSettings, seed: int) -> None:
        self.calls.append("make")
        if self.fails:
            raise RyptError(self.fails)
        questions = min(loop.labels, int(money / EACH))
        if not questions:
            raise RyptError("the smallest batch costs $0.03")
        batch.mkdir()
        (batch / "size").write_text(str(questions))

    def price(self, batch: Path) -> BatchPrice:
        self.calls.append("price")
        questions = int((batch / "size").read_text())
        return BatchPrice("b", questions, questions, questions, EACH * questions)


def made(tmp_path, money, shop=None):
    return affordable_batch(shop or Shop(), tmp_path / "1", Decimal(money), LoopSettings(labels=20), 7)


@pytest.mark.parametrize(("money", "questions"), [("5.00", 20), ("0.10", 3), ("0.03", 1)])
def test_it_costs_no_more_than_there_is(tmp_path, money, questions):
    bought = made(tmp_path, money)
    assert (bought.hits, bought.cost, bought.needs) == (questions, EACH * questions, 0)


def test_one_question_may_be_too_dear(tmp_path):
    bought = made(tmp_path, "0.02")
    assert (bought.hits, bought.needs) == (0, EACH)
    assert list(tmp_path.iterdir()) == []


def test_another_error_is_told(tmp_path):
    with pytest.raises(RyptError, match="the disk is full"):
        made(tmp_path, "5.00", Shop("the disk is full"))


def test_the_batch_that_is_there_is_taken_when_it_can_be_paid(tmp_path):
    first = made(tmp_path, "0.30")
    shop = Shop()
    assert made(tmp_path, "0.30", shop) == first
    assert shop.calls == ["price"]
    assert made(tmp_path, "0.10", shop).hits == 3


def test_a_batch_disappears_at_once_but_not_when_it_is_published(tmp_path):
    batch = tmp_path / "1"
    batch.mkdir()
    (batch / "batch.csv").touch()
    discard(batch)
    assert list(tmp_path.iterdir()) == []
    batch.mkdir()
    (batch / "published.local-1.jsonl").touch()
    with pytest.raises(RyptError, match="is published and costs more than what is left"):
        discard(batch)
    assert batch.is_dir()
