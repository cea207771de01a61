"""`acidsql service` as a process of its own, beside a table that cannot be compacted."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable

import acidsql

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"


def until(holds: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    ends_s = time.monotonic() + 120
    while not holds():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < ends_s
        time.sleep(0.05)


def test_a_service_goes_on_beside_what_fails_again_and_again(tmp_path):
    warehouse = tmp_path / "w"
    with acidsql.connect(warehouse) as session:
        for table in ("bad", "good"):
            session.execute(f"CREATE TABLE {table} (k int) {ACID}")
            for number in (1, 2):
                session.execute(f"INSERT INTO {table} VALUES ({number})")
        for file in (warehouse / "bad").glob("delta_*/bucket_*"):
            file.write_bytes(b"no ORC at all")

        def states(table: str) -> list[str]:
            rows = session.execute("SHOW COMPACTIONS").fetchall()
            return [row[5] for row in rows if row[2] == table]

        command = [sys.executable, "-m", "acidsql", "service", "--interval", "0.1"]
        service = subprocess.Popen(
            [*command, "--warehouse", str(warehouse)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            for count in (1, 2):
                session.execute("ALTER TABLE bad COMPACT 'major'")
                session.execute("ALTER TABLE good COMPACT 'major'")
                until(lambda n=count: states("good") == ["succeeded"] * n, service)
                until(lambda n=count: states("bad") == ["failed"] * n, service)
                session.execute("INSERT INTO good VALUES (3)")
            service.send_signal(signal.SIGTERM)
            out, err = service.communicate(timeout=60)
        finally:
            service.kill()
            service.wait()
    assert service.returncode == 0
    assert out.count("worker: 1 compaction carried out\n") == 2
    assert out.count("cleaner: 1 compaction cleaned\n") == 2
    assert err.count("(default.bad) failed: CorruptFileError") == 2
    assert err.endswith("acidsql: failures since the start: worker 2\n")
