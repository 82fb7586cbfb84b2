"""Files of weights: Moses (``Name= v v``, or the ``[weight]`` part of a moses.ini), ``name value``, JSON, params.txt.

A file is written back as it was read, with other numbers: comments, order and everything else stay.
"""

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from mert.constraints import UNBOUNDED, Constraints, Normalization
from rypt.arrays import Floats
from rypt.text import FormatError, InputError, PathLike, open_output, read_bytes
from rypt.texts.formats import finite

UNLABELLED = re.compile(r"F(_\d+)?")
NORMALIZATIONS = {"absval": "weight", "maxabsval": "max", "minabsval": "min"}
WORD = re.compile(r"\S+")
JSON_MEMBER = re.compile(r'"(?:[^"\\]|\\.)*"\s*:\s*([^\s,}]+)')  # of an object of numbers
PARAMS_LINE = "name ||| value Opt|Fix min max random-min random-max"


@dataclass(frozen=True, slots=True)
class WeightEntry:
    """One weight of a file: its name and value, its line, and the stretch of the text in which the value stands."""

    name: str
    value: float
    line: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class WeightsFile:
    """A file of weights: what it says, and what is needed to write it with other numbers."""

    path: PathLike
    form: str  # moses, ini, lines, json, params
    text: str
    entries: tuple[WeightEntry, ...]
    constraints: Constraints = field(default_factory=Constraints)

    @property
    def values(self) -> dict[str, float]:
        """The weights by the names of their features."""
        return {entry.name: entry.value for entry in self.entries}

    def match(
        self, names: Sequence[str], sparse: Sequence[str] = (), *, open_ended: bool = False
    ) -> tuple[tuple[str, ...], Floats, Floats]:
        """The names of the features (those of params.txt, where the list has none), their weights, the sparse ones.

        Sparse features without a weight have 0. The other features must all have one, and all weights must be of
        features, but that a moses.ini may have more, for Moses prints only those that can be tuned, and any file may
        where lists leave out what is 0 (``open_ended``). Bounds in the file must hold there.
        """
        if self.form == "params" and all(UNLABELLED.fullmatch(name) for name in names):
            if len(names) != len(self.entries):
                message = f"expected {len(names)} parameters, as many as the lists have features"
                raise InputError(self.path, None, f"{message}, found {len(self.entries)}")
            names = [entry.name for entry in self.entries]
        for entry in self.entries:
            low, high = self.constraints.bounds.get(entry.name, UNBOUNDED)
            if not low <= entry.value <= high:
                message = f"the bounds {low:g}..{high:g} of {entry.name} exclude its start {entry.value:g}"
                raise InputError(self.path, entry.line, message)
        values = self.values
        missing = [name for name in names if name not in values]
        known = {*names, *sparse}
        for entry in self.entries:
            lenient = open_ended or self.form == "ini" or (sparse and "_" in entry.name)
            if entry.name not in known and not lenient:
                expected = f"the lists have {', '.join(names)}"
                raise InputError(
                    self.path, entry.line, f"a weight of {entry.name}, which is not a feature: {expected}"
                )
        if missing:
            raise InputError(
                self.path, None, f"expected weights of all features, missing {', '.join(missing)}"
            )
        dense = np.array([values[name] for name in names], dtype=np.float64)
        held = [values.get(name, 0.0) for name in sparse]
        return tuple(names), dense, np.array(held, dtype=np.float64)

    def with_weights(self, names: Sequence[str], weights: Floats) -> str:
        """The text of the file with these weights."""
        values = dict(zip(names, weights.tolist(), strict=True))
        parts, place = [], 0
        for entry in self.entries:
            if entry.name in values:
                parts += [self.text[place : entry.start], repr(values[entry.name])]
                place = entry.stop
        return "".join(parts) + self.text[place:]

    def write(self, path: PathLike, names: Sequence[str], weights: Floats) -> None:
        """Write the file, whole or not at all; reading it back gives the same numbers."""
        text = self.with_weights(names, weights)
        with open_output(path) as stream:
            stream.write(text)


def read_weights(path: PathLike) -> WeightsFile:
    """Read weights in any of the forms."""
    text = read_bytes(path).decode()
    lines = text.split("\n")
    form = _form(lines)
    constraints = Constraints()
    entries: dict[str, WeightEntry] = {}
    if form == "json":
        for entry in _read_json(path, text):
            _add(path, entries, entry)
    place, inside = 0, form != "ini"
    for number, raw in enumerate(lines if form != "json" else (), start=1):
        line = raw.strip()
        try:
            if form == "ini" and line.startswith("["):
                inside = line == "[weight]"
            elif form == "params" and re.match(r"normalization\s*=", line):
                constraints = _with_normalization(constraints, line.partition("=")[2].split())
            elif inside and line and not line.startswith("#"):
                for entry in _read_line(raw, form, number, place):
                    _add(path, entries, entry)
                if form == "params":
                    constraints = _with_limits(constraints, next(reversed(entries.values())), line)
        except FormatError as error:
            raise InputError(path, number, str(error)) from None
        place += len(raw) + 1
    if not entries:
        raise InputError(path, None, "expected weights, found none")
    return WeightsFile(path, form, text, tuple(entries.values()), constraints)


def _add(path: PathLike, entries: dict[str, WeightEntry], entry: WeightEntry) -> None:
    if entry.name in entries:
        raise InputError(path, entry.line, f"the weight of {entry.name} is given twice")
    entries[entry.name] = entry


def default_weights(names: Sequence[str], weights: Floats) -> WeightsFile:
    """A file in Moses' form for features that came without one; Name_0, Name_1 … share a line."""
    groups: dict[tuple[str, bool], list[str]] = {}  # a name alone, or what numbered names begin with
    for name in names:
        stem, _, number = name.rpartition("_")
        together = (stem, True)
        numbered = bool(stem) and stem not in names and number == str(len(groups.get(together, ())))
        groups.setdefault(together if numbered else (name, False), []).append(name)
    value = dict(zip(names, weights.tolist(), strict=True))
    entries, text = [], ""
    for line, ((group, _), members) in enumerate(groups.items(), start=1):
        label = members[0] if len(members) == 1 else group
        text += f"{label}="
        for name in members:
            start = len(text) + 1
            text += f" {value[name]!r}"
            entries.append(WeightEntry(name, value[name], line, start, len(text)))
        text += "\n"
    return WeightsFile("weights", "moses", text, tuple(entries))


def _form(lines: Sequence[str]) -> str:
    content = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if content and content[0].startswith("{"):
        return "json"
    if "[weight]" in content:
        return "ini"
    if any("|||" in line for line in content):
        return "params"
    return "moses" if content and content[0].split()[0].endswith("=") else "lines"


def _read_json(path: PathLike, text: str) -> Iterator[WeightEntry]:
    try:
        pairs = json.loads(text, object_pairs_hook=list)
        if not all(isinstance(value, int | float) and not isinstance(value, bool) for _, value in pairs):
            raise FormatError("some value is not a number")
        values = [finite(value) for _, value in pairs]
    except (ValueError, TypeError, RecursionError, FormatError) as error:
        raise InputError(path, None, f"expected a JSON object of names and numbers: {error}") from None
    for (name, _), value, member in zip(pairs, values, JSON_MEMBER.finditer(text), strict=True):
        yield WeightEntry(
            name, value, text.count("\n", 0, member.start()) + 1, member.start(1), member.end(1)
        )


def _read_line(line: str, form: str, number: int, place: int) -> Iterator[WeightEntry]:
    """The weights of a line, which begins at this place of the text."""
    names, values = _parse_line(line, form)
    for name, word in zip(names, values, strict=True):
        yield WeightEntry(name, finite(word.group()), number, place + word.start(), place + word.end())


def _parse_line(line: str, form: str) -> tuple[list[str], list[re.Match[str]]]:
    words = list(WORD.finditer(line))
    first = words[0].group()
    if form in ("moses", "ini"):
        comment = next((i for i, word in enumerate(words) if word.group().startswith("#")), len(words))
        name, values, expected = first[:-1], words[1:comment], "Name= value value …"
        if name and first.endswith("=") and values:
            return [name] if len(values) == 1 else [f"{name}_{i}" for i in range(len(values))], values
    elif form == "params":
        name, values, expected = line.partition("|||")[0].strip(), [], PARAMS_LINE
        if "|||" in line:
            values = list(WORD.finditer(line, line.index("|||") + 3))
        if name and len(values) == 6 and values[1].group() in ("Opt", "Fix"):
            return [name], values[:1]
    else:
        expected = "name value"
        if len(words) == 2 or (len(words) == 3 and words[1].group() == "="):
            return [first], words[-1:]
    raise FormatError(f"expected {expected}, found {line.strip()!r}")


def _with_limits(constraints: Constraints, entry: WeightEntry, line: str) -> Constraints:
    """What a line of params.txt says besides the value."""
    kind, *limits = line.partition("|||")[2].split()[1:]
    if kind == "Fix":
        return replace(constraints, fixed=(*constraints.fixed, entry.name))
    low, high = (_limit(word) for word in limits[:2])
    drawn = (finite(limits[2]), finite(limits[3]))
    bounds, ranges = dict(constraints.bounds), dict(constraints.ranges)
    if math.isfinite(low) or math.isfinite(high):
        bounds[entry.name] = (low, high)
    ranges[entry.name] = drawn
    return replace(constraints, bounds=bounds, ranges=ranges)


def _limit(word: str) -> float:
    return {"-inf": -math.inf, "+inf": math.inf, "inf": math.inf}.get(word.lower()) or finite(word)


def _with_normalization(constraints: Constraints, words: list[str]) -> Constraints:
    """Z-MERT's ``none``, ``absval 1 NAME``, ``maxabsval 1``, ``minabsval 1``, ``LNorm 2 1``."""
    if words == ["none"]:
        return replace(constraints, normalization=Normalization("none"))
    if len(words) >= 2 and words[0] in NORMALIZATIONS and (words[0] == "absval") == (len(words) > 2):
        name = " ".join(words[2:]) or None
        return replace(
            constraints, normalization=Normalization(NORMALIZATIONS[words[0]], _size(words[1]), name)
        )
    if len(words) == 3 and words[0] == "LNorm" and words[1] in ("1", "2", "1.0", "2.0"):
        return replace(constraints, normalization=Normalization(f"l{words[1][0]}", _size(words[2])))
    expected = "none, absval 1 NAME, maxabsval 1, minabsval 1, LNorm 2 1 or LNorm 1 1"
    raise FormatError(f"expected normalization = {expected}, found {' '.join(words)!r}")


def _size(word: str) -> float:
    size = finite(word)
    if not size > 0:
        raise FormatError(f"expected weights scaled to a size above 0, found {word}")
    return size
