"""Publishing from the dashboard: the requester's client, answered by the endpoint of the same process.

The dashboard publishes batches as the command does, ledger and all, and each request is signed and checked as if it
came over the network; only the network is left out, because a market behind a proxy may not reach its own address.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hits.batch.folder import BATCH_TOML
from hits.market.client import BotoMarket, connect
from hits.payment import fees_of, price
from hits.server.batches import read_kept
from hits.server.protocol.endpoint import Endpoint
from hits.server.settings import ServedMarket
from rypt.text import RyptError

LONGEST = 200  # folders to look at


@dataclass(frozen=True, slots=True)
class Unpublished:
    """A batch folder that can be published: its name beside the market, its title, its size and its price."""

    name: str
    folder: Path
    batch: str
    title: str
    hits: int
    assignments: int
    cost: Decimal


def unpublished(market: ServedMarket) -> list[Unpublished]:
    """The batches in the folder from which the dashboard publishes, of which hits are missing on the market.

    That folder is the one in which the market's folder is, or the one that was named to the server. What a browser
    sends is only ever compared with the names of this list: no path is made of it. Links to elsewhere are left out.
    """
    place = (market.options.publish_from or market.folder.resolve().parent).resolve()
    counts = market.store.hits.count_items()
    rows = []
    for path in sorted(place.glob(f"*/{BATCH_TOML}"))[:LONGEST]:
        folder = path.parent
        if folder.is_symlink() or folder.resolve().parent != place:
            continue
        try:
            batch = read_kept(folder)[0]
        except (RyptError, OSError):
            continue
        if counts.get(batch.settings.id, 0) < len(batch.items):
            cost = price(batch, fees=fees_of("local"))
            rows.append(
                Unpublished(
                    folder.name,
                    folder,
                    batch.settings.id,
                    batch.settings.title,
                    cost.hits,
                    cost.assignments,
                    cost.total,
                )
            )
    return rows


class _Body(BytesIO):
    """A response's body as botocore reads it."""

    def stream(self, **_: object) -> Iterator[bytes]:
        """All of it."""
        yield self.read()


def inside_client(market: ServedMarket) -> BotoMarket:
    """A client of the market in this process."""
    from botocore.awsrequest import AWSResponse

    access, endpoint = market.access, Endpoint(market.store, market.access.keys)
    url = access.url or "http://127.0.0.1/"
    client = connect(url, access.access_key, access.secret_key, "local", market.folder)

    def answer(request: Any, **_: object) -> AWSResponse:
        headers = {
            name: value.decode("latin-1") if isinstance(value, bytes) else str(value)
            for name, value in request.headers.items()
        }
        headers.setdefault("Host", urlsplit(request.url).netloc)
        body = request.body.encode() if isinstance(request.body, str) else bytes(request.body or b"")
        made = endpoint.answer(headers, body, market.now(), path=urlsplit(request.url).path or "/")
        return AWSResponse(request.url, made.status, dict(made.headers), _Body(made.body))

    client.client.meta.events.register("before-send.mturk", answer)
    return client
