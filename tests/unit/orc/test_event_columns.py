"""acidsql/orc/event_columns.py, by the ORC specification and pyarrow's own reader."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.orc as pa_orc
import pytest

from acidsql.model.ids import WriteId
from acidsql.orc.footer import read_tail
from acidsql.orc.schema import KEY_COLUMNS
from acidsql.orc.timestamps import writing
from acidsql.orc.writer import CODECS, EventWriter
from tests.unit.orc.events import AB, P0, P1, columns, id_batch
from tests.unit.orc.streams import assert_positions

WRITES = ((3, P0, 12_345), (3, P0, 1), (3, P1, 10_000), (1 << 40, P0, 2), (1 << 40, P0, 5))


def written(path: Path, codec: str = "snappy") -> np.ndarray:
    """A file of these writes. Its event columns."""
    keys: list[tuple[int, ...]] = []
    with EventWriter(str(path), columns(a="bigint"), codec) as writer:
        for write_id, bucket, count in WRITES:
            rows = pa.record_batch({"a": np.arange(len(keys), len(keys) + count) * 7919 % 104_729})
            writer.write_inserts(rows, WriteId(write_id), bucket)
            goes_on = keys and keys[-1][1:3] == (write_id, bucket)
            first = keys[-1][3] + 1 if goes_on else 0
            keys += [(0, write_id, bucket, first + n, write_id) for n in range(count)]
    return np.array(keys)


@pytest.mark.parametrize("codec", CODECS)
def test_each_group_of_rows_begins_where_the_index_says(tmp_path: Path, codec: str) -> None:
    path = tmp_path / "f"
    keys = written(path, codec)
    table = pa_orc.read_table(str(path))
    for name, values in zip(KEY_COLUMNS, keys.T, strict=True):
        assert np.array_equal(table.column(name).to_numpy(), values), name
    assert pa.compute.struct_field(table["row"], "a").to_pylist() == [
        n * 7919 % 104_729 for n in range(len(keys))
    ]
    with path.open("rb") as source:
        assert_positions(source, read_tail(str(path)), keys)


def test_a_draft_on_the_disk_leaves_nothing_beside_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path / "memory")
    monkeypatch.setattr(writing, "_DRAFT_BYTES", 1)
    written(tmp_path / "disk")
    assert (tmp_path / "disk").read_bytes() == (tmp_path / "memory").read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"disk", "memory"}


def test_a_file_takes_one_kind_of_events(tmp_path: Path) -> None:
    rows, ids = pa.record_batch({"a": [1], "b": [2]}), id_batch([(2, P0, 0)])
    of_rows, of_deletes = (EventWriter(str(tmp_path / name), AB) for name in ("rows", "deletes"))
    of_rows.write_inserts(rows, WriteId(1), P0)
    of_deletes.write_deletes(ids, WriteId(3))
    with pytest.raises(ValueError, match="either new rows, or deletes, or"):
        of_rows.write_deletes(ids, WriteId(3))
    with pytest.raises(ValueError, match="either new rows, or deletes, or"):
        of_deletes.write_inserts(rows, WriteId(4), P0)
    of_rows.discard()
    of_deletes.discard()
    assert not list(tmp_path.iterdir())
