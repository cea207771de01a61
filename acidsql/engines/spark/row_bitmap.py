"""Deleted rows as bits that Spark looks up while it scans.

A join with broadcast keys needs a job of its own, for which the query's scan waits: a quarter of a
second, half of what a fast query takes. With many keys, the join also takes longer than the scan.
So the scan's filter looks up bits instead, by methods of Java's own classes. Spark's SQL has no
such calls, so they are made of Spark's classes through the gateway. Without a gateway, or where
this Spark's classes differ, the scan is joined with the words (`deletes.word_join`).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from acidsql.engines.rows import begins_stretch
from acidsql.engines.spark.deleted_words import PackedWords
from acidsql.engines.spark.gateway import JavaClasses, by_gateway
from acidsql.engines.spark.java_calls import ARRAY_DATA, LONGS, JavaCalls
from acidsql.engines.spark.key_packing import WORD_BITS, KeyPacking
from acidsql.engines.spark.parsed import part_name
from acidsql.orc.keys import Longs
from acidsql.orc.schema import ROW_ID_COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

_PAGE, _WORD = part_name("page"), part_name("word")

_PAGE_BITS_MAX = 6
_ROW = ROW_ID_COLUMNS[2]

DIRECTORY_BYTES_MIN = 1 << 20
"""Up to this size a bitmap has a directory, even if keys took less: a directory is read faster."""


@dataclass(frozen=True, slots=True)
class RowBitmap:
    """Pages of 2 ** ``page_bits`` words, each with a bit for every row number.

    Row ids are packed by ``packing``. The key of a page is the key of its rows without the last
    bits. ``words`` are an empty page, then the pages with a deleted row, in the order of their
    keys. ``index`` leads to them: it is a directory, which has the number of the first word of each
    possible page (0 for those that are not there), or else the sorted keys of the pages.
    """

    packing: KeyPacking
    page_bits: int
    has_directory: bool
    index: Longs
    words: NDArray[np.uint64]

    @classmethod
    def of(cls, packed: PackedWords) -> RowBitmap:
        """The bitmap of these words, with pages of the size that takes the least memory.

        Where many rows are deleted, large pages take little more than a bit a row. Where few are,
        small pages take 16 bytes a deleted row. Where a directory takes little more memory than the
        keys, or little in all, the bitmap has one.
        """
        packing = packed.packing
        sizes = range(min(_PAGE_BITS_MAX, packing.row_bits - WORD_BITS) + 1)
        pages = {bits: _pages(packed.keys, bits) for bits in sizes}
        keyed = min(sizes, key=lambda b: _size(pages[b], b, pages[b]))
        directed = min(sizes, key=lambda b: _size(pages[b], b, _directory_length(packing, b)))
        least = _size(pages[keyed], keyed, pages[keyed])
        size = _size(pages[directed], directed, _directory_length(packing, directed))
        has_directory = size <= max(DIRECTORY_BYTES_MIN, least * 3 // 2)
        page_bits = directed if has_directory else keyed
        of_page = packed.keys >> page_bits
        is_first = begins_stretch([of_page])
        starts = np.cumsum(is_first) << page_bits
        words = np.zeros(pages[page_bits] + 1 << page_bits, np.uint64)
        words[starts + (packed.keys & (1 << page_bits) - 1)] = packed.words.bits
        index = of_page[is_first]
        if has_directory:
            index = np.zeros(_directory_length(packing, page_bits), np.int64)
            index[of_page] = starts
        return cls(packing, page_bits, has_directory, index, words)

    @property
    def size(self) -> int:
        """The memory of the bitmap in bytes: in the driver, and in each executor."""
        return int(self.index.nbytes + self.words.nbytes)

    @property
    def pages(self) -> Longs:
        """The keys of the pages that have a deleted row, in ascending order."""
        return np.flatnonzero(self.index) if self.has_directory else self.index

    def digest(self) -> bytes:
        """A digest of the bits, equal for equal bits under the same packing."""
        found = hashlib.sha256(f"{self.page_bits} {self.has_directory}".encode())
        found.update(self.index.tobytes())
        found.update(self.words.tobytes())
        return found.digest()

    def is_unset(self, spark: SparkSession, *, partitioned: bool) -> Column | None:
        """The condition that a row's bit is not set; None if Spark's classes cannot be reached.

        It is null for no row, so that Spark infers no filter that it would push down: see
        `event_files.operation_is`.
        """
        return by_gateway(
            spark,
            lambda java: self._is_unset(java, spark, partitioned=partitioned),
            "deleted rows are joined",
        )

    def _is_unset(self, java: JavaClasses, spark: SparkSession, *, partitioned: bool) -> Column:
        calls = JavaCalls(java, spark)
        key = self.packing.expression(partitioned=partitioned)
        page = f"shiftright({key}, {self.page_bits + WORD_BITS})"
        if self.has_directory:
            index = calls.broadcast(calls.array_data(self.index), ARRAY_DATA)
            number = calls.expression(f"cast({page} as int)")
            page_at, at = calls.method(index, "getLong", "Long", number), _PAGE
        else:
            index = calls.broadcast(calls.longs(self.index), LONGS)
            page_at = calls.static(
                "java.util.Arrays", "binarySearch", "Integer", index, calls.expression(page)
            )
            # What was found is negative if the page is not there. Page 0 is the empty one.
            at = f"cast(shiftleft(greatest({_PAGE} + 1, 0), {self.page_bits}) as bigint)"
        in_page = f"shiftright(coalesce({_ROW}, 0), {WORD_BITS}) & {(1 << self.page_bits) - 1}"
        place = calls.expression(f"cast({at} | ({in_page}) as int)", {_PAGE: page_at})
        words = calls.broadcast(calls.array_data(self.words.view(np.int64)), ARRAY_DATA)
        word = calls.method(words, "getLong", "Long", place)
        # No part of the condition is there twice. Spark would compute it once, and to that end get
        # all columns of a row before it looks at the query's own conditions (FilterExec).
        in_word = f"cast(coalesce({_ROW} & {(1 << WORD_BITS) - 1}, 0) as int)"
        is_unset = f"(shiftright({_WORD}, {in_word}) & 1) = 0"
        return calls.column(calls.expression(is_unset, {_WORD: word}))


def _pages(keys: Longs, page_bits: int) -> int:
    """How many pages of 2 ** ``page_bits`` words have one of these words, which are sorted."""
    return int(np.count_nonzero(begins_stretch([keys >> page_bits])))


def _directory_length(packing: KeyPacking, page_bits: int) -> int:
    """How many pages there can be, and one more for `KeyPacking.no_key`."""
    return (packing.no_key >> page_bits + WORD_BITS) + 1


def _size(pages: int, page_bits: int, index_length: int) -> int:
    return 8 * ((pages << page_bits) + index_length)
