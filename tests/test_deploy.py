"""The configuration in docs/deploy.md with nginx before a market: TLS, signed requests, cookies, the log, a backup."""

import json
import re
import shutil
import socket
import sqlite3
import ssl
import subprocess
import sys
import time
from collections.abc import Callable
from http.client import HTTPSConnection
from pathlib import Path

import pytest

from hits.market.folder import read_access
from hits.market.service import session
from hits.server.store import Store

DEPLOY = Path(__file__).resolve().parents[1] / "docs" / "deploy.md"
NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin")
START = "from rypt.cli import main; main()"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not NGINX or not shutil.which("openssl"), reason="nginx or openssl is not installed"),
]


def block(kind: str) -> str:
    (text,) = re.findall(rf"```{kind}\n(.*?)```", DEPLOY.read_text(encoding="utf-8"), re.DOTALL)
    return str(text)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_the_configuration_of_the_page_serves_a_market(tmp_path: Path) -> None:
    port, own = free_port(), free_port()
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    files = ["-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem"]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", *files, *subject],
        check=True,
        capture_output=True,
    )
    site = block("nginx")
    for old, new in (
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("market.example.org;", "localhost;"),
        ("/etc/letsencrypt/live/market.example.org/fullchain.pem", f"{tmp_path}/cert.pem"),
        ("/etc/letsencrypt/live/market.example.org/privkey.pem", f"{tmp_path}/key.pem"),
        ("/var/log/nginx/rypt.log", f"{tmp_path}/access.log"),
        ("127.0.0.1:8000", f"127.0.0.1:{own}"),
    ):
        assert old in site
        site = site.replace(old, new)
    temporary = "".join(
        f"{name}_temp_path {tmp_path}/{name};"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (tmp_path / "nginx.conf").write_text(
        f"daemon off; pid {tmp_path}/pid; error_log {tmp_path}/error.log;\n"
        f"events {{ worker_connections 64; }}\nhttp {{ {temporary}\n{site}\n}}\n"
    )
    url = f"https://localhost:{port}/"
    command = ["hits", "serve", tmp_path / "market", "--port", own, "--url", url, "--proxy", "--json"]
    with (
        subprocess.Popen(
            [sys.executable, "-c", START, *map(str, command)], stdout=subprocess.PIPE, text=True
        ) as market,
        subprocess.Popen([str(NGINX), "-c", tmp_path / "nginx.conf", "-p", tmp_path]) as proxy,
    ):
        try:
            assert market.stdout is not None
            assert json.loads(market.stdout.readline())["url"] == url
            wait_until(lambda: listens(port))
            check_pages(tmp_path, port)
            check_requests(tmp_path, url)
        finally:
            proxy.terminate()
            market.terminate()
            proxy.wait(60)
            market.wait(60)


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def wait_until(happened: Callable[[], bool]) -> None:
    """Wait for what nginx tells nobody: that it listens, and that its log is written, which follows the answer."""
    end = time.monotonic() + 180
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.05)


def check_pages(folder: Path, port: int) -> None:
    with Store(folder / "market" / "market.db") as store:
        token = store.people.invite("Ada", 0).token
    trusted = ssl.create_default_context(cafile=str(folder / "cert.pem"))
    connection = HTTPSConnection("localhost", port, context=trusted, timeout=30)
    connection.request("GET", f"/w/{token}")
    response = connection.getresponse()
    response.read()
    assert (response.status, response.headers["Location"]) == (303, "/work")
    assert "Secure" in response.headers["Set-Cookie"]
    connection.close()
    log = folder / "access.log"
    wait_until(lambda: "GET /w/... 303" in log.read_text())
    assert token not in log.read_text()


def check_requests(folder: Path, url: str) -> None:
    access = read_access(folder / "market")
    client = session().client(
        "mturk",
        region_name="us-east-1",
        endpoint_url=url,
        aws_access_key_id=access.access_key,
        aws_secret_access_key=access.secret_key,
        verify=str(folder / "cert.pem"),
    )
    assert client.get_account_balance()["AvailableBalance"] == "10000.00"
    with (
        sqlite3.connect(folder / "market" / "market.db") as source,
        sqlite3.connect(folder / "copy.db") as copy,
    ):
        source.backup(copy)  # what sqlite3's .backup does
    source.close()
    copy.close()
    with Store(folder / "copy.db") as store:
        assert [worker.name for worker in store.people.all()] == ["Ada"]
