"""The requester's dashboard: progress, the quality of workers, and buttons to review their work.

It opens with the token in its link, once; then a cookie that other sites cannot use keeps it open, and the address bar
holds no token. Every button is a form with a token of its own.
"""

import io
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from flask import Blueprint, Response, make_response, redirect, render_template, request
from markupsafe import Markup
from werkzeug.wrappers import Response as AnyResponse

from hits.market.folder import came_from, kept_batches, use_dashboard_token
from hits.records import Batch
from hits.results.csv_file import batch_facts, results_row, write_rows
from hits.server.batches import read_copy, waiting_batches
from hits.server.pages.figures import Items, figures, known_content, known_items, read_answer, sparkline
from hits.server.pages.review import answered_page
from hits.server.pages.texts import DEFAULT, PageError, bundled
from hits.server.pages.visit import local, set_cookie
from hits.server.question import question_page
from hits.server.security import same
from hits.server.settings import ServedMarket
from hits.server.store import Store
from hits.server.store.records import RefusedError
from rypt.campaign.folder import Campaign
from rypt.text import FormatError, RyptError

COOKIE = "rypt_requester"
WHO = "requester"
PAGE = 50
MAX_REASON = 1024
MAX_NAMES = 20_000  # characters of names to be invited at once


class Dashboard:
    """The routes; each public method answers one."""

    def __init__(self, market: ServedMarket) -> None:
        self.market = market
        self.store = market.store
        self._lock = threading.Lock()

    def routes(self) -> Blueprint:
        routes = Blueprint("dashboard", __name__, url_prefix="/dashboard")
        routes.add_url_rule("", "overview", self.overview, methods=["GET"])
        routes.add_url_rule("/review", "review", self.review, methods=["GET"])
        routes.add_url_rule("/hit/<hit>", "preview", self.preview, methods=["GET"])
        routes.add_url_rule("/results/<batch>.csv", "results", self.results, methods=["GET"])
        routes.add_url_rule("/invite", "invite", self.invite, methods=["POST"])
        for action in (
            self.approve,
            self.reject,
            self.approve_all,
            self.block,
            self.unblock,
            self.pause,
            self.resume,
            self.exclude,
            self.include,
        ):
            name = action.__name__
            routes.add_url_rule(f"/{name}", name, self._form(action), methods=["POST"])
        return routes

    def overview(self) -> AnyResponse | str:
        """Progress and workers; with a token in the link, the way in."""
        if (token := request.args.get("token")) is not None:
            return self._sign_in(token)
        self._check_cookie()
        return self._overview([])

    def _overview(self, invited: Sequence[tuple[str, str]]) -> str:
        """The first page, with the links of people who were just invited."""
        excluded = self._excluded()
        values = {
            "figures": figures(self.store, self._batches(), self.market.now(), excluded),
            "sparkline": sparkline,
            "invited": invited,
            "market": self.market.folder,
            "waiting": waiting_batches(self.market.folder, self.store.hits.count_items()),
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
        now = self.market.now()
        people = [self.store.people.invite(name, now) for name in dict.fromkeys(names)]
        return self._overview([(person.worker.name, f"{self._base()}/w/{person.token}") for person in people])

    def results(self, batch: str) -> Response:
        """The results CSV of a batch, as `rypt hits export` writes it."""
        self._check_cookie()
        folder = next((folder for folder in self._batches() if folder.name == batch), None)
        if folder is None:
            raise PageError(404, "error_404")
        copy = read_copy(folder)[0]
        text = results_csv(self.store, copy, known_items([folder])[0], self.market.now())
        response = Response(text, mimetype="text/csv")
        name = re.sub(r"[^A-Za-z0-9._-]", "-", Path(came_from(folder)).name) or batch
        response.headers["Content-Disposition"] = f'attachment; filename="{name}.csv"'
        return response

    def _sign_in(self, token: str) -> Response:
        """Set the cookie; a redirect would not carry it when the link was clicked on another site."""
        with self._lock:
            used = use_dashboard_token(self.market.folder, lambda expected: same(token, expected))
        if not used and not self._has_cookie():
            raise PageError(403, "error_dashboard")
        response = make_response(self._page("dashboard_enter.html", {}))
        set_cookie(response, COOKIE, self._cookie(), same_site="Strict")
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
        now, worker, after = self.market.now(), request.args.get("worker"), request.args.get("after", "0")
        if not (after.isascii() and after.isdigit() and len(after) < 16):
            raise PageError(404, "error_404")
        waiting = self.store.work.all(
            now, worker=worker or None, statuses=["Submitted"], after=int(after), limit=PAGE + 1
        )
        shown = waiting[:PAGE]
        hits = {row["HITId"]: self.store.hits.find(row["HITId"], now) for row in shown}
        items, _ = known_items(self._batches())
        pages = {}
        for row in shown:
            assignment = read_answer(row | hits[row["HITId"]], items)
            if (content := known_content(assignment)) is not None:
                seconds = row["SubmitTime"] - row["AcceptTime"]
                pages[row["AssignmentId"]] = answered_page(
                    assignment.columns, row["fields"], content, row["WorkerId"], seconds
                )
        values = {
            "waiting": shown,
            "names": {person.id: person.name for person in self.store.people.all()},
            "hits": hits,
            "worker": worker,
            "following": shown[-1]["number"] if len(waiting) > PAGE else None,
            "pages": pages,
        }
        return self._page("review.html", values)

    def preview(self, hit: str) -> str:
        """What the workers see of a hit; nothing on it can be used."""
        self._check_cookie()
        record = self.store.hits.find(hit, self.market.now())
        try:
            safe = question_page(record["Question"], "OK")
        except FormatError:
            raise PageError(409, "error_unshown") from None
        return self._page(
            "preview.html", {"hit": record, "safe": safe, "body": Markup(safe.with_form("", {}))}
        )

    def _form(self, action: Callable[[], None]) -> Callable[[], AnyResponse]:
        """A view that performs an action for a form of the requester's own and goes back to where it was."""

        def view() -> AnyResponse:
            self._check_form()
            try:
                action()
            except (RefusedError, PageError):
                raise
            except RyptError as error:  # of a campaign: the requester can do something about it
                values = {"heading": bundled()[DEFAULT]["error_heading"], "text": str(error)}
                return make_response(self._page("error.html", values), 409)
            worker = request.form.get("of", "")
            path = "/dashboard/review" if request.form.get("back") == "review" else "/dashboard"
            if path.endswith("review") and worker.isalnum():
                path = f"{path}?worker={worker}"
            return redirect(local(path), 303)

        return view

    def _check_form(self) -> None:
        self._check_cookie()
        if not self.market.seals.form_is_ours(WHO, request.form.get("csrf", "")):
            raise PageError(403, "error_form")

    def pause(self) -> None:
        """Let nobody begin a hit of a batch for now."""
        self.store.hits.pause(request.form.get("batch", ""), self.market.now())

    def resume(self) -> None:
        """Open a paused batch again."""
        self.store.hits.resume(request.form.get("batch", ""), self.market.now())

    def exclude(self) -> None:
        """Let a worker's judgments not count in the campaign; they stay in its database."""
        with self._campaign().database(readonly=False) as db:
            db.exclude(self._worker(), self._reason(), self.market.now())

    def include(self) -> None:
        """Let the judgments of an excluded worker count again."""
        with self._campaign().database(readonly=False) as db:
            db.include(self._worker())

    def _campaign(self) -> Campaign:
        if self.market.options.campaign is None:
            raise PageError(404, "error_404")
        return Campaign.open(self.market.options.campaign)

    def approve(self) -> None:
        self.store.work.approve(request.form.get("assignment", ""), None, self.market.now())

    def reject(self) -> None:
        """Reject one assignment; the worker reads the reason."""
        self.store.work.reject(request.form.get("assignment", ""), self._reason(), self.market.now())

    def approve_all(self) -> None:
        """Approve all that waits of one worker."""
        now = self.market.now()
        for row in self.store.work.all(now, worker=self._worker(), statuses=["Submitted"]):
            try:
                self.store.work.approve(row["AssignmentId"], None, now)
            except RefusedError as error:  # reviewed in the meantime
                if not error.code.endswith("InvalidAssignmentState"):
                    raise

    def block(self) -> None:
        """Give a worker no more hits; the worker reads the reason."""
        self.store.people.block(self._worker(), self._reason(), self.market.now())

    def unblock(self) -> None:
        self.store.people.unblock(self._worker(), self.market.now())

    def _worker(self) -> str:
        return self.store.people.find(request.form.get("worker", "")).id

    @staticmethod
    def _reason() -> str:
        reason = request.form.get("reason", "").strip()
        if not 0 < len(reason) <= MAX_REASON:
            raise PageError(422, "error_missing")
        return reason


def results_csv(store: Store, batch: Batch, items: Items, now: int) -> str:
    """All submitted assignments of a batch, a row each."""
    by_id = {item.id: item for item in batch.items}
    assignments = [
        replace(read, facts=batch_facts(batch, by_id[read.item]), market="local")
        for row in store.figures.answers(batch.settings.id, now)
        if (read := read_answer(row, items)).columns
    ]
    inputs = dict.fromkeys(name for each in assignments for name in each.columns)
    fields = dict.fromkeys(name for each in assignments for name in each.fields)
    stream = io.StringIO()
    write_rows(stream, list(inputs), list(fields), map(results_row, assignments))
    return stream.getvalue()
