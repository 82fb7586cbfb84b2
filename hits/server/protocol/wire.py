"""Mechanical Turk's wire protocol (JSON 1.1), read from our table of the service (`hits.market.service`).

botocore's client checks types, required members and minima. A real service also checks maxima, patterns and enums;
this does too, so what passes here would have passed there. The limits that only Mechanical Turk's documents know are
in `hits.server.protocol.limits`.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from hits.market.service import SERVICE, description
from hits.server.store.records import invalid

MAX_BODY_BYTES = 10_000_000
CONTENT_TYPE = "application/x-amz-json-1.1"
INTEGERS = {"integer": 2**31 - 1, "long": 2**63 - 1}
LAST_TIME = 253_402_300_799  # the end of the year 9999
Shape = Any  # botocore, which is not typed, is imported only when a `WireProtocol` is made
TEXT = re.compile("[^\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]*")


class WireError(Exception):
    """A request that is no legal call: what stands in the answer's ``__type``, the status, one line, and headers."""

    def __init__(
        self, kind: str, message: str, status: int = 400, headers: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        super().__init__(message)
        self.headers = headers
        self.kind = kind
        self.message = message
        self.status = status


class WireProtocol:
    """The operations of the service and the shapes of what goes in and out."""

    def __init__(self) -> None:
        from botocore.model import ServiceModel

        self.model = ServiceModel(description(), SERVICE)
        self.prefix = str(self.model.metadata["targetPrefix"])
        self.operations = frozenset(self.model.operation_names)

    def operation(self, target: str) -> str:
        """The operation that the header ``X-Amz-Target`` names."""
        prefix, _, name = target.rpartition(".")
        if not target:
            raise WireError("UnknownOperationException", "expected the header X-Amz-Target")
        if prefix != self.prefix or name not in self.operations:
            raise WireError(
                "UnknownOperationException", f"expected {self.prefix}.OPERATION, found {target[:100]!r}"
            )
        return name

    def parse(self, operation: str, body: bytes) -> dict[str, Any]:
        """The members of a request, checked; times become whole seconds since 1970."""
        value = parse_json(body)
        shape = self.model.operation_model(operation).input_shape
        checked: dict[str, Any] = _check(shape, value, "")
        return checked

    def serialise(self, operation: str, result: Mapping[str, Any]) -> bytes:
        """The body of an answer; a member that the service's description does not know is a mistake of ours."""
        shape = self.model.operation_model(operation).output_shape
        return json.dumps(_legal(shape, result, operation), ensure_ascii=False).encode("utf-8")


def parse_json(body: bytes) -> dict[str, Any]:
    """One JSON object, strictly: UTF-8, no NaN, no name twice, no nesting that overflows."""
    try:
        value = json.loads(
            body.decode("utf-8") or "{}",
            object_pairs_hook=_members,
            parse_constant=_no_constant,
            parse_float=_finite,
        )
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise WireError("SerializationException", f"expected UTF-8, found byte 0x{byte:02x}") from None
    except RecursionError:
        raise WireError("SerializationException", "expected JSON that is less deeply nested") from None
    except ValueError as error:
        raise WireError("SerializationException", f"expected JSON: {error}") from None
    if not isinstance(value, dict):
        raise WireError("SerializationException", "expected a JSON object")
    return value


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a name stands twice in an object")
    return members


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:20]} is too large")
    return number


def _check(shape: Shape, value: Any, path: str) -> Any:
    return CHECKS[shape.type_name](shape, value, path)


def _check_structure(shape: Shape, value: Any, path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise invalid(path, f"expected an object, found {_what(value)}")
    checked = {}
    for name, member in value.items():
        if name not in shape.members:
            raise invalid(
                path, f"unknown member {name[:100]!r}; expected {', '.join(shape.members) or 'none'}"
            )
        if member is not None:
            checked[name] = _check(shape.members[name], member, f"{path}.{name}" if path else name)
    for name in shape.required_members:
        if name not in checked:
            raise invalid(path, f"{name} is missing")
    return checked


def _check_list(shape: Shape, value: Any, path: str) -> list[Any]:
    if not isinstance(value, list):
        raise invalid(path, f"expected a list, found {_what(value)}")
    _check_size(shape, len(value), "items", path)
    return [_check(shape.member, item, f"{path}[{number}]") for number, item in enumerate(value)]


def _check_string(shape: Shape, value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise invalid(path, f"expected a string, found {_what(value)}")
    _check_size(shape, len(value), "characters", path)
    if not TEXT.fullmatch(value):
        raise invalid(path, "expected text without control characters and halves of surrogate pairs")
    if shape.enum and value not in shape.enum:
        raise invalid(path, f"expected one of {', '.join(shape.enum)}, found {value[:100]!r}")
    pattern = shape.metadata.get("pattern")
    if pattern and not re.fullmatch(pattern, value):
        raise invalid(path, f"expected text like {pattern}, found {value[:100]!r}")
    return value


def _check_integer(shape: Shape, value: Any, path: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise invalid(path, f"expected a whole number, found {_what(value)}")
    largest = INTEGERS[shape.type_name]
    if not -largest - 1 <= value <= largest:
        raise invalid(path, f"expected a number of {shape.type_name} size")
    low, high = shape.metadata.get("min", -math.inf), shape.metadata.get("max", math.inf)
    if not low <= value <= high:
        raise invalid(path, f"expected a number from {low} to {high}, found {value}")
    return value


def _check_boolean(shape: Shape, value: Any, path: str) -> bool:
    if not isinstance(value, bool):
        raise invalid(path, f"expected true or false, found {_what(value)}")
    return value


def _check_time(shape: Shape, value: Any, path: str) -> int:
    """A number of seconds, as botocore sends it, or ISO 8601."""
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            raise invalid(path, f"expected a time, found {value[:100]!r}") from None
        value = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise invalid(path, f"expected a time, found {_what(value)}")
    if not -LAST_TIME <= value <= LAST_TIME:
        raise invalid(path, "expected a time of the years up to 9999")
    return math.floor(value)


CHECKS: Mapping[str, Callable[[Any, Any, str], Any]] = {
    "structure": _check_structure,
    "list": _check_list,
    "string": _check_string,
    "integer": _check_integer,
    "long": _check_integer,
    "boolean": _check_boolean,
    "timestamp": _check_time,
}


def _check_size(shape: Shape, size: int, what: str, path: str) -> None:
    low, high = shape.metadata.get("min", 0), shape.metadata.get("max", math.inf)
    if not low <= size <= high:
        raise invalid(path, f"expected {low} to {high} {what}, found {size}")


def _what(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", int: "a number"}
    return names.get(type(value), "a number with a fraction" if isinstance(value, float) else "nothing")


def _legal(shape: Shape | None, value: Any, path: str) -> Any:
    """A value of an answer without members that are None; wrong names are a `KeyError` and so found by tests."""
    if shape is None or shape.type_name == "structure":
        members = shape.members if shape is not None else {}
        if unknown := set(value) - set(members):
            raise KeyError(f"{path}: the service's description has no {unknown}")
        return {
            name: _legal(members[name], member, f"{path}.{name}")
            for name, member in value.items()
            if member is not None
        }
    if shape.type_name == "list":
        return [_legal(shape.member, item, path) for item in value]
    return value
