"""The pages on which people work: invitation → consent → hits → judge → send → the next hit at once.

Everything works as plain forms; ``static/worker.js`` adds keys, drafts and a count of what is left. Every form has
the worker's token, every answer is checked against what its page asks, and only then stored.
"""

import json
from urllib.parse import urlencode, urlsplit

from flask import Blueprint, Response, make_response, redirect, render_template, request
from markupsafe import Markup
from werkzeug.wrappers import Response as AnyResponse

from hits.batch.page import without_market_parts
from hits.batch.question_xml import Question, parse_question
from hits.records import parse_annotation
from hits.server.batches import market_language, page_in, words_in
from hits.server.pages.cards import cards, numbered
from hits.server.pages.needs import described, kind_words
from hits.server.pages.tests import TestPages
from hits.server.pages.texts import PageError, bundled, consent_paragraphs
from hits.server.pages.training import TrainingPages
from hits.server.pages.visit import (
    JOIN_SOURCE,
    LANGUAGE_COOKIE,
    WORKER_COOKIE,
    Visit,
    enter_invited,
    enter_joined,
    keep_cookie,
    local,
    page_texts,
    visit,
)
from hits.server.questions.question import read_question
from hits.server.questions.safe_html import RESERVED, SafePage, UnansweredError, safe_page
from hits.server.security import security_headers
from hits.server.settings import ServedMarket
from hits.server.store.open_hits import OpenGroup
from hits.server.store.records import AssignmentRecord, AssignmentStatus, Hit, HitProperties, RefusedError
from rypt.text import FormatError

Page = str | AnyResponse
NEXT = "next"  # the one form whose token the frame of an external page is given


class WorkerPages:
    """The routes; each method answers one."""

    def __init__(self, market: ServedMarket) -> None:
        self.market = market
        self.training = TrainingPages(market)

    def blueprint(self) -> Blueprint:
        """All routes, for an application to register."""
        routes = Blueprint("worker", __name__)
        for path, view, methods in (
            ("/w/<token>", self.invited, ["GET"]),
            ("/join/<key>", self.joined, ["GET"]),
            ("/work", self.home, ["GET"]),
            ("/work/consent", self.consent, ["POST"]),
            ("/work/language", self.language, ["POST"]),
            ("/work/next", self.next, ["POST"]),
            ("/work/a/<assignment>", self.judge, ["GET"]),
            ("/work/a/<assignment>", self.submit, ["POST"]),
            ("/work/a/<assignment>/return", self.give_back, ["POST"]),
            ("/work/change/<assignment>", self.change, ["GET"]),
            ("/mturk/externalSubmit", self.external_submit, ["POST"]),
        ):
            routes.add_url_rule(path, view.__name__, view, methods=methods)
        TestPages(self.market).add_to(routes)
        self.training.add_to(routes)
        return routes

    def invited(self, token: str) -> Response:
        """An invitation link."""
        return enter_invited(self.market, token)

    def joined(self, key: str) -> Response:
        """The shared link."""
        return enter_joined(self.market, key)

    def language(self) -> Page:
        """Remember another language for the pages."""
        visit(self.market).check_form()
        response = make_response(redirect(local("/work"), 303))
        if (chosen := request.form.get("language", "")) in bundled():
            keep_cookie(response, LANGUAGE_COOKIE, chosen)
        return response

    def home(self) -> Page:
        """Consent on the first visit, then what there is to do."""
        here, store = visit(self.market), self.market.store
        if here.worker.consented is None:
            languages = (here.texts.language, market_language(self.market.folder))
            return here.page("consent.html", {"own": consent_paragraphs(self.market.folder, languages)})
        messages = store.people.messages(here.worker.id)[:20]
        full = here.finished()
        groups = [] if full else store.open_hits.groups(here.worker.id, here.now)
        closed = [] if full else store.open_hits.closed(here.worker.id, here.now)
        shown = cards(groups, store.open_hits.mean_seconds(here.now))
        shared = self.market.options.shared
        code = shared.completion_code or self.market.access.completion_code
        recruited = here.worker.source == JOIN_SOURCE
        finished = recruited and not groups and here.done() > 0
        nothing = recruited and not groups and not here.done() and here.worker.blocked is None
        if recruited and here.worker.blocked is not None:
            finished, code = True, f"{code}X"  # the codes of `hits.market.recruit`
        elif nothing and not (
            store.work.held(here.worker.id, here.now) or store.requests.missing(here.worker.id, here.now)
        ):
            finished, code = True, f"{code}N"
        words = [self._words(here, card.first.annotation, card.first) for card in shown]
        titles = numbered([title for title, _ in words])
        page = here.page(
            "home.html",
            {
                "cards": list(zip(shown, titles, [about for _, about in words], strict=True)),
                "needs": lambda card: [described(need, here.texts) for need in card.needs],
                "closed": [
                    (self._words(here, group.annotation, group)[0], _needs(group, here)) for group in closed
                ],
                "kind_words": lambda kind: kind_words(kind.name, kind.description, here.texts),
                "messages": messages,
                "tests": [] if full else store.requests.missing(here.worker.id, here.now),
                "code": code if finished else "",
                "completion_url": shared.completion_url.replace("{code}", code) if finished else "",
            },
        )
        if any(message.seen is None for message in messages):
            store.people.mark_seen(here.worker.id, here.now)
        return page

    def consent(self) -> Page:
        """The worker agrees."""
        here = visit(self.market)
        here.check_form()
        if request.form.get("agree") == "yes":
            self.market.store.people.consent(here.worker.id, here.now)
        return redirect(local("/work"), 303)

    def next(self) -> Page:
        """Accept the next hit of a type."""
        here = self._working()
        here.check_form(NEXT)
        batch = request.form.get("batch", "")
        if self.training.is_needed(here, batch) and not self.market.store.work.held(here.worker.id, here.now):
            return redirect(local(f"/work/training/{batch}"), 303)
        return self._next(here, request.form.get("type", ""), request.form.get("batch", ""), "")

    def judge(self, assignment: str) -> Page:
        """The page of an accepted hit."""
        here = self._working()
        held, hit = self._own(here, assignment)
        if held.status is not AssignmentStatus.ACCEPTED:
            return redirect(local("/work"), 303)
        return self._shown(here, held, hit)

    def change(self, assignment: str) -> Page:
        """The page that was sent last, to be changed."""
        here = self._working()
        last = self.market.store.work.changeable(here.worker.id, here.now)
        if last is None or last.id != assignment:
            return redirect(local("/work"), 303)
        return self._shown(here, last, self.market.store.hits.find(last.hit, here.now))

    def _shown(self, here: Visit, held: AssignmentRecord, hit: Hit) -> Page:
        """A hit's page, with its answers if it was sent before."""
        question, safe = self._question(here, hit)
        translated = page_in(self.market.folder, hit.annotation, hit.question, here.texts.language)
        if translated is not None:  # it has the same fields, under other words
            safe = safe_page(without_market_parts(translated))
        if safe is None:
            return self._external(here, held, hit, question)
        hidden = {"csrf": here.csrf, "assignmentId": held.id}
        if held.answers is not None:
            hidden["change"] = "yes"
        return here.page(
            "hit.html",
            {
                "hit": hit,
                "title": self._words(here, hit.annotation, hit.type.properties)[0],
                "assignment": held,
                "answers": json.dumps(held.answers) if held.answers is not None else "",
                "safe": safe,
                "body": Markup(safe.with_form(local(f"/work/a/{held.id}"), hidden)),
                "left": self._left(here),
            },
        )

    @staticmethod
    def _question(here: Visit, hit: Hit) -> tuple[Question, SafePage | None]:
        """What a hit shows; one that cannot be shown (of an older market, which took such) can be given back."""
        try:
            return read_question(hit.question, here.texts["test_send"])
        except FormatError:
            raise PageError(409, "error_unshown") from None

    def _words(self, here: Visit, annotation: str | None, of: OpenGroup | HitProperties) -> tuple[str, str]:
        """Title and description in the worker's language, where they can be had in it."""
        return words_in(self.market.folder, annotation, (of.title, of.description), here.texts.language)

    def _external(self, here: Visit, held: AssignmentRecord, hit: Hit, question: Question) -> Page:
        """A hit that is a page of another server, in a frame."""
        url = question.url or ""
        query = urlencode(
            {
                "assignmentId": held.id,
                "hitId": hit.id,
                "workerId": here.worker.id,
                "turkSubmitTo": (self.market.options.public_url or request.url_root).rstrip("/"),
            }
        )
        parts = urlsplit(url)
        sandbox = "allow-forms allow-scripts allow-popups allow-top-navigation-by-user-activation"
        if not _is_ours(url):  # one of our own would get at the worker's pages
            sandbox += " allow-same-origin"
        page = here.page(
            "external.html",
            {
                "hit": hit,
                "assignment": held,
                "source": parts._replace(query=f"{parts.query}&{query}".lstrip("&")).geturl(),
                "sandbox": sandbox,
                "height": question.frame_height or 700,
                "left": self._left(here),
            },
        )
        response = make_response(page)
        response.headers.update(security_headers(f"{parts.scheme}://{parts.netloc} 'self'"))
        return response

    def submit(self, assignment: str) -> Page:
        """Store the answers; when this is answered they are on the disk."""
        here = self._working()
        here.check_form()
        held, hit = self._own(here, assignment)
        _, safe = self._question(here, hit)
        if safe is None or request.form.get("assignmentId") != held.id:
            raise PageError(400, "error_form")
        given = {name: values for name, values in request.form.lists() if name not in RESERVED}
        try:
            answers = safe.asked.check(given)
        except UnansweredError:
            raise PageError(422, "error_missing") from None
        except FormatError:
            raise PageError(422, "error_field") from None
        if request.form.get("change") == "yes":
            self.market.store.work.change(held.id, here.worker.id, answers, here.now)
            return redirect(local("/work?said=changed"), 303)
        self.market.store.work.submit(held.id, here.worker.id, answers, here.now)
        return self._next(here, hit.type.id, batch_of(hit), "sent")

    def give_back(self, assignment: str) -> Page:
        """Return a hit undone."""
        here = self._working()
        here.check_form()
        held, _ = self._own(here, assignment)
        self.market.store.work.give_back(held.id, here.worker.id, here.now)
        return redirect(local("/work?said=returned"), 303)

    def external_submit(self) -> Page:
        """What the form of an external page sends: the assignment's id, which only its worker was given."""
        store, now = self.market.store, self.market.now()
        if WORKER_COOKIE in request.cookies:
            holder = visit(self.market).worker.id
        given = {name: "|".join(values) for name, values in request.form.lists() if name != "assignmentId"}
        held = store.work.find(request.form.get("assignmentId", ""), now)
        if WORKER_COOKIE in request.cookies and held.worker != holder:
            raise RefusedError("AssignmentDoesNotExist", "this assignment is another worker's")
        hit = store.hits.find(held.hit, now)
        if (url := parse_question(hit.question).url) is None:
            raise PageError(400, "error_form")
        store.work.submit(held.id, held.worker, given, now)
        csrf = "" if _is_ours(url) else self.market.seals.form_token(f"{held.worker} {NEXT}")
        return render_template("sent.html", t=page_texts(), csrf=csrf, hit_type=hit.type.id)

    def _left(self, here: Visit) -> int:
        """How many hits the worker may still accept."""
        return sum(group.count for group in self.market.store.open_hits.groups(here.worker.id, here.now))

    def _working(self) -> Visit:
        """A worker who has agreed to take part."""
        here = visit(self.market)
        if here.worker.consented is None:
            raise PageError(403, "error_login")
        return here

    def _own(self, here: Visit, assignment: str) -> tuple[AssignmentRecord, Hit]:
        return self.market.store.work.own(assignment, here.worker.id, here.now)

    def _next(self, here: Visit, hit_type: str, batch: str, notice: str) -> Page:
        following = None
        if here.worker.blocked is None and not here.finished():
            following = self.market.store.open_hits.accept_next(here.worker.id, hit_type, here.now, batch)
        if following is None:
            return redirect(local(f"/work?said={notice}" if notice else "/work"), 303)
        return redirect(local(f"/work/a/{following}" + ("?said=sent_next" if notice else "")), 303)


def batch_of(hit: Hit) -> str:
    """The batch of a hit of ours, else nothing."""
    return (parse_annotation(hit.annotation or "") or ("",))[0]


def _needs(group: OpenGroup, here: Visit) -> list[str]:
    """What a group of hits asks of workers, in words."""
    return [described(need, here.texts) for need in group.needs]


def _is_ours(url: str) -> bool:
    """Whether a requester's page is on our own host: in its frame it is nobody, and its forms come without cookies."""
    return _place(f"//{urlsplit(url).netloc}") == _place(f"//{request.host}")


def _place(url: str) -> tuple[str, int | None]:
    """Host and port, however they are written; the usual ports are as good as none."""
    parts = urlsplit(url)
    port = parts.port
    return (parts.hostname or "").rstrip("."), None if port in (80, 443) else port
