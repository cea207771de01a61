"""A process that ends without closing its sessions leaves no lock behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import acidsql

SCRIPT = """
import os, sys
import acidsql
from acidsql.streaming import StreamingConnection

how = sys.argv[2]
session = acidsql.connect(sys.argv[1])
acid = "TBLPROPERTIES ('transactional' = 'true')"
session.execute(f"CREATE TABLE t (id int) {acid}")
session.execute(f"CREATE TEMPORARY TABLE mine (id int) {acid}")
if how == "stream":
    connection = StreamingConnection.builder().table("t").transaction_batch_size(3).connect(session)
    other = StreamingConnection.builder().table("t").connect(warehouse=sys.argv[1])
    for stream in (connection, other):
        stream.begin_transaction()
        stream.write({"id": 1})
    sys.exit()
session.execute("BEGIN")
session.insert("t", [{"id": 1}])
if how == "forked" and os.fork() == 0:
    sys.exit()  # it is the parent's transaction
if how == "forked":
    os.wait()
    session.execute("COMMIT")
if how == "error":
    raise ValueError
"""


@pytest.mark.parametrize(
    ("how", "status"), [("end", 0), ("error", 1), ("forked", 0), ("stream", 0)]
)
def test_a_session_that_nobody_has_closed(tmp_path: Path, how: str, status: int) -> None:
    warehouse = str(tmp_path / "w")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, warehouse, how],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    assert "acidsql" not in done.stderr.partition("Traceback")[0]
    with acidsql.connect(warehouse) as session:
        assert session.execute("SHOW LOCKS").fetchall() == []
        states = [row[1] for row in session.execute("SHOW TRANSACTIONS").fetchall()]
        assert "OPEN" not in states
        assert session.execute("SHOW DATABASES").fetchall() == [("default",)]
        assert not [p.name for p in (tmp_path / "w").iterdir() if p.name.startswith("_")]
    committed = (tmp_path / "w" / "t" / "delta_0000001_0000001_0000").is_dir()
    assert committed is (how == "forked")
