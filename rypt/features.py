"""The features of a candidate: ``Name= v v``, ``name=value``, ``name: v v``, or numbers alone."""

import math

from rypt.text import FormatError


class FeatureReader:
    """Read the feature fields of a list, whose lines mostly have the same labels at the same places.

    A name with several values stands for name_0, name_1 …; values without a name are called F.

    >>> FeatureReader()("LM0= -2.5 TM0= -1 -2 oov=1")
    {'LM0': -2.5, 'TM0_0': -1.0, 'TM0_1': -2.0, 'oov': 1.0}
    """

    def __init__(self) -> None:
        self._size = -1
        self._labels: list[tuple[int, str]] = []
        self._values: list[int] = []
        self._names: list[str] = []

    def __call__(self, text: str) -> dict[str, float]:
        """Read one field."""
        words = text.split()
        if len(words) == self._size and all(words[i] == label for i, label in self._labels):
            try:
                values = [float(words[i]) for i in self._values]
            except ValueError:
                return _read(words)
            if math.isfinite(sum(values)):
                return dict(zip(self._names, values, strict=True))
        features = _read(words)
        self._learn(words, features)
        return features

    def _learn(self, words: list[str], features: dict[str, float]) -> None:
        """Remember where labels and values stand, unless they stand in one word."""
        labels = [(i, word) for i, word in enumerate(words) if word.endswith(("=", ":"))]
        values = [i for i, word in enumerate(words) if not word.endswith(("=", ":"))]
        if not any("=" in words[i] for i in values) and len(values) == len(features):
            self._size, self._labels, self._values, self._names = len(words), labels, values, list(features)


def _read(words: list[str]) -> dict[str, float]:
    named: dict[str, list[float]] = {}
    name = "F"
    for word in words:
        label, equals, value = word.rpartition("=")
        if equals:
            name = label
            named.setdefault(name, []).extend([finite(value)] if value else [])
        elif word.endswith(":"):
            name = word[:-1]
        else:
            named.setdefault(name, []).append(finite(word))
    return {
        name if len(values) == 1 else f"{name}_{i}": value
        for name, values in named.items()
        for i, value in enumerate(values)
    }


def finite(text: str | float) -> float:
    """A number; NaN, infinity and words are refused."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise FormatError(f"expected a finite number, found {text!r}")
    return value
