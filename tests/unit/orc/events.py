"""Small files for the tests of this package."""

from pathlib import Path

import pyarrow as pa
import pyarrow.orc as pa_orc

from acidsql.model.ids import WriteId
from acidsql.model.snapshot import ValidWriteIdList
from acidsql.model.table import Column
from acidsql.model.types import parse_type
from acidsql.orc.footer import ACID_VERSION, append_metadata, read_tail
from acidsql.orc.merge_rows import MergeInput
from acidsql.orc.schema import EVENT_COLUMNS
from acidsql.orc.writer import EventWriter

P0 = 536870912
P1 = 536870913


def columns(**types: str) -> tuple[Column, ...]:
    return tuple(Column(name, parse_type(text)) for name, text in types.items())


AB = columns(a="int", b="int")


def insert_file(
    path: Path, write_id: int, rows: list[tuple[int, int]], prop: int = P0
) -> MergeInput:
    with EventWriter(str(path), AB) as writer:
        a, b = zip(*rows, strict=True)
        batch = pa.record_batch({"a": pa.array(a, pa.int32()), "b": pa.array(b, pa.int32())})
        writer.write_inserts(batch, WriteId(write_id), prop)
    return MergeInput(str(path), path.name)


def delete_file(path: Path, write_id: int, ids: list[tuple[int, int, int]]) -> MergeInput:
    with EventWriter(str(path), AB) as writer:
        writer.write_deletes(id_batch(ids), WriteId(write_id))
    return MergeInput(str(path), path.name)


def write_by_query(path: Path, events: pa.Table) -> None:
    """Write events as the queries of Hive 4's compactor do."""
    small = [name.lower() for name in EVENT_COLUMNS]
    pa_orc.write_table(events.rename_columns(small), str(path))
    append_metadata(str(path), read_tail(str(path)), {ACID_VERSION: "2"})


def id_batch(ids: list[tuple[int, int, int]]) -> pa.RecordBatch:
    w, b, r = zip(*ids, strict=True) if ids else ((), (), ())
    return pa.record_batch(
        {
            "originalTransaction": pa.array(w, pa.int64()),
            "bucket": pa.array(b, pa.int32()),
            "rowId": pa.array(r, pa.int64()),
        }
    )


def seen(mark: int, aborted: set[int] | None = None) -> ValidWriteIdList:
    return ValidWriteIdList("db.t", WriteId(mark), aborted=frozenset(map(WriteId, aborted or ())))
