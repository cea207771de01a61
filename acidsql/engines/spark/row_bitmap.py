"""Deleted rows as bits that Spark looks up while it scans.

A join with broadcast keys is a job of its own, for which the query's scan waits: a quarter of a
second, half of what a fast query takes. With many keys, the join also takes longer than the scan.
The bits are looked up by the scan's filter instead, which calls methods of Java's own classes.
Spark's SQL has no such calls, so they are made of Spark's classes through the gateway. Without a
gateway, or where this Spark's classes differ, the words are joined.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from acidsql.engines.spark.deleted_words import PackedWords
from acidsql.engines.spark.gateway import JavaClasses, by_gateway
from acidsql.engines.spark.java_calls import JavaCalls
from acidsql.engines.spark.key_packing import WORD_BITS, KeyPacking
from acidsql.orc.keys import Longs
from acidsql.orc.schema import ROW_ID_COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

_PAGE_BITS_MAX = 6
_ROW = ROW_ID_COLUMNS[2]


@dataclass(frozen=True, slots=True)
class RowBitmap:
    """Pages of 2 ** ``page_bits`` words, each with a bit for every row number.

    Row ids are packed by ``packing``. Without its last bits, a row's key is that of its page.
    ``pages`` are the keys of the pages that have a deleted row, in ascending order. ``words`` are
    an empty page, then those of ``pages``.
    """

    packing: KeyPacking
    page_bits: int
    pages: Longs
    words: NDArray[np.uint64]

    @classmethod
    def of(cls, packed: PackedWords) -> RowBitmap:
        """The bitmap of these words, with pages of the size that takes the least memory.

        Where many rows are deleted, large pages take little more than a bit a row. Where few are,
        small pages take 16 bytes a deleted row.
        """
        in_row = packed.packing.row_bits - WORD_BITS
        page_bits = min(range(min(_PAGE_BITS_MAX, in_row) + 1), key=lambda b: _size(packed.keys, b))
        of_page = packed.keys >> page_bits
        is_first = np.concatenate([[True], of_page[1:] != of_page[:-1]])
        pages = of_page[is_first]
        words = np.zeros((len(pages) + 1) << page_bits, np.uint64)
        at = packed.keys & (1 << page_bits) - 1
        words[(np.cumsum(is_first) << page_bits) + at] = packed.words.bits
        return cls(packed.packing, page_bits, pages, words)

    @property
    def size(self) -> int:
        """The memory of the bitmap in bytes: in the driver, and in each executor."""
        return int(self.pages.nbytes + self.words.nbytes)

    def digest(self) -> bytes:
        """A digest of the bits, equal for equal bits under the same packing."""
        found = hashlib.sha256(self.pages.tobytes())
        found.update(self.words.tobytes())
        return found.digest()

    def is_unset(self, spark: SparkSession, *, partitioned: bool) -> Column | None:
        """The condition that a row's bit is not set; None if this Spark takes no bits.

        It is null for no row, so that Spark infers no filter that it would push down: see
        `event_files.operation_is`.
        """
        return by_gateway(
            spark,
            lambda java: self._is_unset(java, spark, partitioned=partitioned),
            "deleted rows are joined",
        )

    def _is_unset(self, java: JavaClasses, spark: SparkSession, *, partitioned: bool) -> Column:
        from pyspark.sql import functions as F  # noqa: N812, PLC0415

        calls = JavaCalls(java, spark)
        key = self.packing.expression(partitioned=partitioned)
        page = F.expr(f"shiftright({key}, {self.page_bits + WORD_BITS})")
        pages = calls.broadcast(calls.longs(self.pages))
        # The result is negative if the page is not there. Then it becomes 0, the empty page.
        found = calls.static("java.util.Arrays", "binarySearch", "Integer", pages, page)
        place = F.greatest(found + 1, F.lit(0)) * (1 << self.page_bits)
        in_page = f"shiftright(coalesce({_ROW}, 0), {WORD_BITS}) & {(1 << self.page_bits) - 1}"
        place += F.expr(f"cast({in_page} as int)")
        words = calls.broadcast(calls.array_data(self.words.view(np.int64)))
        word = calls.method(words, "getLong", "Long", place)
        in_word = f"cast(coalesce({_ROW}, 0) & {(1 << WORD_BITS) - 1} as int)"
        return F.call_function("shiftright", word, F.expr(in_word)).bitwiseAND(1) == 0


def _size(keys: Longs, page_bits: int) -> int:
    """The bytes of the pages and of the words, if pages have 2 ** ``page_bits`` words."""
    of_page = keys >> page_bits
    return (1 + int(np.count_nonzero(of_page[1:] != of_page[:-1]))) * (8 + (8 << page_bits))
