"""JSON and TOML, strictly: no name twice in an object, and no nesting that overflows; errors are one line."""

import json
import tomllib
from collections.abc import Callable
from typing import Any

from rypt.text import FormatError

TOO_DEEP = "too deeply nested"


class SyntaxFormatError(FormatError, ValueError):
    """Text that is not JSON or not TOML; a `ValueError`, as those of the standard library are."""


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text.

    >>> parse_json('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    rypt.strict.SyntaxFormatError: the name 'a' stands twice in an object
    """
    try:
        return _DECODER.decode(text if isinstance(text, str) else text.decode())
    except RecursionError:
        raise SyntaxFormatError(TOO_DEEP) from None
    except SyntaxFormatError:
        raise
    except ValueError as error:
        raise SyntaxFormatError(str(error)) from None


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        again = next(name for at, name in enumerate(names) if name in names[:at])
        raise SyntaxFormatError(f"the name {again[:100]!r} stands twice in an object")
    return members


_DECODER = json.JSONDecoder(object_pairs_hook=_members)


def parse_toml(text: str, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """The tables of a TOML text, in which no name stands twice anyway."""
    try:
        return tomllib.loads(text, parse_float=parse_float)
    except RecursionError:
        raise SyntaxFormatError(TOO_DEEP) from None
    except ValueError as error:
        raise SyntaxFormatError(str(error)) from None
