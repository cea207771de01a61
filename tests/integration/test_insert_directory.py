"""INSERT OVERWRITE DIRECTORY: the rows of a query as files, in each format."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyarrow import orc

import acidsql
from acidsql.errors import ColumnNotFoundError, InvalidValueError, UnsupportedStatementError
from acidsql.session.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"


@pytest.fixture(scope="module")
def session(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with acidsql.connect(tmp_path_factory.mktemp("w") / "w", spark=spark) as session:
        session.execute(f"CREATE TABLE t (k int, s string, d date, x array<int>) {ACID}")
        session.execute("INSERT INTO t SELECT 1, 'a', DATE '2026-01-02', array(1, 2)")
        session.execute("INSERT INTO t VALUES (2, NULL, NULL, NULL), (3, '', NULL, NULL)")
        session.execute("DELETE FROM t WHERE k = 3")
        yield session


def files(place: Path) -> list[Path]:
    return [p for p in sorted(place.iterdir()) if p.name[0] not in "._"]


def test_each_statement_replaces_the_files(session: Session, tmp_path: Path) -> None:
    place = tmp_path / "a" / "out"
    result = session.execute(f"INSERT OVERWRITE DIRECTORY '{place}' SELECT k, s, d, NULL FROM t")
    assert (result.rows_inserted, result.write_ids) == (2, {})
    # What Hive 4.0.1 writes.
    text = "".join(sorted(p.read_text() for p in files(place)))
    assert sorted(text.splitlines()) == ["1\x01a\x012026-01-02\x01\\N", "2\x01\\N\x01\\N\x01\\N"]

    session.execute(
        f"WITH q AS (SELECT k, s, x FROM t) INSERT OVERWRITE LOCAL DIRECTORY '{place}'"
        " STORED AS PARQUET SELECT *, k + 1, k FROM q WHERE k = 1"
    )
    [parquet] = files(place)
    assert pq.read_table(parquet).to_pydict() == {
        "_col0": [1], "s": ["a"], "x": [[1, 2]], "_col3": [2], "_col4": [1],
    }  # fmt: skip

    result = session.execute(
        f"INSERT OVERWRITE DIRECTORY '{place}' STORED AS ORC SELECT k, d FROM t WHERE k > 5"
    )
    assert result.rows_inserted == 0
    [empty] = files(place)
    assert orc.read_table(empty).schema.names == ["k", "d"]


def test_an_error_leaves_the_files(session: Session, tmp_path: Path) -> None:
    place = tmp_path / "out"
    session.execute(
        f"INSERT OVERWRITE DIRECTORY '{place}' ROW FORMAT DELIMITED FIELDS TERMINATED BY ','"
        " SELECT k, 'b' FROM t WHERE k = 1"
    )
    before = sorted(place.iterdir())
    for query, error in (
        ("SELECT nope FROM t", ColumnNotFoundError),
        ("SELECT x FROM t", UnsupportedStatementError),
        ("SELECT 'a\\nb'", InvalidValueError),
        ("SELECT INTERVAL '1' DAY", UnsupportedStatementError),
    ):
        with pytest.raises(error):
            session.execute(f"INSERT OVERWRITE DIRECTORY '{place}' {query}")
        assert sorted(place.iterdir()) == before
    assert [p.read_text() for p in files(place)] == ["1,b\n"]


def test_it_locks_what_it_reads_until_it_is_done(session: Session, tmp_path: Path) -> None:
    explained = session.execute(
        f"EXPLAIN LOCKS INSERT OVERWRITE DIRECTORY '{tmp_path}/out' SELECT k FROM t"
    )
    assert explained.fetchall() == [("default.t -> SHARED_READ",)]
    session.execute(f"INSERT OVERWRITE DIRECTORY '{tmp_path}/out' SELECT k FROM t")
    assert session.execute("SHOW LOCKS").fetchall() == []
    session.execute(f"CREATE TABLE e (k int) STORED AS TEXTFILE LOCATION '{tmp_path}/out'")
    assert sorted(session.execute("SELECT k FROM e").fetchall()) == [(1,), (2,)]
    session.execute("DROP TABLE e")
