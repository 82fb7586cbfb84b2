"""Files of weights, written in the form in which they were read: Moses, ``name value``, or JSON."""

import json
import math
from collections.abc import Sequence

import numpy as np

from mert.lists import Floats
from rypt.text import InputError, PathLike, open_output, read_lines

FORMS = ("moses", "lines", "json")


def read_weights(path: PathLike, names: Sequence[str]) -> tuple[Floats, str]:
    """The weights of these features in their order, and the form of the file.

    Moses' ``Name= v v`` stands for the features Name_0, Name_1 (Name where it has one value).
    """
    lines = [(number, line.strip()) for number, line in read_lines(path) if line.strip() and line[0] != "#"]
    if lines and lines[0][1].startswith("{"):
        found, form = _read_json(path, "\n".join(line for _, line in lines)), "json"
    else:
        form = "moses" if lines and lines[0][1].split()[0].endswith("=") else "lines"
        found = {}
        for number, line in lines:
            for name, value in _read_line(path, number, line, form):
                if name in found:
                    raise InputError(path, number, f"the weight of {name} is there twice")
                found[name] = value
    unknown, missing = sorted(set(found) - set(names)), sorted(set(names) - set(found))
    if unknown:
        raise InputError(path, None, f"weights of features that are not in the list: {', '.join(unknown)}")
    if missing:
        raise InputError(path, None, f"expected weights of all features, missing {', '.join(missing)}")
    return np.array([found[name] for name in names], dtype=np.float64), form


def _read_json(path: PathLike, text: str) -> dict[str, float]:
    try:
        return {str(name): _finite(value) for name, value in json.loads(text).items()}
    except (ValueError, TypeError) as error:
        raise InputError(path, None, f"expected a JSON object of names and numbers: {error}") from None


def _read_line(path: PathLike, number: int, line: str, form: str) -> list[tuple[str, float]]:
    words = line.split()
    try:
        if form == "moses" and words[0].endswith("=") and len(words) > 1:
            name, values = words[0][:-1], [_finite(word) for word in words[1:]]
            return [(name if len(values) == 1 else f"{name}_{i}", value) for i, value in enumerate(values)]
        if form == "lines" and len(words) == 2:
            return [(words[0], _finite(words[1]))]
    except ValueError as error:
        raise InputError(path, number, f"expected numbers: {error}") from None
    expected = "Name= value value …" if form == "moses" else "name value"
    raise InputError(path, number, f"expected {expected}, found {line!r}")


def _finite(value: str | float) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{value!r} is not finite")
    return number


def write_weights(path: PathLike, names: Sequence[str], weights: Floats, form: str = "moses") -> None:
    """Write weights; reading them back gives the same numbers."""
    with open_output(path) as stream:
        if form == "json":
            stream.write(json.dumps(dict(zip(names, weights.tolist(), strict=True)), indent=1) + "\n")
            return
        if form == "lines":
            stream.writelines(f"{name} {value!r}\n" for name, value in zip(names, weights.tolist(), strict=True))
            return
        groups: dict[str, list[float]] = {}
        for name, value in zip(names, weights.tolist(), strict=True):
            stem, underscore, number = name.rpartition("_")
            group = stem if underscore and number == str(len(groups.get(stem, []))) else name
            groups.setdefault(group, []).append(value)
        stream.writelines(f"{name}= {' '.join(map(repr, values))}\n" for name, values in groups.items())
