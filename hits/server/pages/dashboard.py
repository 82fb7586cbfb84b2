"""The requester's dashboard: progress, the quality of workers, and buttons to review their work.

It opens with the token in its link, once; then a cookie that other sites cannot use keeps it open, and the address bar
holds no token. Every button is a form with a token of its own.
"""

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from flask import Blueprint, Response, make_response, redirect, render_template, request
from markupsafe import Markup
from werkzeug.wrappers import Response as AnyResponse

from hits.market.folder import came_from, kept_batches, use_dashboard_token
from hits.market.publish import publish
from hits.records import parse_annotation
from hits.server.batches import read_kept
from hits.server.inside import inside_client, unpublished
from hits.server.pages.figures import figures, sparkline
from hits.server.pages.results_file import results_text
from hits.server.pages.reviewing import AnsweredPage, answered_page
from hits.server.pages.texts import DEFAULT, PageError, bundled
from hits.server.pages.visit import keep_cookie, local
from hits.server.questions.question import read_question
from hits.server.security import same
from hits.server.settings import ServedMarket
from hits.server.store.records import AssignmentRecord, AssignmentStatus, Hit, RefusedError
from rypt.campaign.folder import Campaign
from rypt.text import FormatError, RyptError

COOKIE = "rypt_requester"
WHO = "requester"
PAGE = 50
MAX_REASON = 1024
MAX_NAMES = 20_000  # characters of names to be invited at once


class Dashboard:
    """The routes; each method answers one."""

    def __init__(self, market: ServedMarket) -> None:
        self.market = market
        self._lock = threading.Lock()

    def blueprint(self) -> Blueprint:
        """All routes, for an application to register."""
        routes = Blueprint("dashboard", __name__, url_prefix="/dashboard")
        routes.add_url_rule("", "overview", self.overview, methods=["GET"])
        routes.add_url_rule("/review", "review", self.review, methods=["GET"])
        routes.add_url_rule("/hit/<hit>", "shown", self.shown, methods=["GET"])
        routes.add_url_rule("/results/<batch>.csv", "results", self.results, methods=["GET"])
        routes.add_url_rule("/invite", "invite", self.invite, methods=["POST"])
        for action in (
            self.approve,
            self.reject,
            self.approve_all,
            self.block,
            self.unblock,
            self.pause,
            self.go_on,
            self.publish,
            self.exclude,
            self.include,
        ):
            name = action.__name__
            routes.add_url_rule(f"/{name}", name, self._form(action), methods=["POST"])
        return routes

    def overview(self) -> AnyResponse | str:
        """Progress and workers; with a token in the link, the way in."""
        if (token := request.args.get("token")) is not None:
            return self._enter(token)
        self._check_cookie()
        return self._overview([])

    def _overview(self, invited: Sequence[tuple[str, str]]) -> str:
        """The first page, with the links of people who were just invited."""
        excluded = self._excluded()
        values = {
            "figures": figures(self.market.store, self._batches(), self.market.now(), excluded),
            "sparkline": sparkline,
            "invited": invited,
            "unpublished": unpublished(self.market),
            "campaign": self.market.options.campaign,
            "excluded": excluded,
            "shared": self.market.options.shared.url(self._base(), self.market.access),
        }
        return self._page("dashboard.html", values)

    def _excluded(self) -> Mapping[str, str]:
        """The workers whose judgments do not count in the campaign, with the reasons."""
        if self.market.options.campaign is None:
            return {}
        with Campaign.open(self.market.options.campaign).database() as db:
            return db.excluded()

    def _base(self) -> str:
        return (self.market.options.public_url or request.url_root).rstrip("/")

    def invite(self) -> str:
        """Invite people, a name a line, and show their links, which are shown nowhere else."""
        self._check_form()
        lines = request.form.get("names", "")[:MAX_NAMES].splitlines()
        names = [name.strip() for name in lines if name.strip()]
        if not names:
            raise PageError(422, "error_missing")
        store, now = self.market.store, self.market.now()
        people = [store.people.invite(name, now) for name in dict.fromkeys(names)]
        return self._overview([(person.worker.name, f"{self._base()}/w/{person.token}") for person in people])

    def results(self, batch: str) -> Response:
        """The results CSV of a batch, as `rypt hits export` writes it."""
        self._check_cookie()
        kept = next((folder for folder in self._batches() if folder.name == batch), None)
        if kept is None:
            raise PageError(404, "error_404")
        store, now = self.market.store, self.market.now()
        text = results_text(read_kept(kept)[0], store.figures.snapshot(now).answers)
        store.work.mark_seen([a.id for a in store.work.all(now)], now)
        response = Response(text, mimetype="text/csv")
        name = re.sub(r"[^A-Za-z0-9._-]", "-", Path(came_from(kept)).name) or batch
        response.headers["Content-Disposition"] = f'attachment; filename="{name}.csv"'
        return response

    def _enter(self, token: str) -> Response:
        """Set the cookie; a redirect would not carry it when the link was clicked on another site."""
        with self._lock:
            used = use_dashboard_token(self.market.folder, lambda expected: same(token, expected))
        if not used and not self._has_cookie():
            raise PageError(403, "error_dashboard")
        response = make_response(self._page("dashboard_enter.html", {}))
        keep_cookie(response, COOKIE, self._cookie(), same_site="Strict")
        response.headers["Refresh"] = f"0; url={local('/dashboard')}"
        return response

    def _cookie(self) -> str:
        return self.market.seals.seal(WHO)

    def _has_cookie(self) -> bool:
        return same(request.cookies.get(COOKIE, ""), self._cookie())

    def _check_cookie(self) -> None:
        if not self._has_cookie():
            raise PageError(403, "error_dashboard")

    def _batches(self) -> list[Path]:
        return [*dict.fromkeys([*kept_batches(self.market.folder), *self.market.options.batches])]

    def _page(self, template: str, values: Mapping[str, object]) -> str:
        csrf = self.market.seals.form_token(WHO)
        return render_template(template, t=bundled()[DEFAULT], csrf=csrf, **values)

    def review(self) -> str:
        """Submitted work, the oldest first: of one worker or of all."""
        self._check_cookie()
        store, now = self.market.store, self.market.now()
        worker = request.args.get("worker") or None
        after = request.args.get("after", "0")
        if not (after.isascii() and after.isdigit() and len(after) < 16):
            raise PageError(404, "error_404")
        waiting = store.work.all(
            now, worker=worker, statuses=[AssignmentStatus.SUBMITTED], after=int(after), limit=PAGE + 1
        )
        names = {person.id: person.name for person in store.people.all()}
        shown = waiting[:PAGE]
        hits = {assignment.hit: store.hits.find(assignment.hit, now) for assignment in shown}
        following = shown[-1].number if len(waiting) > PAGE else None
        values = {
            "waiting": shown,
            "names": names,
            "hits": hits,
            "worker": worker,
            "following": following,
            "pages": {a.id: page for a in shown if (page := self._answered(a, hits[a.hit])) is not None},
        }
        return self._page("review.html", values)

    def _answered(self, assignment: AssignmentRecord, hit: Hit) -> AnsweredPage | None:
        """What an assignment says, by its batch; None where the batch is not known."""
        ours = parse_annotation(hit.annotation or "")
        kept = next((folder for folder in self._batches() if ours and folder.name == ours[0]), None)
        if ours is None or kept is None:
            return None
        try:
            batch, items = read_kept(kept)
            columns = items[ours[1]].columns
        except (RyptError, OSError, KeyError):
            return None
        seconds = (assignment.submitted or 0) - assignment.accepted
        return answered_page(
            columns, assignment.answers or {}, batch.settings.kind, assignment.worker, seconds
        )

    def shown(self, hit: str) -> str:
        """What the workers see of a hit; nothing on it can be used."""
        self._check_cookie()
        record = self.market.store.hits.find(hit, self.market.now())
        try:
            question, safe = read_question(record.question, "OK")
        except FormatError:
            raise PageError(409, "error_unshown") from None
        body = Markup(safe.with_form("", {})) if safe else ""
        return self._page("shown.html", {"hit": record, "safe": safe, "body": body, "url": question.url})

    def _form(self, action: Callable[[], None]) -> Callable[[], AnyResponse]:
        """A view that performs an action for a form of the requester's own and goes back to where it was."""

        def view() -> AnyResponse:
            self._check_form()
            try:
                action()
            except (RefusedError, PageError):
                raise
            except (
                RyptError
            ) as error:  # of a batch folder or a campaign: the requester can do something about it
                values = {"heading": bundled()[DEFAULT]["error_heading"], "text": str(error)}
                return make_response(self._page("error.html", values), 409)
            back = request.form.get("back", "")
            worker = request.form.get("of", "")
            path = "/dashboard/review" if back == "review" else "/dashboard"
            return redirect(
                local(path + (f"?worker={worker}" if worker.isalnum() and back == "review" else "")), 303
            )

        return view

    def _check_form(self) -> None:
        self._check_cookie()
        if not self.market.seals.form_is_ours(WHO, request.form.get("csrf", "")):
            raise PageError(403, "error_form")

    def pause(self) -> None:
        """Let nobody begin a hit of a batch for now."""
        self.market.store.hits.pause(request.form.get("batch", ""), self.market.now())

    def go_on(self) -> None:
        """Open a paused batch again."""
        self.market.store.hits.go_on(request.form.get("batch", ""), self.market.now())

    def publish(self) -> None:
        """Publish a batch folder of the list, for the price that was shown."""
        name, cost = request.form.get("folder", ""), request.form.get("cost", "")
        chosen = next((each for each in unpublished(self.market) if each.name == name), None)
        if chosen is None or str(chosen.cost) != cost:
            raise PageError(409, "error_publish")
        with self._lock:
            publish(chosen.folder, inside_client(self.market))

    def exclude(self) -> None:
        """Let a worker's judgments not count in the campaign; they stay in its database."""
        worker = self.market.store.people.find(request.form.get("worker", "")).id
        with self._campaign().database(readonly=False) as db:
            db.exclude(worker, self._reason(), self.market.now())

    def include(self) -> None:
        """Let the judgments of an excluded worker count again."""
        worker = self.market.store.people.find(request.form.get("worker", "")).id
        with self._campaign().database(readonly=False) as db:
            db.include(worker)

    def _campaign(self) -> Campaign:
        if self.market.options.campaign is None:
            raise PageError(404, "error_404")
        return Campaign.open(self.market.options.campaign)

    def approve(self) -> None:
        """Approve one assignment."""
        self.market.store.review.approve(request.form.get("assignment", ""), None, self.market.now())

    def reject(self) -> None:
        """Reject one assignment; the worker reads the reason."""
        self.market.store.review.reject(request.form.get("assignment", ""), self._reason(), self.market.now())

    def approve_all(self) -> None:
        """Approve all that waits of one worker."""
        store, now = self.market.store, self.market.now()
        worker = store.people.find(request.form.get("worker", "")).id
        for assignment in store.work.all(now, worker=worker, statuses=[AssignmentStatus.SUBMITTED]):
            try:
                store.review.approve(assignment.id, None, now)
            except RefusedError as error:  # somebody reviewed it in the meantime
                if not error.code.endswith("InvalidAssignmentState"):
                    raise

    def block(self) -> None:
        """Give a worker no more hits; the worker reads the reason."""
        self.market.store.people.block(request.form.get("worker", ""), self._reason(), self.market.now())

    def unblock(self) -> None:
        """Take a block back."""
        self.market.store.people.unblock(request.form.get("worker", ""), self.market.now())

    @staticmethod
    def _reason() -> str:
        reason = request.form.get("reason", "").strip()
        if not 0 < len(reason) <= MAX_REASON:
            raise PageError(422, "error_missing")
        return reason
