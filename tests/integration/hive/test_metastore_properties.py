"""Two sessions that change what the metastore has noted of one table.

Each reads the table and writes all of it back. The one is stopped between the two, before the other
begins.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import acidsql
from acidsql.backends.metastore.locks import waiting_for
from tests.integration.hive.one_metastore import OneMetastore
from tests.integration.hive.process import Hive
from tests.integration.hive.proxy import Proxy

pytestmark = pytest.mark.hive

SET = "ALTER TABLE t SET TBLPROPERTIES ('{}' = 'said')"
INSERT = "INSERT INTO t VALUES (2)"
"""Takes back what is noted of the rows."""


@pytest.fixture
def proxy(hive: Hive) -> Iterator[Proxy]:
    assert hive.metastore_port is not None
    proxy = Proxy(hive.metastore_port)
    yield proxy
    proxy.close()


@pytest.fixture
def sessions(hive: Hive, proxy: Proxy, spark: Any) -> Iterator[list[acidsql.Session]]:
    """One that the proxy may stop, and one that it may not."""
    urls = [f"thrift://127.0.0.1:{proxy.port}", hive.metastore_url]
    found = [acidsql.connect(str(hive.warehouse), metastore=url, spark=spark) for url in urls]
    yield found
    for session in found:
        session.close()


@pytest.mark.parametrize(
    ("stopped", "other"),
    [(SET.format("a"), SET.format("b")), (INSERT, SET.format("b")), (SET.format("a"), INSERT)],
    ids=["two", "behind an insert", "before an insert"],
)
def test_no_property_is_lost(
    hive: Hive,
    proxy: Proxy,
    sessions: list[acidsql.Session],
    database: str,
    stopped: str,
    other: str,
) -> None:
    both = OneMetastore(hive, sessions[1], f"properties_{database}")
    both.theirs("CREATE TABLE t (id int) STORED AS ORC TBLPROPERTIES ('transactional' = 'true')")
    both.theirs("ALTER TABLE t SET TBLPROPERTIES ('numRows' = '7')")
    for session in sessions:
        session.execute(f"USE {both.database}")
    with ThreadPoolExecutor() as pool:
        proxy.hold("alter_table")
        first = pool.submit(sessions[0].execute, stopped)
        while not proxy.has_held.wait(0.1):
            assert not first.done(), first.exception()
        second = pool.submit(sessions[1].execute, other)
        while not (second.done() or waiting_for(both.store.show_locks())):
            time.sleep(0.05)
        proxy.release()
        first.result(60)
        second.result(60)
    told = both.described("t")
    for key in "ab":
        if SET.format(key) in (stopped, other):
            assert told.get(key) == "said"
    assert "numRows" not in told
    assert both.store.show_locks() == []
