"""The short training before the first hit of a batch: a few controls, then what is right and why."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flask import Blueprint, redirect, request
from markupsafe import Markup
from werkzeug.wrappers import Response

from hits.market.folder import BATCHES
from hits.records import Item
from hits.server.batches import read_kept
from hits.server.pages.texts import PageError
from hits.server.pages.visit import Visit, local, visit
from hits.server.questions.safe_html import cleaner
from hits.server.settings import ServedMarket
from rypt.text import RyptError

LABELS = ("YES", "NO", "NOT_SURE")


@dataclass(frozen=True, slots=True)
class Exercise:
    """One control to practise on: the source and a candidate as HTML, the right label, and why it is right."""

    name: str
    source: Markup
    text: Markup
    source_language: str
    target_language: str
    expected: str
    kind: str


def training_of(market: Path, batch: str) -> list[Exercise]:
    """The exercises of a batch; none where it has none."""
    if not (batch.isascii() and batch.isalnum()):
        return []
    try:
        items: Sequence[Item] = read_kept(market / BATCHES / batch)[0].training
    except (RyptError, OSError):
        return []
    clean = cleaner().clean
    return [
        Exercise(
            f"label_{number}",
            Markup(clean(item.columns["source"])),
            Markup(clean(item.columns["text_1"])),
            item.columns.get("source_lang", ""),
            item.columns.get("target_lang", ""),
            item.columns["control_1"],
            item.columns.get("control_kind_1", ""),
        )
        for number, item in enumerate(items, start=1)
    ]


class TrainingPages:
    """The routes of the training."""

    def __init__(self, market: ServedMarket) -> None:
        self.market = market

    def add_to(self, routes: Blueprint) -> None:
        """Add the routes to those of the other worker pages."""
        routes.add_url_rule("/work/training/<batch>", "training", self.show, methods=["GET"])
        routes.add_url_rule("/work/training/<batch>", "trained", self.check, methods=["POST"])

    def is_needed(self, here: Visit, batch: str) -> bool:
        """Whether a worker has to practise before the first hit of a batch."""
        if not batch or self.market.store.people.is_trained(here.worker.id, batch):
            return False
        return bool(training_of(self.market.folder, batch))

    def show(self, batch: str) -> Response | str:
        """The exercises."""
        here = visit(self.market)
        exercises = training_of(self.market.folder, batch)
        if not exercises:
            return redirect(local("/work"), 303)
        return self._page(here, batch, exercises, {})

    def check(self, batch: str) -> str:
        """What was right, and why; then the paid work may begin."""
        here = visit(self.market)
        here.check_form()
        exercises = training_of(self.market.folder, batch)
        given = {each.name: request.form.get(each.name, "") for each in exercises}
        if not exercises or not all(answer in LABELS for answer in given.values()):
            raise PageError(422, "error_missing")
        self.market.store.people.set_trained(here.worker.id, batch, here.now)
        return self._page(here, batch, exercises, given)

    def _page(self, here: Visit, batch: str, exercises: Sequence[Exercise], given: dict[str, str]) -> str:
        right = sum(given.get(each.name) == each.expected for each in exercises)
        values = {"batch": batch, "exercises": exercises, "given": given, "right": right, "labels": LABELS}
        return here.page("training.html", values)
