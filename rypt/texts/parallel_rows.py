"""Rows of JSON where plain text is expected, such as parallel corpora of Hugging Face's ``datasets``: how to get at it.

A row ``{"translation": {"de": "das Haus", "en": "the house"}}`` holds texts by language. It says of none whether it is
a source, a reference or what a system wrote. So people choose: messages have the command that writes one of them.
"""

import json
from collections.abc import Mapping
from typing import Any


def describe_row(record: Any, *, source: bool = False) -> str | None:
    """What a JSON object holds, and the command that writes its texts, a line each; None for anything else.

    The command is for the last language, or, where a ``source`` is wanted, for the first.

    >>> describe_row({"translation": {"de": "das Haus", "en": "the house"}})
    'a row with the languages de and en: jq -r .translation.en FILE > FILE.en writes the texts of one, a line each'
    >>> describe_row({"id": 3, "ref": "the house"})
    'a JSON object with id, ref: jq -r .ref FILE > FILE.txt writes the texts of one field, a line each'
    """
    if not isinstance(record, Mapping):
        return None
    languages = texts_by_language(record)
    if languages:
        chosen = languages[0] if source else languages[-1]
        field = f".translation.{chosen}" if chosen.isidentifier() else f"'.translation[\"{chosen}\"]'"
        command = f"jq -r {field} FILE > FILE.{chosen}"
        return f"a row with the languages {' and '.join(languages)}: {command} writes the texts of one, a line each"
    texts = [name for name, value in record.items() if isinstance(value, str) and name.isidentifier()]
    if not texts:
        return None
    names = ", ".join(map(str, list(record)[:6]))
    return f"a JSON object with {names}: jq -r .{texts[-1]} FILE > FILE.txt writes the texts of one field, a line each"


def texts_by_language(record: Mapping[str, Any]) -> list[str]:
    """The languages of a row of a parallel corpus; none of any other."""
    texts = record.get("translation")
    if (
        not isinstance(texts, Mapping)
        or not texts
        or not all(isinstance(text, str) for text in texts.values())
    ):
        return []
    return [str(language) for language in texts]


def json_row(line: str) -> str | None:
    """The same of a line of text; None where it is plain.

    >>> json_row("{ so they say }") is None
    True
    """
    if not line.lstrip().startswith("{"):
        return None
    try:
        return describe_row(json.loads(line))
    except (ValueError, RecursionError):
        return None
