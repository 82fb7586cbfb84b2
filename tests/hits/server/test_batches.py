"""Copies of published batches in the market's folder: controls for the dashboard, instructions in another language."""

import re
import shutil
import stat
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from local_market import local_market, work

from hits.batch.folder import new_settings, read_batch, write_batch
from hits.batch.systems import make_system_batch
from hits.market.folder import keep_batch, kept_batches
from hits.market.publish import publish
from hits.records import Kind
from hits.server.app import make_app
from hits.server.batches import market_language
from hits.server.pages.texts import consent_paragraphs
from rypt.records import Segment


def made_batch(folder: Path, interface: str = "de", id: str = "b1"):
    segments = [Segment(str(i), f"Satz {i} <b>&") for i in range(4)]
    outputs = {system: {s.id: f"sentence {s.id} by {system}" for s in segments} for system in ("x", "y")}
    settings = new_settings(
        Kind.COMPARISON,
        seed=1,
        now=datetime.now(UTC),
        interface=interface,
        source_language="de",
        target_language="en",
        id=id,
    )
    references = {s.id: f"reference {s.id}" for s in segments}
    write_batch(
        folder, make_system_batch(segments, outputs, settings, references=references, control_share=0.5)
    )
    return read_batch(folder)


@pytest.fixture
def batch(tmp_path):
    return made_batch(tmp_path / "batch")


def test_a_copy_is_private_and_follows_the_batch(tmp_path, batch):
    market = tmp_path / "market"
    for _ in range(2):
        keep_batch(market, tmp_path / "batch", "b1")
    [kept] = kept_batches(market)
    assert read_batch(kept) == batch
    assert sorted(path.name for path in kept.iterdir()) == [
        "batch.csv",
        "batch.toml",
        "folder.txt",
        "template.html",
    ]
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept.iterdir()} == {0o600}
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700


def test_the_markets_language_is_that_of_the_last_batch(tmp_path):
    assert market_language(tmp_path) == ""
    for n, interface in enumerate(("ar", "de")):
        made_batch(tmp_path / interface, interface, f"b{n}")
        keep_batch(tmp_path, tmp_path / interface, f"b{n}")
        assert market_language(tmp_path) == interface
    (tmp_path / "batches" / "b1" / "batch.toml").write_text("broken = ")
    assert market_language(tmp_path) == ""


def visitor(app, language: str):
    store = app.extensions["market"].store
    invitation = store.people.invite(f"asks {language}", int(time.time()))
    client = app.test_client()
    client.get(f"/w/{invitation.token}")
    client.environ_base["HTTP_ACCEPT_LANGUAGE"] = language
    return client


@pytest.mark.parametrize(
    ("asked", "shown"), [("en", "en"), ("de-AT,fr", "de"), ("ar", "ar"), ("fr,ja", "de"), ("", "de")]
)
def test_pages_are_in_the_workers_language_and_hits_in_that_of_their_batch(tmp_path, asked, shown):
    """A batch with German instructions: whoever reads none of our languages gets all of it in German."""
    batch = made_batch(tmp_path / "batch")
    keep_batch(tmp_path, tmp_path / "batch", "b1")
    with local_market(tmp_path) as (market, _):
        publish(batch, market)
    client = visitor(make_app(tmp_path), asked)
    first = client.get("/work").text
    assert f'<html lang="{shown}"' in first
    csrf = re.findall(r'name="csrf" value="([\w-]{43})"', first)[0]
    client.post("/work/consent", data={"csrf": csrf, "agree": "yes"})
    place = client.post("/work/next", data={"csrf": csrf}).location
    text = client.get(place).text
    assert f'<html lang="{shown}"' in text
    assert re.search(r'data-missing="[^"]+" lang="de"', text)
    assert "Welche Übersetzung ist besser?" in text
    assert re.search(r'<p class="text source" lang="de" dir="ltr">Satz', text)


def test_the_requesters_consent_is_shown_in_another_language_rather_than_not_at_all(tmp_path):
    (tmp_path / "consent.de.txt").write_text("Eins\n\nZwei")
    assert consent_paragraphs(tmp_path, ["ar", "de"]) == ["Eins", "Zwei"]
    assert consent_paragraphs(tmp_path, ["ar", ""]) == ["Eins", "Zwei"]
    (tmp_path / "consent.txt").write_text("One")
    assert consent_paragraphs(tmp_path, ["ar", "de"]) == ["One"]
    (tmp_path / "consent.ar.txt").write_text("واحد")
    assert consent_paragraphs(tmp_path, ["ar", "de"]) == ["واحد"]


@pytest.mark.slow
def test_the_dashboard_knows_the_controls_of_what_was_published(tmp_path, batch):
    """Also after the batch folder has gone."""
    with local_market(tmp_path / "market") as (market, _):
        market.folder = tmp_path / "market"
        publish(batch, market)
    shutil.rmtree(tmp_path / "batch")
    app = make_app(tmp_path / "market")
    market = app.extensions["market"]
    right = {batch.annotation(item): item.columns["control"] or "A" for item in batch.items}
    work(market.store, "Ada", lambda hit: {"choice": right[hit["RequesterAnnotation"]], "comment": ""})
    controls = sum(item.columns["control"] != "" for item in batch.items)
    client = app.test_client()
    client.get(f"/dashboard?token={market.access.dashboard_token}")
    assert f"{controls} of {controls}" in client.get("/dashboard").text
    assert '<span class="chosen">' in client.get("/dashboard/review").text
