"""Z-MERT's configuration file: one ``-setting value`` a line, ``#`` begins a comment.

Everything is read strictly: a setting that is unknown, given twice or out of range is refused with its line.
"""

import math
import re
from dataclasses import dataclass
from pathlib import Path

from rypt.text import InputError, PathLike, read_lines

LISTS = ("-m", "-docSet", "-damianos")  # these have more than one value
OTHERS = (
    "-dir -s -r -rps -p -docInfo -fin -cmd -decOut -decExit -dcfg -fake -N -txtNrm -maxIt -prevIt -minIt -stopIt -stopSig "
    "-thrCnt -save -compress -ipi -opi -rand -seed -passIt -v -decV"
)
KNOWN = [*OTHERS.split(), *LISTS]
REFUSED = {  # settings that are supported with one value only, and why not with others
    "-opi": ("0", "each iteration climbs until no weight can be bettered"),
    "-damianos": ("0", "random starts are drawn from the ranges of the parameter file"),
    "-docSet": ("all", "scores are those of all segments together, not of documents"),
    "-compress": ("0", "the folder of the run keeps all lists compressed"),
}


@dataclass(frozen=True, slots=True)
class Configuration:
    """The settings of a configuration file: the values of each, with its line."""

    path: PathLike
    settings: dict[str, tuple[int, tuple[str, ...]]]

    def __contains__(self, name: str) -> bool:
        return name in self.settings

    def error(self, name: str, message: str) -> InputError:
        """An error in the line of a setting; a default has no line."""
        line, words = self.settings.get(name, (None, ()))
        return InputError(self.path, line, " ".join([name, *words]) + f": {message}")

    def words(self, name: str, default: tuple[str, ...]) -> tuple[str, ...]:
        """All values of a setting."""
        return self.settings[name][1] if name in self.settings else default

    def whole(self, name: str, default: int, least: int, most: int | None = None) -> int:
        """A whole number within limits."""
        if name not in self.settings:
            return default
        (word,) = self.settings[name][1]
        value = int(word) if re.fullmatch("[+-]?[0-9]{1,18}", word) else None
        if value is None or value < least or (most is not None and value > most):
            limits = f"from {least} up" if most is None else f"from {least} to {most}"
            raise self.error(name, f"expected a whole number {limits}")
        return value

    def flag(self, name: str) -> bool:
        """0, which is the default, or 1."""
        return self.whole(name, 0, 0, 1) == 1

    def number(self, name: str, default: float) -> float:
        """A finite number."""
        if name not in self.settings:
            return default
        (word,) = self.settings[name][1]
        try:
            value = float(word)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self.error(name, "expected a number")
        return value

    @property
    def folder(self) -> Path:
        """The folder that all other paths start from: ``-dir``, or the current folder."""
        (word,) = self.words("-dir", (".",))
        if not Path(word).is_dir():
            raise self.error("-dir", "no such folder")
        return Path(word)

    def place(self, name: str, default: str) -> Path:
        """The path of a file, which need not exist."""
        (word,) = self.words(name, (default,))
        return self.folder / word

    def file(self, name: str, default: str) -> Path:
        """The path of a file that must exist."""
        path = self.place(name, default)
        if not path.is_file():
            raise self.error(name, f"no such file: {path}")
        return path


def read_configuration(path: PathLike) -> Configuration:
    """Read a configuration file."""
    settings: dict[str, tuple[int, tuple[str, ...]]] = {}
    for number, line in read_lines(path):
        name, *words = line.partition("#")[0].split() or [""]
        if not name:
            continue
        if name not in KNOWN:
            expected = (
                f"expected one of {', '.join(KNOWN)}" if name.startswith("-") else "expected -setting value"
            )
            raise InputError(path, number, f"unknown setting {name}: {expected}")
        if name in settings:
            raise InputError(path, number, f"{name} is given twice, first in line {settings[name][0]}")
        if not words or (len(words) > 1 and name not in LISTS):
            values = "none" if not words else f"{len(words)}: {' '.join(words)}"
            raise InputError(path, number, f"{name}: expected one value, found {values}")
        settings[name] = number, tuple(words)
    config = Configuration(path, settings)
    for name, (only, why) in REFUSED.items():
        if config.words(name, (only,))[0] != only:
            raise config.error(name, f"not supported: {why}; expected {only}")
    if "-docInfo" in config:
        raise config.error("-docInfo", "not supported: scores are those of all segments together")
    if config.whole("-save", 3, 0, 3) in (1, 2):
        raise config.error("-save", "expected 3, configurations and lists of all iterations, or 0, none")
    config.whole("-v", 1, 0, 4)
    config.whole("-decV", 1, 0, 1)
    return config
