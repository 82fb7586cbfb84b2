"""The texts of the worker pages in the worker's language: ``templates/texts.LANGUAGE.toml``."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from hits.batch.markup import text_direction
from hits.batch.page import language_name
from hits.market.qualification_types import language_of
from hits.qualifications import LOCALE, PERCENT_APPROVED
from hits.server.store.records import Record
from rypt.text import RyptError

DEFAULT = "en"
SIGNS = {
    "LessThan": "<",
    "LessThanOrEqualTo": "≤",
    "GreaterThan": ">",
    "GreaterThanOrEqualTo": "≥",
    "NotEqualTo": "≠",
}


@dataclass(frozen=True, slots=True)
class PageTexts:
    language: str
    direction: str
    texts: Mapping[str, str]

    def __getitem__(self, name: str) -> str:
        return self.texts[name]

    def refusal(self, code: str) -> str:
        """What to tell a worker when the market refuses something."""
        return self.texts.get(f"refused_{code.rpartition('.')[2]}") or self.texts["refused"]

    def duration(self, seconds: int) -> str:
        """A time in words, rounded down to what people care about.

        >>> bundled()["en"].duration(1800), bundled()["de"].duration(7300)
        ('30 min', '2 Std.')
        """
        minutes = max(seconds, 0) // 60
        for name, size, limit in (("minutes", 1, 120), ("hours", 60, 2880)):
            if minutes < limit:
                return self[name].format(n=minutes // size)
        return self["days"].format(n=minutes // 1440)

    def mean_time(self, seconds: float) -> str:
        """A measured time in words.

        >>> bundled()["en"].mean_time(44.6), bundled()["en"].mean_time(200)
        ('45 s', '3 min')
        """
        name, number = ("seconds", seconds) if seconds < 100 else ("minutes", seconds / 60)
        return self[name].format(n=max(1, round(number)))

    def qualification(self, name: str, description: str = "") -> tuple[str, str]:
        """Name and description of a qualification; that of reading a language is translated."""
        language = language_of(name)
        if language is None:
            return name, description
        return self["reads"].format(language=language_name(language, self.language)), self["reads_about"]

    def requirement(self, rule: Record) -> str:
        """One requirement (with the Name of its type) in words."""
        kind, comparator = rule["QualificationTypeId"], rule["Comparator"]
        values = rule.get("IntegerValues") or [place["Country"] for place in rule.get("LocaleValues", ())]
        shown = ", ".join(map(str, values))
        if kind == LOCALE and comparator in ("In", "EqualTo"):
            return self["needs_country"].format(places=shown)
        if kind == PERCENT_APPROVED and comparator == "GreaterThanOrEqualTo":
            return self["needs_rate"].format(n=shown)
        name = self.qualification(rule["Name"])[0]
        return " ".join(filter(None, (name, SIGNS.get(comparator, "") if shown else "", shown)))


@cache
def bundled() -> dict[str, PageTexts]:
    languages = {}
    for path in (files("hits.server.pages") / "templates").iterdir():
        name = path.name.split(".")
        if name[0] == "texts" and name[-1] == "toml":
            texts = tomllib.loads(path.read_text(encoding="utf-8"))
            languages[name[1]] = PageTexts(name[1], text_direction(name[1]), texts)
    return dict(sorted(languages.items()))


def consent_paragraphs(folder: Path, languages: Iterable[str]) -> list[str]:
    """The requester's own words on the first page: paragraphs of ``consent.LANGUAGE.txt`` or ``consent.txt``.

    The file of the first of ``languages`` is taken, then the file without a language, then any: what a requester
    wants people to agree to is shown in another language rather than not at all.
    """
    first, *others = languages
    names = [f"consent.{first}.txt", "consent.txt", *(f"consent.{language}.txt" for language in others)]
    names += sorted(path.name for path in folder.glob("consent.*.txt"))
    for name in names:
        if (folder / name).is_file():
            text = (folder / name).read_text(encoding="utf-8", errors="replace")
            return [part.strip() for part in text.split("\n\n") if part.strip()]
    return []


class PageError(RyptError):
    """A request that gets a page of its own instead of what was asked; ``name`` is that of its text."""

    def __init__(self, status: int, name: str) -> None:
        super().__init__(name)
        self.status = status
        self.name = name
