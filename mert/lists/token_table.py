"""Tokens of a buffer of bytes in a hash table."""

import numpy as np

from rypt.arrays import Bytes, Ids, Ints
from rypt.compiled import compiled

HASH_BASE = np.uint64(0x9E3779B97F4A7C15)
FNV = np.uint64(0xCBF29CE484222325)
_FNV_PRIME = np.uint64(0x100000001B3)
_SHIFT_29, _SHIFT_32 = np.uint64(29), np.uint64(32)


@compiled
def mix(value: np.uint64) -> np.uint64:
    """Spread the bits of a hash over all of it."""
    value = (value ^ (value >> _SHIFT_32)) * HASH_BASE
    return value ^ (value >> _SHIFT_29)


@compiled
def hash_byte(value: np.uint64, byte: int) -> np.uint64:
    """The running hash (FNV-1a, from `FNV` on) after one more byte; `mix` ends it."""
    return (value ^ np.uint64(byte)) * _FNV_PRIME


@compiled
def token_hash(buffer: Bytes, start: int, stop: int) -> np.uint64:
    """The hash of the bytes of a token."""
    value = FNV
    for i in range(start, stop):
        value = (value ^ np.uint64(buffer[i])) * _FNV_PRIME
    return mix(value)


@compiled
def same_bytes(one: Bytes, start: int, stop: int, other: Bytes, other_start: int, other_stop: int) -> bool:
    """Whether two stretches of bytes are equal."""
    same = stop - start == other_stop - other_start
    if same:
        for i in range(stop - start):
            if one[start + i] != other[other_start + i]:
                same = False
                break
    return same


@compiled
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
        if same_bytes(words, starts[token], stops[token], buffer, start, stop):
            return np.int64(token), slot
        slot = (slot + 1) & mask
    return np.int64(-1), slot


@compiled
def find_token(
    slots: Ids, words: Bytes, starts: Ints, stops: Ints, buffer: Bytes, start: int, stop: int
) -> tuple[np.int64, np.int64]:
    """The id of a token, or -1, and the slot where it is or belongs."""
    return find_hashed(slots, words, starts, stops, buffer, start, stop, token_hash(buffer, start, stop))
