"""What a served folder keeps beside its market file: keys, tokens and how the market is reached (``market.json``).

The file is made once, readable by its owner only, and the same ever after, so links and keys survive a restart.
"""

import json
import os
import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from urllib.parse import urlsplit

from hits.server.protocol.signature import Keys, new_keys
from hits.server.security import Seals
from hits.server.store.store import Store
from rypt.text import InputError, PathLike, RyptError

SETTINGS_NAME = "market.json"
STORE_NAME = "market.db"
CODE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # none that people confuse


@dataclass(frozen=True, slots=True)
class Settings:
    """``market.json``: the requester's keys, the dashboard's token, what signs cookies, and the shared link."""

    access_key: str
    secret_key: str = field(repr=False)
    dashboard_token: str = field(repr=False)
    session_key: str = field(repr=False)
    join_key: str = field(repr=False)
    completion_code: str
    url: str = ""

    @property
    def keys(self) -> Keys:
        """What requests must be signed with."""
        return Keys(self.access_key, self.secret_key)


@dataclass(frozen=True, slots=True)
class Join:
    """How people of a recruiting service come in through one shared link, and how they leave.

    The first of ``parameters`` in the link's query string holds the service's id of the person. After ``hits`` hits
    (0: when there are none left) the page shows the completion code and, with a ``completion_url``, a link back;
    ``{code}`` in it becomes the code.
    """

    parameters: tuple[str, ...] = ("PROLIFIC_PID", "participantId", "workerId")
    hits: int = 0
    completion_code: str = ""
    completion_url: str = ""

    def __post_init__(self) -> None:
        if self.completion_url and urlsplit(self.completion_url).scheme not in ("http", "https"):
            raise RyptError(f"expected an http or https completion URL, found {self.completion_url!r}")
        if not self.parameters or not all(self.parameters):
            raise RyptError("expected at least one name of a query parameter for the shared link")
        if self.hits < 0:
            raise RyptError(f"expected 0 or more hits a session, found {self.hits}")


@dataclass(frozen=True, slots=True)
class Options:
    """How a market is served.

    ``public_url`` is how others reach it when that is not host and port: its path, if it has one, is the prefix of all
    pages. ``proxy`` trusts the X-Forwarded headers of one reverse proxy. ``batches`` are batch folders whose controls
    the dashboard uses, beside those in ``FOLDER/batches``.
    """

    public_url: str = ""
    proxy: bool = False
    batches: tuple[Path, ...] = ()
    join: Join = Join()

    def __post_init__(self) -> None:
        parts = urlsplit(self.public_url)
        if self.public_url and (parts.scheme not in ("http", "https") or not parts.netloc or parts.query):
            raise RyptError(f"expected an http or https URL, found {self.public_url!r}")

    @property
    def prefix(self) -> str:
        """The path under which all pages are, without a slash at its end."""
        return urlsplit(self.public_url).path.rstrip("/")


@dataclass(frozen=True, slots=True)
class Served:
    """All that the pages of one market share; ``now`` tells the time in whole seconds."""

    folder: Path
    store: Store
    settings: Settings
    options: Options
    seals: Seals
    now: Callable[[], int]


def open_settings(folder: PathLike) -> Settings:
    """The folder's settings; the folder and the file are made if they are not there."""
    path = Path(folder) / SETTINGS_NAME
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        made = _write_new(path, new_settings())
    except OSError as error:
        raise RyptError(f"{path}: {error.strerror or error}") from None
    return made or read_settings(folder)


def new_settings() -> Settings:
    """Fresh secrets."""
    keys = new_keys()
    code = "".join(secrets.choice(CODE_LETTERS) for _ in range(8))
    return Settings(
        keys.access_key, keys.secret_key, secrets.token_urlsafe(24), secrets.token_hex(32), secrets.token_urlsafe(12),
        code,
    )  # fmt: skip


def read_settings(folder: PathLike) -> Settings:
    """The settings of a folder that was served before."""
    path = Path(folder) / SETTINGS_NAME
    names = [part.name for part in fields(Settings)]
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(path, None, f"expected the settings of a market: {error}") from None
    if not isinstance(values, dict) or not all(isinstance(values.get(name), str) for name in names):
        raise InputError(path, None, f"expected the texts {', '.join(names)}")
    return Settings(*(values[name] for name in names))


def served_settings(folder: PathLike) -> Settings:
    """The settings of a folder whose market was served, so that it is known how people reach it."""
    start = f"start it first with `rypt hits serve {folder}`"
    if not (Path(folder) / SETTINGS_NAME).exists():
        raise RyptError(f"{folder}: there is no market here; {start}")
    settings = read_settings(folder)
    if not settings.url:
        raise RyptError(f"{folder}: this market was never served; {start}")
    return settings


def remember_url(folder: PathLike, settings: Settings, url: str) -> Settings:
    """Keep how the market was last reached, for invitations made by another process."""
    path = Path(folder) / SETTINGS_NAME
    changed = replace(settings, url=url)
    if changed != settings:
        fresh = path.with_name(f"{path.name}.{secrets.token_hex(6)}.new")
        _write_new(fresh, changed)
        fresh.replace(path)
    return changed


def _write_new(path: Path, settings: Settings) -> Settings | None:
    """Write a file whole and for its owner only; None when there is one already."""
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(6)}")
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump(asdict(settings), file, indent=2)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(fresh, path)
    except FileExistsError:
        return None
    finally:
        fresh.unlink()
    return settings


def invitation_url(url: str, token: str) -> str:
    """The link to send to a worker who was invited with this token."""
    return f"{url.rstrip('/')}/w/{token}"


def join_url(url: str, settings: Settings, join: Join) -> str:
    """The shared link, with a place for the recruiting service's id as Prolific writes it."""
    name = join.parameters[0]
    return f"{url.rstrip('/')}/join/{settings.join_key}?{name}={{{{%{name}%}}}}"
