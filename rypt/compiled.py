"""Compiling with numba, the types of arrays that compiled loops share, and the hash table of tokens they use."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np

from rypt.arrays import Bytes, Ids, Ints

F = TypeVar("F", bound=Callable[..., Any])

SPACE, TAB, DASH, ZERO, NINE = 32, 9, 45, 48, 57
HASH_BASE = np.uint64(0x9E3779B97F4A7C15)
_FNV = np.uint64(0xCBF29CE484222325)
_FNV_PRIME = np.uint64(0x100000001B3)
_SHIFT_29, _SHIFT_32 = np.uint64(29), np.uint64(32)


def compiled(function: F) -> F:
    """Compile with numba and keep the machine code on disk, where there is a place for it."""
    try:
        return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy")(function))
    except RuntimeError:  # neither the package's folder nor the user's cache can be written
        return cast(F, numba.njit(nogil=True, error_model="numpy")(function))


def inlined(function: F) -> F:
    """Compile into every caller: handing arrays to a function costs more than these small ones do."""
    return cast(F, numba.njit(inline="always")(function))


@compiled
def mix(value: np.uint64) -> np.uint64:
    """Spread the bits of a hash over all of it."""
    value = (value ^ (value >> _SHIFT_32)) * HASH_BASE
    return value ^ (value >> _SHIFT_29)


@inlined
def token_hash(buffer: Bytes, start: int, stop: int) -> np.uint64:
    """The hash of the bytes of a token."""
    value = _FNV
    for i in range(start, stop):
        value = (value ^ np.uint64(buffer[i])) * _FNV_PRIME
    return mix(value)


@inlined
def find_token(
    slots: Ids, words: Bytes, starts: Ints, stops: Ints, buffer: Bytes, start: int, stop: int
) -> tuple[np.int64, np.int64]:
    """The id of a token, or -1, and the slot where it is or belongs."""
    mask = len(slots) - 1
    slot = np.int64(token_hash(buffer, start, stop) & np.uint64(mask))
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
