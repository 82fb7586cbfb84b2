"""The server as a whole: starting and stopping, keys, headers, hostile requests, and boto3 through it."""

import json
import logging
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from flask.testing import FlaskClient

from hits.batch.folder import BATCH_CSV, BATCH_TOML, TEMPLATE
from hits.batch.page import question_xml
from hits.market.folder import MarketAccess, keep_batch, open_access, read_access
from hits.server.app import make_app, only_server, serve
from hits.server.settings import ServeOptions
from rypt.text import InputError, RyptError

pytestmark = pytest.mark.slow

SERVE = """
import json, sys
from dataclasses import asdict
from hits.server.app import serve
from hits.server.settings import ServeOptions
options, port = ServeOptions(public_url=sys.argv[2]), int(sys.argv[3])
serve(sys.argv[1], "127.0.0.1", port, lambda access: print(json.dumps(asdict(access)), flush=True), options)
"""
HIT = {
    "Title": "Judge",
    "Description": "Judge phrases",
    "Reward": "0.05",
    "AssignmentDurationInSeconds": 600,
    "LifetimeInSeconds": 3600,
    "Question": question_xml("<form><input name='label_1'></form>"),
}


@contextmanager
def served(folder: Path, public_url: str = "", port: int = 0) -> Iterator[MarketAccess]:
    command = [sys.executable, "-c", SERVE, str(folder), public_url, str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield MarketAccess(**json.loads(process.stdout.readline()))
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(180) == 0
            assert process.stdout.read() == ""


def client_of(url: str, info: MarketAccess, secret: str = "") -> Any:
    return boto3.client(
        "mturk",
        region_name="us-east-1",
        endpoint_url=url,
        aws_access_key_id=info.access_key,
        aws_secret_access_key=secret or info.secret_key,
        config=Config(retries={"total_max_attempts": 1}),
    )


@pytest.fixture
def client(tmp_path: Path) -> FlaskClient:
    return make_app(tmp_path / "market", now=lambda: 1000).test_client()


def test_settings_are_made_once_and_are_private(tmp_path: Path) -> None:
    first = open_access(tmp_path / "new" / "folder")
    path = tmp_path / "new" / "folder" / "market.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert open_access(path.parent) == first == read_access(path.parent)
    assert sorted(p.name for p in path.parent.iterdir()) == ["market.json"]
    assert first.secret_key not in repr(first)
    assert len({first.secret_key, first.dashboard_token, first.session_key, first.join_key}) == 4


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_folders_are_private_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    (tmp_path / "batch").mkdir()
    for name in (BATCH_CSV, BATCH_TOML, TEMPLATE):
        (tmp_path / "batch" / name).touch()
    before = os.umask(umask)
    try:
        open_access(tmp_path / "market")
        keep_batch(tmp_path / "market", tmp_path / "batch", "b1")
        with only_server(tmp_path / "other"):
            pass
    finally:
        os.umask(before)
    made = [tmp_path / name for name in ("market", "other", "market/batches", "market/batches/b1")]
    assert [stat.S_IMODE(path.stat().st_mode) for path in made] == [0o700] * 4


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"access_key": 3}', "\xff"])
def test_broken_settings_are_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "market.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match=r"market\.json"):
        open_access(tmp_path)


@pytest.mark.parametrize("url", ["ftp://x", "example.org", "http://", "https://x/?a=b"])
def test_a_wrong_public_url_is_refused(url: str) -> None:
    with pytest.raises(RyptError, match="URL"):
        ServeOptions(public_url=url)


@pytest.mark.parametrize("wrong", [{"parameters": ()}, {"parameters": ("a b",)}, {"completion_code": "<b>"}])
def test_wrong_parameters_and_codes_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(RyptError, match="expected"):
        ServeOptions(**wrong)


def test_boto3_works_through_the_server_and_a_restart_keeps_everything(tmp_path: Path) -> None:
    with served(tmp_path / "market") as info:
        made = client_of(info.url, info).create_hit(**HIT)["HIT"]
        with pytest.raises(ClientError, match="signature"):
            client_of(info.url, info, "wrong").list_hits()
        access = read_access(tmp_path / "market")
        assert (access.url, access.parameter, access.hits_each) == (info.url, "PROLIFIC_PID", 0)
        assert info.dashboard_url == f"{info.url}dashboard?token={access.dashboard_token}"
        assert info.shared_url == f"{info.url}join/{access.join_key}?PROLIFIC_PID={{{{%PROLIFIC_PID%}}}}"
    with served(tmp_path / "market") as again:
        assert (again.access_key, again.secret_key) == (info.access_key, info.secret_key)
        assert again.dashboard_url.partition("?")[2] == info.dashboard_url.partition("?")[2]
        found = client_of(again.url, again).list_hits()["HITs"]
    assert [hit["HITId"] for hit in found] == [made["HITId"]]


def test_boto3_works_under_a_prefix(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with served(tmp_path, f"http://127.0.0.1:{port}/labels", port) as info:
        assert info.url == f"http://127.0.0.1:{port}/labels/"
        assert client_of(info.url, info).list_hits()["NumResults"] == 0
        with pytest.raises(ClientError, match="signature"):
            client_of(f"http://127.0.0.1:{port}/", info).list_hits()  # signed for another path
    app = make_app(tmp_path, options=ServeOptions(public_url="http://market.example/labels"))
    page = app.test_client().get("/labels/").text
    assert 'href="/labels/static/site.css"' in page
    assert app.test_client().get("/labels/static/site.css").status_code == 200
    assert (
        'href="/labels/static/site.css"' in app.test_client().get("/").text
    )  # the proxy took the prefix off


def test_cookies_are_secure_where_the_market_is(tmp_path: Path) -> None:
    app = make_app(tmp_path, options=ServeOptions(public_url="https://market.example/labels"))
    token = app.extensions["market"].store.people.invite("Ada", 0).token
    response = app.test_client().get(f"/labels/w/{token}")
    assert response.location == "/labels/work"
    assert "Secure; HttpOnly; Path=/labels; SameSite=Lax" in response.headers["Set-Cookie"]


def test_a_port_in_use_is_a_clear_error(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(RyptError, match="--port 0 takes"):
        serve(tmp_path, "127.0.0.1", taken.getsockname()[1], lambda info: None)


def test_a_folder_has_one_server_and_a_killed_one_leaves_no_lock(tmp_path: Path) -> None:
    with served(tmp_path) as info:
        before = (tmp_path / "market.json").read_bytes()
        with pytest.raises(RyptError) as error:
            serve(tmp_path, "127.0.0.1", 0, lambda info: None)
        assert str(error.value) == f"{tmp_path}: this market is served already at {info.url}"
        assert (tmp_path / "market.json").read_bytes() == before
    command = [sys.executable, "-c", SERVE, str(tmp_path), "", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["access_key"] == info.access_key
        process.kill()
    with served(tmp_path) as again:
        assert again.secret_key == info.secret_key


def test_forwarded_headers_count_only_when_asked(tmp_path: Path) -> None:
    headers = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "market.example", "X-Forwarded-Prefix": "/m"}
    for proxy in (False, True):
        app = make_app(tmp_path, options=ServeOptions(proxy=proxy))
        store = app.extensions["market"].store
        response = app.test_client().get(f"/w/{store.people.invite('Ada', 0).token}", headers=headers)
        assert response.location == "/work"  # the path is that of --url, never a visitor's
        assert ("Secure" in response.headers["Set-Cookie"]) == proxy


@pytest.mark.parametrize(
    "path", ["/", "/work", "/nothing", "/static/site.css", "/dashboard", "/w/x", "/hit.css"]
)
def test_every_answer_has_the_security_headers(client: FlaskClient, path: str) -> None:
    headers = client.get(path).headers
    policy = dict(part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["form-action"] == "'self'"
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert ("no-store" in headers["Cache-Control"]) == (not path.endswith(".css"))


def test_pages_have_no_inline_code(client: FlaskClient) -> None:
    for path in ("/", "/work", "/nothing"):
        page = client.get(path).text
        assert "<style" not in page
        assert "style=" not in page
        assert page.count("<script") == page.count("<script src=")


@pytest.mark.parametrize(
    "path",
    [
        "/static/../serve.py",
        "/static/%2e%2e/serve.py",
        "/static/..%2fserve.py",
        "/static//etc/passwd",
        "/..",
        "/w/../market.json",
        "/w/%00",
        "/work/a/../../market.json",
        "/static/%2e%2e%2f%2e%2e%2fetc/passwd",
        "/work/a/%2e%2e",
        "/market.json",
    ],
)
def test_path_tricks_find_nothing(client: FlaskClient, path: str) -> None:
    response = client.get(path)
    assert response.status_code in (302, 308, 400, 401, 404)
    assert b"secret_key" not in response.data
    assert b"import" not in response.data


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(client: FlaskClient, method: str) -> None:
    for path in ("/", "/work", "/work/next", "/dashboard"):
        assert client.open(path, method=method).status_code == 405
    assert client.get("/work/next").status_code == 405
    assert client.post("/work").status_code == 405


def test_a_large_or_broken_body_is_refused_before_it_is_taken_apart(client: FlaskClient) -> None:
    kind = "application/x-www-form-urlencoded"
    for body in (b"a=" + b"x" * 3_000_001, b"%" * 2_000_000, b"a=%ff"):
        for path in ("/work/next", "/nowhere", "/dashboard/approve"):
            assert client.post(path, data=body, content_type=kind).status_code in (400, 413), path
    refused = client.post("/", data=b"x" * 10_000_001)
    assert refused.status_code == 413
    assert refused.get_json(force=True)["__type"] == "RequestEntityTooLargeException"


def test_a_damaged_market_is_not_served(tmp_path: Path) -> None:
    with make_app(tmp_path).extensions["market"].store as store:
        for number in range(300):
            store.people.invite(f"worker {number}", 0)
    data = bytearray((tmp_path / "market.db").read_bytes())
    data[-4096:] = b"\xa5" * 4096
    (tmp_path / "market.db").write_bytes(data)
    with pytest.raises(RyptError, match=r"market\.db: "):
        serve(tmp_path, "127.0.0.1", 0, lambda info: None)


def test_an_error_of_ours_tells_nothing(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = client.application.extensions["market"].store

    def fail(token: str) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(type(store.people), "by_token", lambda self, token: fail(token))
    with caplog.at_level(logging.ERROR):
        response = client.get("/w/token")
    assert response.status_code == 500
    assert "secret detail" not in response.text
    assert "Traceback" not in response.text
    assert "secret detail" in caplog.text


@pytest.mark.parametrize(
    "host", ["a..b", "a b", "\u00e4", "[::", "a:b", "x" * 64, ".", "a/b", "evil.example@x"]
)
@pytest.mark.parametrize("path", ["/", "/dashboard"])
def test_a_host_that_is_none_is_refused_without_a_traceback(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, host: str, path: str
) -> None:
    client = make_app(tmp_path).test_client()
    for taken in ("market.example:8443", "[::1]:8000", "my_host.example."):
        assert client.get("/", headers={"Host": taken}).status_code == 200
    response = client.get(path, headers={"Host": host})
    assert (response.status_code, caplog.records) == (400, [])
    assert response.headers["X-Content-Type-Options"] == "nosniff"
