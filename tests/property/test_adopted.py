"""Files of another writer, adopted as parts, against one file of the rows that pyarrow wrote."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import orc

from acidsql.errors import CorruptFileError
from acidsql.model.ids import BucketId, StatementId, WriteId
from acidsql.model.row_id import RowId, encode_bucket
from acidsql.model.table import Column
from acidsql.orc.adopted import model_file
from acidsql.orc.footer import FOOTER_STATISTICS, FileTail, read_tail
from acidsql.orc.joined import join_rows
from acidsql.orc.protobuf import fields
from acidsql.orc.reader import read_events
from acidsql.orc.stripe import ROW_INDEX, read_stripe_footer
from acidsql.orc.stripe_copy import Form
from acidsql.orc.writer import EventWriter
from tests.unit.orc.events import columns

FIRST = RowId(WriteId(7), encode_bucket(BucketId(3), StatementId(2)), 0)
OF = columns(k="bigint", d="date", s="string", e="date")
DAY_MIN, DAY_MAX = -719_162, 2_932_896
"""0001-01-01 and 9999-12-31 in days since 1970."""


def some_rows(count: int, seed: int) -> pa.RecordBatch:
    """Rows as `OF` has them, but with integers for dates."""
    rng = np.random.default_rng(seed)
    days = rng.integers(DAY_MIN, DAY_MAX, count, np.int32)
    nulls = rng.random(count) < 0.3
    return pa.record_batch(
        {
            "k": pa.array(rng.integers(-9, 9, count)),
            "d": pa.array(days, mask=nulls),
            "s": pa.array([f"v{n}" for n in rng.integers(0, 50, count)], pa.string()),
            "e": pa.array(np.sort(days)),
        }
    )


def with_dates(rows: pa.RecordBatch) -> pa.RecordBatch:
    dates = {name: rows.column(name).cast(pa.date32()) for name in ("d", "e")}
    return pa.record_batch({n: dates.get(n, rows.column(n)) for n in rows.schema.names})


def write_foreign(path: Path, rows: pa.RecordBatch, **options: object) -> None:
    """A file of another program, whose columns have other names."""
    names = [f"c{index}" for index in range(rows.num_columns)]
    table = pa.Table.from_batches([rows]).rename_columns(names)
    given_options = {"compression": "snappy", "stripe_size": 1 << 16, **options}
    with orc.ORCWriter(str(path), **given_options) as writer:  # type: ignore[arg-type]
        for at in range(0, max(1, rows.num_rows), 5_000):
            writer.write(table.slice(at, 5_000))


def adopt(tmp_path: Path, names: list[Path], of: tuple[Column, ...] = OF) -> Path:
    result = tmp_path / "adopted"
    model = model_file(of, "snappy")
    join_rows([(str(name), str(name)) for name in names], str(result), FIRST, model)
    return result


def statistics(path: Path, tail: FileTail) -> list[bytes]:
    """All messages of statistics: of the file, and of each group of rows of each column."""
    found = [bytes(v) for n, v in fields(tail.footer) if n == FOOTER_STATISTICS]  # type: ignore[arg-type]
    with open(path, "rb") as file:
        for stripe in tail.stripes:
            for stream in read_stripe_footer(file, tail, stripe).streams:
                if stream.kind == ROW_INDEX:
                    file.seek(stream.offset)
                    found.append(file.read(stream.length))
    return found


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(parts=st.lists(st.sampled_from([0, 1, 2, 700, 10_000, 25_001]), min_size=1, max_size=3))
def test_adopted_rows_are_those_that_one_file_holds(tmp_path: Path, parts: list[int]) -> None:
    rows = [some_rows(count, seed) for seed, count in enumerate(parts)]
    names = [tmp_path / f"part{number}" for number in range(len(parts))]
    for name, some in zip(names, rows, strict=True):
        write_foreign(name, some)
    ours, theirs = adopt(tmp_path, names), tmp_path / "whole"
    with EventWriter(str(theirs), OF, "snappy") as writer:
        for some in rows:
            writer.write_inserts(with_dates(some), FIRST.write_id, FIRST.bucket_property)
    assert read_events(str(ours)).equals(read_events(str(theirs)))
    assert Form.of(read_tail(str(ours))) == Form.of(read_tail(str(theirs)))


@pytest.mark.parametrize("count", [1, 700, 25_001])
def test_days_get_the_statistics_of_dates(tmp_path: Path, count: int) -> None:
    """The file is, byte for byte in statistics and index, what pyarrow writes of dates."""
    rows = some_rows(count, 5)
    write_foreign(tmp_path / "days", rows, compression="uncompressed")
    write_foreign(tmp_path / "dates", with_dates(rows), compression="uncompressed")
    found = []
    for name, of in (("days", OF), ("dates", OF)):
        result = tmp_path / f"{name}.acid"
        part = str(tmp_path / name)
        join_rows([(part, part)], str(result), FIRST, model_file(of, "none"))
        found.append(statistics(result, read_tail(str(result))))
    assert found[0] == found[1]
    assert len(found[0]) > len(OF)


@pytest.mark.parametrize(
    ("options", "of"),
    [
        ({"compression": "zlib"}, OF),
        ({"compression_block_size": 1 << 17}, OF),
        ({"row_index_stride": 5_000}, OF),
        ({}, columns(k="int", d="date", s="string", e="date")),
        ({}, columns(k="bigint", d="bigint", s="string", e="date")),
        ({}, columns(k="bigint", d="date", s="binary", e="date")),
        ({}, columns(k="date", d="date", s="string", e="date")),
        ({}, OF[:3]),
        ({}, (*OF, *columns(z="int"))),
    ],
)
def test_a_file_of_another_form_is_refused(
    tmp_path: Path, options: dict[str, object], of: tuple[Column, ...]
) -> None:
    write_foreign(tmp_path / "part", some_rows(10, 1), **options)
    with pytest.raises(CorruptFileError, match="not what Spark was asked to write"):
        adopt(tmp_path, [tmp_path / "part"], of)
    assert not (tmp_path / "adopted").exists()
