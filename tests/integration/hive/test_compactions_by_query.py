"""Compactions that Hive 4 carries out by a query: acidsql reads, changes and compacts the files."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from acidsql.orc.footer import read_tail
from tests.integration.hive.one_metastore import Turns
from tests.integration.hive.process import Hive

pytestmark = pytest.mark.hive

COLUMNS = "(id int, s struct<Aa:int,t:timestamp>, v string)"


@pytest.fixture
def by_query(hive: Hive) -> Iterator[None]:
    """Hive's compactor uses queries."""
    setting = "hive.compactor.crud.query.based"
    hive.run(f"!conf {setting} true")
    yield
    hive.run(f"!conf {setting} false")


@pytest.mark.parametrize("versions", [[4]], ids=[""])  # Hive 3 has none
@pytest.mark.parametrize("kind", ["minor", "major"])
def test_files_by_a_query(live: Turns, by_query: None, kind: str, versions: list[int]) -> None:
    live.both(f"CREATE TABLE t {COLUMNS} STORED AS ORC TBLPROPERTIES ('transactional' = 'true')")
    live.theirs(
        "INSERT INTO t SELECT n, named_struct('Aa', n, 't', timestamp '1890-01-01 00:00:01.5'), 'a'"
        " FROM (SELECT 1 n UNION ALL SELECT 2 UNION ALL SELECT 3) s"
    )
    live.acidsql("INSERT INTO t VALUES (4, named_struct('aa', 4, 't', NULL), NULL), (5, NULL, 'e')")
    live.acidsql("UPDATE t SET v = 'ours' WHERE id = 3")
    live.theirs("DELETE FROM t WHERE id = 2")
    live.theirs(f"ALTER TABLE t COMPACT '{kind}'")
    rows = live.rows("t")
    assert len(rows) == 4
    files = list(live.location("t").rglob("*_v*/bucket_*"))
    assert files
    assert all(read_tail(str(file)).by_query for file in files)
    live.acidsql("UPDATE t SET v = concat(v, '!'), s.aa = s.aa + 1 WHERE id IN (1, 5)")
    live.acidsql("DELETE FROM t WHERE id = 4")
    live.theirs("UPDATE t SET v = 'theirs' WHERE id = 3")
    assert len(live.rows("t")) == 3
    live.theirs("clean")
    live.acidsql("ALTER TABLE t COMPACT 'minor'")
    live.theirs("clean")
    live.acidsql("ALTER TABLE t COMPACT 'major'")
    live.theirs("clean")
    assert len(live.rows("t")) == 3
