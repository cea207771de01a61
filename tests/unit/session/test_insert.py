"""Session.insert: rows of this process, without Spark."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import acidsql
from acidsql.errors import (
    AnalysisError,
    ColumnNotFoundError,
    ConfigError,
    InvalidValueError,
    TableNotFoundError,
    UnsupportedStatementError,
    WriteConflictError,
)
from acidsql.model.names import TableName
from acidsql.session.session import Session
from tests.checks import check_table

ACID = "TBLPROPERTIES ('transactional' = 'true')"
INSERT_ONLY = "TBLPROPERTIES ('transactional' = 'true', 'transactional_properties' = 'insert_only')"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with acidsql.connect(tmp_path, metastore="memory:") as session:
        session.execute(f"CREATE TABLE t (k int, v string) {ACID}")
        session.execute(
            f"CREATE TABLE p (k int) PARTITIONED BY (d date, n decimal(5,2))"
            f" CLUSTERED BY (k) INTO 3 BUCKETS {ACID}"
        )
        yield session


def rows(session: Session, name: str) -> list[tuple[Any, ...]]:
    found = check_table(session._store, TableName("default", name))
    return sorted(found, key=repr)


@pytest.mark.parametrize(
    "data",
    [
        [{"K": 1, "v": "a"}, {"K": 2, "v": None}],
        {"k": [1, 2], "v": ["a", None]},
        pa.table({"v": ["a", None], "k": [1, 2]}),
        pa.table({"v": ["a", None], "k": [1, 2]}).to_reader(1),
        pd.DataFrame({"k": [1.0, 2.0], "V": ["a", None]}),
        pl.DataFrame({"k": [1, 2], "v": pl.Series(["a", None], dtype=pl.Categorical)}),
        pl.DataFrame({"k": [1, 2], "v": ["a", None]}),
    ],
)
def test_rows_of_any_kind(session: Session, data: Any) -> None:
    result = session.insert("T", data)
    assert (result.kind, result.rows_inserted, result.write_ids) == ("insert", 2, {"default.t": 1})
    assert rows(session, "t") == [(1, "a"), (2, None)]


def test_columns_that_are_missing_are_null(session: Session) -> None:
    session.insert("default.t", {"v": ["x"]})
    assert rows(session, "t") == [(None, "x")]


def test_no_rows(session: Session) -> None:
    for data in ([], {}, {"k": []}, pa.table({"k": pa.array([], pa.int32())})):
        assert session.insert("t", data).rows_inserted == 0
    assert session.insert("p", []).rows_inserted == 0
    assert rows(session, "t") == []


@pytest.mark.parametrize(
    ("table", "data", "options", "error", "message"),
    [
        ("u", [{"k": 1}], {}, TableNotFoundError, "default.u"),
        ("t", [{"kk": 1}], {}, ColumnNotFoundError, 'no column "kk"'),
        ("t", [{"k": 1}, {"k": 2**31}], {}, InvalidValueError, "Row 1, counted from 0"),
        ("t", [{"k": 1}], {"partition": {"k": 1}}, AnalysisError, "not a partition column"),
        ("p", [{"k": 1, "n": 1}], {}, AnalysisError, 'leaves out the partition column "d"'),
        ("p", [{"k": 1, "n": 1, "d": "x"}], {}, InvalidValueError, 'column "d"'),
        (
            "p", [{"k": 1, "n": 1, "d": None}], {"partition": {"n": Decimal(1)}}, AnalysisError,
            'column "n" is given twice',
        ),
        ("p", [{"k": 1}], {"partition": {"n": 1, "N": 2}}, ConfigError, "twice"),
        ("p", [{"k": 1}], {"partition": 5}, ConfigError, "must be a dict"),
        ("t", 5, {}, AnalysisError, "type int"),
        (5, [], {}, ConfigError, "must be a string"),
    ],
)  # fmt: skip
def test_what_is_refused_changes_nothing(
    session: Session, table: Any, data: Any, options: Any, error: Any, message: str
) -> None:
    with pytest.raises(error, match=message) as failed:
        session.insert(table, data, **options)
    assert getattr(failed.value, "line", None) is None, "there is no text that has a line"
    assert rows(session, "t") == rows(session, "p") == []
    session.insert("t", [{"k": 1}])
    assert rows(session, "t") == [(1, None)]


def test_a_late_row_that_does_not_fit(session: Session) -> None:
    many = pa.table({"k": np.arange(200_000), "v": ["x"] * 199_999 + ["y"]})
    late = many.set_column(0, "k", pa.array([*range(199_999), 2**40]))
    with pytest.raises(InvalidValueError, match="Row 199999, counted from 0: 1099511627776"):
        session.insert("t", late)
    assert rows(session, "t") == []


def test_partitions_of_rows_and_of_the_caller(session: Session) -> None:
    session.insert("p", {"k": [1, 2, 3], "d": ["2020-01-01", None, "2020-01-01"], "n": [1.5] * 3})
    session.insert("p", {"k": [4, 5]}, partition={"D": dt.date(2020, 1, 1), "n": Decimal("1.50")})
    session.insert("p", {"k": [6], "n": ["0.10"]}, partition={"d": None})
    assert rows(session, "p") == [
        (1, "2020-01-01", "1.5"),
        (2, None, "1.5"),
        (3, "2020-01-01", "1.5"),
        (4, "2020-01-01", "1.5"),
        (5, "2020-01-01", "1.5"),
        (6, None, "0.1"),
    ]


def test_overwrite(session: Session) -> None:
    session.insert("t", [{"k": 1}])
    session.insert("t", [{"k": 2}], overwrite=True)
    assert rows(session, "t") == [(2, None)]
    session.insert("t", [], overwrite=True)
    assert rows(session, "t") == []


@pytest.mark.parametrize("format", ["ORC", "PARQUET", "AVRO", "TEXTFILE"])
@pytest.mark.parametrize("kind", [INSERT_ONLY, ""])
def test_tables_of_plain_rows(session: Session, tmp_path: Path, format: str, kind: str) -> None:
    session.execute(f"CREATE TABLE f (k int, v varchar(3)) STORED AS {format} {kind}")
    assert session.insert("f", {"k": [1, None], "v": ["a", "b   "]}).rows_inserted == 2
    with pytest.raises(InvalidValueError, match="Row 0"):
        session.insert("f", {"v": ["abcd"]})
    files = [p for p in (tmp_path / "f").rglob("0*") if p.is_file()]
    assert len(files) == 1
    if format == "TEXTFILE":
        assert files[0].read_text() == "1\x01a\n\\N\x01b  \n"


def test_a_block(session: Session) -> None:
    with session.transaction():
        session.insert("t", [{"k": 1}])
        assert session.insert("t", [{"k": 2}]).write_ids == {"default.t": 1}
        with pytest.raises(InvalidValueError):
            session.insert("t", [{"k": "x"}])
        session.insert("p", [{"k": 3, "d": "2020-01-01", "n": 1}])
    assert rows(session, "t") == [(1, None), (2, None)]
    assert rows(session, "p") == [(3, "2020-01-01", "1")]
    session.execute("BEGIN")
    session.insert("t", [{"k": 4}])
    session.execute("ROLLBACK")
    assert rows(session, "t") == [(1, None), (2, None)]
    session.execute("CREATE TABLE plain (k int) STORED AS ORC")
    session.execute("BEGIN")
    with pytest.raises(UnsupportedStatementError, match="not transactional"):
        session.insert("plain", [{"k": 1}])
    session.execute("ROLLBACK")


def test_a_conflict_is_retried_where_the_rows_can_be_read_again(
    tmp_path: Path, session: Session
) -> None:
    """Of two overwrites of one table, the one with the older snapshot loses."""
    beaten: list[int] = []
    write = session._engine.write

    def beaten_once(*args: Any) -> Any:
        if not beaten:
            beaten.append(1)
            raise WriteConflictError("beaten", table="default.t", txn_id=1)
        return write(*args)

    session._engine.write = beaten_once
    session._sleep = lambda _: None
    session.insert("t", [{"k": 1}], retries=1)
    assert rows(session, "t") == [(1, None)]
    reader = pa.table({"k": [1]}).to_reader()
    with pytest.raises(ConfigError, match="a stream of rows"):
        session.insert("t", reader, retries=1)


def test_locks_are_those_of_insert(session: Session) -> None:
    session.execute("BEGIN")
    session.insert("p", [{"k": 1}], partition={"d": None, "n": 1})
    locks = session.execute("SHOW LOCKS EXTENDED").fetchall()
    session.execute("ROLLBACK")
    session.execute("BEGIN")
    session.execute("INSERT INTO p PARTITION (d = NULL, n = 1) VALUES (1)")
    expected = session.execute("SHOW LOCKS EXTENDED").fetchall()
    session.execute("ROLLBACK")
    assert [row[1:6] for row in locks] == [row[1:6] for row in expected] != []


@pytest.mark.sqlite
def test_neither_spark_nor_polars_is_imported(tmp_path: Path) -> None:
    script = f"""
import sys, acidsql, pyarrow as pa
with acidsql.connect({str(tmp_path / "w")!r}) as session:
    session.execute("CREATE TABLE t (k int) TBLPROPERTIES ('transactional' = 'true')")
    session.insert("t", pa.table({{"k": [1]}}))
    session.insert("t", [{{"k": 1}}])
print(sorted({{"pyspark", "py4j", "polars"}} & sys.modules.keys()))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
