"""Session.beside: work beside an open transaction, on the same store."""

from __future__ import annotations

from pathlib import Path

import acidsql
from acidsql.model.names import TableName
from tests.checks import check_table


def test_a_session_beside_another(tmp_path: Path) -> None:
    with acidsql.connect(tmp_path, metastore="memory:") as session:
        session.execute("CREATE DATABASE d")
        session.execute("USE d")
        session.execute("CREATE TABLE t (k int) TBLPROPERTIES ('transactional' = 'true')")
        session.execute("BEGIN")
        session.execute("INSERT INTO t VALUES (1)")
        with session.beside() as beside:
            assert (beside.database, beside.in_transaction) == ("d", False)
            beside.execute("INSERT INTO t VALUES (2)")
            with beside.transaction():
                beside.execute("INSERT INTO t VALUES (3)")
        assert session.in_transaction
        session.execute("ROLLBACK")
        assert sorted(check_table(session._store, TableName("d", "t"))) == [(2,), (3,)]
        session.execute("INSERT INTO t VALUES (4)")  # the store is still open
