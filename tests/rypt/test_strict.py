"""JSON and TOML that is wrong in ways the standard library lets pass, or breaks over."""

import pytest

from rypt.strict import SyntaxFormatError, parse_json, parse_toml


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": {"b": 1, "b": 1}}', "'b' stands twice"),
        ('{"' + "x" * 1000 + '": 1, "' + "x" * 1000 + '": 2}', "x{100}' stands twice"),
        ("[" * 100_000, "too deeply nested"),
        ('{"a":' * 100_000, "too deeply nested"),
        ("{", "Expecting property name"),
    ],
)
def test_json(text: str, message: str) -> None:
    with pytest.raises(SyntaxFormatError, match=message):
        parse_json(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [("x = " + "[" * 100_000, "too deeply nested"), ("x = 1\nx = 2", "overwrite"), ("x =", "Invalid value")],
)
def test_toml(text: str, message: str) -> None:
    with pytest.raises(SyntaxFormatError, match=message):
        parse_toml(text)


def test_what_is_right_is_read() -> None:
    assert parse_json('{"a": [1, {"b": null}]}') == {"a": [1, {"b": None}]}
    assert parse_toml("a = 1.5", parse_float=str) == {"a": "1.5"}
