"""``rypt.toml``: where the texts of a campaign are and how it is scored; read strictly, so no typing mistake passes."""

import json
import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from rypt.options import MODELS, TIES, UNKNOWN_AS, check_option
from rypt.text import InputError, RyptError, open_output

SETTINGS = "rypt.toml"
Section = TypeVar("Section", "Files", "Scoring", "Languages")


@dataclass(frozen=True, slots=True)
class Files:
    """Where the texts are, relative to the campaign's folder."""

    source: str
    trees: str | None = None
    nbest: list[str] = field(default_factory=list)
    alignments: list[str] = field(default_factory=list)
    references: list[str] = field(default_factory=list)
    lexicon: str | None = None
    database: str = "judgments.db"


@dataclass(frozen=True, slots=True)
class Scoring:
    """How constituents are asked about and scored."""

    max_len: int = 4
    model: str = "percolation"
    unknown: str = "half"
    ties: str = "unknown"

    def __post_init__(self) -> None:
        check_option("model", self.model, MODELS)
        check_option("unknown", self.unknown, UNKNOWN_AS)
        check_option("ties", self.ties, TIES)
        if self.max_len < 1:
            raise RyptError(f"expected max_len of at least 1, found {self.max_len}")


@dataclass(frozen=True, slots=True)
class Languages:
    """The languages of source and candidates, such as de and en."""

    source: str | None = None
    target: str | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """All sections of ``rypt.toml``."""

    files: Files
    scoring: Scoring = Scoring()
    languages: Languages = Languages()


def read_settings(folder: Path) -> Settings:
    """Read the settings of a campaign; unknown names and wrong types are errors."""
    path = folder / SETTINGS
    if not path.is_file():
        raise InputError(folder, None, f"expected a campaign, a folder with {SETTINGS} ('rypt init' makes one)")
    try:
        sections = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(path, None, f"expected TOML: {error}") from None
    known = [f.name for f in fields(Settings)]
    for name in sections:
        if name not in known:
            raise InputError(path, None, f"unknown section [{name}], expected one of {', '.join(known)}")
    return Settings(
        _section(Files, "files", sections, path),
        _section(Scoring, "scoring", sections, path),
        _section(Languages, "languages", sections, path),
    )


def _section(kind: type[Section], name: str, sections: dict[str, Any], path: Path) -> Section:
    values = sections.get(name, {})
    if not isinstance(values, dict):
        raise InputError(path, None, f"expected [{name}] as a section, found {values!r}")
    known = {f.name: f.type for f in fields(kind)}
    for setting, value in values.items():
        if setting not in known:
            raise InputError(path, None, f"unknown setting {setting!r} in [{name}], expected {', '.join(known)}")
        said, fits = _expected(known[setting], value)
        if not fits:
            raise InputError(path, None, f"expected {setting} in [{name}] as {said}, found {value!r}")
    try:
        return kind(**values)
    except TypeError:
        raise InputError(path, None, f"a setting of [{name}] is missing, expected {', '.join(known)}") from None
    except RyptError as error:
        raise InputError(path, None, f"[{name}]: {error}") from None


def _expected(kind: Any, value: Any) -> tuple[str, bool]:
    """What a setting must be, in words, and whether it is."""
    if kind == list[str]:
        return "a list of texts", isinstance(value, list) and all(isinstance(item, str) for item in value)
    if kind is int:
        return "a whole number", isinstance(value, int) and not isinstance(value, bool)
    return "a text", isinstance(value, str)


def write_settings(settings: Settings, folder: Path) -> None:
    """Write ``rypt.toml``, leaving out what is empty."""
    with open_output(folder / SETTINGS) as stream:
        for section in fields(settings):
            values = getattr(settings, section.name)
            stream.write(f"[{section.name}]\n")
            for setting in fields(values):
                value = getattr(values, setting.name)
                if value:
                    stream.write(f"{setting.name} = {json.dumps(value, ensure_ascii=False)}\n")
            stream.write("\n")
