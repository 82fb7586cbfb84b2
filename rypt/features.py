"""The features of a candidate: ``Name= v v``, ``name=value``, ``name: v v``, or numbers alone."""

import math

from rypt.text import FormatError


def read_features(text: str) -> dict[str, float]:
    """Read one field; a name with several values stands for name_0, name_1 …; values without a name are called F.

    >>> read_features("LM0= -2.5 TM0= -1 -2 oov=1")
    {'LM0': -2.5, 'TM0_0': -1.0, 'TM0_1': -2.0, 'oov': 1.0}
    """
    named: dict[str, list[float]] = {}
    name = "F"
    for word in text.split():
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
