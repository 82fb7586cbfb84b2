"""The requester's dashboard: progress, the quality of workers, and buttons to review their work.

It opens with the token in its link, once; then a cookie that other sites cannot use keeps it open, and the address bar
holds no token. Every button is a form with a token of its own.
"""

import io
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from flask import Blueprint, Response, make_response, redirect, render_template, request
from markupsafe import Markup
from werkzeug.wrappers import Response as AnyResponse

from hits.market.folder import came_from, kept_batches, use_dashboard_token
from hits.results.csv_file import batch_facts, write_results
from hits.server.batches import read_copy, waiting_batches
from hits.server.pages.figures import figures, known_items, read_answered
from hits.server.pages.review import answered_page
from hits.server.pages.texts import DEFAULT, PageError, bundled
from hits.server.pages.visit import local, set_cookie
from hits.server.question import question_page
from hits.server.settings import ServedMarket
from hits.server.store.records import RefusedError
from rypt.campaign.folder import Campaign
from rypt.text import FormatError, RyptError

if TYPE_CHECKING:
    from rypt.database.judgments import JudgmentDatabase

COOKIE = "rypt_requester"
WHO = "requester"
PAGE = 50
MAX_REASON = 1024
MAX_NAMES = 20_000  # characters of names to be invited at once


def dashboard_routes(market: ServedMarket) -> Blueprint:
    routes, store = Blueprint("dashboard", __name__, url_prefix="/dashboard"), market.store
    signing_in = threading.Lock()

    def has_cookie() -> bool:
        return market.seals.unseal(request.cookies.get(COOKIE, "")) == WHO

    @routes.before_request
    def check() -> None:
        """Let in who has the cookie, or a link to get it; forms also need their token."""
        if not has_cookie() and not (request.endpoint == "dashboard.overview" and "token" in request.args):
            raise PageError(403, "error_dashboard")
        if request.method == "POST" and not market.seals.form_is_ours(WHO, request.form.get("csrf", "")):
            raise PageError(403, "error_form")

    def page(template: str, **values: object) -> str:
        return render_template(template, t=bundled()[DEFAULT], csrf=market.seals.form_token(WHO), **values)

    def base() -> str:
        return (market.options.public_url or request.url_root).rstrip("/")

    def judgments(*, readonly: bool = True) -> "AbstractContextManager[JudgmentDatabase]":
        from rypt.database.judgments import JudgmentDatabase

        if market.options.campaign is None:
            raise PageError(404, "error_404")
        campaign = Campaign.open(market.options.campaign)
        return JudgmentDatabase(campaign.path(campaign.files.database), readonly=readonly)

    def first_page(invited: Sequence[tuple[str, str]] = ()) -> str:
        """Progress and workers, with the links of people who were just invited."""
        excluded: Mapping[str, str] = {}
        if market.options.campaign is not None:
            with judgments() as db:
                excluded = db.excluded()
        return page(
            "dashboard.html",
            figures=figures(store, kept_batches(market.folder), market.now(), excluded),
            invited=invited,
            market=market.folder,
            waiting=waiting_batches(market.folder, store.hits.count_items()),
            campaign=market.options.campaign,
            excluded=excluded,
            shared=replace(market.access, url=base(), parameter=market.options.parameters[0]).shared_url,
        )

    @routes.get("")
    def overview() -> Response | str:
        """The first page; with a token in the link, the way in."""
        return first_page() if (token := request.args.get("token")) is None else sign_in(token)

    def sign_in(token: str) -> Response:
        """Set the cookie; a redirect would not carry it when the link was clicked on another site."""
        if request.method == "HEAD":  # a preview in a chat does not use the link up
            raise PageError(405, "error_405")
        with signing_in:
            used = use_dashboard_token(market.folder, token)
        if not used and not has_cookie():
            raise PageError(403, "error_dashboard")
        response = make_response(page("dashboard_enter.html"))
        set_cookie(response, COOKIE, market.seals.seal(WHO), same_site="Strict")
        response.headers["Refresh"] = f"0; url={local('/dashboard')}"
        return response

    @routes.post("/invite")
    def invite() -> str:
        """Invite people, a name a line, and show their links, which are shown nowhere else."""
        lines = request.form.get("names", "")[:MAX_NAMES].splitlines()
        names = [name.strip() for name in lines if name.strip()]
        if not names:
            raise PageError(422, "error_missing")
        people = [store.people.invite(name, market.now()) for name in dict.fromkeys(names)]
        return first_page([(person.worker.name, f"{base()}/w/{person.token}") for person in people])

    @routes.get("/results/<batch>.csv")
    def results(batch: str) -> Response:
        """The results CSV of a batch, as rypt exports it."""
        folder = next((folder for folder in kept_batches(market.folder) if folder.name == batch), None)
        if folder is None:
            raise PageError(404, "error_404")
        copy = read_copy(folder)
        items = {item.id: item for item in copy.items}
        columns = {(copy.settings.id, item.id): item.columns for item in copy.items}
        rows = store.work.all(market.now(), batch=copy.settings.id)
        work = [
            replace(one, facts=batch_facts(copy, items[one.item]), market="local")
            for one in (read_answered(row, columns).assignment for row in rows)
            if one.columns
        ]
        stream = io.StringIO()
        write_results(stream, lambda: work)
        response = Response(stream.getvalue(), mimetype="text/csv")
        name = re.sub(r"[^A-Za-z0-9._-]", "-", Path(came_from(folder)).name) or batch
        response.headers["Content-Disposition"] = f'attachment; filename="{name}.csv"'
        return response

    @routes.get("/review")
    def review() -> str:
        """Submitted work, the oldest first: of one worker or of all."""
        now, worker, after = market.now(), request.args.get("worker"), request.args.get("after", "0")
        if not (after.isascii() and after.isdigit() and len(after) < 16):
            raise PageError(404, "error_404")
        waiting = store.work.all(
            now, worker=worker or None, statuses=["Submitted"], after=int(after), limit=PAGE + 1
        )
        shown = waiting[:PAGE]
        hits = {row["HITId"]: store.hits.find(row["HITId"], now) for row in shown}
        items, _ = known_items(kept_batches(market.folder))
        answered = [read_answered(row | hits[row["HITId"]], items) for row in shown]
        return page(
            "review.html",
            waiting=shown,
            names={person.id: person.name for person in store.people.all()},
            hits=hits,
            worker=worker,
            following=shown[-1]["number"] if len(waiting) > PAGE else None,
            pages={
                one.assignment.id: answered_page(one.assignment, one.content)
                for one in answered
                if one.content
            },
        )

    @routes.get("/hit/<hit>")
    def preview(hit: str) -> str:
        """What the workers see of a hit; nothing on it can be used."""
        record = store.hits.find(hit, market.now())
        try:
            safe = question_page(record["Question"], "OK")
        except FormatError:
            raise PageError(409, "error_unshown") from None
        return page("preview.html", hit=record, safe=safe, body=Markup(safe.with_form("", {})))

    def worker() -> str:
        return store.people.find(request.form.get("worker", "")).id

    def reason() -> str:
        text = request.form.get("reason", "").strip()
        if not 0 < len(text) <= MAX_REASON:
            raise PageError(422, "error_missing")
        return text

    def exclude() -> None:
        """Let a worker's judgments not count in the campaign; they stay in its database."""
        with judgments(readonly=False) as db:
            db.exclude(worker(), reason(), market.now())

    def include() -> None:
        with judgments(readonly=False) as db:
            db.include(worker())

    def approve_all() -> None:
        """Approve all that waits of one worker, once the requester has confirmed it."""
        if request.form.get("sure") != "yes":
            raise PageError(422, "error_missing")
        for row in store.work.all(market.now(), worker=worker(), statuses=["Submitted"]):
            try:
                store.work.approve(row["AssignmentId"], None, market.now())
            except RefusedError as error:  # reviewed in the meantime
                if not error.code.endswith("InvalidAssignmentState"):
                    raise

    def chosen(name: str) -> str:
        return request.form.get(name, "")

    buttons: Mapping[str, Callable[[], object]] = {
        "approve": lambda: store.work.approve(chosen("assignment"), None, market.now()),
        "reject": lambda: store.work.reject(chosen("assignment"), reason(), market.now()),
        "approve_all": approve_all,
        "block": lambda: store.people.block(worker(), reason(), market.now()),
        "unblock": lambda: store.people.unblock(worker(), market.now()),
        "pause": lambda: store.hits.pause(chosen("batch"), market.now()),
        "resume": lambda: store.hits.resume(chosen("batch"), market.now()),
        "exclude": exclude,
        "include": include,
    }

    def press(button: Callable[[], object]) -> Callable[[], AnyResponse]:
        """A view that does what a button says and goes back to its page."""

        def view() -> AnyResponse:
            try:
                button()
            except (RefusedError, PageError):
                raise
            except RyptError as error:  # of a campaign: the requester can do something about it
                heading = bundled()[DEFAULT]["error_heading"]
                return make_response(page("error.html", heading=heading, text=str(error)), 409)
            if chosen("back") != "review":
                return redirect(local("/dashboard"), 303)
            of = f"?worker={chosen('of')}" if chosen("of").isalnum() else ""
            return redirect(local(f"/dashboard/review{of}"), 303)

        return view

    for name, button in buttons.items():
        routes.add_url_rule(f"/{name}", name, press(button), methods=["POST"])
    return routes
