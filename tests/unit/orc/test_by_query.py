"""Files of Hive 4's compactions by a query: the names of event columns are in small letters."""

from pathlib import Path

import pyarrow as pa
import pyarrow.orc as pa_orc

from acidsql.orc.footer import read_tail
from acidsql.orc.reader import open_orc, read_deletes, read_events
from acidsql.orc.schema import EVENT_COLUMNS
from tests.unit.orc.events import P0, delete_file, insert_file, write_by_query

ROWS = [(n, n * 10) for n in range(5)]


def by_query(usual: Path) -> str:
    """A file with the same events."""
    path = usual.with_suffix(".by_query")
    write_by_query(path, pa_orc.ORCFile(str(usual)).read())
    return str(path)


def test_inserts_read_like_those_of_other_files(tmp_path: Path) -> None:
    insert_file(tmp_path / "f", 1, ROWS)
    path = by_query(tmp_path / "f")
    assert pa_orc.ORCFile(path).schema.names == [name.lower() for name in EVENT_COLUMNS]
    tail = read_tail(path)
    assert tail.by_query
    assert tail.is_acid
    assert tail.column_names == EVENT_COLUMNS
    assert read_events(path).equals(read_events(str(tmp_path / "f")))
    assert read_events(path, columns=["b"])["row"].to_pylist() == [{"b": b} for _, b in ROWS]
    with open_orc(path) as opened:
        parts = list(opened.batches(0, 2))
    assert pa.Table.from_batches(parts).equals(read_events(path))


def test_deletes_read_like_those_of_other_files(tmp_path: Path) -> None:
    delete_file(tmp_path / "f", 7, [(1, P0, 0), (1, P0, 3)])
    path = by_query(tmp_path / "f")
    assert read_deletes(path).equals(read_deletes(str(tmp_path / "f")))
    with open_orc(path) as opened:
        [keys] = opened.key_batches(0, 10, ["rowId"])
    assert keys.to_pydict() == {"rowId": [0, 3]}


def test_a_table_with_columns_of_such_names_has_no_events(tmp_path: Path) -> None:
    names = [name.lower() for name in EVENT_COLUMNS]
    path = str(tmp_path / "f")
    pa_orc.write_table(pa.table({name: pa.array([1], pa.int32()) for name in names}), path)
    tail = read_tail(path)
    assert not tail.by_query
    assert tail.column_names == tuple(names)
