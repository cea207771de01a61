"""How a Parquet file tells days and timestamps, by what its writer says in the footer.

Hive stores the clock of a timestamp as an instant: that at which clocks in the writer's time zone
show it. ``writer.time.zone`` names the zone (DataWritableWriteSupport). Hive 4 counts days before
1582-10-15 in the hybrid calendar: those of timestamps always, and dates unless
``writer.date.proleptic`` is true. Hive 3 counts in the proleptic calendar, and says nothing of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from acidsql.errors import StorageError
from acidsql.layout.arrow import Array
from acidsql.orc.calendar import proleptic, proleptic_days
from acidsql.orc.damage import naming
from acidsql.orc.exact import Longs, is_timestamp, microseconds
from acidsql.orc.footer import SWITCH_DAY
from acidsql.orc.nested import map_leaves
from acidsql.orc.zones import clock_seconds, is_utc, known_zone, mean_clock_seconds
from acidsql.ports.storage import Storage

_PROLEPTIC, _ZONE, _LEGACY = (
    b"writer.date.proleptic",
    b"writer.time.zone",
    b"writer.zone.conversion.legacy",
)
WRITER = {_PROLEPTIC: b"true", _ZONE: b"UTC", _LEGACY: b"false"}
"""What our files say. Without it, Hive 3 moves timestamps to its own zone, and Hive 4 old dates."""

_DAY_S = 86_400
_FIRST_ALIKE_US = -2_208_988_800_000_000
"""1900-01-01 in microseconds: from then on Spark's two ways to count agree in each time zone."""
_TAIL_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class ParquetTimes:
    """How a file tells days and timestamps; by default as our files do.

    ``julian_days`` and ``julian_clocks``: dates and timestamps before 1582-10-15 are those of the
    hybrid calendar. ``zone`` is the writer's time zone; "" if timestamps are stored as clocks show
    them. ``legacy`` says that the writer moved them to UTC as java.util.TimeZone does.
    ``nanoseconds`` says that timestamps are counted in nanoseconds since 1970, as pandas does.
    """

    julian_days: bool = False
    julian_clocks: bool = False
    zone: str = ""
    legacy: bool = False
    nanoseconds: bool = False

    @property
    def is_read_by_spark(self) -> bool:
        """Whether Spark's reader knows such files, and `acidsql` can mend what it reads."""
        return not self.legacy and not self.nanoseconds

    @classmethod
    def of(cls, footer: pq.FileMetaData, path: str) -> ParquetTimes:
        """What a file says of itself. StorageError for a time zone that nobody knows."""
        said = footer.metadata or {}
        by_hive_4 = _PROLEPTIC in said and footer.created_by.startswith("parquet-mr")
        days = said.get(_PROLEPTIC) == b"false"
        leaves = tuple(_leaves(footer))
        nanoseconds = any('"nanoseconds"' in leaf.logical_type.to_json() for leaf in leaves)
        if not any(leaf.physical_type == "INT96" for leaf in leaves):
            return cls(julian_days=days, nanoseconds=nanoseconds)
        zone = said.get(_ZONE, b"").decode(errors="replace")
        if is_utc(zone):
            return cls(days, by_hive_4, nanoseconds=nanoseconds)
        try:
            known_zone(zone)
        except ValueError:
            raise StorageError(
                f'file "{path}" has timestamps of the time zone "{zone}", which is not known',
                hint="Install the package tzdata, or let Hive write the rows again in UTC.",
            ) from None
        return cls(days, by_hive_4, zone, said.get(_LEGACY) == b"true", nanoseconds)

    def shown(self, array: Array) -> Array:
        """An array of any type, with days and timestamps as clocks at the writer showed them.

        Timestamps have microseconds, as Spark has them; finer fractions are cut off.
        """
        if self.nanoseconds:
            array = map_leaves(array, _is_fine, _in_microseconds)
        if self.julian_days:
            array = proleptic(array)
        if self.julian_clocks or self.zone:
            array = map_leaves(array, _is_clock, self._clocks)
        return array

    def _clocks(self, array: Array) -> Array:
        ticks = np.asarray(array.cast(pa.int64()).fill_null(0), np.int64)
        seconds, micros = np.divmod(ticks, 10**6)
        # Calendar and zone change places: what was done last is undone first.
        if self.legacy:
            seconds = self._days(clock_seconds(seconds, self.zone))
        else:
            seconds = self._days(seconds)
            seconds = mean_clock_seconds(seconds, self.zone) if self.zone else seconds
        return microseconds(seconds * 10**6 + micros, np.asarray(array.is_null()))

    def _days(self, seconds: Longs) -> Longs:
        if not self.julian_clocks:
            return seconds
        days, of_day = np.divmod(seconds, _DAY_S)
        return proleptic_days(days) * _DAY_S + of_day


OURS = ParquetTimes()


def times_of(path: str, storage: Storage) -> ParquetTimes:
    """How a file tells days and timestamps.

    MissingFileError, StorageError or CorruptFileError if its footer cannot be read.
    """
    with storage.open_input(path) as stream, naming(path, "cannot be read as Parquet"):
        return ParquetTimes.of(_footer(stream), path)


def is_hybrid_of_spark(footer: pq.FileMetaData) -> bool:
    """Whether old days and times of a Parquet file of Spark's are of the hybrid calendar.

    Spark says so in its files, or is of a version that knew no other (DataSourceUtils).
    """
    metadata = footer.metadata or {}
    version = metadata.get(b"org.apache.spark.version")
    said = metadata.keys() & {b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"}
    return version is not None and (bool(said) or version < b"3.1.0")


def refuse_old_times(rows: pa.RecordBatch, path: str) -> None:
    """StorageError for a day or time that Spark reads as another one, by the file's calendar."""

    def look(leaf: Array) -> Array:
        is_date = pa.types.is_date32(leaf.type)
        if not is_date:
            leaf = leaf.cast(pa.timestamp("us", leaf.type.tz), safe=False)
        first = pc.min(leaf.cast(pa.int32() if is_date else pa.int64())).as_py()
        if first is not None and first < (SWITCH_DAY if is_date else _FIRST_ALIKE_US):
            raise StorageError(
                f'file "{path}" has old dates or timestamps in the hybrid calendar',
                detail="Spark has written them so, and turns them into others when it reads them.",
                hint="INSERT OVERWRITE the table with its own rows: they are written as Spark reads"
                " them.",
            )
        return leaf

    for column in rows.columns:
        map_leaves(column, lambda kind: pa.types.is_date32(kind) or is_timestamp(kind), look)


def _footer(stream: BinaryIO) -> pq.FileMetaData:
    """The footer, read by one request where it is small. pyarrow's own would take several."""
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - _TAIL_BYTES))
    tail = stream.read()
    length = int.from_bytes(tail[-8:-4], "little") + 8
    if len(tail) < length <= size:
        stream.seek(size - length)
        tail = stream.read()
    return pq.read_metadata(pa.BufferReader(tail))


def _is_clock(kind: pa.DataType) -> bool:
    return pa.types.is_timestamp(kind) and kind.tz is None


def _is_fine(kind: pa.DataType) -> bool:
    return pa.types.is_timestamp(kind) and kind.unit == "ns"


def _in_microseconds(array: Array) -> Array:
    ticks = np.asarray(array.cast(pa.int64()).fill_null(0), np.int64) // 1000
    found = pa.array(ticks, pa.timestamp("us"), mask=np.asarray(array.is_null()))
    return found.cast(pa.timestamp("us", array.type.tz))


def _leaves(footer: pq.FileMetaData) -> Iterator[pq.ColumnSchema]:
    schema = footer.schema
    return (schema.column(index) for index in range(len(schema)))
