"""Which columns tables may have, and how they may change."""

from __future__ import annotations

import pytest

from acidsql.errors import UnsupportedStatementError
from acidsql.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"


@pytest.mark.parametrize(
    "sql",
    [
        f"CREATE TABLE u (v void) {ACID}",
        f"CREATE TABLE u (k int) PARTITIONED BY (v void) {ACID}",
        f"CREATE TABLE u (v array<void>) {ACID}",
        "ALTER TABLE t ADD COLUMNS (v void)",
        "ALTER TABLE t CHANGE k k void",
    ],
)
def test_void_is_not_declared(session: Session, sql: str) -> None:
    session.execute(f"CREATE TABLE t (k int) {ACID}")
    with pytest.raises(UnsupportedStatementError, match="void columns cannot be declared"):
        session.execute(sql)
