"""JSONL: ``{"id", "candidate", "alignment", "features", "score"}``; all but the first two may be left out.

Other fields that hold a number are columns of the list, which a metric can be (``column(comet)``); the rest is ignored.
"""

import json
from collections.abc import Mapping
from typing import Any

from rypt.records import NO_COLUMNS, RawCandidate
from rypt.text import FormatError, is_one_line
from rypt.texts.dialects.dialect import Dialect
from rypt.texts.features import finite

FIELDS = {"id", "segment", "candidate", "alignment", "features", "score"}


def parse_json(line: str) -> RawCandidate:
    """Read one line."""
    try:
        record: dict[str, Any] = json.loads(line)
        segment = record["id"] if "id" in record else record["segment"]
        text, alignment, score = record["candidate"], record.get("alignment"), record.get("score")
        features = {name: finite(value) for name, value in (record.get("features") or {}).items()}
        score = None if score is None else finite(score)
    except KeyError as error:
        raise FormatError(f"expected a field {error.args[0]}") from None
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise FormatError(f"expected a JSON object with id, candidate, alignment: {error}") from None
    if isinstance(segment, int) and not isinstance(segment, bool):
        segment = str(segment)
    for name, value in (("id", segment), ("candidate", text), ("alignment", alignment or "")):
        if not isinstance(value, str) or not is_one_line(value):
            raise FormatError(f"expected the {name} as one line of text, found {value!r}")
    if not segment:
        raise FormatError("expected an id, found an empty one")
    for name in features:
        if len(name.split()) != 1 or not is_one_line(name):
            raise FormatError(f"expected one word as the name of a feature, found {name!r}")
    return RawCandidate(segment, text, alignment, features, score, _columns(record) if len(record) > 2 else NO_COLUMNS)


def _columns(record: dict[str, Any]) -> Mapping[str, float]:
    """The numbers beside the fields of every list; one that is not finite is refused by the metric that needs it."""
    columns = {
        name: float(value)
        for name, value in record.items()
        if name not in FIELDS and isinstance(value, int | float) and not isinstance(value, bool)
    }
    return columns or NO_COLUMNS


JSONL = Dialect("jsonl", lambda line: line.startswith("{"), parse_json)
