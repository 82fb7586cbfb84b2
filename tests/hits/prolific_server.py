"""A server of our own that answers as Prolific's public documentation says: shapes, limits, errors, busy moments."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PAGE = 2
NEEDED = (
    "name",
    "description",
    "external_study_url",
    "prolific_id_option",
    "completion_codes",
    "total_available_places",
    "estimated_completion_time",
    "reward",
    "device_compatibility",
)
STATES = {"PUBLISH": "ACTIVE", "STOP": "AWAITING REVIEW"}
FROM = {"PUBLISH": ("UNPUBLISHED",), "STOP": ("ACTIVE",)}


@dataclass
class FakeProlific:
    """What the service knows; ``trouble`` are statuses with which the next requests are answered instead.

    ``deaf`` requests are carried out and not answered: the connection breaks, as when a client is killed.
    """

    token: str = "secret"
    url: str = ""
    studies: dict[str, dict[str, Any]] = field(default_factory=dict)
    submissions: dict[str, dict[str, Any]] = field(default_factory=dict)
    payments: dict[str, dict[str, Any]] = field(default_factory=dict)
    trouble: list[int] = field(default_factory=list)
    deaf: list[str] = field(default_factory=list)
    lost_page: bool = False
    seen: list[tuple[str, str]] = field(default_factory=list)

    def submit(self, study: str, participant: str, code: str = "") -> str:
        name = f"sub{len(self.submissions)}"
        record = {"id": name, "study_id": study, "participant_id": participant, "status": "AWAITING REVIEW"}
        self.submissions[name] = record | {"study_code": code}
        return name

    def transition(self, name: str, body: dict[str, Any]) -> tuple[int, Any]:
        """Approve or reject; the same once more is ignored, another is refused, as documented."""
        record, wanted = self.submissions[name], {"APPROVE": "APPROVED", "REJECT": "REJECTED"}[body["action"]]
        if body["action"] == "REJECT" and (len(body["message"]) < 100 or not body["rejection_category"]):
            return 400, {"error": {"title": "Bad request", "detail": "message too short"}}
        if record["status"] not in ("AWAITING REVIEW", wanted):
            return 400, {"error": {"title": "Bad request", "detail": f"the submission is {record['status']}"}}
        record["status"] = wanted
        return 200, record

    def answer(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        path, _, query = path.partition("?")
        match [method, *path.removeprefix("/api/v1/").strip("/").split("/")]:
            case ["POST", "study-cost-calculator"]:
                return 200, {"total_cost": round(body["reward"] * body["total_available_places"] * 4 / 3)}
            case ["GET", "studies"]:
                return 200, self.page(list(self.studies.values()), "studies", query)
            case ["POST", "studies"]:
                missing = [name for name in NEEDED if name not in body]
                if missing or body["reward"] < 1:
                    return 400, {
                        "error": {"status": 400, "title": "Bad request", "detail": f"missing: {missing}"}
                    }
                name = f"study{len(self.studies)}"
                self.studies[name] = {**body, "id": name, "status": "UNPUBLISHED", "places_taken": 0}
                return 201, self.studies[name]
            case ["GET", "studies", study] if study in self.studies:
                return 200, self.studies[study]
            case ["POST", "studies", study, "transition"] if study in self.studies:
                if self.studies[study]["status"] not in FROM[body["action"]]:
                    return 400, {
                        "message": "Bad request",
                        "detail": f"not while {self.studies[study]['status']}",
                    }
                self.studies[study]["status"] = STATES[body["action"]]
                return 200, self.studies[study]
            case ["GET", "studies", study, "submissions"]:
                mine = [each for each in self.submissions.values() if each["study_id"] == study]
                return 200, self.page(mine, f"studies/{study}/submissions", query)
            case ["POST", "submissions", "bonus-payments"]:
                lines = [line.split(",") for line in body["csv_bonuses"].splitlines()]
                bonuses = {submission: round(100 * float(amount)) for submission, amount in lines}
                name = f"pay{len(self.payments)}"
                total = round(sum(bonuses.values()) * 4 / 3)
                self.payments[name] = {"id": name, "total_amount": total, "paid": 0, "bonuses": bonuses}
                return 201, self.payments[name]
            case ["POST", "bulk-bonus-payments", name, "pay"] if name in self.payments:
                self.payments[name]["paid"] += 1  # not idempotent, as documented; the answer is a text
                return 202, f"Bulk bonus payment with ID {name} is being processed."
            case ["POST", "submissions", name, "transition"] if name in self.submissions:
                return self.transition(name, body)
        return 404, {"error": {"status": 404, "title": "Not found", "detail": "Not found."}}

    def page(self, records: list[Any], path: str, query: str) -> dict[str, Any]:
        start = int((re.findall(r"offset=(\d+)", query) or ["0"])[0])
        more = f"http://api.example/{path}/?offset={start + PAGE}" if start + PAGE < len(records) else None
        shown = records[start : start + PAGE]
        links = {"next": {"href": None if self.lost_page else more, "title": "Next"}}
        return {"results": shown, "_links": links, "meta": {"count": len(records)}}


@contextmanager
def served_prolific() -> Iterator[FakeProlific]:
    service = FakeProlific()

    class Handler(BaseHTTPRequestHandler):
        def handle_all(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(size) or b"{}")
            service.seen.append((self.command, self.path))
            if self.headers.get("Authorization") != f"Token {service.token}":
                status, value = (
                    401,
                    {"error": {"status": 401, "title": "Unauthorized", "detail": "Invalid token."}},
                )
            elif service.trouble:
                status, value = service.trouble.pop(0), {}
            else:
                status, value = service.answer(self.command, self.path, body)
            if any(self.path.endswith(end) for end in service.deaf):
                service.deaf.clear()
                self.close_connection = True
                return
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = handle_all  # noqa: N815

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        service.url = f"http://127.0.0.1:{server.server_port}/api/v1"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield service
        finally:
            server.shutdown()
            thread.join()
