"""Which small files the driver reads, and what it keeps of them."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc

from acidsql.backends.storage.local import LocalStorage
from acidsql.engines.selection import SelectedFile
from acidsql.engines.spark import file_contents, small_files
from acidsql.engines.spark.file_contents import FileContents
from acidsql.engines.spark.row_numbers import NumberedRows
from acidsql.engines.spark.small_files import SmallFiles, read_small_files
from acidsql.errors import CorruptFileError, MissingFileError, StorageError
from acidsql.model.ids import BucketId, WriteId
from acidsql.model.names import TableName
from acidsql.model.row_id import RowId
from acidsql.model.snapshot import ValidWriteIdList
from acidsql.model.table import CREATED_COLUMNS, Table, columns_digest
from acidsql.orc.reader import open_orc
from acidsql.orc.schema import arrow_type
from acidsql.orc.writer import EventWriter
from tests.unit.engines.spark.test_deleted_words import selected
from tests.unit.orc.events import AB, P0, columns, delete_file, insert_file, seen

TABLE = Table(TableName("default", "t"), AB, "/t")
ALL = seen(99)


def read(
    files: list[SelectedFile],
    table: Table = TABLE,
    write_ids: ValidWriteIdList = ALL,
    kept: FileContents | None = None,
) -> SmallFiles | None:
    reader = NumberedRows(table.columns, write_ids, LocalStorage(), by_position=True)
    return read_small_files(files, table, reader, kept or FileContents())


def rows(found: SmallFiles | None) -> list[tuple[Any, ...]]:
    assert found is not None
    return sorted(zip(*(c.to_pylist() for c in found.rows.columns), strict=True))


@pytest.fixture
def files(tmp_path: Path) -> list[SelectedFile]:
    """Three files of write ids 1 to 3."""
    paths = [tmp_path / f"{write_id}" for write_id in (1, 2, 3)]
    for write_id, path in enumerate(paths, 1):
        insert_file(path, write_id, [(write_id, 10), (-write_id, 20)])
    return [selected(path, partition) for partition, path in enumerate(paths)]


def test_rows_have_their_partition_and_row_id(files: list[SelectedFile]) -> None:
    found = read(files)
    assert rows(found) == [
        (0, 1, P0, 0, 1, 10), (0, 1, P0, 1, -1, 20),
        (1, 2, P0, 0, 2, 10), (1, 2, P0, 1, -2, 20),
        (2, 3, P0, 0, 3, 10), (2, 3, P0, 1, -3, 20),
    ]  # fmt: skip
    assert found is not None
    assert found.paths == {f.path for f in files}


def test_rows_that_the_snapshot_does_not_see_are_left_out(files: list[SelectedFile]) -> None:
    assert [row[1] for row in rows(read(files, write_ids=seen(3, {2})))] == [1, 1, 3, 3]


def test_a_file_is_known_again_by_its_bytes(
    files: list[SelectedFile], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = FileContents()
    expected = rows(read(files, kept=kept))
    shutil.move(files[0].path, tmp_path / "moved")
    files[0] = replace(files[0], path=str(tmp_path / "moved"))
    monkeypatch.setattr(small_files, "open_orc", None)
    assert rows(read(files, kept=kept)) == expected


def test_another_file_in_the_same_place_is_read_anew(files: list[SelectedFile]) -> None:
    kept = FileContents()
    read(files, kept=kept)
    insert_file(Path(files[0].path), 1, [(7, 70)])
    assert rows(read(files[:1], kept=kept)) == [(0, 1, P0, 0, 7, 70)]


def test_files_of_other_columns_are_read_with_those_of_the_table(
    files: list[SelectedFile],
) -> None:
    table = replace(TABLE, columns=columns(x="int", b="int", c="string"))
    assert rows(read(files, table))[0] == (0, 1, P0, 0, 1, 10, None)


def test_files_of_other_types_are_left_to_spark(files: list[SelectedFile], tmp_path: Path) -> None:
    table = replace(TABLE, columns=columns(a="bigint", b="int"))
    assert read(files, table) is None
    batch = pa.record_batch({"a": pa.array([5], pa.int64()), "b": pa.array([50], pa.int32())})
    with EventWriter(str(tmp_path / "new"), table.columns) as writer:
        writer.write_inserts(batch, WriteId(4), P0)
    new = selected(tmp_path / "new")
    found = read([*files, new], table)
    assert rows(found) == [(0, 4, P0, 0, 5, 50)]
    assert found is not None
    assert found.paths == {new.path}


def test_columns_that_spark_matches_otherwise_are_left_to_spark(tmp_path: Path) -> None:
    nameless = plain_file(tmp_path / "nameless", [5], 0, names=("_col0", "_col1"))
    assert rows(read([nameless])) == [(1, 0, P0, 0, 5, 5)]
    assert read([nameless], replace(TABLE, columns=columns(a="int"))) is None
    void = replace(TABLE, columns=columns(a="int", n="void", b="int"))
    assert read([nameless], void) is None
    assert read([plain_file(tmp_path / "double", [5], 0, names=("a", "A"))]) is None


def test_a_file_does_not_pass_for_one_of_a_table_that_never_had_its_columns(
    files: list[SelectedFile],
) -> None:
    kept = FileContents()
    changed = replace(TABLE, columns=columns(a="int", c="int"))
    read(files, changed, kept=kept)
    unchanged = replace(changed, parameters={CREATED_COLUMNS: columns_digest(changed.columns)})
    assert unchanged.is_unchanged
    with pytest.raises(CorruptFileError, match="does not belong to this table"):
        read(files, unchanged, kept=kept)


def test_few_small_files_are_left_to_spark_beside_a_large_one(
    files: list[SelectedFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    large = SelectedFile(0, "/large", 3 << 20, BucketId(0), row_filter=False)
    assert read([*files, large]) is None
    monkeypatch.setattr(small_files, "FILES_MIN", 3)
    found = read([*files, large])
    assert found is not None
    assert found.paths == {f.path for f in files}
    assert read([*files, replace(large, size=4 << 20)]) is None


def test_many_rows_are_left_to_spark(
    files: list[SelectedFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small_files, "ROWS_MAX", 5)
    assert read(files) is None
    assert rows(read(files[:2])) != []
    monkeypatch.setattr(small_files, "ROWS_MAX", 1)
    assert read(files[:1]) is None


def test_long_rows_are_left_to_spark(
    files: list[SelectedFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small_files, "ROW_BYTES_MAX", 200)
    assert read(files) is None
    assert rows(read(files[:1])) != []


@pytest.mark.parametrize(
    ("kind", "value"), [("string", "x" * 10_000), ("array<bigint>", [0] * 10_000)]
)
def test_rows_that_take_little_of_a_file_but_much_memory_are_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, value: Any
) -> None:
    monkeypatch.setattr(small_files, "ROW_BYTES_MAX", 1 << 20)
    table = replace(TABLE, columns=columns(v=kind))
    rows = pa.record_batch({"v": pa.array([value] * 200, arrow_type(table.columns[0].type))})
    with EventWriter(str(tmp_path / "long"), table.columns) as writer:
        writer.write_inserts(rows, WriteId(1), P0)
    contents = FileContents()
    file = selected(tmp_path / "long")
    assert read([replace(file, size=1)], table, kept=contents) is None
    assert contents._size < 10_000


def test_files_that_grow_are_left_to_others(files: list[SelectedFile]) -> None:
    growing = replace(files[1], length=5)
    assert read([growing]) is None
    assert read([files[0], growing, files[2]]) is None


def plain_file(
    path: Path,
    values: list[int],
    first: int,
    stripe_rows: int = 1000,
    names: tuple[str, str] = ("a", "b"),
) -> SelectedFile:
    """A file of rows without events. Its first row has number ``first``."""
    with orc.ORCWriter(str(path), stripe_size=1) as writer:
        for at in range(0, len(values), stripe_rows):
            some = pa.array(values[at : at + stripe_rows], pa.int32())
            writer.write(pa.table(dict.fromkeys(names, some)))
    return replace(selected(path, 1), first=RowId(WriteId(0), P0, first))


def test_plain_rows_are_numbered_from_file_to_file(
    files: list[SelectedFile], tmp_path: Path
) -> None:
    plain = [
        plain_file(tmp_path / "000000_0", [5, 6], 0),
        plain_file(tmp_path / "000000_0_copy_1", [7, 8], 2),
    ]
    expected = [(1, 0, P0, n, v, v) for n, v in enumerate((5, 6, 7, 8))]
    assert rows(read(plain)) == expected
    assert rows(read([files[0], *plain])) == sorted(rows(read(files[:1])) + expected)


def test_plain_rows_of_several_stripes_are_numbered_through(tmp_path: Path) -> None:
    file = plain_file(tmp_path / "000000_0", list(range(5000)), 10, stripe_rows=1024)
    with open_orc(file.path) as opened:
        assert len(opened.tail.stripes) > 1
    assert rows(read([file])) == [(1, 0, P0, n + 10, n, n) for n in range(5000)]


def test_a_file_is_read_anew_as_plain_rows(files: list[SelectedFile]) -> None:
    """What was kept of it as events does not count."""
    kept = FileContents()
    read(files, kept=kept)
    with pytest.raises(StorageError, match="is an ACID file outside of any base or delta"):
        read([replace(files[0], first=RowId(WriteId(1), P0, 0))], kept=kept)


def test_damaged_and_missing_files_are_errors(files: list[SelectedFile]) -> None:
    data = Path(files[1].path).read_bytes()
    Path(files[1].path).write_bytes(data[:-1])
    with pytest.raises(CorruptFileError, match="is not a whole ORC file"):
        read(files)
    delete_file(Path(files[1].path), 2, [(1, P0, 0)])
    with pytest.raises(CorruptFileError, match="holds deletes where inserts belong"):
        read(files)
    Path(files[1].path).unlink()
    with pytest.raises(MissingFileError):
        read(files)


def test_plain_files_that_pyarrow_cannot_read_are_left_to_spark(tmp_path: Path) -> None:
    whole, damaged = (plain_file(tmp_path / name, [5], 0) for name in ("whole", "damaged"))
    (tmp_path / "damaged").write_bytes((tmp_path / "damaged").read_bytes()[:-1])
    assert read([damaged]) is None
    found = read([whole, damaged])
    assert found is not None
    assert found.paths == {whole.path}


def test_what_is_kept_is_bounded(
    files: list[SelectedFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = FileContents()
    read(files[:2], kept=kept)
    two = kept._size
    assert two > 2 * 2048
    monkeypatch.setattr(file_contents, "BYTES_MAX", two)
    read(files, kept=kept)
    assert kept._size == two
    opened: list[str] = []
    whole = small_files.open_orc

    def counted(source: Any, path: str, **options: Any) -> Any:
        opened.append(path)
        return whole(source, path, **options)

    monkeypatch.setattr(small_files, "open_orc", counted)
    read([files[2], files[1], files[0]], kept=kept)
    assert opened == [files[0].path]
