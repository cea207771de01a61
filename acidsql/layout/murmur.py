"""Vectorised hashes of ranges of a byte buffer: Java's polynomial hash and Hive's murmur3."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Hashes = NDArray[np.uint32]
Positions = NDArray[np.int64]

_SEED = np.uint32(104729)
_C1 = np.uint32(0xCC9E2D51)
_C2 = np.uint32(0x1B873593)
_INVERSE_OF_31 = np.uint32(pow(31, -1, 2**32))


def polynomial(values: Hashes, starts: Positions, ends: Positions) -> Hashes:
    """The sum r = 31 * r + value over each range, from r = 0, wrapping at 32 bits.

    There is no loop over the values. 31 has an inverse modulo 2**32, so the sum of a range is the
    difference of two prefix sums of value * 31**-position, multiplied by one power of 31.

    >>> polynomial(np.array([5, 8, 13], np.uint32), np.array([0]), np.array([3])).tolist()
    [5066]
    """
    scaled = np.zeros(len(values) + 1, np.uint32)
    np.cumsum(values * _powers(_INVERSE_OF_31, len(values)), dtype=np.uint32, out=scaled[1:])
    ends = np.maximum(ends, starts)
    powers = _powers(np.uint32(31), len(values) + 1)
    return (scaled[ends] - scaled[starts]) * powers[np.maximum(ends - 1, 0)]


def power_of_31(exponents: Positions) -> Hashes:
    """31 to each exponent, wrapping at 32 bits."""
    return _powers(np.uint32(31), int(exponents.max(initial=0)) + 1)[exponents]


def _powers(base: np.uint32, count: int) -> Hashes:
    factors = np.full(count, base, np.uint32)
    factors[:1] = 1
    return np.cumprod(factors, dtype=np.uint32)


def murmur(buffer: Bytes, starts: Positions, lengths: Positions) -> Hashes:
    """Hive's murmur3 (x86, 32 bits, seed 104729) of each range of the buffer.

    Hive's Murmur3.hash32 extends the sign of the one to three bytes after the last whole word, so
    it differs from the standard where such a byte is above 127. Ranges are sorted longest first, so
    that those with a word left at a position stand in front: one pass per position is enough.
    """
    order = np.argsort(-lengths, kind="stable")
    starts, sorted_lengths = starts[order], lengths[order]
    words = sorted_lengths >> 2
    hashes = np.full(len(starts), _SEED, np.uint32)
    for position in range(int(words.max(initial=0))):
        active = int(np.searchsorted(-words, -position, side="left"))
        word = _word(buffer, starts[:active] + 4 * position)
        mixed = _rotate(hashes[:active] ^ _mix(word), 13)
        hashes[:active] = mixed * np.uint32(5) + np.uint32(0xE6546B64)
    hashes ^= _mix(_tail(buffer, starts + 4 * words, sorted_lengths & 3))
    hashes = _finish(hashes ^ sorted_lengths.astype(np.uint32))
    result = np.empty_like(hashes)
    result[order] = hashes
    return result


def _word(buffer: Bytes, at: Positions) -> Hashes:
    word = buffer[at].astype(np.uint32)
    for byte in (1, 2, 3):
        word |= buffer[at + byte].astype(np.uint32) << np.uint32(8 * byte)
    return word


def _tail(buffer: Bytes, at: Positions, lengths: Positions) -> Hashes:
    tail = np.zeros(len(at), np.uint32)
    signed = buffer.view(np.int8)
    for byte in (2, 1, 0):
        rows = np.flatnonzero(lengths > byte)
        value = signed[at[rows] + byte].astype(np.int32).view(np.uint32)
        tail[rows] ^= value << np.uint32(8 * byte)
    return tail


def _mix(word: Hashes) -> Hashes:
    return _rotate(word * _C1, 15) * _C2


def _rotate(word: Hashes, bits: int) -> Hashes:
    return (word << np.uint32(bits)) | (word >> np.uint32(32 - bits))


def _finish(hashes: Hashes) -> Hashes:
    hashes = (hashes ^ (hashes >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    hashes = (hashes ^ (hashes >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return hashes ^ (hashes >> np.uint32(16))
