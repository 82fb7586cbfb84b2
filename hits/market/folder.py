"""The folder of a local market as both sides know it: ``market.json``, and copies of the published batches.

    market.json   keys, tokens, and how the market is served; made by the server, readable by its owner only
    market.db     the market's data; only the server opens it (`hits.server.store`)
    batches/ID    a copy of each published batch, by which the server knows controls, training and languages

Links and keys survive a restart of the server: ``market.json`` is made once, then only what changes is replaced.
"""

import hmac
import json
import os
import secrets
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from hits.batch.folder import BATCH_CSV, BATCH_TOML, TEMPLATE, TRAINING_CSV
from rypt.strict import parse_json
from rypt.text import InputError, PathLike, RyptError

ACCESS_NAME = "market.json"
STORE_NAME = "market.db"
BATCHES = "batches"
FOLDER_NOTE = "folder.txt"  # beside a copied batch: from which folder it came
CODE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # none that people confuse
PARAMETERS = ("PROLIFIC_PID", "participantId", "workerId")  # of Prolific, of Connect, of many others
KEY_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


def _letters(letters: str, size: int) -> str:
    return "".join(secrets.choice(letters) for _ in range(size))


@dataclass(frozen=True, slots=True)
class MarketAccess:
    """``market.json``: the requester's keys, the dashboard's token, what signs cookies, and how the market is served.

    ``parameter``, ``hits_each`` and ``completion_code`` are those of the shared link (`hits.server.settings`).
    """

    access_key: str = field(default_factory=lambda: "AKIA" + _letters(KEY_LETTERS, 16))
    secret_key: str = field(default_factory=lambda: secrets.token_urlsafe(30), repr=False)
    dashboard_token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    session_key: str = field(default_factory=lambda: secrets.token_hex(32), repr=False)
    join_key: str = field(default_factory=lambda: secrets.token_urlsafe(12), repr=False)
    completion_code: str = field(default_factory=lambda: _letters(CODE_LETTERS, 8))
    parameter: str = PARAMETERS[0]
    hits_each: int = 0
    url: str = ""

    @property
    def base(self) -> str:
        return self.url.rstrip("/")

    @property
    def dashboard_url(self) -> str:
        """The requester's page, with the token that opens it once; empty where the market was never served."""
        return f"{self.base}/dashboard?token={self.dashboard_token}" if self.url else ""

    @property
    def shared_url(self) -> str:
        """The link for all, with a place for the recruiting service's id as Prolific writes it, or named."""
        place = f"{{{{%{self.parameter}%}}}}" if self.parameter in PARAMETERS else "PARTICIPANT"
        return f"{self.base}/join/{self.join_key}?{self.parameter}={place}"

    def invitation_url(self, token: str) -> str:
        return f"{self.base}/w/{token}"


def open_access(folder: PathLike) -> MarketAccess:
    """Read the ``market.json`` of a folder; the folder and the file are made if they do not exist."""
    path = Path(folder) / ACCESS_NAME
    try:
        private_folder(path.parent)
        if not path.exists():
            fresh = _write_private(path, _as_json(MarketAccess()))
            try:
                os.link(fresh, path)  # of two processes the first makes it
            except FileExistsError:
                pass
            finally:
                fresh.unlink()
    except OSError as error:
        raise RyptError(f"{path}: {error.strerror or error}") from None
    return read_access(folder)


def read_access(folder: PathLike) -> MarketAccess:
    path = Path(folder) / ACCESS_NAME
    try:
        values = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(path, None, f"expected the settings of a market: {error}") from None
    types = {part.name: part.type for part in fields(MarketAccess)}
    if not isinstance(values, dict) or {name: type(value) for name, value in values.items()} != types:
        raise InputError(path, None, f"expected the settings {', '.join(types)}")
    return MarketAccess(**values)


def change_access(folder: PathLike, **changes: Any) -> MarketAccess:
    """Change some of ``market.json``, which is replaced as a whole."""
    access = read_access(folder)
    changed = replace(access, **changes)
    if changed != access:
        path = Path(folder) / ACCESS_NAME
        _write_private(path, _as_json(changed)).replace(path)
    return changed


def _as_json(access: MarketAccess) -> bytes:
    return json.dumps(asdict(access), indent=2).encode() + b"\n"


def _write_private(path: Path, content: bytes) -> Path:
    """Write a whole file beside the path, readable by its owner only and on the disk; it can take the path's place."""
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return fresh


def served_access(folder: PathLike) -> MarketAccess:
    """Read the ``market.json`` of a market that was served, so that its URL is known."""
    start = f"start it first with `rypt hits serve {folder}`"
    if not (Path(folder) / ACCESS_NAME).exists():
        raise RyptError(f"{folder}: there is no market here; {start}, and wait until it prints its address")
    access = read_access(folder)
    if not access.url:
        raise RyptError(f"{folder}: this market was never served; {start}")
    return access


def private_folder(folder: Path) -> None:
    """Make a folder that only its owner can open, whatever the umask; an existing one is not changed."""
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        folder.chmod(0o700)


def use_dashboard_token(folder: PathLike, token: str) -> bool:
    """Use the dashboard's token, once: if it is right, the next link has another one."""
    expected = read_access(folder).dashboard_token
    if not hmac.compare_digest(token.encode("utf-8", "surrogatepass"), expected.encode()):
        return False
    change_access(folder, dashboard_token=secrets.token_urlsafe(24))
    return True


def keep_batch(market: PathLike, batch: PathLike, name: str) -> None:
    """Copy a batch into a market's folder; existing files are replaced, each as a whole."""
    source, target = Path(batch), Path(market) / BATCHES / name
    files = [file for file in (TRAINING_CSV, TEMPLATE, BATCH_CSV, BATCH_TOML) if (source / file).is_file()]
    try:
        private_folder(target.parent)
        private_folder(target)
        contents = {FOLDER_NOTE: f"{batch}\n".encode()}
        contents |= {file: (source / file).read_bytes() for file in files}  # the last makes it a batch
        for file, content in contents.items():
            _write_private(target / file, content).replace(target / file)
    except OSError as error:
        raise RyptError(f"{target}: {error.strerror or error}") from None


def came_from(copy: Path) -> str:
    """The folder from which a batch was copied, as its publisher named it; empty where that is not known."""
    try:
        return (copy / FOLDER_NOTE).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def kept_batches(market: PathLike) -> list[Path]:
    return sorted(path.parent for path in (Path(market) / BATCHES).glob(f"*/{BATCH_TOML}"))
