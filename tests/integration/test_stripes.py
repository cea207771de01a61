"""Rows at the edges of stripes: deleted ones stay away and no others go, whoever reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidsql.orc import writer
from acidsql.orc.footer import read_tail
from acidsql.session.session import Session

ROWS = 3000
"""Written in batches of 1024, each of which ends a stripe."""
EDGES = (0, 1023, 1024, 2047, 2048, 2999)


@pytest.fixture
def table(session: Session, warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table of one file of three stripes; answers with its directory."""
    monkeypatch.setattr(writer, "STRIPE_BYTES", 1)
    properties = "'transactional' = 'true', 'orc.compress' = 'none'"
    session.execute(f"CREATE TABLE t (id int, v int) TBLPROPERTIES ({properties})")
    values = ", ".join(f"({n}, {n * 7919 % 104729})" for n in range(ROWS))
    session.execute(f"INSERT INTO t VALUES {values}")
    return warehouse / "t"


def stripes(directory: Path, pattern: str) -> list[int]:
    """The rows of each stripe of the one file that matches."""
    [path] = directory.glob(pattern)
    return [stripe.rows for stripe in read_tail(str(path)).stripes]


def assert_rows(session: Session, expected: dict[int, int]) -> None:
    """Of a whole scan, and of scans that search arguments cut short at the edges of stripes."""
    ranges = [(0, 0), (1023, 1024), (2047, 2048), (2999, ROWS)]
    scans = [f"SELECT {n} AS n, id, v FROM t WHERE id >= {low} AND id <= {high}"
             for n, (low, high) in enumerate(ranges)]  # fmt: skip
    found: dict[int, dict[int, int]] = {n: {} for n in range(-1, len(ranges))}
    rows = session.execute(" UNION ALL ".join(["SELECT -1 AS n, id, v FROM t", *scans])).fetchall()
    for n, key, value in rows:
        assert key not in found[n], f"{key} is there twice"
        found[n][key] = value
    assert found[-1] == expected
    for n, (low, high) in enumerate(ranges):
        assert found[n] == {k: v for k, v in expected.items() if low <= k <= high}, (low, high)
    assert session.execute("CHECK TABLE t").fetchall() == []


def test_deletes_at_the_edges_of_stripes(session: Session, table: Path) -> None:
    expected = {n: n * 7919 % 104729 for n in range(ROWS)}
    assert stripes(table, "delta_*/bucket_00000") == [1024, 1024, 952]
    assert_rows(session, expected)
    listed = ", ".join(map(str, EDGES))
    assert session.execute(f"DELETE FROM t WHERE id IN ({listed})").rows_deleted == len(EDGES)
    for edge in EDGES:
        del expected[edge]
    assert_rows(session, expected)
    session.execute("ALTER TABLE t COMPACT 'major' AND WAIT")
    session.run_cleaner()
    assert_rows(session, expected)


@pytest.mark.thorough
def test_a_delete_file_of_many_stripes(session: Session, table: Path) -> None:
    expected = {n: n * 7919 % 104729 for n in range(ROWS)}
    session.execute("UPDATE t SET v = -1 WHERE id % 3 != 0")
    expected |= {n: -1 for n in range(ROWS) if n % 3}
    assert len(stripes(table, "delete_delta_*/bucket_00000")) > 1
    assert_rows(session, expected)
    session.execute("DELETE FROM t WHERE id >= 1000 AND id < 2000 AND v = -1")
    expected = {n: v for n, v in expected.items() if not (1000 <= n < 2000 and v == -1)}
    session.execute("ALTER TABLE t COMPACT 'minor' AND WAIT")
    session.run_cleaner()
    assert len(stripes(table, "delete_delta_*/bucket_00000")) > 1
    assert_rows(session, expected)
    session.execute("ALTER TABLE t COMPACT 'major' AND WAIT")
    assert_rows(session, expected)


def test_stripes_that_compactions_have_copied(session: Session, warehouse: Path) -> None:
    """Spark reads copied stripes beside rewritten ones, and skips by their statistics."""
    properties = "'transactional' = 'true', 'orc.compress' = 'none'"
    session.execute(f"CREATE TABLE t (id int, v string) TBLPROPERTIES ({properties})")
    text = "repeat(sha2(CAST(id AS string), 256), 10)"
    for part in range(3):
        session.execute(
            f"INSERT INTO t SELECT CAST(id AS int), {text} FROM range({part * ROWS},"
            f" {part * ROWS + ROWS}, 1, 1)"
        )
    session.execute(f"DELETE FROM t WHERE id IN ({ROWS}, {2 * ROWS - 1})")
    before = [data for part in (1, 2, 3) for data in copies(warehouse, f"delta_000000{part}*")]
    session.execute("ALTER TABLE t COMPACT 'minor' AND WAIT")
    session.run_cleaner()
    assert copies(warehouse, "delta_0000001_0000004*") == before
    assert_hashes(session, text)
    session.execute("ALTER TABLE t COMPACT 'major' AND WAIT")
    session.run_cleaner()
    after = copies(warehouse, "base_*")
    assert [data in after for data in before] == [True, False, True]
    assert_hashes(session, text)


def copies(warehouse: Path, pattern: str) -> list[bytes]:
    """The bytes of each stripe of the one file that matches."""
    [path] = (warehouse / "t").glob(f"{pattern}/bucket_00000")
    data = path.read_bytes()
    return [data[s.offset : s.offset + s.length] for s in read_tail(str(path)).stripes]


def assert_hashes(session: Session, text: str) -> None:
    whole = f"SELECT count(*), sum(id), count_if(v = {text}), sum(row__id.rowid) FROM t"
    total = 3 * ROWS
    gone = 3 * ROWS - 1
    assert session.execute(whole).fetchall() == [
        (total - 2, sum(range(total)) - gone, total - 2, 3 * sum(range(ROWS)) - (ROWS - 1))
    ]
    edges = (0, ROWS - 1, ROWS, ROWS + 1, 2 * ROWS - 2, 2 * ROWS - 1, 2 * ROWS, total - 1)
    scans = [f"SELECT {row}, id, v = {text} FROM t WHERE id = {row}" for row in edges]
    found = session.execute(" UNION ALL ".join(scans)).fetchall()
    assert sorted(found) == [(r, r, True) for r in edges if r not in (ROWS, 2 * ROWS - 1)]
    assert session.execute("CHECK TABLE t").fetchall() == []
