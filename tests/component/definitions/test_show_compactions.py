"""SHOW COMPACTIONS: its columns and its filters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import acidsql
from acidsql.errors import AnalysisError, DatabaseNotFoundError, TableNotFoundError

ACID = "TBLPROPERTIES ('transactional' = 'true')"


@contextmanager
def furnished(warehouse: Path) -> Iterator[acidsql.Session]:
    """Five entries: of two databases, three types, four states and two pools."""
    with acidsql.connect(warehouse, metastore="memory:") as session:
        session.execute("CREATE DATABASE sales")
        session.execute(f"CREATE TABLE sales.t (id int) {ACID}")
        session.execute(f"CREATE TABLE p (id int) PARTITIONED BY (d int) {ACID}")
        for number in (1, 2):
            session.execute(f"INSERT INTO sales.t VALUES ({number})")
        session.execute("INSERT INTO p VALUES (1, 1), (2, 2), (3, 10)")
        session.execute("ALTER TABLE sales.t COMPACT 'major'")
        session.execute("ALTER TABLE p PARTITION (d = 1) COMPACT 'minor'")
        assert session.run_worker() == 1
        session.execute("ALTER TABLE p PARTITION (d = 2) COMPACT 'major' POOL 'fast'")
        session.execute(
            "ALTER TABLE p PARTITION (d = 10) COMPACT 'rebalance' CLUSTERED INTO 3 BUCKETS"
            " POOL 'fast' WITH OVERWRITE TBLPROPERTIES ('orc.compress' = 'zlib') ORDER BY id DESC"
        )
        session.execute("ALTER TABLE sales.t COMPACT 'major'")
        session.execute("ABORT COMPACTIONS 5")
        yield session


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[acidsql.Session]:
    """For tests that only read."""
    with furnished(tmp_path_factory.mktemp("compactions") / "w") as session:
        yield session


def shown(session: acidsql.Session, filters: str, *columns: str) -> list[Any]:
    result = session.execute(f"SHOW COMPACTIONS {filters}")
    at = [result.columns.index(c) for c in columns or ("compactionid",)]
    rows = [tuple(row[i] for i in at) for row in result.fetchall()]
    return rows if columns else [int(row[0]) for row in rows]


@pytest.mark.parametrize(
    ("filters", "ids"),
    [
        ("", [5, 4, 3, 2, 1]),
        ("COMPACTIONID = 3", [3]),
        ("COMPACTIONID = 9", []),
        ("DATABASE sales", [5, 1]),
        ("SCHEMA default", [4, 3, 2]),
        ("sales.t", [5, 1]),
        ("p", [4, 3, 2]),
        ("p PARTITION (d = 10)", [4]),
        ("p PARTITION (d = 77)", []),
        ("POOL 'fast'", [4, 3]),
        ("POOL 'default'", [5, 2, 1]),
        ("POOL 'FAST'", []),
        ("TYPE 'Major'", [5, 3, 1]),
        ("TYPE 'rebalance'", [4]),
        ("STATUS 'initiated'", [4, 3]),
        ("STATUS 'ready for cleaning'", [1]),
        ("STATUS 'refused'", [2]),
        ("STATUS 'aborted'", [5]),
        ("STATUS 'failed'", []),
        ("p POOL 'fast' TYPE 'major' STATUS 'initiated'", [3]),
        ("ORDER BY compactionid", [1, 2, 3, 4, 5]),
        ("ORDER BY TabName, partname DESC, compactionid DESC", [3, 4, 2, 5, 1]),
        ("ORDER BY 'TABLE', `Partition` DESC, compactionid DESC", [3, 4, 2, 5, 1]),
        ("ORDER BY state, compactionid LIMIT 2", [5, 3]),
        ("ORDER BY numberofbuckets DESC LIMIT 1", [4]),
        ("DATABASE sales LIMIT 1", [5]),
        ("LIMIT 0", []),
    ],
)
def test_filters(session: acidsql.Session, filters: str, ids: list[int]) -> None:
    assert shown(session, filters) == ids


def test_numbers_are_sorted_as_numbers(tmp_path: Path) -> None:
    with furnished(tmp_path / "w") as session:
        for _ in range(6):
            session.execute("ALTER TABLE sales.t COMPACT 'minor'")
            number = shown(session, "LIMIT 1")[0]
            session.execute(f"ABORT COMPACTIONS {number}")
        assert shown(session, "ORDER BY compactionid") == list(range(1, 12))


def test_the_columns_of_a_request(session: acidsql.Session) -> None:
    columns = ("type", "poolname", "numberofbuckets", "orderby", "tblproperties", "waitsfor")
    assert shown(session, "COMPACTIONID = 4", *columns) == [
        ("REBALANCE", "fast", "3", "ORDER BY `id` DESC NULLS FIRST", "1:12:orc.compress4:zlib",
         " --- ")
    ]  # fmt: skip
    assert shown(session, "COMPACTIONID = 1", *columns) == [
        ("MAJOR", "default", " --- ", " --- ", " --- ", " --- ")
    ]
    message = "Compaction Aborted by Abort Comapction request."
    assert shown(session, "COMPACTIONID = 5", "state", "errormessage") == [("aborted", message)]


@pytest.mark.parametrize(
    ("filters", "error", "code"),
    [
        ("ORDER BY nothing", AnalysisError, 10004),
        ("nothing", TableNotFoundError, 10001),
        ("DATABASE nothing", DatabaseNotFoundError, 10072),
        ("sales.t PARTITION (d = 1)", AnalysisError, 10241),
        ("p PARTITION (id = 1)", AnalysisError, 10098),
    ],
)
def test_refused(session: acidsql.Session, filters: str, error: type, code: int) -> None:
    with pytest.raises(error) as caught:
        session.execute(f"SHOW COMPACTIONS {filters}")
    assert caught.value.code == code
