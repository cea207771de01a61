"""Tables whose rows have got new write ids, and snapshots from before (see remade.spec)."""

from __future__ import annotations

from pathlib import Path

import pytest

import acidsql
from acidsql.errors import SnapshotExpiredError
from acidsql.model.names import TableName
from acidsql.model.table import REMADE_BY

T = TableName("default", "t")
ACID = "TBLPROPERTIES ('transactional' = 'true')"


@pytest.mark.sqlite
def test_only_a_transaction_of_this_store_makes_a_snapshot_too_old(tmp_path: Path) -> None:
    """An import by Hive may bring the note of another store along."""
    with acidsql.connect(tmp_path) as one, acidsql.connect(tmp_path) as other:
        one.execute(f"CREATE TABLE t (a int) {ACID}")
        one.execute("BEGIN")
        store = one._store
        store.alter_table(store.table(T).remade(1_000_000))
        assert one.execute("INSERT INTO t VALUES (1)").rows_inserted == 1
        one.execute("ROLLBACK")
        one.execute("BEGIN")
        other.execute(f"CREATE OR REPLACE TABLE t (a int) {ACID}")
        with pytest.raises(SnapshotExpiredError, match="was made anew"):
            one.execute("INSERT INTO t VALUES (1)")
        one.execute("ROLLBACK")
        assert one.execute("INSERT INTO t VALUES (1)").rows_inserted == 1


@pytest.mark.sqlite
def test_the_note_is_shown_to_nobody_and_cannot_be_given(tmp_path: Path) -> None:
    with acidsql.connect(tmp_path) as session:
        session.execute(f"CREATE TABLE t (a int) {ACID}")
        session.execute(f"CREATE OR REPLACE TABLE t (a int) {ACID}")
        assert session._store.table(T).remade_by > 0
        shown = session.execute("SHOW TBLPROPERTIES t").fetchall()
        assert REMADE_BY not in [row[0] for row in shown]
        session.execute("CREATE TABLE u LIKE t")
        assert session._store.table(TableName("default", "u")).remade_by == 0
