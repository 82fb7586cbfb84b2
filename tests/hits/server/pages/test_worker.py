"""What workers can do on their pages, and what nobody can: forms, other people's work, links, tests."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from hits.batch.page import question_xml
from hits.server.app import make_app
from hits.server.pages.texts import PageTexts, bundled
from hits.server.settings import ServeOptions
from hits.server.store import Store

PAGE = """<html lang="de" dir="ltr"><body class="hit hit-label"><main><form action="https://evil.example">
<fieldset><legend>one</legend><input type=radio name=label_1 value=YES required>
<input type=radio name=label_1 value=NO></fieldset>
<fieldset hidden disabled><input type=radio name=label_2 value=YES required></fieldset>
<textarea name=comment></textarea><button>Send</button></form></main></body></html>"""


class World:
    """An application at a time that tests can change."""

    def __init__(self, folder: Path, options: ServeOptions | None = None) -> None:
        self.now = 1000
        self.app: Flask = make_app(folder, now=lambda: self.now, options=options)
        self.store: Store = self.app.extensions["market"].store

    def publish(self, question: str = "", places: int = 1, **changes: Any) -> str:
        request = {
            "Title": "Judge",
            "Description": "Judge it",
            "Reward": "0.05",
            "AssignmentDurationInSeconds": 600,
            "LifetimeInSeconds": 86400,
            "MaxAssignments": places,
            "Question": question or question_xml(PAGE),
        }
        return str(self.store.hits.create(request | changes, self.now)["HITId"])

    def person(self, name: str = "Ada", *, consent: bool = True) -> "Person":
        invitation = self.store.people.invite(name, self.now)
        if consent:
            self.store.people.consent(invitation.worker.id, self.now)
        person = Person(self.app.test_client(), invitation.worker.id)
        assert person.client.get(f"/w/{invitation.token}").location == "/work"
        return person


class Person:
    """A worker's browser without JavaScript."""

    def __init__(self, client: FlaskClient, worker: str = "") -> None:
        self.client = client
        self.worker = worker

    @property
    def csrf(self) -> str:
        return re.findall(r'name="csrf" value="([\w-]{43})"', self.client.get("/work").text)[0]

    def begin(self) -> str:
        response = self.client.post("/work/next", data={"csrf": self.csrf})
        return response.location.rpartition("/")[2]

    def submit(self, assignment: str, **fields: str) -> TestResponse:
        own = {"csrf": self.csrf, "assignmentId": assignment}
        return self.client.post(
            f"/work/a/{assignment}", data=own | (fields or {"label_1": "YES", "comment": ""})
        )


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def stored(world: World) -> list[Any]:
    return [a["fields"] for a in world.store.work.all(world.now)]


def test_from_the_invitation_to_the_next_hit(world: World) -> None:
    hits = [world.publish() for _ in range(2)]
    ada = world.person(consent=False)
    assert "Before you start" in ada.client.get("/work").text
    assert ada.client.post("/work/next", data={"csrf": ada.csrf}).status_code == 403  # no consent yet
    assert ada.client.post("/work/consent", data={"csrf": ada.csrf}).location == "/work"
    assert world.store.people.find(ada.worker).consented is None  # the box was not ticked
    ada.client.post("/work/consent", data={"csrf": ada.csrf, "agree": "yes"})
    home = ada.client.get("/work").text
    assert "Work for you" in home
    assert "$0.05" in home
    first = ada.begin()
    page = ada.client.get(f"/work/a/{first}").text
    assert 'class="hit hit hit-label"' in page
    assert 'lang="de" dir="ltr"' in page
    assert f'action="/work/a/{first}"' in page
    assert "evil.example" not in page
    world.now += 30
    for wrong in ({"comment": ""}, {"label_1": "MAYBE"}, {"label_1": "YES", "label_2": "YES"}):
        assert ada.submit(first, **wrong).status_code == 422
    response = ada.submit(first)
    assert (response.status_code, response.location.partition("?")[2]) == (303, "said=sent_next")
    second = response.location.rpartition("/")[2].partition("?")[0]
    assert "$0.05 in review" in re.sub("<[^>]*>", "", ada.client.get(f"/work/a/{second}").text)
    assert ada.submit(second, label_1="NO", comment="a & <b>").location == "/work?said=sent"
    over = re.sub(r"<[^>]*>|\s+", " ", ada.client.get("/work?said=sent").text)
    assert "Your answers are saved" in over or "your answers are saved" in over
    assert re.search(r"You are done. Thank you! +Pages +2 +Earned +\$0.00 +in review +\$0.10", over)
    assert stored(world) == [{"label_1": "YES", "comment": ""}, {"label_1": "NO", "comment": "a & <b>"}]
    assert [world.store.work.all(world.now, hit=hit)[0]["SubmitTime"] for hit in hits] == [1030, 1030]


def test_only_whoever_was_invited_comes_in(world: World) -> None:
    world.publish()
    client = world.app.test_client()
    assert client.get("/work").status_code == 401
    assert client.get("/w/wrong").status_code == 404
    ada = world.person()
    for cookie in (
        "",
        "i:",
        "i:wrong",
        f"j:{ada.worker}",
        f"j:{ada.worker}.{'0' * 64}",
        f"i:{ada.worker}",
        "x" * 4000,
        "j:.é",
    ):
        client.set_cookie("rypt_worker", cookie)
        assert client.get("/work").status_code == 401, cookie
    with world.store.file.writing(world.now) as db:
        db.execute("UPDATE invitations SET revoked = 1")
    assert ada.client.get("/work").status_code == 401


def test_forms_of_other_sites_do_nothing(world: World) -> None:
    world.publish()
    ada, bert = world.person("Ada"), world.person("Bert")
    mine = ada.begin()
    for token in ("", "0" * 64, bert.csrf):
        fields = {"csrf": token, "assignmentId": mine, "label_1": "YES"}
        assert ada.client.post(f"/work/a/{mine}", data=fields).status_code == 403
        assert ada.client.post(f"/work/a/{mine}/return", data={"csrf": token}).status_code == 403
        assert ada.client.post("/work/next", data={"csrf": token}).status_code == 403
        assert ada.client.post("/work/consent", data={"csrf": token, "agree": "yes"}).status_code == 403
    assert stored(world) == []
    assert [a["AssignmentId"] for a in world.store.work.held(ada.worker, world.now)] == [mine]


def test_another_workers_assignment_looks_as_if_it_were_not_there(world: World) -> None:
    world.publish()
    ada, bert = world.person("Ada"), world.person("Bert")
    mine = ada.begin()
    nowhere = bert.client.get("/work/a/3NOTHING").text
    assert bert.client.get(f"/work/a/{mine}").text == nowhere
    assert bert.client.get(f"/work/a/{mine}").status_code == 404
    assert bert.submit(mine).status_code == 404
    assert bert.client.post(f"/work/a/{mine}/return", data={"csrf": bert.csrf}).status_code == 404
    assert stored(world) == []
    assert ada.submit(mine).status_code == 303


def test_sending_twice_or_late_stores_once(world: World) -> None:
    world.publish()
    world.publish()
    ada = world.person()
    mine = ada.begin()
    assert ada.submit(mine).status_code == ada.submit(mine).status_code == 303
    assert ada.submit(mine, label_1="NO", comment="").status_code == 409
    late = ada.begin()
    world.now += 601
    assert ada.submit(late).status_code == 409
    world.store.people.block(ada.worker, "too <fast>", world.now)
    assert "too &lt;fast&gt;" in ada.client.get("/work").text
    assert ada.begin() == "work"
    assert stored(world) == [{"label_1": "YES", "comment": ""}]


def test_broken_text_is_refused(world: World) -> None:
    world.publish()
    ada = world.person()
    start = f"csrf={ada.csrf}&assignmentId={(mine := ada.begin())}&label_1=YES&comment=".encode()
    for comment in (b"%ff%fe", b"\xff", b"%ed%a0%80"):
        kind = "application/x-www-form-urlencoded"
        assert ada.client.post(f"/work/a/{mine}", data=start + comment, content_type=kind).status_code == 400
    part = b'--x\r\nContent-Disposition: form-data; name="comment"\r\n\r\n\xff\xfe\r\n--x--\r\n'
    parts = "multipart/form-data; boundary=x"
    assert ada.client.post(f"/work/a/{mine}", data=part, content_type=parts).status_code == 400
    assert stored(world) == []
    assert ada.client.post(f"/work/a/{mine}", data=start + b"a%00b", content_type=kind).status_code == 303
    assert stored(world) == [{"label_1": "YES", "comment": "a\ufffdb"}]


def test_a_returned_hit_is_free_for_others(world: World) -> None:
    world.publish()
    ada, bert = world.person("Ada"), world.person("Bert")
    mine = ada.begin()
    assert bert.client.post("/work/next", data={"csrf": bert.csrf}).location == "/work"
    assert (
        ada.client.post(f"/work/a/{mine}/return", data={"csrf": ada.csrf}).location == "/work?said=returned"
    )
    assert bert.submit(bert.begin()).status_code == 303
    assert ada.client.get(f"/work/a/{mine}").location == "/work"


def test_a_hit_that_cannot_be_shown_is_given_back_on_the_overview(world: World) -> None:
    world.publish("<QuestionForm><Question/></QuestionForm>")
    ada = world.person()
    mine = ada.begin()
    shown = ada.client.get(f"/work/a/{mine}")
    assert (shown.status_code, "cannot be shown" in shown.text) == (409, True)
    assert f'action="/work/a/{mine}/return"' in ada.client.get("/work").text
    assert (
        ada.client.post(f"/work/a/{mine}/return", data={"csrf": ada.csrf}).location == "/work?said=returned"
    )


def test_the_language_is_the_browsers_or_the_chosen_one(world: World) -> None:
    ada = world.person()
    for language, word, direction in (
        ("de-AT,de;q=0.9", "Willkommen", "ltr"),
        ("ar", "مرحبًا", "rtl"),
        ("xx", "Welcome", "ltr"),
    ):
        page = ada.client.get("/work", headers={"Accept-Language": language}).text
        assert word in page
        assert f'dir="{direction}"' in page
    ada.client.post("/work/language", data={"csrf": ada.csrf, "language": "de"})
    assert "Willkommen" in ada.client.get("/work", headers={"Accept-Language": "ar"}).text
    ada.client.post("/work/language", data={"csrf": ada.csrf, "language": "../../x"})
    assert "Willkommen" in ada.client.get("/work").text


def test_all_languages_have_the_same_texts() -> None:
    def places(texts: PageTexts) -> dict[str, list[str]]:
        return {name: sorted(re.findall(r"{[a-z]+}", text)) for name, text in texts.texts.items()}

    english, *others = [bundled()["en"], *bundled().values()]
    assert len(others) == 3
    for texts in others:
        assert places(texts) == places(english), texts.language


def test_names_and_messages_are_escaped_and_the_requesters_consent_text_is_shown(
    world: World, tmp_path: Path
) -> None:
    (tmp_path / "consent.de.txt").write_text("Erster <b>Absatz</b>\n\nZweiter", encoding="utf-8")
    world.publish()
    mallory = world.person("<script>alert(1)</script>", consent=False)
    page = mallory.client.get("/work", headers={"Accept-Language": "de"}).text
    assert "Erster &lt;b&gt;" in page
    assert "<script>alert" not in page
    mallory.client.post("/work/consent", data={"csrf": mallory.csrf, "agree": "yes"})
    mallory.submit(mallory.begin())
    world.store.work.approve(world.store.work.all(world.now)[0]["AssignmentId"], None, world.now)
    world.store.people.notify([mallory.worker], "<i>Well</i> done", "line\n<script>", world.now)
    assert "&lt;i&gt;Well&lt;/i&gt; done" in mallory.client.get("/work").text
    assert all(row["seen"] for row in world.store.people.messages(mallory.worker))


def test_the_shared_link_makes_or_finds_a_worker_and_ends_with_a_code(tmp_path: Path) -> None:
    world = World(
        tmp_path, ServeOptions(hits_each=2, completion_url="https://recruit.example/done?cc={code}")
    )
    settings = world.app.extensions["market"].access
    for _ in range(3):
        world.publish(places=3)
    link = f"/join/{settings.join_key}?PROLIFIC_PID=5f8a&STUDY_ID=s&SESSION_ID=t"
    person = Person(world.app.test_client())
    assert person.client.get(link).location == "/work"
    person.client.post("/work/consent", data={"csrf": person.csrf, "agree": "yes"})
    assert settings.completion_code not in person.client.get("/work").text
    response = person.submit(person.begin())
    assert person.submit(response.location.rpartition("/")[2].partition("?")[0]).location == "/work?said=sent"
    page = person.client.get("/work").text
    assert settings.completion_code in page
    assert f"https://recruit.example/done?cc={settings.completion_code}" in page
    assert (
        person.client.post("/work/next", data={"csrf": person.csrf}).location == "/work"
    )  # two were asked for
    other = Person(world.app.test_client())
    other.client.get(link)
    assert settings.completion_code in other.client.get("/work").text  # the same id is the same worker
    [worker] = world.store.people.all()
    assert (worker.source, worker.name) == ("link", "5f8a")


@pytest.mark.parametrize(
    "query",
    ["", "?OTHER=5f8a", f"?PROLIFIC_PID={'x' * 201}", "?PROLIFIC_PID=a%00b", "?PROLIFIC_PID=simulated-1"],
)
def test_a_shared_link_needs_its_key_and_an_id(world: World, query: str) -> None:
    key = world.app.extensions["market"].access.join_key
    client = world.app.test_client()
    assert client.get(f"/join/{key}{query}").status_code == 400
    assert client.get("/join/wrong?PROLIFIC_PID=5f8a").status_code == 404
    assert world.store.people.all() == []


def test_a_service_may_name_its_parameter_and_its_code(tmp_path: Path) -> None:
    shared = ServeOptions(
        parameters=("sona_id",),
        hits_each=1,
        completion_code="DONE-7",
        completion_url="https://sona.example/?c={code}",
    )
    world = World(tmp_path, shared)
    access = world.app.extensions["market"].access
    access = replace(access, url="http://h/", parameter="sona_id")
    assert access.shared_url == f"http://h/join/{access.join_key}?sona_id=PARTICIPANT"
    person = Person(world.app.test_client())
    assert person.client.get(f"/join/{access.join_key}?PROLIFIC_PID=7").status_code == 400
    assert person.client.get(f"/join/{access.join_key}?sona_id=7").status_code == 303
    world.publish()
    person.client.post("/work/consent", data={"csrf": person.csrf, "agree": "yes"})
    person.submit(person.begin())
    home = person.client.get("/work").text
    assert "DONE-7" in home
    assert 'href="https://sona.example/?c=DONE-7"' in home


def test_a_batch_is_one_card_whatever_its_hits_pay(world: World) -> None:
    for number, cents in enumerate((5, 9, 7, 5)):
        batch = "b1" if number < 3 else "b2"
        annotation = f"rypt:{batch}:i{number}"
        world.publish(Description=f"Of {batch}", Reward=f"0.0{cents}", RequesterAnnotation=annotation)
    ada = world.person()
    home = ada.client.get("/work").text
    assert home.count('<li class="card">') == 2
    assert re.sub(r"<[^>]*>|\s+", " ", home).count("$0.05 – $0.09") == 1
    labelled = re.findall(r'aria-labelledby="([^"]+)"', home)
    assert labelled == ["begin-1 card-1", "begin-2 card-2"]
    begun = ada.client.post("/work/next", data={"csrf": ada.csrf, "batch": "b2"}).location.rpartition("/")[2]
    assert world.store.work.find(begun, world.now)[1]["RequesterAnnotation"] == "rypt:b2:i3"
    ada.client.post(f"/work/a/{begun}/return", data={"csrf": ada.csrf})
    order = []
    mine = ada.client.post("/work/next", data={"csrf": ada.csrf, "batch": "b1"}).location.rpartition("/")[2]
    while "said=sent" not in mine or "a/" in mine:
        mine = mine.rpartition("/")[2].partition("?")[0]
        order.append(world.store.work.find(mine, world.now)[1]["RequesterAnnotation"])
        world.now += 30
        mine = ada.submit(mine).location
    assert order == ["rypt:b1:i0", "rypt:b1:i1", "rypt:b1:i2", "rypt:b2:i3"]
    assert world.store.open_hits.mean_seconds(world.now) == {"b1": 30.0, "b2": 30.0}
