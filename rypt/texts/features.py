"""The features of a candidate: ``Name= v v``, ``name=value``, ``name: v v``, or numbers alone."""

import math

from rypt.text import FormatError, tokenize


def read_features(text: str) -> dict[str, float]:
    """Read one field; a name with several values stands for name_0, name_1 …; values without a name are called F.

    >>> read_features("LM0= -2.5 TM0= -1 -2 oov=1")
    {'LM0': -2.5, 'TM0_0': -1.0, 'TM0_1': -2.0, 'oov': 1.0}
    """
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
