"""A worker's visit: the worker behind a cookie, their language, and the token of their forms."""

from collections.abc import Mapping
from dataclasses import dataclass

from flask import Response, current_app, make_response, redirect, render_template, request

from hits.server.batches import market_language
from hits.server.pages.texts import DEFAULT, PageError, PageTexts, bundled
from hits.server.question import SafePage, UnansweredError
from hits.server.security import COOKIE_LIFE, same
from hits.server.settings import ServedMarket
from hits.server.store.people import JOINED
from hits.server.store.records import Earnings, RefusedError, Worker
from hits.simulated import SIMULATED_NAME
from rypt.text import FormatError

WORKER_COOKIE, LANGUAGE_COOKIE = "rypt_worker", "rypt_language"
NOTICES = ("sent", "sent_next", "returned")


@dataclass(frozen=True, slots=True)
class Visit:
    """One request of a worker who has signed in."""

    market: ServedMarket
    worker: Worker
    texts: PageTexts
    now: int

    @property
    def csrf(self) -> str:
        return self.market.seals.form_token(self.worker.id)

    def check_form(self) -> None:
        """Refuse a form that another site sent."""
        if not self.market.seals.form_is_ours(self.worker.id, request.form.get("csrf", "")):
            raise PageError(403, "error_form")

    def answers(self, page: SafePage) -> dict[str, str]:
        """The answers in a form, if the page asks for them."""
        try:
            return page.answers(request.form.lists())
        except UnansweredError:
            raise PageError(422, "error_missing") from None
        except FormatError:
            raise PageError(422, "error_field") from None

    @property
    def recruited(self) -> bool:
        return self.worker.source == JOINED

    def earnings(self) -> Earnings:
        return self.market.store.work.earnings(self.worker.id, self.now)

    def finished(self) -> bool:
        """Whether somebody of the shared link has done as many hits as were asked for."""
        return self.recruited and 0 < self.market.options.hits_each <= self.earnings().done

    def page(self, template: str, values: Mapping[str, object]) -> str:
        """A page with all that the frame around it shows."""
        notice = request.args.get("said", "")
        frame = {
            "t": self.texts,
            "worker": self.worker,
            "csrf": self.csrf,
            "earnings": self.earnings(),
            "held": self.market.store.work.held(self.worker.id, self.now),
            "now": self.now,
            "said": self.texts[notice] if notice in NOTICES else "",
            "languages": bundled().values(),
        }
        return render_template(template, **frame, **values)


def page_texts() -> PageTexts:
    """The texts in the language the worker chose, or else the browser asks for, or else the instructions have."""
    languages = bundled()
    chosen = request.cookies.get(LANGUAGE_COOKIE, "")
    if chosen not in languages:
        chosen = request.accept_languages.best_match(list(languages)) or ""
    if chosen not in languages:
        chosen = market_language(current_app.extensions["market"].folder)
    return languages.get(chosen) or languages[DEFAULT]


def visit(market: ServedMarket, *, consented: bool = False) -> Visit:
    """The worker behind this request; `PageError` when there is none, or none who has ``consented``."""
    kind, _, value = request.cookies.get(WORKER_COOKIE, "").partition(":")
    worker = None
    if kind == "i":  # an invitation's token
        worker = market.store.people.by_token(value)
    elif kind == "j" and (sealed := market.seals.unseal(value)):  # a worker's id
        try:
            worker = market.store.people.find(sealed)
        except RefusedError:
            worker = None
    if worker is None:
        raise PageError(401, "error_login")
    if consented and worker.consented is None:
        raise PageError(403, "error_login")
    return Visit(market, worker, page_texts(), market.now())


def sign_in_invited(market: ServedMarket, token: str) -> Response:
    if market.store.people.by_token(token) is None:
        raise PageError(404, "error_link")
    return _welcome(f"i:{token}")


def sign_in_recruited(market: ServedMarket, key: str) -> Response:
    """Answer the shared link, with the recruiting service's id in the query string."""
    if not same(key, market.access.join_key):
        raise PageError(404, "error_link")
    options = market.options
    names = (name for name in options.parameters if request.args.get(name, "").strip())
    external = request.args.get(next(names, ""), "").strip()
    simulated = external.startswith(SIMULATED_NAME) and not options.simulated
    if not external or len(external) > 200 or not external.isprintable() or simulated:
        raise PageError(400, "error_link")
    worker = market.store.people.enrol(external, market.now())
    return _welcome(f"j:{market.seals.seal(worker.id)}")


def _welcome(cookie: str) -> Response:
    response = make_response(redirect(local("/work"), 303))
    set_cookie(response, WORKER_COOKIE, cookie)
    return response


def set_cookie(response: Response, name: str, value: str, same_site: str = "Lax") -> None:
    """Set a cookie that scripts cannot read and other sites cannot use in forms."""
    response.set_cookie(
        name,
        value,
        max_age=COOKIE_LIFE,
        path=request.script_root or "/",
        secure=request.is_secure,
        httponly=True,
        samesite=same_site,
    )


def local(path: str) -> str:
    """A path of ours as a link, under whatever prefix we are served."""
    return request.script_root + path
