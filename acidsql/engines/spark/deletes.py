"""A scan without the deleted rows.

The driver reads delete files of up to `BROADCAST_BYTES_MAX` together, and makes a bitmap of them,
which the scan's filter looks up. Without a gateway to the JVM, the words of the bitmap are
broadcast for a join. If the deletes are too many for the driver, Spark reads the delete files, and
the scan is joined with them on the key columns themselves. That lets Spark sort and merge.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from acidsql.engines.changes import PARTITION
from acidsql.engines.selection import SelectedFile, Selection
from acidsql.engines.spark.deleted_words import (
    PackedWords,
    TooManyDeletesError,
    read_deleted_words,
)
from acidsql.engines.spark.event_files import (
    EVERY_COLUMN,
    WHOLE,
    event_schema,
    is_visible,
    operation_is,
    required,
)
from acidsql.engines.spark.events import Events
from acidsql.engines.spark.kept import Filter, Kept
from acidsql.engines.spark.key_packing import WORD_BITS
from acidsql.engines.spark.local_frame import local_frame
from acidsql.engines.spark.places import with_places
from acidsql.engines.spark.relation import read_files
from acidsql.engines.spark.row_bitmap import RowBitmap
from acidsql.engines.spark.timestamps import storage_type
from acidsql.model.names import quote_identifier as quote
from acidsql.orc.schema import CURRENT_TRANSACTION, DELETE, ROW_ID_COLUMNS
from acidsql.ports.engine import TableSnapshot
from acidsql.ports.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

BROADCAST_BYTES_MAX = 64 << 20
"""The size of all delete files up to which the driver reads them: 10 million row ids or more."""

DELETING = "__deleting"
"""The column of `with_deleting`."""

_KEY, _BITS = "__deleted", "__deleted_bits"


def without_deleted(
    spark: SparkSession,
    kept: Kept,
    events: Events,
    selection: Selection,
    snapshot: TableSnapshot,
    storage: Storage,
    *,
    partitioned: bool,
) -> Events:
    """The events without those that a visible delete event names."""
    if not selection.deletes:
        return events
    if sum(f.size for f in selection.deletes) > BROADCAST_BYTES_MAX:
        return _joined(spark, events, selection, snapshot, partitioned=partitioned)
    try:
        packed = read_deleted_words(selection.deletes, snapshot.write_ids, storage, kept.contents)
    except TooManyDeletesError:
        return _joined(spark, events, selection, snapshot, partitioned=partitioned)
    if packed is None:
        return events
    bitmap = RowBitmap.of(packed)

    def make() -> Filter:
        unset = bitmap.is_unset(spark, partitioned=partitioned)
        if unset is not None:
            return lambda events: replace(events, unset=unset)
        join = word_join(spark, packed, partitioned=partitioned)
        return lambda events: events.of(join(events.frame))

    return kept.filters.filter(bitmap, (spark, partitioned), make)(events)


def word_join(
    spark: SparkSession, packed: PackedWords, *, partitioned: bool
) -> Callable[[DataFrame], DataFrame]:
    """The filter as a join with the words. A row whose 64 row numbers have no word is kept."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    bits = pa.array(packed.words.bits.view(np.int64))
    words = pa.table({_KEY: pa.array(packed.keys), _BITS: bits})
    deleted = F.broadcast(local_frame(spark, words))
    key = packed.packing.expression(partitioned=partitioned)
    is_word = _expression(f"shiftright({key}, {WORD_BITS}) = {_KEY}")
    in_word = f"cast({ROW_ID_COLUMNS[2]} & {(1 << WORD_BITS) - 1} as int)"
    is_unset = f"coalesce(shiftright({_BITS}, {in_word}) & 1, 0) = 0"
    return lambda frame: frame.join(deleted, is_word, "left").where(is_unset).drop(_KEY, _BITS)


def _joined(
    spark: SparkSession,
    events: Events,
    selection: Selection,
    snapshot: TableSnapshot,
    *,
    partitioned: bool,
) -> Events:
    """The anti join for deletes that are too many for the driver: Spark reads their files."""
    # Spark would broadcast small files, however many rows they have.
    deleted = _every_delete(spark, selection, snapshot).hint("merge")
    same = _expression(same_row_id(partitioned=partitioned))
    return events.of(events.frame.join(deleted, same, "left_anti"))


def with_deleting(
    spark: SparkSession,
    events: DataFrame,
    selection: Selection,
    snapshot: TableSnapshot,
    *,
    partitioned: bool,
) -> DataFrame:
    """All events, with the write id that has deleted the row, or NULL, as `DELETING`."""
    if not selection.deletes:
        return events.selectExpr("*", f"cast(null as bigint) as {DELETING}")
    every = _every_delete(spark, selection, snapshot)
    keys = [name for name in every.columns if name != DELETING]
    # A row that is deleted in a delta and again in a compacted one must not be there twice.
    deleted = every.groupBy(*keys).agg(_expression(f"min({DELETING})").alias(DELETING))
    joined = events.join(deleted, _expression(same_row_id(partitioned=partitioned)), "left")
    return joined.drop(*keys)


def _every_delete(spark: SparkSession, selection: Selection, snapshot: TableSnapshot) -> DataFrame:
    """The row ids that the visible delete events name, with the write ids that deleted them."""
    return _delete_events(spark, snapshot, selection.deletes).selectExpr(
        f"{PARTITION} as __d{PARTITION}",
        *(f"{required(n)} as __d_{n}" for n in ROW_ID_COLUMNS),
        f"{required(CURRENT_TRANSACTION)} as {DELETING}",
    )


def _delete_events(
    spark: SparkSession, snapshot: TableSnapshot, files: Sequence[SelectedFile]
) -> DataFrame:
    """The delete events of the files, with PARTITION."""
    column = snapshot.table.columns[0]
    row = f"{quote(column.name)}: {storage_type(column.type)}"
    schema = event_schema(row, EVERY_COLUMN)
    scan = read_files(spark, "orc", schema, WHOLE, [f.path for f in files])
    found = scan.where(operation_is(DELETE, f"row.{quote(column.name)}", EVERY_COLUMN))
    if any(f.row_filter for f in files):
        found = found.where(is_visible(snapshot.write_ids))
    if len({f.partition for f in files}) == 1:
        return found.selectExpr("*", f"{files[0].partition} as {PARTITION}")
    return with_places(spark, found, (PARTITION,), scan, files)


def same_row_id(*, partitioned: bool) -> str:
    """True of a row and a delete event of it, where both are in columns. SQL."""
    names = [*ROW_ID_COLUMNS]
    condition = " and ".join(f"{name} = __d_{name}" for name in names)
    return f"{condition} and {PARTITION} = __d{PARTITION}" if partitioned else condition


def _expression(text: str) -> Column:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    return F.expr(text)
