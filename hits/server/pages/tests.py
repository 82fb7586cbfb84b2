"""Qualifications from the worker's side: ask for one, take its test, see the result, try again."""

from flask import Blueprint, redirect, request
from markupsafe import Markup
from werkzeug.wrappers import Response

from hits.batch.question_xml import parse_question
from hits.server.pages.needs import kind_words
from hits.server.pages.texts import PageError, PageTexts
from hits.server.pages.visit import Visit, local, visit
from hits.server.questions.form import form_page
from hits.server.questions.safe_html import RESERVED, SafePage, UnansweredError, safe_page
from hits.server.settings import ServedMarket
from hits.server.store.records import QualificationRequest
from hits.server.store.requests import MAX_TRIES
from rypt.text import FormatError


class TestPages:
    """The routes of one qualification: look, start, hand in."""

    __test__ = False  # no tests of ours, whatever a test runner thinks of the name

    def __init__(self, market: ServedMarket) -> None:
        self.market = market

    def add_to(self, routes: Blueprint) -> None:
        """Add the routes to those of the other worker pages."""
        routes.add_url_rule("/work/test/<kind>", "test", self.show, methods=["GET"])
        routes.add_url_rule("/work/test/<kind>/start", "start_test", self.start, methods=["POST"])
        routes.add_url_rule("/work/test/<kind>", "hand_in", self.hand_in, methods=["POST"])

    def show(self, kind: str) -> str:
        """What the qualification is, the open test, or how the last try ended."""
        here, store = visit(self.market), self.market.store
        qualification = store.qualifications.find_type(kind)
        requests = store.requests.of_worker(here.worker.id, kind)
        last = requests[-1] if requests else None
        lacking = any(missing.id == kind for missing in store.requests.missing(here.worker.id, here.now))
        body = None
        if last is not None and last.status == "started":
            hidden = {"csrf": here.csrf, "assignmentId": last.id}
            body = Markup(_test_page(last, here.texts).with_form(local(f"/work/test/{kind}"), hidden))
        name, about = kind_words(qualification.name, qualification.description, here.texts)
        tries_left = MAX_TRIES - len(requests) if qualification.test else 1
        return here.page(
            "test.html",
            {
                "qualification": qualification,
                "name": name,
                "about": about,
                "last": last,
                "body": body,
                "lacking": lacking,
                "tries": len(requests),
                "max_tries": MAX_TRIES,
                "may_start": lacking
                and (last is None or (qualification.retry_delay is not None and tries_left > 0)),
            },
        )

    def start(self, kind: str) -> Response:
        """Ask for the qualification: its test begins, or the requester decides."""
        here = visit(self.market)
        here.check_form()
        self.market.store.requests.ask(here.worker.id, kind, here.now)
        return redirect(local(f"/work/test/{kind}"), 303)

    def hand_in(self, kind: str) -> Response:
        """Score a test."""
        here = visit(self.market)
        here.check_form()
        last = self._open_test(here, kind)
        given = {name: values for name, values in request.form.lists() if name not in RESERVED}
        try:
            answers = _test_page(last, here.texts).asked.check(given)
        except UnansweredError:
            raise PageError(422, "error_missing") from None
        except FormatError:
            raise PageError(422, "error_field") from None
        self.market.store.requests.submit_test(last.id, here.worker.id, answers, here.now)
        return redirect(local(f"/work/test/{kind}"), 303)

    def _open_test(self, here: Visit, kind: str) -> QualificationRequest:
        """The worker's own try that this form belongs to; one handed in before is given to the store to refuse."""
        wanted = request.form.get("assignmentId", "")
        for attempt in self.market.store.requests.of_worker(here.worker.id, kind):
            if attempt.id == wanted and attempt.test is not None:
                return attempt
        raise PageError(404, "error_404")


def _test_page(attempt: QualificationRequest, texts: PageTexts) -> SafePage:
    question = parse_question(attempt.test or "")
    if question.form is not None:
        return safe_page(form_page(question.form, texts["test_send"]))
    return safe_page(question.html or "")
