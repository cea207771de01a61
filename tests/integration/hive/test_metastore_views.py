"""Views in one metastore: Hive reads those of acidsql, and acidsql those of Hive."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import acidsql
from acidsql.errors import AcidSqlError, UnsupportedStatementError
from tests.integration.hive.one_metastore import OneMetastore
from tests.integration.hive.process import Hive, HiveError

pytestmark = pytest.mark.hive

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"


@pytest.fixture(scope="module")
def session(hive: Hive, spark: Any) -> Iterator[acidsql.Session]:
    url = hive.metastore_url
    with acidsql.connect(str(hive.warehouse), metastore=url, spark=spark, user="ann") as session:
        yield session


@pytest.fixture
def both(hive: Hive, session: acidsql.Session, database: str) -> OneMetastore:
    return OneMetastore(hive, session, database)


def test_hive_reads_views_of_acidsql(both: OneMetastore) -> None:
    both.acidsql(f"CREATE TABLE t (id int, c string) {ACID}")
    both.acidsql("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'b')")
    both.acidsql("CREATE VIEW v AS SELECT * FROM t WHERE id > 1")
    both.acidsql(
        "CREATE VIEW w (x COMMENT 'the x', y) COMMENT 'cc' TBLPROPERTIES ('a' = 'b')"
        " AS SELECT c, count(*) AS n FROM v GROUP BY c"
    )
    both.acidsql("CREATE VIEW u AS SELECT c, count(*), max(id) AS m FROM v GROUP BY c")
    assert both.theirs("SELECT `_c1`, m FROM u") == [{"_c1": 2, "m": 3}]
    assert both.acidsql("SELECT _c1, m FROM u") == [(2, 3)]
    both.acidsql("DROP VIEW u")
    both.acidsql("CREATE VIEW j AS SELECT * FROM t JOIN (SELECT id AS i FROM v) s ON t.id = s.i")
    assert both.theirs("SELECT id, c FROM v ORDER BY id") == [
        {"id": 2, "c": "b"},
        {"id": 3, "c": "b"},
    ]
    assert both.theirs("SELECT x, y FROM w") == [{"x": "b", "y": 2}]
    assert both.theirs("SELECT count(*) AS n FROM j WHERE i = 3") == [{"n": 1}]
    told = both.described("w")
    assert (told["Table Type"], told["a"], told["comment"]) == ("VIRTUAL_VIEW", "b", "cc")
    assert both.columns("w") == [("x", "string", "the x"), ("y", "bigint", "")]
    for sql in ("SHOW TABLES", "SHOW VIEWS"):
        theirs = [row["tab_name"] for row in both.theirs(sql)]
        assert both.acidsql(sql) == [(name,) for name in theirs]
    both.acidsql("ALTER VIEW w AS SELECT id AS one FROM v")
    assert both.theirs("SELECT one FROM w WHERE one < 3") == [{"one": 2}]
    both.acidsql("ALTER VIEW w RENAME TO w2")
    both.acidsql("DROP VIEW j")
    assert [row["tab_name"] for row in both.theirs("SHOW VIEWS")] == ["v", "w2"]


def test_acidsql_reads_views_of_hive(both: OneMetastore) -> None:
    both.theirs(f"CREATE TABLE t (id int, c string) {ACID}")
    both.acidsql("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'b')")
    both.theirs("CREATE VIEW v AS SELECT *, id + 1, upper(c) u FROM t WHERE id > 1")
    both.theirs("CREATE VIEW w (x COMMENT 'the x', y) AS SELECT c, count(*) FROM v GROUP BY c")
    both.theirs("CREATE VIEW ids AS SELECT row__id r, id FROM t")
    both.theirs("CREATE VIEW files AS SELECT id, INPUT__FILE__NAME AS f FROM t")
    assert sorted(both.acidsql("SELECT * FROM v")) == [(2, "b", 3, "B"), (3, "b", 4, "B")]
    assert both.acidsql("SELECT x, y FROM w") == [("b", 2)]
    assert both.acidsql("SELECT max(r.rowid) FROM ids") == [(2,)]
    files = both.theirs("SELECT id, f FROM files")
    assert sorted(both.acidsql("SELECT * FROM files")) == sorted((r["id"], r["f"]) for r in files)
    assert both.acidsql("DESCRIBE w") == [("x", "string", "the x"), ("y", "bigint", "")]
    both.theirs("ALTER TABLE t ADD COLUMNS (z int)")
    assert sorted(both.acidsql("SELECT * FROM v")) == [(2, "b", 3, "B"), (3, "b", 4, "B")]
    both.acidsql("ALTER VIEW v SET TBLPROPERTIES ('team' = 'a')")
    assert both.described("v")["bucketing_version"] == "2"
    both.theirs("DROP TABLE t")
    for reader in (both.acidsql, both.theirs):
        with pytest.raises((AcidSqlError, HiveError), match=r"(?is)not found.* definition of view"):
            reader("SELECT * FROM v")


def test_acidsql_reads_materialized_views_of_hive(both: OneMetastore) -> None:
    both.theirs(f"CREATE TABLE t (id int, c string) {ACID}")
    both.acidsql("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'b')")
    both.theirs(
        f"CREATE MATERIALIZED VIEW m DISABLE REWRITE {ACID} AS"
        " SELECT c, count(*) AS n FROM t GROUP BY c"
    )
    assert sorted(both.acidsql("SELECT * FROM m")) == [("a", 1), ("b", 2)]
    both.acidsql("DELETE FROM t WHERE id = 2")
    both.theirs("ALTER MATERIALIZED VIEW m REBUILD")
    assert sorted(both.acidsql("SELECT * FROM m")) == [("a", 1), ("b", 1)]
    assert both.acidsql("SHOW MATERIALIZED VIEWS") == [("m", "No", "Manual refresh")]
    for sql in (
        "INSERT INTO m VALUES ('c', 1)",
        "DELETE FROM m",
        "ALTER MATERIALIZED VIEW m REBUILD",
        "ALTER TABLE m SET TBLPROPERTIES ('a' = 'b')",
        "DROP TABLE m",
        "CREATE MATERIALIZED VIEW n AS SELECT * FROM t",
    ):
        with pytest.raises(UnsupportedStatementError):
            both.acidsql(sql)
    assert both.theirs("SELECT sum(n) AS n FROM m") == [{"n": 2}]
    both.acidsql("DROP MATERIALIZED VIEW m")
    assert [row["tab_name"] for row in both.theirs("SHOW TABLES")] == ["t"]


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO v VALUES (1)",
        "UPDATE v SET one = 1",
        "DELETE FROM v",
        "ALTER TABLE v ADD COLUMNS (z int)",
        "DROP TABLE v",
        "DROP VIEW t",
        "CREATE OR REPLACE VIEW t AS SELECT 1 AS one",
        "CREATE VIEW v AS SELECT 1 AS one",
        "CREATE VIEW x (a) AS SELECT 1 AS b, 2 AS c",
        "ALTER VIEW x AS SELECT 1 AS one",
        "ALTER VIEW t SET TBLPROPERTIES ('a' = 'b')",
        "CREATE OR REPLACE VIEW v AS SELECT one FROM w",
        "CREATE OR REPLACE VIEW IF NOT EXISTS v AS SELECT 1 AS one",
    ],
)
def test_both_refuse_in_the_same_words(refusing: OneMetastore, sql: str) -> None:
    with pytest.raises(AcidSqlError) as ours:
        refusing.acidsql(sql)
    with pytest.raises(HiveError) as theirs:
        refusing.theirs(sql)
    assert ours.value.message.lower() in str(theirs.value).lower()


@pytest.fixture(scope="module")
def refusing(hive: Hive, session: acidsql.Session) -> OneMetastore:
    """A table, a view, and a view of this view."""
    both = OneMetastore(hive, session, f"refusing_hive{hive.version}")
    both.acidsql(f"CREATE TABLE t (one int) {ACID}")
    both.acidsql("CREATE VIEW v AS SELECT one FROM t")
    both.acidsql("CREATE VIEW w AS SELECT one FROM v")
    return both
