"""Parts of a file that are joined, against one file that holds the same rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.engines.row_files import RowFormat, RowWriter
from acidsql.errors import CorruptFileError, MissingFileError, StorageError
from acidsql.model.ids import BucketId, StatementId, WriteId
from acidsql.model.row_id import RowId, encode_bucket
from acidsql.model.table import Column, FileFormat
from acidsql.orc.exact import exact, exact_texts
from acidsql.orc.footer import (
    ACID_VERSION,
    FOOTER_STATISTICS,
    KEY_INDEX,
    NANOSECONDS,
    STATS,
    FileTail,
    read_tail,
)
from acidsql.orc.joined import join_rows
from acidsql.orc.protobuf import fields
from acidsql.orc.reader import read_events
from acidsql.orc.stripe_copy import Form
from acidsql.orc.writer import EventWriter
from tests.property.test_event_columns import EACH_CODEC, FEWER, OF, some_rows
from tests.unit.orc.events import columns

FIRST = RowId(WriteId(7), encode_bucket(BucketId(3), StatementId(2)), 0)
STRIPE_BYTES = 1 << 16


def write_part(path: Path, of: tuple[Column, ...], codec: str, *batches: pa.RecordBatch) -> None:
    of_table = RowFormat(of, FileFormat.ORC, codec)
    writer = RowWriter(str(path), of_table, stripe_bytes=STRIPE_BYTES)
    for rows in batches:
        writer.write_rows(rows)
    writer.close()


def write_whole(path: Path, codec: str, batches: list[pa.RecordBatch]) -> None:
    with EventWriter(str(path), OF, codec) as writer:
        for rows in batches:
            writer.write_inserts(rows, FIRST.write_id, FIRST.bucket_property)


def joined(tmp_path: Path, names: list[Path]) -> Path:
    result = tmp_path / "joined"
    join_rows([(str(name), str(name)) for name in names], str(result), FIRST)
    return result


def columns_told(tail: FileTail) -> int:
    """How many columns the footer has statistics of."""
    return sum(number == FOOTER_STATISTICS for number, _ in fields(tail.footer))


def events_of(path: Path) -> pa.Table:
    return read_events(str(path), exact=True)


rows_of_part = st.lists(st.sampled_from([1, 2, 700, 9_999, 10_000, 12_001]), max_size=3)


@EACH_CODEC
@FEWER
@given(parts=st.lists(rows_of_part, min_size=1, max_size=4))
def test_parts_hold_what_one_file_holds(tmp_path: Path, codec: str, parts: list[list[int]]) -> None:
    names, all_rows = [], []
    for number, counts in enumerate(parts):
        rows = [some_rows(count, seed=10 * number + at) for at, count in enumerate(counts)]
        names.append(tmp_path / f"part{number}")
        write_part(names[-1], OF, codec, *rows)
        all_rows += rows
    written = join_rows([(str(n), str(n)) for n in names], str(tmp_path / "joined"), FIRST)
    write_whole(tmp_path / "whole", codec, all_rows)
    ours, theirs = tmp_path / "joined", tmp_path / "whole"
    assert (written.inserts, written.deletes) == (sum(map(sum, parts)), 0)
    tail, whole = read_tail(str(ours)), read_tail(str(theirs))
    if written.inserts:
        assert events_of(ours).equals(events_of(theirs))
        assert Form.of(tail) == Form.of(whole)
    assert tail.rows == whole.rows == written.inserts
    assert columns_told(tail) == columns_told(whole) == len(tail.types)
    last, of_whole = (t.metadata[KEY_INDEX].split(";")[-2:] for t in (tail, whole))
    assert last == of_whole
    keys = (STATS, ACID_VERSION, NANOSECONDS)
    assert [tail.metadata.get(key) for key in keys] == [whole.metadata.get(key) for key in keys]


def test_a_part_without_rows_has_statistics_of_all_columns(tmp_path: Path) -> None:
    """pyarrow's own file of no rows has them, too: no value, and no null."""
    write_part(tmp_path / "a", columns(k="int", v="string"), "snappy")
    tail = read_tail(str(joined(tmp_path, [tmp_path / "a"])))
    told = [dict(fields(v)) for n, v in fields(tail.footer) if n == FOOTER_STATISTICS]  # type: ignore[arg-type]
    assert told == [{1: 0, 10: 0}] * 9


def test_nanoseconds_in_one_part_are_noted(tmp_path: Path) -> None:
    for name, nanos in (("a", 0), ("b", 1)):
        times = exact(np.array([5]), np.array([nanos]), np.array([False]))
        write_part(tmp_path / name, columns(t="timestamp"), "snappy", pa.record_batch({"t": times}))
    result = joined(tmp_path, [tmp_path / "a", tmp_path / "b"])
    assert read_tail(str(result)).metadata[NANOSECONDS] == "true"
    rows = events_of(result).column("row").combine_chunks().field("t")
    assert exact_texts(rows) == ["1970-01-01 00:00:05.000000000", "1970-01-01 00:00:05.000000001"]


def test_parts_of_other_tables_codecs_or_without_an_end_are_refused(tmp_path: Path) -> None:
    one = pa.record_batch({"k": pa.array([1], pa.int32())})
    write_part(tmp_path / "a", columns(k="int"), "snappy", one)
    write_part(tmp_path / "codec", columns(k="int"), "zlib", one)
    write_part(
        tmp_path / "type", columns(k="bigint"), "snappy", one.cast(pa.schema({"k": pa.int64()}))
    )
    cut = (tmp_path / "a").read_bytes()
    (tmp_path / "cut").write_bytes(cut[: len(cut) // 2])
    for other in ("codec", "type", "cut"):
        with pytest.raises(CorruptFileError, match=other):
            joined(tmp_path, [tmp_path / "a", tmp_path / other])
        assert not (tmp_path / "joined").exists()
    with pytest.raises(MissingFileError, match="gone"):
        joined(tmp_path, [tmp_path / "a", tmp_path / "gone"])


def test_a_part_whose_stripe_is_damaged(tmp_path: Path) -> None:
    """The tail is whole, so the damage shows only when the stripe's own footer is read."""
    of = columns(k="int")
    write_part(tmp_path / "a", of, "none", pa.record_batch({"k": pa.array([1, 5], pa.int32())}))
    [stripe] = read_tail(str(tmp_path / "a")).stripes
    data = bytearray((tmp_path / "a").read_bytes())
    end = stripe.offset + stripe.length
    data[end - stripe.footer_length : end] = b"\xff" * stripe.footer_length
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(CorruptFileError, match="damaged"):
        joined(tmp_path, [tmp_path / "a"])
    assert not (tmp_path / "joined").exists()


def test_a_disk_that_takes_no_file(tmp_path: Path) -> None:
    one = pa.record_batch({"k": pa.array([1], pa.int32())})
    write_part(tmp_path / "a", columns(k="int"), "none", one)
    part = str(tmp_path / "a")
    with pytest.raises(StorageError, match="missing/joined"):
        join_rows([(part, part)], str(tmp_path / "missing" / "joined"), FIRST)
