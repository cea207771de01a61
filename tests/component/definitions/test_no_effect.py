"""Clauses and statements that are taken from Hive's scripts, and say that they have no effect."""

from __future__ import annotations

import pytest

from acidsql.errors import (
    AnalysisError,
    ColumnNotFoundError,
)
from acidsql.session.session import Session


@pytest.mark.parametrize("kind", ["full-ACID", "insert_only", "plain"])
def test_a_table_is_made_but_not_sorted(session: Session, kind: str) -> None:
    properties = {
        "full-ACID": "'transactional' = 'true'",
        "insert_only": "'transactional' = 'true', 'transactional_properties' = 'insert_only'",
        "plain": "'transactional' = 'false'",
    }[kind]
    told = session.execute(
        "CREATE TABLE t (a int, b int) CLUSTERED BY (a) SORTED BY (B DESC) INTO 4 BUCKETS"
        f" SKEWED BY (a) ON (1, 2) STORED AS ORC TBLPROPERTIES ({properties})"
    ).message
    assert told is not None
    assert [line.split(" has ")[0] for line in told.splitlines()] == [
        "OK", "SORTED BY", "SKEWED BY",
    ]  # fmt: skip
    shown = "\n".join(line for (line,) in session.execute("SHOW CREATE TABLE t").fetchall())
    assert "CLUSTERED BY (`a`) INTO 4 BUCKETS" in shown
    assert "SORTED" not in shown
    assert "SKEWED" not in shown


@pytest.mark.parametrize("clause", ["CLUSTERED BY (a) SORTED BY (x) INTO 2 BUCKETS",
                                    "SKEWED BY (x) ON (1)"])  # fmt: skip
def test_an_unknown_column_is_named(session: Session, clause: str) -> None:
    sql = f"CREATE TABLE t (a int) {clause}"
    with pytest.raises(AnalysisError, match='the table has no column "x"') as caught:
        session.execute(sql)
    assert (caught.value.line, caught.value.column) == (1, sql.index("(x)") + 2)
    assert session.execute("SHOW TABLES").fetchall() == []


def test_a_skew_is_of_columns_that_are_there(session: Session) -> None:
    session.execute("CREATE TABLE t (a int)")
    told = session.execute("ALTER TABLE t SKEWED BY (A) ON (1)").message
    assert told is not None
    assert told.startswith("OK, but")
    with pytest.raises(ColumnNotFoundError, match='has no column "b"') as caught:
        session.execute("ALTER TABLE t SKEWED BY (a, b) ON ((1, 2))")
    assert caught.value.column == len("ALTER TABLE t SKEWED BY (a, b")
