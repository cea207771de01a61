"""A scan without the deleted rows.

Delete files up to `BROADCAST_BYTES_MAX` are read by the driver. Where the deleted rows lie close
together they become a bitmap, which the scan's filter looks up. Others become one bigint each,
broadcast for an anti join. More deletes are read by Spark and joined on the key columns themselves,
which lets Spark sort and merge.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from acidsql.engines.changes import PARTITION
from acidsql.engines.selection import SelectedFile, Selection, source_of
from acidsql.engines.spark.event_files import EVENTS, WHOLE, is_visible, operation_is
from acidsql.engines.spark.local_frame import local_frame
from acidsql.engines.spark.paths import literal_paths
from acidsql.engines.spark.row_bitmap import RowBitmap
from acidsql.engines.spark.timestamps import storage_type
from acidsql.model.names import quote_identifier as quote
from acidsql.model.row_id import CODEC_V1
from acidsql.model.snapshot import ValidWriteIdList
from acidsql.orc.keys import longs, valid_events
from acidsql.orc.reader import read_deletes
from acidsql.orc.schema import CURRENT_TRANSACTION, DELETE, ROW_ID_COLUMNS
from acidsql.ports.engine import TableSnapshot
from acidsql.ports.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

BROADCAST_BYTES_MAX = 64 << 20
"""Delete files up to this size in all are read by the driver; about 10 million row ids."""

_KEPT_MAX, _KEPT_KEYS_MAX = 8, 1 << 20
"""How many filters are kept, and up to how many keys a kept one has: 64 MiB at most."""

Filter = Callable[["DataFrame"], "DataFrame"]

_KEY = "__deleted"
_BUCKET_BITS = 24


@dataclass(frozen=True, slots=True)
class KeyPacking:
    """How partition, write id, bucket property and row number share 63 bits.

    If every deleted row's key fits (`holds`), a row whose key does not fit is not deleted.
    """

    partition_bits: int
    write_id_bits: int

    @property
    def row_bits(self) -> int:
        """The bits left for the row number; the bucket property takes its two 12-bit numbers."""
        return 63 - _BUCKET_BITS - self.partition_bits - self.write_id_bits

    def expression(self, *, partitioned: bool) -> str:
        """The packed key of a row, null where a field is too large to have been packed."""
        bucket = "(shiftright(bucket, 4) & 16773120 | bucket & 4095)"
        parts = [
            f"shiftleft(originalTransaction, {_BUCKET_BITS + self.row_bits})",
            f"shiftleft(cast({bucket} as bigint), {self.row_bits})",
            "rowId",
        ]
        if partitioned:
            shift = self.write_id_bits + _BUCKET_BITS + self.row_bits
            parts.insert(0, f"shiftleft(cast({PARTITION} as bigint), {shift})")
        fits = (
            f"rowId < {1 << self.row_bits} and originalTransaction < {1 << self.write_id_bits}"
            f" and bucket >= {CODEC_V1}"
        )
        return f"case when {fits} then {' | '.join(parts)} end"

    def holds(self, keys: dict[str, np.ndarray]) -> bool:
        """Whether every key can be packed; those of codec V0, before Hive 3, cannot."""
        return bool(
            self.row_bits > 0
            and (keys["rowId"] < 1 << self.row_bits).all()
            and (keys["originalTransaction"] < 1 << self.write_id_bits).all()
            and (keys["bucket"] >= CODEC_V1).all()
        )

    def pack(self, partition: np.ndarray, keys: dict[str, np.ndarray]) -> np.ndarray:
        """`expression`, for arrays."""
        write_id, bucket, row = (keys[name].astype(np.int64) for name in ROW_ID_COLUMNS)
        assert self.holds(keys)
        packed = partition.astype(np.int64) << self.write_id_bits | write_id
        packed = packed << _BUCKET_BITS | (bucket >> 4 & 16773120 | bucket & 4095)
        return packed << self.row_bits | row


class KeptFilters:
    """The filters for the last few sets of deleted keys, each made once.

    Handing 60,000 keys to Spark takes longer than reading them. A set is recognised by a digest of
    its keys, not by the files it came from, so that no file system's idea of identity is trusted.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[object, ...], Filter] = OrderedDict()
        self._guard = threading.Lock()

    def filter(
        self, packed: np.ndarray, made_for: tuple[object, ...], make: Callable[[], Filter]
    ) -> Filter:
        """The filter of these keys: one that is kept for equal ``made_for``, or a new one."""
        key = (hashlib.sha256(packed.tobytes()).digest(), *made_for)
        with self._guard:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        made = make()
        if len(packed) <= _KEPT_KEYS_MAX:
            with self._guard:
                self._kept[key] = made
                while len(self._kept) > _KEPT_MAX:
                    self._kept.popitem(last=False)
        return made

    def clear(self) -> None:
        """Forget all filters."""
        with self._guard:
            self._kept.clear()


def without_deleted(
    spark: SparkSession,
    filters: KeptFilters,
    events: DataFrame,
    selection: Selection,
    snapshot: TableSnapshot,
    storage: Storage,
    *,
    partitioned: bool,
) -> DataFrame:
    """The events without those that a visible delete event names."""
    if not selection.deletes:
        return events
    if sum(f.size for f in selection.deletes) > BROADCAST_BYTES_MAX:
        return _joined(spark, events, selection, snapshot, partitioned=partitioned)
    partitions, ids = read_deleted(selection, snapshot.write_ids, storage)
    if not len(partitions):
        return events
    packing = KeyPacking(
        max(0, len(selection.partitions) - 1).bit_length(),
        int(ids["originalTransaction"].max()).bit_length(),  # no other write id can be deleted
    )
    if not packing.holds(ids):
        return _joined_on_columns(spark, events, partitions, ids, partitioned=partitioned)
    packed = packing.pack(partitions, ids)

    def make() -> Filter:
        alone = packing.partition_bits == 0
        bitmap = RowBitmap.of(ids, packed, packing.row_bits) if alone else None
        unset = bitmap.is_unset(spark) if bitmap else None
        if unset is not None:
            return lambda frame: frame.where(unset)
        return _anti_join(spark, packed, packing.expression(partitioned=partitioned))

    return filters.filter(packed, (spark, packing, partitioned), make)(events)


def _anti_join(spark: SparkSession, packed: np.ndarray, key: str) -> Filter:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    distinct = pa.table({_KEY: pa.array(np.unique(packed))})
    deleted = F.broadcast(local_frame(spark, distinct))
    return lambda frame: frame.join(deleted, _expression(f"{key} = {_KEY}"), "left_anti")


def read_deleted(
    selection: Selection, write_ids: ValidWriteIdList, storage: Storage
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The deleted row ids that the snapshot sees: their partitions' indexes, and their parts."""
    tables = [
        _visible(read_deletes(source_of(f.path, storage), f.path), f, write_ids)
        for f in selection.deletes
    ]
    partitions = np.concatenate(
        [np.full(t.num_rows, f.partition) for t, f in zip(tables, selection.deletes, strict=True)]
    )
    whole = pa.concat_tables(tables)
    return partitions, {name: whole.column(name).to_numpy() for name in ROW_ID_COLUMNS}


def _visible(table: pa.Table, file: SelectedFile, write_ids: ValidWriteIdList) -> pa.Table:
    if not file.row_filter:
        return table
    current = longs(table.column(CURRENT_TRANSACTION))
    return table.filter(pa.array(valid_events(current, write_ids)))


def _joined_on_columns(
    spark: SparkSession,
    events: DataFrame,
    partitions: np.ndarray,
    keys: dict[str, np.ndarray],
    *,
    partitioned: bool,
) -> DataFrame:
    columns = {f"__d_{name}": pa.array(keys[name]) for name in ROW_ID_COLUMNS}
    columns[f"__d{PARTITION}"] = pa.array(partitions.astype(np.int32))
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    deleted = F.broadcast(local_frame(spark, pa.table(columns)))
    condition = _expression(same_row_id(partitioned=partitioned))
    return events.join(deleted, condition, "left_anti")


def _joined(
    spark: SparkSession,
    events: DataFrame,
    selection: Selection,
    snapshot: TableSnapshot,
    *,
    partitioned: bool,
) -> DataFrame:
    """The anti join for deletes that are too many to broadcast: Spark reads their files."""
    frames = [
        _delete_events(
            spark, snapshot, [f for f in selection.deletes if f.partition == index]
        ).selectExpr(f"{index} as __d{PARTITION}", *(f"{n} as __d_{n}" for n in ROW_ID_COLUMNS))
        for index in sorted({f.partition for f in selection.deletes})
    ]
    deleted = frames[0]
    for frame in frames[1:]:
        deleted = deleted.unionAll(frame)
    return events.join(deleted, _expression(same_row_id(partitioned=partitioned)), "left_anti")


def _delete_events(
    spark: SparkSession, snapshot: TableSnapshot, files: list[SelectedFile]
) -> DataFrame:
    column = snapshot.table.columns[0]
    schema = EVENTS.format(row=f"{quote(column.name)}: {storage_type(column.type)}")
    reader = spark.read.schema(schema).options(**WHOLE)
    frame = reader.orc(literal_paths(f.path for f in files)).where(
        operation_is(DELETE, f"row.{quote(column.name)}")
    )
    if not any(f.row_filter for f in files):
        return frame
    return frame.where(is_visible(snapshot.write_ids))


def same_row_id(*, partitioned: bool) -> str:
    """True of a row and a delete event of it, where both are in columns. SQL."""
    names = [*ROW_ID_COLUMNS]
    condition = " and ".join(f"{name} = __d_{name}" for name in names)
    return f"{condition} and {PARTITION} = __d{PARTITION}" if partitioned else condition


def _expression(text: str) -> Column:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    return F.expr(text)
