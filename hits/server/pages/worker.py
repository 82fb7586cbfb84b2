"""What a worker meets: the invitation → consent → hits → judge → send → the next hit at once.

Everything works as plain forms; ``static/worker.js`` adds keys, drafts and a count of what is left. Every form has
the worker's token, every answer is checked against what its page asks, and only then stored.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from decimal import Decimal

from flask import Blueprint, Response, make_response, redirect, request
from markupsafe import Markup
from werkzeug.wrappers import Response as AnyResponse

from hits.server.batches import market_language
from hits.server.pages.texts import PageError, bundled, consent_paragraphs
from hits.server.pages.training import needs_training
from hits.server.pages.visit import (
    LANGUAGE_COOKIE,
    Visit,
    local,
    set_cookie,
    sign_in_invited,
    sign_in_recruited,
    visit,
)
from hits.server.question import SafePage, question_page
from hits.server.settings import ServedMarket
from hits.server.store.open_hits import is_closed
from hits.server.store.records import Record
from rypt.text import FormatError

Page = str | AnyResponse


def cards(
    groups: Iterable[Record], needs: Mapping[int, tuple[str, ...]], seconds: Mapping[str, float]
) -> list[Record]:
    """What the page shows of each batch; hits of other programs are put together by title, description and needs.

    Cards of the same title get a number. ``seconds`` is how long people took for a hit on average.
    """
    parts: dict[object, list[Record]] = {}
    for group in groups:
        key = group["batch"] or (group["Title"], group["Description"], needs[group["number"]])
        parts.setdefault(key, []).append(group)
    titles = Counter(part[0]["Title"] for part in parts.values())
    numbers: Counter[str] = Counter()
    shown = []
    for part in parts.values():
        title, rewards = part[0]["Title"], [Decimal(group["Reward"]) for group in part]
        numbers[title] += 1
        shown.append(
            {
                "title": f"{title} ({numbers[title]})" if titles[title] > 1 else title,
                "first": part[0],
                "count": sum(group["count"] for group in part),
                "least": min(rewards),
                "most": max(rewards),
                "duration": min(group["AssignmentDurationInSeconds"] for group in part),
                "needs": tuple(dict.fromkeys(need for group in part for need in needs[group["number"]])),
                "seconds": seconds.get(part[0]["batch"]),
            }
        )
    return shown


def worker_routes(market: ServedMarket) -> Blueprint:
    routes, store = Blueprint("worker", __name__), market.store

    @routes.get("/w/<token>")
    def invited(token: str) -> Response:
        return sign_in_invited(market, token)

    @routes.get("/join/<key>")
    def joined(key: str) -> Response:
        return sign_in_recruited(market, key)

    @routes.post("/work/language")
    def language() -> Page:
        visit(market).check_form()
        response = make_response(redirect(local("/work"), 303))
        if (chosen := request.form.get("language", "")) in bundled():
            set_cookie(response, LANGUAGE_COOKIE, chosen)
        return response

    @routes.get("/work")
    def home() -> Page:
        """Consent on the first visit, then what there is to do."""
        here = visit(market)
        if here.worker.consented is None:
            languages = (here.texts.language, market_language(market.folder))
            return here.page("consent.html", {"own": consent_paragraphs(market.folder, languages)})
        return _home(here)

    @routes.post("/work/consent")
    def consent() -> Page:
        here = visit(market)
        here.check_form()
        if request.form.get("agree") == "yes":
            store.people.consent(here.worker.id, here.now)
        return redirect(local("/work"), 303)

    @routes.post("/work/next")
    def begin() -> Page:
        here = visit(market, consented=True)
        here.check_form()
        batch = request.form.get("batch", "")
        if needs_training(here, batch) and not store.work.held(here.worker.id, here.now):
            return redirect(local(f"/work/training/{batch}"), 303)
        return _next(here, request.form.get("type", ""), batch, "")

    @routes.get("/work/a/<assignment>")
    def judge(assignment: str) -> Page:
        here = visit(market, consented=True)
        held, hit = store.work.find(assignment, here.now, worker=here.worker.id)
        if held["AssignmentStatus"] != "Accepted":
            return redirect(local("/work"), 303)
        safe = _question(here, hit)
        hidden = {"csrf": here.csrf, "assignmentId": held["AssignmentId"]}
        groups = store.open_hits.groups(here.worker.id, here.now)
        values = {
            "title": hit["Title"],
            "assignment": held,
            "reward": hit["Reward"],
            "safe": safe,
            "body": Markup(safe.with_form(local(f"/work/a/{assignment}"), hidden)),
            "left": sum(group["count"] for group in groups if not group["unmet"]),
        }
        return here.page("hit.html", values)

    @routes.post("/work/a/<assignment>")
    def submit(assignment: str) -> Page:
        """Store the answers; when this is answered they are on the disk."""
        here = visit(market, consented=True)
        here.check_form()
        held, hit = store.work.find(assignment, here.now, worker=here.worker.id)
        if request.form.get("assignmentId") != held["AssignmentId"]:
            raise PageError(400, "error_form")
        answers = here.answers(_question(here, hit))
        store.work.submit(assignment, here.worker.id, answers, here.now)
        return _next(here, hit["HITTypeId"], hit["batch"], "sent")

    @routes.post("/work/a/<assignment>/return")
    def give_back(assignment: str) -> Page:
        here = visit(market, consented=True)
        here.check_form()
        store.work.give_back(assignment, here.worker.id, here.now)
        return redirect(local("/work?said=returned"), 303)

    return routes


def _home(here: Visit) -> str:
    """What there is to do, tests that open more, messages; for recruited workers who are done, the code."""
    market, store, worker = here.market, here.market.store, here.worker
    groups = [] if here.finished() else store.open_hits.groups(worker.id, here.now)
    needs = {
        group["number"]: tuple(map(here.texts.requirement, group["QualificationRequirements"]))
        for group in groups
    }
    possible = [group for group in groups if not group["unmet"]]
    tests = store.open_hits.askable(groups)
    messages = store.people.messages(worker.id)
    code = _completion_code(here, bool(possible), bool(tests))
    held = store.work.held(worker.id, here.now)
    page = here.page(
        "home.html",
        {
            "cards": cards(possible, needs, store.open_hits.mean_seconds(here.now)),
            "closed": [
                (group["Title"], [here.texts.requirement(rule) for rule in group["unmet"]])
                for group in groups
                if is_closed(group)
            ],
            "tests": [(kind, *here.texts.qualification(kind["Name"], kind["Description"])) for kind in tests],
            "messages": messages,
            "code": code,
            "completion_url": market.options.completion_url.replace("{code}", code) if code else "",
            "over": here.earnings().done > 0 and not (possible or tests or held),
        },
    )
    if any(message["seen"] is None for message in messages):
        store.people.mark_seen(worker.id, here.now)
    return page


def _completion_code(here: Visit, has_work: bool, has_tests: bool) -> str:
    """The code for a recruited worker who is done; with X (blocked) or N (no work) as `hits.market.recruit` reads it."""
    code = here.market.completion_code
    if not here.recruited:
        return ""
    if here.worker.blocked is not None:
        return f"{code}X"
    if has_work:
        return ""
    if here.earnings().done:
        return code
    held = here.market.store.work.held(here.worker.id, here.now)
    return "" if held or has_tests else f"{code}N"


def _question(here: Visit, hit: Record) -> SafePage:
    try:
        return question_page(hit["Question"], here.texts["test_send"])
    except FormatError:
        raise PageError(409, "error_unshown") from None


def _next(here: Visit, hit_type: str, batch: str, notice: str) -> Page:
    following = None
    if here.worker.blocked is None and not here.finished():
        following = here.market.store.open_hits.accept_next(here.worker.id, hit_type, here.now, batch)
    if following is None:
        return redirect(local(f"/work?said={notice}" if notice else "/work"), 303)
    return redirect(local(f"/work/a/{following}" + ("?said=sent_next" if notice else "")), 303)
