"""What two Hives wrote, selected and compacted: the rows and row ids that they printed stay."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as pa_orc
import pytest

from acidsql.engines.local.compact import compact
from acidsql.engines.selection import directory_state, select_files
from acidsql.errors import CorruptFileError, StorageError
from acidsql.model.snapshot import ValidTxnList, ValidWriteIdList
from acidsql.orc.reader import read_events
from acidsql.plans.compact import CompactPlan
from acidsql.ports.engine import TableSnapshot
from tests.hive_written import STATES, hive_rows, snapshot_of
from tests.unit.engines.tables import EVERYTHING, NAME, STORAGE, snapshot, table

HIVES = ("hive3", "hive4")


def copied(tmp_path: Path, case: str, hive: str, state: str, columns: str) -> TableSnapshot:
    """A state's directory, to be written into, under its snapshot."""
    shutil.copytree(STATES / case / hive / state, tmp_path / "t")
    texts = snapshot_of(case, hive, state)
    write_ids = ValidWriteIdList.parse(texts["validWriteIds"])
    return replace(snapshot(table(tmp_path / "t", columns), 0), write_ids=write_ids)


def compacted(of: TableSnapshot, kind: Any, *, by_position: bool = True) -> bool:
    plan = CompactPlan(table=NAME, type=kind, partition=None)
    txns = ValidTxnList.parse("")
    seen = replace(of, write_ids=of.write_ids.for_compactor())
    return compact(plan, seen, txns, STORAGE, by_position=by_position)


def rows_of_one_directory(of: TableSnapshot) -> list[dict[str, Any]]:
    """The rows of a table that is one directory, without deletes."""
    state = directory_state(of, of.partitions[0], EVERYTHING, STORAGE)
    [directory] = [*([state.base] if state.base else []), *state.deltas]
    assert (state.delete_deltas, state.originals) == ((), ())
    rows = []
    for file in directory.files:
        for event in read_events(f"{of.table.location}/{file.path}").to_pylist():
            names = ("originalTransaction", "bucket", "rowId")
            row_id = dict(zip(("writeid", "bucketid", "rowid"), map(event.get, names), strict=True))
            rows.append({"row__id": row_id, **event["row"]})
    return rows


def by_row_id(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: tuple(row["row__id"].values()))


@pytest.mark.parametrize("hive", HIVES)
@pytest.mark.parametrize(
    ("case", "state", "columns"),
    [
        ("converted", "1-converted", "id int, v string"),
        ("converted", "2-dml", "id int, v string"),
        ("converted", "3-minor", "id int, v string"),
        ("converted", "b1-converted", "id int, v string"),
        ("converted", "b2-dml", "id int, v string"),
        ("employee", "5-dml", "id int, name string, salary int"),
        ("evolution", "1-added", "id int, name string, amount int, extra string"),
        ("evolution", "4-dml", "id int, fullname string, amount bigint, extra string"),
        ("overwrite", "2-dml", "id int, v string"),
    ],
)
@pytest.mark.parametrize("minor_first", [False, True])
def test_compaction_keeps_what_hive_printed(
    tmp_path: Path, case: str, state: str, columns: str, hive: str, minor_first: bool
) -> None:
    of = copied(tmp_path, case, hive, state, columns)
    by_position = hive == "hive4"
    if minor_first:
        compacted(of, "minor", by_position=by_position)
    compacted(of, "major", by_position=by_position)
    assert by_row_id(rows_of_one_directory(of)) == by_row_id(hive_rows(case, hive, state))


def test_originals_alone_become_the_first_base(tmp_path: Path) -> None:
    of = copied(tmp_path, "converted", "hive4", "1-converted", "id int, v string")
    assert not compacted(of, "minor")
    assert compacted(of, "major")
    state = directory_state(of, of.partitions[0], EVERYTHING, STORAGE)
    assert state.names == ("base_-9223372036854775808",)
    assert len(state.obsolete) == 12


@pytest.fixture
def loaded(tmp_path: Path) -> TableSnapshot:
    """Two statements of LOAD DATA under one write id, an overwriting one before them."""
    for name, ids in {
        "base_0000002/000000_0": [1, 2],
        "base_0000002/000000_0_copy_1": [3],
        "base_0000002/000001_0": [4],
        "delta_0000003_0000003_0000/000000_0": [5, 6],
        "delta_0000003_0000003_0001/000000_0": [7],
        "delta_0000003_0000003_0001/000000_0_copy_1": [8],
        "delta_0000003_0000003_0001/part-0": [9],
    }.items():
        path = tmp_path / "t" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pa_orc.write_table(pa.table({"id": pa.array(ids, pa.int32())}), path)
    return snapshot(table(tmp_path / "t", "id int"), 3)


LOADED = {
    (2, 536870912, 0): 1,
    (2, 536870912, 1): 2,
    (2, 536870912, 2): 3,
    (2, 536936448, 0): 4,
    (3, 536870912, 0): 5,
    (3, 536870912, 1): 6,
    (3, 536870913, 0): 7,
    (3, 536870913, 1): 8,
}


@pytest.mark.parametrize("minor_first", [False, True])
def test_loaded_files_take_the_ids_of_their_directory(
    loaded: TableSnapshot, minor_first: bool
) -> None:
    if minor_first:
        assert compacted(loaded, "minor")
    assert compacted(loaded, "major")
    rows = {tuple(row["row__id"].values()): row["id"] for row in rows_of_one_directory(loaded)}
    assert rows == LOADED


def test_an_original_without_a_bucket_number_is_an_error(tmp_path: Path) -> None:
    of = copied(tmp_path, "converted", "hive4", "1-converted", "id int, v string")
    shutil.copy(tmp_path / "t" / "000000_0", tmp_path / "t" / "part-00000.orc")
    with pytest.raises(StorageError, match="no bucket number"):
        select_files(of, of.partitions, EVERYTHING, STORAGE)


def test_an_acid_file_outside_of_any_delta_is_an_error(tmp_path: Path) -> None:
    of = copied(tmp_path, "partitioned", "hive4", "1-static", "id int, v string")
    with pytest.raises(StorageError, match="outside of any base or delta"):
        select_files(of, of.partitions, EVERYTHING, STORAGE)


def test_a_plain_file_under_a_bucket_name_is_an_error(tmp_path: Path) -> None:
    of = copied(tmp_path, "employee", "hive4", "1-insert", "id int, name string, salary int")
    [file] = (tmp_path / "t").glob("delta_*/bucket_*")
    pa_orc.write_table(pa.table({"id": [1]}), file)
    with pytest.raises(CorruptFileError, match="not an ACID file"):
        select_files(of, of.partitions, EVERYTHING, STORAGE, tails=True)


def test_union_directories_of_originals(tmp_path: Path) -> None:
    for name, rows in {
        "HIVE_UNION_SUBDIR_1/000000_0": 2,
        "HIVE_UNION_SUBDIR_2/000000_0": 3,
        "000000_0": 1,
    }.items():
        path = tmp_path / "t" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pa_orc.write_table(pa.table({"id": pa.array([0] * rows, pa.int32())}), path)
    of = snapshot(table(tmp_path / "t", "id int"), 3)
    selection = select_files(of, of.partitions, EVERYTHING, STORAGE)
    firsts = {f.path.removeprefix(f"{tmp_path}/t/"): f.first for f in selection.inserts}
    numbers = {path: first and first.row_number for path, first in firsts.items()}
    assert numbers == {
        "000000_0": 0,
        "HIVE_UNION_SUBDIR_1/000000_0": 1,
        "HIVE_UNION_SUBDIR_2/000000_0": 3,
    }


def streamed(tmp_path: Path, state: str) -> TableSnapshot:
    return copied(tmp_path, "streaming", "hive3", state, "id int, v string")


def test_of_an_open_batch_nothing_is_read_before_its_first_commit(tmp_path: Path) -> None:
    of = streamed(tmp_path, "s-1-txn-open")
    selection = select_files(of, of.partitions, EVERYTHING, STORAGE)
    assert [Path(f.path).parent.name for f in selection.inserts] == ["delta_0000001_0000001_0000"]


@pytest.mark.parametrize("state", ["s-2-committed", "s-3-aborted", "s-4-committed"])
def test_committed_rows_that_no_file_holds_are_an_error(tmp_path: Path, state: str) -> None:
    # The local file system had not flushed: Hive could not read these states either.
    of = streamed(tmp_path, state)
    with pytest.raises(CorruptFileError, match="holds no length"):
        select_files(of, of.partitions, EVERYTHING, STORAGE)


def test_a_file_is_read_up_to_its_valid_length(tmp_path: Path) -> None:
    of = streamed(tmp_path, "s-5-closed")
    delta = tmp_path / "t" / "delta_0000002_0000005"
    size = (delta / "bucket_00000").stat().st_size
    with (delta / "bucket_00000").open("ab") as file:
        file.write(b"rows that nobody has committed")
    lengths = b"".join(n.to_bytes(8, "big") for n in (0, size))
    (delta / "bucket_00000_flush_length").write_bytes(lengths)
    (delta / "bucket_00001_flush_length").write_bytes(bytes(8))
    selection = select_files(of, of.partitions, EVERYTHING, STORAGE)
    assert [(Path(f.path).name, f.length) for f in selection.inserts] == [
        ("bucket_00001", None),
        ("bucket_00000", size),
    ]
    assert compacted(of, "major")
    ids = [row["id"] for row in rows_of_one_directory(of)]
    assert sorted(ids) == [2, 3, 6, 7, 100]


def test_footers_stay_unread_only_under_the_columns_of_an_empty_table(tmp_path: Path) -> None:
    of = table(tmp_path / "t", "id int, v string")
    assert not of.is_unchanged
    created = of.created_empty()
    assert created.is_unchanged
    for columns in ("id bigint, v string", "id int, w string", "id int", "v string, id int"):
        assert not replace(created, columns=table(tmp_path / "t", columns).columns).is_unchanged
