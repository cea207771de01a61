"""Whole numbers as ORC stores them: run length encoding, version 2 (ORC specification)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from acidsql.orc.protobuf import read_varint, signed, unsigned, varint

Unsigned = NDArray[np.uint64]
Positions = NDArray[np.int64]

RUN_MAX = 512
"""The greatest number of values in a run."""

_SHORT_REPEAT, _DIRECT, _PATCHED_BASE, _DELTA = 0, 1, 2, 3
_SHORT_REPEAT_MIN, _SHORT_REPEAT_MAX = 3, 10
_WIDTHS = (*range(1, 25), 26, 28, 30, 32, 40, 48, 56, 64)
"""The width in bits for each value of the five bits in a header."""


@dataclass(frozen=True, slots=True)
class Runs:
    """Decoded values, and where each run starts, in the stream and among the values."""

    values: Unsigned
    bytes_before: Positions
    values_before: Positions

    def index(self, offset: int, inside: int) -> int:
        """The index of the value number ``inside`` of the run that starts at a byte offset.

        ValueError if no run starts there.
        """
        run = int(np.searchsorted(self.bytes_before, offset))
        if run == len(self.bytes_before) or self.bytes_before[run] != offset:
            raise ValueError("an index points into the middle of a run")
        return int(self.values_before[run]) + inside


def decode_unsigned(stream: bytes) -> Runs:
    """All values of a stream. ValueError if it is malformed.

    >>> decode_unsigned(bytes([0x0A, 0x27, 0x10])).values.tolist()
    [10000, 10000, 10000, 10000, 10000]
    """
    parts: list[Unsigned] = []
    starts, counts = [], []
    at = 0
    try:
        while at < len(stream):
            starts.append(at)
            values, at = _run(stream, at)
            parts.append(values)
            counts.append(len(values))
    except IndexError as error:
        raise ValueError("a run is cut short") from error
    if at > len(stream):
        raise ValueError("a run is cut short")
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])
    values = np.concatenate(parts) if parts else np.zeros(0, np.uint64)
    return Runs(values, np.array([*starts, len(stream)], np.int64), before)


def encode_unsigned(values: Unsigned) -> tuple[bytes, int]:
    """The values as a stream, and the length of each run in bytes.

    Every run but the last has RUN_MAX values. Each value takes whole bytes: the streams encoded
    here hardly compress.

    >>> encode_unsigned(np.array([1, 256], np.uint64))[0].hex()
    '5e0100010100'
    """
    top = int(values.max(initial=0))
    width = max(1, (top.bit_length() + 7) // 8)
    body = values.astype(">u8").view(np.uint8).reshape(-1, 8)[:, 8 - width :]
    whole = len(values) // RUN_MAX
    full = np.empty((whole, 2 + RUN_MAX * width), np.uint8)
    full[:, :2] = _direct_header(width, RUN_MAX)
    full[:, 2:] = body[: whole * RUN_MAX].reshape(whole, RUN_MAX * width)
    rest = body[whole * RUN_MAX :]
    last = _direct_header(width, len(rest)).tobytes() + rest.tobytes() if len(rest) else b""
    return full.tobytes() + last, 2 + RUN_MAX * width


def encode_progression(first: int, step: int, count: int) -> bytes:
    """A stream of signed numbers, of which each is the one before plus ``step``.

    >>> encode_progression(10, 1, 1000).hex()
    'c1ff1402c1e7940802'
    """
    whole, rest = divmod(count, RUN_MAX)
    if step == 0:
        return _progression(first, 0, RUN_MAX) * whole + _progression(first, 0, rest)
    firsts = range(first, first + count * step, RUN_MAX * step)
    counts = [RUN_MAX] * whole + [rest] * bool(rest)
    return b"".join(_progression(at, step, n) for at, n in zip(firsts, counts, strict=True))


def _progression(first: int, step: int, count: int) -> bytes:
    """One run, or none if there are no numbers."""
    if count < _SHORT_REPEAT_MIN:
        numbers = [unsigned(first + step * at) for at in range(count)]
        return encode_unsigned(np.array(numbers, np.uint64))[0]
    if step == 0 and count <= _SHORT_REPEAT_MAX:
        number = unsigned(first)
        width = max(1, (number.bit_length() + 7) // 8)
        header = _SHORT_REPEAT << 6 | width - 1 << 3 | count - _SHORT_REPEAT_MIN
        return bytes([header]) + number.to_bytes(width, "big")
    header = _DELTA << 14 | count - 1
    return header.to_bytes(2, "big") + varint(unsigned(first)) + varint(unsigned(step))


def _direct_header(width: int, count: int) -> NDArray[np.uint8]:
    code = _WIDTHS.index(8 * width)
    return np.array([_DIRECT << 6 | code << 1 | (count - 1) >> 8, (count - 1) & 255], np.uint8)


def _run(stream: bytes, at: int) -> tuple[Unsigned, int]:
    kind = stream[at] >> 6
    if kind == _SHORT_REPEAT:
        width, count = (stream[at] >> 3 & 7) + 1, (stream[at] & 7) + 3
        value = int.from_bytes(_slice(stream, at + 1, width), "big")
        return np.full(count, value, np.uint64), at + 1 + width
    code, count = stream[at] >> 1 & 31, ((stream[at] & 1) << 8 | stream[at + 1]) + 1
    if kind == _DIRECT:
        return _packed(stream, at + 2, _WIDTHS[code], count)
    if kind == _PATCHED_BASE:
        return _patched(stream, at, _WIDTHS[code], count)
    return _delta(stream, at + 2, _WIDTHS[code] if code else 0, count)


def _packed(stream: bytes, at: int, width: int, count: int) -> tuple[Unsigned, int]:
    """``count`` numbers of ``width`` bits, most significant first, and where they end."""
    size = (width * count + 7) // 8
    packed = np.frombuffer(_slice(stream, at, size), np.uint8)
    if width % 8 == 0:
        padded = np.zeros((count, 8), np.uint8)
        padded[:, 8 - width // 8 :] = packed.reshape(count, width // 8)
    else:
        bits = np.zeros((count, 64), np.uint8)
        bits[:, 64 - width :] = np.unpackbits(packed, count=width * count).reshape(count, width)
        padded = np.packbits(bits, axis=1)
    return padded.view(">u8").reshape(-1).astype(np.uint64), at + size


def _patched(stream: bytes, at: int, width: int, count: int) -> tuple[Unsigned, int]:
    base_width, patch_width = (stream[at + 2] >> 5) + 1, _WIDTHS[stream[at + 2] & 31]
    gap_width, patches = (stream[at + 3] >> 5) + 1, stream[at + 3] & 31
    base = int.from_bytes(_slice(stream, at + 4, base_width), "big")
    if base >> 8 * base_width - 1:
        raise ValueError("a run of unsigned numbers has a negative base")
    values, at = _packed(stream, at + 4 + base_width, width, count)
    entry_width = next(w for w in _WIDTHS if w >= gap_width + patch_width)
    entries, at = _packed(stream, at, entry_width, patches)
    place = 0
    for entry in entries.tolist():
        place += entry >> patch_width
        values[place] |= np.uint64((entry & (1 << patch_width) - 1) << width)
    return values + np.uint64(base), at


def _delta(stream: bytes, at: int, width: int, count: int) -> tuple[Unsigned, int]:
    base, at = read_varint(stream, at)
    step, at = read_varint(stream, at)
    step = signed(step)  # as all deltas are
    deltas = np.full(count, step, np.int64)
    deltas[0] = 0
    if width and count > 2:
        packed, at = _packed(stream, at, width, count - 2)
        deltas[2:] = packed.astype(np.int64) * (-1 if step < 0 else 1)
    return np.uint64(base) + np.cumsum(deltas).astype(np.uint64), at


def _slice(stream: bytes, at: int, size: int) -> bytes:
    part = stream[at : at + size]
    if len(part) != size:
        raise IndexError
    return part
