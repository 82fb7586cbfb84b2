"""Text files: plain, ``.gz`` or ``-``; positions for messages; writing that is all or nothing."""

import codecs
import gzip
import io
import os
import re
import secrets
import shutil
import stat
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Protocol, TextIO, TypeVar, cast

PathLike = str | Path


T = TypeVar("T")
BROKEN_GZIP = (EOFError, gzip.BadGzipFile, zlib.error)
MESSAGE_SIZE = 1000  # characters of an error message
NumberedLines = Iterable[tuple[int, str]]


class Watch(Protocol):
    """Passes items on, one by one, and shows under a name how many of the total have passed."""

    def __call__(self, items: Iterable[T], what: str, total: int | None = None) -> Iterable[T]:
        """The same items."""


def unwatched(items: Iterable[T], what: str, total: int | None = None) -> Iterable[T]:
    """Pass items on and show nothing."""
    return items


class RyptError(Exception):
    """An error that a user can act on, described in one line."""


class OptionError(RyptError):
    """Options that exclude each other, or an option without the one that it needs: wrong usage (exit code 2)."""


class FormatError(RyptError):
    """Text that cannot be parsed; callers that know its position turn it into an `InputError`."""


class InputError(RyptError):
    """An error in a file, with its path and line.

    >>> str(InputError("dev.nbest.gz", 812, "expected 4 fields between |||, found 3"))
    'dev.nbest.gz:812: expected 4 fields between |||, found 3'
    """

    def __init__(self, path: PathLike, line: int | None, message: str) -> None:
        name = "<stdin>" if str(path) == "-" else str(path)
        super().__init__(f"{name}:{line}: {message}" if line is not None else f"{name}: {message}")
        self._given = (path, line, message)

    def __reduce__(self) -> tuple[type["InputError"], tuple[PathLike, int | None, str]]:
        """Let the error reach the process that waits for a result; exceptions are otherwise made of their text."""
        return type(self), self._given


def read_lines(path: PathLike) -> Iterator[tuple[int, str]]:
    """Numbered lines (from 1) without their line ends; UTF-8, split at LF only, so no Unicode space ends a line."""
    with _open_bytes(path) as stream:
        number = 0
        try:
            for number, raw in enumerate(stream, start=1):
                yield number, raw.rstrip(b"\r\n").decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise InputError(
                path, number, f"expected UTF-8, found byte 0x{error.object[error.start]:02x}"
            ) from None
        except BROKEN_GZIP as error:
            raise InputError(path, number + 1, f"expected a whole gzip file: {error}") from None


def read_bytes(path: PathLike) -> bytearray:
    """A whole file, checked: UTF-8 without NULs; a byte order mark at its beginning is left out."""
    with open_binary_input(path) as stream:
        data = bytearray(stream.read())
    del data[: 3 * data.startswith(codecs.BOM_UTF8)]
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(path, line, f"expected UTF-8, found byte 0x{data[error.start]:02x}") from None
    if (nul := data.find(b"\0")) >= 0:
        raise InputError(path, data.count(b"\n", 0, nul) + 1, "expected text, found a NUL character")
    return data


def _open_bytes(path: PathLike) -> IO[bytes]:
    if str(path) == "-":
        return os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    try:
        if str(path).endswith(".gz"):
            if os.stat(path).st_size == 0:
                raise InputError(path, None, "expected a whole gzip file, found an empty one")
            return cast(IO[bytes], gzip.open(path, "rb"))
        return open(path, "rb")
    except OSError as error:
        raise InputError(path, None, error.strerror or str(error)) from None


@contextmanager
def open_binary_input(path: PathLike) -> Iterator[IO[bytes]]:
    """The bytes of a plain file, of a ``.gz`` or of ``-``; a broken gzip file is an `InputError`."""
    with _open_bytes(path) as stream:
        try:
            yield stream
        except BROKEN_GZIP as error:
            raise InputError(path, None, f"expected a whole gzip file: {error}") from None


@contextmanager
def open_output(path: PathLike) -> Iterator[TextIO]:
    """Write to ``-`` (standard output) or to a file that appears, whole, only when the block ends without an error."""
    if str(path) == "-":
        yield sys.stdout
        return
    with open_binary_output(path) as raw, io.TextIOWrapper(raw, encoding="utf-8") as stream:
        yield stream


@contextmanager
def open_binary_output(path: PathLike) -> Iterator[IO[bytes]]:
    """Like `open_output`, for bytes."""
    if str(path) == "-":
        sys.stdout.flush()
        yield sys.stdout.buffer
        return
    target = Path(path).resolve()
    mode = stat.S_IMODE(target.stat().st_mode) if target.is_file() else None
    name = _unused_name(target)
    try:
        if target.exists() and not target.is_file():  # a device or a pipe, which must not be replaced
            with open(target, "wb") as stream:
                yield stream
            return
        os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else mode))
        zipped = target.suffix == ".gz"
        with (
            cast(IO[bytes], gzip.open(name, "wb", compresslevel=6)) if zipped else open(name, "wb") as stream
        ):
            yield stream
        handle = os.open(name, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
        if mode is not None:
            os.chmod(name, mode)
        os.replace(name, target)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(name)
        if isinstance(error, OSError) and error.filename in (None, name, str(target)):
            raise InputError(path, None, error.strerror or str(error)) from None
        raise


@contextmanager
def new_folder(path: PathLike) -> Iterator[Path]:
    """A folder to fill that appears at ``path``, whole, only when the block ends without an error."""
    target = Path(path)
    building: Path | None = None
    try:
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            kind = "one with files in it" if target.is_dir() else "a file"
            raise InputError(path, None, f"expected a new or empty folder, found {kind}")
        target.parent.mkdir(parents=True, exist_ok=True)
        building = Path(_unused_name(target))
        building.mkdir()
        yield building
        building.rename(target)
    except OSError as error:
        raise InputError(path, None, error.strerror or str(error)) from None
    finally:
        if building is not None:
            shutil.rmtree(building, ignore_errors=True)


def _unused_name(target: Path) -> str:
    """A hidden name beside a file or folder, for what takes its place when it is whole."""
    return str(target.with_name(f".{target.name}.{secrets.token_hex(6)}"))


def shown_message(message: str) -> str:
    """A message as a terminal may show it: one line, no control characters, little of a long text that it quotes.

    >>> shown_message("a.csv:1: expected a name, found '" + "x" * 300 + "'")[-5:]
    "xxx…'"
    >>> shown_message("found " + chr(27) + "[31m") == "found " + chr(92) + "x1b[31m"
    True
    """
    line = " ".join(message.splitlines())
    line = re.sub(r"(['\"])((?:(?!\1).){200})(?:(?!\1).)+\1", r"\1\2…\1", line)
    line = line if len(line) <= MESSAGE_SIZE else f"{line[: MESSAGE_SIZE - 201]}…{line[-200:]}"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)


def plural(count: int, what: str, many: str = "") -> str:
    """A number and what it counts, for messages; ``many`` where the plural does not end in s.

    >>> plural(1, "hit"), plural(2, "hit"), plural(0, "person", "people")
    ('1 hit', '2 hits', '0 people')
    """
    return f"{count} {what if count == 1 else many or what + 's'}"


def one_line(text: str) -> str:
    """Text without line breaks and NULs, which would break files of one record per line."""
    return text if text.isprintable() else re.sub(r"[\r\n\0]+", " ", text)


def is_one_line(text: str) -> bool:
    """Whether a text can stand in a line of a UTF-8 file.

    >>> is_one_line("das Haus"), is_one_line("das\\nHaus"), is_one_line("\\ud800")
    (True, False, False)
    """
    return text.isprintable() or not re.search("[\r\n\0\ud800-\udfff]", text)


def tokenize(text: str) -> list[str]:
    """Tokens are separated by spaces and tabs, as decoders see them; a no-break space is part of a token.

    >>> tokenize("der  Patient wurde\\tisoliert .")
    ['der', 'Patient', 'wurde', 'isoliert', '.']
    """
    tokens = text.replace("\t", " ").split(" ")
    return [token for token in tokens if token] if "" in tokens else tokens


def token_count(text: str) -> int:
    if "  " in text or "\t" in text or text[:1] == " " or text[-1:] == " " or not text:
        return len(tokenize(text))
    return text.count(" ") + 1
