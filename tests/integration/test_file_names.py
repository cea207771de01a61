"""``INPUT__FILE__NAME``: whoever reads a file, each row tells the file that it comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as pa_orc
import pytest

from acidsql.session.session import Session


def test_files_that_tasks_read_with_pyarrow(session: Session, tmp_path: Path) -> None:
    directory = tmp_path / "100 %+é"
    directory.mkdir()
    for name, k in (("000000_0", 1), ("000000_0_copy_1", 2), ("000001_0", 3)):
        pa_orc.write_table(pa.table({"k": pa.array([k], pa.int32())}), directory / name)
    session.execute(f"CREATE EXTERNAL TABLE o (k int) STORED AS ORC LOCATION '{directory}'")
    plain = session.execute("SELECT INPUT__FILE__NAME, k FROM o").fetchall()
    session.execute(
        "ALTER TABLE o SET TBLPROPERTIES ('transactional' = 'true', 'EXTERNAL' = 'FALSE')"
    )
    session.execute("INSERT INTO o VALUES (4)")
    found = session.execute("SELECT input__file__name, k, row__id.writeid FROM o").fetchall()
    originals = [(name, k) for name, k, write_id in found if write_id == 0]
    assert sorted(originals) == sorted(plain)
    assert sorted(originals) == [
        (f"file:{directory}/000000_0", 1),
        (f"file:{directory}/000000_0_copy_1", 2),
        (f"file:{directory}/000001_0", 3),
    ]
    many = pa.table({"k": pa.array(range(5, 70_005), pa.int32())})
    pa_orc.write_table(many, directory / "000002_0")
    query = "SELECT count(*), min(k), max(k) FROM o WHERE input__file__name LIKE '%/000002_0'"
    assert session.execute(query).fetchall() == [(70_000, 5, 70_004)]
    [added] = [name for name, k, _ in found if k == 4]
    assert added.startswith(f"file:{directory}/delta_")
    assert Path(added.removeprefix("file:")).is_file()


@pytest.mark.parametrize("files_of_a_map", [100, 0])
def test_days_that_spark_would_change(
    session: Session, warehouse: Path, monkeypatch: pytest.MonkeyPatch, files_of_a_map: int
) -> None:
    monkeypatch.setattr("acidsql.engines.spark.places.MAP_FILES_MAX", files_of_a_map)
    session.execute("CREATE TABLE t (k int, d date) PARTITIONED BY (p int)")
    session.execute("INSERT INTO t VALUES (1, DATE '1500-02-28', 1), (2, DATE '2020-01-01', 2)")
    session.execute("INSERT INTO t VALUES (3, DATE '1400-01-01', 1), (4, NULL, 3)")
    rows: list[tuple[Any, ...]] = session.execute(
        "SELECT k, p, INPUT__FILE__NAME FROM t"
    ).fetchall()
    written = {1: 1, 2: 1, 3: 2, 4: 2}
    for k, p, name in rows:
        write = f"{written[k]:07}"
        assert name == f"file:{warehouse}/t/p={p}/delta_{write}_{write}_0000/bucket_00000"
    assert len(rows) == 4
    session.execute("DELETE FROM t WHERE INPUT__FILE__NAME LIKE '%/p=1/%'")
    assert sorted(session.execute("SELECT k FROM t").fetchall()) == [(2,), (4,)]


NAMES = ("`_metadata` struct<file_path:string>", "`__path` string, `__known` string, `__hash` int")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("columns", NAMES)
@pytest.mark.parametrize("properties", ["'transactional_properties'='insert_only'", ""])
@pytest.mark.parametrize("files_of_a_map", [100, 0])
def test_columns_that_are_called_as_sparks_own(
    session: Session, monkeypatch: pytest.MonkeyPatch, columns: str, properties: str,
    files_of_a_map: int,
) -> None:  # fmt: skip
    """A row's own values must not tell its file or its partition."""
    monkeypatch.setattr("acidsql.engines.spark.places.MAP_FILES_MAX", files_of_a_map)
    monkeypatch.setattr("acidsql.engines.spark.small_files.FILE_BYTES_MAX", 0)
    kind = f"'transactional' = '{str(bool(properties)).lower()}'{properties and ','}{properties}"
    session.execute(
        f"CREATE TABLE t (k int, {columns}) PARTITIONED BY (p int) STORED AS ORC"
        f" TBLPROPERTIES ({kind})"
    )
    session.execute("INSERT INTO t (k, p) VALUES (1, 1), (2, 2)")
    [(other,)] = session.execute("SELECT DISTINCT INPUT__FILE__NAME FROM t WHERE p = 2").fetchall()
    claimed = f"named_struct('file_path', '{other}')" if "struct" in columns else "'a', 'b', 7"
    session.execute(f"INSERT INTO t SELECT 3, {claimed}, 1")
    rows = session.execute("SELECT k, p, INPUT__FILE__NAME FROM t").fetchall()
    assert sorted((k, p) for k, p, _ in rows) == [(1, 1), (2, 2), (3, 1)]
    assert all(f"/t/p={p}/" in name for _, p, name in rows)
    assert len(session.execute("SELECT * FROM t WHERE p = 1").fetchall()) == 2
