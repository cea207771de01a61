"""LOAD DATA whose rows are read: from files of any name, in transactions, of old days."""

from __future__ import annotations

import datetime
import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.orc as pa_orc
import pytest

from acidsql.errors import AcidSqlError
from acidsql.session.session import Session

LINES = "ROW FORMAT DELIMITED FIELDS TERMINATED BY ','"


def test_texts_of_any_name(session: Session, tmp_path: Path) -> None:
    given = tmp_path / "given {1}"
    given.mkdir()
    (given / "a.gz").write_bytes(gzip.compress(b"1,x,p\n2,y,q\n"))
    (given / "we{i}rd [x]*.txt").write_text("3,z,r\n4,z\n,\\N,r\n")
    (given / "_hidden").write_text("9,9,9\n")
    session.execute(f"CREATE TABLE t (id int, v string) PARTITIONED BY (p string) {LINES}")
    loaded = session.execute(f"LOAD DATA LOCAL INPATH '{given}' INTO TABLE t")
    assert loaded.rows_inserted == 5
    rows = session.execute("SELECT * FROM t").fetchall()
    assert sorted(rows, key=str) == [
        (1, "x", "p"), (2, "y", "q"), (3, "z", "r"), (4, "z", None), (None, None, "r"),
    ]  # fmt: skip
    assert len(list(given.iterdir())) == 3


@pytest.mark.parametrize("ends", ["COMMIT", "ROLLBACK"])
def test_rows_into_buckets_in_a_transaction(session: Session, tmp_path: Path, ends: str) -> None:
    # A day that Spark's ORC reader takes for another one: no such day in the Julian calendar.
    days = [datetime.date(1582, 10, 15), datetime.date(1, 1, 1), datetime.date(2026, 11, 27), None]
    columns = {"id": pa.array([1, 2, 3, 4], pa.int32()), "day": pa.array(days, pa.date32())}
    given = tmp_path / "given.orc"
    pa_orc.write_table(pa.table(columns), str(given))
    session.execute(
        "CREATE TABLE t (id int, day date) CLUSTERED BY (id) INTO 3 BUCKETS"
        " TBLPROPERTIES ('transactional' = 'true')"
    )
    session.execute("INSERT INTO t VALUES (9, NULL)")
    session.execute("BEGIN")
    session.execute(f"LOAD DATA INPATH '{given}' INTO TABLE t")
    session.execute("DELETE FROM t WHERE id IN (4, 9)")
    session.execute(ends)
    found = sorted(session.execute("SELECT id, day FROM t").fetchall())
    loaded = list(zip([1, 2, 3], days, strict=False))
    assert found == (loaded if ends == "COMMIT" else [(9, None)])
    assert session.execute("CHECK TABLE t").fetchall() == []
    assert given.exists()


def test_nothing_is_loaded_if_one_row_is_forbidden(session: Session, tmp_path: Path) -> None:
    (tmp_path / "given.txt").write_text("1,a\n,b\n")
    session.execute(f"CREATE TABLE t (id int NOT NULL, v string) {LINES}")
    with pytest.raises(AcidSqlError, match=r'"id" of default\.t cannot be null'):
        session.execute(f"LOAD DATA LOCAL INPATH '{tmp_path / 'given.txt'}' INTO TABLE t")
    assert session.execute("SELECT * FROM t").fetchall() == []
