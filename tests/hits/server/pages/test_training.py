"""The short training: before the first paid hit of a batch, with reasons, once."""

import re
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from hits.batch.folder import write_batch
from hits.batch.page import question_xml
from hits.market.folder import keep_batch
from hits.records import Batch, BatchSettings, Item, Kind, RewardRule
from hits.server.app import make_app
from hits.server.store import Store

PAGE = "<form><input type=radio name=label_1 value=YES required></form>"


def item(name: str, control: str = "", kind: str = "") -> Item:
    columns = {
        "item": name,
        "segment": "7",
        "start": "0",
        "stop": "1",
        "size": "1",
        "phrase_1": f"word {name}",
        "control_1": control,
        "control_kind_1": kind,
        "source": "<mark>Wort</mark>",
        "text_1": f"<mark>{name}</mark>",
        "source_lang": "de",
        "target_lang": "en",
    }
    return Item(name, columns)


@pytest.fixture
def app(tmp_path: Path) -> Flask:
    settings = BatchSettings("b1", Kind.LABEL, "Judge", "Judge it", "", RewardRule())
    exercises = (item("e1", "YES", "identical"), item("e2", "NO", "damaged"), item("e3", "YES", "repeat"))
    write_batch(tmp_path / "b", Batch(settings, (item("i1"),), "<form>${text_1}</form>", training=exercises))
    app = make_app(tmp_path / "market", now=lambda: 1000)
    keep_batch(tmp_path / "market", tmp_path / "b", "b1")
    store: Store = app.extensions["market"].store
    hit = {
        "Title": "Judge",
        "Description": "Judge it",
        "Reward": "0.05",
        "AssignmentDurationInSeconds": 600,
        "LifetimeInSeconds": 86400,
        "MaxAssignments": 2,
        "RequesterAnnotation": "rypt:b1:i1",
        "Question": question_xml(PAGE),
    }
    store.hits.create(hit, 1000)
    return app


def enter(app: Flask, name: str) -> FlaskClient:
    store: Store = app.extensions["market"].store
    invitation = store.people.invite(name, 1000)
    store.people.consent(invitation.worker.id, 1000)
    client = app.test_client()
    client.get(f"/w/{invitation.token}")
    return client


def token(client: FlaskClient) -> str:
    return re.findall(r'name="csrf" value="([\w-]{43})"', client.get("/work").text)[0]


def test_exercises_come_first_with_reasons_and_once(app: Flask) -> None:
    ada = enter(app, "Ada")
    csrf = token(ada)
    begin = {"csrf": csrf, "batch": "b1"}
    assert ada.post("/work/next", data=begin).location == "/work/training/b1"
    page = ada.get("/work/training/b1").text
    assert page.count('value="NOT_SURE"') == 3
    assert "expected" not in page
    answers = {"csrf": csrf, "label_1": "YES", "label_2": "YES"}
    assert ada.post("/work/training/b1", data=answers).status_code == 422
    assert ada.post("/work/training/b1", data={**answers, "label_3": "YES", "csrf": "x"}).status_code == 403
    assert ada.post("/work/next", data=begin).location == "/work/training/b1"
    feedback = ada.post("/work/training/b1", data={**answers, "label_3": "YES"}).text
    assert "2 of 3 as expected" in feedback
    assert feedback.count("<strong>Not as expected.</strong>") == 1
    assert "come from another text" in feedback
    assert "All who judged it before said so" in feedback
    assert ada.post("/work/next", data=begin).location.startswith("/work/a/")
    assert app.extensions["market"].store.work.all(1000) == []  # nothing of it is stored as work


def test_changed_exercises_are_shown(app: Flask, tmp_path: Path) -> None:
    ada = enter(app, "Ada")
    assert "e3" in ada.get("/work/training/b1").text
    path = tmp_path / "market" / "batches" / "b1" / "training.csv"
    path.write_text(path.read_text().replace("e3", "e9"))
    page = ada.get("/work/training/b1").text
    assert "e9" in page
    assert "e3" not in page
