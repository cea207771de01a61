"""Transactions that end badly, and readers that take their time, beside a Hive's own services."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from acidsql.txn.entities import TxnState
from tests.integration.hive.one_metastore import Turns

pytestmark = pytest.mark.hive

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"

CLIENT = textwrap.dedent("""
    import sys
    import time

    import acidsql

    url, warehouse, *statements = sys.argv[1:]
    session = acidsql.connect(warehouse, metastore=url)
    for statement in statements:
        result = session.execute(statement)
    print(result.txn_id, flush=True)
    time.sleep(600)
""")
"""A client that gets no further than its statements."""


def killed(live: Turns, *statements: str) -> int:
    """The txn id of a client that was killed after its statements."""
    url = live.hive.metastore_url
    root = Path(__file__).parents[3]
    with subprocess.Popen(
        [sys.executable, "-c", CLIENT, url, str(live.hive.warehouse), *statements],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(root)},
    ) as client:
        assert client.stdout is not None
        txn_id = int(client.stdout.readline())
        client.send_signal(signal.SIGKILL)
    return txn_id


def state(live: Turns, txn_id: int) -> TxnState | None:
    return next((t.state for t in live.store.show_txns() if t.txn_id == txn_id), None)


def test_a_killed_client(live: Turns) -> None:
    live.acidsql(f"CREATE TABLE t (id int, v string) {ACID}")
    live.acidsql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    table = f"{live.database}.t"
    txn_id = killed(
        live,
        "BEGIN",
        f"INSERT INTO {table} VALUES (3, 'lost')",
        f"DELETE FROM {table} WHERE id = 1",
    )
    assert state(live, txn_id) is TxnState.OPEN
    assert len(live.rows("t")) == 2
    time.sleep(1.5)
    live.hive.run("!housekeeper 1")
    assert state(live, txn_id) is TxnState.ABORTED
    # Its locks are gone, and what it wrote is nobody's.
    live.theirs("UPDATE t SET v = 'hive' WHERE id = 1")
    live.acidsql("UPDATE t SET v = 'ours' WHERE id = 2")
    values = sorted(row[3:] for row in live.rows("t"))
    live.theirs(f"ALTER TABLE {table} COMPACT 'major'")
    live.theirs("clean")
    assert sorted(row[3:] for row in live.rows("t")) == values
    assert len(values) == 2
    (left,) = live.location("t").iterdir()
    assert left.name.startswith("base_0000004")


@pytest.mark.parametrize("kind", ["lazy", "block"])
def test_the_cleaner_waits_for_a_reader(live: Turns, kind: str) -> None:
    live.acidsql(f"CREATE TABLE t (id int, v string) {ACID}")
    for number in range(3):
        live.acidsql(f"INSERT INTO t VALUES ({number}, 'a')")
    before = {d.name for d in live.location("t").iterdir()}
    if kind == "block":
        live.session.execute("BEGIN")
    result = live.session.execute("SELECT id FROM t ORDER BY id")
    reader = result.df
    live.hive.run(f"ALTER TABLE {live.database}.t COMPACT 'major'")
    live.hive.work()
    live.hive.run(f"INSERT INTO {live.database}.t VALUES (9, 'later')")
    time.sleep(1.2)
    live.hive.run("!cleaner")
    assert before < {d.name for d in live.location("t").iterdir()}
    assert [row.id for row in reader.collect()] == [0, 1, 2]
    result.close()
    if kind == "block":
        assert live.session.execute("SELECT count(*) FROM t").fetchall() == [(3,)]
        live.session.execute("COMMIT")
    time.sleep(1.2)
    live.hive.run("!cleaner")
    assert not before & {d.name for d in live.location("t").iterdir()}
    assert len(live.rows("t")) == 4
