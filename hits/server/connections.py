"""Limits on how long a connection may wait: one that says nothing, and one whose request never ends, are closed.

waitress closes connections without any activity: a client that sends a byte now and then keeps its place for ever, and
half-open ones keep theirs for a minute: five hundred of them and nobody else comes in.
"""

import weakref
from typing import Any

SILENT_SECONDS = 10.0  # until the first byte of the first request
REQUEST_SECONDS = 60.0  # from the first byte of a request to its last
CLEANUP_SECONDS = 5


def limit_waiting(server: Any, silent: float = SILENT_SECONDS, request: float = REQUEST_SECONDS) -> None:
    """Let a waitress server close connections that wait too long; one with several sockets is left as it is."""
    if not hasattr(server, "maintenance"):
        return
    usual = server.maintenance
    begun: weakref.WeakKeyDictionary[Any, float] = (
        weakref.WeakKeyDictionary()
    )  # requests that are not whole yet

    def maintenance(now: float) -> None:
        usual(now)
        for channel in list(server.active_channels.values()):
            partial = channel.request
            if partial is None:
                untouched = channel.last_activity == channel.creation_time and not channel.requests
                if untouched and channel.creation_time < now - silent:
                    channel.will_close = True
            elif begun.setdefault(partial, now) < now - request:
                channel.will_close = True

    server.maintenance = maintenance
