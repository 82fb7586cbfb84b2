"""What comes before the paid hits: the training of a batch, and the tests of qualifications."""

from collections.abc import Mapping
from pathlib import Path

from flask import Blueprint, redirect, request
from markupsafe import Markup
from werkzeug.wrappers import Response

from hits.records import Item
from hits.server.batches import published_batch
from hits.server.pages.texts import PageError
from hits.server.pages.visit import Visit, local, visit
from hits.server.question import cleaner, question_page
from hits.server.settings import ServedMarket
from hits.server.store.qualifications import MAX_TRIES

LABELS = ("YES", "NO", "NOT_SURE")


def training_of(market: Path, batch: str) -> tuple[Item, ...]:
    """The controls to practise on before the first hit of a batch; none where it has none."""
    copy = published_batch(market, batch)
    return copy.training if copy else ()


def needs_training(here: Visit, batch: str) -> bool:
    """Whether a worker has to practise before the first hit of a batch."""
    trained = not batch or here.market.store.people.is_trained(here.worker.id, batch)
    return not trained and bool(training_of(here.market.folder, batch))


def training_routes(market: ServedMarket) -> Blueprint:
    """Short exercises before the first hit of a batch: a few controls, then what is right and why."""
    routes, clean = Blueprint("training", __name__, url_prefix="/work/training"), cleaner().clean

    def page(here: Visit, batch: str, items: tuple[Item, ...], answers: Mapping[str, str]) -> str:
        exercises = [
            {
                "name": f"label_{number}",
                "source": Markup(clean(item.columns["source"])),
                "text": Markup(clean(item.columns["text_1"])),
                "source_language": item.columns.get("source_lang", ""),
                "target_language": item.columns.get("target_lang", ""),
                "expected": item.columns["control_1"],
                "kind": item.columns.get("control_kind_1", ""),
            }
            for number, item in enumerate(items, start=1)
        ]
        right = sum(answers.get(each["name"]) == each["expected"] for each in exercises)
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
        items = training_of(market.folder, batch)
        return page(visit(market), batch, items, {}) if items else redirect(local("/work"), 303)

    @routes.post("/<batch>")
    def check(batch: str) -> str:
        here = visit(market)
        here.check_form()
        items = training_of(market.folder, batch)
        answers = {f"label_{n}": request.form.get(f"label_{n}", "") for n in range(1, len(items) + 1)}
        if not items or not all(answer in LABELS for answer in answers.values()):
            raise PageError(422, "error_missing")
        market.store.people.set_trained(here.worker.id, batch, here.now)
        return page(here, batch, items, answers)

    return routes


def quiz_routes(market: ServedMarket) -> Blueprint:
    """A qualification from the worker's side: ask for it, take its test, see the result, try again."""
    routes = Blueprint("test", __name__, url_prefix="/work/test")
    qualifications = market.store.qualifications

    @routes.get("/<kind>")
    def show(kind: str) -> str:
        here, record = visit(market), qualifications.find_type(kind)
        tries = qualifications.tries(here.worker.id, kind, here.now) if record.get("Test") else []
        askable = market.store.open_hits.askable(market.store.open_hits.groups(here.worker.id, here.now))
        lacking = kind in [other["QualificationTypeId"] for other in askable]
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
