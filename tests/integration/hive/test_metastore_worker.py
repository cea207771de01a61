"""Compactions over a real metastore: whoever asks, whoever carries them out, Hive cleans up."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

import acidsql
from acidsql.errors import SqlError
from acidsql.model.names import TableName
from tests.integration.hive.process import Hive

pytestmark = pytest.mark.hive

CREATE = (
    "CREATE TABLE {} (id int, v string) PARTITIONED BY (p int) STORED AS ORC"
    " TBLPROPERTIES ('transactional' = 'true')"
)


def newest(session: acidsql.Session) -> tuple[Any, ...]:
    (entry, *_) = session.execute("SHOW COMPACTIONS").fetchall()
    return entry


def test_we_compact_and_hive_cleans_up(hive: Hive, spark: Any) -> None:
    table = "default.compacted"
    url = hive.metastore_url
    with acidsql.connect(str(hive.warehouse), metastore=url, spark=spark) as session:
        hive.run(CREATE.format(table))
        hive.run(f"INSERT INTO {table} PARTITION (p = 1) VALUES (1, 'a'), (2, 'b')")
        session.execute(f"INSERT INTO {table} VALUES (3, 'c', 1), (4, 'd', 1)")
        hive.run(f"DELETE FROM {table} WHERE id = 1")
        session.execute(f"UPDATE {table} SET v = 'B' WHERE id = 2")
        hive.work()  # A worker takes the oldest, which others may have left.
        hive.run(f"ALTER TABLE {table} PARTITION (p = 1) COMPACT 'major'")
        # The queue of Hive 3.1 is for its own workers.
        assert session.run_worker() == (1 if hive.version == 4 else 0)
        if hive.version == 3:
            hive.work()
        assert "ready for cleaning" in newest(session)
        # Hive leaves transactions of the last second open to doubt.
        time.sleep(1.2)
        hive.run("!cleaner")
        (partition,) = session._store.partitions(TableName.parse(table))
        place = Path(partition.location)
        directories = sorted(path.name for path in place.iterdir() if path.is_dir())
        assert len(directories) == 1
        assert directories[0].startswith("base_")
        ours = session.execute(f"SELECT row__id, * FROM {table} ORDER BY id").fetchall()
        theirs = hive.run(f"SELECT row__id, id, v FROM {table} ORDER BY id")
        assert [(r[1], r[2]) for r in ours] == [(2, "B"), (3, "c"), (4, "d")]
        assert [tuple(r[0]) for r in ours] == [
            tuple(r["row__id"][key] for key in ("writeid", "bucketid", "rowid")) for r in theirs
        ]
        assert session.execute(f"CHECK TABLE {table}").fetchall() == []


def test_we_rebalance_and_hive_cleans_up(hive: Hive, spark: Any) -> None:
    table = "default.rebalanced"
    ask = (
        f"ALTER TABLE {table} PARTITION (p = 1) COMPACT 'rebalance' CLUSTERED INTO 3 BUCKETS"
        " POOL 'ours' ORDER BY id DESC"
    )
    with acidsql.connect(str(hive.warehouse), metastore=hive.metastore_url, spark=spark) as session:
        hive.run(CREATE.format(table))
        hive.run(f"INSERT INTO {table} PARTITION (p = 1) VALUES (1, 'a'), (2, 'b'), (3, 'c')")
        session.execute(f"INSERT INTO {table} VALUES (4, 'd', 1)")
        hive.run(f"DELETE FROM {table} WHERE id = 1")
        if hive.version == 3:
            for sql in (ask, ask.replace("rebalance", "major"), "ABORT COMPACTIONS 1"):
                with pytest.raises(SqlError):
                    session.execute(sql)
            return
        hive.work()
        session.execute(ask)
        number = newest(session)[0]
        [aborted] = session.execute(f"ABORT COMPACTIONS {number}").fetchall()
        assert aborted == (number, "Success", "Successfully aborted compaction")
        session.execute(ask)
        assert session.run_worker() == 0
        assert session.run_worker("ours") == 1
        assert "ready for cleaning" in newest(session), newest(session)
        ours = session.execute(f"SELECT row__id, * FROM {table} ORDER BY id").fetchall()
        theirs = hive.run(f"SELECT row__id, id, v FROM {table} ORDER BY id")
        assert [(r[1], r[2]) for r in ours] == [(2, "b"), (3, "c"), (4, "d")]
        assert [tuple(r[0]) for r in ours] == [
            tuple(r["row__id"][key] for key in ("writeid", "bucketid", "rowid")) for r in theirs
        ]
        assert [r[0][2] for r in ours] == [2, 1, 0]
        hive.run(f"UPDATE {table} SET v = 'B' WHERE id = 2")
        # Hive leaves transactions of the last second open to doubt.
        time.sleep(1.2)
        hive.run("!cleaner")
        (partition,) = session._store.partitions(TableName.parse(table))
        names = {p.name for p in Path(partition.location).iterdir() if p.is_dir()}
        assert len([n for n in names if n.startswith("base_")]) == 1
        assert len(names) == 3, names
        found = session.execute(f"SELECT id, v FROM {table} ORDER BY id").fetchall()
        assert [tuple(r) for r in found] == [(2, "B"), (3, "c"), (4, "d")]
        assert session.execute(f"CHECK TABLE {table}").fetchall() == []
