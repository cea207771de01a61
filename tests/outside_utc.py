"""Times that come out wrong of Spark's own ORC reader where its JVM runs in Berlin's zone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import acidsql

TIMES = [
    "0001-01-01 00:00:00",
    "1582-11-15 01:02:03.000004",
    "1893-01-01 00:00:00",
    "1960-01-01 00:00:00.5",
    "2026-03-08 02:30:00",
    "2026-10-25 02:30:00",
    "9999-12-31 23:59:59.999999",
    "2026-03-29 02:30:00",
]
"""The first, and the last, which Berlin skips, come out wrong; New York skips the fifth."""


def assert_times_stay(warehouse: Path | str, spark: Any) -> None:
    """Write and change the times, alone and in arrays, and copy them to a plain table."""
    with acidsql.connect(warehouse, spark=spark) as session:
        session.execute(
            "CREATE TABLE t (k int, ts timestamp, a array<timestamp>)"
            " STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
        )
        for k, time in enumerate(TIMES):
            session.execute("INSERT INTO t (k, ts) VALUES (?, ?)", [k, time])

        def rows(name: str = "t") -> list[tuple[str, str | None]]:
            text = f"SELECT cast(ts AS string), cast(a AS string) FROM {name} ORDER BY k"
            return session.execute(text).fetchall()

        assert rows() == [(time, None) for time in TIMES]
        session.execute("UPDATE t SET a = array(ts, NULL)")
        session.execute("UPDATE t SET k = k")
        kept = [(time, f"[{time}, null]") for time in TIMES]
        assert rows() == kept
        session.execute(
            "MERGE INTO t USING (SELECT 7 AS i) s ON k = i WHEN MATCHED THEN UPDATE SET k = 8"
        )
        session.execute("DELETE FROM t WHERE k = 4")
        session.execute("CREATE TABLE plain STORED AS ORC AS SELECT * FROM t")
        assert rows() == kept[:4] + kept[5:]
        assert rows("plain") == kept[:4] + kept[5:]
