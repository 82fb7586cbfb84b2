"""Loops compiled by numba, and when: types of arrays that they share, and the hash table of tokens they use.

A loop is written once, as a Python function over arrays, and decorated by what it is called for:

- `compiled`: machine code from the first call on. For loops that are called again and again (a line search), or whose
  plain form would be too slow for any input.
- `compiled_if_large`: the function runs as it is, uncompiled, until it has been given more than `SMALL` numbers in
  all its calls of this process; from then on it is machine code. So a small campaign waits for no compiler, and numba
  is not even imported. Both forms give the same result, bit for bit: integers taken from narrow arrays are widened
  before they are added up (``int(buffer[i])``), and functions come from `math` where numpy's round differently.
- `compiled_if_much`: the same for a function that is given large tables and looks up little: it says what it does.
- `inlined`: a small function that only compiled loops call; its code becomes a part of theirs.
- `quick`: as `compiled`, for a maximum of numbers none of which is NaN; several are compared at once.

The result of a decorator is called like the function. ``loop.plain(…)`` and ``loop.machine(…)`` are its two forms, for
tests that compare them. Machine code is kept on the disk by numba, beside the package or, where that cannot be written,
in the user's cache folder or ``NUMBA_CACHE_DIR``; all processes share it. What has to be compiled is logged once as a
warning of the logger ``rypt.compiled``, `compile_always` turns the plain form off (`rypt warm`).
"""

import functools
import hashlib
import logging
import os
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from rypt.arrays import Bytes, Ids, Ints
from rypt.lazy import Program, hidden

log = logging.getLogger(__name__)
F = TypeVar("F", bound=Callable[..., Any])

SMALL = 220_000  # numbers in the arrays of all calls, up to which the plain form is faster than compiling
WARM = 10  # by what `SMALL` is divided for a function whose machine code is on the disk
SPACE, TAB, DASH, ZERO, NINE = 32, 9, 45, 48, 57
HASH_BASE = np.uint64(0x9E3779B97F4A7C15)
FNV = np.uint64(0xCBF29CE484222325)
_FNV_PRIME = np.uint64(0x100000001B3)
_SHIFT_29, _SHIFT_32 = np.uint64(29), np.uint64(32)


class Compiled:
    """A function over arrays that runs as Python or as machine code."""

    small: int | None = SMALL  # the limit in force; None when everything is compiled

    def __init__(
        self,
        function: Callable[..., Any],
        options: dict[str, Any],
        *,
        if_large: bool = False,
        work: Callable[..., int] | None = None,
    ) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.options = options
        self.if_large = if_large
        self.work = work
        self.given = 0  # numbers in the arrays of the calls so far

    def __call__(self, *arguments: Any) -> Any:
        """Run whichever form costs less."""
        if self.if_large and Compiled.small is not None:
            self.given += _numbers(arguments) if self.work is None else self.work(*arguments)
            if self.given <= (Compiled.small // WARM if self._on_disk else Compiled.small):
                return self.plain(*arguments)
            self.if_large = False
        return self.machine(*arguments)

    def __reduce__(self) -> str:
        return self.function.__qualname__

    @functools.cached_property
    def plain(self) -> Callable[..., Any]:
        """The function as it is; those that it calls are plain, too."""
        seen = _with_names(self.function, lambda other: other.python)

        @functools.wraps(self.function)
        def run(*arguments: Any) -> Any:
            with np.errstate(all="ignore"):  # hashes overflow, and x / 0 is infinite, as in machine code
                return seen(*arguments)

        return run

    @functools.cached_property
    def python(self) -> Callable[..., Any]:
        """The function for other plain ones to call."""
        return _with_names(self.function, lambda other: other.python)

    @functools.cached_property
    def _on_disk(self) -> bool:
        """Whether its machine code seems to be on the disk and newer than it; numba need not be loaded to see it."""
        code = self.function.__code__
        source = Path(code.co_filename)
        python = f"py{sys.version_info.major}{sys.version_info.minor}"
        name = f"{source.stem}.{self.function.__qualname__}-{code.co_firstlineno}.{python}.nbi"
        folder = _cache_folder(source)
        try:
            return folder is not None and (folder / name).stat().st_mtime >= source.stat().st_mtime
        except OSError:
            return False

    @functools.cached_property
    def machine(self) -> Callable[..., Any]:
        """The function compiled, to be called from Python."""
        numba = _load_numba()
        _listen()
        try:
            return cast(Callable[..., Any], numba.njit(cache=True, **self.options)(self.function))
        except RuntimeError:  # neither the package's folder nor the user's cache can be written
            return cast(Callable[..., Any], numba.njit(**self.options)(self.function))

    @functools.cached_property
    def _inner(self) -> Any:
        """The function compiled for compiled callers: without what only calls from Python need."""
        return _load_numba().njit(no_cpython_wrapper=True, **self.options)(self.function)

    @property
    def _numba_type_(self) -> Any:
        """What numba takes this for in a compiled caller."""
        return self._inner._numba_type_


def is_on_disk(loop: Callable[..., Any]) -> bool | None:
    """Whether the machine code of a compiled loop seems to be on the disk; None where none can be kept."""
    assert isinstance(loop, Compiled)
    return loop._on_disk if _cache_folder(Path(loop.function.__code__.co_filename)) else None


def _cache_folder(source: Path) -> Path | None:
    """Where numba keeps the machine code of a source file; None where it may not write."""
    folder = source.resolve().parent
    name = f"{folder.name}_{hashlib.sha1(str(folder).encode(), usedforsecurity=False).hexdigest()}"
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        places = [Path(chosen) / name]
    else:
        home = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
        if sys.platform != "darwin":
            home = Path(os.environ.get("XDG_CACHE_HOME") or home)
        places = [source.parent / "__pycache__", home / "numba" / name]
    return next((place for place in places if _may_write(place)), None)


def _may_write(folder: Path) -> bool:
    existing = next((place for place in (folder, *folder.parents) if place.exists()), folder)
    return os.access(existing, os.W_OK)


def _with_names(function: Callable[..., Any], form: Callable[[Compiled], Any]) -> Callable[..., Any]:
    """A copy of a function that sees the other compiled functions of its module in one form."""
    names = {
        name: form(value) if isinstance(value, Compiled) and value.function is not function else value
        for name, value in function.__globals__.items()
        if name in _names_of(function.__code__)
    }
    names["__builtins__"] = function.__globals__["__builtins__"]
    return types.FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )


def _names_of(code: types.CodeType) -> set[str]:
    return set(code.co_names).union(
        *(_names_of(each) for each in code.co_consts if isinstance(each, types.CodeType))
    )


def _numbers(values: Any) -> int:
    """How many numbers arrays hold, also those inside named tuples."""
    total = 0
    for value in values:
        if isinstance(value, np.ndarray):
            total += value.size
        elif isinstance(value, tuple):
            total += _numbers(value)
    return total


@contextmanager
def compile_always() -> Iterator[None]:
    """No plain form inside: everything that is called is compiled."""
    before, Compiled.small = Compiled.small, None
    try:
        yield
    finally:
        Compiled.small = before


def _load_numba() -> Any:
    """numba, and what it loads before the first compilation.

    It looks for scipy, for linear algebra, and for coverage, which takes 0.2 s where they are installed. In a program
    of rypt both are hidden meanwhile; in a program that uses rypt other compiled functions may need them.
    """
    if Program.running and "numba" not in sys.modules:
        with hidden(("scipy", "coverage")):
            from numba.core.registry import cpu_target

            cpu_target.typing_context.refresh()
            cpu_target.target_context.refresh()
    import numba

    return numba


@functools.cache
def _listen() -> None:
    """Log once that something is compiled; reading machine code from the disk is not compiling."""
    from numba.core import event

    register: Any = event.register

    class Listener(event.Listener):
        def on_start(self, _: Any) -> None:
            if not _LOGGED:
                _LOGGED.append(True)
                log.warning("compiling, first run only")

        def on_end(self, _: Any) -> None:
            pass

    register("numba:compile", Listener())


_LOGGED: list[bool] = []
_OPTIONS = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}


def compiled(function: F) -> F:
    """Compile at the first call and cache the machine code on disk, if there is a place to write it."""
    return cast(F, Compiled(function, _OPTIONS))


def compiled_if_large(function: F) -> F:
    """Compile only when there is so much to do that it pays; until then the function runs as it is."""
    return cast(F, Compiled(function, _OPTIONS, if_large=True))


def compiled_if_much(work: Callable[..., int]) -> Callable[[F], F]:
    """As `compiled_if_large`, for a function that does not go through all its arrays: ``work`` counts what it does."""

    def decorate(function: F) -> F:
        return cast(F, Compiled(function, _OPTIONS, if_large=True, work=work))

    return decorate


def quick(function: F) -> F:
    """Compile for a maximum of numbers none of which is NaN: several are compared at once."""
    return cast(F, Compiled(function, {**_OPTIONS, "fastmath": {"nnan", "nsz"}}))


def inlined(function: F) -> F:
    """Compile into every caller: passing arrays to these small functions costs more than running them."""
    return cast(F, Compiled(function, {**_OPTIONS, "forceinline": True}))


@compiled
def mix(value: np.uint64) -> np.uint64:
    """Spread the bits of a hash over all of it."""
    value = (value ^ (value >> _SHIFT_32)) * HASH_BASE
    return value ^ (value >> _SHIFT_29)


@inlined
def hash_byte(value: np.uint64, byte: int) -> np.uint64:
    """The running hash (FNV-1a, from `FNV` on) after one more byte; `mix` ends it."""
    return (value ^ np.uint64(byte)) * _FNV_PRIME


@inlined
def token_hash(buffer: Bytes, start: int, stop: int) -> np.uint64:
    """The hash of the bytes of a token."""
    value = FNV
    for i in range(start, stop):
        value = (value ^ np.uint64(buffer[i])) * _FNV_PRIME
    return mix(value)


@inlined
def same_bytes(one: Bytes, start: int, stop: int, other: Bytes, other_start: int, other_stop: int) -> bool:
    """Whether two stretches of bytes are equal."""
    same = stop - start == other_stop - other_start
    if same:
        for i in range(stop - start):
            if one[start + i] != other[other_start + i]:
                same = False
                break
    return same


@inlined
def find_hashed(
    slots: Ids,
    words: Bytes,
    starts: Ints,
    stops: Ints,
    buffer: Bytes,
    start: int,
    stop: int,
    hashed: np.uint64,
) -> tuple[np.int64, np.int64]:
    """The id of a token whose hash is known, or -1, and the slot where it is or belongs."""
    mask = len(slots) - 1
    slot = np.int64(hashed & np.uint64(mask))
    while slots[slot] >= 0:
        token = slots[slot]
        if stops[token] - starts[token] == stop - start:
            same = True
            for i in range(stop - start):
                if words[starts[token] + i] != buffer[start + i]:
                    same = False
                    break
            if same:
                return np.int64(token), slot
        slot = (slot + 1) & mask
    return np.int64(-1), slot


@inlined
def find_token(
    slots: Ids, words: Bytes, starts: Ints, stops: Ints, buffer: Bytes, start: int, stop: int
) -> tuple[np.int64, np.int64]:
    """The id of a token, or -1, and the slot where it is or belongs."""
    return find_hashed(slots, words, starts, stops, buffer, start, stop, token_hash(buffer, start, stop))


def plain_if_small(function: F) -> F:
    """Run the function as it is until its calls were given more than a million numbers, then compile it.

    The function may not call other compiled ones.
    """
    machine = functools.cache(lambda: Compiled(function, _OPTIONS).machine)
    seen = 0

    @functools.wraps(function)
    def run(*arguments: Any) -> Any:
        nonlocal seen
        seen += sum(each.size for each in arguments if isinstance(each, np.ndarray))
        if seen > 1_000_000 or Compiled.small is None:
            return machine()(*arguments)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            return function(*arguments)

    return cast(F, run)
