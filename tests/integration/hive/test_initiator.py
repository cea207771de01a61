"""The compactions that a table needs, by acidsql's rules and by Hive's Initiator."""

from __future__ import annotations

import time
from typing import Any

import pytest

import acidsql
from acidsql.background.initiator import is_automatic
from acidsql.execution.compaction_need import sizes_of
from acidsql.execution.snapshots import partition_directory
from acidsql.layout.acid_state import acid_state
from acidsql.model.names import PartitionName, TableName
from acidsql.ports.storage import list_marked_files
from acidsql.txn.compaction_need import Thresholds, need_by_sizes
from tests.integration.hive.process import Hive

pytestmark = pytest.mark.hive

INSERT = "INSERT INTO {t} VALUES (1, 'a')"
UPDATE = "UPDATE {t} SET v = concat(v, 'b')"
OVERWRITE = "INSERT OVERWRITE TABLE {t} VALUES (2, 'b')"
COUNT = "'compactorthreshold.hive.compactor.delta.num.threshold' = '2'"
SHARE = "'compactorthreshold.hive.compactor.delta.pct.threshold' = '100'"
CASES = {
    "count": ((COUNT,), [INSERT, INSERT, INSERT, INSERT], [None, None, "MAJOR", "MAJOR"]),
    "updates": ((COUNT,), [INSERT, UPDATE, UPDATE], [None, "MAJOR", "MAJOR"]),
    "share": (
        (COUNT, SHARE),
        [INSERT, INSERT, INSERT, INSERT, INSERT, INSERT],
        [None, None, "MAJOR", None, None, "MINOR"],
    ),
    "overwritten": ((SHARE,), [INSERT, OVERWRITE, OVERWRITE], [None, None, "MAJOR"]),
    "insert-only": (
        (COUNT, SHARE, "'transactional_properties' = 'insert_only'"),
        [INSERT, INSERT, INSERT],
        [None, None, "MAJOR"],
    ),
    "a partition": ((COUNT,), [INSERT, INSERT, INSERT], [None, None, "MAJOR"]),
    "not automatic": ((COUNT, "'no_auto_compaction' = 'true'"), [INSERT] * 4, [None] * 4),
}

ONLY_4 = {"overwritten"}
"""Hive 3 leaves a base that was overwritten until other writes ask for a compaction."""


@pytest.mark.parametrize(
    ("case", "versions"), [(c, (4,) if c in ONLY_4 else (3, 4)) for c in CASES], ids=CASES
)
def test_both_ask_for_the_same(
    hive: Hive,
    client: acidsql.Session,
    database: str,
    case: str,
    versions: tuple[int, ...],
) -> None:
    assert hive.version in versions
    properties, statements, expected = CASES[case]
    partitioned = case == "a partition"
    name = TableName("default", database)
    by = " PARTITIONED BY (p int)" if partitioned else ""
    table = f"{name} PARTITION (p = 1)" if partitioned else str(name)
    hive.run(
        f"CREATE TABLE {name} (id int, v string){by} STORED AS ORC"
        f" TBLPROPERTIES ('transactional' = 'true', {', '.join(properties)})"
    )
    asked = []
    for statement in statements:
        is_write = statement.startswith("INSERT")
        hive.run(statement.format(t=table if is_write else name))
        partition = PartitionName.parse("p=1") if partitioned else None
        need = needed(client, name, partition)
        hive.run("!initiator")
        assert initiated(hive, name) == need, (asked, statement)
        asked.append(need)
        if need is not None:
            hive.work()
            # Hive leaves transactions of the last second open to doubt.
            time.sleep(1.2)
            hive.run("!cleaner")
    assert asked == expected
    hive.run(f"DROP TABLE {name}")


def needed(
    session: acidsql.Session, name: TableName, partition: PartitionName | None
) -> str | None:
    """What acidsql would ask for, by the directory under the snapshot of now."""
    store, storage = session._store, session._storage
    table = store.table(name)
    directory = partition_directory(store, table, partition)
    assert directory is not None
    txns = store.valid_txns()
    write_ids = store.valid_write_ids([name], txns)[name].for_compactor()
    files, markers = list_marked_files(directory.location, storage)
    state = acid_state(files, write_ids, txns, markers, table.kind)
    need = need_by_sizes(sizes_of(state, table.kind), Thresholds().of_table(table.parameters))
    return need.type.name if need is not None and is_automatic(table.parameters, {}) else None


def initiated(hive: Hive, name: TableName) -> str | None:
    """What waits for a worker in Hive's queue."""
    entries: list[dict[str, Any]] = hive.run("SHOW COMPACTIONS")
    kinds = [e["type"] for e in entries if (e["tabname"], e["state"]) == (name.table, "initiated")]
    assert len(kinds) < 2
    return kinds[0] if kinds else None
