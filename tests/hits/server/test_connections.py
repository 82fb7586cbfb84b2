"""Connections that wait for ever are closed; others are served meanwhile."""

import socket
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from time import monotonic

import pytest
from waitress import create_server

from hits.server.connections import limit_waiting


@pytest.fixture
def port() -> Iterator[int]:
    def app(environ: object, start_response: object) -> list[bytes]:
        start_response("200 OK", [("Content-Length", "2")])  # type: ignore[operator]
        return [b"ok"]

    server = create_server(app, host="127.0.0.1", port=0, threads=1, cleanup_interval=1, channel_timeout=600)
    limit_waiting(server, silent=1, request=2)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server.effective_port
    finally:
        server.close()
        thread.join(30)


def closed_within(connection: socket.socket, seconds: float, sent: bytes = b"") -> bool:
    """Whether the other side closes, while a byte is sent now and then."""
    connection.settimeout(0.2)
    until = monotonic() + seconds
    while monotonic() < until:
        try:
            if sent:
                connection.sendall(sent)
            if connection.recv(100) == b"":
                return True
        except TimeoutError:
            continue
        except OSError:
            return True
    return False


def test_silent_and_trickling_connections_are_closed(port: int) -> None:
    with (
        socket.create_connection(("127.0.0.1", port)) as silent,
        socket.create_connection(("127.0.0.1", port)) as slow,
    ):
        slow.sendall(b"GET / HTTP/1.1\r\nX: ")
        assert closed_within(silent, 20)
        assert closed_within(slow, 20, sent=b"a")


def test_a_connection_that_was_used_stays_open(port: int) -> None:
    connection = HTTPConnection("127.0.0.1", port, timeout=20)
    for _ in range(2):
        connection.request("GET", "/")
        assert connection.getresponse().read() == b"ok"
        used = connection.sock
        assert used is not None
        assert not closed_within(used, 3)
        used.settimeout(20)
    connection.close()
