"""The dashboard lets the requester in and nobody else, counts right, and its buttons do what they say."""

import csv
import io
import re
import shutil
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from hits.batch.folder import write_batch
from hits.batch.page import question_xml
from hits.kinds import KINDS
from hits.market.folder import keep_batch, read_access
from hits.records import Batch, BatchSettings, Item, Kind, RewardRule
from hits.server.app import make_app
from hits.server.pages.figures import figures
from hits.server.settings import ServeOptions
from hits.server.store import Store

HIT = {
    "Title": "<b>Judge</b>",
    "Description": "Judge it",
    "Reward": "0.05",
    "AssignmentDurationInSeconds": 600,
    "LifetimeInSeconds": 86400,
    "MaxAssignments": 3,
    "Question": question_xml("<form><input name=label_1></form>"),
}


class World:
    """A market with two workers and hits of a batch, one alternative and one control on each page."""

    def __init__(self, folder: Path, now: Callable[[], int] = lambda: 5000) -> None:
        self.folder = folder
        self.app: Flask = make_app(folder, now=now)
        self.store: Store = self.app.extensions["market"].store
        self.workers = [self.store.people.invite(name, 0).worker.id for name in ("Ada", "<i>Bert</i>")]

    @property
    def token(self) -> str:
        """The one that opens the dashboard next."""
        return read_access(self.folder).dashboard_token

    def publish(self, annotation: str) -> str:
        return str(self.store.hits.create({**HIT, "RequesterAnnotation": annotation}, 0)["HITId"])

    def add_hit(self, item: str, answers: list[dict[str, str]]) -> list[str]:
        hit = self.publish(f"rypt:b1:{item}")
        made = []
        for worker, fields in zip(self.workers, answers, strict=False):
            made.append(str(self.store.work.accept(worker, hit, 4000)["AssignmentId"]))
            self.store.work.submit(made[-1], worker, fields, 4020)
        return made

    def write_batch(self, folder: Path, items: int) -> None:
        columns = {
            "segment": "7",
            "start": "0",
            "stop": "1",
            "size": "2",
            "control_1": "",
            "phrase_2": "c",
            "control_2": "NO",
        }
        rows = tuple(
            Item(f"i{n}", {"item": f"i{n}", **columns, "phrase_1": f"phrase {n}", "text_1": "x"})
            for n in range(items)
        )
        settings = BatchSettings("b1", Kind.LABEL, "Judge", "Judge it", "", RewardRule())
        write_batch(folder, Batch(settings, rows, "<form><input name=label_1>${text_1}</form>"))

    def requester(self) -> FlaskClient:
        client = self.app.test_client()
        assert client.get(f"/dashboard?token={self.token}").status_code == 200
        return client


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def form_token(client: FlaskClient) -> str:
    return re.findall(r'name="csrf" value="([\w-]{43})"', client.get("/dashboard").text)[0]


def test_only_the_token_opens_it(world: World) -> None:
    client = world.app.test_client()
    for path in (
        "/dashboard",
        "/dashboard?token=",
        "/dashboard?token=x",
        f"/dashboard?token={world.token[:-1]}",
        "/dashboard/review",
    ):
        assert client.get(path).status_code == 403, path
    client.set_cookie("rypt_requester", "requester")
    assert client.get("/dashboard").status_code == 403
    token = world.token
    response = client.get(f"/dashboard?token={token}")
    assert "SameSite=Strict" in response.headers["Set-Cookie"]
    assert "HttpOnly" in response.headers["Set-Cookie"]
    assert token not in response.headers["Set-Cookie"]
    assert response.headers["Refresh"] == "0; url=/dashboard"
    assert client.get("/dashboard").status_code == 200


def test_a_link_opens_it_once_and_the_next_one_is_another(world: World) -> None:
    token = world.token
    assert world.app.test_client().head(f"/dashboard?token={token}").status_code == 405  # as a preview asks
    mine = world.requester()
    other = world.app.test_client().get(f"/dashboard?token={token}")
    assert (other.status_code, "rypt hits invite" in other.text) == (403, True)
    assert (
        mine.get(f"/dashboard?token={token}").status_code == 200
    )  # whoever is in may open the old link again
    assert world.token != token
    assert world.requester().get("/dashboard").status_code == 200
    assert mine.get("/dashboard").status_code == 200


def test_the_numbers_without_a_batch(world: World) -> None:
    world.add_hit("i0", [{"label_1": "YES", "comment": "x"}, {"label_1": "YES"}])
    world.add_hit("i1", [{"label_1": "YES"}, {"label_1": "NO"}])
    found = figures(world.store, [], 5000)
    assert (found.cost, found.same) == (Decimal("0.20"), 0.5)
    assert found.answers_an_hour == pytest.approx(180)  # 20 seconds each
    assert found.last_hour == 4
    [row] = found.batches
    done = row.progress
    assert (row.batch, done.published, done.places, done.submitted, done.reviewed) == ("b1", 2, 6, 4, 0)
    assert [(row.worker.name, row.waiting, row.earned) for row in found.workers] == [
        ("<i>Bert</i>", 2, Decimal("0.10")),
        ("Ada", 2, Decimal("0.10")),
    ]
    assert found.workers[0].report is not None
    assert found.workers[0].report.seconds == 20
    page = world.requester().get("/dashboard").text
    assert "&lt;i&gt;Bert&lt;/i&gt;" in page
    assert "&lt;b&gt;Judge&lt;/b&gt;" in page
    assert "Answers an hour" in page


@pytest.mark.slow
def test_controls_come_from_the_batch(world: World, tmp_path: Path) -> None:
    for n in range(10):
        world.add_hit(f"i{n}", [{"label_1": "YES", "label_2": "NO"}, {"label_1": "YES", "label_2": "YES"}])
    world.write_batch(world.folder / "batches" / "one", 10)
    page = world.requester().get("/dashboard").text
    assert "10 of 10" in page
    assert "0 of 10 controls right" in page
    found = figures(world.store, [world.folder / "batches" / "one"], 5000)
    assert found.same == 1.0  # controls are no questions
    assert {row.worker.name: row.report.controls.hits for row in found.workers} == {
        "Ada": 10,
        "<i>Bert</i>": 0,
    }
    assert any("0 of 10 controls right" in note for note in found.notes)
    bert = next(row.worker.id for row in found.workers if "Bert" in row.worker.name)
    without = figures(world.store, [world.folder / "batches" / "one"], 5000, {bert})
    assert without.same != without.same  # nobody is left to agree with
    assert without.batches[0].same != without.batches[0].same
    assert not any("controls right" in note for note in without.notes)
    assert [row.report is not None and row.report.agreement.of for row in without.workers] == [
        10 if row.worker.id == bert else 0 for row in without.workers
    ]
    (world.folder / "batches" / "one" / "batch.csv").write_text("broken")
    broken = world.requester().get("/dashboard")
    assert broken.status_code == 200
    assert "not used for controls" in broken.text


@pytest.mark.slow
def test_approve_reject_and_approve_all(world: World) -> None:
    first, second = world.add_hit("i0", [{"label_1": "YES"}, {"label_1": "<script>"}])
    third, _ = world.add_hit("i1", [{"label_1": "NO"}, {"label_1": "NO"}])
    client = world.requester()
    csrf = form_token(client)
    fields = {"csrf": csrf, "worker": world.workers[0]}
    client.post("/dashboard/block", data=fields | {"reason": "too fast"})
    assert world.store.people.find(world.workers[0]).blocked == "too fast"
    client.post("/dashboard/unblock", data=fields)
    assert world.store.people.find(world.workers[0]).blocked is None
    assert client.post("/dashboard/block", data=fields | {"worker": "AX", "reason": "x"}).status_code == 404
    page = client.get("/dashboard/review").text
    assert "&lt;script&gt;" in page
    assert page.count(">Approve<") == 4
    assert client.get(f"/dashboard/review?worker={world.workers[0]}").text.count(">Approve<") == 2
    seen = client.get(re.findall(r'href="(/dashboard/hit/[A-Z0-9]+)"', page)[0]).text
    assert re.search(r"<div[^>]* inert>\s*<form[^>]*><input name=.label_1.>", seen)
    assert (
        world.app.test_client()
        .get(f"/dashboard/hit/{world.store.work.find(first, 5000)[1]['HITId']}")
        .status_code
        == 403
    )
    assert (
        client.post("/dashboard/approve", data={"csrf": csrf, "assignment": first}).location == "/dashboard"
    )
    back = {"csrf": csrf, "assignment": second, "back": "review", "of": world.workers[1]}
    assert client.post("/dashboard/reject", data=back).status_code == 422  # no reason
    response = client.post("/dashboard/reject", data=back | {"reason": "no label"})
    assert response.location == f"/dashboard/review?worker={world.workers[1]}"
    assert client.post("/dashboard/approve", data={"csrf": csrf, "assignment": second}).status_code == 409
    assert (
        client.post("/dashboard/approve_all", data={"csrf": csrf, "worker": world.workers[0]}).status_code
        == 422  # it asks first
    )
    assert (
        client.post(
            "/dashboard/approve_all", data={"csrf": csrf, "worker": world.workers[0], "sure": "yes"}
        ).status_code
        == 303
    )
    rows = world.store.work.all(5000)
    found = {row["AssignmentId"]: (row["AssignmentStatus"], row["RequesterFeedback"]) for row in rows}
    assert (found[first], found[second], found[third]) == (
        ("Approved", None),
        ("Rejected", "no label"),
        ("Approved", None),
    )


@pytest.mark.slow
@pytest.mark.parametrize("action", ["approve", "reject", "approve_all", "block", "unblock"])
def test_buttons_need_the_cookie_and_the_form(world: World, action: str) -> None:
    [first] = world.add_hit("i0", [{"label_1": "YES"}])
    fields = {"assignment": first, "worker": world.workers[0], "reason": "x"}
    client = world.requester()
    csrf = form_token(client)
    assert (
        world.app.test_client().post(f"/dashboard/{action}", data=fields | {"csrf": csrf}).status_code == 403
    )
    worker_csrf = world.app.extensions["market"].seals.form_token(world.workers[0])
    for token in ("", "0" * 64, worker_csrf):
        assert client.post(f"/dashboard/{action}", data=fields | {"csrf": token}).status_code == 403
    assert client.get(f"/dashboard/{action}").status_code == 405
    assert world.store.work.find(first, 5000)[0]["AssignmentStatus"] == "Submitted"
    assert world.store.people.blocks() == []


@pytest.mark.slow
def test_long_reviews_have_pages(world: World) -> None:
    for n in range(26):
        world.add_hit(f"i{n}", [{"label_1": "YES"}, {"label_1": "NO"}])
    client = world.requester()
    page = client.get("/dashboard/review").text
    assert page.count(">Approve<") == 50
    following = re.findall(r"after=([0-9]+)", page)[0]
    assert client.get(f"/dashboard/review?after={following}").text.count(">Approve<") == 2
    for wrong in ("x", "-1", "9" * 30, "²"):
        assert client.get("/dashboard/review", query_string={"after": wrong}).status_code == 404


def test_people_are_invited_and_their_links_are_shown_once(world: World) -> None:
    client = world.requester()
    token = form_token(client)
    shown = client.post("/dashboard/invite", data={"csrf": token, "names": "Cem\n\n  Dora \nCem"}).text
    links = re.findall(r"http://localhost/w/([\w-]+)", shown)
    assert [world.store.people.by_token(link).name for link in links] == ["Cem", "Dora"]
    assert "/w/" not in client.get("/dashboard").text
    assert client.post("/dashboard/invite", data={"csrf": token, "names": " "}).status_code == 422
    assert client.post("/dashboard/invite", data={"names": "Eve"}).status_code == 403
    assert (
        world.app.test_client().post("/dashboard/invite", data={"csrf": token, "names": "E"}).status_code
        == 403
    )
    assert len(world.store.people.all()) == 4


def test_a_batch_is_paused_and_goes_on(world: World) -> None:
    world.add_hit("i0", [])
    other = world.publish("rypt:b10:i0")
    client = world.requester()
    token, ada = form_token(client), world.workers[0]
    client.post("/dashboard/pause", data={"csrf": token, "batch": "b1"})
    assert [group["batch"] for group in world.store.open_hits.groups(ada, 5000)] == ["b10"]
    assert ">Resume<" in client.get("/dashboard").text
    client.post("/dashboard/pause", data={"csrf": token, "batch": "b1"})
    client.post("/dashboard/resume", data={"csrf": token, "batch": "b1"})
    assert {group["batch"] for group in world.store.open_hits.groups(ada, 5000)} == {"b1", "b10"}
    assert [hit["Expiration"] for hit in world.store.hits.all(5000)] == [86400, 86400]
    assert world.store.hits.find(other, 5000)["HITStatus"] == "Assignable"
    assert client.post("/dashboard/pause", data={"batch": "b1"}).status_code == 403


def test_results_are_downloaded_as_a_csv(world: World) -> None:
    world.write_batch(world.folder / "mine", 1)
    keep_batch(world.folder, world.folder / "mine", "b1")
    world.add_hit("i0", [{"label_1": "YES", "label_2": "NO"}, {"label_1": "=1+1", "label_2": "NO"}])
    client = world.requester()
    response = client.get("/dashboard/results/b1.csv")
    assert response.headers["Content-Disposition"] == 'attachment; filename="mine.csv"'
    rows = list(csv.DictReader(io.StringIO(response.text)))
    assert [row["Answer.label_1"] for row in rows] == ["YES", "'=1+1"]
    assert {row["Input.phrase_1"] for row in rows} == {"phrase 0"}
    assert client.get("/dashboard/results/b2.csv").status_code == 404
    assert world.app.test_client().get("/dashboard/results/b1.csv").status_code == 403
    assert f"{world.folder}/mine" in client.get("/dashboard").text  # a batch is named by its folder


def test_review_shows_phrases_controls_and_haste(world: World) -> None:
    world.write_batch(world.folder / "mine", 2)
    keep_batch(world.folder, world.folder / "mine", "b1")
    world.add_hit("i0", [{"label_1": "YES", "label_2": "NO"}, {"label_1": "NO", "label_2": "YES"}])
    quick = world.store.work.accept(world.workers[0], world.publish("rypt:b1:i1"), 4000)["AssignmentId"]
    world.store.work.submit(quick, world.workers[0], {"label_1": "YES", "label_2": "NO_BADLY"}, 4001)
    page = world.requester().get("/dashboard/review").text
    assert page.count("control: right") == 2
    assert page.count("control: wrong, expected NO") == 1
    assert page.count(">fast<") == 1


def test_a_failed_control_of_a_ranking_is_shown(world: World) -> None:
    """Text 1 has to rank before text 2: one worker ranks it so, the other does not."""
    columns = {
        **dict.fromkeys(KINDS[Kind.RANKING].columns, ""),
        "item": "i0",
        "segment": "7",
        "size": "2",
        "control": '{"better": [1, 2]}',
        **{f"{name}_{n}": f"{name} {n}" for n in (1, 2) for name in ("system", "candidate", "text")},
    }
    settings = BatchSettings("b1", Kind.RANKING, "Rank", "Rank it", "", RewardRule())
    batch = Batch(settings, (Item("i0", columns),), "<form><input name=rank_1></form>")
    write_batch(world.folder / "mine", batch)
    keep_batch(world.folder, world.folder / "mine", "b1")
    world.add_hit("i0", [{"rank_1": "1", "rank_2": "4"}, {"rank_1": "5", "rank_2": "1"}])
    page = world.requester().get("/dashboard/review").text
    assert page.count("control: right") == 1
    assert page.count("control: wrong, expected 1 before 2") == 1


def test_reading_results_changes_nothing(world: World) -> None:
    """Downloads, the review page and the first page leave the file as it was."""
    world.write_batch(world.folder / "mine", 1)
    keep_batch(world.folder, world.folder / "mine", "b1")
    world.add_hit("i0", [{"label_1": "YES", "label_2": "NO"}])

    def contents() -> list[str]:
        with world.store.file.reading(5000) as db:
            return list(db.iterdump())

    client, before = world.requester(), contents()
    for path in ("", "/review", "/results/b1.csv"):
        assert client.get(f"/dashboard{path}").status_code == 200
    assert contents() == before


def test_a_batch_that_waits_is_shown_with_its_price_and_the_command(tmp_path: Path) -> None:
    world = World(tmp_path / "two" / "market")
    world.write_batch(tmp_path / "two" / "batches" / "1", 3)
    client = world.requester()
    page = client.get("/dashboard").text
    assert f"rypt hits publish {tmp_path}/two/batches/1 --market {world.folder}" in page
    assert "$0.06" in page
    for n in range(3):
        world.publish(f"rypt:b1:i{n}")
    assert "Not published yet" not in client.get("/dashboard").text


def form_of(client: FlaskClient, text: str) -> dict[str, str]:
    """The hidden fields of the form with this button."""
    page = client.get("/dashboard").get_data(as_text=True)
    form = next(form for form in re.findall(r"<form.*?</form>", page, re.DOTALL) if text in form)
    return dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form))


def test_a_worker_is_excluded_from_the_campaign_and_included_again(
    tmp_path: Path, demo_campaign: Path
) -> None:
    from rypt.campaign.folder import Campaign

    campaign = shutil.copytree(demo_campaign, tmp_path / "campaign")
    app = make_app(tmp_path / "market", now=lambda: 5000, options=ServeOptions(campaign=campaign))
    worker = app.extensions["market"].store.people.invite("Ada", 0).worker.id
    client = app.test_client()
    client.get(f"/dashboard?token={read_access(tmp_path / 'market').dashboard_token}")
    fields = form_of(client, "Exclude</button>")
    assert fields["worker"] == worker
    assert client.post("/dashboard/exclude", data=fields).status_code == 422  # a reason is needed
    assert client.post("/dashboard/exclude", data=fields | {"csrf": "x", "reason": "no"}).status_code == 403
    assert (
        client.post("/dashboard/exclude", data=fields | {"worker": "A0", "reason": "no"}).status_code == 404
    )
    assert client.post("/dashboard/exclude", data=fields | {"reason": "all YES"}).status_code == 303
    with Campaign.open(campaign).database() as db:
        assert db.excluded() == {worker: "all YES"}
    assert client.post("/dashboard/include", data=form_of(client, "Include again")).status_code == 303
    with Campaign.open(campaign).database() as db:
        assert db.excluded() == {}
    plain = make_app(tmp_path / "other", now=lambda: 5000).test_client()
    plain.get(f"/dashboard?token={read_access(tmp_path / 'other').dashboard_token}")
    assert "Exclude" not in plain.get("/dashboard").get_data(as_text=True)
