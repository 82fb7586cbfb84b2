"""Public names that are imported when they are first used (PEP 562), so that importing a package loads next to nothing."""

from collections.abc import Callable, Mapping
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

    return get, lambda: sorted([*homes, "__version__"])
