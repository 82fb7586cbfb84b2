"""Loading no more than is needed.

Public names are imported when first used (PEP 562), so that importing a package loads next to nothing. A program of
rypt can hide packages from another package that would load them and does not need them.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` of a package; ``homes`` maps public names to their modules."""

    def get(name: str) -> Any:
        if name == "__version__":
            from importlib.metadata import version

            return version("rypt")
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    def names() -> list[str]:
        return sorted([*homes, "__version__"])

    return get, names


class Program:
    """Whether this process runs a command of rypt, and nothing else."""

    running = False


@contextmanager
def as_program() -> Iterator[None]:
    """The process runs a command of rypt."""
    before, Program.running = Program.running, True
    try:
        yield
    finally:
        Program.running = before


@contextmanager
def hidden(packages: Sequence[str]) -> Iterator[None]:
    """Packages that are not loaded yet cannot be imported inside."""
    names = [name for name in packages if name not in sys.modules]
    for name in names:
        sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        for name in names:
            del sys.modules[name]
