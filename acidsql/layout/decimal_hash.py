"""Hive's bucket hash of decimals (HiveDecimalWritable after trailing zeros are stripped)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from acidsql.layout.arrow import Array
from acidsql.layout.murmur import Hashes, murmur
from acidsql.model.types import DecimalType

_WORD = np.uint64(0xFFFFFFFF)
_BITS = np.uint64(32)
_TEN = np.uint64(10)


def decimal_hashes(array: Array, kind: DecimalType, version: int) -> Hashes:
    """The hash of each value of a decimal column; at a null any number.

    1.00, 1.0 and 1 are one value to Hive, so zeros at the end of the fraction are stripped first.
    Version 1 hashes Java's BigInteger and the scale, version 2 only the integer's bytes.
    """
    negative, words = _magnitudes(array.cast(pa.decimal128(38, kind.scale)))
    scales = _strip_zeros(words, kind.scale)
    if version == 1:
        hashes = np.zeros(len(array), np.uint32)
        for word in words:
            hashes = hashes * np.uint32(31) + word.astype(np.uint32)
        hashes = np.where(negative, -hashes.view(np.int32), hashes.view(np.int32)).view(np.uint32)
        return hashes * np.uint32(31) + scales.astype(np.uint32)
    buffer = _two_complement(negative, words)
    lengths = _minimal_lengths(buffer, negative)
    starts = np.arange(1, len(array) + 1, dtype=np.int64) * 16 - lengths
    return murmur(buffer.reshape(-1), starts, lengths)


def _magnitudes(array: Array) -> tuple[NDArray[np.bool_], list[NDArray[np.uint64]]]:
    """Sign and absolute value, as four words of 32 bits, highest first."""
    data = array.buffers()[1]
    pairs = np.zeros((0, 2), np.uint64)
    if data is not None and len(array):
        flat = np.frombuffer(data, np.uint64, 2 * len(array), array.offset * 16)
        pairs = flat.reshape(-1, 2)
    low, high = pairs[:, 0].copy(), pairs[:, 1].copy()
    negative = high.view(np.int64) < 0
    low = np.where(negative, ~low + np.uint64(1), low)
    high = np.where(negative, ~high + (low == 0).astype(np.uint64), high)
    return negative, [high >> _BITS, high & _WORD, low >> _BITS, low & _WORD]


def _strip_zeros(words: list[NDArray[np.uint64]], scale: int) -> NDArray[np.int64]:
    """Divide in place by 10 while that is exact and digits of a fraction are left.

    The result is the scale that remains of each value.
    """
    scales = np.full(len(words[0]), scale, np.int64)
    active = np.arange(len(scales))
    for _ in range(scale):
        parts = [word[active] for word in words]
        remainder = np.zeros(len(active), np.uint64)
        for at, part in enumerate(parts):
            value = (remainder << _BITS) | part
            parts[at], remainder = value // _TEN, value % _TEN
        exact = remainder == 0
        active = active[exact]
        if not len(active):
            break
        for word, part in zip(words, parts, strict=True):
            word[active] = part[exact]
        scales[active] -= 1
    return scales


def _two_complement(
    negative: NDArray[np.bool_], words: list[NDArray[np.uint64]]
) -> NDArray[np.uint8]:
    high, low = (words[0] << _BITS) | words[1], (words[2] << _BITS) | words[3]
    low = np.where(negative, ~low + np.uint64(1), low)
    high = np.where(negative, ~high + (low == 0).astype(np.uint64), high)
    return np.stack([high, low], axis=1).astype(">u8").view(np.uint8)


def _minimal_lengths(buffer: NDArray[np.uint8], negative: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many of the 16 bytes BigInteger.toByteArray keeps: the sign must stay readable."""
    filler = np.where(negative, np.uint8(255), np.uint8(0))[:, None]
    differs = buffer != filler
    leading = np.where(differs.any(axis=1), differs.argmax(axis=1), 16)
    first = buffer[np.arange(len(buffer)), np.minimum(leading, 15)]
    sign_lost = (leading < 16) & ((first >= 128) != negative)
    lengths: NDArray[np.int64] = np.maximum(16 - leading + sign_lost, 1).astype(np.int64)
    return lengths
