"""A folder of programs with the names of Moses', for ``mert-moses.pl --mertdir``.

Each is a shell script of two lines that runs the Python given to it, so it does not matter what ``PATH`` says later.
A ``#!`` line with the Python itself would not do: the system cuts it at 127 bytes or at a blank.
"""

import os
import re
import shlex
import tempfile
from pathlib import Path

from rypt.text import InputError, PathLike, RyptError

PROGRAMS = ("extractor", "mert", "pro", "kbmira", "evaluator")
MODULE = "mert.moses.programs"


def script(program: str, python: PathLike) -> str:
    """The text of a program; ``-P`` keeps modules of the folder it is run in out of the way."""
    return f'#!/bin/sh\nexec {shlex.quote(str(python))} -P -m {MODULE} {shlex.quote(program)} "$@"\n'


def write_scripts(folder: PathLike, python: PathLike) -> Path:
    """Make the folder and whatever is missing or different in it; returns its full path."""
    target = Path(folder).absolute()
    if not re.fullmatch(r"[\w@%+=:,./-]+", str(target)):
        raise RyptError(
            f"{target}: mert-moses.pl needs a folder without blanks in its path; name one with --folder"
        )
    if not str(python):
        raise RyptError("this Python does not know where it is")
    try:
        target.mkdir(parents=True, exist_ok=True)
        for program in PROGRAMS:
            _write(target / program, script(program, python))
    except OSError as error:
        raise InputError(target, None, f"{error.strerror}; name another place with --folder") from None
    return target


def _write(path: Path, text: str) -> None:
    """Write an executable file, whole or not at all; one that is right already is left alone."""
    if path.is_file() and os.access(path, os.X_OK) and path.read_bytes() == text.encode():
        return
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with open(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        os.chmod(name, 0o755)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
