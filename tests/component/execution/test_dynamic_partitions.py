"""Hive's limits of dynamic partitions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import acidsql
from acidsql.errors import AnalysisError, ExecutionError
from acidsql.model.names import TableName
from tests.checks import check_table


@pytest.fixture
def session(tmp_path: Path) -> Iterator[acidsql.Session]:
    with acidsql.connect(tmp_path / "w", metastore="memory:") as session:
        session.execute("CREATE TABLE t (a int) PARTITIONED BY (p int, q int)")
        yield session


def count(session: acidsql.Session) -> int:
    return len(check_table(session._store, TableName("default", "t")))


def test_strict_mode_wants_one_fixed_column(session: acidsql.Session) -> None:
    session.execute("SET hive.exec.dynamic.partition.mode = STRICT")
    for sql in (
        "INSERT INTO t VALUES (1, 1, 1)",
        "INSERT INTO t PARTITION (p, q) VALUES (1, 1, 1)",
    ):
        with pytest.raises(AnalysisError, match="at least one static") as caught:
            session.execute(sql)
        assert caught.value.code == 10096
    session.execute("INSERT INTO t PARTITION (p = 1, q) VALUES (1, 1)")
    session.insert("t", [{"a": 1, "q": 2}], partition={"p": 1})
    assert count(session) == 2


def test_without_dynamic_partitions_all_columns_are_fixed(session: acidsql.Session) -> None:
    session.execute("SET hive.exec.dynamic.partition = false")
    with pytest.raises(AnalysisError, match="is disabled") as caught:
        session.execute("INSERT INTO t PARTITION (p = 1, q) VALUES (1, 1)")
    assert caught.value.code == 10095
    session.execute("INSERT INTO t PARTITION (p = 1, q = 2) VALUES (1)")
    assert count(session) == 1


def test_a_limit_of_partitions(session: acidsql.Session) -> None:
    session.execute("SET hive.exec.max.dynamic.partitions = 2")
    session.execute("INSERT INTO t VALUES (1, 1, 1), (2, 1, 1), (3, 1, 2)")
    for begin in ("", "BEGIN"):
        if begin:
            session.execute(begin)
            session.execute("INSERT INTO t VALUES (4, 4, 4)")
        with pytest.raises(ExecutionError, match="created is 3, which is more than 2") as caught:
            session.execute("INSERT INTO t VALUES (1, 1, 1), (2, 5, 5), (3, 6, 6)")
        assert caught.value.code == 20004
    session.execute("COMMIT")
    assert count(session) == 4
    assert [row[0] for row in session.execute("SHOW PARTITIONS t").fetchall()] == [
        "p=1/q=1", "p=1/q=2", "p=4/q=4",
    ]  # fmt: skip
    session.execute("RESET hive.exec.max.dynamic.partitions")
    session.execute("INSERT INTO t VALUES (1, 1, 1), (2, 5, 5), (3, 6, 6)")
    assert count(session) == 7
