"""``rypt hits recruit``: what it asks, where its token comes from, and what it prints."""

import json

import pytest
from commands import run
from prolific_server import served_prolific

from hits.batch.folder import read_batch
from hits.market.folder import keep_batch, open_access, remember_url


@pytest.fixture
def service(monkeypatch):
    monkeypatch.setenv("PROLIFIC_TOKEN", "secret")
    with served_prolific() as running:
        yield running


@pytest.fixture
def batch(capsys, demo_campaign, tmp_path):
    assert run(capsys, "hits", "make", demo_campaign, "-o", tmp_path / "b", "--limit", 4, "-q")[0] == 0
    remember_url(tmp_path / "market", open_access(tmp_path / "market"), "http://127.0.0.1:1/")
    keep_batch(tmp_path / "market", tmp_path / "b", read_batch(tmp_path / "b").settings.id)
    return tmp_path / "b"


def test_from_a_draft_to_its_end(capsys, batch, service, tmp_path, monkeypatch):
    options = ["--at", tmp_path / "market", "--api", service.url]
    (tmp_path / "filters.json").write_text('[{"filter_id": "fluent-languages", "selected_values": ["19"]}]')
    monkeypatch.setattr("sys.stdin", open("/dev/null"))  # noqa: SIM115
    code, out, err = run(capsys, "hits", "recruit", batch, *options, "--places", 2)
    assert (code, out) == (1, "")
    assert "2 places" in err
    assert "say --yes" in err
    options += ["--yes"]
    made = [
        "--places",
        2,
        "--hits-each",
        2,
        "--reward",
        "1.00",
        "--filters",
        tmp_path / "filters.json",
        "--json",
    ]
    study = json.loads(run(capsys, "hits", "recruit", batch, *options, *made, "--device", "desktop")[1])
    assert (study["made"], study["cost"], study["places"]) == (True, "2.67", 2)
    kept = service.studies[study["id"]]
    assert (kept["filters"][0]["filter_id"], kept["device_compatibility"]) == (
        "fluent-languages",
        ["desktop"],
    )
    assert kept["name"] == read_batch(batch).settings.title
    assert run(capsys, "hits", "recruit", batch, *options)[1].startswith(f"study {study['id']} was there")
    assert (
        run(capsys, "hits", "recruit", batch, *options, "--publish")[1] == f"study {study['id']} is ACTIVE\n"
    )
    assert run(capsys, "hits", "recruit", batch, *options, "--stop")[1].endswith("AWAITING REVIEW\n")


def test_the_token_is_in_the_environment_or_in_a_private_file(capsys, batch, service, tmp_path, monkeypatch):
    path = tmp_path / "token"
    path.write_text("secret\n")
    options = ["--at", tmp_path / "market", "--api", service.url, "--yes", "--token-file", path]
    monkeypatch.delenv("PROLIFIC_TOKEN")
    path.chmod(0o644)
    code, _, err = run(capsys, "hits", "recruit", batch, *options)
    assert (code, "only its owner can read" in err) == (1, True)
    path.chmod(0o600)
    assert run(capsys, "hits", "recruit", batch, *options)[0] == 0
    code, _, err = run(capsys, "hits", "recruit", batch, *options[:-2])
    assert (code, "PROLIFIC_TOKEN" in err) == (1, True)
    assert "secret" not in err
