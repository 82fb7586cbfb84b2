"""How a market is served, and what its pages share: the open folder, the store, the options, the clock."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from hits.market.folder import PARAMETERS, MarketAccess
from hits.server.security import Seals
from hits.server.store import Store
from rypt.text import RyptError


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """How a market is served, and how people of a recruiting service come in through one link for all.

    ``public_url`` is how others reach the market when that is not host and port: its path, if it has one, is the prefix
    of all pages. ``proxy`` trusts the X-Forwarded headers of one reverse proxy. The first of ``parameters`` in the
    shared link's query string holds the service's id of the person. After ``hits_each`` hits (0: when there are none
    left) the page shows the completion code and, with a ``completion_url``, a link back; ``{code}`` in it becomes the
    code. Names that simulated workers have are refused, but with ``simulated``. The dashboard excludes workers from the
    judgments of ``campaign``.
    """

    public_url: str = ""
    proxy: bool = False
    parameters: tuple[str, ...] = PARAMETERS
    hits_each: int = 0
    completion_code: str = ""
    completion_url: str = ""
    simulated: bool = False
    campaign: Path | None = None

    def __post_init__(self) -> None:
        parts = urlsplit(self.public_url)
        if self.public_url and (parts.scheme not in ("http", "https") or not parts.netloc or parts.query):
            raise RyptError(f"expected an http or https URL, got {self.public_url!r}")
        if self.completion_url and urlsplit(self.completion_url).scheme not in ("http", "https"):
            raise RyptError(f"expected an http or https completion URL, got {self.completion_url!r}")
        if not self.parameters or not all(
            re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", name) for name in self.parameters
        ):
            raise RyptError("expected names of letters and digits as query parameters of the shared link")
        if self.completion_code and not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", self.completion_code):
            code = self.completion_code[:100]
            raise RyptError(f"expected a completion code of letters and digits, got {code!r}")
        if self.hits_each < 0:
            raise RyptError(f"the number of hits per session must be at least 0, got {self.hits_each}")

    @property
    def prefix(self) -> str:
        """The path under which all pages are, without a slash at its end."""
        return urlsplit(self.public_url).path.rstrip("/")


@dataclass(frozen=True, slots=True)
class ServedMarket:
    """All that the pages of one market share; ``now`` gives the time in whole seconds."""

    folder: Path
    store: Store
    access: MarketAccess
    options: ServeOptions
    seals: Seals
    now: Callable[[], int]

    @property
    def completion_code(self) -> str:
        return self.options.completion_code or self.access.completion_code
