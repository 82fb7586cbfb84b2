"""``rypt.toml``: where the texts of a campaign are, how it is scored, and how its loop runs; read strictly.

Unknown names and wrong types are errors. Amounts of money may be texts or numbers.

>>> Languages.parse("en:zh-Hans")
Languages(source='en', target='zh-Hans', segmenter=None)
"""

import os
import re
from dataclasses import dataclass, field, fields
from decimal import Decimal
from pathlib import Path
from typing import Any

import tomli_w

from rypt.options import MODELS, TIES, UNKNOWN_AS, check_option, money
from rypt.strict import SyntaxFormatError, parse_toml
from rypt.text import InputError, OptionError, PathLike, RyptError, open_output

SETTINGS = "rypt.toml"
EXPECTED: dict[Any, str] = {
    str: "a text",
    str | None: "a text",
    list[str]: "a list of texts",
    int: "a whole number",
    bool: "true or false",
    float | None: "a number",
    Decimal | None: 'an amount of dollars such as "25.00"',
}  # what a setting must be, by its type
FUNCTION = re.compile(r"[A-Za-z_]\w*(\.\w+)*:[A-Za-z_]\w*")  # a decoder that is a Python function


@dataclass(frozen=True, slots=True)
class Files:
    """Where the texts are, relative to the campaign's folder.

    ``alignments`` has a file for each list in ``nbest``, or "" for one that has its alignments inside.
    """

    source: str
    trees: str | None = None
    nbest: list[str] = field(default_factory=list)
    alignments: list[str] = field(default_factory=list)
    references: list[str] = field(default_factory=list)
    lexicon: str | None = None
    database: str = "judgments.db"


@dataclass(frozen=True, slots=True)
class Scoring:
    """How constituents are selected for questions, and scored."""

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
    """The languages of source and candidates, such as de and en.

    ``segmenter`` names what found the words of scripts without spaces, such as icu-78.3; signatures repeat it.
    """

    source: str | None = None
    target: str | None = None
    segmenter: str | None = None

    def __post_init__(self) -> None:
        if self.segmenter is not None and not re.fullmatch(r"[\w.+-]+", self.segmenter):
            what = "a segmenter with its version such as icu-78.3"
            raise RyptError(f"expected {what}, found {self.segmenter!r}")

    @classmethod
    def parse(cls, pair: str) -> "Languages":
        """The languages of a pair such as de-en, or en:zh-Hans where a language has a hyphen itself."""
        languages = pair.split(":" if ":" in pair else "-")
        if len(languages) != 2:
            raise OptionError(f"expected a language pair such as de-en or en:zh-Hans, got {pair!r}")
        return cls(languages[0] or None, languages[1] or None)


@dataclass(frozen=True, slots=True)
class DecoderSettings:
    """The decoder: a shell command with ``{weights}`` and ``{nbest}`` in it, or ``package.module:function``.

    It runs in ``folder``, which is relative to the campaign's, as is the file of ``weights`` to start with.
    ``timeout`` is in seconds.
    """

    command: str | None = None
    weights: str | None = None
    folder: str = "."
    timeout: float | None = None

    @classmethod
    def run_from_here(
        cls, campaign: PathLike, command: str | None, weights: PathLike | None = None
    ) -> "DecoderSettings":
        """The settings of a decoder that runs in the current folder, for a campaign in another."""
        return cls(
            command,
            None if weights is None else os.path.relpath(weights, campaign),
            os.path.relpath(".", campaign) if command else ".",
        )

    def __post_init__(self) -> None:
        if self.timeout is not None and not self.timeout > 0:
            raise RyptError(f"expected a timeout above 0 seconds, found {self.timeout:g}")
        if self.command is None or FUNCTION.fullmatch(self.command.strip()):
            return
        if "{nbest}" not in self.command:
            raise RyptError("expected {nbest} in the decoder's command, the file it writes its list to")
        if "{weights}" not in self.command and "{config}" not in self.command:
            message = (
                "expected {weights} or {config} in the decoder's command, the file it reads weights from"
            )
            raise RyptError(message)


@dataclass(frozen=True, slots=True)
class MarketSettings:
    """Where the workers are: the folder of a local market, or the endpoint of another; and what they are paid.

    ``wage`` is in dollars an hour. With ``severity`` label pages ask how bad a NO is.
    """

    folder: str = "market"
    endpoint: str | None = None
    wage: Decimal | None = None
    assignments: int = 1
    severity: bool = False

    @property
    def fees(self) -> str:
        """Whose fees the market takes: "local", which takes none, or "mturk"."""
        return "local" if self.endpoint is None else "mturk"

    @classmethod
    def located_at(
        cls, campaign: PathLike, place: str | None, wage: Decimal | None = None, assignments: int = 1
    ) -> "MarketSettings":
        """The settings of a market at an endpoint, in a folder, or by default in the campaign's folder."""
        if place is not None and "://" in place:
            return cls(endpoint=place, wage=wage, assignments=assignments)
        folder = os.path.relpath(place, campaign) if place else "market"
        return cls(folder, wage=wage, assignments=assignments)

    def __post_init__(self) -> None:
        if self.endpoint is not None and not self.endpoint.startswith(("http://", "https://")):
            what = "an endpoint that begins with http:// or https://"
            raise RyptError(f"expected {what}, found {self.endpoint!r}")
        if not 1 <= self.assignments <= 1000:
            raise RyptError(f"expected 1 to 1000 assignments, found {self.assignments}")


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """Limits of the loop: total budget, questions per iteration, and when to stop.

    ``labels`` is the maximum number of new questions per iteration; ``select`` takes first those whose answers may
    change which candidates are best ("value"), or those that serve the most candidates ("all").
    ``exclude_bad`` excludes the judgments of workers with a bad verdict; ``block_bad`` also gives those workers no
    further hits.
    """

    budget: Decimal | None = None
    labels: int = 200
    select: str = "value"
    patience: int = 2
    max_iterations: int = 10
    exclude_bad: bool = True
    block_bad: bool = False
    seed: int = 1

    def __post_init__(self) -> None:
        check_option("select", self.select, ("value", "all"))
        for name in ("labels", "patience", "max_iterations"):
            if getattr(self, name) < 1:
                raise RyptError(f"expected {name} of at least 1, found {getattr(self, name)}")
        if self.block_bad and not self.exclude_bad:
            raise RyptError("expected exclude_bad with block_bad: a blocked worker's judgments do not count")
        if self.seed < 0:
            raise RyptError(f"expected a seed of at least 0, found {self.seed}")


@dataclass(frozen=True, slots=True)
class CampaignSettings:
    files: Files
    scoring: Scoring = Scoring()
    languages: Languages = Languages()
    decoder: DecoderSettings = DecoderSettings()
    market: MarketSettings = MarketSettings()
    loop: LoopSettings = LoopSettings()


def read_settings(folder: Path) -> CampaignSettings:
    path = folder / SETTINGS
    if not path.is_file():
        command = "rypt init FOLDER --source SOURCE --nbest LIST --languages SRC-TGT"
        message = f"expected a campaign, a folder with {SETTINGS}; `{command}` makes one"
        raise InputError(folder, None, message)
    try:
        sections = parse_toml(path.read_bytes().decode("utf-8"), parse_float=Decimal)
    except (UnicodeDecodeError, SyntaxFormatError) as error:
        raise InputError(path, None, f"expected TOML: {error}") from None
    kinds = {section.name: section.type for section in fields(CampaignSettings)}
    try:
        if unknown := next((name for name in sections if name not in kinds), None):
            raise RyptError(f"unknown section [{unknown}], expected one of {', '.join(kinds)}")
        values = {name: _section(kind, name, sections.get(name, {})) for name, kind in kinds.items()}
        return CampaignSettings(**values)
    except RyptError as error:
        raise InputError(path, None, str(error)) from None


def _section(kind: Any, name: str, values: Any) -> Any:
    if not isinstance(values, dict):
        raise RyptError(f"expected [{name}] as a section, found {values!r}")
    types = {setting.name: setting.type for setting in fields(kind)}
    checked = {}
    for setting, value in values.items():
        if setting not in types:
            raise RyptError(f"unknown setting {setting!r} in [{name}], expected {', '.join(types)}")
        checked[setting] = _value(types[setting], value)
        if checked[setting] is None:
            shown = str(value) if isinstance(value, Decimal) else repr(value)
            raise RyptError(f"expected {setting} in [{name}] as {EXPECTED[types[setting]]}, found {shown}")
    try:
        return kind(**checked)
    except TypeError:
        raise RyptError(f"a setting of [{name}] is missing, expected {', '.join(types)}") from None
    except RyptError as error:
        raise RyptError(f"[{name}]: {error}") from None


def _value(kind: Any, value: Any) -> Any:
    """The value of a setting of this type, None where it is something else."""
    number = isinstance(value, int | Decimal) and not isinstance(value, bool)
    if kind == list[str]:
        return value if isinstance(value, list) and all(isinstance(item, str) for item in value) else None
    if kind == float | None:
        return float(value) if number and Decimal(value).is_finite() else None
    if kind == Decimal | None:
        return money(str(value)) if number or isinstance(value, str) else None
    if kind is int:
        return value if number and isinstance(value, int) else None
    return value if isinstance(value, bool if kind is bool else str) else None


def write_settings(settings: CampaignSettings, folder: Path) -> None:
    """Write ``rypt.toml`` without empty values; market and loop are included where there is a decoder."""
    defaults = CampaignSettings(settings.files)
    sections: dict[str, dict[str, Any]] = {}
    for section in fields(settings):
        values = getattr(settings, section.name)
        optional = section.name in ("decoder", "market", "loop") and not settings.decoder.command
        if not optional or values != getattr(defaults, section.name):
            pairs = ((setting.name, getattr(values, setting.name)) for setting in fields(values))
            sections[section.name] = {
                name: str(value) if isinstance(value, Decimal) else value  # so that no digit is lost
                for name, value in pairs
                if value not in (None, "", [])
            }
    with open_output(folder / SETTINGS) as stream:
        stream.write(tomli_w.dumps(sections))


def add_list(folder: Path, name: str) -> CampaignSettings:
    """Add an n-best list, with its alignments inside, to ``[files]``; comments and order of the file stay."""
    import tomlkit

    settings = read_settings(folder)
    if name in settings.files.nbest:
        return settings
    document = tomlkit.parse((folder / SETTINGS).read_bytes().decode("utf-8"))
    files: Any = document["files"]
    files.setdefault("nbest", tomlkit.array()).append(name)
    if settings.files.alignments:
        files["alignments"].append("")
    with open_output(folder / SETTINGS) as stream:
        stream.write(tomlkit.dumps(document))
    return read_settings(folder)
