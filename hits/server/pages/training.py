"""What comes before the paid hits: the training of a batch, and the tests of qualifications."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flask import Blueprint, redirect, request
from markupsafe import Markup
from werkzeug.wrappers import Response

from hits.server.batches import published_batch
from hits.server.pages.texts import PageError
from hits.server.pages.visit import Visit, local, visit
from hits.server.question import question_page
from hits.server.safe_html import cleaner
from hits.server.settings import ServedMarket
from hits.server.store.qualifications import MAX_TRIES

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
    copy, clean = published_batch(market, batch), cleaner().clean
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
        for number, item in enumerate(copy.training if copy else (), start=1)
    ]


def needs_training(here: Visit, batch: str) -> bool:
    """Whether a worker has to practise before the first hit of a batch."""
    if not batch or here.market.store.people.is_trained(here.worker.id, batch):
        return False
    return bool(training_of(here.market.folder, batch))


def training_routes(market: ServedMarket) -> Blueprint:
    """Short exercises before the first hit of a batch: a few controls, then what is right and why."""
    routes = Blueprint("training", __name__, url_prefix="/work/training")

    def page(here: Visit, batch: str, exercises: Sequence[Exercise], answers: dict[str, str]) -> str:
        right = sum(answers.get(each.name) == each.expected for each in exercises)
        values = {
            "batch": batch,
            "exercises": exercises,
            "answers": answers,
            "right": right,
            "labels": LABELS,
        }
        return here.page("training.html", values)

    @routes.get("/<batch>")
    def show(batch: str) -> Response | str:
        exercises = training_of(market.folder, batch)
        if not exercises:
            return redirect(local("/work"), 303)
        return page(visit(market), batch, exercises, {})

    @routes.post("/<batch>")
    def check(batch: str) -> str:
        here = visit(market)
        here.check_form()
        exercises = training_of(market.folder, batch)
        answers = {each.name: request.form.get(each.name, "") for each in exercises}
        if not exercises or not all(answer in LABELS for answer in answers.values()):
            raise PageError(422, "error_missing")
        market.store.people.set_trained(here.worker.id, batch, here.now)
        return page(here, batch, exercises, answers)

    return routes


def quiz_routes(market: ServedMarket) -> Blueprint:
    """A qualification from the worker's side: ask for it, take its test, see the result, try again."""
    routes = Blueprint("test", __name__, url_prefix="/work/test")
    qualifications = market.store.qualifications

    @routes.get("/<kind>")
    def show(kind: str) -> str:
        here, record = visit(market), qualifications.find_type(kind)
        tries = qualifications.tries(here.worker.id, kind, here.now) if record.get("Test") else []
        groups = market.store.open_hits.groups(here.worker.id, here.now)
        lacking = any(
            other["QualificationTypeId"] == kind for other in market.store.open_hits.askable(groups)
        )
        body = None
        if tries and tries[-1]["open"]:
            hidden = {"csrf": here.csrf, "assignmentId": tries[-1]["id"]}
            page = question_page(record["Test"], here.texts["test_send"])
            body = Markup(page.with_form(local(f"/work/test/{kind}"), hidden))
        name, about = here.texts.qualification(record["Name"], record["Description"])
        again = record.get("RetryDelayInSeconds") is not None and len(tries) < MAX_TRIES
        values = {
            "kind": record,
            "name": name,
            "about": about,
            "last": tries[-1] if tries else None,
            "body": body,
            "lacking": lacking,
            "tries": len(tries),
            "max_tries": MAX_TRIES,
            "may_start": lacking and (not tries or again),
        }
        return here.page("test.html", values)

    @routes.post("/<kind>/start")
    def start(kind: str) -> Response:
        here = visit(market)
        here.check_form()
        qualifications.ask(here.worker.id, kind, here.now)
        return redirect(local(f"/work/test/{kind}"), 303)

    @routes.post("/<kind>")
    def submit(kind: str) -> Response:
        here, record = visit(market), qualifications.find_type(kind)
        here.check_form()
        if not record.get("Test"):
            raise PageError(404, "error_404")
        answers = here.answers(question_page(record["Test"], here.texts["test_send"]))
        qualifications.submit_test(request.form.get("assignmentId", ""), here.worker.id, answers, here.now)
        return redirect(local(f"/work/test/{kind}"), 303)

    return routes
