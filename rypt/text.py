"""Text files: plain, ``.gz`` or ``-``; positions for messages; writing that is all or nothing."""

import gzip
import os
import re
import stat
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TextIO, cast

PathLike = str | Path


NumberedLines = Iterable[tuple[int, str]]
Watch = Callable[[NumberedLines, str], NumberedLines]  # passes lines on and shows, under a name, how far it is


def unwatched(lines: NumberedLines, what: str) -> NumberedLines:
    """Pass lines on and show nothing."""
    return lines


class RyptError(Exception):
    """A mistake outside the program, said in one line that a user can act on."""


class FormatError(RyptError):
    """Text that cannot be read; whoever knows its position turns it into an `InputError`."""


class InputError(RyptError):
    """What is wrong in which line of which file.

    >>> str(InputError("dev.nbest.gz", 812, "expected 4 fields between |||, found 3"))
    'dev.nbest.gz:812: expected 4 fields between |||, found 3'
    """

    def __init__(self, path: PathLike, line: int | None, message: str) -> None:
        name = "<stdin>" if str(path) == "-" else str(path)
        super().__init__(f"{name}:{line}: {message}" if line is not None else f"{name}: {message}")


def read_lines(path: PathLike) -> Iterator[tuple[int, str]]:
    """Numbered lines (from 1) without their line ends; UTF-8, split at LF only, so no Unicode space ends a line."""
    with _open_bytes(path) as stream:
        number = 0
        try:
            for number, raw in enumerate(stream, start=1):
                yield number, raw.rstrip(b"\r\n").decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise InputError(path, number, f"expected UTF-8, found byte 0x{error.object[error.start]:02x}") from None
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise InputError(path, number + 1, f"expected a whole gzip file: {error}") from None


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
def open_output(path: PathLike) -> Iterator[TextIO]:
    """Write to ``-`` (standard output) or to a file that appears, whole, only when the block ends without an error."""
    if str(path) == "-":
        yield sys.stdout
        return
    target = Path(path).resolve()
    mode = stat.S_IMODE(target.stat().st_mode) if target.is_file() else 0o666 & ~_umask()
    try:
        if target.exists() and not target.is_file():  # a device or a pipe, which must not be replaced
            with _open_for_writing(str(target), zipped=False) as stream:
                yield stream
            return
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise InputError(path, None, error.strerror or str(error)) from None
    try:
        os.close(handle)
        with _open_for_writing(name, zipped=target.suffix == ".gz") as stream:
            yield stream
        _flush_to_disk(name)
        os.chmod(name, mode)
        os.replace(name, target)
    except BaseException as error:
        Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, name):
            raise InputError(path, None, error.strerror or str(error)) from None
        raise


def _open_for_writing(name: str, *, zipped: bool) -> TextIO:
    if zipped:
        return cast(TextIO, gzip.open(name, "wt", encoding="utf-8"))
    return open(name, "w", encoding="utf-8")


def _flush_to_disk(name: str) -> None:
    handle = os.open(name, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def one_line(text: str) -> str:
    """Text without line breaks and NULs, which would break files of one record a line."""
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
    return [token for token in text.replace("\t", " ").split(" ") if token]
