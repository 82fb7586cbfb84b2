"""The folder of a local market as both sides know it: ``market.json``, and copies of the published batches.

    market.json   keys, tokens, and where the market is reached; made by the server, readable by its owner only
    shared.json   how people of a recruiting service come and go, as the market was last served
    market.db     the market's data; only the server opens it (`hits.server.store`)
    batches/ID    a copy of each published batch: the dashboard knows the controls by it, and a worker gets the
                  instructions in the worker's language

Links and keys survive a restart of the server: ``market.json`` is written once, then only its URL changes, and the
dashboard's token when it was used.
"""

import json
import os
import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path

from hits.batch.folder import BATCH_CSV, BATCH_TOML, TEMPLATE, TRAINING_CSV
from rypt.strict import parse_json
from rypt.text import InputError, PathLike, RyptError

ACCESS_NAME = "market.json"
STORE_NAME = "market.db"
TERMS_NAME = "shared.json"
BATCHES = "batches"
BATCH_FILES = (TEMPLATE, BATCH_CSV, BATCH_TOML)  # the last makes it a batch
FOLDER_NOTE = "folder.txt"  # beside a copied batch: from which folder it came
CODE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # none that people confuse
KEY_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


@dataclass(frozen=True, slots=True)
class Keys:
    """What a requester signs with; the secret key is never sent and never shown."""

    access_key: str
    secret_key: str = field(repr=False)


def new_keys() -> Keys:
    """Random keys in Amazon's form, as hard to guess as Amazon's."""
    return Keys("AKIA" + "".join(secrets.choice(KEY_LETTERS) for _ in range(16)), secrets.token_urlsafe(30))


@dataclass(frozen=True, slots=True)
class MarketAccess:
    """``market.json``: the requester's keys, the dashboard's token, what signs cookies, the shared link, the URL."""

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

    @property
    def dashboard_url(self) -> str:
        """The requester's page, with the token that opens it once; empty where the market was never served."""
        return f"{self.url.rstrip('/')}/dashboard?token={self.dashboard_token}" if self.url else ""

    def invitation_url(self, token: str) -> str:
        """The link to send to a worker who was invited with this token."""
        return f"{self.url.rstrip('/')}/w/{token}"


def new_access() -> MarketAccess:
    """Random keys and tokens for a new market."""
    keys = new_keys()
    code = "".join(secrets.choice(CODE_LETTERS) for _ in range(8))
    return MarketAccess(
        keys.access_key,
        keys.secret_key,
        secrets.token_urlsafe(24),
        secrets.token_hex(32),
        secrets.token_urlsafe(12),
        code,
    )


def open_access(folder: PathLike) -> MarketAccess:
    """Read the ``market.json`` of a folder; the folder and the file are made if they do not exist."""
    path = Path(folder) / ACCESS_NAME
    try:
        private_folder(path.parent)
        made = _write_new(path, new_access())
    except OSError as error:
        raise RyptError(f"{path}: {error.strerror or error}") from None
    return made or read_access(folder)


def read_access(folder: PathLike) -> MarketAccess:
    """Read the ``market.json`` of a market that was served before."""
    path = Path(folder) / ACCESS_NAME
    names = [part.name for part in fields(MarketAccess)]
    try:
        values = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(path, None, f"expected the settings of a market: {error}") from None
    if not isinstance(values, dict) or not all(isinstance(values.get(name), str) for name in names):
        raise InputError(path, None, f"expected the texts {', '.join(names)}")
    return MarketAccess(*(values[name] for name in names))


def has_market(folder: PathLike) -> bool:
    """Whether a folder holds a market."""
    return (Path(folder) / ACCESS_NAME).exists()


def served_access(folder: PathLike) -> MarketAccess:
    """Read the ``market.json`` of a market that was served, so that it is known where it is reached."""
    start = f"start it first with `rypt hits serve {folder}`"
    if not has_market(folder):
        raise RyptError(f"{folder}: there is no market here; {start}, and wait until it prints its address")
    access = read_access(folder)
    if not access.url:
        raise RyptError(f"{folder}: this market was never served; {start}")
    return access


@dataclass(frozen=True, slots=True)
class SharedTerms:
    """How people of a recruiting service come in, after how many hits they are done (0: all), and with which code."""

    parameter: str
    hits: int
    completion_code: str


def remember_terms(folder: PathLike, terms: SharedTerms) -> None:
    """Record how the market is served, for other processes."""
    path = Path(folder) / TERMS_NAME
    if read_terms(folder) != terms:
        fresh = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            json.dump(asdict(terms), file)
        fresh.replace(path)


def read_terms(folder: PathLike) -> SharedTerms | None:
    """How the market was last served; None where that is not known."""
    try:
        values = parse_json((Path(folder) / TERMS_NAME).read_text(encoding="utf-8"))
        return SharedTerms(str(values["parameter"]), int(values["hits"]), str(values["completion_code"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def private_folder(folder: Path) -> None:
    """Make a folder that only its owner can open, whatever the umask; one that is there stays as it is."""
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        folder.chmod(0o700)


def use_dashboard_token(folder: PathLike, matches: Callable[[str], bool]) -> bool:
    """Use the dashboard's token, once: if it matches, the next link has another one."""
    access = read_access(folder)
    if not matches(access.dashboard_token):
        return False
    _replace(folder, replace(access, dashboard_token=secrets.token_urlsafe(24)))
    return True


def remember_url(folder: PathLike, access: MarketAccess, url: str) -> MarketAccess:
    """Record the market's current URL for other processes."""
    changed = replace(access, url=url)
    if changed != access:
        _replace(folder, changed)
    return changed


def _replace(folder: PathLike, access: MarketAccess) -> None:
    """Write another ``market.json`` in the place of the one that is there."""
    path = Path(folder) / ACCESS_NAME
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(6)}.new")
    _write_new(fresh, access)
    fresh.replace(path)


def _write_new(path: Path, access: MarketAccess) -> MarketAccess | None:
    """Write a whole file, readable by its owner only; None if the file exists already."""
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(6)}")
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump(asdict(access), file, indent=2)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(fresh, path)
    except FileExistsError:
        return None
    finally:
        fresh.unlink()
    return access


def keep_batch(market: PathLike, batch: PathLike, name: str) -> None:
    """Copy a batch into a market's folder; files that are there already are replaced, each as a whole."""
    target = Path(market) / BATCHES / name
    try:
        private_folder(target.parent)
        private_folder(target)
        for file in BATCH_FILES:
            content = (Path(batch) / file).read_bytes()
            if (target / file).is_file() and (target / file).read_bytes() == content:
                continue
            fresh = target / f".{file}.{secrets.token_hex(6)}"
            with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            fresh.replace(target / file)
        if (Path(batch) / TRAINING_CSV).is_file():
            (target / TRAINING_CSV).touch(mode=0o600)
            (target / TRAINING_CSV).write_bytes((Path(batch) / TRAINING_CSV).read_bytes())
        (target / FOLDER_NOTE).touch(mode=0o600)
        (target / FOLDER_NOTE).write_text(f"{batch}\n", encoding="utf-8")
    except OSError as error:
        raise RyptError(f"{target}: {error.strerror or error}") from None


def came_from(kept: Path) -> str:
    """The folder from which a kept batch was copied, as its publisher named it; empty where nobody noted it."""
    try:
        return (kept / FOLDER_NOTE).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def kept_batches(market: PathLike) -> list[Path]:
    """The folders of all batches that were copied into a market's folder."""
    return sorted(path.parent for path in (Path(market) / BATCHES).glob(f"*/{BATCH_TOML}"))
