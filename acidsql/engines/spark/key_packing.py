"""The row ids of deleted rows as numbers of at most 62 bits.

Most bits of a row id are the same in all deleted rows of a table: those of the bucket property's
version, for example, or the upper ones of write ids. Only the others are packed. A row whose other
bits differ is not deleted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from acidsql.engines.changes import PARTITION
from acidsql.orc.schema import ROW_ID_COLUMNS

WORD_BITS = 6
"""A row number without its last 6 bits is the number of its word."""

WORD_COLUMNS = (PARTITION, *ROW_ID_COLUMNS)
"""The columns that say where a word is. Their ``rowId`` is the number of the word."""

_IN_WORD = (1 << WORD_BITS) - 1
_BITS_MAX = 62
_ROW = ROW_ID_COLUMNS[2]
_STARTS = {ROW_ID_COLUMNS[1]: (16, 0)}
"""The bits at which the bucket and the statement id begin in a bucket property.

The differing bits of the two numbers are packed apart, without the bits between them.
"""


@dataclass(frozen=True, slots=True)
class PackedBits:
    """A stretch of so many ``bits`` of a column. It begins at the bit ``start``, counted from 0."""

    column: str
    start: int
    bits: int

    @property
    def mask(self) -> int:
        """The bits, in their column."""
        return (1 << self.bits) - 1 << self.start


@dataclass(frozen=True, slots=True)
class KeyPacking:
    """Which bits of a row id are packed, from the upper to the lower ones.

    ``common`` are the columns with the value that all deleted rows have in the other bits.
    """

    packed: tuple[PackedBits, ...]
    common: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, columns: Mapping[str, np.ndarray]) -> KeyPacking | None:
        """The packing for all of these words; None if they do not fit.

        ``columns`` are `WORD_COLUMNS`, of one word at least.

        >>> row_ids = [[4, 7], [1 << 29, 1 << 29], [0, 15]]  # write ids 4 to 7, rows 0 to 1023
        >>> words = map(np.array, [[0, 0], *row_ids])
        >>> packing = KeyPacking.of(dict(zip(WORD_COLUMNS, words, strict=True)))
        >>> [(each.column, each.bits) for each in packing.packed]
        [('originalTransaction', 2), ('rowId', 10)]
        """
        packed, common = [], []
        for name in WORD_COLUMNS:
            if int(columns[name].min()) < 0:
                return None
            first = int(columns[name][0])
            differing = int(np.bitwise_or.reduce(columns[name] ^ columns[name][0]))
            if name == _ROW:  # the bits inside a word, which `columns` do not have
                first, differing = first << WORD_BITS, (differing << WORD_BITS) + _IN_WORD
            ranges = _ranges(name, differing)
            packed += ranges
            common.append((name, first & ~sum(r.mask for r in ranges)))
        if sum(r.bits for r in packed) > _BITS_MAX:
            return None
        return cls(tuple(packed), tuple(common))

    @property
    def row_bits(self) -> int:
        """How many of the lowest bits are the row number's."""
        return sum(r.bits for r in self.packed if r.column == _ROW)

    @property
    def bits(self) -> int:
        """How many bits a packed row id has."""
        return sum(r.bits for r in self.packed)

    @property
    def no_key(self) -> int:
        """A key that is greater than that of every deleted row."""
        return 1 << self.bits

    def expression(self, *, partitioned: bool) -> str:
        """SQL for the packed row id of a row, or `no_key` for a row that cannot be a deleted one.

        Its value is never null.
        """
        columns = [name for name in WORD_COLUMNS if partitioned or name != PARTITION]
        mask = {name: sum(r.mask for r in self.packed if r.column == name) for name in columns}
        common = dict(self.common)
        # A test that is never null takes less than half of the code of one that may be.
        fits = " and ".join(
            f"{name} & {~mask[name]} is not distinct from {common[name]}" for name in columns
        )
        values, shift = [], 0
        for each in reversed([r for r in self.packed if r.column in columns]):
            value = f"shiftright({each.column}, {each.start})" if each.start else each.column
            value = f"cast({value} & {(1 << each.bits) - 1} as bigint)"
            values.append(f"shiftleft({value}, {shift})" if shift else value)
            shift += each.bits
        key = f"coalesce({' | '.join(reversed(values)) or '0'}, {self.no_key})"
        return f"case when {fits} then {key} else {self.no_key} end"

    def pack(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """`expression` of the first row of each word, without the bits inside the word."""
        keys = np.zeros(len(columns[_ROW]), np.int64)
        for each in self.packed:
            inside = WORD_BITS if each.column == _ROW else 0
            values = columns[each.column].astype(np.int64) >> each.start
            bits = each.bits - inside
            keys = keys << bits | values & (1 << bits) - 1
        return keys


def _ranges(column: str, differing: int) -> list[PackedBits]:
    """The bits to pack so that all that differ are among them."""
    ranges = []
    for start in _STARTS.get(column, (0,)):
        bits = (differing >> start).bit_length()
        if bits:
            ranges.append(PackedBits(column, start, bits))
            differing &= (1 << start) - 1
    return ranges
