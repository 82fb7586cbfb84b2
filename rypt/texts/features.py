"""The features of a candidate: ``Name= v v``, ``name=value``, ``name: v v``, or numbers alone."""

import math

from rypt.text import FormatError, tokenize


def read_features(text: str) -> dict[str, float]:
    """Read one field; a name with several values stands for name_0, name_1 …; values without a name are called F.

    >>> read_features("LM0= -2.5 TM0= -1 -2 oov=1")
    {'LM0': -2.5, 'TM0_0': -1.0, 'TM0_1': -2.0, 'oov': 1.0}
    """
    return FeatureReader().read(text)


class FeatureReader:
    """Reads the features of many candidates; one whose labels stand where those of the candidate before it stood is
    read without looking at each word.

    >>> reader = FeatureReader()
    >>> [reader.read(text) for text in ("LM0= -2.5 TM0= -1 -2", "LM0= -3 TM0= -1.5 -4")]
    [{'LM0': -2.5, 'TM0_0': -1.0, 'TM0_1': -2.0}, {'LM0': -3.0, 'TM0_0': -1.5, 'TM0_1': -4.0}]
    """

    def __init__(self) -> None:
        self._layout: tuple[list[str | None], tuple[str, ...]] = (
            [],
            (),
        )  # the labels, None for a value; the names

    def read(self, text: str) -> dict[str, float]:
        """The features of one candidate."""
        words = text.split(" ")
        labels, names = self._layout
        if len(words) == len(labels):
            values = [word for word, label in zip(words, labels, strict=True) if word != label]
            if len(values) == len(names) and (numbers := _plain_numbers(values)) is not None:
                return dict(zip(names, numbers, strict=True))
        features = _read_features(text)
        labels = [word if word.endswith(("=", ":")) else None for word in words]
        if (
            labels.count(None) == len(features)
            and _plain_numbers([w for w in words if w not in labels]) is not None
        ):
            self._layout = labels, tuple(features)
        return features


def _plain_numbers(words: list[str]) -> list[float] | None:
    """Words that are finite numbers, None if one may be something else."""
    joined = " ".join(words)
    if not joined.isascii() or not joined.isprintable() or "_" in joined or "  " in joined:
        return None
    try:
        numbers = list(map(float, words))
    except ValueError:
        return None
    return numbers if math.isfinite(sum(map(abs, numbers))) else None


def _read_features(text: str) -> dict[str, float]:
    named: dict[str, list[float]] = {}
    name = "F"
    for word in tokenize(text):
        label, equals, value = word.rpartition("=")
        if equals or word.endswith(":"):
            name = label if equals else word[:-1]
            if not name:
                raise FormatError(f"expected the name of a feature, found {word!r}")
            named.setdefault(name, []).extend([finite(value)] if equals and value else [])
        else:
            named.setdefault(name, []).append(finite(word))
    flat = [
        (name if len(values) == 1 else f"{name}_{i}", value)
        for name, values in named.items()
        for i, value in enumerate(values)
    ]
    features = dict(flat)
    if len(features) < len(flat):
        twice = next(name for i, (name, _) in enumerate(flat) if name in dict(flat[:i]))
        raise FormatError(f"the feature {twice} is there twice")
    return features


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
