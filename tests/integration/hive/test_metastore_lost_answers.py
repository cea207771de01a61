"""Definitions in a metastore that carries out a call of theirs, and whose answer is lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import acidsql
from tests.integration.hive.one_metastore import OneMetastore
from tests.integration.hive.process import Hive
from tests.integration.hive.proxy import Proxy

pytestmark = pytest.mark.hive

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"


@pytest.fixture(scope="module")
def proxy(hive: Hive) -> Iterator[Proxy]:
    assert hive.metastore_port is not None
    proxy = Proxy(hive.metastore_port)
    yield proxy
    proxy.close()


@pytest.fixture(scope="module")
def session(hive: Hive, proxy: Proxy, spark: Any) -> Iterator[acidsql.Session]:
    url = f"thrift://127.0.0.1:{proxy.port}"
    with acidsql.connect(str(hive.warehouse), metastore=url, spark=spark, user="ann") as session:
        yield session


@pytest.fixture
def both(hive: Hive, session: acidsql.Session, database: str) -> OneMetastore:
    """A database of the test's own."""
    return OneMetastore(hive, session, database)


def test_an_exchange_of_partitions_that_was_committed(both: OneMetastore, proxy: Proxy) -> None:
    for name in ("t", "u"):
        both.acidsql(f"CREATE TABLE {name} (id int) PARTITIONED BY (k string) {ACID}")
    both.acidsql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    proxy.lose("add_dynamic_partitions", "commit_txn")
    both.acidsql("ALTER TABLE u EXCHANGE PARTITION (k = 'a') WITH TABLE t")
    assert both.acidsql("SELECT * FROM u") == [(1, "a")]
    assert both.acidsql("SELECT * FROM t") == [(2, "b")]
