"""The features of a candidate: ``Name= v v``, ``name=value``, ``name: v v``, or numbers alone."""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from rypt.text import FormatError, InputError, PathLike, tokenize


class FeatureField(Mapping[str, float]):
    """The features in a field of a line, read when they are first used: most commands need none."""

    __slots__ = ("_values", "line", "path", "text")

    def __init__(self, text: str, path: PathLike, line: int) -> None:
        self.text = text
        self.path = path
        self.line = line
        self._values: dict[str, float] | None = None

    def _read(self) -> dict[str, float]:
        if self._values is None:
            try:
                self._values = read_features(self.text)
            except FormatError as error:
                raise InputError(self.path, self.line, str(error)) from None
        return self._values

    def __getitem__(self, name: str) -> float:
        return self._read()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())


def read_features(text: str) -> dict[str, float]:
    """Read one field; a name with several values stands for name_0, name_1 …; values without a name are called F.

    >>> read_features("LM0= -2.5 TM0= -1 -2 oov=1")
    {'LM0': -2.5, 'TM0_0': -1.0, 'TM0_1': -2.0, 'oov': 1.0}
    """
    words = tokenize(text)
    single = _single_names(tuple(words[::2]))  # most lists: read in half the time
    if single and len(words) == 2 * len(single) == 2 * text.count("=") and ":" not in text:
        return dict(zip(single, _finite(words[1::2]), strict=True))
    values: list[str] = []
    named = {"F": values}
    for word in words:
        name, equals, value = word.rpartition("=")
        if equals or word[-1] == ":":
            name = name if equals else word[:-1]
            if not name:
                raise FormatError(f"expected the name of a feature, found {word!r}")
            values = named.setdefault(name, [])
        if value and (equals or word[-1] != ":"):
            values.append(value)
    names: list[str] = []
    for name, values in named.items():
        names += [name] if len(values) == 1 else [f"{name}_{i}" for i in range(len(values))]
    features = dict(zip(names, _finite([v for values in named.values() for v in values]), strict=True))
    if len(features) < len(names):
        raise FormatError(f"the feature {next(n for n in names if names.count(n) > 1)} is there twice")
    return features


@lru_cache(maxsize=256)
def _single_names(words: tuple[str, ...]) -> list[str]:
    """The names in ``Name= v Name= v``, where each has one value; none in any other field."""
    names = [word[:-1] for word in words]
    plain = all(word[-1] == "=" and name and "=" not in name for word, name in zip(words, names, strict=True))
    return names if plain and len(set(names)) == len(names) else []


def _finite(words: Sequence[str]) -> list[float]:
    joined = "".join(words)
    if joined.isascii() and joined.isprintable() and "_" not in joined:
        try:
            numbers = list(map(float, words))
        except ValueError:
            numbers = [math.nan]
        if math.isfinite(sum(map(abs, numbers))):
            return numbers
    return list(map(finite, words))


def finite(text: str | float) -> float:
    """A number; NaN, infinity and words are refused, and so is what only Python reads as a number, such as 1_000."""
    plain = not isinstance(text, str) or (text.isascii() and text.isprintable() and "_" not in text)
    try:
        value = float(text) if plain else math.nan
    except (ValueError, OverflowError):
        value = math.nan
    if not math.isfinite(value):
        raise FormatError(f"expected a finite number, found {text!r}")
    return value
