"""Deleted rows as bits that Spark looks up while it scans.

A join with broadcast keys is a job of its own, for which the query's scan waits: a quarter of a
second, half of what a fast query takes. The bits are a constant of the scan's filter instead.
Spark's SQL has no constant array of that size, so Spark's own class is filled through the gateway.
Without a gateway, or where this Spark's class differs, the join remains.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from acidsql.engines.spark.gateway import JavaClasses, by_gateway
from acidsql.orc.schema import ROW_ID_COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions"

WORDS_MIN = 1 << 17
"""Words of 64 rows that a bitmap may always have: a megabyte.

It may have more, up to two per deleted row.
"""

_WORDS_MAX = 1 << 20
STRETCHES_MAX = 16
"""Stretches are tested one after the other, so there may be few."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """The rows of a write id and bucket property, by words of 64 row numbers."""

    write_id: int
    bucket: int
    first: int
    count: int

    def shift(self, at: int) -> str:
        """SQL: ``WHEN`` a row is of this stretch ``THEN`` its word's index less that of row 0.

        The first word of the stretch has the index ``at``. A test that is never null takes less
        than half of the code of one that may be.
        """
        write_id, bucket, row = ROW_ID_COLUMNS
        low, high = self.first << 6, (self.first + self.count << 6) - 1
        is_here = f"{write_id} is not distinct from {self.write_id}"
        is_here += f" and {bucket} is not distinct from {self.bucket}"
        return (
            f"when {is_here} then case when {row} between {low} and {high}"
            f" then {at - self.first} end"
        )


@dataclass(frozen=True, slots=True)
class RowBitmap:
    """A bit for each row number between the first and the last deleted one of each stretch.

    All rows are of one partition. To find a row's partition costs more than a join, and would be
    done before the query's own conditions.
    """

    stretches: tuple[Stretch, ...]
    words: NDArray[np.int64]

    @classmethod
    def of(cls, keys: dict[str, np.ndarray], packed: np.ndarray, row_bits: int) -> RowBitmap | None:
        """The bits of these rows; None if they are too far apart, or of too many stretches.

        ``packed`` holds the row number of each in its last ``row_bits``, write id and bucket before
        it.
        """
        _, examples, stretch = np.unique(packed >> row_bits, return_index=True, return_inverse=True)
        if len(examples) > STRETCHES_MAX:
            return None
        word = keys["rowId"] >> 6
        lows = np.full(len(examples), np.iinfo(np.int64).max)
        highs = np.zeros(len(examples), np.int64)
        np.minimum.at(lows, stretch, word)
        np.maximum.at(highs, stretch, word)
        counts = highs - lows + 1
        total = int(counts.sum())
        if total > min(_WORDS_MAX, max(WORDS_MIN, 2 * len(packed))):
            return None
        starts = np.cumsum(counts) - counts
        words = np.zeros(total, np.uint64)
        bits = np.left_shift(np.uint64(1), (keys["rowId"] & 63).astype(np.uint64))
        np.bitwise_or.at(words, starts[stretch] + word - lows[stretch], bits)
        parts = (keys["originalTransaction"][examples], keys["bucket"][examples], lows, counts)
        found = zip(*parts, strict=True)
        return cls(tuple(Stretch(*map(int, each)) for each in found), words.view(np.int64))

    def index(self) -> str:
        """The SQL of the index of the word that has a row's bit; null outside of all stretches.

        Its code must be short. Spark compiles a scan with all that is done to its rows into one
        method, and the JVM runs a method of more than 8,000 bytes several times slower.
        """
        at, cases = 0, []
        for stretch in self.stretches:
            cases.append(stretch.shift(at))
            at += stretch.count
        return f"cast(shiftright({ROW_ID_COLUMNS[2]}, 6) + case {' '.join(cases)} end as int)"

    def is_unset(self, spark: SparkSession) -> Column | None:
        """The condition that a row's bit is not set; None if this Spark takes no bits."""
        from pyspark.sql import functions as F  # noqa: N812, PLC0415

        words = by_gateway(
            spark, lambda java: _constant(java, self.words), "deleted rows are joined"
        )
        if words is None:
            return None
        word = F.get(words, F.expr(self.index()))
        bit = F.call_function("shiftright", word, F.expr(f"cast({ROW_ID_COLUMNS[2]} & 63 as int)"))
        # It is null for no row, so that Spark infers no filter that it would push down: see
        # `event_files.operation_is`.
        return F.coalesce(bit.bitwiseAND(1), F.lit(0)) == 0


def _constant(java: JavaClasses, words: NDArray[np.int64]) -> Column:
    """An array of bigint that is serialised as bytes, not number by number."""
    from pyspark.sql import Column  # noqa: PLC0415

    numbers = java("java.lang.reflect.Array").newInstance(java("java.lang.Long").TYPE, len(words))
    buffer = java("java.nio.ByteBuffer").wrap(bytearray(words.astype(">i8").tobytes()))
    buffer.asLongBuffer().get(numbers)
    types = java("org.apache.spark.sql.types.DataTypes")
    kind = types.createArrayType(types.LongType, False)
    array = java(f"{_EXPRESSIONS}.UnsafeArrayData").fromPrimitiveArray(numbers)
    literal = java(f"{_EXPRESSIONS}.Literal")(array, kind)
    return Column(java("org.apache.spark.sql.classic.ExpressionUtils").column(literal))
