"""A Hive 4 as it comes: its metadata transformer judges what a client may do with each table.

Everywhere else in these tests it is switched off, so that plain tables lie where both Hives put
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import acidsql
from acidsql.backends.metastore import capabilities
from acidsql.backends.metastore.client import MetastoreClient
from acidsql.backends.metastore.idl import hms
from acidsql.backends.metastore.url import Place
from acidsql.errors import UnsupportedStatementError
from tests.integration.hive.conftest import BUILD, free_port
from tests.integration.hive.process import Hive

pytestmark = pytest.mark.hive

DEFAULT = "org.apache.hadoop.hive.metastore.MetastoreDefaultTransformer"
TABLES = {
    "acid": "CREATE TABLE acid (id int) STORED AS ORC TBLPROPERTIES ('transactional' = 'true')",
    "plain": "CREATE EXTERNAL TABLE plain (id int) STORED AS ORC",
}
NONE, READ_ONLY, READ_WRITE = 1, 2, 8
JUDGED = {
    "acid": {"all": READ_WRITE, "to read": READ_ONLY, "none for acid": NONE},
    "plain": {"all": READ_WRITE, "to read": READ_ONLY, "none for acid": READ_ONLY},
}
"""Table.accessType, by what a client says that it can do."""
CLIENTS = {
    "all": capabilities.CAPABILITIES,
    "to read": ["EXTREAD", "HIVEFULLACIDREAD"],
    "none for acid": ["EXTREAD"],
}


@pytest.fixture
def judging(tmp_path: Path) -> Iterator[Hive]:
    settings = {"metastore.metadata.transformer.class": DEFAULT}
    with Hive(4, BUILD, tmp_path / "hive", free_port(), settings) as hive:
        yield hive


def test_what_the_transformer_says(
    judging: Hive, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = judging.metastore_url
    with acidsql.connect(str(judging.warehouse), metastore=url, spark=spark) as session:
        for name, create in TABLES.items():
            session.execute(create)
            session.execute(f"INSERT INTO {name} VALUES (1), (2)")
            judging.run(f"INSERT INTO {name} VALUES (3)")
        session.execute("UPDATE acid SET id = 20 WHERE id = 2")
        judging.run("DELETE FROM acid WHERE id = 1")
        for name, rows in {"acid": [3, 20], "plain": [1, 2, 3]}.items():
            ours = [row[0] for row in session.execute(f"SELECT id FROM {name} ORDER BY id")]
            theirs = [row["id"] for row in judging.run(f"SELECT id FROM {name} ORDER BY id")]
            assert (ours, theirs) == (rows, rows)
        assert {name: judged(url, name) for name in TABLES} == JUDGED

        monkeypatch.setattr(capabilities, "CAPABILITIES", CLIENTS["to read"])
        monkeypatch.setitem(capabilities.ASKER, "processorCapabilities", CLIENTS["to read"])
        assert len(session.execute("SELECT id FROM acid").fetchall()) == 2
        for name, wanted in {"acid": "HIVEFULLACIDWRITE", "plain": "EXTWRITE"}.items():
            with pytest.raises(UnsupportedStatementError, match="only read") as caught:
                session.execute(f"INSERT INTO {name} VALUES (4)")
            assert wanted in (caught.value.detail or "")

        monkeypatch.setattr(capabilities, "CAPABILITIES", CLIENTS["none for acid"])
        monkeypatch.setitem(capabilities.ASKER, "processorCapabilities", CLIENTS["none for acid"])
        with pytest.raises(UnsupportedStatementError, match=r"read table default\.acid") as caught:
            session.execute("SELECT id FROM acid")
        assert "HIVEFULLACIDREAD" in (caught.value.detail or "")
        assert len(session.execute("SELECT id FROM plain").fetchall()) == 3


def judged(url: str, name: str) -> dict[str, int]:
    """What the server lets each kind of client do with a table."""
    client = MetastoreClient(Place.of(url), "ann")
    try:
        return {
            kind: client.call(
                "get_table_req",
                hms.GetTableRequest(
                    dbName="default",
                    tblName=name,
                    capabilities=hms.ClientCapabilities(values=[]),
                    processorCapabilities=told,
                    processorIdentifier="acidsql",
                ),
            ).table.accessType
            for kind, told in CLIENTS.items()
        }
    finally:
        client.close()
