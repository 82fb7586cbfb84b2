"""Compiling with numba, the types of arrays that compiled loops share, and the hash table of tokens they use."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np

from rypt.arrays import Bytes, Ids, Ints

F = TypeVar("F", bound=Callable[..., Any])

SPACE, TAB, DASH, ZERO, NINE = 32, 9, 45, 48, 57
HASH_BASE = np.uint64(0x9E3779B97F4A7C15)
FNV = np.uint64(0xCBF29CE484222325)
_FNV_PRIME = np.uint64(0x100000001B3)
_SHIFT_29, _SHIFT_32 = np.uint64(29), np.uint64(32)


def compiled(function: F) -> F:
    """Compile with numba and cache the machine code on disk, if there is a place to write it."""
    return _compile(function, set())


def quick(function: F) -> F:
    """The same for a maximum of numbers none of which is NaN: several are compared at once."""
    return _compile(function, {"nnan", "nsz"})


def _compile(function: F, fastmath: set[str]) -> F:
    try:
        return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=fastmath)(function))
    except RuntimeError:  # neither the package's folder nor the user's cache can be written
        return cast(F, numba.njit(nogil=True, error_model="numpy", fastmath=fastmath)(function))


def inlined(function: F) -> F:
    """Compile inline into every caller: passing arrays to these small functions costs more than running them."""
    return cast(F, numba.njit(inline="always")(function))


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
    slots: Ids, words: Bytes, starts: Ints, stops: Ints, buffer: Bytes, start: int, stop: int, hashed: np.uint64
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
