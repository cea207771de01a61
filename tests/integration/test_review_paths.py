"""Directories whose names look like patterns are read once, and alone."""

import pytest

import acidsql


@pytest.mark.parametrize(
    ("warehouse", "broadcast"),
    [
        ("w[ab]{c,d}*?", 64 << 20),
        ("w[ab]{c,d}*?", 0),
        pytest.param("plain", 64 << 20, marks=pytest.mark.thorough),
        pytest.param("plain", 0, marks=pytest.mark.thorough),
    ],
)
def test_no_row_is_doubled_or_lost(spark, tmp_path, monkeypatch, warehouse, broadcast):
    monkeypatch.setattr("acidsql.engines.spark.deletes.BROADCAST_BYTES_MAX", broadcast)
    with acidsql.connect(str(tmp_path / warehouse), spark=spark) as session:
        session.execute(
            "CREATE TABLE t (id int) PARTITIONED BY (p string) STORED AS ORC"
            " TBLPROPERTIES ('transactional' = 'true')"
        )
        for number in (1, 2):
            for value in ("{x}", "a}", "[a]*", "a"):
                session.execute("INSERT INTO t VALUES (?, ?)", [number, value])
        session.execute("DELETE FROM t WHERE id = 1")
        rows = session.execute("SELECT id, p FROM t ORDER BY p").fetchall()
    assert rows == [(2, "[a]*"), (2, "a"), (2, "a}"), (2, "{x}")]
