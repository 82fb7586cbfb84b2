"""The decision table, row by row; every command it names exists with these options."""

import shlex
from dataclasses import fields, replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import click
import pytest

from hits.market.folder import change_access, open_access
from rypt.campaign.settings import CampaignSettings, Files, LoopSettings, MarketSettings
from rypt.cli import program as cli
from rypt.loop import next_step as next_steps
from rypt.loop.next_step import first_step, next_step
from rypt.loop.status import CampaignBatch, CampaignStatus, Compared, Labels, People, Situation, Texts

MADE = CampaignBatch("c/batches/1", "1", "label", 10, 0, 20, 0)
PUBLISHED = replace(MADE, published=10, answered=5)
ANSWERED = replace(PUBLISHED, answered=20)
FAR = MarketSettings(endpoint="https://example.org")
PARTS = {"situation": Situation, "texts": Texts, "labels": Labels, "people": People}


def changed(status, **changes):
    """A status with other values, of its parts, too; ``compared`` are names of systems."""
    if "market" in changes:
        changes["settings"] = replace(status.situation.settings, market=changes.pop("market"))
    if "compared" in changes:
        changes["compared"] = Compared(20, 5, 0, changes["compared"])
    for name, part in PARTS.items():
        inside = {field.name for field in fields(part)} & changes.keys()
        if inside:
            changes[name] = replace(getattr(status, name), **{key: changes.pop(key) for key in inside})
    return replace(status, **changes)


LABELLED = CampaignStatus(
    folder="c",
    texts=Texts(9, 9, 1, 90, 1, None, None),
    labels=Labels(50, 50, {}, 0.6, 1.0, 5),
    compared=None,
    waiting=0,
    people=People(5, 0, [], [], 0.5, 0),
    spent={},
    batches=[],
    notes=[],
    situation=Situation(
        settings=CampaignSettings(Files("s"), market=FAR, loop=LoopSettings(labels=40)),
        to_ask=5,
        distinguished=1.0,
        features=True,
    ),
)
NEW = changed(LABELLED, judgments=0)
SYSTEMS = changed(NEW, outputs=("A", "B"), features=False)
COMPARE = "rypt hits make c -o c/batches/1 --kind comparison --assignments 5 --limit 20 --controls 0.2"
PAIRS = replace(ANSWERED, kind="comparison")
LOOPED = changed(LABELLED, decoder="d", decoded=2, weights=2, new=7)
SECOND = replace(ANSWERED, name="2")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "command"),
    [
        (changed(NEW, parsed=0), "rypt init c-2 --source SOURCE --nbest LIST"),
        (changed(LABELLED, distinguished=0.007), "rypt queries c --select value --format csv -o ask.csv"),
        (
            changed(LABELLED, distinguished=0.007, batches=[ANSWERED]),
            "rypt hits make c -o c/batches/2 --select value",
        ),
        (changed(LABELLED, after=0.3), "rypt queries c --select value --format csv -o ask.csv"),
        (changed(LABELLED, after=0.3, features=False), "rypt score c --pick best -o c/picks.txt"),
        (changed(LABELLED, after=0.3, to_ask=0), "rypt tune c --metric rypt -o c/rypt.weights"),
        (changed(LABELLED, distinguished=0.007, to_ask=0), "rypt score c --pick best -o c/picks.txt"),
        (SYSTEMS, COMPARE),
        (changed(SYSTEMS, batches=[PAIRS], compared=["A", "B"]), "rypt rank pairs c --systems A,B"),
        (changed(SYSTEMS, batches=[PAIRS], compared=["A", "B", "C"]), "rypt rank systems c"),
        (changed(SYSTEMS, judgments=9, compared=["A", "B"]), "rypt score c --pick best -o c/picks.txt"),
        (changed(LABELLED, features=False, picked=True), ""),
        (
            changed(NEW, batches=[replace(PUBLISHED, answered=0, over=True)]),
            "rypt queries c --select value --format csv -o ask.csv",
        ),
        (
            changed(LABELLED, batches=[replace(MADE, needless=True)]),
            "rypt tune c --metric rypt -o c/rypt.weights",
        ),
        (changed(NEW, candidates=0, decoder="d"), "rypt loop c --once"),
        (NEW, "rypt queries c --select value --format csv -o ask.csv"),
        (changed(NEW, to_ask=0, features=False), "rypt score c --pick best -o c/picks.txt"),
        (changed(NEW, batches=[MADE]), "rypt hits publish c/batches/1"),
        (changed(NEW, batches=[replace(MADE, published=3)], market=FAR), "rypt hits publish c/batches/1"),
        (changed(NEW, batches=[PUBLISHED]), "rypt hits collect c/batches/1"),
        (LABELLED, "rypt tune c --metric rypt -o c/rypt.weights"),
        (changed(LABELLED, tuned=True), "rypt score c --pick best -o c/picks.txt"),
        (LOOPED, "rypt hits make c -o c/batches/2 --select value --limit 40"),
        (changed(LOOPED, to_ask=0), "rypt tune c --metric rypt -o c/weights/3.weights"),
        (
            changed(LOOPED, new=0, batches=[ANSWERED, SECOND]),
            "rypt tune c --metric rypt -o c/weights/3.weights",
        ),
        (changed(LOOPED, new=0, to_ask=0, batches=[ANSWERED]), "rypt score c --pick best -o c/picks.txt"),
        (changed(LOOPED, weights=3), "rypt loop c --once"),
        (changed(LOOPED, loop_runs=True), "rypt loop c"),
        (changed(LOOPED, loop_runs=True, market=MarketSettings()), "rypt loop c --serve"),
        (changed(LOOPED, loop_stopped="the budget is spent"), "rypt loop c -o c/best.weights"),
    ],
)
def test_the_one_next_command(status, command):
    found = next_step(status)
    assert found.command == command
    assert found.why
    if command:
        check(command)


def test_workers_to_look_at_before_ranking():
    step = next_step(changed(SYSTEMS, batches=[PAIRS], compared=["A", "B"], bad=["Eli"]))
    assert step.why.endswith("the answers of Eli look bad and still count, see: rypt hits workers -C c")
    check("rypt hits workers -C c")


def check(line: str) -> None:
    """Parse a command line as `rypt` would, without running it."""
    words = shlex.split(line)[1:]
    command, context = cli.rypt, click.Context(cli.rypt)
    while isinstance(command, click.Group):
        command = command.get_command(context, words.pop(0))
        assert command is not None, line
    command.make_context(command.name, words)


@pytest.mark.parametrize(
    ("batch", "command"), [(MADE, "publish c/batches/1"), (PUBLISHED, "collect c/batches/1")]
)
def test_a_local_market_must_be_served(tmp_path, batch, command):
    local = changed(NEW, market=MarketSettings(str(tmp_path)), batches=[batch])
    assert next_step(local).command == "rypt hits serve c"
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        open_access(tmp_path)
        change_access(tmp_path, url=f"http://127.0.0.1:{server.server_port}/")
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        found = next_step(local)
        server.shutdown()
        thread.join()
    assert found.command == f"rypt hits {command}"
    check(found.command)
    assert next_step(local).command == "rypt hits serve c"  # it was served, and is not any more


@pytest.mark.parametrize(
    ("batch", "state"),
    [
        (MADE, "made"),
        (replace(MADE, published=3), "partly published"),
        (PUBLISHED, "published"),
        (replace(PUBLISHED, published=0), "published"),  # the ledger is lost, the answers are there
        (replace(PUBLISHED, over=True), "over"),
        (ANSWERED, "answered"),
        (replace(MADE, needless=True), "labelled elsewhere"),
    ],
)
def test_states_of_batches(batch, state):
    assert batch.state == state


def test_people_are_invited_before_anything_is_collected(tmp_path, monkeypatch):
    monkeypatch.setattr(next_steps, "is_served", lambda folder: True)
    local = changed(NEW, market=MarketSettings(str(tmp_path)), batches=[replace(PUBLISHED, answered=0)])
    step = next_step(local)
    assert step.command == "rypt hits invite NAME --market c"
    assert step.why.endswith("rypt hits collect c/batches/1")


def test_a_folder_that_holds_campaigns(tmp_path):
    for name in ("b", "a"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "rypt.toml").touch()
    step = first_step(str(tmp_path))
    assert step.command == f"rypt status {tmp_path}/a"
    assert step.why.endswith(f"which is one (also {tmp_path}/b)")
    assert next_step(changed(NEW, folder="my campaign")).command.startswith("rypt queries 'my campaign' --")
