"""Loops over arrays as machine code: numba compiles them when they are first called and caches them on disk.

@compiled                # machine code from the first call on
@plain_if_small          # plain Python for small input, so that small commands do not wait for the compiler
"""

import functools
import logging
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

log = logging.getLogger(__name__)
F = TypeVar("F", bound=Callable[..., Any])
SMALL = 200_000  # numbers in the arrays of all calls up to which plain Python takes less time than compiling


def compiled(function: F) -> F:
    """Compile the function at its first call, or load it from disk."""
    import numba

    _announce()
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    try:
        return cast(F, numba.njit(cache=True, **options)(function))
    except RuntimeError:  # there is no folder that the code can be written to
        return cast(F, numba.njit(**options)(function))


def plain_if_small(function: F) -> F:
    """Run the function as it is until its calls were given `SMALL` numbers, then compile it.

    It may not call other compiled functions.
    """
    machine = functools.cache(lambda: compiled(function))
    seen = 0

    @functools.wraps(function)
    def run(*arguments: Any) -> Any:
        nonlocal seen
        seen += sum(each.size for each in arguments if isinstance(each, np.ndarray))
        if seen > SMALL:
            return machine()(*arguments)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            return function(*arguments)

    return cast(F, run)


@functools.cache
def _announce() -> None:
    """Say once that something is compiled, which takes seconds; loading it from disk does not."""
    from numba.core import event

    said = functools.cache(lambda: log.warning("compiling, first run only"))
    listener = type("Listener", (event.Listener,), {"on_start": lambda *_: said(), "on_end": lambda *_: None})
    cast(Any, event).register("numba:compile", listener())
