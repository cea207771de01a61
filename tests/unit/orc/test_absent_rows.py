"""Files of deletes are as pyarrow would write them whole, but for the runs that we encode.

The subjects are acidsql/orc/absent_rows.py and `DeleteColumns` of acidsql/orc/event_columns.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.orc as pa_orc
import pytest

from acidsql.model.ids import WriteId
from acidsql.orc.footer import FOOTER_TYPE, FileTail, read_section, read_tail
from acidsql.orc.new_tail import stripe_statistics
from acidsql.orc.protobuf import fields
from acidsql.orc.schema import DELETE, event_schema
from acidsql.orc.stripe import ROW_INDEX, Stream, StripeFooter, read_stripe_footer
from acidsql.orc.stripe_copy import Form
from acidsql.orc.writer import CODECS, EventWriter
from tests.unit.orc.events import P0, columns, id_batch
from tests.unit.orc.streams import assert_positions, index_of

ALL_TYPES = columns(
    z="boolean", a="tinyint", b="smallint", c="int", l="bigint", f="float", g="double",
    d="date", t="timestamp", u="timestamp with local time zone", s="string", bin="binary",
    x="decimal(20,3)", ch="char(3)", v="varchar(5)", n="void", ar="array<int>",
    m="map<string,timestamp>", st="struct<a:int,b:array<string>>",
)  # fmt: skip


CONSTANT = (1, 2, 3, 5)
"""The columns that we encode: operation, write id, bucket property and current write id."""


def row_numbers(count: int) -> np.ndarray:
    return np.arange(count, dtype=np.int64) ** 2 % 1013 + np.arange(count, dtype=np.int64) * 1013


def written(path: Path, count: int, codec: str, cols: Any = ALL_TYPES) -> None:
    numbers = row_numbers(count).tolist()
    with EventWriter(str(path), cols, codec) as writer:
        for half in (numbers[: count // 2], numbers[count // 2 :]):
            writer.write_deletes(id_batch([(3, P0, number) for number in half]), WriteId(7))


def by_pyarrow(path: Path, count: int, codec: str) -> None:
    schema = event_schema(ALL_TYPES)
    row = pa.nulls(count, schema.field("row").type)
    ids = {"operation": [DELETE] * count, "originalTransaction": [3] * count,
           "bucket": [P0] * count, "rowId": row_numbers(count),
           "currentTransaction": [7] * count}  # fmt: skip
    options: Any = {"compression": CODECS[codec]}
    pa_orc.write_table(pa.table({**ids, "row": row}, schema=schema), str(path), **options)


def described(path: Path) -> list[Any]:
    """All that the stripes have, but for compression and for the runs of `CONSTANT` columns."""
    tail = read_tail(str(path))
    with path.open("rb") as source:
        found = []
        for stripe, said in zip(tail.stripes, stripe_statistics(source, tail), strict=True):
            footer = read_stripe_footer(source, tail, stripe)
            streams = [(s.kind, s.column, content(source, tail, footer, s)) for s in footer.streams]
            found.append((stripe.rows, streams, footer.encodings, list(said), footer.others))
    return [found, types_of(tail)]


def content(source: BinaryIO, tail: FileTail, footer: StripeFooter, stream: Stream) -> Any:
    if stream.column not in CONSTANT:
        return read_section(source, tail, stream.offset, stream.length)
    if stream.kind == ROW_INDEX:
        return [said for _, said in index_of(source, tail, footer, stream.column)]
    return None


def types_of(tail: FileTail) -> list[int | bytes]:
    return [value for number, value in fields(tail.footer) if number == FOOTER_TYPE]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("count", [1, 9_999, 10_000, 25_001])
def test_the_file_is_the_one_that_pyarrow_writes(tmp_path: Path, count: int, codec: str) -> None:
    written(tmp_path / "ours", count, codec)
    by_pyarrow(tmp_path / "theirs", count, codec)
    assert described(tmp_path / "ours") == described(tmp_path / "theirs")
    keys = np.array([[DELETE, 3, P0, number, 7] for number in row_numbers(count).tolist()])
    with (tmp_path / "ours").open("rb") as source:
        assert_positions(source, read_tail(source), keys, CONSTANT)


@pytest.mark.parametrize("codec", CODECS)
def test_pyarrow_reads_it(tmp_path: Path, codec: str) -> None:
    written(tmp_path / "f", 25_001, codec)
    table = pa_orc.read_table(str(tmp_path / "f"))
    assert np.array_equal(table["rowId"].to_numpy(), row_numbers(25_001))
    assert table["row"].null_count == 25_001
    assert table.schema.field("row").type.num_fields == len(ALL_TYPES)


def test_its_stripes_have_the_form_of_files_of_inserts(tmp_path: Path) -> None:
    """So that a compaction may put both into one file."""
    cols = columns(a="bigint", s="string")
    written(tmp_path / "deletes", 10, "zstd", cols)
    with EventWriter(str(tmp_path / "inserts"), cols, "zstd") as writer:
        writer.write_inserts(pa.record_batch({"a": [1], "s": ["x"]}), WriteId(3), P0)
    forms = [Form.of(read_tail(str(tmp_path / name))) for name in ("deletes", "inserts")]
    assert forms[0] == forms[1] is not None


def test_a_file_of_no_deletes_has_all_columns(tmp_path: Path) -> None:
    with EventWriter(str(tmp_path / "f"), ALL_TYPES, "zstd") as writer:
        writer.write_deletes(id_batch([]), WriteId(7))
    tail = read_tail(str(tmp_path / "f"))
    assert (tail.rows, tail.is_acid) == (0, True)
    assert len(tail.types[tail.types[0].children[-1]].children) == len(ALL_TYPES)
