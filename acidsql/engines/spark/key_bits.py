"""Hashes of keys as bits that Spark looks up while it scans: a Bloom filter of two hashes.

The bits tell that no key can be the row's, or that some key may be. A broadcast join tells that for
sure. But it looks for keys all over a large memory, which its process has to fetch: for a million
keys, that takes as long as the scan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from acidsql.engines.spark.gateway import JavaClasses, by_gateway
from acidsql.engines.spark.java_calls import ARRAY_DATA, JavaCalls
from acidsql.engines.spark.parsed import part_name

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

_BITS_EACH = 16
"""Bits for each of many keys. One row in a hundred is taken for one that may have a key."""

_BITS_FEW_KEYS = 128
"""Bits for each of few keys. Then it is one row in four thousand."""

_BITS_CACHED = 1 << 21
"""So many bits stay in a processor's cache. More than `_BITS_EACH` leave it for nothing."""

_BITS_MIN = 1 << 10
"""There are never fewer bits. So statements with few keys share the code that Spark generates."""

_FIRST, _LAST = part_name("first"), part_name("last")

_WORD = 6
"""A word has 2 ** 6 bits."""


def key_words(hashes: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The bits of these hashes, as words. Their number is a power of two.

    The first and the last bits of a hash are the numbers of its two bits.

    >>> words = key_words(np.array([0, 3, -1 << 63]))
    >>> len(words), int(words[0]), int(words[8])
    (16, 9, 1)
    """
    cached = min(len(hashes) * _BITS_FEW_KEYS, _BITS_CACHED)
    length = (max(cached, len(hashes) * _BITS_EACH, _BITS_MIN) - 1).bit_length()
    whole = hashes.view(np.uint64)
    bits = np.zeros(1 << length, np.bool_)
    bits[whole >> np.uint64(64 - length)] = True
    bits[whole & np.uint64((1 << length) - 1)] = True
    return np.packbits(bits, bitorder="little").view("<u8")


def may_be_key(spark: SparkSession, words: NDArray[np.uint64], whole: str) -> Column | None:
    """The condition that both bits of the hash ``whole``, a text of SQL, are set; never null.

    None if Spark's classes cannot be reached.
    """
    return by_gateway(
        spark,
        lambda java: _may_be_key(java, spark, words, whole),
        "the keys of a source are joined with the rows of the target twice",
    )


def _may_be_key(
    java: JavaClasses, spark: SparkSession, words: NDArray[np.uint64], whole: str
) -> Column:
    calls = JavaCalls(java, spark)
    length = len(words).bit_length() - 1 + _WORD
    held = calls.broadcast(calls.array_data(words.view(np.int64)), ARRAY_DATA)

    def word(place: str) -> Any:
        number = calls.expression(f"cast(shiftright({place}, {_WORD}) as int)")
        return calls.method(held, "getLong", "Long", number)

    def is_set(name: str, place: str) -> str:
        return f"(shiftright({name}, cast({place} & {(1 << _WORD) - 1} as int)) & 1) = 1"

    first = f"shiftrightunsigned({whole}, {64 - length})"
    last = f"({whole} & {(1 << length) - 1})"
    both = f"{is_set(_FIRST, first)} and {is_set(_LAST, last)}"
    return calls.column(calls.expression(both, {_FIRST: word(first), _LAST: word(last)}))
