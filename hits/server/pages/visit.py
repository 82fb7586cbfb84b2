"""A worker's visit: the worker behind a cookie, their language, and the token of their forms."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from flask import Response, current_app, make_response, redirect, render_template, request

from hits.server.batches import market_language
from hits.server.pages.texts import DEFAULT, PageError, PageTexts, bundled, duration, mean_time
from hits.server.security import same
from hits.server.settings import ServedMarket
from hits.server.store.records import Earnings, RefusedError, Worker
from hits.simulated import SIMULATED_NAME

WORKER_COOKIE, LANGUAGE_COOKIE = "rypt_worker", "rypt_language"
COOKIE_LIFE = 60 * 86400
INVITED, JOINED = "i", "j"  # what a cookie holds: an invitation's token, or a sealed worker id
JOIN_SOURCE = "link"


@dataclass(frozen=True, slots=True)
class Visit:
    """One request of a worker who has come in."""

    market: ServedMarket
    worker: Worker
    texts: PageTexts
    now: int

    @property
    def csrf(self) -> str:
        """The token of this worker's forms."""
        return self.market.seals.form_token(self.worker.id)

    def check_form(self, name: str = "") -> None:
        """Refuse a form that another site sent; a form with a name may also come with a token of its own."""
        seals, token = self.market.seals, request.form.get("csrf", "")
        named = bool(name) and seals.form_is_ours(f"{self.worker.id} {name}", token)
        if not named and not seals.form_is_ours(self.worker.id, token):
            raise PageError(403, "error_form")

    def done(self) -> int:
        """How many hits the worker has sent."""
        return done(self.market.store.work.earnings(self.worker.id, self.now))

    def finished(self) -> bool:
        """Whether somebody of the shared link has done as many hits as were asked for."""
        wanted = self.market.options.shared.hits
        return self.worker.source == JOIN_SOURCE and 0 < wanted <= self.done()

    def page(self, template: str, values: Mapping[str, object]) -> str:
        """A page with all that the frame around it shows."""
        earnings = self.market.store.work.earnings(self.worker.id, self.now)
        frame = {
            "t": self.texts,
            "worker": self.worker,
            "csrf": self.csrf,
            "earnings": earnings,
            "done": done(earnings),
            "changeable": self.market.store.work.changeable(self.worker.id, self.now),
            "held": self.market.store.work.held(self.worker.id, self.now),
            "now": self.now,
            "said": notice(self.texts),
            "duration": partial(duration, self.texts),
            "mean_time": partial(mean_time, self.texts),
            "languages": bundled().values(),
        }
        return render_template(template, **frame, **values)


def done(earnings: Earnings) -> int:
    """How many hits were sent, whatever became of them."""
    return earnings.assignments_approved + earnings.assignments_waiting + earnings.assignments_rejected


def notice(texts: PageTexts) -> str:
    """The sentence that a redirect asked to be shown."""
    name = request.args.get("said", "")
    return texts[name] if name in ("sent", "sent_next", "returned", "changed") else ""


def page_texts() -> PageTexts:
    """The texts in the language the worker chose, or else the browser asks for, or else the instructions have."""
    known = bundled()
    chosen = request.cookies.get(LANGUAGE_COOKIE, "")
    if chosen in known:
        return known[chosen]
    if asked := request.accept_languages.best_match(list(known)):
        return known[asked]
    return known.get(market_language(current_app.extensions["market"].folder)) or known[DEFAULT]


def visit(market: ServedMarket) -> Visit:
    """The worker behind this request; `PageError` when there is none."""
    kind, _, value = request.cookies.get(WORKER_COOKIE, "").partition(":")
    worker = None
    if kind == INVITED:
        worker = market.store.people.by_token(value)
    elif kind == JOINED and (sealed := market.seals.unseal(value)):
        worker = _known(market, sealed)
    if worker is None:
        raise PageError(401, "error_login")
    return Visit(market, worker, page_texts(), market.now())


def _known(market: ServedMarket, worker: str) -> Worker | None:
    try:
        return market.store.people.find(worker)
    except RefusedError:
        return None


def enter_invited(market: ServedMarket, token: str) -> Response:
    """Come in by an invitation link."""
    if market.store.people.by_token(token) is None:
        raise PageError(404, "error_link")
    return _welcome(f"{INVITED}:{token}")


def enter_joined(market: ServedMarket, key: str) -> Response:
    """Come in by the shared link, with the recruiting service's id in the query string."""
    if not same(key, market.access.join_key):
        raise PageError(404, "error_link")
    names = (name for name in market.options.shared.parameters if request.args.get(name, "").strip())
    external = request.args.get(next(names, ""), "").strip()
    if not external or len(external) > 200 or not external.isprintable():
        raise PageError(400, "error_link")
    if external.startswith(SIMULATED_NAME) and not market.options.shared.simulated:
        raise PageError(400, "error_link")
    worker = market.store.people.enrol(JOIN_SOURCE, external, market.now())
    return _welcome(f"{JOINED}:{market.seals.seal(worker.id)}")


def _welcome(cookie: str) -> Response:
    response = make_response(redirect(local("/work"), 303))
    keep_cookie(response, WORKER_COOKIE, cookie)
    return response


def keep_cookie(response: Response, name: str, value: str, same_site: str = "Lax") -> None:
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
